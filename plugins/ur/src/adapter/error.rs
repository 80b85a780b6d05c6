//! Why calls fail.

use super::Adapter;
use core::ffi::{CStr, c_char};
use core::ptr::null;
use offkit_pi::ffi::*;
use offkit_ur::*;
use std::fmt;

pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a call of an adapter's function failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {why}", name(.function))]
pub(crate) struct Error {
    function: &'static str,
    pub(crate) why: Why,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// A code.
    Code(ur_result_t),
    /// The adapter's own error, with its driver's code and the adapter's words.
    Own(i32, String),
    /// Nothing: the adapter does not have the function.
    Missing,
    /// A null handle, with success.
    Null,
}

/// The function's name in C: the letter of one that has changed under its name is this project's.
fn name(function: &str) -> &str {
    let letter = ["_a", "_b", "_c"]
        .into_iter()
        .find(|letter| function.ends_with(letter));
    letter.map_or(function, |letter| function.trim_end_matches(letter))
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Code(code) => match result_name(*code) {
                Some(name) => write!(formatter, "{name} ({code})"),
                None => write!(formatter, "error {code:#x}"),
            },
            Why::Own(code, message) if message.is_empty() => {
                write!(formatter, "the adapter's error {code}")
            }
            Why::Own(code, message) => write!(formatter, "{message} (the adapter's error {code})"),
            Why::Missing => formatter.write_str("the adapter does not have this function"),
            Why::Null => formatter.write_str("the adapter returned null"),
        }
    }
}

impl Error {
    pub(super) fn missing(function: &'static str) -> Error {
        let why = Why::Missing;
        Error { function, why }
    }

    pub(super) fn null(function: &'static str) -> Error {
        let why = Why::Null;
        Error { function, why }
    }

    pub(super) fn code(function: &'static str, code: ur_result_t) -> Error {
        let why = Why::Code(code);
        Error { function, why }
    }

    /// Whether it is this code.
    pub(crate) fn is(&self, code: ur_result_t) -> bool {
        self.why == Why::Code(code)
    }

    /// The result of the plugin interface.
    pub(crate) fn result(&self) -> pi_result {
        match self.why {
            Why::Code(code) => result(code),
            Why::Own(..) => PI_PLUGIN_SPECIFIC_ERROR,
            // What the plugin interface has for functions that are not there.
            Why::Missing => PI_INVALID_OPERATION,
            Why::Null => PI_OUT_OF_HOST_MEMORY,
        }
    }
}

impl From<Error> for offkit_pi::plugin::Error {
    fn from(error: Error) -> Self {
        Self::new(error.result(), error)
    }
}

impl Adapter {
    /// Makes a `Result` of a code. The adapter has words for one of the codes alone, which it keeps for this thread.
    pub(super) fn check(&'static self, function: &'static str, code: ur_result_t) -> Result<()> {
        match code {
            UR_RESULT_SUCCESS => Ok(()),
            // Asked at once: this thread's next call of the adapter may replace its words.
            UR_RESULT_ERROR_ADAPTER_SPECIFIC => Err(Error {
                function,
                why: self.last_error(),
            }),
            code => Err(Error::code(function, code)),
        }
    }

    fn last_error(&'static self) -> Why {
        let (mut message, mut code): (*const c_char, i32) = (null(), 0);
        // SAFETY: the adapter is its own, and both places are there.
        let asked = self.functions.urAdapterGetLastError.is_some_and(|ask| unsafe {
            ask(self.handle(), (&raw mut message).cast(), &raw mut code) == UR_RESULT_SUCCESS
        });
        if !asked || message.is_null() {
            return Why::Own(code, String::new());
        }
        // SAFETY: the adapter's text ends with a NUL, and is there until this thread calls the adapter again.
        let message = unsafe { CStr::from_ptr(message) };
        Why::Own(code, message.to_string_lossy().trim().to_owned())
    }
}

