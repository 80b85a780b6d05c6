//! Libraries of `-l`: where they are looked for.

use std::env;
use std::path::PathBuf;

use offkit_link::device_library::Search;

use super::cc::clang;

/// The search in the folders of `-L`, in those of `LIBRARY_PATH`, and beside the compiler.
pub(crate) fn search(named: &[PathBuf]) -> Search {
    let variable = env::var_os("LIBRARY_PATH");
    // Without a compiler there is nothing beside it.
    let compiler = clang::find().ok();
    Search::new(named, variable.as_deref(), compiler.as_deref())
}
