//! Passes that need no target.

use std::ffi::{CStr, CString};
use std::ptr;

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
};

use crate::Error;
use crate::module::Module;

/// Drops bodies that are only copies, then what nothing refers to, its debug information and declarations.
const CLEAN_UP: &str = "elim-avail-extern,globaldce,strip-dead-debug-info,strip-dead-prototypes";

/// Drops what the external symbols of the module do not need.
///
/// # Errors
///
/// What LLVM reports.
pub fn clean_up(module: &mut Module<'_>) -> Result<(), Error> {
    run(module, CLEAN_UP)
}

fn run(module: &mut Module<'_>, pipeline: &str) -> Result<(), Error> {
    let pipeline = CString::new(pipeline).unwrap_or_default();
    // SAFETY: the module is alive, the options are ours and freed below, and an error is taken over by the
    // function that reads it.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(module.as_raw(), pipeline.as_ptr(), ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return Ok(());
        }
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(Error::new(text))
    }
}
