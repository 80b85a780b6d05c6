//! Programs in C and C++ that use `liboffkit.so`.

use std::path::PathBuf;
use std::process::Command;

use crate::{Folder, root, shared_library, tool};

/// The library.
pub fn liboffkit() -> PathBuf {
    shared_library("offkit")
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
