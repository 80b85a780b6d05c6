//! Libraries of `-l`: where they are looked for.

use std::env;
use std::path::{Path, PathBuf};

use offkit_link::device_library::Search;

use super::cc::clang;

/// The search in the folders of `-L`, in those of `LIBRARY_PATH`, and beside the compiler.
pub(super) fn search(named: &[PathBuf]) -> Search {
    let variable = env::var_os("LIBRARY_PATH");
    // Without a compiler there is nothing beside it.
    let compiler = clang::find().ok();
    Search::new(named, variable.as_deref(), compiler.as_deref())
}

/// The folders of `-L`, and after them those of `LIBRARY_PATH`.
pub(super) fn search_folders(named: &[PathBuf]) -> Vec<PathBuf> {
    let variable = env::var_os("LIBRARY_PATH").unwrap_or_default();
    // Nothing between two separators, or in the whole variable, is not the current folder.
    let from_variable = env::split_paths(&variable).filter(|folder| *folder != Path::new(""));
    named.iter().cloned().chain(from_variable).collect()
}

/// The files that `-l` may mean, best first: `libNAME.so` before `libNAME.a` in each folder, only the latter if
/// `is_static`, and FILE for `:FILE`.
pub(super) fn candidates(name: &str, folders: &[PathBuf], is_static: bool) -> Vec<PathBuf> {
    let files = match name.strip_prefix(':') {
        Some(file) => vec![file.to_owned()],
        None if is_static => vec![format!("lib{name}.a")],
        None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
    };
    let in_folder = |folder: &PathBuf| -> Vec<_> { files.iter().map(|file| folder.join(file)).collect() };
    folders.iter().flat_map(in_folder).collect()
}
