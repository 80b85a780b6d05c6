//! Files that whoever made an entry had in use, such as the libraries of a driver.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::key::file_identity;

/// A file, and what tells it from another one in its place: the build that linkers write into it, or else its size
/// and time. The first is the same on every machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// Where it is.
    #[serde(with = "crate::path")]
    pub path: PathBuf,
    /// Which it is.
    pub identity: String,
}

/// What was found out about files by this process.
///
/// The standard library's lock, which can be made in a constant, and without a model: nobody waits for it, whoever does not
/// get it asks the disk, and what two threads find out at once is the same.
static KNOWN: Mutex<Option<HashMap<PathBuf, Option<String>>>> = Mutex::new(None);

impl FileId {
    /// The file that is there now; `None` if there is none. A process asks the disk once, as a rule.
    ///
    /// It never waits: in a process that was forked off while another thread was at it, what is known stays locked for
    /// good, and the disk is asked each time.
    pub fn of(path: &Path) -> Option<Self> {
        let known = KNOWN
            .try_lock()
            .ok()
            .and_then(|known| known.as_ref()?.get(path).cloned());
        let identity = known.unwrap_or_else(|| {
            let found = identity(path);
            if let Ok(mut known) = KNOWN.try_lock() {
                known
                    .get_or_insert_default()
                    .insert(path.to_owned(), found.clone());
            }
            found
        })?;
        Some(Self {
            path: path.to_owned(),
            identity,
        })
    }

    /// Whether the same file is still there.
    pub fn is_there(&self) -> bool {
        Self::of(&self.path).as_ref() == Some(self)
    }
}

fn identity(path: &Path) -> Option<String> {
    build_id(path)
        .map(|id| format!("build {id}"))
        .or_else(|| file_identity(path))
}

/// The shared objects that this process has mapped, as the system lists them. One that is not the file which is there
/// now makes it `None`: what comes of it cannot be told from what the new one would make.
pub fn mapped_libraries() -> Option<Vec<FileId>> {
    let program = std::env::current_exe().ok();
    mapped("self", program.as_deref(), |_| true)
}

/// The same of another process of the user's, its program included.
pub fn mapped_by(process: u32) -> Option<Vec<FileId>> {
    mapped(&process.to_string(), None, |_| true)
}

/// Those of another process of the user's whose names begin like this.
pub fn mapped_named(process: u32, prefix: &str) -> Option<Vec<FileId>> {
    mapped(&process.to_string(), None, |path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(prefix))
    })
}

/// What a process has mapped, without its program, as far as it is wanted.
fn mapped(process: &str, program: Option<&Path>, is_wanted: impl Fn(&Path) -> bool) -> Option<Vec<FileId>> {
    let bytes = fs::read(format!("/proc/{process}/maps")).ok()?;
    let mut found: Vec<FileId> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        // No word in front of the path has a slash, and the path may have spaces.
        let start = line.iter().position(|byte| *byte == b'/');
        let (words, path) = line.split_at(start.unwrap_or(line.len()));
        let mut words = std::str::from_utf8(words).ok()?.split_ascii_whitespace();
        // A line is `address permissions offset device inode path`; the second `nth` counts on from the first.
        let (permissions, inode) = (words.nth(1)?, words.nth(2)?);
        // Of a library one part at least is code; what is mapped without any is data.
        if path.is_empty() || !permissions.contains('x') {
            continue;
        }
        let path = &crate::path::of_bytes(path)?;
        if Some(path.as_path()) == program
            || !is_wanted(path)
            // The parts of a library are listed one behind the other.
            || found.last().is_some_and(|last| last.path == *path)
        {
            continue;
        }
        // The file was replaced since it was mapped, as by an update: by its path another one would be found.
        if !is_inode(path, inode) {
            // A compiler at run time maps what it has made from files without names.
            let is_anonymous = path.starts_with("/memfd:") || path.starts_with("/dev/");
            match is_anonymous {
                true => continue,
                false => return None,
            }
        }
        found.push(FileId::of(path)?);
    }
    Some(found)
}

#[cfg(unix)]
fn is_inode(path: &Path, inode: &str) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|found| found.ino().to_string() == inode)
}

#[cfg(not(unix))]
fn is_inode(_: &Path, _: &str) -> bool {
    false
}

/// How much of a file is looked at: linkers put the build first.
const MAX_READ: usize = 4096;

/// The build ID of a 64-bit ELF file of this machine, as hexadecimal digits.
fn build_id(path: &Path) -> Option<String> {
    // To open anything else may take for ever: a named pipe waits for somebody who writes to it.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    // In one piece.
    let mut start = Vec::with_capacity(MAX_READ);
    file.by_ref().take(MAX_READ as u64).read_to_end(&mut start).ok()?;
    // 64-bit, little endian.
    if start.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |bytes: &[u8], at: usize| -> Option<usize> {
        usize::try_from(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
    };
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(*start.get(at..)?.first_chunk()?)));
    // In ELF's header: where the table of segments is, how large an entry of it is, how many there are. In an entry:
    // its type at 0, the offset of its content at 8, its size in the file at 32.
    let (table, size, count) = (long(&start, 32)?, half(54)?, half(56)?);
    for number in 0..count {
        let at = size.checked_mul(number)?.checked_add(table)?;
        let segment = start.get(at..)?.get(..56)?;
        const NOTE: u32 = 4;
        if word(segment, 0)? != NOTE {
            continue;
        }
        let (offset, length) = (long(segment, 8)?, long(segment, 32)?);
        // Linkers put notes first.
        let Some(mut notes) = start.get(offset..).and_then(|rest| rest.get(..length)) else {
            continue;
        };
        while notes.len() >= 12 {
            let (name, content) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
            const BUILD_ID: u32 = 3;
            let is_id = word(notes, 8)? == BUILD_ID;
            let body = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
            let end = body.checked_add(content)?;
            // Every owner numbers its notes for itself: 3 is a build among those of GNU alone.
            if is_id && notes.get(12..16) == Some(b"GNU\0") {
                let id = notes.get(body..end)?;
                return Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
            }
            notes = notes.get(end.checked_next_multiple_of(4)?..)?;
        }
    }
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn libraries_of_this_process_are_found_and_known_by_their_builds() {
        let libraries = mapped_libraries().expect("they are what is on disk");
        let libc = libraries.iter().find(|file| {
            let name = file.path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with("libc.so")
        });
        let libc = libc.expect("the C library is mapped");
        assert!(libc.identity.starts_with("build "), "{libc:?}");
        assert!(libc.is_there());
        let other = FileId {
            identity: "build 00".into(),
            ..libc.clone()
        };
        assert!(!other.is_there());
    }

    #[test]
    fn nobody_waits_for_a_named_pipe_in_the_place_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (answer, answered) = mpsc::channel();
        thread::spawn(move || answer.send(FileId::of(&pipe)));
        let found = answered.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(found.is_some_and(|found| !found.identity.starts_with("build ")));
    }

    #[test]
    fn nobody_waits_for_what_is_known() {
        let program = std::env::current_exe().unwrap();
        let found = FileId::of(&program);
        // As in a process that was forked off while another thread had it.
        let _held = KNOWN.lock();
        assert!(found.is_some());
        assert_eq!(FileId::of(&program), found);
        assert_eq!(FileId::of(Path::new("/nonexistent")), None);
    }
}
