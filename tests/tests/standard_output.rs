//! Standard output that is full or closed, for every command and under every name of the program.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::process::{Command, Stdio};

use offkit_tests::{Folder, need, offkit};

/// Every command that prints what was asked for, and what writes a file to standard output.
const PRINTING: &[&str] = &[
    "--help",
    "--version",
    "help ls",
    "link --help",
    "ls k.syclbin",
    "ls --json k.syclbin",
    "show k.syclbin",
    "show --json k.syclbin",
    "verify k.syclbin",
    "verify --json broken",
    "extract k.syclbin -o -",
    "extract --json k.syclbin -o images",
    "replace k.spv k.spv=k.spv -o -",
    "pack --image file=k.spv,triple=spirv64 -o -",
    "convert k.syclbin --to offload,v1 --allow-loss -o -",
    "convert k.syclbin --to offload,v1 --allow-loss --json -o k.out",
    "wrap k.spv --kind sycl-v3 --triple spir64 -o -",
    "wrap --json k.spv --kind sycl-v3 --triple spir64 -o k.o",
    "link k.bc -o -",
    "link --json k.bc -o x.syclbin",
    "link k.bc -o x.syclbin --dry-run",
    "post-link k.bc",
    "mark k.bc --module-id k -o -",
    "devlib query k.syclbin",
    "devlib query --json k.syclbin",
    "devlib find -ldevice --arch gfx90a -L lib",
    "devlib find -ldevice --arch gfx90a -L lib --json",
    "devlib check undefined.bc",
    "run k.syclbin k --global 1 --arg i32[1] --out -",
    "run --json k.syclbin k --global 1 --arg i32[1]",
    "run p.syclbin line --global 1",
    "run p.syclbin word --global 1",
    "as clang-linker-wrapper --help",
    "as clang-linker-wrapper --version",
    "as clang-offload-bundler --help",
    "as clang-offload-bundler --version",
    "as clang-offload-bundler -list -type=bc -input=k.bundle",
    "as clang-offload-bundler -unbundle -type=bc -targets=hip-amdgcn-amd-amdhsa--gfx90a -input=k.bundle -output=-",
    "as clang-offload-packager --help",
    "as clang-offload-packager --image=file=k.spv,triple=spirv64 -o -",
    "as clang-offload-wrapper --help",
    "as clang-offload-wrapper -kind=sycl -target=spir64 k.spv -o -",
    "as clang-sycl-linker --help",
    "as clang-sycl-linker --dry-run --print-linked-module -triple=spirv64 k.bc -o x.out",
    "as llvm-offload-binary",
    "as llvm-offload-binary --help",
    "as llvm-offload-wrapper --help",
    "as llvm-offload-wrapper --kind=openmp k.spv -o -",
    "as sycl-post-link --help",
    "as sycl-post-link -split=auto k.bc -o -",
    "as syclbin-dump --help",
    "as syclbin-dump k.syclbin",
];

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.syclbin("k", "kernel void k(global int *a) { a[0] = 1; }", "");
    folder.syclbin(
        "p",
        "kernel void line() { printf(\"a line\\n\"); } kernel void word() { printf(\"a word\"); }",
        "",
    );
    folder.bitcode(
        "undefined",
        "int f(); kernel void k(global int *a) { a[0] = f(); }",
    );
    folder.write("broken", b"\x10\xff\x10\xad broken");
    folder.offkit("extract k.syclbin -o images").ok();
    let image = std::fs::read_dir(folder.path("images")).unwrap().next().unwrap();
    std::fs::copy(image.unwrap().path(), folder.path("k.spv")).unwrap();
    folder
        .offkit("pack --image file=k.spv,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip --format bundle,binary --allow-loss -o k.bundle")
        .ok();
    folder
}

#[test]
fn a_full_disk_is_an_error() {
    need!("clang-22", "llc");
    let folder = prepared();
    for line in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(offkit())
            .args(line.split(' '))
            .current_dir(folder.path("."))
            .stdin(Stdio::null())
            .stdout(full)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("No space left"), "{line}: {said}");
        assert!(!said.contains("panicked"), "{line}: {said}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    need!("clang-22", "llc");
    let folder = prepared();
    for line in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(offkit())
            .args(line.split(' '))
            .current_dir(folder.path("."))
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert!(!said.contains("error"), "{line}: {said}");
    }
}
