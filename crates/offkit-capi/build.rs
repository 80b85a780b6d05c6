//! What the linker has to be told about the library.

use std::env;
use std::path::Path;

/// The name by which programs find the library, wherever it was when they were linked. Its number is that of the binary
/// interface: it goes up with a release that programs which were linked before cannot use.
const SONAME: &str = "liboffkit.so.0";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
        // The functions of the plugins inside are no business of the program that loads the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // The threads of devices run on when a program unloads the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        #[cfg(unix)]
        link_where_it_is_built();
    }
}

/// Lets programs that were linked with the library run where it was built: Cargo gives it one name alone, beside the
/// folder of what build scripts write, and in `deps`.
#[cfg(unix)]
fn link_where_it_is_built() {
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&out).ancestors().nth(3);
    for folder in profile
        .into_iter()
        .flat_map(|profile| [profile.to_owned(), profile.join("deps")])
    {
        let link = folder.join(SONAME);
        if link.symlink_metadata().is_ok() {
            continue;
        }
        if let Err(error) = std::os::unix::fs::symlink("liboffkit.so", &link) {
            println!("cargo::warning=cannot link {}: {error}", link.display());
        }
    }
}
