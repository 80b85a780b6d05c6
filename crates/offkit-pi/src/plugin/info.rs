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
#[derive(Debug, Clone)]
pub struct Info(Bytes);

/// Numbers take no memory of their own: hosts ask for an event's status at each turn.
#[derive(Debug, Clone)]
enum Bytes {
    Few([u8; 8], usize),
    Many(Vec<u8>),
}

impl Info {
    fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Few(bytes, size) => &bytes[..*size],
            Bytes::Many(bytes) => bytes,
        }
    }
}

impl Default for Info {
    fn default() -> Info {
        Info(Bytes::Few([0; 8], 0))
    }
}

impl PartialEq for Info {
    fn eq(&self, other: &Info) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Info {}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Info {
            fn from(value: $number) -> Info {
                let value = value.to_ne_bytes();
                let mut bytes = [0; 8];
                bytes[..value.len()].copy_from_slice(&value);
                Info(Bytes::Few(bytes, value.len()))
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
        // A zero inside would end the text for the host, whatever size it is told.
        let mut bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
        bytes.push(0);
        Info::from(bytes)
    }
}

impl From<String> for Info {
    fn from(text: String) -> Info {
        Info::from(text.as_str())
    }
}

impl From<&[usize]> for Info {
    fn from(values: &[usize]) -> Info {
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes());
        Info::from(bytes.collect::<Vec<u8>>())
    }
}

impl<const N: usize> From<[usize; N]> for Info {
    fn from(values: [usize; N]) -> Info {
        Info::from(values.as_slice())
    }
}

impl From<Vec<u8>> for Info {
    fn from(bytes: Vec<u8>) -> Info {
        Info(Bytes::Many(bytes))
    }
}

/// Answers an info query; the last three arguments of every one say where. A destination that is too
/// small is refused, and left as it is.
///
/// # Safety
///
/// `value` must be null or valid for writing `size` bytes, and `size_ret` null or valid for writing.
pub(crate) unsafe fn answer(info: Info, size: usize, value: *mut c_void, size_ret: *mut usize) -> Result<()> {
    let bytes = info.bytes();
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
