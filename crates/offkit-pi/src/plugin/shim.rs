//! What the functions of the table have in common: arguments in, handles out.

use super::slab::Record;
use super::{Error, Result};
use crate::ffi::*;
use core::ffi::{CStr, c_char};

/// Refuses a null pointer.
pub(super) fn non_null<T>(pointer: *mut T, what: &str) -> Result<()> {
    if pointer.is_null() {
        Err(Error::null(what))
    } else {
        Ok(())
    }
}

/// The elements of an array given as pointer and count.
///
/// # Safety
///
/// `pointer` must be null or valid for reading `count` elements during `'a`.
pub(super) unsafe fn array<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Error::null(what));
    }
    // SAFETY: not null, so valid by the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(pointer, count) })
}

/// A string argument.
///
/// # Safety
///
/// `pointer` must be null or a NUL-terminated string valid during `'a`.
pub(super) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Error::null(what));
    }
    // SAFETY: not null, so NUL-terminated and valid by the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| Error::new(PI_INVALID_VALUE, format_args!("{what} is not UTF-8")))
}

/// Options of a compile, link or build; null for none.
///
/// # Safety
///
/// As for [`text`].
pub(super) unsafe fn options<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Ok("");
    }
    // SAFETY: by the caller's promise.
    unsafe { text(pointer, "options") }
}

/// The keys and values of a list of properties, which may be null.
///
/// # Safety
///
/// `list` must be null, or keys and values that end with the key 0.
pub(super) unsafe fn properties(mut list: *const pi_bitfield) -> Vec<(pi_bitfield, pi_bitfield)> {
    let mut found = Vec::new();
    // SAFETY: not null, and the end has not been reached.
    while !list.is_null() && unsafe { list.read() } != 0 {
        // SAFETY: a key that is not 0 has a value, and something behind that.
        unsafe {
            found.push((list.read(), list.add(1).read()));
            list = list.add(2);
        }
    }
    found
}

/// Gives the host a reference to an object, and writes its handle to where the host wants it.
///
/// # Safety
///
/// `target` must be valid for writing.
pub(super) unsafe fn give<T, D, H>(target: *mut *mut H, record: Record<T, D>)
where
    T: Send + Sync + 'static,
    D: Send + Sync + 'static,
{
    // SAFETY: valid by the caller's promise.
    unsafe { target.write(core::ptr::with_exposed_provenance_mut(record.hand_out())) };
}

/// Answers a request for a list: as many handles as there is room for, and how many there are.
///
/// # Safety
///
/// `handles` must be null or have room for `room` handles, and `count` be null or valid for writing.
pub(super) unsafe fn give_list<H>(
    found: &[usize],
    room: pi_uint32,
    handles: *mut *mut H,
    count: *mut pi_uint32,
) -> Result<()> {
    if handles.is_null() && count.is_null() {
        return Err(Error::new(
            PI_INVALID_VALUE,
            "neither a list nor its length is asked for",
        ));
    }
    if !handles.is_null() {
        // As `clGetDeviceIDs` has it.
        if room == 0 {
            return Err(Error::new(PI_INVALID_VALUE, "a list of no entries"));
        }
        for (index, handle) in found.iter().take(room as usize).enumerate() {
            // SAFETY: not null, and `index` is below `room`.
            unsafe {
                handles
                    .add(index)
                    .write(core::ptr::with_exposed_provenance_mut(*handle))
            };
        }
    }
    if !count.is_null() {
        // SAFETY: not null, so valid for writing.
        unsafe { count.write(found.len() as pi_uint32) };
    }
    Ok(())
}

/// [`with_each`] for lists of these lengths, each as many names, without an allocation.
macro_rules! on_the_stack {
    ($handles:ident, $find:ident, $body:ident: $([$($handle:ident)*])*) => {
        match $handles {
            $([$($handle),*] => $body(&[$($find($handle)?),*]),)*
            more => $body(&more.iter().map($find).collect::<Result<Vec<_>>>()?),
        }
    };
}

/// Calls a function with what is found for each handle of a list. Up to 16 are on the stack.
pub(super) fn with_each<H, T, R>(
    handles: &[H],
    find: impl Fn(&H) -> Result<T>,
    body: impl FnOnce(&[T]) -> Result<R>,
) -> Result<R> {
    // Most wait lists are that short, and a vector would cost each command an allocation.
    on_the_stack! { handles, find, body:
        []
        [a]
        [a b]
        [a b c]
        [a b c d]
        [a b c d e]
        [a b c d e f]
        [a b c d e f g]
        [a b c d e f g h]
        [a b c d e f g h i]
        [a b c d e f g h i j]
        [a b c d e f g h i j k]
        [a b c d e f g h i j k l]
        [a b c d e f g h i j k l m]
        [a b c d e f g h i j k l m n]
        [a b c d e f g h i j k l m n o]
        [a b c d e f g h i j k l m n o p]
    }
}
