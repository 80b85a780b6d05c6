//! The files in a folder.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// All files in a folder and the folders in it, by name. Links are not followed: what they lead to is a file of its own.
pub(super) fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed =
            |error| Failure::input(format!("cannot read the folder `{}`: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}
