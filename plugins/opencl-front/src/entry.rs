//! The table: what C calls, made of the functions of this crate by one list.
//!
//! Each function of the table hands its arguments on, keeps panics in, and makes an error code of what it gets. A
//! function of the crate that nobody wrote is that of [`unsupported`](crate::unsupported).

use crate::api;
use crate::c::{Argument, In};
use crate::failure::{Failure, Result};
use cl::*;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function of the table returns, as the crate's functions return it.
pub(crate) trait Returned: Sized {
    type Safe;

    fn from_safe(value: Self::Safe) -> Self;

    /// What a function returns that panicked.
    fn panicked() -> Self;
}

impl Returned for cl_int {
    type Safe = Result<()>;

    fn from_safe(value: Result<()>) -> cl_int {
        match value {
            Ok(()) => CL_SUCCESS,
            Err(Failure(code)) => code,
        }
    }

    fn panicked() -> cl_int {
        CL_OUT_OF_RESOURCES
    }
}

impl Returned for *mut c_void {
    type Safe = *mut c_void;

    fn from_safe(value: *mut c_void) -> *mut c_void {
        value
    }

    fn panicked() -> *mut c_void {
        core::ptr::null_mut()
    }
}

impl Returned for () {
    type Safe = ();

    fn from_safe((): ()) {}

    fn panicked() {}
}

/// Calls a function, and keeps a panic in.
fn guard<R: Returned>(function: impl FnOnce() -> R::Safe) -> R {
    // A panic that reached C would abort the program, which is not this driver's to end.
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(value) => R::from_safe(value),
        Err(payload) => {
            // A payload may panic again when it is dropped.
            core::mem::forget(payload);
            R::panicked()
        }
    }
}

/// Why an object was not made as it was meant to be.
pub(crate) struct Unmade<H> {
    pub(crate) failure: Failure,
    /// What there is nevertheless, or null.
    pub(crate) left: *mut H,
}

impl<H> From<Failure> for Unmade<H> {
    fn from(failure: Failure) -> Unmade<H> {
        let left = core::ptr::null_mut();
        Unmade { failure, left }
    }
}

/// Calls a function that makes an object, and says what happened where the caller wants to know it.
fn create<H, E: Into<Unmade<H>>>(
    errcode_ret: crate::c::Out<cl_int>,
    function: impl FnOnce() -> Result<*mut H, E>,
) -> *mut H {
    let made = catch_unwind(AssertUnwindSafe(function));
    let made = made.map_err(|payload| {
        core::mem::forget(payload);
        Unmade::from(Failure(CL_OUT_OF_RESOURCES))
    });
    match made.and_then(|made| made.map_err(Into::into)) {
        Ok(handle) => {
            errcode_ret.write(CL_SUCCESS);
            handle
        }
        Err(Unmade {
            failure: Failure(code),
            left,
        }) => {
            errcode_ret.write(code);
            left
        }
    }
}

macro_rules! functions {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {
        $(functions!(@one $name [$($parameter: $type),*] [$($creates)?] $returned);)*
    };
    (@one $name:ident [$($parameter:ident: $type:ty),*] [creates] $returned:ty) => {
        pub(super) unsafe extern "C" fn $name($($parameter: $type,)* errcode_ret: *mut cl_int) -> $returned {
            // SAFETY: the caller passes what OpenCL says.
            unsafe {
                $(let $parameter = $parameter.trust();)*
                create(errcode_ret.trust(), || api::$name($($parameter),*))
            }
        }
    };
    // Without arguments there is nothing to take anybody's word for.
    (@one $name:ident [] [] $returned:ty) => {
        pub(super) unsafe extern "C" fn $name() -> $returned {
            guard(api::$name)
        }
    };
    (@one $name:ident [$($parameter:ident: $type:ty),*] [] $returned:ty) => {
        pub(super) unsafe extern "C" fn $name($($parameter: $type),*) -> $returned {
            // SAFETY: the caller passes what OpenCL says.
            unsafe {
                $(let $parameter = $parameter.trust();)*
                guard(|| api::$name($($parameter),*))
            }
        }
    };
}

mod function {
    use super::*;

    for_each_slot!(functions);

    /// What versions of OpenCL to come have in their slots.
    pub(super) unsafe extern "C" fn later() -> cl_int {
        CL_INVALID_OPERATION
    }
}

