//! Plugins, and calling their functions.

use super::error::{LoadError, PiError};
use super::trace::{self, Level};
use super::words::Call;
use super::{Platform, Result, load};
use crate::BuiltIn;
use crate::below::{Below, ListBelow};
use crate::ffi::*;
use crate::table::{Api, Function, GetLastError, Layout, PluginInit, Revision, signature};
use core::ffi::{CStr, c_char};
use offkit_sync::{LazyLock, Mutex, PoisonError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// Calls a function of a plugin's table, unsafely, and turns its result code into a `Result`.
macro_rules! call {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $plugin.api().$function {
            Some(function) => $plugin.call($crate::table::Revision::$function, function, ($($argument,)*)),
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
    layout: &'static Layout,
    api: Api,
    get_last_error: Option<GetLastError>,
    list_below: Option<ListBelow>,
    /// Address of its `piPluginInit`.
    entry: usize,
    /// Whether its calls are printed.
    is_traced: bool,
}

/// The plugins in use, by the address of `piPluginInit`. A plugin is there once in a process, however often it
/// is loaded, and it is to be torn down once: when nobody uses it any more.
static LOADED: LazyLock<Mutex<HashMap<usize, Weak<Inner>>>> = LazyLock::new(Mutex::default);

impl Plugin {
    /// Loads a plugin from a shared library.
    ///
    /// A path with a directory names that file; a bare file name is searched as the system searches libraries
    /// (`LD_LIBRARY_PATH` and the like).
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the library cannot be opened, has no `piPluginInit`, or speaks a version that is none of
    /// [`Layout::ALL`].
    pub fn load(path: impl AsRef<Path>) -> Result<Plugin, LoadError> {
        Plugin::load_without(path, &[])
    }

    /// Loads a plugin that leaves out some of what is [below](crate::below) it: libraries, as they are named. A plugin that
    /// does not know how to, or that has opened them already in this process, does not.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn load_without(path: impl AsRef<Path>, left_out: &[PathBuf]) -> Result<Plugin, LoadError> {
        let path = path.as_ref();
        let library = load::open(path, left_out).inspect_err(|error| trace::not_loaded(path, error))?;
        // SAFETY: these are the plugin's functions of those names.
        unsafe {
            Plugin::initialise(
                library.name,
                Some(path.to_owned()),
                library.init,
                library.get_last_error,
                library.list_below,
            )
        }
    }

    /// Takes a plugin that is linked into this program. It is reached through the same table as a loaded one.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the plugin speaks a version that is none of [`Layout::ALL`].
    pub fn built_in(plugin: &BuiltIn) -> Result<Plugin, LoadError> {
        // SAFETY: `BuiltIn::new` was promised that the functions are what they should be.
        unsafe {
            Plugin::initialise(
                plugin.name().to_owned(),
                None,
                plugin.init(),
                plugin.get_last_error(),
                None,
            )
        }
    }

    /// # Safety
    ///
    /// `init` must follow the rules of `piPluginInit`, and the others those of [`GetLastError`] and [`ListBelow`].
    unsafe fn initialise(
        name: String,
        path: Option<PathBuf>,
        init: PluginInit,
        get_last_error: Option<GetLastError>,
        list_below: Option<ListBelow>,
    ) -> Result<Plugin, LoadError> {
        // Held to the end: of two threads that load a plugin at once, one initialises it, and the other finds it.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        // By address: a library that is opened by several names is mapped once, and has one state.
        let entry = init as usize;
        if let Some(inner) = loaded.get(&entry).and_then(Weak::upgrade) {
            return Ok(Plugin { inner });
        }
        // SAFETY: by the caller's promise.
        let spoken = unsafe { load::negotiate(&name, init, get_last_error) }.inspect_err(|_| {
            trace::line(
                Level::All,
                format_args!("Failed to bind PI APIs to the plugin: {name}"),
            )
        })?;
        let (layout, api, answered) = spoken;
        trace::loaded(&name, layout, &answered);
        tracing::debug!(plugin = name, version = layout.version(), "plugin loaded");
        let inner = Arc::new(Inner {
            name,
            path,
            layout,
            api,
            get_last_error,
            list_below,
            entry,
            is_traced: trace::is_on(Level::Calls),
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
        self.inner.layout.version()
    }

    /// What became of the drivers or adapters [below](crate::below) it, which are opened for it; none for a plugin that
    /// says nothing of them.
    pub fn below(&self) -> Option<Vec<Below>> {
        // SAFETY: the function takes nothing.
        let text = unsafe { self.inner.list_below?() };
        if text.is_null() {
            return None;
        }
        // SAFETY: it returns text that stays.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        Some(text.lines().filter_map(Below::parse).collect())
    }

    /// How its version has its record.
    pub(super) fn layout(&self) -> &'static Layout {
        self.inner.layout
    }

    /// The plugin's functions, for calls that the objects of this module do not cover.
    pub fn api(&self) -> &Api {
        &self.inner.api
    }

    /// What the plugin lacks of [`Function::TO_RUN`].
    pub fn lacks(&self) -> Vec<Function> {
        let has = |function: Function| {
            let mut revisions = Revision::ALL
                .iter()
                .filter(|revision| revision.function() == function);
            revisions.any(|revision| self.api().slots()[*revision as usize].is_some())
        };
        let does = |function| match function {
            // Either makes queues.
            Function::piQueueCreate => has(function) || has(Function::piextQueueCreate),
            function => has(function),
        };
        let lacking = Function::TO_RUN
            .iter()
            .copied()
            .filter(|function| !does(*function));
        lacking.collect()
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

    /// Calls a function of the table, which is the one of that revision.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the function fails.
    ///
    /// # Safety
    ///
    /// As the function itself.
    #[inline]
    pub unsafe fn call<A: Copy, F: Call<A>>(
        &self,
        revision: Revision,
        function: F,
        arguments: A,
    ) -> Result<()> {
        // Variables count from when the plugin was loaded; who listens may come at any time.
        let is_traced =
            self.inner.is_traced || tracing::enabled!(target: trace::TARGET, tracing::Level::TRACE);
        let result = match is_traced {
            // SAFETY: by the caller's promise.
            false => unsafe { function.call(arguments) },
            // SAFETY: by the caller's promise.
            true => unsafe { trace::traced(self.name(), revision, function, arguments) },
        };
        self.check(revision.function(), result)
    }

    /// Turns the result of a call into a `Result`, with the plugin's own words if it failed.
    #[inline]
    pub(crate) fn check(&self, function: Function, result: pi_result) -> Result<()> {
        match result.is_success() {
            true => Ok(()),
            false => self.explain(function, result),
        }
    }

    /// What the plugin says of a result that is none of success; nothing is wrong where it only warns.
    #[cold]
    fn explain(&self, function: Function, result: pi_result) -> Result<()> {
        let (result, message) = match (result, self.api().piPluginGetLastError) {
            (PI_PLUGIN_SPECIFIC_ERROR, Some(get)) => plugin_specific_error(get),
            (result, _) => (result, self.last_message()),
        };
        if result.is_success() {
            tracing::warn!(plugin = self.inner.name, %function, message, "a plugin warns");
            return Ok(());
        }
        Err(PiError::Call {
            function,
            result,
            message,
        })
    }

    /// What the plugin says about the last failing call of this thread.
    pub fn last_message(&self) -> Option<String> {
        last_message(self.inner.get_last_error)
    }

    /// The error of a call that cannot be made, for the plugin has no such function.
    pub fn not_provided(&self, function: Function) -> PiError {
        let (plugin, layout) = (self.inner.name.clone(), self.inner.layout);
        let mut functions = layout.functions.iter().map(|revision| revision.function());
        match functions.any(|known| known == function) {
            true => PiError::NotProvided { plugin, function },
            false => PiError::NotInVersion {
                plugin,
                version: layout.version(),
                function,
            },
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
        // Still under the lock, so that nobody initialises it meanwhile.
        let mut is_torn_down = false;
        // SAFETY: all objects hold the plugin, so none is left. The parameter is unused and null, or points to a
        // `bool`.
        let result = unsafe {
            match (self.api.piTearDown, self.api.piTearDown_b) {
                (Some(tear_down), _) => tear_down(core::ptr::null_mut()),
                (_, Some(tear_down)) => tear_down((&raw mut is_torn_down).cast()),
                (None, None) => return,
            }
        };
        if !result.is_success() {
            tracing::warn!(plugin = self.name, %result, "piTearDown failed");
        }
    }
}

impl core::fmt::Debug for Plugin {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Inner {
            name, path, layout, ..
        } = &*self.inner;
        formatter
            .debug_struct("Plugin")
            .field("name", name)
            .field("path", path)
            .field("version", &layout.version())
            .finish()
    }
}

/// What a plugin says through the function of offkit's own.
pub(super) fn last_message(get_last_error: Option<GetLastError>) -> Option<String> {
    let mut text = core::ptr::null();
    // SAFETY: the function writes one pointer.
    if !unsafe { get_last_error?(&raw mut text) }.is_success() {
        return None;
    }
    // SAFETY: null, or valid until this thread's next call into the plugin.
    unsafe { message(text) }
}

/// The real result of a call that returned [`PI_PLUGIN_SPECIFIC_ERROR`], and the plugin's words.
fn plugin_specific_error(get: signature::piPluginGetLastError) -> (pi_result, Option<String>) {
    let mut text = core::ptr::null_mut();
    // SAFETY: the function writes one pointer.
    let result = unsafe { get(&raw mut text) };
    // SAFETY: null, or valid until this thread's next call into the plugin.
    (result, unsafe { message(text) })
}

/// # Safety
///
/// `text` must be null or a NUL-terminated string.
unsafe fn message(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so NUL-terminated by the caller's promise.
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
    // There may be fewer than a moment ago.
    handles.retain(|handle| !handle.is_null());
    Ok(handles)
}
