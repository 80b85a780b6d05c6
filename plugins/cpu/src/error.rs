//! Why a program is not built.

use offkit_kernel::ReadError;

use crate::memory::MemoryError;

/// Why a module could not be made into a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The module is not valid, or uses something that this device doesn't have.
    #[error("{}", said(.0))]
    Module(#[from] ReadError),
    /// A function that a kernel calls is declared but nowhere defined.
    #[error("kernel `{kernel}` needs function `{name}`, which is imported and not defined")]
    UnresolvedImport {
        /// The function's name.
        name: String,
        /// A kernel that calls it, directly or not.
        kernel: String,
    },
    /// No memory for the program-scope variables.
    #[error("program-scope variable `{variable}`: {error}")]
    Variable {
        /// The variable's name.
        variable: String,
        /// What the allocation failed with.
        error: MemoryError,
    },
}

/// What isn't supported is a matter of the device.
fn said(error: &ReadError) -> String {
    match error {
        ReadError::Unsupported { .. } => format!("the CPU device has {error}"),
        error => error.to_string(),
    }
}
