//! The functions of an adapter, taken out of its tables.

use core::ffi::{c_char, c_void};
use offkit_ur::*;

/// A place of a table: null, or the address of a function.
pub(super) type Slot = *const c_void;

// Called by place and not by name: what adapters are sure to export are the functions that fill in
// tables.
macro_rules! functions {
    ($($table:ident [$($place:tt)+] $name:ident($($parameter:ident: $type:ty),*);)*) => {
        /// The functions' types.
        mod signature {
            use super::*;
            $(pub(super) type $name = unsafe extern "C" fn($($parameter: $type),*) -> ur_result_t;)*
        }

        /// An adapter's functions; `None` where its form has none, or the adapter leaves the function out.
        pub(crate) struct Functions {
            $(pub(crate) $name: Option<signature::$name>,)*
        }

        impl Functions {
            /// Takes the functions of a form out of its tables.
            ///
            /// # Safety
            ///
            /// `find` finds what is in a place of a table of that form: null, or a function of the adapter's.
            pub(super) unsafe fn of(form: Form, find: impl Fn(Table, usize) -> Slot) -> Functions {
                let place = |places: [Option<usize>; 4]| places[form as usize];
                Functions {$(
                    $name: place(places!($($place)+)).and_then(|place| {
                        let slot = find(Table::$table, place);
                        // SAFETY: null is no function, and what is not null has the type of that place.
                        unsafe { core::mem::transmute::<Slot, Option<signature::$name>>(slot) }
                    }),
                )*}
            }
        }
    };
}

for_each_function!(functions);
