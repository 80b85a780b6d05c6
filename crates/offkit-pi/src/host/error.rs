//! What can go wrong between a host and a plugin.

use crate::ffi::pi_result;
use crate::table::Function;
use std::path::PathBuf;

/// A call into a plugin that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PiError {
    /// The plugin returned an error.
    #[error("{function}: {result}{}{}", if message.is_some() { ": " } else { "" }, message.as_deref().unwrap_or_default())]
    Call {
        /// The function called.
        function: Function,
        /// What it returned.
        result: pi_result,
        /// What the plugin has to say about it: its last message, or the build log.
        message: Option<String>,
    },
    /// The plugin leaves the function's place in its table empty.
    #[error("{function} is not provided by plugin {plugin}")]
    NotProvided {
        /// Name of the plugin.
        plugin: String,
        /// The missing function.
        function: Function,
    },
    /// The version of the interface that the plugin speaks does not have the function.
    #[error("plugin {plugin} has no {function}: it speaks PI {version}, which has none")]
    NotInVersion {
        /// Name of the plugin.
        plugin: String,
        /// The version it speaks.
        version: &'static str,
        /// The missing function.
        function: Function,
    },
}

impl PiError {
    /// The result code; `PI_INVALID_OPERATION` for a function that is missing.
    pub fn result(&self) -> pi_result {
        match self {
            PiError::Call { result, .. } => *result,
            PiError::NotProvided { .. } | PiError::NotInVersion { .. } => crate::ffi::PI_INVALID_OPERATION,
        }
    }

    /// The function called.
    pub fn function(&self) -> Function {
        match self {
            PiError::Call { function, .. }
            | PiError::NotProvided { function, .. }
            | PiError::NotInVersion { function, .. } => *function,
        }
    }

    /// What the plugin has to say about the failure.
    pub fn message(&self) -> Option<&str> {
        match self {
            PiError::Call { message, .. } => message.as_deref(),
            PiError::NotProvided { .. } | PiError::NotInVersion { .. } => None,
        }
    }

    /// An error found before the plugin was called.
    pub(crate) fn refused(function: Function, result: pi_result, message: impl Into<String>) -> PiError {
        PiError::Call {
            function,
            result,
            message: Some(message.into()),
        }
    }
}

/// A plugin that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The library could not be opened.
    #[error("cannot load plugin {}: {reason}", path.display())]
    Open {
        /// Path or name as given.
        path: PathBuf,
        /// What the system's loader says.
        reason: String,
    },
    /// The library is no plugin.
    #[error("{} is not a plugin: it has no symbol `{symbol}`", path.display())]
    MissingSymbol {
        /// Path or name as given.
        path: PathBuf,
        /// The symbol looked for.
        symbol: &'static str,
    },
    /// `piPluginInit` returned an error for every version offered.
    #[error("plugin {plugin} refuses PI {offered}: {result}{}{}", if message.is_some() { ": " } else { "" }, message.as_deref().unwrap_or_default())]
    Refused {
        /// Name of the plugin.
        plugin: String,
        /// The versions the host offered.
        offered: String,
        /// What `piPluginInit` returned at last.
        result: pi_result,
        /// What the plugin has to say about it.
        message: Option<String>,
    },
    /// The plugin accepted, but filled in the record of a version that this host does not know.
    #[error(
        "plugin {plugin} speaks {}; this host speaks PI {offered}",
        if answered.is_empty() { "no version that it names".to_owned() } else { format!("PI {answered}") }
    )]
    Version {
        /// Name of the plugin.
        plugin: String,
        /// The versions the host offered.
        offered: String,
        /// The version the plugin wrote into the record; empty if there is none where a version has its place.
        answered: String,
    },
}
