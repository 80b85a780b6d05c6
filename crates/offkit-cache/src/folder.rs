//! The folder of a user.
//!
//! `entries` has a file for each entry, `unpacked` a folder for each entry whose files other programs read. A new one is
//! made beside its place and gets its name when it is complete, so that any number of processes may read, write and
//! tidy up at once: whoever has opened a file keeps it, and whoever finds none makes it again.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use offkit_host::private;
use offkit_sync::{AtomicU64, Ordering};
use tempfile::NamedTempFile;

use crate::entry::{Entry, Header, header_of};
use crate::key::Digest;
use crate::limits::Limits;
use crate::store::Store;

/// What names of unfinished files begin with.
const UNFINISHED: &str = ".new-";

/// How long what is unfinished, or read by other programs, is left alone.
const IN_USE: Duration = Duration::from_secs(3600);

/// A store in a folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    limits: Limits,
    /// How many bytes may be written before there is to be tidied up: none at first. An estimate, for other processes write
    /// too. Threads that meet here tidy up twice, or write some more before that; nothing else hangs on it, and so there is
    /// no model of it.
    left: AtomicU64,
}

/// An entry of the folder.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// What it goes by.
    pub name: Digest,
    /// What its file takes of the disk, with the files unpacked from it.
    pub size: u64,
    /// When it was used last.
    pub used: SystemTime,
    /// Its header; `None` if it cannot be read.
    pub header: Option<Header>,
}

impl Folder {
    pub(crate) fn new(path: PathBuf, limits: Limits) -> Self {
        Self {
            path,
            limits,
            left: AtomicU64::new(0),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn entries(&self) -> PathBuf {
        self.path.join("entries")
    }

    fn unpacked(&self) -> PathBuf {
        self.path.join("unpacked")
    }

    /// The folder within this one, which nobody else can write to.
    fn checked(&self, folder: PathBuf) -> io::Result<PathBuf> {
        // Both: whoever may write to the outer one can put another folder in the inner one's place.
        for folder in [&self.path, &folder] {
            private::check(folder)?;
        }
        Ok(folder)
    }

    /// The same; made if it is not there.
    fn made(&self, folder: PathBuf) -> io::Result<PathBuf> {
        if let Some(parent) = self.path.parent() {
            fs::create_dir_all(parent)?;
        }
        for folder in [&self.path, &folder] {
            private::make(folder)?;
        }
        Ok(folder)
    }

    /// Says that an entry was used.
    pub(crate) fn touch(&self, name: Digest) {
        touch(&self.entries().join(name.to_string()));
    }

    /// The folder with the files of an entry: as it is there, made new where anything differs.
    pub(crate) fn unpack(&self, entry: &Entry) -> io::Result<PathBuf> {
        let folder = self.made(self.unpacked())?;
        let place = folder.join(entry.name().to_string());
        if has_parts(&place, entry) {
            touch(&place);
            return Ok(place);
        }
        self.make_room(entry.len() as u64);
        let new = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&folder)?;
        write_parts(new.path(), entry)?;
        // No system renames a folder onto one that has files: of several processes the first one's stays, if it is
        // right.
        if fs::rename(new.path(), &place).is_err() && !has_parts(&place, entry) {
            // What is there is damaged. It may be in use, and goes as a whole.
            let old = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&folder)?;
            let _faster = fs::rename(&place, old.path().join("damaged"));
            fs::rename(new.path(), &place)?;
        }
        Ok(place)
    }

    /// All entries.
    pub(crate) fn found(&self) -> Vec<Found> {
        let Ok(folder) = self.checked(self.entries()) else {
            return Vec::new();
        };
        let unpacked = self.unpacked();
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let found = files.filter_map(|file| {
            let name = Digest::parse(file.file_name().to_str()?)?;
            let metadata = file.metadata().ok()?;
            Some(Found {
                name,
                size: metadata
                    .len()
                    .saturating_add(size(&unpacked.join(name.to_string()))),
                used: metadata.modified().ok()?,
                header: None,
            })
        });
        found.collect()
    }

    /// All entries with their headers.
    pub(crate) fn described(&self) -> Vec<Found> {
        let mut found = self.found();
        let folder = self.entries();
        for entry in &mut found {
            entry.header = header_of(&folder.join(entry.name.to_string()));
        }
        found
    }

    /// Whether the files unpacked from an entry are what it says.
    pub(crate) fn is_unpacked_well(&self, entry: &Entry) -> bool {
        let place = self.unpacked().join(entry.name().to_string());
        !place.exists() || has_parts(&place, entry)
    }

