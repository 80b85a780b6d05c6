//! Answers to info queries.

use super::error::{Error, Result};
use crate::ffi::*;
use core::ffi::c_void;

/// The answer to an info query, as the bytes the host gets.
///
/// Made from what the interface wants for the query: `u32`, `u64`, `usize`, `bool` (four bytes), text (gets
/// its NUL), arrays of sizes, bytes.
///
/// ```
/// use offkit_pi::plugin::Info;
/// assert_eq!(Info::from("cpu"), Info::from(vec![b'c', b'p', b'u', 0]));
/// assert_eq!(Info::from(true), Info::from(1u32));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Info(Vec<u8>);

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Info {
            fn from(value: $number) -> Info {
                Info(value.to_ne_bytes().into())
            }
        }
    )*};
}

numbers!(u32, i32, u64, usize);

impl From<bool> for Info {
    fn from(value: bool) -> Info {
        Info::from(if value { PI_TRUE } else { PI_FALSE })
    }
}

impl From<&str> for Info {
    fn from(text: &str) -> Info {
        let mut bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
        bytes.push(0);
        Info(bytes)
    }
}

impl From<String> for Info {
    fn from(text: String) -> Info {
        Info::from(text.as_str())
    }
}

impl From<&[usize]> for Info {
    fn from(values: &[usize]) -> Info {
        Info(values.iter().flat_map(|value| value.to_ne_bytes()).collect())
    }
}

impl<const N: usize> From<[usize; N]> for Info {
    fn from(values: [usize; N]) -> Info {
        Info::from(values.as_slice())
    }
}

impl From<Vec<u8>> for Info {
    fn from(bytes: Vec<u8>) -> Info {
        Info(bytes)
    }
}

/// Answers an info query; the last three arguments of every one say where. A destination that is too
/// small is refused, and left as it is.
///
/// # Safety
///
/// `value` must be null or valid for writing `size` bytes, and `size_ret` null or valid for writing.
pub(crate) unsafe fn answer(info: Info, size: usize, value: *mut c_void, size_ret: *mut usize) -> Result<()> {
    let Info(bytes) = info;
    if !value.is_null() {
        if size < bytes.len() {
            let message = format!("the answer has {} bytes, the destination {size}", bytes.len());
            return Err(Error::new(PI_INVALID_VALUE, message));
        }
        // SAFETY: not null, so valid for `size` bytes, which are enough.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), bytes.len()) };
    }
    if !size_ret.is_null() {
        // SAFETY: not null, so valid for writing.
        unsafe { size_ret.write(bytes.len()) };
    }
    Ok(())
}
