//! `piPluginInit`, and the table it fills in.

use super::error::guard;
use super::info::answer;
use super::revisions::piextUSMEnqueueMemAdvise;
use super::shim::{give, non_null};
use super::state::Registered;
use super::usm::piextUSMEnqueueMemAdvise as piextUSMEnqueueMemAdvise_c;
use super::{Error, Plugin, Result};
use super::{
    context::*, device::*, enqueue::*, event::*, global::*, image::*, kernel::*, memory::*, native::*,
    program::*,
};
use super::{queue::*, rect::*, revisions::*, state::*, usm::*};
use crate::ffi::*;
use crate::functions::for_each_function;
use crate::table::{Api, Function, Layout, Revision, Slot, version_text};
use core::ffi::{c_char, c_int, c_uint, c_void};

/// Calls what does the work of a function, and hands over what it returns.
macro_rules! perform {
    ($name:ident($($argument:ident)*)) => {
        super::$name::<P>($($argument),*)
    };
    ($name:ident($($argument:ident)*) answers($size:ident $value:ident $size_ret:ident)) => {
        answer(super::$name::<P>($($argument),*)?, $size, $value, $size_ret)
    };
    ($name:ident($($argument:ident)*) creates($target:ident)) => {{
        // First: an object that there is no place for must not be made.
        non_null($target, stringify!($target))?;
        give($target, super::$name::<P>($($argument),*)?);
        Ok(())
    }};
    ($name:ident($($argument:ident)*) submits($wait_count:ident $wait_list:ident $event:ident)) => {
        super::$name::<P>($($argument),*)?.submit($wait_count, $wait_list, $event)
    };
    ($name:ident($($argument:ident)*) unsupported()) => {{
        $(let _ = $argument;)*
        unsupported::<P>(Revision::$name)
    }};
}

/// A function as C calls it. With `WORDS` it is for hosts that ask `piPluginGetLastError` what went wrong.
macro_rules! export {
    ($name:ident($($parameter:ident: $type:ty),*) direct()) => {
        #[expect(clippy::extra_unused_type_parameters, reason = "all functions of the table are named alike")]
        pub(super) unsafe extern "C" fn $name<P: Registered, const WORDS: bool>($($parameter: $type),*) -> pi_result {
            // SAFETY: the host passes arguments as the interface says.
            unsafe { super::$name($($parameter),*) }
        }
    };
    ($name:ident($($parameter:ident: $type:ty),*) $($how:ident($($last:ident: $last_type:ty),*))?) => {
        pub(super) unsafe extern "C" fn $name<P: Registered, const WORDS: bool>(
            $($parameter: $type,)*
            $($($last: $last_type,)*)?
        ) -> pi_result {
            const FUNCTION: Function = Revision::$name.function();
            // SAFETY: the host passes arguments as the interface says.
            #[allow(unused_unsafe, reason = "some functions are safe")]
            let body = || unsafe { perform!($name($($parameter)*) $($how($($last)*))?) };
            let result = guard(FUNCTION, || P::call(FUNCTION, body));
            if WORDS { with_words(result) } else { result }
        }
    };
}

macro_rules! define_table {
    ($(
        $name:ident $parameters:tt $($how:ident $last:tt)?
        $(=> $later:ident $later_parameters:tt $($later_how:ident $later_last:tt)?)*;
    )*) => {
        /// The functions as C calls them.
        mod exported {
            use super::*;
            $(
                export!($name $parameters $($how $last)?);
                $(export!($later $later_parameters $($later_how $later_last)?);)*
            )*
        }

        /// The functions of a plugin, in every revision.
        fn api<P: Registered, const WORDS: bool>() -> Api {
            Api {
                $(
                    $name: Some(exported::$name::<P, WORDS>),
                    $($later: Some(exported::$later::<P, WORDS>),)*
                )*
            }
        }
    };
}

for_each_function!(define_table);

/// Results that say little without words, and that no known host acts on by itself.
const TOLD_IN_WORDS: [pi_result; 6] = [
    PI_ERROR_UNKNOWN,
    PI_COMMAND_EXECUTION_FAILURE,
    PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    PI_INVALID_ARG_INDEX,
    PI_INVALID_ARG_VALUE,
    PI_INVALID_ARG_SIZE,
];

