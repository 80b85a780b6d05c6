//! Names of parts that a container does not number.

use std::collections::HashMap;

use crate::part::Name;

/// A path becomes no more parts than this, as names of members can be nothing but slashes; folders behind are
/// one part.
const MOST_PARTS: usize = 64;

/// Gives every part of a container a name of its own: what is there again gets a number.
#[derive(Debug, Default)]
pub(crate) struct PartNames {
    /// The names that were given, with slashes between their parts, and the number that the next part of this
    /// name may get.
    given: HashMap<String, usize>,
}

impl PartNames {
    /// The name of a part at this path, which is not empty.
    pub(crate) fn name(&mut self, mut path: Vec<String>) -> Name {
        let own = path.join("/");
        if let Some(number) = self.given.get(&own) {
            let mut number = *number;
            // A number that a later name has by itself is passed over once, as the next search begins behind it.
            let suffix = loop {
                let suffix = format!("#{number}");
                number = number.saturating_add(1);
                if !self.given.contains_key(&format!("{own}{suffix}")) {
                    break suffix;
                }
            };
            if let Some(last) = path.last_mut() {
                last.push_str(&suffix);
            }
            self.given.insert(format!("{own}{suffix}"), 1);
            self.given.insert(own, number);
        } else {
            self.given.insert(own, 1);
        }
        match <[String; 1]>::try_from(path) {
            Ok([name]) => Name::Text(name),
            Err(path) => Name::Path(path),
        }
    }

    /// The name of a file, the `number`th of all, with its folders.
    pub(crate) fn file(&mut self, path: &[u8], number: usize) -> Name {
        let text = String::from_utf8_lossy(path);
        let mut parts: Vec<String> = text
            .trim_start_matches('/')
            .splitn(MOST_PARTS, '/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        if parts.is_empty() {
            parts.push(format!("#{number}"));
        }
        self.name(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(names: &mut PartNames, path: &str) -> String {
        match names.file(path.as_bytes(), 7) {
            Name::Text(name) => name,
            Name::Path(parts) => parts.join("|"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_part_has_a_name_of_its_own() {
        let mut names = PartNames::default();
        let given =
            ["x", "x#1", "x", "x", "x#2", "a/x", "/a//x", "", "#7", "//"].map(|path| file(&mut names, path));
        assert_eq!(
            given,
            [
                "x", "x#1", "x#2", "x#3", "x#2#1", "a|x", "a|x#1", "#7", "#7#1", "#7#2"
            ]
        );
    }

    #[test]
    fn many_folders_are_few_parts() {
        let Name::Path(parts) = PartNames::default().file("a/".repeat(1000).as_bytes(), 0) else {
            panic!("a path");
        };
        assert_eq!(parts.len(), MOST_PARTS);
        assert_eq!(parts[0], "a");
        assert_eq!(parts[MOST_PARTS - 1].len(), 2 * (1000 - MOST_PARTS + 1));
    }
}
