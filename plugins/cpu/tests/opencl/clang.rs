//! OpenCL C to SPIR-V with clang 22.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// How a source is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) target: &'static str,
    /// Separated by blanks.
    pub(crate) flags: &'static str,
    pub(crate) standard: &'static str,
    /// SPIR-V extensions that the back end may use, as its option has them; empty for none.
    pub(crate) extensions: &'static str,
}

impl Options {
    pub(crate) const DEFAULT: Options = Options {
        target: "spirv64",
        flags: "-O2",
        standard: "CL3.0",
        extensions: "",
    };

    /// What every source is tested with.
    pub(crate) fn all() -> [Options; 3] {
        [
            Options {
                flags: "-O0",
                ..Options::DEFAULT
            },
            Options::DEFAULT,
            Options {
                target: "spirv64v1.2",
                ..Options::DEFAULT
            },
        ]
    }

    /// What sources are tested with whose functions need extensions of SPIR-V.
    pub(crate) fn extended(extensions: &'static str) -> [Options; 2] {
        [
            Options {
                flags: "-O0",
                extensions,
                ..Options::DEFAULT
            },
            Options {
                extensions,
                ..Options::DEFAULT
            },
        ]
    }
}

/// Whether clang 22 is there. Without it tests are skipped, or fail when `OFFKIT_REQUIRE_TOOLS` is 1.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let found = Command::new("clang-22").arg("--version").output().is_ok();
        assert!(
            found || std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
            "clang-22 is required and not found"
        );
        if !found {
            eprintln!("SKIPPED: clang-22 is not installed");
        }
        found
    })
}

/// Compiles OpenCL C; the error is what clang printed.
pub(crate) fn compile(source: &str, options: Options) -> Result<Vec<u8>, String> {
    let mut command = Command::new("clang-22");
    command
        .arg(format!("--target={}", options.target))
        .arg(format!("-cl-std={}", options.standard))
        .args(options.flags.split(' '))
        .args([
            "-Werror=implicit-function-declaration",
            "-Wno-unused-value",
            "-Xclang",
            "-fno-rtti",
            "-x",
            "cl",
            "-c",
            "-",
            "-o",
            "-",
        ]);
    if !options.extensions.is_empty() {
        command
            .arg("-mllvm")
            .arg(format!("--spirv-ext={}", options.extensions));
    }
    run(&mut command, source.as_bytes())
}

/// Runs a command on an input and returns its standard output; the error is its standard error output.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let mut pipe = child.stdin.take().expect("a pipe was asked for");
    let input = input.to_vec();
    // From a thread of its own, so that neither side waits for the other when the pipes are full.
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    // A tool that has seen enough may close the pipe early; its exit status tells.
    let _ = writer.join();
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
