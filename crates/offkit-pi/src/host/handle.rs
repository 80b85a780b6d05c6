//! Handles that release themselves, and the protocol of info queries.

use super::plugin::{Plugin, call};
use super::words::Word;
use super::{PiError, Result};
use crate::ffi::*;
use crate::table::{Api, Function, Revision};

/// What the host must do to let go of a handle.
pub trait Handle: Word {
    /// The name of the function that releases it.
    const RELEASE: Revision;

    /// The function that releases it; `None` for objects that live as long as the plugin.
    fn release(api: &Api) -> Option<unsafe extern "C" fn(Self) -> pi_result>;
}

macro_rules! released_by {
    ($($handle:ident: $release:ident,)*) => {$(
        impl Handle for $handle {
            const RELEASE: Revision = Revision::$release;

            fn release(api: &Api) -> Option<unsafe extern "C" fn(Self) -> pi_result> {
                api.$release
            }
        }
    )*};
}

released_by! {
    pi_device: piDeviceRelease,
    pi_context: piContextRelease,
    pi_queue: piQueueRelease,
    pi_mem: piMemRelease,
    pi_program: piProgramRelease,
    pi_kernel: piKernelRelease,
    pi_event: piEventRelease,
}

/// A handle the host holds a reference to, for calls that the objects of this module do not cover.
pub struct Owned<H: Handle> {
    plugin: Plugin,
    handle: H,
}

// SAFETY: objects of the interface belong to no thread, and their functions may be called from several
// threads at once, except for setting the arguments of one kernel, for which `Kernel` demands `&mut`.
unsafe impl<H: Handle> Send for Owned<H> {}
// SAFETY: as above.
unsafe impl<H: Handle> Sync for Owned<H> {}

impl<H: Handle> Owned<H> {
    /// Takes over a reference.
    ///
    /// # Safety
    ///
    /// `handle` must be valid, and its reference not be released by anyone else.
    pub unsafe fn new(plugin: Plugin, handle: H) -> Self {
        Owned { plugin, handle }
    }

    /// The handle.
    pub fn raw(&self) -> H {
        self.handle
    }

    /// The plugin it is of.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }
}

impl Owned<pi_event> {
    /// Another reference to the event.
    pub(crate) fn try_clone(&self) -> Result<Self> {
        // SAFETY: the handle is valid; the reference is the new owner's.
        unsafe {
            call!(self.plugin, piEventRetain(self.handle))?;
            Ok(Owned::new(self.plugin.clone(), self.handle))
        }
    }
}

impl<H: Handle + core::fmt::Debug> core::fmt::Debug for Owned<H> {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.handle.fmt(formatter)
    }
}

impl<H: Handle> Drop for Owned<H> {
    fn drop(&mut self) {
        if let Some(release) = H::release(self.plugin.api()) {
            // SAFETY: the handle is valid, and this is the reference taken over in `new`.
            if let Err(error) = unsafe { self.plugin.call(H::RELEASE, release, (self.handle,)) } {
                tracing::warn!(plugin = self.plugin.name(), %error, "releasing an object failed");
            }
        }
    }
}

/// Room for any number. Plugins of 15.47 say 4 bytes for some bit sets, and write 8.
const ROOM: usize = 8;

/// The value of an info query: asks for the size, then for exactly that much, which is what every plugin
/// accepts.
///
/// `get` is called with the arguments `param_value_size`, `param_value` and `param_value_size_ret`.
pub(crate) fn query(
    mut get: impl FnMut(usize, *mut core::ffi::c_void, *mut usize) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut size = 0;
    get(0, core::ptr::null_mut(), &raw mut size)?;
    let mut value = vec![0; size.max(ROOM)];
    if size > 0 {
        get(size, value.as_mut_ptr().cast(), core::ptr::null_mut())?;
    }
    value.truncate(size);
    Ok(value)
}

/// The value of an info query that is known to have so many bytes.
pub(crate) fn query_of_size(
    size: usize,
    get: impl FnOnce(usize, *mut core::ffi::c_void, *mut usize) -> Result<()>,
) -> Result<Vec<u8>> {
    // There is a place for the size, but what plugins write there is not looked at: some write
    // nothing, and others another number.
    let (mut value, mut found) = (vec![0; size.max(ROOM)], size);
    get(size, value.as_mut_ptr().cast(), &raw mut found)?;
    value.truncate(size);
    Ok(value)
}

/// Text of an info query, without the NUL at its end.
pub(crate) fn text(mut value: Vec<u8>) -> String {
    while value.last() == Some(&0) {
        value.pop();
    }
    String::from_utf8_lossy(&value).into_owned()
}

/// An integer of an info query. Plugins do not all agree with the specification (or with each other) on
/// whether a size is 4 or 8 bytes wide, so either is taken.
pub(crate) fn integer(function: Function, value: &[u8]) -> Result<u64> {
    match *value {
        // A `bool` of 15.47.
        [byte] => Ok(byte.into()),
        [a, b, c, d] => Ok(u32::from_ne_bytes([a, b, c, d]).into()),
        [a, b, c, d, e, f, g, h] => Ok(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(unexpected_size(function, value.len(), "1, 4 or 8")),
    }
}

/// A list of sizes of an info query.
pub(crate) fn sizes<const N: usize>(function: Function, value: &[u8]) -> Result<[usize; N]> {
    let (words, rest) = value.as_chunks::<{ size_of::<usize>() }>();
    let found: Vec<usize> = words.iter().map(|word| usize::from_ne_bytes(*word)).collect();
    match <[usize; N]>::try_from(found) {
        Ok(sizes) if rest.is_empty() => Ok(sizes),
        _ => Err(unexpected_size(
            function,
            value.len(),
            &(N * size_of::<usize>()).to_string(),
        )),
    }
}

fn unexpected_size(function: Function, found: usize, expected: &str) -> PiError {
    PiError::refused(
        function,
        PI_INVALID_VALUE,
        format!("the answer has {found} bytes, expected {expected}"),
    )
}
