//! Arrays in files.

use std::path::{Path, PathBuf};

use offkit_host::files::{FileError, open};

use crate::array::{Array, npy};

/// Why a `.npy` file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrayError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {message}", .path.display())]
    Content { path: PathBuf, message: String },
}

/// Reads an array from a `.npy` file.
pub(crate) fn read_array(path: &Path) -> Result<Array, ArrayError> {
    let content = open(path)?;
    npy::parse(&content).map_err(|message| ArrayError::Content {
        path: path.to_owned(),
        message,
    })
}
