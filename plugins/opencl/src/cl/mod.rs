//! A driver's functions, made safe: the only part with unsafe code.
//!
//! What OpenCL demands of its callers is seen to by types: an [`Owned`] object is one that the driver has, and of that
//! driver; memory of the host comes as [`HostSource`](offkit_pi::plugin::HostSource) or
//! [`HostTarget`](offkit_pi::plugin::HostTarget). What no type can see to is left to the plugin interface's hosts, as
//! the interface says: that a kernel stays within its memory, and that an address is one.

mod context;
mod event;
mod image;
mod kernel;
mod object;
mod open;
mod platform;
mod program;
mod queue;
mod table;
mod usm;

pub(crate) use context::Buffer;
pub(crate) use event::{Event, is_called_back};
pub(crate) use image::HostSide;
pub(crate) use object::Owned;
pub(crate) use open::open;
pub(crate) use platform::{DeviceId, Driver};
pub(crate) use queue::{Order, Transfer};

use offkit_opencl::{CL_INVALID_OPERATION, CL_SUCCESS, cl_int, error_name};
pub(crate) use offkit_pi::driver::{answer, text, words};
use offkit_pi::ffi::pi_result;
use std::fmt;

pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a call of a driver's function failed.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{function}: {}", Code(*.code))]
pub(crate) struct Error {
    function: &'static str,
    pub(crate) code: cl_int,
}

/// A code as messages have it: `CL_INVALID_VALUE (-30)`.
pub(crate) struct Code(pub(crate) cl_int);

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (error_name(self.0), self.0) {
            (_, MISSING) => formatter.write_str("the driver does not have this function"),
            (Some(name), code) => write!(formatter, "{name} ({code})"),
            (None, code) => write!(formatter, "error {code}"),
        }
    }
}

/// Stands for a function that a driver does not have; no driver returns it.
const MISSING: cl_int = cl_int::MIN;

impl Error {
    fn check(function: &'static str, code: cl_int) -> Result<()> {
        match code {
            CL_SUCCESS => Ok(()),
            code => Err(Error { function, code }),
        }
    }

    fn missing(function: &'static str) -> Error {
        Error {
            function,
            code: MISSING,
        }
    }

    /// The result of the plugin interface, which has OpenCL's numbers.
    pub(crate) fn result(self) -> pi_result {
        pi_result(match self.code {
            MISSING => CL_INVALID_OPERATION,
            code => code,
        })
    }
}

impl From<Error> for offkit_pi::plugin::Error {
    fn from(error: Error) -> Self {
        Self::new(error.result(), error)
    }
}

/// Calls a function of a table, unsafely, and makes a `Result` of its code.
macro_rules! call {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $table.$function {
            Some(function) => $crate::cl::Error::check(stringify!($function), function($($argument),*)),
            None => Err($crate::cl::Error::missing(stringify!($function))),
        }
    };
}

/// Calls a function that returns what it makes, and its code through its last parameter, which is left out here.
macro_rules! create {
    ($table:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $table.$function {
            Some(function) => {
                let mut code = offkit_opencl::CL_SUCCESS;
                let made = function($($argument,)* &raw mut code);
                $crate::cl::Error::check(stringify!($function), code).map(|()| made)
            }
            None => Err($crate::cl::Error::missing(stringify!($function))),
        }
    };
}

/// Asks an info query: [`call!`] without the places for the answer, which are its last arguments. `unsafe` is for the
/// arguments; the places are right.
macro_rules! ask {
    ($table:expr, unsafe $function:ident($($argument:expr),* $(,)?)) => {
        $crate::cl::answer(|size, value, size_ret| {
            // SAFETY: where it is used; `answer` passes a place of the size it says.
            unsafe { call!($table, $function($($argument,)* size, value, size_ret)) }
        })
    };
}
use {ask, call, create};
