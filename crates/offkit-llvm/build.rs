//! Compiles the few functions in C++ for what LLVM's C interface does not offer; see `src/beyond_c.cpp`.

use std::env;
use std::process::Command;

fn main() {
    const SOURCE: &str = "src/beyond_c.cpp";
    println!("cargo::rerun-if-changed={SOURCE}");
    // The one that llvm-sys found.
    let config = env::var("DEP_LLVM_22_CONFIG_PATH").unwrap_or_else(|_| "llvm-config-22".to_owned());
    let output = Command::new(&config).arg("--includedir").output();
    let output = output.unwrap_or_else(|error| panic!("cannot run `{config}`: {error}"));
    let include = String::from_utf8_lossy(&output.stdout);
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(include.trim())
        // As LLVM itself is compiled; its headers are not to be warned of.
        .flag_if_supported("-fno-exceptions")
        .flag_if_supported("-fno-rtti")
        .warnings(false)
        .file(SOURCE)
        .compile("offkit_beyond_c");
}
