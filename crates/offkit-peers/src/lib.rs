//! LLVM's and DPC++'s tools by their own names: their options, messages and files.
//!
//! The program acts as the tool whose name it is called by (a link or a copy), or the one after `offkit as`. A version
//! may follow the name, as in `llvm-offload-binary-22`.
//!
//! Build systems call these tools, and scripts read what they print, so each takes the options of the tool it stands
//! for, and writes the same files and the same messages, word for word. A tool reads its command line by a table
//! (`options`), calls what offkit's own verbs call, and returns the text for standard output or the reason why there
//! is none (`failure`).
//!
//! ```
//! assert!(offkit_peers::names().any(|name| name == "clang-offload-bundler"));
//! // Called by another name, the program is none of the tools.
//! assert!(offkit_peers::run("offkit".as_ref(), ["ls".into()]).is_none());
//! ```

/// Writes a line to standard error, as `eprintln!` does; where it cannot be written there is nowhere left to say so.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

#[macro_use]
mod options;
mod failure;
mod linker_wrapper;
mod offload_binary;
mod offload_bundler;
mod offload_wrapper;
mod sycl_linker;
mod sycl_ls;
mod sycl_post_link;
mod sycl_targets;
mod syclbin_dump;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use offkit_host::files;

use failure::Failure;

/// A tool: takes arguments and returns what to print at the end.
type Tool = fn(Vec<OsString>) -> Result<String, Failure>;

/// Every tool by its name.
const TOOLS: &[(&str, Tool)] = &[
    ("clang-linker-wrapper", linker_wrapper::run),
    ("clang-offload-bundler", offload_bundler::run),
    ("clang-offload-packager", offload_binary::run_packager),
    ("clang-offload-wrapper", offload_wrapper::run),
    ("clang-sycl-linker", sycl_linker::run),
    ("llvm-offload-binary", offload_binary::run),
    ("llvm-offload-wrapper", offload_wrapper::run_llvm),
    ("sycl-ls", sycl_ls::run),
    ("sycl-post-link", sycl_post_link::run),
    ("syclbin-dump", syclbin_dump::run),
];

/// The names of all tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

/// Runs as the tool that the program is called as; `None` when that is no tool.
pub fn run(called: &OsStr, arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let called = Path::new(called).file_stem()?.to_str()?;
    let (name, tool) = TOOLS.iter().find(|(name, _)| is_called(called, name))?;
    // Not by `print!`, which panics where standard output is closed: that is an exit code of its
    // own here.
    let shown = tool(arguments.into_iter().collect()).and_then(|text| {
        files::write(Path::new("-"), &[text.as_bytes()]).map_err(|error| Failure::error(failure::File(error)))
    });
    Some(match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say!("{}", failure.lines(name));
            failure.exit_code()
        }
    })
}

/// Whether a program's name is that of a tool, or has a version after it, as Debian's programs do.
fn is_called(called: &str, name: &str) -> bool {
    called.strip_prefix(name).is_some_and(|version| {
        version.is_empty()
            || version
                .strip_prefix('-')
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    })
}

/// What `--version` prints: the version of LLVM whose tools these stand for, which scripts look for, and ours.
fn version() -> String {
    format!(
        "offkit {}, in the place of\n  LLVM version 22.1.8\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_go_by_their_names_with_and_without_a_version() {
        assert!(is_called("syclbin-dump", "syclbin-dump"));
        assert!(is_called("llvm-offload-binary-22", "llvm-offload-binary"));
        assert!(!is_called("llvm-offload-binary-x", "llvm-offload-binary"));
        assert!(!is_called("offkit", "syclbin-dump"));
    }
}
