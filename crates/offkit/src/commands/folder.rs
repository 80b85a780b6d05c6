//! The files in a folder.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// All files in a folder and the folders in it, by name. Links are not followed: what they lead to is a file of its own.
/// Also why folders could not be read; what is in the others is there all the same.
pub(super) fn files_in(folder: &Path) -> (Vec<PathBuf>, Vec<Failure>) {
    let mut files = Vec::new();
    let mut failures = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if let Err(error) = add_entries(&folder, &mut folders, &mut files) {
            let message = format!("cannot read the folder `{}`: {error}", folder.display());
            failures.push(Failure::input(message));
        }
    }
    // File systems list in any order; what is printed has to be the same each time.
    files.sort();
    (files, failures)
}

/// Whether the first bytes of a file in a folder may be those of device code or of what it is in.
pub(super) fn may_have_code(path: &Path) -> io::Result<bool> {
    const HEAD: u64 = 1 << 12;
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(offkit_object::looks_like_device_code(&head))
}

fn add_entries(folder: &Path, folders: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // That of the entry itself: a link to a folder further up would lead around in a circle.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
