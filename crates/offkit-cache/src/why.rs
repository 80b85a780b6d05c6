//! Why something is not in the cache.

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

/// In what two keys differ, input by input.
fn differences(then: &Key, now: &Key) -> Vec<Difference> {
    let value = |key: &Key, name: &str| {
        let input = key.inputs.iter().find(|input| input.name == name);
        input.map(|input| input.value.clone())
    };
    let gone = then
        .inputs
        .iter()
        .filter(|input| value(now, &input.name).is_none());
    let all = now.inputs.iter().chain(gone);
    let compared = all.map(|input| Difference {
        name: input.name.clone(),
        then: value(then, &input.name),
        now: value(now, &input.name),
    });
    compared
        .filter(|difference| difference.then != difference.now)
        .collect()
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
            Self::Differs { differences, .. } => {
                let all: Vec<_> = differences.iter().map(ToString::to_string).collect();
                formatter.write_str(&all.join("; "))
            }
            Self::Never => formatter.write_str("nothing like it has been kept"),
        }
    }
}
