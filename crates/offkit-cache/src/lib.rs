//! One cache for results that offkit can make again: built programs, compiled sources, device libraries, good plugins.
//!
//! A [`Key`] names everything that a result depends on; its digest identifies the result. An entry also has the names,
//! so that [`Cache::why`] can explain a miss by the nearest entry, and digests of everything: the cache checks what comes
//! from a disk, another process or another machine before anybody uses it. A bad entry is a miss. Nothing here fails: if
//! the folder is full, read-only, gone or another user's, offkit makes things again.
//!
//! ```
//! use offkit_cache::{Cache, Key, Kind, Limits};
//!
//! # fn main() -> std::io::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! let cache = Cache::at(folder.path().join("offkit"), Limits::default());
//! let key = Key::new(Kind::OpenclC, "saxpy.cl")
//!     .bytes("source", b"kernel void saxpy() {}")
//!     .text("options", "-cl-std=CL3.0");
//! assert!(cache.get(&key).is_none());
//! cache.put(&key, &[], b"the result");
//! assert_eq!(&*cache.get(&key).expect("it was put there"), b"the result");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unreachable,
        clippy::unwrap_used,
    )
)]

mod entry;
mod export;
mod files;
mod folder;
mod key;
mod limits;
mod path;
#[cfg(feature = "remote")]
mod remote;
mod shared;
mod signature;
mod store;
mod why;

use std::path::{Path, PathBuf};
use std::{env, io};

use offkit_host::{folders, temporary};
use offkit_sync::LazyLock;

pub use entry::{BadEntry, Entry, Header, Part};
pub use export::{Imported, Refused};
pub use files::{FileId, mapped_by, mapped_libraries, mapped_named};
pub use folder::Found;
pub use key::{Digest, Input, Key, Kind};
pub use limits::{AGE_VARIABLE, Limits, SIZE_VARIABLE, SWITCH_VARIABLE};
pub use offkit_host::folders::CACHE_VARIABLE;
#[cfg(feature = "remote")]
pub use remote::open as open_remote;
pub use shared::{PATIENCE, REMOTE_VARIABLE, SIGN_VARIABLE, Shared, TRUST_VARIABLE};
pub use signature::{KeyError, Signer, Trust};
pub use store::Store;
pub use why::{Difference, Why};

use folder::{Folder, write_parts};

/// What is kept for a user.
#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    shared: Option<Shared>,
    is_on: bool,
}

/// A file of a folder that other programs read.
#[derive(Clone, Debug)]
pub enum File {
    /// With that content.
    Content(Vec<u8>),
    /// A symbolic link to there.
    Link(PathBuf),
}

