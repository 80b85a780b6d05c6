//! A driver's functions: those of its table, and those that are asked for by name.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use offkit_opencl::*;

/// Looks a function up by its name; null for one that is not there.
pub(super) type ByName<'a> = &'a dyn Fn(&CStr) -> *const c_void;

/// A table without a function.
fn empty() -> Dispatch {
    // SAFETY: all there is in a table are functions that may be missing, which are zeros then.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Copies a driver's table, as far as its version says that it goes.
///
/// # Safety
///
/// `table` points to the table of a driver of that version.
pub(super) unsafe fn copy(table: *const Dispatch, version: (u32, u32)) -> Dispatch {
    let mut copy = empty();
    // SAFETY: the table of a driver has so many slots, and ours has more.
    unsafe {
        core::ptr::copy_nonoverlapping(
            table.cast::<*const c_void>(),
            (&raw mut copy).cast::<*const c_void>(),
            slots(version),
        );
    }
    copy
}

/// Functions in the table of a driver of a version.
fn slots(version: (u32, u32)) -> usize {
    // How far `struct _cl_icd_dispatch` goes in each version, with the extensions that came between.
    match version {
        (0, _) | (1, 0) => 81,
        (1, 1) => 93,
        (1, _) => 123,
        (2, 0) => 136,
        (2, 1) => 144,
        (2, _) => 146,
        (3, 0) => 149,
        // Later versions only add to the end.
        _ => SLOTS,
    }
}

macro_rules! by_name {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {
        /// Fills in a table with what is found by name.
        ///
        /// # Safety
        ///
        /// `find` finds functions of OpenCL of the names that it is asked for.
        pub(super) unsafe fn from_names(find: ByName<'_>) -> Dispatch {
            let mut table = empty();
            $(
                let address = find(cstr(concat!(stringify!($name), "\0")));
                // SAFETY: null is no function, and what is not null has the type of that name.
                table.$name = unsafe { core::mem::transmute::<*const c_void, Option<signature::$name>>(address) };
            )*
            table
        }
    };
}

for_each_slot!(by_name);

macro_rules! extensions {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {
        /// The functions that a driver has besides those of its table.
        #[allow(dead_code, reason = "the list serves those who are a driver as well")]
        pub(crate) struct Extensions {
            $(pub(super) $name: Option<signature::$name>,)*
        }

        impl Extensions {
            /// Those that are found by name.
            ///
            /// # Safety
            ///
            /// `find` finds functions of OpenCL of the names that it is asked for.
            pub(super) unsafe fn from_names(find: ByName<'_>) -> Extensions {
                Extensions {$(
                    // SAFETY: null is no function, and what is not null has the type of that name.
                    $name: unsafe {
                        core::mem::transmute::<*const c_void, Option<signature::$name>>(
                            find(cstr(concat!(stringify!($name), "\0"))),
                        )
                    },
                )*}
            }
        }
    };
}

for_each_extension!(extensions);

fn cstr(text: &'static str) -> &'static CStr {
    // The macros end each text with its NUL, so that the default is never taken.
    CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default()
}
