//! Why a module is not built.

use crate::memory::MemoryError;

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
    pub(crate) fn malformed(what: impl Into<String>) -> BuildError {
        BuildError::Malformed(what.into())
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> BuildError {
        BuildError::Unsupported {
            what: what.into(),
            function: None,
        }
    }

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
