//! The program under the names of its peers: their options, their messages, their files.
//!
//! It goes by the name it is called by, a link or a copy, or by the one that follows `offkit as`.

mod arguments;
pub mod image_description;
mod linker_wrapper;
mod offload_binary;
mod offload_bundler;
mod offload_wrapper;
mod sycl_linker;
mod sycl_post_link;
mod sycl_targets;
mod syclbin_dump;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use offkit_host::files::{self, FileError};

/// A tool: what it is called by, and its arguments.
type Tool = fn(&str, Vec<OsString>) -> ExitCode;

/// Every tool by the names it goes by.
const TOOLS: &[(&str, Tool)] = &[
    ("clang-linker-wrapper", linker_wrapper::main),
    ("clang-offload-bundler", |_, arguments| {
        offload_bundler::main(arguments)
    }),
    ("clang-offload-packager", |called, arguments| {
        finish(offload_binary::run(called, arguments))
    }),
    ("clang-offload-wrapper", |called, arguments| {
        finish(offload_wrapper::run(called, arguments))
    }),
    ("llvm-offload-binary", |called, arguments| {
        finish(offload_binary::run(called, arguments))
    }),
    ("clang-sycl-linker", |called, arguments| {
        finish(sycl_linker::run(called, arguments))
    }),
    ("sycl-post-link", |called, arguments| {
        finish(sycl_post_link::run(called, arguments))
    }),
    ("llvm-offload-wrapper", |called, arguments| {
        finish(offload_wrapper::run_llvm(called, arguments))
    }),
    ("syclbin-dump", |called, arguments| {
        finish(syclbin_dump::run(called, arguments))
    }),
];

/// The names of all tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

/// Runs as the tool that the program is called as; `None` when that is no tool.
pub fn run(called: &OsStr, arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let called = Path::new(called).file_stem()?.to_str()?;
    let (_, tool) = TOOLS.iter().find(|(name, _)| is_called(called, name))?;
    Some(tool(called, arguments.into_iter().collect()))
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

/// Says why a tool failed, and tells it by the exit code.
fn finish(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "the peers' messages, word for word")]
fn say(message: &str) {
    eprintln!("{message}");
}

/// Writes to standard output; ends the program where that is not possible, for nothing is left to be done.
fn show(text: &str) {
    show_chunks(&[text.as_bytes()]);
}

fn show_chunks(chunks: &[&[u8]]) {
    if let Err(error) = files::write(Path::new("-"), chunks) {
        say(&format!("error: {}", offkit_host::chain(&error)));
        std::process::exit(2);
    }
}

/// Writes a file, of which `-` is standard output.
fn write(path: &Path, chunks: &[&[u8]]) -> Result<(), FileError> {
    match files::is_standard_stream(path) {
        true => {
            show_chunks(chunks);
            Ok(())
        }
        false => files::write(path, chunks),
    }
}

/// Answers the options that ask for help or for the version; whether this is one of them.
fn answers(option: &str, help: &str) -> bool {
    match option {
        "help" | "h" | "help-hidden" | "help-list" | "help-list-hidden" => show(help),
        "version" => show(&version()),
        _ => return false,
    }
    true
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
