//! Loading plugins and calling their functions.

use super::error::{LoadError, PiError};
use super::{Platform, Result};
use crate::BuiltIn;
use crate::ffi::*;
use crate::table::{Api, Function, GetLastError, Layout, PluginInit, Slot, version_text};
use core::ffi::{CStr, c_void};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Calls a function of a plugin's table, unsafely, and turns its result code into a `Result`.
macro_rules! call {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $plugin.api().$function {
            Some(function) => $plugin.check($crate::table::Function::$function, function($($argument),*)),
            None => Err($plugin.not_provided($crate::table::Function::$function)),
        }
    };
}

/// Asks an info query: [`call!`] without the places for the answer, which are its last arguments.
macro_rules! ask {
    ($plugin:expr, $function:ident($($argument:expr),*)) => {
        $crate::host::handle::query(|size, value, size_ret| {
            // SAFETY: `query` passes a buffer of the size it says, and the handles are of objects that are there.
            unsafe { call!($plugin, $function($($argument,)* size, value, size_ret)) }
        })
    };
}

/// Makes an object: [`call!`] without the place for its handle, which is the last argument.
macro_rules! create {
    ($plugin:expr, $function:ident($($argument:expr),*)) => {{
        let mut handle = core::ptr::null_mut();
        call!($plugin, $function($($argument,)* &raw mut handle)).map(|()| Owned::new($plugin.clone(), handle))
    }};
}
pub(crate) use {ask, call, create};

/// A plugin that has been loaded and has accepted this host's version.
///
/// A plugin that is loaded several times is one plugin, by the name and path it was first given. When the last
/// clone, and the last object made from it, is dropped, the plugin is told to tear down
/// (`piTearDown`). Its library stays mapped: drivers below plugins keep threads and exit handlers that must
/// not lose their code.
#[derive(Clone)]
pub struct Plugin {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    path: Option<PathBuf>,
    version: String,
    api: Api,
    get_last_error: Option<GetLastError>,
    /// Address of its `piPluginInit`.
    entry: usize,
}

/// The plugins in use, by the address of `piPluginInit`. A plugin is there once in a process, however often it
/// is loaded, and it is to be torn down once: when nobody uses it any more.
static LOADED: LazyLock<Mutex<HashMap<usize, Weak<Inner>>>> = LazyLock::new(Mutex::default);

/// Room for the record of any version known to exist (PI 15.47 writes 1320 bytes): a plugin that wrongly
/// accepts the offered version must not write past the end.
const RECORD_ROOM: usize = 4096;

impl Plugin {
    /// Loads a plugin from a shared library.
    ///
    /// A path with a directory names that file; a bare file name is searched as the system searches libraries
    /// (`LD_LIBRARY_PATH` and the like).
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the library cannot be opened, has no `piPluginInit`, or speaks another version than
    /// PI 2.3.
    pub fn load(path: impl AsRef<Path>) -> Result<Plugin, LoadError> {
        let path = path.as_ref();
        // SAFETY: loading runs the library's initialisers; the caller has chosen to trust this plugin (module
        // docs).
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| LoadError::Open {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        // SAFETY: these names have these types by the definition of the plugin interface.
        let (init, get_last_error) = unsafe {
            (
                library.get::<PluginInit>(c"piPluginInit").map(|symbol| *symbol),
                library
                    .get::<GetLastError>(c"offkitPluginGetLastError")
                    .ok()
                    .map(|symbol| *symbol),
            )
        };
        let init = init.map_err(|_| LoadError::MissingSymbol {
            path: path.to_owned(),
            symbol: "piPluginInit",
        })?;
        // Never unloaded (see the type's documentation).
        core::mem::forget(library);
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        // SAFETY: `init` and `get_last_error` are the plugin's functions of those names.
        unsafe { Plugin::initialise(name, Some(path.to_owned()), init, get_last_error) }
    }

    /// Takes a plugin that is linked into this program. It is reached through the same table as a loaded one.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the plugin speaks another version than PI 2.3.
    pub fn built_in(plugin: &BuiltIn) -> Result<Plugin, LoadError> {
        // SAFETY: `BuiltIn::new` was promised that the functions are what they should be.
        unsafe {
            Plugin::initialise(
                plugin.name().to_owned(),
                None,
                plugin.init(),
                plugin.get_last_error(),
            )
        }
    }

    /// # Safety
    ///
    /// `init` must follow the rules of `piPluginInit`, and `get_last_error` those of [`GetLastError`].
    unsafe fn initialise(
        name: String,
        path: Option<PathBuf>,
        init: PluginInit,
        get_last_error: Option<GetLastError>,
    ) -> Result<Plugin, LoadError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = init as usize;
        if let Some(inner) = loaded.get(&entry).and_then(Weak::upgrade) {
            return Ok(Plugin { inner });
        }
        let layout = Layout::V2_3;
        let offered = layout.version.to_string_lossy().into_owned();
        // Slots are pointers; a vector of them gives the record their alignment.
        let mut record: Vec<Slot> = vec![None; RECORD_ROOM / size_of::<Slot>()];
        let start = record.as_mut_ptr().cast::<u8>();
        let version = layout.version.to_bytes_with_nul();
        // SAFETY: the version with its NUL fits the field it is for, which is at the start of the record.
        unsafe {
            core::ptr::copy_nonoverlapping(version.as_ptr(), start, version.len().min(layout.version_length))
        };
        // SAFETY: the record names its version, is zeroed, and has room for any version's table.
        let result = unsafe { init(start.cast::<c_void>()) };
        if !result.is_success() {
            let message = last_message(get_last_error);
            return Err(LoadError::Refused {
                plugin: name,
                offered,
                result,
                message,
            });
        }
        // SAFETY: the plugin's version string lies right behind the host's, within the record.
        let answered =
            unsafe { core::slice::from_raw_parts(start.add(layout.version_length), layout.version_length) };
        let answered = version_text(answered);
        if answered != offered {
            return Err(LoadError::Version {
                plugin: name,
                offered,
                answered,
            });
        }
        let slots = record
            .get(layout.table_offset / size_of::<Slot>()..)
            .unwrap_or_default();
        // SAFETY: the plugin says that it has filled in the table of this version.
        let api = unsafe { Api::from_slots(&layout, slots) };
        tracing::debug!(plugin = name, version = answered, "plugin loaded");
        let inner = Arc::new(Inner {
            name,
            path,
            version: answered,
            api,
            get_last_error,
            entry,
        });
        loaded.insert(entry, Arc::downgrade(&inner));
        Ok(Plugin { inner })
    }

