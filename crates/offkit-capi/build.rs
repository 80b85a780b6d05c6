//! What the linker has to be told about the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // Programs find it by this name, wherever it was when they were linked.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liboffkit.so");
        // The functions of the plugins inside are no business of the program that loads the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // The threads of devices run on when a program unloads the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
