//! What a plugin's functions return, and the text that goes with a result code.

use crate::ffi::*;
use core::cell::RefCell;
use core::ffi::c_char;
use core::fmt;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a function of a plugin failed: a code for the host's program, and words for its user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    /// The result code.
    pub code: pi_result,
    /// What happened. The host gets it through `offkitPluginGetLastError` or `piPluginGetLastError`.
    pub message: String,
}

/// What a plugin's functions return.
pub type Result<T, E = Error> = core::result::Result<T, E>;

impl Error {
    /// An error of the given code.
    pub fn new(code: pi_result, message: impl fmt::Display) -> Error {
        Error {
            code,
            message: message.to_string(),
        }
    }

    /// The error of something a plugin does not do: [`PI_INVALID_OPERATION`].
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(PI_INVALID_OPERATION, format_args!("{what} is not supported"))
    }

    /// The error of a query for something a plugin does not know: [`PI_INVALID_VALUE`].
    pub fn unknown_query(name: u32) -> Error {
        Error::new(PI_INVALID_VALUE, format_args!("unknown query {name:#x}"))
    }

    pub(crate) fn null(what: &str) -> Error {
        Error::new(PI_INVALID_VALUE, format_args!("{what} is null"))
    }
}

thread_local! {
    static LAST_ERROR: RefCell<(pi_result, CString)> = RefCell::new((PI_SUCCESS, CString::default()));
}

/// Remembers the code and the message of this thread's last failing call.
pub(crate) fn set_last_error(code: pi_result, message: &str) {
    // With a zero inside there would be no text at all.
    let bytes: Vec<u8> = message.bytes().filter(|byte| *byte != 0).collect();
    // Nothing to remember it in while the thread ends.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = (code, CString::new(bytes).unwrap_or_default()));
}

/// Code and message of this thread's last failing call. The text is there until the next one.
pub(crate) fn last_error() -> (pi_result, *const c_char) {
    let last = LAST_ERROR.try_with(|last| {
        let (code, message) = &*last.borrow();
        (*code, message.as_ptr())
    });
    last.unwrap_or((PI_SUCCESS, c"".as_ptr()))
}

/// `offkitPluginGetLastError` of every plugin (see [`GetLastError`](crate::table::GetLastError)).
///
/// # Safety
///
/// `message` must be null or valid for writing a pointer.
pub unsafe extern "C" fn get_last_error(message: *mut *const c_char) -> pi_result {
    if message.is_null() {
        return PI_INVALID_VALUE;
    }
    let (_, text) = last_error();
    // SAFETY: not null, so valid for writing.
    unsafe { message.write(text) };
    PI_SUCCESS
}

/// Runs a function of the table: nothing unwinds out of it, and its message is remembered if it fails.
pub(crate) fn guard(function: impl fmt::Display, body: impl FnOnce() -> Result<()>) -> pi_result {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return PI_SUCCESS,
        Ok(Err(error)) => error,
        Err(payload) => {
            let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
                (Some(text), _) => text,
                (_, Some(text)) => text.as_str(),
                _ => "no message",
            };
            let error = Error::new(PI_ERROR_UNKNOWN, format_args!("{function} panicked: {text}"));
            // A payload may panic again when it is dropped.
            core::mem::forget(payload);
            error
        }
    };
    tracing::debug!(%function, result = %error.code, message = error.message, "call failed");
    set_last_error(error.code, &error.message);
    error.code
}
