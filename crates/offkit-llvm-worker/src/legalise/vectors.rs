//! Vectors of other sizes than 2, 3, 4, 8 and 16, which the optimiser makes: of `half8.even` a load of seven
//! components, of which every other is taken.
//!
//! The back end writes types for them that SPIR-V does not have. Here they are loaded and stored component by component,
//! and what is taken out of them is taken out of a vector of the next larger size.

use std::ffi::{c_int, c_uint};

use llvm_sys::LLVMOpcode as Op;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMSizeOfTypeInBits, LLVMTargetDataRef};

use super::builder::{Builder, components};
use crate::module::Module;

/// Has such vectors loaded and stored component by component.
pub(super) fn widen(module: &Module) {
    let pass = Pass {
        builder: Builder::new(module),
        // SAFETY: the module is alive, and owns the layout.
        layout: unsafe { LLVMGetModuleDataLayout(module.as_raw()) },
    };
    for function in module.globals().filter(|global| global.is_function()) {
        let all = |opcode| -> Vec<LLVMValueRef> {
            // SAFETY: the instructions are alive with their module.
            let is_one =
                |instruction: &LLVMValueRef| unsafe { LLVMGetInstructionOpcode(*instruction) == opcode };
            function.instructions().filter(is_one).collect()
        };
        // SAFETY: a load removes itself and what takes components out of it, a store itself: no other one of its list.
        unsafe {
            for load in all(Op::LLVMLoad) {
                pass.load(load);
            }
            for store in all(Op::LLVMStore) {
                pass.store(store);
            }
        }
    }
}

/// The next larger size that SPIR-V has, if it does not have this one.
fn larger(count: c_uint) -> Option<c_uint> {
    match count {
        5..=7 => Some(8),
        9..=15 => Some(16),
        _ => None,
    }
}

struct Pass {
    builder: Builder,
    layout: LLVMTargetDataRef,
}

// SAFETY of the functions below: all values and types are those of a module which is alive, and each question is asked
// of a value of the kind it is for.
impl Pass {
    /// The number of components, the next larger one, and the size of a component in bytes.
    unsafe fn shape(&self, of: LLVMTypeRef) -> Option<(c_uint, c_uint, u32)> {
        // SAFETY: see above.
        unsafe {
            let count = components(of)?;
            let larger = larger(count)?;
            let bits = LLVMSizeOfTypeInBits(self.layout, LLVMGetElementType(of));
            let is_whole = bits.is_multiple_of(8);
            is_whole.then_some((count, larger, u32::try_from(bits / 8).ok()?))
        }
    }

    unsafe fn load(&self, load: LLVMValueRef) {
        // SAFETY: see above.
        unsafe {
            let of = LLVMTypeOf(load);
            let Some((count, larger, bytes)) = self.shape(of) else {
                return;
            };
            self.builder.before(load);
            let (pointer, element) = (LLVMGetOperand(load, 0), LLVMGetElementType(of));
            let nothing = LLVMGetPoison(LLVMVectorType(element, larger));
            let loaded = (0..count).fold(nothing, |vector, index| {
                let component = self.builder.load_piece(load, pointer, index * bytes, element);
                self.builder.insert(vector, component, index)
            });
            for user in users(load) {
                self.builder.before(user);
                let operand = |index| LLVMGetOperand(user, index);
                let replacement = match LLVMGetInstructionOpcode(user) {
                    Op::LLVMExtractElement => {
                        LLVMBuildExtractElement(self.builder.raw, loaded, operand(1), c"".as_ptr())
                    }
                    Op::LLVMShuffleVector if operand(0) == load && LLVMIsUndef(operand(1)) != 0 => {
                        let count = c_int::try_from(count).unwrap_or_default();
                        let mask: Vec<_> = (mask(user).into_iter())
                            .map(|index| (0..count).contains(&index).then_some(index))
                            .collect();
                        self.shuffled(loaded, &mask)
                    }
                    _ => continue,
                };
                LLVMReplaceAllUsesWith(user, replacement);
                LLVMInstructionEraseFromParent(user);
            }
            if !LLVMGetFirstUse(load).is_null() {
                // Somebody works on all of it.
                self.builder.before(load);
                let mask: Vec<_> = (0..count).map(|index| c_int::try_from(index).ok()).collect();
                LLVMReplaceAllUsesWith(load, self.shuffled(loaded, &mask));
            }
            LLVMInstructionEraseFromParent(load);
        }
    }

