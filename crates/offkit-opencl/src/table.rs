//! The table of functions that every object of a driver begins with a pointer to.

use crate::types::*;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::offset_of;

/// Functions in a table of OpenCL 3.1.
pub const SLOTS: usize = 150;

/// Slots that a driver does well to have: loaders call functions of later versions without asking how long the table
/// is.
pub const ALLOCATED_SLOTS: usize = 160;

/// What a driver of version 2 of `cl_khr_icd` has in the places of clGetPlatformIDs and clUnloadCompiler: a loader then
/// asks it for functions by name, and puts a word of its own behind every handle's pointer to the table.
pub const CL_ICD2_TAG_KHR: usize = 0x4f50_454e_434c_3331;

macro_rules! types {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {$(
        #[doc = concat!("Type of `", stringify!($name), "`.")]
        pub type $name = unsafe extern "C" fn(
            $($parameter: $type,)*
            $(errcode_ret: types!(@errcode $creates))?
        ) -> $returned;
    )*};
    (@errcode creates) => { *mut cl_int };
}

/// Types of the functions, under their names.
pub mod signature {
    use super::*;

    for_each_slot!(types);
    for_each_extension!(types);
}

macro_rules! record {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {
        /// The table, as `CL/cl_icd.h` lays it out. Drivers have holes where they don't know a function, and end where
        /// their version ends: 149 slots for OpenCL 3.0.
        #[repr(C)]
        pub struct Dispatch {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub $name: Option<signature::$name>,
            )*
            /// What later versions add.
            pub later: [Option<unsafe extern "C" fn() -> cl_int>; ALLOCATED_SLOTS - SLOTS],
        }
    };
}

for_each_slot!(record);

// Places that tell whether a line was lost.
const _: () = {
    const fn slot(offset: usize) -> usize {
        offset / size_of::<usize>()
    }
    assert!(slot(offset_of!(Dispatch, clUnloadCompiler)) == 31);
    assert!(slot(offset_of!(Dispatch, clGetExtensionFunctionAddress)) == 65);
    assert!(slot(offset_of!(Dispatch, clSetEventCallback)) == 81);
    assert!(slot(offset_of!(Dispatch, clCreateSubDevices)) == 93);
    assert!(slot(offset_of!(Dispatch, clGetExtensionFunctionAddressForPlatform)) == 107);
    assert!(slot(offset_of!(Dispatch, clCreateFromGLTexture)) == 108);
    assert!(slot(offset_of!(Dispatch, clCreateCommandQueueWithProperties)) == 123);
    assert!(slot(offset_of!(Dispatch, clGetKernelSubGroupInfoKHR)) == 136);
    assert!(slot(offset_of!(Dispatch, clSetDefaultDeviceCommandQueue)) == 143);
    assert!(slot(offset_of!(Dispatch, clSetContextDestructorCallback)) == 148);
    assert!(slot(offset_of!(Dispatch, later)) == SLOTS);
    assert!(slot(size_of::<Dispatch>()) == ALLOCATED_SLOTS);
};
