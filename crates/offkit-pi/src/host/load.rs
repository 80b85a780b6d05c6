//! From a library to a table of functions: opening it, and agreeing on a version.

use super::error::LoadError;
use super::plugin::last_message;
use crate::below::{LeaveOut, ListBelow, c_path};
use crate::driver::open_resolved;
use crate::ffi::*;
use crate::table::{Api, GetLastError, Layout, PluginInit, Slot, version_text};
use core::ffi::CStr;
use std::path::{Path, PathBuf};

/// A library that is a plugin.
pub(super) struct Library {
    pub(super) name: String,
    pub(super) init: PluginInit,
    pub(super) get_last_error: Option<GetLastError>,
    pub(super) list_below: Option<ListBelow>,
}

/// Opens a plugin's library, which stays mapped: drivers below plugins keep threads and exit handlers that must not
/// lose their code. It leaves out what is below it and named so.
pub(super) fn open(path: &Path, left_out: &[PathBuf]) -> Result<Library, LoadError> {
    // SAFETY: loading runs the library's initialisers; the caller has chosen to trust this plugin (module docs).
    let library = unsafe { open_resolved(path) }.map_err(|error| LoadError::Open {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    // SAFETY: these names have these types by the definition of the plugin interface.
    let (init, get_last_error, leave_out, list_below) = unsafe {
        (
            library.get::<PluginInit>(c"piPluginInit").map(|symbol| *symbol),
            library
                .get::<GetLastError>(c"offkitPluginGetLastError")
                .ok()
                .map(|symbol| *symbol),
            library
                .get::<LeaveOut>(c"offkitPluginLeaveOut")
                .ok()
                .map(|symbol| *symbol),
            library
                .get::<ListBelow>(c"offkitPluginListBelow")
                .ok()
                .map(|symbol| *symbol),
        )
    };
    let init = init.map_err(|_| LoadError::MissingSymbol {
        path: path.to_owned(),
        symbol: "piPluginInit",
    })?;
    // Before the plugin is initialised, which may open what is below it.
    if let Some(leave_out) = leave_out {
        for library in left_out.iter().filter_map(|library| c_path(library)) {
            // SAFETY: it is text with a zero at its end.
            unsafe { leave_out(library.as_ptr()) };
        }
    }
    core::mem::forget(library);
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Library {
        name: name.to_string_lossy().into_owned(),
        init,
        get_last_error,
        list_below,
    })
}

/// Room for the record of any version known to exist (PI 15.47 writes 1320 bytes): a plugin that takes the offered
/// version for its own must not write past the end.
const RECORD_ROOM: usize = 4096;

/// Where plugins write their version, and how long it may be there: behind the host's, which takes as much. In between
/// the versions that have layouts here there was one more, of 10 bytes (PI 9.11).
const VERSION_LENGTHS: [usize; 3] = [20, 10, 4];

/// A version that is no number and sorts behind all that are: plugins that compare versions as text take it.
const BEHIND_ALL: &CStr = c"~~~";

/// What a plugin has made of the record that it was given.
struct Record(Vec<Slot>);

impl Record {
    /// Offers a version to a plugin.
    ///
    /// # Safety
    ///
    /// `init` must follow the rules of `piPluginInit`.
    unsafe fn ask(version: &CStr, init: PluginInit) -> Result<Record, pi_result> {
        // Slots are pointers; a vector of them gives the record their alignment.
        let mut record: Vec<Slot> = vec![None; RECORD_ROOM / size_of::<Slot>()];
        let start = record.as_mut_ptr().cast::<u8>();
        let version = version.to_bytes_with_nul();
        // SAFETY: the version fits into the record, at the start of which it belongs.
        unsafe { core::ptr::copy_nonoverlapping(version.as_ptr(), start, version.len()) };
        // SAFETY: the record names its version, is zeroed, and has room for any version's table.
        let result = unsafe { init(start.cast()) };
        if result.is_success() {
            Ok(Record(record))
        } else {
            Err(result)
        }
    }

    /// The version that the plugin says it speaks, where versions take that many bytes.
    fn answer(&self, version_length: usize) -> String {
        // SAFETY: the record has that many bytes.
        let bytes = unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast::<u8>(), RECORD_ROOM) };
        let field = bytes.get(version_length..2 * version_length);
        version_text(field.unwrap_or_default())
    }

    fn speaks(&self, layout: &Layout) -> bool {
        let answer = self.answer(layout.version_length);
        Layout::of_version(&answer).is_some_and(|answered| answered.version == layout.version)
    }

    /// The version that the plugin says it speaks, wherever a version has its place; empty if there is none.
    fn any_answer(&self, offered: &CStr) -> String {
        // Not where a part of the offered version is.
        let is_behind = |length: &usize| *length >= offered.to_bytes_with_nul().len();
        let lengths = VERSION_LENGTHS.into_iter().filter(is_behind);
        let mut answers = lengths.map(|length| self.answer(length));
        let answered = answers.find(|text| text.starts_with(|first: char| first.is_ascii_digit()));
        answered.unwrap_or_default()
    }

    /// The functions.
    ///
    /// # Safety
    ///
    /// The plugin has filled in the table of that version.
    unsafe fn api(&self, layout: &Layout) -> Api {
        let slots = self.0.get(layout.table_offset() / size_of::<Slot>()..);
        // SAFETY: by the caller's promise.
        unsafe { Api::from_slots(layout, slots.unwrap_or_default()) }
    }
}

