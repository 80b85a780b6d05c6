//! An LLVM context and what it reports.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::io::Write;
use std::rc::Rc;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMContextRef, LLVMDiagnosticInfoRef};

use offkit_llvm::Severity;

use crate::Error;
use crate::beyond_c::{DiagnosticText, diagnostic_text};

/// The world that modules, types and metadata live in.
///
/// A handle: copies of it are the same context, which lives as long as any of them. A module has one.
#[derive(Clone, Debug)]
pub struct Context(Rc<Inner>);

/// Something that LLVM reported.
#[derive(Clone, Debug)]
pub(crate) struct Reported {
    pub(crate) severity: Severity,
    pub(crate) text: DiagnosticText,
}

#[derive(Debug)]
struct Inner {
    raw: LLVMContextRef,
    /// What LLVM reported; it holds the address, which stays: this is in the heap.
    reported: RefCell<Vec<Reported>>,
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
        let mut reported = self.take_reported();
        // Warnings go with it: what they are about does not come to be.
        reported.retain(|reported| reported.severity == Severity::Error);
        let errors: Vec<_> = (reported.into_iter())
            .map(|reported| reported.text.message)
            .collect();
        Error::new(match errors.is_empty() {
            true => otherwise.to_owned(),
            false => errors.join("; "),
        })
    }

    /// What was reported since the last call.
    pub(crate) fn take_reported(&self) -> Vec<Reported> {
        self.0.reported.take()
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
        let severity = match LLVMGetDiagInfoSeverity(info) {
            LLVMDiagnosticSeverity::LLVMDSError => Severity::Error,
            LLVMDiagnosticSeverity::LLVMDSWarning => Severity::Warning,
            LLVMDiagnosticSeverity::LLVMDSRemark => Severity::Remark,
            LLVMDiagnosticSeverity::LLVMDSNote => Severity::Note,
        };
        let Some(text) = diagnostic_text(info) else {
            return;
        };
        if severity == Severity::Error {
            // Who reads it does so only if the process ends without an answer.
            let _ = writeln!(std::io::stderr(), "error: {}", text.message);
        }
        let reported = &*reported.cast::<RefCell<Vec<Reported>>>();
        reported.borrow_mut().push(Reported { severity, text });
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
