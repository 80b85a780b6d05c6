//! What the linker has to be told about the driver's library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // The functions of the plugins inside are no business of the program that loads the driver.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // The threads of devices run on when a program unloads a loader of drivers.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        link_unwinder();
    }
}

/// Links what unwinds the stack as a static library, where the compiler has it: the shared one asks the processor what it can
/// when it is loaded, which took 0.1 ms of 1.5 to a first result on a virtual machine. The linker takes the static one for it,
/// which has its name in a folder of its own.
fn link_unwinder() {
    let Some(library) = found("libgcc_eh.a") else {
        return;
    };
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says it")).join("static");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(library, folder.join("libgcc_s.a")).expect("a copy");
    println!("cargo::rustc-link-search=native={}", folder.display());
}

/// The file of a library, if the compiler that links finds it.
fn found(file: &str) -> Option<PathBuf> {
    let linker = env::var("RUSTC_LINKER").unwrap_or("cc".to_owned());
    let output = Command::new(linker)
        .arg(format!("-print-file-name={file}"))
        .output()
        .ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    // It answers with the name alone if there is no such file.
    Some(Path::new(answer.trim()).to_owned()).filter(|path| path.is_absolute())
}
