//! Calls into plugins, printed as the runtimes of the interface's time print them.
//!
//! `OFFKIT_TRACE`, or else `SYCL_PI_TRACE`, is a number of bits: 1 for plugins found and devices chosen, 2 for calls, -1
//! for everything, with what could not be loaded. Lines have the shape of those of libsycl 2021.2 to 2024.2, of the
//! release whose version the plugin speaks, where these differ. There most arguments are `<unknown>`; here they have their
//! type, and names for numbers that have one. As there, calls go to the standard output and the rest to the standard
//! error, unless [`to_standard_error`] was called.
//!
//! Whoever listens by `tracing`, to [`TARGET`] at the level of traces, has each call as a span `call` with its plugin,
//! function and arguments, decoded as above, and in it an event with the result and what was written. Nobody pays for
//! that where nobody listens.

use super::words::{self, Call};
use super::{Device, DeviceType, LoadError};
use crate::ffi::{PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO, pi_result};
use crate::table::{Layout, Revision};
use offkit_sync::LazyLock;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
// Not the model checker's, which cannot be in statics.
use std::sync::atomic::{AtomicBool, Ordering};

/// The environment variables that say what is traced; the first that is a number counts.
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

/// What the variables say.
struct Asked {
    bits: i32,
    /// Those that are set and no number, and their values.
    ignored: Vec<(&'static str, String)>,
}

static ASKED: LazyLock<Asked> = LazyLock::new(|| {
    let set = |name: &'static str| Some((name, std::env::var_os(name)?.to_string_lossy().into_owned()));
    asked(VARIABLES.into_iter().filter_map(set))
});

fn asked(set: impl Iterator<Item = (&'static str, String)>) -> Asked {
    let (mut bits, mut ignored) = (0, Vec::new());
    for (variable, value) in set.filter(|(_, value)| !value.trim().is_empty()) {
        if let Ok(number) = value.trim().parse() {
            bits = number;
            break;
        }
        ignored.push((variable, value));
    }
    Asked { bits, ignored }
}

/// The variables that are set to something that is no number, and their values.
pub fn ignored() -> &'static [(&'static str, String)] {
    &ASKED.ignored
}

static APART: AtomicBool = AtomicBool::new(false);

/// Whether that much is traced.
pub fn is_on(level: Level) -> bool {
    ASKED.bits & level as i32 == level as i32
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

/// Prints the device that was chosen for an image that it takes, which [`Level::Basic`] includes: of which kind it was to
/// be, if somebody said.
///
/// From 12 on, libsycl prints what was asked for and its score as well.
pub fn selected(device: &Device, requested: Option<DeviceType>) {
    if !is_on(Level::Basic) {
        return;
    }
    let unknown = |_| "?".to_owned();
    let platform = device.platform();
    let (lines, name) = (has_longer_lines(device.plugin().layout()), device.name());
    let selected = match lines {
        true => {
            let kind = match requested {
                Some(DeviceType::Cpu) => "cpu",
                Some(DeviceType::Gpu) => "gpu",
                Some(DeviceType::Accelerator) => "accelerator",
                _ => "automatic",
            };
            let is_level_zero = platform.backend() == Ok(PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO);
            format!(
                "Requested device_type: info::device_type::{kind}\n\
                 SYCL_PI_TRACE[all]: Selected device: -> final score = {}",
                score(device.device_type().ok(), requested.is_some(), is_level_zero)
            )
        }
        false => "Selected device ->".to_owned(),
    };
    let text = format!(
        "SYCL_PI_TRACE[all]: {selected}\nSYCL_PI_TRACE[all]:   platform: {}\nSYCL_PI_TRACE[all]:   device: {}\n",
        platform.name().unwrap_or_else(unknown),
        name.unwrap_or_else(unknown),
    );
    let _closed = io::stderr().write_all(text.as_bytes());
}

/// libsycl's score of a device that takes one of the program's images. It takes the device with the highest one; offkit
/// goes by the order of plugins.
fn score(kind: Option<DeviceType>, is_requested: bool, is_level_zero: bool) -> u32 {
    let of_kind = match kind {
        _ if is_requested => 1000,
        Some(DeviceType::Gpu) => 500,
        Some(DeviceType::Cpu) => 300,
        Some(DeviceType::Accelerator) => 75,
        _ => 0,
    };
    // The second is for the image.
    of_kind + 1000 + if is_level_zero { 50 } else { 0 }
}

/// Whether the release of that version is one of those that print more: 12.27 and 15.47.
fn has_longer_lines(layout: &Layout) -> bool {
    layout.version_length > 4
}

/// Prints that a plugin was loaded, from 12 on with the version that it says it has.
pub(super) fn loaded(plugin: &str, layout: &Layout, answered: &str) {
    let version = match has_longer_lines(layout) {
        true => format!(" [ PluginVersion: {answered} ]"),
        false => String::new(),
    };
    line(
        Level::Basic,
        format_args!("Plugin found and successfully loaded: {plugin}{version}"),
    );
}

/// Prints that a plugin is not used, which [`Level::All`] alone includes.
pub fn left_out(plugin: impl fmt::Display) {
    line(
        Level::All,
        format_args!("Check if plugin is present. Failed to load plugin: {plugin}"),
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
    left_out(library);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_a_number_counts() {
        let of = |set: &[(&'static str, &str)]| {
            let Asked { bits, ignored } = asked(set.iter().map(|(name, value)| (*name, (*value).to_owned())));
            (
                bits,
                ignored.into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
            )
        };
        let [own, usual] = VARIABLES;
        assert_eq!(of(&[(own, "2"), (usual, "all")]), (2, vec![]));
        assert_eq!(of(&[(own, ""), (usual, " -1 ")]), (-1, vec![]));
        assert_eq!(of(&[(own, "yes"), (usual, "1")]), (1, vec![own]));
        assert_eq!(of(&[(usual, "all")]), (0, vec![usual]));
    }

    #[test]
    fn scores_are_those_of_libsycl() {
        // `final score = 1300` in the traces of 2023.2 and 2024.2.
        assert_eq!(score(Some(DeviceType::Cpu), false, false), 1300);
        assert_eq!(score(Some(DeviceType::Gpu), false, true), 1550);
        assert_eq!(score(Some(DeviceType::Gpu), true, false), 2000);
    }
}
