//! An LLVM context and the errors it reports.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::rc::Rc;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{
    LLVMContextCreate, LLVMContextDispose, LLVMContextSetDiagnosticHandler, LLVMDisposeMessage,
    LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

use crate::Error;

/// The world that modules, types and metadata live in.
///
/// A handle: copies of it are the same context, which lives as long as any of them. A module has one.
#[derive(Clone, Debug)]
pub struct Context(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    raw: LLVMContextRef,
    /// The errors that LLVM reported; it holds the address, which stays: this is in the heap.
    reported: RefCell<Vec<String>>,
}

impl Context {
    /// An empty context.
    pub fn new() -> Self {
        let inner = Rc::new(Inner {
            // SAFETY: creating a context has no conditions.
            raw: unsafe { LLVMContextCreate() },
            reported: RefCell::default(),
        });
        // SAFETY: the context is alive. The handler is given a pointer to what lives as long as the context: both are
        // freed together, the context first.
        unsafe {
            let reported = (&raw const inner.reported).cast_mut().cast();
            LLVMContextSetDiagnosticHandler(inner.raw, Some(report), reported);
        }
        Self(inner)
    }

    pub(crate) fn as_raw(&self) -> LLVMContextRef {
        self.0.raw
    }

    /// Whether both are one context.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The errors reported since the last call, as one error; `otherwise` if there are none.
    pub(crate) fn take_error(&self, otherwise: &str) -> Error {
        let reported = self.0.reported.take();
        Error::new(if reported.is_empty() {
            otherwise.to_owned()
        } else {
            reported.join("; ")
        })
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the context is ours, and each module has a handle, so none is left.
        unsafe { LLVMContextDispose(self.raw) }
    }
}

extern "C" fn report(info: LLVMDiagnosticInfoRef, reported: *mut c_void) {
    // SAFETY: LLVM passes a diagnostic that is valid for the call, and the pointer registered in
    // `Context::new`, which is not borrowed elsewhere while LLVM runs.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let reported = &*reported.cast::<RefCell<Vec<String>>>();
            reported
                .borrow_mut()
                .push(take_message(LLVMGetDiagInfoDescription(info)));
        }
    }
}

/// Copies and frees a message that LLVM allocated; a null one is empty.
///
/// # Safety
///
/// `message` is null or a string that LLVM's C interface returned for the caller to dispose of.
pub(crate) unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: not null, and by this function's contract a C string that is ours to free.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}
