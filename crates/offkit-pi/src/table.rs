//! Function tables by version.
//!
//! Four views of the same pointers:
//!
//! * [`Function`] names a function of the interface, whatever the version;
//! * [`Revision`] is a function with the parameters and the meaning it has in some versions;
//! * [`Api`] is the typed record of functions that hosts call and plugins fill, with one field for every
//!   [`Revision`] and so for every version;
//! * a [`Layout`] says where a version puts which revision.

mod layout;
mod minimum;

pub use layout::Layout;

use crate::ffi::*;
use crate::functions::for_each_function;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::fmt;

/// A slot of a function table: null, or a function whose real type [`signature`] has.
pub type Slot = Option<unsafe extern "C" fn()>;

/// The one function a plugin exports, `piPluginInit`. It takes a pointer to the plugin record of the version
/// that the record's first bytes name.
pub type PluginInit = unsafe extern "C" fn(*mut c_void) -> pi_result;

/// The function `offkitPluginGetLastError` that plugins made with this crate export besides `piPluginInit`:
/// it writes a pointer to what went wrong in the last failing call of this thread (NUL-terminated UTF-8,
/// empty if there is nothing to say). The text stays valid until the thread's next call into the plugin. Up to
/// PI 6.8 the interface has no function for this; other plugins do not export it.
pub type GetLastError = unsafe extern "C" fn(*mut *const c_char) -> pi_result;

/// What a list of parameters looks like in documentation.
macro_rules! parameters_text {
    ($($parameter:ident: $type:ty),* $(,)?) => {
        concat!("`(", $(stringify!($parameter), ": ", stringify!($type), ", ",)* ")`")
    };
}

macro_rules! define_functions {
    ($(
        $name:ident($($parameter:ident: $type:ty),*) $($how:ident($($last:ident: $last_type:ty),*))?
        $(=> $later:ident($($later_parameter:ident: $later_type:ty),*) $($later_how:ident($($later_last:ident: $later_last_type:ty),*))?)*;
    )*) => {
        /// A function of the interface.
        #[expect(non_camel_case_types, reason = "these are the names of the C interface")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Function {
            $(#[doc = concat!("`", stringify!($name), "`")] $name,)*
        }

        impl Function {
            /// All functions of all versions. `ALL[function as usize]` is `function`.
            pub const ALL: &'static [Function] = &[$(Function::$name),*];

            /// The name in C.
            pub const fn name(self) -> &'static str {
                match self { $(Function::$name => stringify!($name),)* }
            }

            /// The function with that name in C.
            pub fn from_name(name: &str) -> Option<Function> {
                match name {
                    $(stringify!($name) => Some(Function::$name),)*
                    _ => None,
                }
            }
        }

        /// A function of the interface with the parameters and the meaning it has in some versions: the first
        /// revision has the function's name, a later one its letter behind that.
        #[expect(non_camel_case_types, reason = "these are the names of the C interface")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Revision {
            $(
                #[doc = parameters_text!($($parameter: $type,)* $($($last: $last_type),*)?)]
                $name,
                $(
                    #[doc = parameters_text!($($later_parameter: $later_type,)* $($($later_last: $later_last_type),*)?)]
                    $later,
                )*
            )*
        }

        impl Revision {
            /// All revisions of all functions. `ALL[revision as usize]` is `revision`.
            pub const ALL: &'static [Revision] = &[$(Revision::$name, $(Revision::$later,)*)*];

            /// The function.
            #[inline]
            pub const fn function(self) -> Function {
                match self { $(Revision::$name $(| Revision::$later)* => Function::$name,)* }
            }

            /// Types of the parameters, in order, as Rust has them, with the spaces that the compiler puts: `* mut pi_device`.
            pub const fn types(self) -> &'static [&'static str] {
                match self {
                    $(
                        Revision::$name => &[$(stringify!($type),)* $($(stringify!($last_type)),*)?],
                        $(Revision::$later => &[$(stringify!($later_type),)* $($(stringify!($later_last_type)),*)?],)*
                    )*
                }
            }

            /// Names of the parameters, in order.
            pub const fn parameters(self) -> &'static [&'static str] {
                match self {
                    $(
                        Revision::$name => &[$(stringify!($parameter),)* $($(stringify!($last)),*)?],
                        $(Revision::$later => &[$(stringify!($later_parameter),)* $($(stringify!($later_last)),*)?],)*
                    )*
                }
            }
        }

        /// The functions' types.
        pub mod signature {
            use super::*;
            $(
                #[doc = concat!("Type of `", stringify!($name), "`.")]
                #[expect(non_camel_case_types, reason = "these are the names of the C interface")]
                pub type $name = unsafe extern "C" fn($($parameter: $type,)* $($($last: $last_type),*)?) -> pi_result;
                $(
                    #[doc = concat!("Type of a later revision of `", stringify!($name), "`.")]
                    #[expect(non_camel_case_types, reason = "these are the names of the C interface")]
                    pub type $later = unsafe extern "C" fn($($later_parameter: $later_type,)* $($($later_last: $later_last_type),*)?) -> pi_result;
                )*
            )*
        }

        /// The functions of a plugin, under their names and with their types; `None` where its version has none,
        /// or another revision, or the plugin leaves the function out.
        #[expect(non_snake_case, reason = "these are the names of the C interface")]
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct Api {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: Option<signature::$name>,
                $(
                    #[doc = concat!("A later revision of `", stringify!($name), "`")]
                    pub $later: Option<signature::$later>,
                )*
            )*
        }

        impl Api {
            /// No function at all.
            pub const EMPTY: Api = Api { $($name: None, $($later: None,)*)* };
        }
    };
}

