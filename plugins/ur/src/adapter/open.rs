//! From a library to an adapter.

use super::Adapter;
use super::functions::{Functions, Slot};
use core::ffi::c_void;
use core::ptr::{null, null_mut};
use offkit_pi::driver::{Library, open_resolved};
use offkit_ur::*;
use std::ffi::CString;

/// Fills in a table for a version; refuses versions that are not its own.
type Getter = unsafe extern "C" fn(u32, *mut c_void) -> ur_result_t;

/// More places than any table has.
const PLACES: usize = 256;

/// Stands in the places that an adapter does not write to.
// No null, which adapters write themselves for functions that they do not have.
const UNSET: Slot = core::ptr::without_provenance(usize::MAX);

/// Opens an adapter's library, which stays mapped (drivers keep threads). `None` for an adapter that has nothing to
/// offer here.
///
/// # Errors
///
/// Why it cannot be used, in words.
pub(crate) fn open(named: &offkit_ur::Adapter) -> Result<Option<&'static Adapter>, String> {
    // SAFETY: opening a library runs its initialisers; whoever names it, in a folder of the system or a variable, trusts
    // it.
    let library = unsafe { open_resolved(&named.library) }.map_err(|error| error.to_string())?;
    let library: &'static Library = Box::leak(Box::new(library));
    let getter = |name: &str| -> Option<Getter> {
        let name = CString::new(name).ok()?;
        // SAFETY: functions of these names have that type, by the interface.
        let symbol = unsafe { library.get::<Getter>(name.as_bytes_with_nul()) };
        symbol.ok().map(|symbol| *symbol)
    };
    let platform = getter(Table::Platform.getter()).ok_or_else(|| {
        let name = Table::Platform.getter();
        format!("it is no adapter of Unified Runtime: it has no `{name}`")
    })?;
    let version = version(platform)?;
    let global = getter(Table::GLOBAL_GETTER);
    let tables = Table::ALL.map(|table| {
        let getter = match (table, global) {
            (Table::Adapter, Some(global)) => Some(global),
            _ => getter(table.getter()),
        };
        getter.map_or_else(Vec::new, |getter| fill(getter, version))
    });
    let size = |table: Table| tables[table as usize].len();
    let shape = Shape {
        is_global: global.is_some(),
        kernel: size(Table::Kernel),
        enqueue: size(Table::Enqueue),
        has_graphs: getter(Table::GRAPH_GETTER).is_some(),
    };
    let form = Form::of(shape).ok_or_else(|| {
        format!(
            "its tables are of no release that offkit knows: UR 0.{version} with {} functions of kernels and {} that \
            submit commands; expected an adapter of DPC++ 2025.1 to 2026.2",
            shape.kernel, shape.enqueue
        )
    })?;
    let find = |table: Table, place: usize| {
        let slot = tables[table as usize].get(place).copied();
        slot.filter(|slot| *slot != UNSET).unwrap_or(null())
    };
    // SAFETY: the tables are the adapter's, and of that form.
    let functions = unsafe { Functions::of(form, find) };
    first(Adapter::new(
        functions,
        form,
        format!("{}, UR 0.{version}", named.file_name()),
    ))
}

/// Takes the library's adapter: it has one, or none where there is nothing for it to do.
fn first(mut adapter: Adapter) -> Result<Option<&'static Adapter>, String> {
    const FUNCTION: &str = "urAdapterGet";
    let get = adapter.functions.urAdapterGet;
    let get = get.ok_or_else(|| super::Error::missing(FUNCTION).to_string())?;
    let (mut handle, mut count) = (null_mut(), 0);
    // SAFETY: one place for a handle and one for the count.
    let code = unsafe {
        match get(0, null_mut(), &raw mut count) {
            UR_RESULT_SUCCESS if count > 0 => get(1, &raw mut handle, null_mut()),
            code => code,
        }
    };
    adapter.set_handle(handle);
    // For good, also where it fails, since errors are made with the adapter's own functions.
    let adapter: &'static Adapter = Box::leak(Box::new(adapter));
    adapter.check(FUNCTION, code).map_err(|error| match code {
        // It speaks our version, as its tables have shown: this is about the version of what is below it.
        UR_RESULT_ERROR_UNSUPPORTED_VERSION => format!("{error}: its driver is missing or too old"),
        _ => error.to_string(),
    })?;
    Ok(Some(adapter).filter(|_| !handle.is_null()))
}

/// Asks for the version that an adapter speaks: it takes no other.
fn version(getter: Getter) -> Result<u32, String> {
    // By this code alone a version is refused: whoever fails otherwise has taken it.
    let takes = |version: &u32| {
        !matches!(
            try_fill(getter, *version),
            Err(UR_RESULT_ERROR_UNSUPPORTED_VERSION)
        )
    };
    if let Some(version) = Form::VERSIONS.into_iter().find(takes) {
        return match try_fill(getter, version) {
            Ok(_) => Ok(version),
            Err(code) => Err(super::Error::code(Table::Platform.getter(), code).to_string()),
        };
    }
    // For the message: an adapter does not say which version it takes, and has to be asked for
    // each.
    Err(match (6..64).find(takes) {
        Some(other) => format!("it speaks UR 0.{other}; offkit speaks 0.11 and 0.12"),
        None => "it speaks neither UR 0.11 nor 0.12, which offkit does".to_owned(),
    })
}

/// A table as far as an adapter writes to it; empty if it does not.
fn fill(getter: Getter, version: u32) -> Vec<Slot> {
    try_fill(getter, version).unwrap_or_default()
}

fn try_fill(getter: Getter, version: u32) -> Result<Vec<Slot>, ur_result_t> {
    let mut table = vec![UNSET; PLACES];
    // SAFETY: a place that is larger than any table.
    match unsafe { getter(version, table.as_mut_ptr().cast()) } {
        UR_RESULT_SUCCESS => {
            // How far the adapter writes is the number of functions that it knows: by that its release is known.
            let written = table.iter().rposition(|slot| *slot != UNSET);
            table.truncate(written.map_or(0, |last| last + 1));
            Ok(table)
        }
        code => Err(code),
    }
}