/// The result of the plugin interface that says the same.
fn result(code: ur_result_t) -> pi_result {
    match code {
        UR_RESULT_ERROR_INVALID_OPERATION | UR_RESULT_ERROR_UNSUPPORTED_FEATURE => PI_INVALID_OPERATION,
        UR_RESULT_ERROR_INVALID_QUEUE_PROPERTIES => PI_INVALID_QUEUE_PROPERTIES,
        UR_RESULT_ERROR_INVALID_QUEUE => PI_INVALID_QUEUE,
        UR_RESULT_ERROR_INVALID_CONTEXT => PI_INVALID_CONTEXT,
        UR_RESULT_ERROR_INVALID_PLATFORM => PI_INVALID_PLATFORM,
        UR_RESULT_ERROR_INVALID_BINARY | UR_RESULT_ERROR_INVALID_NATIVE_BINARY => PI_INVALID_BINARY,
        UR_RESULT_ERROR_INVALID_PROGRAM => PI_INVALID_PROGRAM,
        UR_RESULT_ERROR_INVALID_SAMPLER => PI_INVALID_SAMPLER,
        UR_RESULT_ERROR_INVALID_BUFFER_SIZE | UR_RESULT_ERROR_INVALID_USM_SIZE => PI_INVALID_BUFFER_SIZE,
        UR_RESULT_ERROR_INVALID_MEM_OBJECT => PI_INVALID_MEM_OBJECT,
        UR_RESULT_ERROR_INVALID_EVENT => PI_INVALID_EVENT,
        UR_RESULT_ERROR_INVALID_EVENT_WAIT_LIST => PI_INVALID_EVENT_WAIT_LIST,
        UR_RESULT_ERROR_MISALIGNED_SUB_BUFFER_OFFSET => PI_MISALIGNED_SUB_BUFFER_OFFSET,
        UR_RESULT_ERROR_INVALID_WORK_GROUP_SIZE => PI_INVALID_WORK_GROUP_SIZE,
        UR_RESULT_ERROR_COMPILER_NOT_AVAILABLE => PI_COMPILER_NOT_AVAILABLE,
        UR_RESULT_ERROR_PROFILING_INFO_NOT_AVAILABLE => PI_PROFILING_INFO_NOT_AVAILABLE,
        UR_RESULT_ERROR_DEVICE_NOT_FOUND => PI_DEVICE_NOT_FOUND,
        UR_RESULT_ERROR_INVALID_DEVICE => PI_INVALID_DEVICE,
        UR_RESULT_ERROR_DEVICE_LOST
        | UR_RESULT_ERROR_DEVICE_REQUIRES_RESET
        | UR_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE
        | UR_RESULT_ERROR_DEVICE_NOT_AVAILABLE => PI_DEVICE_NOT_AVAILABLE,
        UR_RESULT_ERROR_DEVICE_PARTITION_FAILED => PI_DEVICE_PARTITION_FAILED,
        UR_RESULT_ERROR_INVALID_DEVICE_PARTITION_COUNT => PI_INVALID_DEVICE_PARTITION_COUNT,
        UR_RESULT_ERROR_INVALID_WORK_ITEM_SIZE => PI_INVALID_WORK_ITEM_SIZE,
        UR_RESULT_ERROR_INVALID_WORK_DIMENSION => PI_INVALID_WORK_DIMENSION,
        UR_RESULT_ERROR_INVALID_KERNEL_ARGS => PI_INVALID_KERNEL_ARGS,
        UR_RESULT_ERROR_INVALID_KERNEL => PI_INVALID_KERNEL,
        UR_RESULT_ERROR_INVALID_KERNEL_NAME => PI_INVALID_KERNEL_NAME,
        UR_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX => PI_INVALID_ARG_INDEX,
        UR_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE => PI_INVALID_ARG_SIZE,
        UR_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE => PI_INVALID_ARG_VALUE,
        UR_RESULT_ERROR_INVALID_IMAGE_SIZE => PI_INVALID_IMAGE_SIZE,
        UR_RESULT_ERROR_INVALID_IMAGE_FORMAT_DESCRIPTOR => PI_INVALID_IMAGE_FORMAT_DESCRIPTOR,
        UR_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT => PI_IMAGE_FORMAT_NOT_SUPPORTED,
        UR_RESULT_ERROR_MEM_OBJECT_ALLOCATION_FAILURE
        | UR_RESULT_ERROR_OBJECT_ALLOCATION_FAILURE
        | UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY => PI_MEM_OBJECT_ALLOCATION_FAILURE,
        UR_RESULT_ERROR_INVALID_PROGRAM_EXECUTABLE | UR_RESULT_ERROR_PROGRAM_UNLINKED => {
            PI_INVALID_PROGRAM_EXECUTABLE
        }
        UR_RESULT_ERROR_OUT_OF_HOST_MEMORY => PI_OUT_OF_HOST_MEMORY,
        UR_RESULT_ERROR_OUT_OF_RESOURCES => PI_OUT_OF_RESOURCES,
        UR_RESULT_ERROR_PROGRAM_BUILD_FAILURE => PI_BUILD_PROGRAM_FAILURE,
        UR_RESULT_ERROR_PROGRAM_LINK_FAILURE => PI_LINK_PROGRAM_FAILURE,
        UR_RESULT_ERROR_FUNCTION_ADDRESS_NOT_AVAILABLE => PI_FUNCTION_ADDRESS_IS_NOT_AVAILABLE,
        UR_RESULT_ERROR_OVERLAPPING_REGIONS => PI_MEM_COPY_OVERLAP,
        UR_RESULT_ERROR_INVALID_HOST_PTR => PI_INVALID_HOST_PTR,
        UR_RESULT_ERROR_IN_EVENT_LIST_EXEC_STATUS => PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
        UR_RESULT_ERROR_INVALID_SPEC_ID => PI_INVALID_SPEC_ID,
        UR_RESULT_ERROR_INVALID_VALUE
        | UR_RESULT_ERROR_INVALID_ARGUMENT
        | UR_RESULT_ERROR_INVALID_NULL_HANDLE
        | UR_RESULT_ERROR_INVALID_NULL_POINTER
        | UR_RESULT_ERROR_INVALID_SIZE
        | UR_RESULT_ERROR_UNSUPPORTED_SIZE
        | UR_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
        | UR_RESULT_ERROR_INVALID_ENUMERATION
        | UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION => PI_INVALID_VALUE,
        _ => PI_ERROR_UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_the_plugin_interface_has_too_keep_their_meaning() {
        // The adapters' numbers, and OpenCL's, which are the interface's.
        let pairs = [
            (7, -42),
            (23, -18),
            (24, -68),
            (33, -40),
            (34, -39),
            (35, -4),
            (41, -11),
            (55, -10),
            (62, -8),
        ];
        for (theirs, ours) in pairs {
            assert_eq!(result(theirs), pi_result(ours), "{:?}", result_name(theirs));
        }
        assert_eq!(result(UR_RESULT_ERROR_UNKNOWN), PI_ERROR_UNKNOWN);
    }
}