for_each_function!(define_functions);

impl fmt::Display for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Api {
    /// Number of fields.
    pub const COUNT: usize = Revision::ALL.len();

    /// The functions as untyped slots, at the index of their [`Revision`].
    pub fn slots(&self) -> &[Slot; Self::COUNT] {
        // SAFETY: `Api` is `repr(C)` and consists of `COUNT` fields of type `Option<unsafe extern "C"
        // fn(…)>`, which all have the size, alignment and validity (any bits) of `Slot`.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// Reads a table written by a plugin.
    ///
    /// # Safety
    ///
    /// Every slot that is not null must hold a function of the type that [`signature`] gives for the revision
    /// which `layout` has in that place.
    pub unsafe fn from_slots(layout: &Layout, slots: &[Slot]) -> Api {
        let mut found = [None; Self::COUNT];
        for (revision, slot) in layout.functions.iter().zip(slots) {
            found[*revision as usize] = *slot;
        }
        // SAFETY: same size and field types as in `slots`; that the functions have the right types is the
        // caller's promise.
        unsafe { core::mem::transmute::<[Slot; Self::COUNT], Api>(found) }
    }

    /// Adds those functions of a later version that the version of this table has in no revision.
    pub(crate) fn with_later(&self, own: &Layout, later: &Api) -> Api {
        let mut found = *self.slots();
        // By the numbers of functions, of which there are no more than revisions.
        let mut known = [false; Self::COUNT];
        for revision in own.functions {
            known[revision.function() as usize] = true;
        }
        for revision in Revision::ALL {
            if !known[revision.function() as usize] {
                found[*revision as usize] = later.slots()[*revision as usize];
            }
        }
        // SAFETY: as above; each slot is from a table that has a function of that type there.
        unsafe { core::mem::transmute::<[Slot; Self::COUNT], Api>(found) }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provided = Revision::ALL
            .iter()
            .filter(|revision| self.slots()[**revision as usize].is_some());
        formatter.debug_set().entries(provided).finish()
    }
}

/// The text of a version string field, without its padding.
pub(crate) fn version_text(field: &[u8]) -> String {
    let length = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..length]).into_owned()
}
