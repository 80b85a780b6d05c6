//! Pointers that OpenCL C's `vload4`, `vstore_half` and the like are called with.
//!
//! Where such a pointer is a variable itself, the back end leaves it a pointer to what the variable holds: an array, or
//! numbers of another kind. The function is one for pointers to its own numbers.

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMContextRef, LLVMTypeRef};

use crate::beyond_c::typed_address;
use crate::module::{Module, value_name};

/// Gives such pointers the type that the function wants.
pub(super) fn type_pointers(module: &Module) {
    for function in module.globals().filter(|global| global.is_function()) {
        for instruction in function.instructions() {
            // SAFETY: instructions and operands are alive with their module, and are asked what they are for.
            unsafe {
                if LLVMIsACallInst(instruction).is_null() {
                    continue;
                }
                let called = LLVMGetCalledValue(instruction);
                if LLVMIsAFunction(called).is_null() {
                    continue;
                }
                let Some(element) = accessed(&value_name(called), module.context_raw()) else {
                    continue;
                };
                for index in 0..LLVMGetNumArgOperands(instruction) {
                    let operand = LLVMGetOperand(instruction, index);
                    let kind = LLVMGetTypeKind(LLVMTypeOf(operand));
                    if kind == LLVMTypeKind::LLVMPointerTypeKind && !LLVMIsAConstant(operand).is_null() {
                        LLVMSetOperand(instruction, index, typed_address(instruction, element, operand));
                    }
                }
            }
        }
    }
}

/// The type of the numbers that such a function accesses.
fn accessed(symbol: &str, context: LLVMContextRef) -> Option<LLVMTypeRef> {
    let (name, arguments) = offkit_image::mangled_function(symbol)?;
    if !name.starts_with("vload") && !name.starts_with("vstore") {
        return None;
    }
    // The pointer comes last.
    // SAFETY: the context is alive.
    let number = unsafe {
        match arguments.get(arguments.len().checked_sub(1)?..)? {
            "h" if arguments.ends_with("Dh") => LLVMHalfTypeInContext(context),
            "f" => LLVMFloatTypeInContext(context),
            "d" => LLVMDoubleTypeInContext(context),
            "c" | "h" => LLVMIntTypeInContext(context, 8),
            "s" | "t" => LLVMIntTypeInContext(context, 16),
            "i" | "j" => LLVMIntTypeInContext(context, 32),
            "l" | "m" => LLVMIntTypeInContext(context, 64),
            _ => return None,
        }
    };
    Some(number)
}
