//! `offkit link` with inputs and targets of every kind, looked at with LLVM's own tools, and run where this machine
//! can run it.

mod clang_sycl_linker;
mod device_globals;
mod diagnostics;
mod exports;
mod failures;
mod legalise;
mod selection;
mod spirv_needs;
mod targets;
mod undefined;

use std::process::Command;

use offkit_object::syclbin::AbstractModule;
use offkit_object::{BundleState, Limits, SyclBin};
use offkit_tests::documentation::commands;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, npy_i32, offkit, read_i32, tool};

/// A kernel, the function that it calls, and the one that calls in turn.
const APP: &str = "int helper(int x);
kernel void k(global int *a) { a[get_global_id(0)] = helper(a[get_global_id(0)]); }";

const HELPER: &str = "int deep(int x);
int helper(int x) { return deep(x) * 3; }";

const DEEP: &str = "int deep(int x) { return x + 1; }
int beside(int x) { return x + 2; }";

/// Another of the same name.
const OTHER: &str = "int deep(int x) { return -2; }";

/// Compiles OpenCL C for a target to bitcode.
#[track_caller]
fn compile(folder: &Folder, name: &str, source: &str, target: &str, options: &str) {
    let clang = tool("clang-22").expect("asked for before");
    folder.write(&format!("{name}.cl"), source);
    let line = format!("--target={target} -cl-std=CL3.0 -O1 {options} -emit-llvm -c {name}.cl -o {name}.bc");
    folder.run(clang, line.split_whitespace()).ok();
}

const AMD: (&str, &str) = ("amdgcn-amd-amdhsa", "-mcpu=gfx900 -nogpulib");

const NVIDIA: (&str, &str) = (
    "nvptx64-nvidia-cuda",
    "-march=sm_60 --cuda-feature=+ptx60 -nogpulib",
);

const HOST: (&str, &str) = ("x86_64-unknown-linux-gnu", "");

/// The kernel with an id that every target has: none.
const APP_ALONE: &str = "int helper(int x);
kernel void k(global int *a) { a[0] = helper(a[0]); }";

fn chain(folder: &Folder, (target, options): (&str, &str)) {
    for (name, source) in [("app", APP_ALONE), ("helper", HELPER), ("deep", DEEP)] {
        compile(folder, name, source, target, options);
    }
}

/// What a program says must contain each of these.
#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

/// Puts bitcode into an object for the host, as clang does for offloading languages.
fn embed(folder: &Folder, name: &str, images: &[(&str, &str, &str)]) {
    let packager = tool("llvm-offload-binary").expect("asked for before");
    let images = images
        .iter()
        .map(|(file, triple, arch)| format!("--image=file={file},triple={triple},arch={arch},kind=sycl"));
    let arguments = ["-o".to_owned(), format!("{name}.bin")].into_iter().chain(images);
    folder.run(packager, arguments).ok();
    folder.write("empty.c", format!("int host_{name};"));
    let clang = tool("clang-22").expect("asked for before");
    let line = format!(
        "-cc1 -triple x86_64-unknown-linux-gnu -emit-obj -fembed-offload-object={name}.bin -x c empty.c -o {name}.o"
    );
    folder.run(clang, line.split_whitespace()).ok();
}

/// Runs `k` of a file on the CPU device; it makes 6 of 1.
#[track_caller]
fn runs(folder: &Folder, file: &str) {
    folder.write("a.npy", npy_i32("(4,)", 1..5));
    folder
        .offkit(&format!("run {file} k --global 4 --arg a.npy --out b.npy"))
        .ok();
    assert_eq!(read_i32(&folder.read("b.npy")), [6, 9, 12, 15], "{file}");
}

/// Types what `docs/linking.md` shows, line by line.
#[test]
fn the_examples_of_the_documentation_work() {
    need!("clang-22", "llc", "llvm-ar-22", "sh");
    let folder = Folder::new();
    let commands = commands("docs/linking.md");
    for example in &commands {
        example.check(&folder);
    }
    assert!(commands.len() > 10, "{}", commands.len());
}
