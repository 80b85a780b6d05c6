//! clang 22 on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use offkit_link::program;

use crate::failure::{ExitStatus, Failure};

/// The environment variable that names the clang to use.
pub(crate) const CLANG_VARIABLE: &str = "OFFKIT_CLANG";

/// Where Debian's packages put it.
const DEBIAN: &str = "/usr/lib/llvm-22/bin/clang";

/// Finds clang 22: the one that [`CLANG_VARIABLE`] names, else `clang-22` on the path, else a `clang` there
/// that is of version 22, else Debian's.
pub(in crate::commands) fn find() -> Result<PathBuf, Failure> {
    if let Some(named) = env::var_os(CLANG_VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(&named);
        let found = if path.components().count() == 1 {
            program::find(&named, &[], &[])
        } else {
            path.is_file().then_some(path)
        };
        return found.ok_or_else(|| {
            Failure::new(
                ExitStatus::Machine,
                format!("there is no program `{}`", named.display()),
            )
            .hint(format!(
                "{CLANG_VARIABLE} names it: correct it, or unset it to use `clang-22`"
            ))
        });
    }
    let found = program::find("clang-22", &[], &[])
        .or_else(|| program::find("clang", &[], &[]).filter(|clang| is_22(clang)))
        .or_else(|| Some(PathBuf::from(DEBIAN)).filter(|clang| clang.is_file()));
    found.ok_or_else(|| {
        Failure::new(
            ExitStatus::Machine,
            format!("clang 22 is not installed: neither `clang-22` nor a `clang` of that version is on PATH, and there is no `{DEBIAN}`"),
        )
        .hint(format!("install it, `apt-get install clang-22`, or name it in {CLANG_VARIABLE}"))
    })
}

fn is_22(clang: &Path) -> bool {
    let output = Command::new(clang).arg("-dumpversion").output();
    output.is_ok_and(|output| output.stdout.starts_with(b"22."))
}

/// Runs clang in the place of this process, or, where a process cannot be replaced, as its child.
pub(super) fn become_clang(clang: &Path, words: impl Iterator<Item = OsString>) -> Result<ExitCode, Failure> {
    let mut command = Command::new(clang);
    command.args(words);
    let cannot_start = |error: std::io::Error| {
        Failure::new(
            ExitStatus::Machine,
            format!("cannot start `{}`: {error}", clang.display()),
        )
    };
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(cannot_start(command.exec()))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().map_err(cannot_start)?;
        Ok(status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from))
    }
}
