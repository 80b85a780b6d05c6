//! Names of parts that a container does not number.

use std::collections::HashMap;

use crate::part::Name;

/// Gives every part of a container a name of its own: what is there again gets a number.
#[derive(Debug, Default)]
pub(crate) struct PartNames {
    before: HashMap<Vec<String>, usize>,
}

impl PartNames {
    /// The name of a part at this path, which is not empty.
    pub(crate) fn name(&mut self, mut path: Vec<String>) -> Name {
        let before = self.before.entry(path.clone()).or_default();
        if *before > 0
            && let Some(last) = path.last_mut()
        {
            last.push_str(&format!("#{before}"));
        }
        *before = before.saturating_add(1);
        match <[String; 1]>::try_from(path) {
            Ok([name]) => Name::Text(name),
            Err(path) => Name::Path(path),
        }
    }

    /// The name of a file, the `number`th of all, with its folders.
    pub(crate) fn file(&mut self, path: &[u8], number: usize) -> Name {
        let text = String::from_utf8_lossy(path);
        let mut parts: Vec<String> = text
            .split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        if parts.is_empty() {
            parts.push(format!("#{number}"));
        }
        self.name(parts)
    }
}
