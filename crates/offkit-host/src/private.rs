//! Folders that nobody else can write to: what is in them is run.

use std::path::Path;
use std::{fs, io};

/// Makes a folder, or takes the one that is there if it is the user's own and others could not write to it. Others
/// cannot look into it either.
///
/// # Errors
///
/// It cannot be made, or [`check`] refuses it.
#[cfg(unix)]
pub fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    // With its mode from the start: if that were set later, others could open it in between.
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    check(folder)?;
    if fs::symlink_metadata(folder)?.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Checks that a folder is the user's own, and others cannot write to it.
///
/// # Errors
///
/// It is not there, or another's, or others can write to it.
#[cfg(unix)]
pub fn check(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    // Of the name itself: a link that somebody else has put there must not lead elsewhere.
    let found = fs::symlink_metadata(folder)?;
    let refused = |why: &str| {
        let message = format!("`{}` {why}", folder.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    };
    // SAFETY: the call has no conditions.
    if !found.is_dir() || found.uid() != unsafe { libc::geteuid() } {
        return refused("is no folder of this user's");
    }
    if found.mode() & 0o022 != 0 {
        return refused("can be written to by others");
    }
    Ok(())
}

/// Makes a symbolic link, or what comes closest.
///
/// # Errors
///
/// The system's.
#[cfg(unix)]
pub fn link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Makes a folder unless it is there.
///
/// # Errors
///
/// The system's.
#[cfg(not(unix))]
pub fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Checks that a folder is there.
///
/// # Errors
///
/// The system's.
#[cfg(not(unix))]
pub fn check(folder: &Path) -> io::Result<()> {
    fs::metadata(folder).map(drop)
}

/// Makes a symbolic link, or what comes closest.
///
/// # Errors
///
/// The system's.
#[cfg(not(unix))]
pub fn link(target: &Path, link: &Path) -> io::Result<()> {
    fs::hard_link(target, link).or_else(|_| fs::copy(target, link).map(drop))
}
