//! Programs in C and C++ that use `liboffkit.so`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::{Folder, root, shared_library, tool};

/// The library, built once.
pub fn liboffkit() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| shared_library("offkit-capi", "offkit"))
        .clone()
}

/// Compiles a program or library against the header and the library, which programs find when they run.
#[track_caller]
pub fn compile(folder: &Folder, compiler: &str, words: &str, output: &str) {
    let library = liboffkit();
    let place = library.parent().expect("a folder").display();
    let mut command = Command::new(tool(compiler).expect("asked for before"));
    command
        .args(words.split_whitespace())
        .args(["-o", output])
        .arg(format!("-I{}", root().join("include").display()))
        .args([&format!("-L{place}"), &format!("-Wl,-rpath,{place}")])
        .args(["-loffkit", "-ldl", "-pthread"]);
    folder.run_command(&mut command).ok();
}
