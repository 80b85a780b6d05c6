//! What the arguments of a call for a specialization constant lead to.

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;

use super::types::is_composite;
use crate::lists::without_casts;
use crate::module::sized_text;

/// The literal string that a pointer leads to, directly or, in code that is not optimised, through a
/// variable of the function that it was stored to; the store is then to be erased.
pub(super) unsafe fn literal(pointer: LLVMValueRef, erased: &mut Vec<LLVMValueRef>) -> Option<String> {
    // SAFETY: the value is alive, and each question is asked of a value of the kind it is for.
    unsafe {
        let mut value = without_casts(pointer);
        if !LLVMIsALoadInst(value).is_null() {
            let place = LLVMGetOperand(value, 0);
            let mut seen = HashSet::new();
            let mut of_place = LLVMGetFirstUse(place);
            let mut store = None;
            while !of_place.is_null() {
                let user = LLVMGetUser(of_place);
                if seen.insert(user) && !LLVMIsAStoreInst(user).is_null() && LLVMGetOperand(user, 1) == place
                {
                    store = Some(user);
                    break;
                }
                of_place = LLVMGetNextUse(of_place);
            }
            let store = store?;
            value = without_casts(LLVMGetOperand(store, 0));
            erased.push(store);
        }
        let string = initializer(value)?;
        if LLVMIsConstantString(string) == 0 {
            return None;
        }
        let mut length = 0;
        let characters = LLVMGetAsString(string, &raw mut length);
        let name = sized_text(characters, length);
        Some(name.strip_suffix('\0').unwrap_or(&name).to_owned())
    }
}

/// The default value in the variable that a pointer leads to: its first element.
pub(super) unsafe fn default_value(pointer: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: the value is alive; only composites are asked for elements.
    unsafe {
        let initializer = initializer(without_casts(pointer))?;
        let element =
            is_composite(LLVMTypeOf(initializer)).then(|| LLVMGetAggregateElement(initializer, 0))?;
        (!element.is_null()).then_some(element)
    }
}

unsafe fn initializer(variable: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: the value is alive; only variables are asked.
    unsafe {
        if LLVMIsAGlobalVariable(variable).is_null() {
            return None;
        }
        let initializer = LLVMGetInitializer(variable);
        (!initializer.is_null()).then_some(initializer)
    }
}
