//! What calls of the driver come back with.

use core::ffi::{CStr, c_char};
use offkit_pi::ffi::*;
use std::fmt;

use super::Driver;
use super::functions::*;

/// A call of the driver that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Error {
    function: &'static str,
    code: CUresult,
    /// The driver's name of the code, and its words.
    said: String,
}

pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.function, self.said)?;
        match self.is_lost() {
            true => formatter.write_str("; the device is lost to this process, which has to start again"),
            false => Ok(()),
        }
    }
}

impl Error {
    pub(crate) fn new(driver: &Driver, function: &'static str, code: CUresult) -> Error {
        let ask = |question: unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult| {
            let mut text = core::ptr::null();
            // SAFETY: one place for a pointer. Texts are the driver's, and there for good.
            unsafe {
                let code = question(code, &raw mut text);
                (code == CUDA_SUCCESS && !text.is_null())
                    .then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let functions = &driver.functions;
        let name = ask(functions.cuGetErrorName).unwrap_or_else(|| "an unknown error".to_owned());
        let said = match ask(functions.cuGetErrorString) {
            Some(words) => format!("{name} ({code}), {words}"),
            None => format!("{name} ({code})"),
        };
        Error { function, code, said }
    }

    /// That of a function that only newer drivers have.
    pub(crate) fn missing(function: &'static str) -> Error {
        Error {
            function,
            code: CUDA_ERROR_NOT_SUPPORTED,
            said: "this driver is too old to have it".to_owned(),
        }
    }

    pub(crate) fn code(&self) -> CUresult {
        self.code
    }

    pub(crate) fn is(&self, code: CUresult) -> bool {
        self.code == code
    }

    /// Whether every later call of the process fails as well: after faults of kernels and of the hardware.
    pub(crate) fn is_lost(&self) -> bool {
        // 220 is a fault of NVLink, 226 one that was contained, 700 an illegal address, 702 a time limit, 709 a context
        // that is gone, 710 an assertion; 714 to 719 are faults of kernels, and 721 is a leak of tensor memory.
        matches!(
            self.code,
            CUDA_ERROR_ECC_UNCORRECTABLE | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721
        )
    }

    /// The plugin interface's word for it.
    pub(crate) fn result(&self) -> pi_result {
        match self.code {
            CUDA_ERROR_INVALID_VALUE => PI_INVALID_VALUE,
            CUDA_ERROR_OUT_OF_MEMORY => PI_MEM_OBJECT_ALLOCATION_FAILURE,
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => PI_OUT_OF_RESOURCES,
            CUDA_ERROR_INVALID_IMAGE
            | CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUDA_ERROR_INVALID_PTX
            | CUDA_ERROR_UNSUPPORTED_PTX_VERSION => PI_INVALID_BINARY,
            CUDA_ERROR_NO_DEVICE => PI_DEVICE_NOT_FOUND,
            CUDA_ERROR_NOT_SUPPORTED => PI_INVALID_OPERATION,
            CUDA_ERROR_DEVICE_UNAVAILABLE => PI_DEVICE_NOT_AVAILABLE,
            _ if self.is_lost() => PI_COMMAND_EXECUTION_FAILURE,
            _ => PI_ERROR_UNKNOWN,
        }
    }
}

impl From<Error> for offkit_pi::plugin::Error {
    fn from(error: Error) -> Self {
        offkit_pi::plugin::Error::new(error.result(), &error)
    }
}
