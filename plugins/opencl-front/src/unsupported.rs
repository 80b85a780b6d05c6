//! What the driver does not have: images, samplers, pipes, device enqueue, native kernels, sub-devices, and the sharing
//! of objects with other interfaces.
//!
//! Every function of OpenCL is here, as one that refuses. A module that has a function goes before this one.

#![expect(dead_code, reason = "most functions are those of another module")]
#![expect(
    unused_variables,
    reason = "arguments have their names from the list of functions"
)]

use crate::c::Argument;
use crate::failure::{Result, fail};
use cl::*;
use core::ffi::{c_char, c_int, c_uint, c_void};

/// How a function refuses.
pub(crate) trait Refusing {
    fn refuse() -> Self;
}

impl<T> Refusing for Result<T> {
    fn refuse() -> Self {
        fail(CL_INVALID_OPERATION)
    }
}

impl Refusing for *mut c_void {
    fn refuse() -> Self {
        core::ptr::null_mut()
    }
}

impl Refusing for () {
    fn refuse() {}
}

macro_rules! refusing {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {
        $(refusing!(@one $name [$($parameter: $type),*] [$($creates)?] $returned);)*
    };
    (@one $name:ident [$($parameter:ident: $type:ty),*] [creates] $returned:ty) => {
        pub(crate) fn $name($($parameter: <$type as Argument>::Safe),*) -> Result<$returned> {
            Refusing::refuse()
        }
    };
    (@one $name:ident [$($parameter:ident: $type:ty),*] [] $returned:ty) => {
        pub(crate) fn $name(
            $($parameter: <$type as Argument>::Safe),*
        ) -> <$returned as crate::entry::Returned>::Safe {
            Refusing::refuse()
        }
    };
}

for_each_slot!(refusing);
for_each_extension!(refusing);
