//! clang in the place of this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use offkit_host::clang;

use crate::failure::{ExitStatus, Failure};

/// Finds clang 22.
pub(in crate::commands) fn find() -> Result<PathBuf, Failure> {
    clang::find().map_err(|error| {
        let hint = error.hint();
        Failure::new(ExitStatus::Machine, error).hint(hint)
    })
}

/// Runs clang in the place of this process, or, where a process cannot be replaced, as its child.
pub(super) fn become_clang(clang: &Path, words: Vec<OsString>) -> Result<ExitCode, Failure> {
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
        // `exec` comes back only where it has failed.
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