    /// File name of the library, or the name of a built-in plugin.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Where the library was loaded from, as given; `None` for a built-in plugin.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// The version of the interface that the plugin speaks, `major.minor`.
    pub fn version(&self) -> &str {
        &self.inner.version
    }

    /// The plugin's functions, for calls that the objects of this module do not cover.
    pub fn api(&self) -> &Api {
        &self.inner.api
    }

    /// The plugin's platforms; none if the driver it needs is not there.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin fails to list them.
    pub fn platforms(&self) -> Result<Vec<Platform>> {
        // SAFETY: `list` passes pointers to as many handles as it says.
        let handles =
            list(|count, handles, found| unsafe { call!(self, piPlatformsGet(count, handles, found)) })?;
        Ok(handles
            .into_iter()
            .map(|handle| Platform::new(self.clone(), handle))
            .collect())
    }

    /// Whether both are the same plugin.
    pub(crate) fn is_same(&self, other: &Plugin) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Refuses to pass an object of another plugin to a function of this one: its handle would mean nothing
    /// here, or something else.
    pub(crate) fn check_same(&self, other: &Plugin, function: Function, result: pi_result) -> Result<()> {
        if self.is_same(other) {
            return Ok(());
        }
        let message = format!("an object of plugin {} is none of {}", other.name(), self.name());
        Err(PiError::refused(function, result, message))
    }

    /// Turns the result of a call into a `Result`, with the plugin's own words if it failed.
    pub(crate) fn check(&self, function: Function, result: pi_result) -> Result<()> {
        tracing::trace!(plugin = self.inner.name, %function, %result, "call");
        if result.is_success() {
            return Ok(());
        }
        Err(PiError::Call {
            function,
            result,
            message: self.last_message(),
        })
    }

    /// What the plugin says about the last failing call of this thread.
    pub(crate) fn last_message(&self) -> Option<String> {
        last_message(self.inner.get_last_error)
    }

    pub(crate) fn not_provided(&self, function: Function) -> PiError {
        PiError::NotProvided {
            plugin: self.inner.name.clone(),
            function,
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded
            .get(&self.entry)
            .is_some_and(|inner| inner.strong_count() > 0)
        {
            // It was loaded again after the last reference to this went, and is in use.
            return;
        }
        loaded.remove(&self.entry);
        if let Some(tear_down) = self.api.piTearDown {
            // SAFETY: all objects hold the plugin, so none is left; the parameter is unused and null for
            // every host.
            let result = unsafe { tear_down(core::ptr::null_mut()) };
            if !result.is_success() {
                tracing::warn!(plugin = self.name, %result, "piTearDown failed");
            }
        }
    }
}

impl core::fmt::Debug for Plugin {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Inner {
            name, path, version, ..
        } = &*self.inner;
        formatter
            .debug_struct("Plugin")
            .field("name", name)
            .field("path", path)
            .field("version", version)
            .finish()
    }
}

fn last_message(get_last_error: Option<GetLastError>) -> Option<String> {
    let mut text = core::ptr::null();
    // SAFETY: the function writes one pointer.
    if !unsafe { get_last_error?(&raw mut text) }.is_success() || text.is_null() {
        return None;
    }
    // SAFETY: a NUL-terminated string, valid until this thread's next call into the plugin.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

/// Lists handles in the way of the interface: ask how many there are, then for all of them.
pub(crate) fn list<H>(
    mut get: impl FnMut(pi_uint32, *mut *mut H, *mut pi_uint32) -> Result<()>,
) -> Result<Vec<*mut H>> {
    let mut count = 0;
    get(0, core::ptr::null_mut(), &raw mut count)?;
    let mut handles = vec![core::ptr::null_mut(); count as usize];
    if count > 0 {
        get(count, handles.as_mut_ptr(), core::ptr::null_mut())?;
    }
    handles.retain(|handle| !handle.is_null());
    Ok(handles)
}