/// Finds out which version a plugin speaks, also in its own words (`12.27.1`), and reads its functions.
///
/// A plugin decides by the version it is offered, the older ones by comparing text, and whatever it is offered, a
/// plugin of somebody else writes the record of its own version. So the versions are offered from the oldest on,
/// until one is accepted, and the answer shows which it is.
///
/// A plugin that speaks several is used in the oldest, for up to 6.8 hosts can make events that they complete; what only
/// the newest version has is added where it is spoken too.
///
/// # Safety
///
/// `init` must follow the rules of `piPluginInit`, and `get_last_error` those of [`GetLastError`].
pub(super) unsafe fn negotiate(
    plugin: &str,
    init: PluginInit,
    get_last_error: Option<GetLastError>,
) -> Result<(&'static Layout, Api, String), LoadError> {
    let (plugin, offered) = (plugin.to_owned(), Layout::ALL.map(Layout::version).join(", "));
    let mut refusal = (PI_INVALID_OPERATION, None);
    for layout in Layout::ALL {
        // SAFETY: by the caller's promise.
        let record = match unsafe { Record::ask(layout.version, init) } {
            Ok(record) => record,
            Err(result) => {
                // Asked at once: the next offer replaces the message.
                refusal = (result, last_message(get_last_error));
                continue;
            }
        };
        // The offered one first: elsewhere in its record there may be anything.
        let mut layouts = [layout].into_iter().chain(Layout::ALL);
        let Some(spoken) = layouts.find(|layout| record.speaks(layout)) else {
            return Err(LoadError::Version {
                plugin,
                offered,
                answered: record.any_answer(layout.version),
            });
        };
        // SAFETY: the plugin says that it has filled in the table of this version.
        let api = unsafe { record.api(spoken) };
        let answer = record.answer(spoken.version_length);
        // Plugins made by somebody else speak one version, and are not asked twice.
        let newest = &Layout::V15_47;
        if get_last_error.is_none() || spoken.version == newest.version {
            return Ok((spoken, api, answer));
        }
        // SAFETY: as above.
        let later = unsafe {
            match Record::ask(newest.version, init) {
                Ok(record) if record.speaks(newest) => record.api(newest),
                _ => return Ok((spoken, api, answer)),
            }
        };
        return Ok((spoken, api.with_later(spoken, &later), answer));
    }
    // Only to learn its version: as text, that of 2022.2 (9.11) is behind all of these, and it refuses them.
    // SAFETY: as above.
    let answered = unsafe { Record::ask(BEHIND_ALL, init) }.map(|record| record.any_answer(BEHIND_ALL));
    if let Ok(answered) = answered
        && !answered.is_empty()
    {
        return Err(LoadError::Version {
            plugin,
            offered,
            answered,
        });
    }
    let (result, message) = refusal;
    Err(LoadError::Refused {
        plugin,
        offered,
        result,
        message,
    })
}
