//! What hosts of plugins, and plugins over somebody's driver, have in common: opening a library, and reading answers
//! whose size is asked for first, as OpenCL and Unified Runtime give them.

use core::ffi::c_void;
use std::path::Path;

#[cfg(not(unix))]
pub use libloading::Library;
#[cfg(unix)]
pub use libloading::os::unix::Library;

/// Opens a library with all its symbols resolved, so that what is missing shows now and not in the middle of a
/// launch, and keeps its symbols to itself.
///
/// # Errors
///
/// The system's, if the library or a symbol that it needs is missing.
///
/// # Safety
///
/// The library's initialisers must be sound.
pub unsafe fn open_resolved(path: &Path) -> Result<Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{RTLD_LOCAL, RTLD_NOW};
        // SAFETY: by the caller's promise.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
    }
    #[cfg(not(unix))]
    // SAFETY: by the caller's promise.
    unsafe {
        Library::new(path)
    }
}

/// The bytes of an answer: `query` is called for their number, and then for so many. It takes a size in bytes, where to
/// write, and where the number goes.
///
/// # Errors
///
/// Those of `query`.
pub fn answer<E>(query: impl Fn(usize, *mut c_void, *mut usize) -> Result<(), E>) -> Result<Vec<u8>, E> {
    let mut size = 0;
    query(0, core::ptr::null_mut(), &raw mut size)?;
    let mut bytes = vec![0u8; size];
    if size > 0 {
        query(size, bytes.as_mut_ptr().cast(), core::ptr::null_mut())?;
    }
    Ok(bytes)
}

/// The text of an answer, up to its first NUL.
#[must_use]
pub fn text(mut bytes: Vec<u8>) -> String {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first words of an answer as numbers; what is left at the end is left out.
pub fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}
