//! Arrays of pointers in private memory.
//!
//! Where a pointer is stored right at the beginning of such an array, the back end takes the variable for one pointer. From
//! an address of its first element, which nothing folds any more, it knows the array.

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};

use crate::module::{Module, value_name};

/// Has all but lifetimes use the address of the first element.
pub(super) fn address_elements(module: &Module) {
    for function in module.globals().filter(|global| global.is_function()) {
        let variables: Vec<_> = function
            .instructions()
            // SAFETY: instructions are alive with their module, and types with its context.
            .filter(|instruction| unsafe {
                !LLVMIsAAllocaInst(*instruction).is_null()
                    && is_of_pointers(LLVMGetAllocatedType(*instruction))
            })
            .collect();
        for variable in variables {
            // SAFETY: the variable is alive with its module, and no terminator.
            unsafe { address_element(module, variable) };
        }
    }
}

/// Whether a type is an array of pointers, or of such arrays.
///
/// # Safety
///
/// The type is alive with its context.
unsafe fn is_of_pointers(mut kind: LLVMTypeRef) -> bool {
    // SAFETY: by this function's contract; only arrays are asked for their elements.
    unsafe {
        let mut is_array = false;
        while LLVMGetTypeKind(kind) == LLVMTypeKind::LLVMArrayTypeKind {
            kind = LLVMGetElementType(kind);
            is_array = true;
        }
        is_array && LLVMGetTypeKind(kind) == LLVMTypeKind::LLVMPointerTypeKind
    }
}

/// # Safety
///
/// The variable is an `alloca` that is alive in the module.
unsafe fn address_element(module: &Module, variable: LLVMValueRef) {
    // SAFETY: by this function's contract; users are instructions, and the builder is ours and freed.
    unsafe {
        let mut users = Vec::new();
        let mut used = LLVMGetFirstUse(variable);
        while !used.is_null() {
            users.push(LLVMGetUser(used));
            used = LLVMGetNextUse(used);
        }
        let context = module.context_raw();
        let zero = LLVMConstNull(LLVMInt64TypeInContext(context));
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(variable));
        let kind = LLVMGetAllocatedType(variable);
        let first = LLVMBuildInBoundsGEP2(builder, kind, variable, [zero; 2].as_mut_ptr(), 2, c"".as_ptr());
        LLVMDisposeBuilder(builder);
        for user in users {
            let called = match LLVMIsACallInst(user).is_null() {
                true => String::new(),
                false => value_name(LLVMGetCalledValue(user)),
            };
            // They are told of variables themselves.
            if called.starts_with("llvm.lifetime.") {
                continue;
            }
            for index in 0..LLVMGetNumOperands(user).cast_unsigned() {
                if LLVMGetOperand(user, index) == variable {
                    LLVMSetOperand(user, index, first);
                }
            }
        }
    }
}
