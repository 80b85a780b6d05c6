//! OpenMP's regions, as clang 22 compiles them for SPIR-V.
//!
//! Parallel regions and reductions are functions that OpenMP's device runtime is given pointers to. SPIR-V has no such
//! pointers, so the runtime is inlined, and then what it calls, before the optimiser has a look: its passes for OpenMP
//! compare the pointers in an address space that is not theirs.
//!
//! clang mixes two calling conventions: functions of the source have that of SPIR; those that it outlines, and some calls
//! of the runtime, have C's. SPIR-V knows no such thing, but to the optimiser a call by another convention than the
//! function's is one that never happens.

use llvm_sys::core::*;
use offkit_llvm::{CallingConvention, Linkage};

use crate::Error;
use crate::module::{C, FUNCTION_ATTRIBUTES, Module, SPIR_FUNCTION};
use crate::passes;

/// What every region begins with.
const BEGIN: &str = "__kmpc_target_init";

/// What keeps functions from being inlined, and is on all of them where nothing is to be optimised.
const NOT_INLINED: [&str; 2] = ["optnone", "noinline"];

/// Inlines the runtime, and calls what was a pointer to a function directly. The second time is for what the runtime
/// calls: the types of parameters have to be brought together first.
const INLINE: &str = "always-inline,function(instcombine<no-verify-fixpoint>),always-inline";

/// Leaves no pointers to functions in regions.
///
/// # Errors
///
/// What LLVM reports.
pub(super) fn inline(module: &mut Module) -> Result<(), Error> {
    if module.global(BEGIN).is_none() {
        return Ok(());
    }
    let functions = module.globals().filter(|global| global.is_function());
    for function in functions.filter(|function| !function.is_declaration()) {
        // SAFETY: the function is alive with its module, and names have so many bytes.
        unsafe {
            let kind = |name: &str| LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            for name in NOT_INLINED {
                LLVMRemoveEnumAttributeAtIndex(function.as_raw(), FUNCTION_ATTRIBUTES, kind(name));
            }
            // As clang does it where it optimises.
            if function.linkage() == Linkage::Internal && LLVMGetFunctionCallConv(function.as_raw()) == C {
                let inlined = LLVMCreateEnumAttribute(module.context_raw(), kind("alwaysinline"), 0);
                LLVMAddAttributeAtIndex(function.as_raw(), FUNCTION_ATTRIBUTES, inlined);
            }
        }
    }
    agree(module);
    passes::run(module, INLINE)
}

/// Gives functions, and calls of them, the convention of SPIR.
fn agree(module: &Module) {
    let functions = || module.globals().filter(|global| global.is_function());
    for function in functions().filter(|function| !function.is_llvms()) {
        // Kernels are known by theirs, and nobody calls one.
        if function.calling_convention() != CallingConvention::Kernel {
            // SAFETY: the function is alive with its module.
            unsafe { LLVMSetFunctionCallConv(function.as_raw(), SPIR_FUNCTION) };
        }
    }
    for instruction in functions().flat_map(|function| function.instructions()) {
        // SAFETY: instructions and what they call are alive with their module, and are asked what they are for.
        unsafe {
            if LLVMIsACallInst(instruction).is_null() {
                continue;
            }
            let called = LLVMGetCalledValue(instruction);
            if LLVMIsAInlineAsm(called).is_null() {
                let convention = match LLVMIsAFunction(called).is_null() {
                    true => SPIR_FUNCTION,
                    false => LLVMGetFunctionCallConv(called),
                };
                LLVMSetInstructionCallConv(instruction, convention);
            }
        }
    }
}
