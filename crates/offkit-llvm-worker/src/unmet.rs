//! Which kernel needs more of SPIR-V than its target takes, and for what: found out by trying parts of the code.

use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use offkit_llvm::Place;

use crate::diagnostics::place;
use crate::module::{Module, value_name};

/// A function that is called and not defined, and where it is called first.
pub(crate) type Called = (String, Place);

/// The functions that a module calls and does not define.
pub(crate) fn called(module: &Module) -> Vec<Called> {
    let mut called: Vec<Called> = Vec::new();
    for (call, name) in calls(module) {
        if !called.iter().any(|(known, _)| *known == name) {
            // SAFETY: the instruction is alive with its module.
            called.push((name, unsafe { place(call) }));
        }
    }
    called
}

/// Removes the calls of all of them but one.
pub(crate) fn keep_calls_of(module: &Module, kept: &str) {
    for (call, name) in calls(module) {
        if name != kept {
            // SAFETY: the instruction is alive, and nothing uses it any more when it is removed.
            unsafe {
                LLVMReplaceAllUsesWith(call, LLVMGetPoison(LLVMTypeOf(call)));
                LLVMInstructionEraseFromParent(call);
            }
        }
    }
}

fn calls(module: &Module) -> Vec<(LLVMValueRef, String)> {
    let mut calls = Vec::new();
    for function in module.globals().filter(|global| global.is_function()) {
        for instruction in function.instructions() {
            // SAFETY: instructions are alive with their module, and are asked what they are for.
            unsafe {
                if LLVMIsACallInst(instruction).is_null() {
                    continue;
                }
                let callee = LLVMGetCalledValue(instruction);
                if LLVMIsAFunction(callee).is_null() || LLVMIsDeclaration(callee) == 0 {
                    continue;
                }
                let name = value_name(callee);
                if !name.starts_with("llvm.") {
                    calls.push((instruction, name));
                }
            }
        }
    }
    calls
}
