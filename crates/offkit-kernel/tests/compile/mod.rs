//! OpenCL C to SPIR-V with clang 22, and SPIR-V to the form.

use std::io::Write;
use std::process::{Command, Stdio};

use offkit_kernel::ir::Module;

/// Whether clang 22 is there. Without it tests are skipped, or fail when `OFFKIT_REQUIRE_TOOLS` is 1.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn is_available() -> bool {
    let found = Command::new("clang-22").arg("--version").output().is_ok();
    let required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(found || !required, "clang-22 is required and not found");
    if !found {
        eprintln!("SKIPPED: clang-22 is not installed");
    }
    found
}

/// Compiles OpenCL C; flags are separated by blanks.
pub(crate) fn compile(source: &str, flags: &str) -> Vec<u8> {
    let mut command = Command::new("clang-22");
    command.args([
        "--target=spirv64",
        "-cl-std=CL3.0",
        "-Wno-everything",
        "-x",
        "cl",
        "-c",
        "-",
        "-o",
        "-",
    ]);
    command.args(flags.split(' '));
    let streams = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = streams.spawn().expect("clang-22 starts");
    let mut input = child.stdin.take().expect("a pipe was asked for");
    // The compiler reads all of its input before it writes.
    input.write_all(source.as_bytes()).expect("clang-22 reads");
    drop(input);
    let output = child.wait_with_output().expect("clang-22 ends");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Reads a module, which must be valid.
pub(crate) fn read(spirv: &[u8]) -> Module {
    let source = offkit_spirv::Module::from_bytes(spirv).expect("clang writes SPIR-V");
    let module = offkit_kernel::read(source.dr()).unwrap_or_else(|error| panic!("{error}"));
    module.verify().unwrap_or_else(|error| panic!("{error}"));
    module
}
