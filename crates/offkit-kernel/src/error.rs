//! Why a module is not read.

/// The error of a module that is not valid, with what is wrong.
macro_rules! malformed {
    ($($text:tt)+) => { $crate::ReadError::malformed(format!($($text)+)) };
}

/// The error of a module that asks for what the form can't say.
macro_rules! unsupported {
    ($($text:tt)+) => { $crate::ReadError::unsupported(format!($($text)+)) };
}

/// Why a module could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are no SPIR-V, or SPIR-V that breaks its own rules.
    #[error("not valid SPIR-V: {0}")]
    Malformed(String),
    /// The module uses something that this crate doesn't know; named as SPIR-V names it.
    #[error("no support for {what}{}", in_function(.function))]
    Unsupported {
        /// An opcode, capability, extended instruction, type or the like.
        what: String,
        /// The function that uses it, where it is one.
        function: Option<String>,
    },
}

impl ReadError {
    /// The error of a module that is not valid, with what is wrong.
    pub fn malformed(what: impl Into<String>) -> ReadError {
        ReadError::Malformed(what.into())
    }

    /// The error of a module that asks for what there is no support for.
    pub fn unsupported(what: impl Into<String>) -> ReadError {
        ReadError::Unsupported {
            what: what.into(),
            function: None,
        }
    }

    /// Adds the function to an error that names none.
    #[must_use]
    pub fn in_function(self, name: &str) -> ReadError {
        match self {
            ReadError::Unsupported { what, function: None } => ReadError::Unsupported {
                what,
                function: Some(name.to_owned()),
            },
            // There is nothing but a text to put the name into. So whoever calls this twice has the
            // name there twice, unlike above.
            ReadError::Malformed(what) => ReadError::Malformed(format!("function `{name}`: {what}")),
            other => other,
        }
    }
}

fn in_function(function: &Option<String>) -> String {
    function
        .as_ref()
        .map_or_else(String::new, |name| format!(" (in function `{name}`)"))
}