    unsafe fn store(&self, store: LLVMValueRef) {
        // SAFETY: see above.
        unsafe {
            let (value, pointer) = (LLVMGetOperand(store, 0), LLVMGetOperand(store, 1));
            let Some((count, _, bytes)) = self.shape(LLVMTypeOf(value)) else {
                return;
            };
            self.builder.before(store);
            for index in 0..count {
                if let Some(component) = self.component(value, index) {
                    self.builder.store_piece(store, pointer, index * bytes, component);
                }
            }
            LLVMInstructionEraseFromParent(store);
        }
    }

    /// A component of a vector, taken from where it was before it came into it; `None` for one without a value.
    unsafe fn component(&self, vector: LLVMValueRef, index: c_uint) -> Option<LLVMValueRef> {
        // SAFETY: see above.
        unsafe {
            if LLVMIsUndef(vector) != 0 {
                return None;
            }
            if !LLVMIsAShuffleVectorInst(vector).is_null() {
                let from = *mask(vector).get(index as usize)?;
                let from = c_uint::try_from(from).ok()?;
                let first = LLVMGetOperand(vector, 0);
                let count = components(LLVMTypeOf(first))?;
                return match from.checked_sub(count) {
                    None => self.component(first, from),
                    Some(from) => self.component(LLVMGetOperand(vector, 1), from),
                };
            }
            if !LLVMIsAInsertElementInst(vector).is_null() {
                let place = LLVMGetOperand(vector, 2);
                if !LLVMIsAConstantInt(place).is_null() {
                    return match LLVMConstIntGetZExtValue(place) == u64::from(index) {
                        true => Some(LLVMGetOperand(vector, 1)),
                        false => self.component(LLVMGetOperand(vector, 0), index),
                    };
                }
            }
            Some(self.builder.extract(vector, index))
        }
    }

    unsafe fn shuffled(&self, vector: LLVMValueRef, mask: &[Option<c_int>]) -> LLVMValueRef {
        // SAFETY: see above.
        unsafe {
            let number = LLVMInt32TypeInContext(self.builder.context);
            let constant = |index: &Option<c_int>| match index {
                Some(index) => LLVMConstInt(number, (*index).unsigned_abs().into(), 0),
                None => LLVMGetPoison(number),
            };
            let mut mask: Vec<_> = mask.iter().map(constant).collect();
            let mask = LLVMConstVector(
                mask.as_mut_ptr(),
                c_uint::try_from(mask.len()).unwrap_or_default(),
            );
            let nothing = LLVMGetPoison(LLVMTypeOf(vector));
            LLVMBuildShuffleVector(self.builder.raw, vector, nothing, mask, c"".as_ptr())
        }
    }
}

unsafe fn mask(shuffle: LLVMValueRef) -> Vec<c_int> {
    // SAFETY: a shuffle that is alive.
    unsafe {
        let count = LLVMGetNumMaskElements(shuffle);
        (0..count).map(|index| LLVMGetMaskValue(shuffle, index)).collect()
    }
}

unsafe fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut users = Vec::new();
    // SAFETY: a value that is alive, and its uses with it.
    unsafe {
        let mut next = LLVMGetFirstUse(value);
        while !next.is_null() {
            let user = LLVMGetUser(next);
            // One that uses it twice is listed once: the first time it is replaced, and gone.
            if !users.contains(&user) {
                users.push(user);
            }
            next = LLVMGetNextUse(next);
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    #[test]
    fn no_such_vector_is_left() {
        let text = "define void @f(ptr %p, ptr %q) {
           %a = load <7 x half>, ptr %p, align 16
           %e = shufflevector <7 x half> %a, <7 x half> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
           store <4 x half> %e, ptr %q, align 8
           %s = extractelement <7 x half> %a, i32 3
           store half %s, ptr %q
           %i = load <3 x i32>, ptr %p, align 16
           %w = shufflevector <3 x i32> %i, <3 x i32> <i32 7, i32 poison, i32 poison>, <5 x i32> <i32 2, i32 0, i32 3, i32 poison, i32 1>
           store <5 x i32> %w, ptr %q, align 4
           ret void
        }";
        let module = Module::parse_text(&Context::new(), text).unwrap();
        widen(&module);
        module.verify().unwrap();
        let text = String::from_utf8(module.to_text()).unwrap();
        assert!(
            !text.contains("<7 x half>") && !text.contains("store <5"),
            "{text}"
        );
        // Of the twelve bytes behind the third number, nothing is written.
        assert_eq!(text.matches("store i32").count(), 4, "{text}");
        assert!(text.contains("store i32 7"), "{text}");
    }
}