/// A slot of the table.
#[derive(Clone, Copy)]
union Slot {
    /// A function of the type that its place says.
    function: *const (),
    /// What says of what version of `cl_khr_icd` the driver is.
    tag: usize,
}

/// What loaders see, as [`Dispatch`] lays it out.
#[repr(transparent)]
pub(crate) struct Table([Slot; ALLOCATED_SLOTS]);

// SAFETY: it is never written to, and functions may be called from everywhere.
unsafe impl Sync for Table {}

/// The slots that say so: of two functions that no loader calls through an object, clGetPlatformIDs and
/// clUnloadCompiler.
const TAGGED: [usize; 2] = [
    offset_of!(Dispatch, clGetPlatformIDs) / size_of::<usize>(),
    offset_of!(Dispatch, clUnloadCompiler) / size_of::<usize>(),
];

macro_rules! table {
    ($($name:ident($($parameter:ident: $type:ty),*) $($creates:ident)? -> $returned:ty;)*) => {
        /// The table that every object begins with the address of.
        pub(crate) static TABLE: Table = {
            let later = Slot { function: function::later as *const () };
            let mut slots = [later; ALLOCATED_SLOTS];
            let functions = [$(Slot { function: function::$name as *const () }),*];
            let mut number = 0;
            while number < SLOTS {
                slots[number] = functions[number];
                number += 1;
            }
            let mut tags = 0;
            while tags < TAGGED.len() {
                slots[TAGGED[tags]] = Slot { tag: CL_ICD2_TAG_KHR };
                tags += 1;
            }
            Table(slots)
        };

        /// The address of a function of the table.
        fn of_table(name: &str) -> Option<usize> {
            match name {
                $(stringify!($name) => Some(function::$name as *const () as usize),)*
                _ => None,
            }
        }
    };
}

for_each_slot!(table);

/// Functions of extensions. Not all of them are those of this driver's.
#[expect(
    dead_code,
    reason = "the list has functions of extensions that the driver has not"
)]
mod extension {
    use super::*;

    for_each_extension!(functions);
}

/// The address of a function of an extension that the driver has.
fn of_extension(name: &str) -> Option<usize> {
    // What it was called before OpenCL 3.0; the plugin of DPC++ 2024.2 has no buffers without it.
    if name == "clCreateBufferWithPropertiesINTEL" {
        return of_table("clCreateBufferWithProperties");
    }
    macro_rules! addresses {
        ($($name:ident),* $(,)?) => {
            match name {
                $(stringify!($name) => Some(extension::$name as *const () as usize),)*
                _ => None,
            }
        };
    }
    // Programs take an address for support, so that functions of extensions that only refuse have
    // none.
    addresses!(
        clIcdGetPlatformIDsKHR,
        clIcdGetFunctionAddressForPlatformKHR,
        clIcdSetPlatformDispatchDataKHR,
        clCreateProgramWithILKHR,
        clCreateCommandQueueWithPropertiesKHR,
        clGetKernelSuggestedLocalWorkSizeKHR,
        clHostMemAllocINTEL,
        clDeviceMemAllocINTEL,
        clSharedMemAllocINTEL,
        clMemFreeINTEL,
        clMemBlockingFreeINTEL,
        clGetMemAllocInfoINTEL,
        clSetKernelArgMemPointerINTEL,
        clEnqueueMemFillINTEL,
        clEnqueueMemsetINTEL,
        clEnqueueMemcpyINTEL,
        clEnqueueMigrateMemINTEL,
        clEnqueueMemAdviseINTEL,
    )
}

/// The address of a function by its name, or null.
pub(crate) fn address_of(name: In<c_char>) -> *mut c_void {
    let name = name
        .text()
        .and_then(|name| name.to_str().ok())
        .unwrap_or_default();
    // Those of the table, too: loaders of version 2 of `cl_khr_icd` ask for each of them by name.
    let address = of_table(name).or_else(|| of_extension(name));
    core::ptr::with_exposed_provenance_mut(address.unwrap_or(0))
}

/// What loaders find first: from here they get to everything else.
///
/// # Safety
///
/// `func_name` must be null or text with a NUL at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetExtensionFunctionAddress(func_name: *const c_char) -> *mut c_void {
    // SAFETY: by the caller's promise.
    unsafe { function::clGetExtensionFunctionAddress(func_name) }
}
