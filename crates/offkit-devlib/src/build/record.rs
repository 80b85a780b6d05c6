//! What a file was made of, by content: it is made again when that has changed, and not when only times have.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::compiler::compiler_variables;

/// The content of files as hashes, each read once.
#[derive(Debug, Default)]
pub(super) struct Hashes(Mutex<HashMap<PathBuf, Option<String>>>);

impl Hashes {
    /// The hash of a file's content; `None` if it cannot be read.
    fn get(&self, path: &Path) -> Option<String> {
        // Not locked while a file is read: two threads may hash the same one, and come to the same.
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        known.unwrap_or_else(|| self.read(path))
    }

    /// The same for a file that was just written.
    fn read(&self, path: &Path) -> Option<String> {
        let hash = hash_file(path).ok();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(path.to_owned(), hash.clone());
        hash
    }
}

fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            read => hasher.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a command and of what else decides what it does.
pub(super) fn hash_command(version: &str, words: &[OsString]) -> String {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        // With its length, so that `ab` and `c` are not `a` and `bc`.
        hasher.update(bytes.len().to_le_bytes());
        hasher.update(bytes);
    };
    add(version.as_bytes());
    for word in words {
        add(word.as_encoded_bytes());
    }
    for (_, value) in compiler_variables() {
        add(value.as_encoded_bytes());
    }
    hex(&hasher.finalize())
}

/// What a file was made of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The hash of the command.
    command: String,
    /// The files that were read, with their hashes.
    inputs: Vec<(PathBuf, String)>,
    /// Other files of their names.
    shadows: Vec<PathBuf>,
    /// The hash of the file.
    output: String,
}

impl Record {
    /// What is known of a file; nothing if the record is not there or is none.
    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// The record of a file that was just made; `None` if something it was made of cannot be read any more.
    pub(super) fn of(
        command: String,
        inputs: impl Iterator<Item = PathBuf>,
        output: &Path,
        folders: &[PathBuf],
        hashes: &Hashes,
    ) -> Option<Self> {
        let mut inputs = inputs
            .map(|path| hashes.get(&path).map(|hash| (path, hash)))
            .collect::<Option<Vec<_>>>()?;
        inputs.sort();
        inputs.dedup();
        Some(Self {
            command,
            shadows: shadows(&inputs, folders),
            inputs,
            // Anew: what is known may be the hash of the file that was there before.
            output: hashes.read(output)?,
        })
    }

    /// Whether the file is what the command would make of the files as they are now.
    pub(super) fn holds(&self, command: &str, output: &Path, folders: &[PathBuf], hashes: &Hashes) -> bool {
        self.command == command
            && hashes.get(output).as_ref() == Some(&self.output)
            && shadows(&self.inputs, folders) == self.shadows
            && (self.inputs.iter()).all(|(path, hash)| hashes.get(path).as_ref() == Some(hash))
    }

    /// As it is written down.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Texts, which can all be written.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// How many parts of a header's path are looked for in other folders: `sys/types.h` has two.
const MOST_PARTS: usize = 3;

/// Files that have the name of one that was read and lie where such names are looked for: a new one may be read
/// instead the next time.
fn shadows(inputs: &[(PathBuf, String)], folders: &[PathBuf]) -> Vec<PathBuf> {
    let paths = || inputs.iter().map(|(path, _)| path.as_path());
    // A header is looked for beside the file that includes it first.
    let is_in = |path: &Path, folder: &Path| match folder.as_os_str().is_empty() {
        true => path.is_relative(),
        false => path.starts_with(folder),
    };
    let beside = paths()
        .filter(|path| folders.iter().any(|folder| is_in(path, folder)))
        .filter_map(Path::parent);
    let folders: BTreeSet<&Path> = folders.iter().map(PathBuf::as_path).chain(beside).collect();
    let mut found = BTreeSet::new();
    for path in paths() {
        let parts: Vec<_> = path.components().collect();
        for count in 1..=MOST_PARTS.min(parts.len()) {
            let name: PathBuf = parts.get(parts.len() - count..).into_iter().flatten().collect();
            let others = folders.iter().map(|folder| folder.join(&name));
            found.extend(others.filter(|other| other != path && other.is_file()));
        }
    }
    found.into_iter().collect()
}

/// The files that a rule for `make`, as clang writes it with `-MD`, says were read.
pub(super) fn dependencies(rule: &str) -> Vec<PathBuf> {
    // With the space: on Windows the target's own path has a colon.
    let Some((_, listed)) = rule.split_once(": ") else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let mut file = String::new();
    let mut characters = listed.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some('\n')) => {
                characters.next();
                files.push(std::mem::take(&mut file));
            }
            ('\\', Some(&escaped @ (' ' | '#'))) | ('$', Some(&escaped @ '$')) => {
                characters.next();
                file.push(escaped);
            }
            (' ' | '\n', _) => files.push(std::mem::take(&mut file)),
            _ => file.push(c),
        }
    }
    files.push(file);
    files
        .into_iter()
        .filter(|file| !file.is_empty())
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_for_make_are_read_as_clang_writes_them() {
        let rule = "out.bc: libm.c \\\n  my\\ folder/a.h \\\n  b$$\\#.h\n";
        assert_eq!(
            dependencies(rule),
            ["libm.c", "my folder/a.h", "b$#.h"].map(PathBuf::from)
        );
        assert!(dependencies("").is_empty());
    }

    #[test]
    fn a_record_holds_while_every_content_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a.c", "a.h", "a.bc"] {
            fs::write(path(name), name).unwrap();
        }
        let inputs = || [path("a.c"), path("a.h")].into_iter();
        let folders = [path("first"), folder.path().to_owned()];
        let record = Record::of("c".into(), inputs(), &path("a.bc"), &folders, &Hashes::default()).unwrap();
        fs::write(path("a.json"), record.to_bytes()).unwrap();
        let record = Record::read(&path("a.json")).unwrap();
        let holds = |command: &str| record.holds(command, &path("a.bc"), &folders, &Hashes::default());
        assert!(holds("c") && !holds("d"));
        // The same content with another time.
        fs::write(path("a.h"), "a.h").unwrap();
        assert!(holds("c"));
        for name in ["a.c", "a.h", "a.bc"] {
            fs::write(path(name), "other").unwrap();
            assert!(!holds("c"), "{name}");
            fs::write(path(name), name).unwrap();
        }
        // Another header is found first.
        fs::create_dir(path("first")).unwrap();
        assert!(holds("c"));
        fs::write(path("first/a.h"), "a.h").unwrap();
        assert!(!holds("c"));
        fs::remove_file(path("first/a.h")).unwrap();
        fs::remove_file(path("a.h")).unwrap();
        assert!(!holds("c"));
    }

    #[test]
    fn commands_are_told_apart() {
        let hash = |words: &[&str]| hash_command("22", &words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a"]), hash_command("23", &["a".into()]));
    }
}
