//! Why a module is not built.

use crate::memory::MemoryError;

/// The error of a module that is not valid, with what is wrong.
macro_rules! malformed {
    ($($text:tt)+) => { $crate::BuildError::Malformed(format!($($text)+)) };
}

/// The error of a module that asks for what the device does not have.
macro_rules! unsupported {
    ($($text:tt)+) => { $crate::BuildError::Unsupported { what: format!($($text)+), function: None } };
}

/// Why a module could not be made into a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The bytes are no SPIR-V, or SPIR-V that breaks its own rules.
    #[error("not valid SPIR-V: {0}")]
    Malformed(String),
    /// The module uses something that this device doesn't have; named as SPIR-V names it.
    #[error("the CPU device does not support {what}{}", in_function(.function))]
    Unsupported {
        /// An opcode, capability, extended instruction, type or the like.
        what: String,
        /// The function that uses it, where it is one.
        function: Option<String>,
    },
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

impl BuildError {
    /// Adds the function to an error that names none.
    pub(crate) fn in_function(self, name: &str) -> BuildError {
        match self {
            BuildError::Unsupported { what, function: None } => BuildError::Unsupported {
                what,
                function: Some(name.to_owned()),
            },
            BuildError::Malformed(what) => BuildError::Malformed(format!("function `{name}`: {what}")),
            other => other,
        }
    }
}

fn in_function(function: &Option<String>) -> String {
    function
        .as_ref()
        .map_or_else(String::new, |name| format!(" (in function `{name}`)"))
}
