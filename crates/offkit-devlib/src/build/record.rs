//! What a file was made of, by content: it is made again when that has changed, and not when only times have.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Variables that change what clang reads or does.
const VARIABLES: [&str; 4] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "CCC_OVERRIDE_OPTIONS",
];

/// The content of files as hashes, each read once.
#[derive(Debug, Default)]
pub(super) struct Hashes(Mutex<HashMap<PathBuf, Option<String>>>);

impl Hashes {
    /// The hash of a file's content; `None` if it cannot be read.
    fn get(&self, path: &Path) -> Option<String> {
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
        hasher.update(bytes.len().to_le_bytes());
        hasher.update(bytes);
    };
    add(version.as_bytes());
    for word in words {
        add(word.as_encoded_bytes());
    }
    for variable in VARIABLES {
        add(env::var_os(variable).unwrap_or_default().as_encoded_bytes());
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
        hashes: &Hashes,
    ) -> Option<Self> {
        let mut inputs = inputs
            .map(|path| hashes.get(&path).map(|hash| (path, hash)))
            .collect::<Option<Vec<_>>>()?;
        inputs.sort();
        inputs.dedup();
        Some(Self {
            command,
            inputs,
            output: hashes.read(output)?,
        })
    }

    /// Whether the file is what the command would make of the files as they are now.
    pub(super) fn holds(&self, command: &str, output: &Path, hashes: &Hashes) -> bool {
        self.command == command
            && hashes.get(output).as_ref() == Some(&self.output)
            && (self.inputs.iter()).all(|(path, hash)| hashes.get(path).as_ref() == Some(hash))
    }

    /// Writes it down.
    pub(super) fn write(&self, path: &Path, on_temporary: fn(&Path)) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        replace(path, on_temporary, |temporary| fs::write(temporary, &text))
    }
}

/// Has a file made under a temporary name, and puts it in its place once it is complete.
pub(super) fn replace(
    path: &Path,
    on_temporary: fn(&Path),
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = tempfile::Builder::new().prefix(".offkit-").tempdir_in(folder)?;
    on_temporary(temporary.path());
    let made = temporary.path().join(path.file_name().unwrap_or_default());
    make(&made)?;
    fs::rename(made, path)
}

/// The files that a rule for `make`, as clang writes it with `-MD`, says were read.
pub(super) fn dependencies(rule: &str) -> Vec<PathBuf> {
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
        let record = Record::of("c".into(), inputs(), &path("a.bc"), &Hashes::default()).unwrap();
        record.write(&path("a.json"), |_| ()).unwrap();
        let record = Record::read(&path("a.json")).unwrap();
        let holds = |command: &str| record.holds(command, &path("a.bc"), &Hashes::default());
        assert!(holds("c") && !holds("d"));
        // The same content with another time.
        fs::write(path("a.h"), "a.h").unwrap();
        assert!(holds("c"));
        for name in ["a.c", "a.h", "a.bc"] {
            fs::write(path(name), "other").unwrap();
            assert!(!holds("c"), "{name}");
            fs::write(path(name), name).unwrap();
        }
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
