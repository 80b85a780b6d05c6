//! clang 22 on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program;

/// The environment variable that names the clang to use.
pub const CLANG_VARIABLE: &str = "OFFKIT_CLANG";

/// Where Debian's packages put it.
const DEBIAN: &str = "/usr/lib/llvm-22/bin/clang";

/// There is no clang to be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClangError {
    /// The one that is named is not there.
    #[error("no program `{}` was found", .0.display())]
    Named(OsString),
    /// No clang 22 was found.
    #[error(
        "clang 22 is not installed: neither `clang-22` nor a `clang` of that version is on PATH, and there is no `{DEBIAN}`"
    )]
    Missing,
}

impl ClangError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Named(_) => {
                format!("{CLANG_VARIABLE} names it: correct it, or unset it to use `clang-22`")
            }
            Self::Missing => {
                format!("install it, `apt-get install clang-22`, or name it in {CLANG_VARIABLE}")
            }
        }
    }
}

/// Finds clang 22: the one that [`CLANG_VARIABLE`] names, else `clang-22` on the path, else a `clang` there
/// that is of version 22, else Debian's.
///
/// # Errors
///
/// There is none, or not the one that is named.
pub fn find() -> Result<PathBuf, ClangError> {
    if let Some(named) = env::var_os(CLANG_VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(&named);
        // A bare name is looked for as a shell would; a path must not lead to another one on PATH.
        let found = if path.components().count() == 1 {
            program::find(&named, &[], &[])
        } else {
            path.is_file().then_some(path)
        };
        return found.ok_or(ClangError::Named(named));
    }
    program::find("clang-22", &[], &[])
        .or_else(|| program::find("clang", &[], &[]).filter(|clang| is_22(clang)))
        .or_else(|| Some(PathBuf::from(DEBIAN)).filter(|clang| clang.is_file()))
        .ok_or(ClangError::Missing)
}

fn is_22(clang: &Path) -> bool {
    // `--version` begins with the vendor's words; this prints the number alone.
    let output = Command::new(clang).arg("-dumpversion").output();
    output.is_ok_and(|output| output.stdout.starts_with(b"22."))
}
