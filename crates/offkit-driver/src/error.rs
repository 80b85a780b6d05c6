//! Why a command line is not carried out, and what to do next.

use std::io;

use offkit_host::clang::ClangError;
use offkit_link::device_link::LinkError;

use crate::{RunError, UsageError};

/// A command line was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// It is wrong.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// There is no clang.
    #[error(transparent)]
    Clang(#[from] ClangError),
    /// There is no place for temporary files.
    #[error("cannot use a temporary file")]
    Temporary(#[source] io::Error),
    /// A step failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl DriveError {
    /// Whether the machine lacks something, as opposed to the input or the command line being wrong.
    pub fn is_of_machine(&self) -> bool {
        match self {
            Self::Usage(_) => false,
            Self::Clang(_) | Self::Temporary(_) => true,
            Self::Run(RunError::Start { .. } | RunError::Arguments { .. }) => true,
            Self::Run(RunError::Link { error, .. }) => error.is_of_machine(),
            Self::Run(_) => false,
        }
    }

    /// What to do next.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Clang(error) => vec![error.hint()],
            Self::Temporary(_) | Self::Run(RunError::Arguments { .. }) => {
                vec!["TMPDIR names the folder for temporary files".to_owned()]
            }
            Self::Run(RunError::Link { error, is_program }) => {
                let mut hints = error.hints();
                hints.extend(hint_of_options(error, *is_program));
                hints
            }
            Self::Usage(_) | Self::Run(_) => Vec::new(),
        }
    }
}

/// Which of clang's options would help.
fn hint_of_options(error: &LinkError, is_program: bool) -> Option<String> {
    let hint = match error {
        LinkError::Undefined { .. } if is_program => {
            "add the file that defines it, or leave it for another shared library or program to supply when a kernel is \
             loaded, with `-fsycl-allow-device-image-dependencies`"
        }
        LinkError::Undefined { .. } => {
            "add the file that defines it, or make an object with `-fsyclbin=object`, which is linked with others when a \
             kernel is loaded"
        }
        LinkError::Abi(_) => "compile both alike (`-mcode-object-version=`, `-m[no-]wavefrontsize64`)",
        LinkError::Conflict { .. } => "`-fsycl-targets=` says what to link for",
        LinkError::NoProcessor { example, .. } => {
            let arch = example.rsplit('=').next().unwrap_or_default();
            return Some(format!("name it: `--offload-arch={arch}`, for example"));
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
