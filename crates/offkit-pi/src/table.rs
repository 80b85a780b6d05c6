//! Function tables by version.
//!
//! Three views of the same pointers:
//!
//! * [`Function`] names a function of the interface, whatever the version;
//! * [`Api`] is the typed record of functions that hosts call and plugins fill, with one field for every
//!   [`Function`] and
//!   so for every version;
//! * a [`Layout`] says where a version puts which function. Tables of different versions are not prefixes of
//!   each other,
//!   so the record a plugin writes is only ever read and written through the layout of its version.
//!
//! Supporting a further version means adding its new functions to the list, and its layout here.

use crate::ffi::*;
use crate::functions::for_each_function;
use core::ffi::{CStr, c_char, c_void};
use core::fmt;

/// A slot of a function table: null, or a function whose real type [`signature`] has.
pub type Slot = Option<unsafe extern "C" fn()>;

/// The one function a plugin exports, `piPluginInit`. It takes a pointer to the plugin record of the version
/// that the record's first bytes name.
pub type PluginInit = unsafe extern "C" fn(*mut c_void) -> pi_result;

/// The function `offkitPluginGetLastError` that plugins made with this crate export besides `piPluginInit`:
/// it writes a pointer to what went wrong in the last failing call of this thread (NUL-terminated UTF-8,
/// empty if there is nothing to say). The text stays valid until the thread's next call into the plugin. PI
/// 2.3 has no function for this; other plugins do not export it.
pub type GetLastError = unsafe extern "C" fn(*mut *const c_char) -> pi_result;

macro_rules! define_functions {
    ($($name:ident($($parameter:ident: $type:ty),*) $($how:ident($($last:ident: $last_type:ty),*))?;)*) => {
        /// A function of the interface.
        #[expect(non_camel_case_types, reason = "these are the names of the C interface")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Function {
            $(
                #[doc = concat!("`", stringify!($name), "(", $(stringify!($parameter), ": ", stringify!($type), ", ",)* $($(stringify!($last), ": ", stringify!($last_type), ", ",)*)? ")`")]
                $name,
            )*
        }

        impl Function {
            /// All functions of all versions. `ALL[function as usize]` is `function`.
            pub const ALL: &'static [Function] = &[$(Function::$name),*];

            /// The name in C.
            pub const fn name(self) -> &'static str {
                match self { $(Function::$name => stringify!($name),)* }
            }

            /// Names of the parameters, in order.
            pub const fn parameters(self) -> &'static [&'static str] {
                match self { $(Function::$name => &[$(stringify!($parameter),)* $($(stringify!($last)),*)?],)* }
            }
        }

        /// The functions' types.
        pub mod signature {
            use super::*;
            $(
                #[doc = concat!("Type of `", stringify!($name), "`.")]
                #[expect(non_camel_case_types, reason = "these are the names of the C interface")]
                pub type $name = unsafe extern "C" fn($($parameter: $type,)* $($($last: $last_type),*)?) -> pi_result;
            )*
        }

        /// The functions of a plugin, under their names and with their types; `None` where it provides none.
        #[expect(non_snake_case, reason = "these are the names of the C interface")]
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct Api {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: Option<signature::$name>,
            )*
        }

        impl Api {
            /// No function at all.
            pub const EMPTY: Api = Api { $($name: None),* };
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
    /// Number of functions.
    pub const COUNT: usize = Function::ALL.len();

    /// The functions as untyped slots, at the index of their [`Function`].
    pub fn slots(&self) -> &[Slot; Self::COUNT] {
        // SAFETY: `Api` is `repr(C)` and consists of `COUNT` fields of type `Option<unsafe extern "C"
        // fn(…)>`, which all have the size, alignment and validity (any bits) of `Slot`.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// Reads a table written by a plugin.
    ///
    /// # Safety
    ///
    /// Every slot that is not null must hold a function of the type that [`signature`] gives for the function
    /// which `layout` has in that place.
    pub unsafe fn from_slots(layout: &Layout, slots: &[Slot]) -> Api {
        let mut found = [None; Self::COUNT];
        for (function, slot) in layout.functions.iter().zip(slots) {
            found[*function as usize] = *slot;
        }
        // SAFETY: same size and field types as in `slots`; that the functions have the right types is the
        // caller's promise.
        unsafe { core::mem::transmute::<[Slot; Self::COUNT], Api>(found) }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let provided = Function::ALL
            .iter()
            .filter(|function| self.slots()[**function as usize].is_some());
        formatter.debug_set().entries(provided).finish()
    }
}

/// Where one version of the interface puts things in the plugin record.
///
/// The record starts with two version strings of equal, fixed length: the host's, by which the plugin
/// decides, and the plugin's. A pointer nobody uses follows, then the function table.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The version as the strings have it, `major.minor`.
    pub version: &'static CStr,
    /// Bytes each version string takes.
    pub version_length: usize,
    /// Offset of the function table from the start of the record.
    pub table_offset: usize,
    /// The functions, in the order of the table.
    pub functions: &'static [Function],
}

impl Layout {
    /// PI 2.3: release 2021.2 of DPC++.
    pub const V2_3: Layout = Layout {
        version: c"2.3",
        version_length: 4,
        table_offset: core::mem::offset_of!(PluginRecordV2_3, functions),
        functions: Function::ALL,
    };

    /// Size of the whole record in bytes.
    pub const fn record_size(&self) -> usize {
        self.table_offset + self.functions.len() * size_of::<Slot>()
    }

    /// Offset of a function's slot from the start of the record; `None` if this version does not have the
    /// function.
    pub fn offset(&self, function: Function) -> Option<usize> {
        let index = self
            .functions
            .iter()
            .position(|candidate| *candidate == function)?;
        Some(self.table_offset + index * size_of::<Slot>())
    }
}

/// What `piPluginInit` is given: `_pi_plugin` of the C header.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PluginRecord<const VERSION_LENGTH: usize, const FUNCTIONS: usize> {
    /// The host's version, NUL-terminated; written by the host.
    pub pi_version: [u8; VERSION_LENGTH],
    /// The plugin's version, NUL-terminated; written by the plugin.
    pub plugin_version: [u8; VERSION_LENGTH],
    /// Unused; no known plugin touches it.
    pub targets: *mut c_char,
    /// The function table; written by the plugin.
    pub functions: [Slot; FUNCTIONS],
}

/// The plugin record of PI 2.3. 824 bytes.
pub type PluginRecordV2_3 = PluginRecord<4, { Function::ALL.len() }>;

/// The text of a version string field, without its padding.
pub(crate) fn version_text(field: &[u8]) -> String {
    let length = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..length]).into_owned()
}