    /// A complete file beside the place of that name.
    fn written(&self, name: &str, bytes: &[u8]) -> io::Result<(NamedTempFile, PathBuf)> {
        // To make room for it, nearly all else would have to go.
        if bytes.len() as u64 > self.limits.bytes / 2 {
            return Err(io::Error::other(
                "it is larger than half of what the cache may take",
            ));
        }
        let folder = self.made(self.entries())?;
        self.make_room(bytes.len() as u64);
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&folder)?;
        // It is not waited until the disk has it: what was lost has another digest.
        file.write_all(bytes)?;
        Ok((file, folder.join(name)))
    }

    /// Tidies up before so many bytes are written, unless that was done a while ago.
    fn make_room(&self, bytes: u64) {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        if taken.is_err() {
            self.tidy(bytes);
            // Less than the eighth that tidying leaves free: what is written until the next time
            // fits, as far as other processes do not write as well.
            let some = self.limits.bytes / 16;
            self.left.store(some, Ordering::Relaxed);
        }
    }

    /// Removes what has not been used for long, and what was used longest ago until there is room.
    fn tidy(&self, room: u64) {
        let now = SystemTime::now();
        let age = |time: SystemTime| now.duration_since(time).unwrap_or_default();
        let mut kept = self.found();
        // What was used last is counted first, so that what goes over the bound is the oldest.
        kept.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        let mut sum = room;
        // Some more than has to go, so that not every write has to do this.
        let bound = self.limits.bytes.saturating_sub(self.limits.bytes / 8);
        for entry in kept {
            sum = sum.saturating_add(entry.size);
            let is_lent = age(modified(&self.unpacked().join(entry.name.to_string()))) < IN_USE;
            if age(entry.used) > self.limits.age || sum > bound && !is_lent {
                tracing::debug!(name = %entry.name, "removed from the cache");
                let _gone = self.remove(&entry.name.to_string());
                sum = sum.saturating_sub(entry.size);
            }
        }
        // Nothing goes from a folder of somebody else's that stands in the place of one.
        // What goes is what no entry stands for: files of processes that were stopped in the middle, and folders
        // whose entry is gone.
        let folders = [self.entries(), self.unpacked()].map(|folder| self.checked(folder));
        for folder in folders.into_iter().flatten() {
            for file in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = file.path();
                let name = file.file_name();
                let is_entry = name.to_str().and_then(Digest::parse);
                let is_needed = is_entry.is_some_and(|_| self.entries().join(&name).exists());
                if !is_needed && age(modified(&path)) > IN_USE {
                    let _gone = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                }
            }
        }
    }
}

impl Store for Folder {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.checked(self.entries())?.join(name);
        fs::read(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (file, place) = self.written(name, bytes)?;
        file.persist(place).map_err(|error| error.error)?;
        Ok(())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let (file, place) = self.written(name, bytes)?;
        match file.persist_noclobber(place) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        // The folder first: without its entry it would be in nobody's list.
        if let Ok(unpacked) = self.checked(self.unpacked()) {
            let _others_may_be_faster = fs::remove_dir_all(unpacked.join(name));
        }
        match fs::remove_file(self.checked(self.entries())?.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes the files of an entry into an empty folder.
pub(crate) fn write_parts(folder: &Path, entry: &Entry) -> io::Result<()> {
    for (part, bytes) in entry.parts() {
        if !part.stays_inside() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let path = folder.join(&part.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        match part.link {
            true => private::link(&target(bytes)?, &path)?,
            false => fs::write(path, bytes)?,
        }
    }
    Ok(())
}

/// Where a link leads to.
fn target(bytes: &[u8]) -> io::Result<PathBuf> {
    let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(PathBuf::from(text))
}

/// Whether a folder has the files of an entry.
fn has_parts(folder: &Path, entry: &Entry) -> bool {
    entry.parts().all(|(part, bytes)| {
        let path = folder.join(&part.path);
        match part.link {
            true => fs::read_link(&path).is_ok_and(|found| target(bytes).is_ok_and(|target| target == found)),
            false => fs::read(&path).is_ok_and(|found| found == bytes),
        }
    })
}

fn touch(path: &Path) {
    // Opened for reading, as folders can be too: to set the time takes being the owner, no more.
    // Without it, it goes earlier than others.
    let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

fn modified(path: &Path) -> SystemTime {
    let time = fs::symlink_metadata(path).and_then(|found| found.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// How many bytes a folder takes.
fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    // Neither of these follows links: unpacked files may have some that lead anywhere, and round.
    let sizes = files.map(|file| match file.file_type() {
        Ok(kind) if kind.is_dir() => size(&file.path()),
        _ => file.metadata().map_or(0, |found| found.len()),
    });
    sizes.sum()
}
