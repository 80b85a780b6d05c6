//! How a tool fails: what it says, and its exit code.

use std::error::Error;
use std::process::ExitCode;

use offkit_host::files::FileError;

use crate::options::UsageError;

/// Why a tool ends before its work is done. What an error displays is all that is said: the peer's words, with the causes
/// where the peer says them.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(Vec<UsageError>),
    /// What is said after the tool's name and `error:`.
    Error(Box<dyn Error + Send + Sync>),
    /// What is said as it is: the peer does so, too.
    Words(Box<dyn Error + Send + Sync>),
}

impl Failure {
    pub(crate) fn error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Error(error.into())
    }

    pub(crate) fn words(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Words(error.into())
    }

    /// The lines that are said.
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

/// A file cannot be read or written, said with the system's reason.
#[derive(Debug, thiserror::Error)]
#[error("{}", offkit_host::chain(.0))]
pub(crate) struct File(#[from] pub(crate) FileError);

impl From<Vec<UsageError>> for Failure {
    fn from(errors: Vec<UsageError>) -> Self {
        Self::Usage(errors)
    }
}
