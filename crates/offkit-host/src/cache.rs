//! The user's folder for files that can be made again.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The environment variable that names it.
pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";

/// A folder of the cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare `{}`: {reason}", .folder.display())]
pub struct CacheError {
    folder: PathBuf,
    reason: String,
}

impl CacheError {
    /// That folder cannot be used, and why.
    pub fn new(folder: &Path, reason: impl ToString) -> Self {
        Self {
            folder: folder.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        format!("{CACHE_VARIABLE} names the folder for files that can be made again")
    }
}

/// offkit's folder of that name in the user's cache. It may not be there yet. Without a cache it is one among the
/// temporary folders that nobody else can write to.
///
/// # Errors
///
/// Others can write to the temporary one.
pub fn folder(name: &str) -> Result<PathBuf, CacheError> {
    if let Some(cache) = user_folder() {
        return Ok(cache.join("offkit").join(name));
    }
    let folder = env::temp_dir().join(format!("offkit-{name}"));
    make_private(&folder).map_err(|error| CacheError::new(&folder, error))?;
    Ok(folder)
}

fn user_folder() -> Option<PathBuf> {
    let named = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    named(CACHE_VARIABLE)
        .or_else(|| Some(named("HOME")?.join(".cache")))
        .filter(|folder| folder.is_absolute())
}

/// Makes a folder where everybody may make folders, or takes the one that is there if nobody else can have put
/// anything into it: programs in it are run.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    let found = fs::symlink_metadata(folder)?;
    // What is made now belongs to whoever runs this.
    let own = tempfile::tempfile()?.metadata()?.uid();
    if found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other("others can write to it"))
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