/// A result for hosts that ask `piPluginGetLastError` where they see [`PI_PLUGIN_SPECIFIC_ERROR`], and nowhere else.
fn with_words(result: pi_result) -> pi_result {
    match TOLD_IN_WORDS.contains(&result) {
        true => PI_PLUGIN_SPECIFIC_ERROR,
        false => result,
    }
}

fn unsupported<P: Plugin>(revision: Revision) -> Result<()> {
    let function = revision.function();
    let message = format!("{function} is not supported by plugin {}", P::NAME);
    // Only hosts of 15.47 know this result, and only they call its new functions.
    let mut earlier = Layout::ALL
        .iter()
        .filter(|layout| layout.version != Layout::V15_47.version);
    let code = match earlier.any(|layout| layout.functions.iter().any(|known| known.function() == function)) {
        true => PI_INVALID_OPERATION,
        false => PI_UNSUPPORTED_FEATURE,
    };
    Err(Error::new(code, message))
}

/// `piPluginInit` of a plugin: takes the record of any [`Layout`], fills in its version and its table, and refuses all
/// others with [`PI_INVALID_OPERATION`].
///
/// The version must be one of these exactly. Real plugins compare the number before the dot, and as text; but tables
/// differ within a major version as well, and the record of an earlier host has no room for all of a later table.
///
/// # Safety
///
/// `record` must be null, or point to the plugin record of the version that its first bytes name.
pub unsafe extern "C" fn initialise<P: Registered>(record: *mut c_void) -> pi_result {
    let fill = || -> Result<()> {
        if record.is_null() {
            return Err(Error::null("the plugin record"));
        }
        let record = record.cast::<u8>();
        // SAFETY: not null, so by the caller's promise.
        let layout = unsafe { layout_of::<P>(record) }?;
        // Before anything is written: a plugin that refuses leaves the record as it is.
        P::set_up()?;
        let has_words = layout.functions.contains(&Revision::piPluginGetLastError);
        // Two tables of functions, so that a call need not find out which kind of host has made it.
        let api = if has_words {
            api::<P, true>()
        } else {
            api::<P, false>()
        };
        let version = layout.version.to_bytes_with_nul();
        // SAFETY: the record is one of this layout, which has this room for the version and this slot for each function.
        unsafe {
            record
                .add(layout.version_length)
                .copy_from_nonoverlapping(version.as_ptr(), version.len());
            let table = record.add(layout.table_offset()).cast::<Slot>();
            for (index, revision) in layout.functions.iter().enumerate() {
                let slot = api.slots()[*revision as usize];
                table
                    .add(index)
                    .write(slot.filter(|_| P::provides(revision.function())));
            }
        }
        Ok(())
    };
    guard("piPluginInit", fill)
}

/// The layout of a plugin record: that of the version it begins with.
///
/// # Safety
///
/// `record` must point to the plugin record of the version that its first bytes name.
unsafe fn layout_of<P: Plugin>(record: *const u8) -> Result<&'static Layout> {
    // SAFETY: the record of every version starts with at least as many bytes of version text.
    let start = unsafe { record.cast::<[u8; 4]>().read() };
    // A version of three digits or less ends within these bytes, and of a longer one they say how it begins.
    let begins = |layout: &&Layout| layout.version.to_bytes_with_nul().starts_with(&start);
    let Some(layout) = Layout::ALL.into_iter().find(begins) else {
        return Err(unknown_version::<P>(&start));
    };
    // SAFETY: whatever the minor version, the record of this major version has these bytes of text.
    let offered = unsafe { core::slice::from_raw_parts(record, layout.version_length) };
    if offered.starts_with(layout.version.to_bytes_with_nul()) {
        Ok(layout)
    } else {
        Err(unknown_version::<P>(offered))
    }
}

fn unknown_version<P: Plugin>(offered: &[u8]) -> Error {
    let versions = Layout::ALL.map(Layout::version).join(", ");
    let offered = version_text(offered);
    let message = format!(
        "plugin {} speaks PI {versions}; the host offers {offered:?}",
        P::NAME
    );
    Error::new(PI_INVALID_OPERATION, message)
}
