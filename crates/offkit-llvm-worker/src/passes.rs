//! Passes that need no target.

use std::ffi::{CStr, CString};
use std::ptr;

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::target_machine::LLVMTargetMachineRef;
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMPassBuilderOptionsRef, LLVMRunPasses,
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
pub fn clean_up(module: &mut Module) -> Result<(), Error> {
    run(module, CLEAN_UP)
}

/// Runs passes that need no target.
///
/// # Errors
///
/// What LLVM reports.
pub(crate) fn run(module: &mut Module, pipeline: &str) -> Result<(), Error> {
    // SAFETY: no machine is used, and no option is set.
    unsafe { run_with(module, pipeline, ptr::null_mut(), |_| {}) }
}

/// Runs passes for a machine, or without one if that is null. `set` changes options.
///
/// # Errors
///
/// What LLVM reports.
///
/// # Safety
///
/// The machine is alive or null, and `set` leaves the options alive.
pub(crate) unsafe fn run_with(
    module: &mut Module,
    pipeline: &str,
    machine: LLVMTargetMachineRef,
    set: impl FnOnce(LLVMPassBuilderOptionsRef),
) -> Result<(), Error> {
    let pipeline = CString::new(pipeline).unwrap_or_default();
    // SAFETY: the module is alive, as is the machine by this function's contract, the options are ours and freed
    // below, and an error is taken over by the function that reads it.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        set(options);
        let error = LLVMRunPasses(module.as_raw(), pipeline.as_ptr(), machine, options);
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
