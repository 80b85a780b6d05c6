//! What the linker has to be told about the driver's library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // The functions of the plugins inside are no business of the program that loads the driver.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // The threads of devices run on when a program unloads a loader of drivers.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
