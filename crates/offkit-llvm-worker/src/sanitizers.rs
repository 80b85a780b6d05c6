//! What sanitizers leave in a module for the tool that splits it.

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use offkit_llvm::{Linkage, sanitizer_of};

use crate::beyond_c::make_device_global;
use crate::module::{Module, value_name};

/// What the runtime calls each list of kernels.
const HOST_NAME: &std::ffi::CStr = c"_Z20__SanitizerKernelMetadata";

/// Variables that say how code was instrumented, of which one for all of a program is enough.
const SETTINGS: [&str; 2] = ["__asan_check_shadow_bounds", "__msan_track_origins"];

/// The calls by which the memory sanitizer reports a value, if its shadow, the first argument, is not 0.
const REPORTS: &str = "__msan_maybe_warning_";

/// Makes the lists of kernels in a module device globals, which the runtime reads; whether there are any. All of the
/// module must have been read.
pub(crate) fn prepare(module: &Module) -> bool {
    let lists: Vec<_> = (module.globals())
        .filter(|global| !global.is_function() && !global.is_declaration())
        .filter_map(|global| Some((global, sanitizer_of(&global.name())?)))
        // SAFETY: the variable is alive with its module.
        .filter(|(global, _)| unsafe {
            LLVMGetTypeKind(LLVMGlobalGetValueType(global.as_raw())) == LLVMTypeKind::LLVMArrayTypeKind
        })
        .collect();
    if lists.is_empty() {
        return false;
    }
    let is_memory = lists.iter().any(|(_, sanitizer)| *sanitizer == "msan");
    for (list, _) in lists {
        // SAFETY: it is a variable that the module defines, and not used below.
        unsafe { make_device_global(list.as_raw(), HOST_NAME) };
    }
    for setting in SETTINGS {
        if let Some(variable) = module
            .global(setting)
            .filter(|variable| !variable.is_declaration())
        {
            variable.set_linkage(Linkage::LinkOnce);
        }
    }
    if is_memory {
        for function in module.globals().filter(|global| global.is_function()) {
            for instruction in function.instructions() {
                // SAFETY: the instruction is alive, and nothing uses a call without a result.
                unsafe {
                    if reports_nothing(instruction) {
                        LLVMInstructionEraseFromParent(instruction);
                    }
                }
            }
        }
    }
    true
}

/// Whether an instruction reports a value that is known to be initialised: the optimiser found out after the report was
/// put in.
///
/// # Safety
///
/// The instruction is alive.
unsafe fn reports_nothing(instruction: LLVMValueRef) -> bool {
    // SAFETY: by this function's contract; only calls are asked what they call.
    unsafe {
        if LLVMIsACallInst(instruction).is_null() || LLVMGetNumArgOperands(instruction) == 0 {
            return false;
        }
        let shadow = LLVMGetOperand(instruction, 0);
        !LLVMIsAConstant(shadow).is_null()
            && LLVMIsNull(shadow) != 0
            && value_name(LLVMGetCalledValue(instruction)).starts_with(REPORTS)
    }
}
