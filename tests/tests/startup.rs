//! The program stands alone: it starts without LLVM, and is one file.

use offkit_tests::{Folder, need, offkit, tool};

#[test]
fn the_program_needs_no_llvm() {
    need!("ldd");
    let folder = Folder::new();
    let libraries = folder.run(tool("ldd").unwrap(), [offkit()]).ok();
    assert!(!libraries.contains("LLVM"), "{libraries}");
    for line in libraries.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        let part_of_the_system = [
            "linux-vdso",
            "libgcc_s",
            "libm.so",
            "libc.so",
            "libpthread",
            "libdl",
            "ld-linux",
        ];
        assert!(
            part_of_the_system.iter().any(|known| name.contains(known)),
            "{line}"
        );
    }
}

#[test]
fn version_and_help_are_there() {
    let folder = Folder::new();
    assert!(folder.offkit("--version").ok().starts_with("offkit 0."));
    let help = folder.offkit("--help").ok();
    for part in ["ls", "link", "run", "Exit codes"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
