//! Bytes that modules are read from.

use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use llvm_sys::core::*;
use llvm_sys::prelude::LLVMMemoryBufferRef;

use crate::Error;
use crate::context::take_message;

/// Bytes that do not change, with a zero behind them: a file that is mapped, or memory.
///
/// Shared by the modules that are read from it: what they have not read yet is still here.
#[derive(Debug)]
pub struct Buffer {
    raw: LLVMMemoryBufferRef,
}

// SAFETY: the buffer is written to by nobody, and is freed once, by its last owner.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A file, which is mapped if it is large.
    ///
    /// # Errors
    ///
    /// The system's words.
    pub fn file(path: &Path) -> Result<Arc<Self>, Error> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::new("the path holds a zero byte"))?;
        let mut raw = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: the path is valid through the call; the message is ours to free.
        unsafe {
            let failed =
                LLVMCreateMemoryBufferWithContentsOfFile(name.as_ptr(), &raw mut raw, &raw mut message) != 0;
            let message = take_message(message);
            if failed {
                return Err(Error::new(message));
            }
        }
        // SAFETY: a file's buffer has a zero behind it, and is ours.
        Ok(unsafe { Self::from_raw(raw) })
    }

    /// A copy of these bytes.
    pub fn copy(bytes: &[u8]) -> Arc<Self> {
        // SAFETY: as many bytes as the length says are copied, and a zero is put behind them; the name lives through
        // the call, which copies it.
        unsafe {
            let start = bytes.as_ptr().cast::<c_char>();
            Self::from_raw(LLVMCreateMemoryBufferWithMemoryRangeCopy(
                start,
                bytes.len(),
                c"memory".as_ptr(),
            ))
        }
    }

    /// Takes over a buffer of LLVM's.
    ///
    /// # Safety
    ///
    /// The buffer is alive, nobody else's, has a zero behind it, and nobody writes to it.
    pub(crate) unsafe fn from_raw(raw: LLVMMemoryBufferRef) -> Arc<Self> {
        Arc::new(Self { raw })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer is alive as long as the borrow, does not change, and has as many bytes as it says.
        unsafe {
            std::slice::from_raw_parts(LLVMGetBufferStart(self.raw).cast(), LLVMGetBufferSize(self.raw))
        }
    }

    /// A buffer of LLVM's that shows these bytes under a name.
    ///
    /// It must not be used after this one is freed; it is the caller's to give on or to free.
    pub(crate) fn view(&self, name: &str) -> LLVMMemoryBufferRef {
        let name = CString::new(name).unwrap_or_default();
        let bytes = self.bytes();
        // SAFETY: bytes with a zero behind them, as every buffer here has; the name lives through the call, which
        // copies it.
        unsafe { LLVMCreateMemoryBufferWithMemoryRange(bytes.as_ptr().cast(), bytes.len(), name.as_ptr(), 1) }
    }

    /// Whether it begins as bitcode does, by itself or in a wrapper.
    pub fn is_bitcode(&self) -> bool {
        self.bytes().starts_with(b"BC\xC0\xDE") || self.bytes().starts_with(b"\xDE\xC0\x17\x0B")
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the buffer is ours; whoever reads from it owns a share of it.
        unsafe { LLVMDisposeMemoryBuffer(self.raw) }
    }
}
