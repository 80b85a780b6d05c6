//! Programs with their kernels as lambdas: `include/offkit/parallel.hpp`, compiled and linked by one command, on the CPU
//! device and on an OpenCL driver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use offkit_tests::drivers::{intel, pocl, with_drivers};
use offkit_tests::{Folder, Outcome, need, programs, root, shared_library};

/// The runtime that the programs are linked with, brought up to date.
fn need_runtime() {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| shared_library("offkit-capi", "offkit"));
}

/// A source of `examples/parallel`.
fn example(name: &str) -> String {
    root().join("examples/parallel").join(name).display().to_string()
}

/// Makes a program of a source as the page says, `offkit c++ -fsycl app.cpp -o app`.
#[track_caller]
fn build(folder: &Folder, source: &str, program: &str) {
    need_runtime();
    let line = format!("c++ -fsycl -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror {source} -o {program}");
    folder.offkit(&line).ok();
}

/// Builds a program of `tests/parallel`, which checks itself, and runs it on each device.
#[track_caller]
fn check(name: &str, options: &str) {
    let folder = Folder::new();
    let source = root().join("tests/parallel").join(format!("{name}.cpp"));
    build(&folder, &format!("{} {options}", source.display()), name);
    for said in run_everywhere(&folder, name) {
        assert_eq!(said, "ok\n");
    }
}

/// Runs a program that sees the devices of these OpenCL drivers, besides offkit's own.
fn run_with(folder: &Folder, program: &str, drivers: &Path, device: &str) -> Outcome {
    let plugin = shared_library("offkit-plugin-opencl", "offkit_plugin_opencl");
    let mut command = Command::new(folder.path(program));
    command
        .env("OFFKIT_PLUGINS", plugin)
        .env("ONEAPI_DEVICE_SELECTOR", device)
        .env("XDG_CACHE_HOME", programs().join("test-cache"));
    folder.run_command(with_drivers(&mut command, &[("OCL_ICD_VENDORS", drivers)]))
}

/// Runs a program on the CPU device, and, where there is one, on an OpenCL driver with shared memory: the output of each.
#[track_caller]
fn run_everywhere(folder: &Folder, program: &str) -> Vec<String> {
    let none = Path::new("/nowhere/");
    let mut said = vec![run_with(folder, program, none, "offkit:*").ok()];
    if let Some(drivers) = intel() {
        said.push(run_with(folder, program, &drivers, "opencl:*").ok());
    }
    said
}

#[test]
fn a_kernel_is_a_lambda_in_the_program_that_one_command_makes() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    build(&folder, &example("saxpy.cpp"), "saxpy");
    for said in run_everywhere(&folder, "saxpy") {
        assert!(said.ends_with("2.5 * 1023 + 1 = 2558.5\n"), "{said}");
    }
    let listing = folder.offkit("ls --json saxpy").json();
    assert_eq!(listing[0]["kernels"], serde_json::json!(["_ZTSZ4mainE5Saxpy"]));
}

#[test]
fn work_items_know_where_they_are() {
    need!("clang++-22", "llc");
    check("spaces", "");
}

#[test]
fn memory_is_shared_in_every_way() {
    need!("clang++-22", "llc");
    check("memory", "");
    check("memory", "-O1 -g");
}

#[test]
fn a_kernel_that_fails_is_an_exception_with_its_line() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    let source = root().join("tests/parallel/fault.cpp");
    build(&folder, &format!("-g {}", source.display()), "fault");
    let none = Path::new("/nowhere/");
    assert_eq!(run_with(&folder, "fault", none, "offkit:*").ok(), "ok\n");
}

#[test]
fn a_device_without_shared_memory_is_refused_by_its_name() {
    need!("clang++-22", "llc");
    let Some(drivers) = pocl() else { return };
    let folder = Folder::new();
    build(&folder, &example("saxpy.cpp"), "saxpy");
    let said = run_with(&folder, "saxpy", &drivers, "opencl:*").fails(1);
    assert!(
        said.contains("no device has what kernels need\ndevice `"),
        "{said}"
    );
    assert!(said.contains("` has no shared USM"), "{said}");
}
