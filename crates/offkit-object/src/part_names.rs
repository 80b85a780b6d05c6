//! Names of parts that a container does not number.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use offkit_image::PartName as Name;
use twox_hash::XxHash3_64;

/// A path becomes no more parts than this, as names of members can be nothing but slashes; folders behind are
/// one part.
const MOST_PARTS: usize = 64;

/// Gives every part of a container a name of its own: what is there again gets a number.
///
/// No name is the beginning of another either: what is in the file `a` and the file `a/b` could be at the same
/// place. Kept are hashes of names only. Two names of one hash cost the later one a number that it does not need.
#[derive(Debug, Default)]
pub(crate) struct PartNames {
    /// The names that were given, and the number that the next part of this name may get.
    given: HashMap<u64, usize, BuildHasherDefault<Hashed>>,
    /// All that names begin with.
    folders: HashSet<u64, BuildHasherDefault<Hashed>>,
}

/// The hash of what is a hash already.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // The trait demands it. Keys are numbers of 64 bits, which come through `write_u64`.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl PartNames {
    /// The name of a part at this path, which is not empty.
    pub(crate) fn name(&mut self, mut path: Vec<String>) -> Name {
        if folders_of(&path).any(|folder| self.given.contains_key(&folder)) {
            // In a location slashes within a part are not those between parts.
            path = vec![path.join("/")];
        }
        let mut own = hash(&path);
        if let Some(number) = self
            .given
            .get(&own)
            .copied()
            .or_else(|| self.folders.contains(&own).then_some(1))
        {
            let last = path.pop().unwrap_or_default();
            // A number that another name has by itself is passed over once, as the next search begins behind it.
            let mut number = number;
            loop {
                path.push(format!("{last}#{number}"));
                number = number.saturating_add(1);
                if !self.is_taken(hash(&path)) {
                    break;
                }
                path.pop();
            }
            self.given.insert(own, number);
            own = hash(&path);
        }
        self.given.insert(own, 1);
        self.folders.extend(folders_of(&path));
        match <[String; 1]>::try_from(path) {
            Ok([name]) => Name::Text(name),
            Err(path) => Name::Path(path),
        }
    }

    fn is_taken(&self, name: u64) -> bool {
        self.given.contains_key(&name) || self.folders.contains(&name)
    }

    /// The name of a file, the `number`th of all, with its folders.
    pub(crate) fn file(&mut self, path: &[u8], number: usize) -> Name {
        // Two names may become the same text here, as archives of old systems have any bytes in
        // names: the second gets a number.
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

fn hash(path: &[String]) -> u64 {
    folders_and_all(path).last().unwrap_or_default()
}

/// The hashes of all that a path begins with, without itself.
fn folders_of(path: &[String]) -> impl Iterator<Item = u64> {
    folders_and_all(path).take(path.len().saturating_sub(1))
}

fn folders_and_all(path: &[String]) -> impl Iterator<Item = u64> {
    path.iter().scan(0, |folder, part| {
        // The hash of a folder seeds that of what is in it: one pass hashes all beginnings of a path, and `a/bc` is not
        // `ab/c`.
        *folder = XxHash3_64::oneshot_with_seed(*folder, part.as_bytes());
        Some(*folder)
    })
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
    fn no_name_is_the_beginning_of_another() {
        let mut names = PartNames::default();
        let given = ["a", "a/b", "a/b", "c/d/e", "c/d", "c"].map(|path| file(&mut names, path));
        assert_eq!(given, ["a", "a/b", "a/b#1", "c|d|e", "c|d#1", "c#1"]);
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
