//! Why something is not in the cache.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use crate::entry::{BadEntry, Entry, Header};
use crate::key::{Digest, Key};
use crate::store::Store as _;
use crate::{Cache, FileId};

/// What a look into the cache would find, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Why {
    /// It is there.
    Hit(Digest),
    /// The cache is switched off.
    Off,
    /// It is there, and damaged.
    Bad(BadEntry),
    /// It was made when other files were there.
    OtherFiles(Vec<PathBuf>),
    /// What is nearest was made of other things.
    Differs {
        /// What that is.
        nearest: Box<Header>,
        /// In what it differs.
        differences: Vec<Difference>,
    },
    /// Nothing like it is there.
    Never,
}

/// An input that is not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub name: String,
    /// What it was.
    pub then: Option<String>,
    /// What it is now.
    pub now: Option<String>,
}

impl Cache {
    /// Why a key is in the cache or not.
    pub fn why(&self, key: &Key) -> Why {
        let name = key.digest();
        if !self.is_on() {
            return Why::Off;
        }
        // Not by `self.read`, which removes a bad entry: whoever asks why changes nothing.
        if let Ok(bytes) = self.folder.read(&name.to_string()) {
            return match Entry::read_for(name, bytes) {
                Err(bad) => Why::Bad(bad),
                Ok(entry) => {
                    let gone = entry
                        .header
                        .files
                        .into_iter()
                        .filter(|file| !FileId::is_there(file));
                    let gone: Vec<_> = gone.map(|file| file.path).collect();
                    match gone.is_empty() {
                        true => Why::Hit(name),
                        false => Why::OtherFiles(gone),
                    }
                }
            };
        }
        let headers = self.entries().into_iter().filter_map(|found| found.header);
        let alike = headers.filter(|header| header.key.kind == key.kind);
        let compared = alike.map(|header| (differences(&header.key, key), header));
        // Nothing in common, nor the name: that is no neighbour. Of several, the one used last is the first.
        let near = compared.filter(|(differences, header)| {
            let all = key.inputs.len();
            header.key.subject == key.subject || differences.len() <= all / 2
        });
        let nearest =
            near.min_by_key(|(differences, header)| (header.key.subject != key.subject, differences.len()));
        match nearest {
            Some((differences, header)) => Why::Differs {
                nearest: Box::new(header),
                differences,
            },
            None => Why::Never,
        }
    }
}

/// In what two keys differ, input by input. A name may come several times: what its values begin and end with in both is
/// not told, nor are other ones than those that came in between, were taken out or changed.
fn differences(then: &Key, now: &Key) -> Vec<Difference> {
    let mut names: Vec<&str> = Vec::new();
    let mut values: HashMap<&str, [Vec<&str>; 2]> = HashMap::new();
    // The new key first: differences are told in its order, what it lacks behind them.
    for (key, side) in [(now, 1), (then, 0)] {
        for input in &key.inputs {
            let of_name = values.entry(&input.name).or_insert_with(|| {
                names.push(&input.name);
                Default::default()
            });
            let [old, new] = of_name;
            match side {
                0 => old.push(&input.value),
                _ => new.push(&input.value),
            }
        }
    }
    let mut found = Vec::new();
    for name in names {
        let Some([then, now]) = values.get(name) else {
            continue;
        };
        let (then, now) = without_what_is_common(then, now);
        for place in 0..then.len().max(now.len()) {
            let value = |side: &[&str]| side.get(place).map(|&value| value.to_owned());
            found.push(Difference {
                name: name.to_owned(),
                then: value(then),
                now: value(now),
            });
        }
    }
    found
}

/// What is between the beginning and the end that two lists have in common.
fn without_what_is_common<'l, T: PartialEq>(mut one: &'l [T], mut other: &'l [T]) -> (&'l [T], &'l [T]) {
    while let (Some((a, one_rest)), Some((b, other_rest))) = (one.split_first(), other.split_first())
        && a == b
    {
        (one, other) = (one_rest, other_rest);
    }
    while let (Some((a, one_rest)), Some((b, other_rest))) = (one.split_last(), other.split_last())
        && a == b
    {
        (one, other) = (one_rest, other_rest);
    }
    (one, other)
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match (&self.then, &self.now) {
            (Some(then), Some(now)) => write!(formatter, "{name} changed: it was `{then}` and is `{now}`"),
            (None, _) => write!(formatter, "{name} is new"),
            (_, None) => write!(formatter, "{name} is gone"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit(_) => formatter.write_str("it is in the cache"),
            Self::Off => write!(formatter, "{} switches the cache off", crate::SWITCH_VARIABLE),
            Self::Bad(bad) => write!(formatter, "the entry is damaged: {bad}"),
            Self::OtherFiles(files) => {
                let files: Vec<_> = files
                    .iter()
                    .map(|file| format!("driver library `{}` changed", file.display()))
                    .collect();
                formatter.write_str(&files.join("; "))
            }
            Self::Differs { differences, .. } if differences.is_empty() => {
                formatter.write_str("what it is made of comes in another order")
            }
            Self::Differs { differences, .. } => {
                let all: Vec<_> = differences.iter().map(ToString::to_string).collect();
                formatter.write_str(&all.join("; "))
            }
            Self::Never => formatter.write_str("nothing like it has been kept"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Limits};

    fn key(inputs: &[(&str, &str)]) -> Key {
        let new = Key::new(Kind::Program, "program");
        inputs
            .iter()
            .fold(new, |key, (name, value)| key.text(*name, value))
    }

    #[test]
    fn every_input_of_a_name_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("offkit"), Limits::default());
        let image = |value| ("image", value);
        let kept = [("device", "gpu"), image("a"), image("b"), image("c")];
        cache.put(&key(&kept), &[], b"");
        let why = |inputs: &[(&str, &str)]| cache.why(&key(inputs)).to_string();
        let device = ("device", "gpu");
        assert_eq!(why(&kept), "it is in the cache");
        assert_eq!(
            why(&[device, image("a"), image("b"), image("d")]),
            "image changed: it was `c` and is `d`"
        );
        assert_eq!(why(&[device, image("a"), image("b")]), "image is gone");
        assert_eq!(
            why(&[device, image("a"), image("x"), image("b"), image("c")]),
            "image is new"
        );
        assert_eq!(
            why(&[device, image("b"), image("a"), image("c")]),
            "image changed: it was `a` and is `b`; image changed: it was `b` and is `a`"
        );
        assert_eq!(
            why(&[image("a"), image("b"), image("c"), device]),
            "what it is made of comes in another order"
        );
    }
}
