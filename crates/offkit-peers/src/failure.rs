//! How a tool fails: what it says, and its exit code.

use std::error::Error;
use std::process::ExitCode;

use offkit_host::files::FileError;

use crate::options::UsageError;

/// Why a tool stops early. It prints what the error displays and nothing else: the peer's words, with causes where the
/// peer prints them.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(Vec<UsageError>),
    /// Printed after the tool's name and `error:`.
    Error(Box<dyn Error + Send + Sync>),
    /// Printed as is, as the peer does.
    Words(Box<dyn Error + Send + Sync>),
}

impl Failure {
    pub(crate) fn error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Error(error.into())
    }

    pub(crate) fn words(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Words(error.into())
    }

    /// The lines to print.
    pub(crate) fn lines(&self, tool: &str) -> String {
        match self {
            Self::Usage(errors) => {
                let lines: Vec<_> = errors.iter().map(|error| format!("{tool}: {error}")).collect();
                lines.join("\n")
            }
            Self::Error(error) => format!("{tool}: error: {error}"),
            Self::Words(error) => error.to_string(),
        }
    }

    /// 2 where standard output cannot be written, as everywhere in offkit; else 1, as the peers have it.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let (Self::Error(error) | Self::Words(error)) = self else {
            return ExitCode::FAILURE;
        };
        // Through all causes: each tool wraps a file's error into one with its own words.
        let mut next: Option<&(dyn Error + 'static)> = Some(&**error);
        while let Some(cause) = next {
            if cause.downcast_ref().is_some_and(FileError::is_of_standard_stream) {
                return ExitCode::from(2);
            }
            next = cause.source();
        }
        ExitCode::FAILURE
    }
}

/// A file cannot be read or written; prints the system's reason.
#[derive(Debug, thiserror::Error)]
#[error("{}", offkit_host::chain(.0))]
pub(crate) struct File(#[from] pub(crate) FileError);

impl From<Vec<UsageError>> for Failure {
    fn from(errors: Vec<UsageError>) -> Self {
        Self::Usage(errors)
    }
}
