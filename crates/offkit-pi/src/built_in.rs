//! Plugins linked into the program that uses them.

use crate::table::{GetLastError, PluginInit};

/// A plugin that is linked into this program: what a host would otherwise look up in its library.
///
/// [`define_plugin!`](crate::define_plugin) makes one for every plugin written with this crate.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    name: &'static str,
    init: PluginInit,
    get_last_error: Option<GetLastError>,
}

impl BuiltIn {
    /// Describes a built-in plugin by its name and its functions.
    ///
    /// # Safety
    ///
    /// `init` must do what `piPluginInit` has to: take a pointer to a plugin record, and return success only
    /// after filling it in with functions of the right types. `get_last_error` must do what [`GetLastError`]
    /// says.
    pub const unsafe fn new(
        name: &'static str,
        init: PluginInit,
        get_last_error: Option<GetLastError>,
    ) -> BuiltIn {
        BuiltIn {
            name,
            init,
            get_last_error,
        }
    }

    /// The plugin's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The plugin's `piPluginInit`.
    pub fn init(&self) -> PluginInit {
        self.init
    }

    pub(crate) fn get_last_error(&self) -> Option<GetLastError> {
        self.get_last_error
    }
}
