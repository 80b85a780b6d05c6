//! Calls into plugins, printed as the runtimes of the interface's time print them.
//!
//! `OFFKIT_TRACE`, or else `SYCL_PI_TRACE`, is a number of bits: 1 for plugins found and devices chosen, 2 for calls, -1
//! for everything, with what could not be loaded. Lines have the shape of those of libsycl 2021.2 to 2024.2, where most
//! arguments are `<unknown>`; here they have their type, and names for numbers that have one. As there, calls go to the
//! standard output and the rest to the standard error, unless [`to_standard_error`] was called.
//!
//! Whoever listens by `tracing`, to [`TARGET`] at the level of traces, has each call as a span `call` with its plugin,
//! function and arguments, decoded as above, and in it an event with the result and what was written. Nobody pays for
//! that where nobody listens.

use super::LoadError;
use super::words::{self, Call};
use crate::ffi::pi_result;
use crate::table::{Layout, Revision};
use offkit_sync::LazyLock;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
// Not the model checker's, which cannot be in statics.
use std::sync::atomic::{AtomicBool, Ordering};

/// The environment variables that say what is traced; the first that is set counts.
pub const VARIABLES: [&str; 2] = ["OFFKIT_TRACE", "SYCL_PI_TRACE"];

/// The target of calls for those who listen by `tracing`.
pub const TARGET: &str = "offkit_pi::call";

/// What is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Plugins that were loaded, devices that were chosen.
    Basic = 1,
    /// Calls with their arguments and results.
    Calls = 2,
    /// What the others leave out: plugins that could not be loaded.
    All = -1,
}

static BITS: LazyLock<i32> = LazyLock::new(|| {
    let set = VARIABLES.iter().find_map(std::env::var_os);
    set.and_then(|text| text.to_str()?.trim().parse().ok())
        .unwrap_or(0)
});

static APART: AtomicBool = AtomicBool::new(false);

/// Whether that much is traced.
pub fn is_on(level: Level) -> bool {
    *BITS & level as i32 == level as i32
}

/// Prints calls to the standard error too: for programs whose standard output is their result.
pub fn to_standard_error() {
    APART.store(true, Ordering::Relaxed);
}

/// Prints a line of [`Level::Basic`] or [`Level::All`].
///
/// ```
/// use offkit_pi::host::trace::{self, Level};
///
/// trace::line(Level::All, "No Plugins Found.");
/// ```
pub fn line(level: Level, text: impl fmt::Display) {
    let name = match level {
        Level::Basic => "basic",
        Level::Calls | Level::All => "all",
    };
    if is_on(level) {
        // Whoever closed it does not want the lines.
        let _closed = writeln!(io::stderr(), "SYCL_PI_TRACE[{name}]: {text}");
    }
}

/// Prints the device that was chosen, which [`Level::Basic`] includes.
pub fn selected(platform: &str, device: &str) {
    if is_on(Level::Basic) {
        let text = format!(
            "SYCL_PI_TRACE[all]: Selected device: ->\nSYCL_PI_TRACE[all]:   platform: {platform}\n\
             SYCL_PI_TRACE[all]:   device: {device}\n"
        );
        let _closed = io::stderr().write_all(text.as_bytes());
    }
}

/// Prints that a plugin was loaded, from 12 on with the version that it speaks.
pub(super) fn loaded(plugin: &str, layout: &Layout) {
    let version = match layout.version_length > 4 {
        true => format!(" [ PluginVersion: {} ]", layout.version()),
        false => String::new(),
    };
    line(
        Level::Basic,
        format_args!("Plugin found and successfully loaded: {plugin}{version}"),
    );
}

/// Prints that a library cannot be opened, with the loader's words, or is no plugin.
pub(super) fn not_loaded(path: &Path, error: &LoadError) {
    let library = path.display();
    match error {
        LoadError::Open { reason, .. } if is_on(Level::All) => {
            let _closed = writeln!(
                io::stderr(),
                "SYCL_PI_TRACE[-1]: dlopen({library}) failed with <{reason}>"
            );
        }
        _ => {}
    }
    line(
        Level::All,
        format_args!("Check if plugin is present. Failed to load plugin: {library}"),
    );
}

/// Calls a function and tells of it: before the call, since where it does not return this is what there is, and after.
///
/// # Safety
///
/// As the function itself, which must be of that revision.
#[cold]
pub(super) unsafe fn traced<A: Copy, F: Call<A>>(
    plugin: &str,
    revision: Revision,
    function: F,
    arguments: A,
) -> pi_result {
    let (words, is_printed) = (F::words(arguments), is_on(Level::Calls));
    let span = tracing::trace_span!(
        target: TARGET,
        "call",
        plugin,
        function = %revision.function(),
        arguments = %words::arguments(revision, &words).join(", ")
    );
    let _entered = span.enter();
    if is_printed {
        before(revision, &words);
    }
    // SAFETY: by the caller's promise.
    let result = unsafe { function.call(arguments) };
    let written = || match result.is_success() {
        // SAFETY: the call has succeeded, and what its arguments point to is the caller's, who waits for it.
        true => unsafe { words::results(revision, &words) },
        false => Vec::new(),
    };
    if is_printed {
        after(result, &written());
    }
    tracing::trace!(target: TARGET, %result, written = %written().join(", "), "returned");
    result
}

fn before(revision: Revision, words: &[u64]) {
    let mut text = format!("---> {}(\n", revision.function());
    for line in words::arguments(revision, words) {
        text += &format!("\t{line}\n");
    }
    print(&(text + ") ---> "));
}

fn after(result: pi_result, written: &[String]) {
    let name = result.name().map_or_else(|| result.0.to_string(), str::to_owned);
    let mut text = format!("\tpi_result : {name}\n");
    for line in written {
        text += &format!("\t[out]{line}\n");
    }
    print(&(text + "\n"));
}

fn print(text: &str) {
    // A call as a whole, so that the lines of several threads do not mix; flushed, for a call that
    // crashes must have been told of before.
    let _closed = match APART.load(Ordering::Relaxed) {
        true => io::stderr().write_all(text.as_bytes()),
        false => {
            let mut output = io::stdout().lock();
            output.write_all(text.as_bytes()).and_then(|()| output.flush())
        }
    };
}