impl Cache {
    /// The cache of the user that runs this program, as the environment has it.
    pub fn user() -> &'static Self {
        static USER: LazyLock<Cache> = LazyLock::new(|| {
            // Without a cache it is one among the temporary folders.
            let folder = folders::cache().map(|cache| cache.join("offkit"));
            let folder = folder.unwrap_or_else(|| env::temp_dir().join("offkit-cache"));
            let is_on = limits::is_on();
            Cache {
                is_on,
                shared: is_on.then(shared::from_environment).flatten(),
                ..Cache::at(folder, Limits::from_environment())
            }
        });
        &USER
    }

    /// A cache in a folder, which is made when something is put there.
    pub fn at(folder: PathBuf, limits: Limits) -> Self {
        Self {
            folder: Folder::new(folder, limits),
            shared: None,
            is_on: true,
        }
    }

    /// The same with a store behind it that many machines share.
    #[must_use]
    pub fn with_shared(mut self, shared: Shared) -> Self {
        self.shared = Some(shared);
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether anything is kept: [`SWITCH_VARIABLE`] switches it off.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// What is kept for a key; `None` if there is nothing, or nothing good.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        let found = self.is_on.then(|| self.look(key)).flatten();
        self.tell(key, found.is_some());
        found
    }

    /// The same; and if there is nothing, the right to make it. Where many machines share a store, it is waited for one
    /// that makes it already.
    ///
    /// # Errors
    ///
    /// [`Missing`]: it is to be made.
    pub fn get_or_claim<'a>(&'a self, key: &'a Key) -> Result<Entry, Missing<'a>> {
        self.get(key).map_or_else(|| self.claim(key), Ok)
    }

    /// Waits for another machine that makes what is missing here, or takes the right to make it.
    fn claim<'a>(&'a self, key: &'a Key) -> Result<Entry, Missing<'a>> {
        let missing = |claim| Missing {
            cache: self,
            key,
            _claim: claim,
        };
        let Some(shared) = self.shared_for(key) else {
            return Err(missing(None));
        };
        let entry = shared.claim(key.digest()).map_err(missing)?;
        self.take_over(entry).ok_or_else(|| missing(None))
    }

    /// The shared store, if entries of the kind go there.
    fn shared_for(&self, key: &Key) -> Option<&Shared> {
        self.shared.as_ref().filter(|_| self.is_on && key.kind.travels())
    }

    /// An entry that counts here, from this machine or the shared store.
    fn look(&self, key: &Key) -> Option<Entry> {
        let name = key.digest();
        if let Some(entry) = self.read(name).filter(Entry::is_of_files_there) {
            self.folder.touch(name);
            return Some(entry);
        }
        self.take_over(self.shared_for(key)?.fetch(name)?)
    }

    /// An entry of the shared store, which is kept here too if it counts here.
    fn take_over(&self, entry: Entry) -> Option<Entry> {
        let entry = Some(entry).filter(Entry::is_of_files_there)?;
        self.keep(&entry);
        Some(entry)
    }

    /// The entry of that name. A bad one goes.
    fn read(&self, name: Digest) -> Option<Entry> {
        let bytes = match self.folder.read(&name.to_string()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::info!(%error, folder = %self.path().display(), "the cache cannot be read");
                return None;
            }
        };
        match Entry::read_for(name, bytes) {
            Ok(entry) => Some(entry),
            Err(error) => {
                tracing::warn!(%error, %name, "a bad entry of the cache is removed");
                let _made_again = self.folder.remove(&name.to_string());
                None
            }
        }
    }

    /// Says what came of a look, and why.
    fn tell(&self, key: &Key, is_there: bool) {
        let kind = key.kind.name();
        if is_there {
            tracing::debug!(kind, subject = key.subject, "taken from the cache");
        // Asked for only then: to find the nearest entry the headers of all are read.
        } else if tracing::enabled!(tracing::Level::DEBUG) {
            let why = self.why(key);
            tracing::debug!(kind, subject = key.subject, %why, "not in the cache");
        }
    }

    /// Keeps a content, which is good as long as the files are those that are there now. Where it cannot be kept, it
    /// is made again next time.
    pub fn put(&self, key: &Key, files: &[FileId], content: &[u8]) {
        // On this machine first: to share it may take long, and others of the user's wait no less.
        if let Some(entry) = self.put_here(key, files, content) {
            self.share(entry);
        }
    }

    /// The same on this machine alone, for who is in a hurry: the entry is to be [shared](Self::share) later.
    pub fn put_here(&self, key: &Key, files: &[FileId], content: &[u8]) -> Option<Entry> {
        self.is_on.then(|| {
            let entry = Entry::new(key, files.to_vec(), Vec::new(), content);
            self.keep(&entry);
            entry
        })
    }

    /// Gives an entry to the store that many machines share, if there is one. That may take seconds.
    pub fn share(&self, entry: Entry) {
        if let Some(shared) = self.shared_for(&entry.header.key) {
            shared.give(entry);
        }
    }

    fn keep(&self, entry: &Entry) {
        if let Err(error) = self.store(entry) {
            tracing::info!(%error, folder = %self.path().display(), "the cache cannot be written");
        }
    }

    /// The folder with files that other programs read by their names, the same every time; `make` makes them if they are
    /// not there. Where they cannot be kept, they are among the temporary files. Of use also if the cache is off.
    ///
    /// # Errors
    ///
    /// Those of `make`, and of writing temporary files.
    pub fn folder<E: From<io::Error>>(
        &self,
        key: &Key,
        make: impl FnOnce() -> Result<Vec<(PathBuf, File)>, E>,
    ) -> Result<PathBuf, E> {
        // Not by `get`, which finds nothing where the cache is off: these are of use then, too.
        let found = self.look(key);
        self.tell(key, found.is_some());
        let entry = match found.map_or_else(|| self.claim(key), Ok) {
            Ok(entry) => entry,
            Err(_claim) => {
                // The claim has a name, so that it is held to the end of this: whoever waits for it
                // finds the entry when it goes.
                let entry = of_files(key, make()?);
                self.keep(&entry);
                self.share(entry.clone());
                entry
            }
        };
        match self.folder.unpack(&entry) {
            Ok(folder) => Ok(folder),
            Err(error) => {
                tracing::info!(%error, folder = %self.path().display(), "the cache cannot be written");
                let folder = tempfile::Builder::new().prefix("offkit-").tempdir()?.keep();
                temporary::remove_when_stopped(&folder);
                write_parts(&folder, &entry)?;
                Ok(folder)
            }
        }
    }

    /// All entries, those used last first.
    pub fn entries(&self) -> Vec<Found> {
        let mut found = self.folder.described();
        found.sort_by_key(|entry| (std::cmp::Reverse(entry.used), entry.name));
        found
    }

    /// Checks an entry: all of its digests, the files in use, and what is unpacked from it.
    ///
    /// # Errors
    ///
    /// What is wrong with it. It may be gone by now, which is not wrong.
    pub fn verify(&self, name: Digest) -> Result<(), BadEntry> {
        let Ok(bytes) = self.folder.read(&name.to_string()) else {
            return Ok(());
        };
        let entry = Entry::read_for(name, bytes)?;
        match self.folder.is_unpacked_well(&entry) {
            true => Ok(()),
            false => Err(BadEntry::Content),
        }
    }

    /// Writes an entry.
    fn store(&self, entry: &Entry) -> io::Result<()> {
        self.folder.write(&entry.name().to_string(), entry.bytes())
    }

    /// Removes an entry.
    ///
    /// # Errors
    ///
    /// Why it is still there.
    pub fn remove(&self, name: Digest) -> io::Result<()> {
        self.folder.remove(&name.to_string())
    }
}

/// A content that is to be made. Nobody waits for it any more when this is gone.
#[derive(Debug)]
pub struct Missing<'a> {
    cache: &'a Cache,
    key: &'a Key,
    _claim: Option<shared::Claim<'a>>,
}

impl Missing<'_> {
    /// Keeps what was made, as [`Cache::put`] does.
    pub fn put(self, files: &[FileId], content: &[u8]) {
        self.cache.put(self.key, files, content);
    }
}

/// An entry of several files.
fn of_files(key: &Key, files: Vec<(PathBuf, File)>) -> Entry {
    let (mut parts, mut content) = (Vec::new(), Vec::new());
    for (path, file) in files {
        let link = matches!(file, File::Link(_));
        let bytes = match file {
            File::Content(bytes) => bytes,
            File::Link(target) => target.into_os_string().into_encoded_bytes(),
        };
        parts.push(Part {
            path,
            length: bytes.len() as u64,
            link,
        });
        content.extend(bytes);
    }
    Entry::new(key, Vec::new(), parts, &content)
}
