//! What is written before an instruction that it replaces.

use std::ffi::c_uint;

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::{LLVMBuilderRef, LLVMContextRef, LLVMTypeRef, LLVMValueRef};
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::module::Module;

/// Writes instructions.
///
/// Its methods are safe where the values that they are given belong to the module, which it is made for and which
/// is alive as long as a pass over it: every pass keeps it so.
pub(super) struct Builder {
    pub(super) raw: LLVMBuilderRef,
    pub(super) context: LLVMContextRef,
}

impl Builder {
    pub(super) fn new(module: &Module) -> Self {
        let context = module.context_raw();
        Self {
            // SAFETY: the context is alive.
            raw: unsafe { LLVMCreateBuilderInContext(context) },
            context,
        }
    }

    /// Writes before an instruction from now on, for the same place of the source.
    pub(super) unsafe fn before(&self, instruction: LLVMValueRef) {
        // SAFETY: both are alive.
        unsafe {
            LLVMPositionBuilderBefore(self.raw, instruction);
            LLVMSetCurrentDebugLocation2(self.raw, LLVMInstructionGetDebugLoc(instruction));
        }
    }

    pub(super) unsafe fn binary(
        &self,
        opcode: LLVMOpcode,
        left: LLVMValueRef,
        right: LLVMValueRef,
    ) -> LLVMValueRef {
        // SAFETY: two values of one type, which the operation is for.
        unsafe { LLVMBuildBinOp(self.raw, opcode, left, right, c"".as_ptr()) }
    }

    /// A conversion; the value itself where its type is that already.
    pub(super) unsafe fn cast(
        &self,
        opcode: LLVMOpcode,
        value: LLVMValueRef,
        to: LLVMTypeRef,
    ) -> LLVMValueRef {
        // SAFETY: a value, and a type that it can be converted to in this way.
        unsafe {
            match LLVMTypeOf(value) == to {
                true => value,
                false => LLVMBuildCast(self.raw, opcode, value, to, c"".as_ptr()),
            }
        }
    }

    /// An integer, or each of a vector's, made as wide as that type says; what is new is zero.
    pub(super) unsafe fn resize(&self, value: LLVMValueRef, to: LLVMTypeRef) -> LLVMValueRef {
        // SAFETY: integers, or vectors of as many.
        unsafe {
            let opcode = match width(LLVMTypeOf(value)) > width(to) {
                true => LLVMOpcode::LLVMTrunc,
                false => LLVMOpcode::LLVMZExt,
            };
            self.cast(opcode, value, to)
        }
    }

    pub(super) fn integer(&self, bits: c_uint) -> LLVMTypeRef {
        // SAFETY: the context is alive.
        unsafe { LLVMIntTypeInContext(self.context, bits) }
    }

    pub(super) unsafe fn extract(&self, vector: LLVMValueRef, index: c_uint) -> LLVMValueRef {
        // SAFETY: a vector with that component.
        unsafe { LLVMBuildExtractElement(self.raw, vector, self.index(index), c"".as_ptr()) }
    }

    pub(super) unsafe fn insert(
        &self,
        vector: LLVMValueRef,
        value: LLVMValueRef,
        index: c_uint,
    ) -> LLVMValueRef {
        // SAFETY: a vector with that component, and a value of its type.
        unsafe { LLVMBuildInsertElement(self.raw, vector, value, self.index(index), c"".as_ptr()) }
    }

    fn index(&self, index: c_uint) -> LLVMValueRef {
        // SAFETY: the context is alive.
        unsafe { LLVMConstInt(LLVMInt32TypeInContext(self.context), index.into(), 0) }
    }

    /// The place so many bytes behind another.
    unsafe fn offset(&self, pointer: LLVMValueRef, bytes: u32) -> LLVMValueRef {
        // SAFETY: a pointer to more than so many bytes.
        unsafe {
            if bytes == 0 {
                return pointer;
            }
            let mut index = LLVMConstInt(LLVMInt64TypeInContext(self.context), bytes.into(), 0);
            let byte = LLVMInt8TypeInContext(self.context);
            LLVMBuildGEP2(self.raw, byte, pointer, &raw mut index, 1, c"".as_ptr())
        }
    }

    /// Loads a piece of what another instruction accesses.
    pub(super) unsafe fn load_piece(
        &self,
        of: LLVMValueRef,
        pointer: LLVMValueRef,
        offset: u32,
        piece: LLVMTypeRef,
    ) -> LLVMValueRef {
        // SAFETY: the instruction loads from the pointer more than so many bytes and the piece.
        unsafe {
            let loaded = LLVMBuildLoad2(self.raw, piece, self.offset(pointer, offset), c"".as_ptr());
            LLVMSetAlignment(loaded, alignment_at(LLVMGetAlignment(of), offset));
            LLVMSetVolatile(loaded, LLVMGetVolatile(of));
            loaded
        }
    }

    /// Stores a piece of what another instruction stores.
    pub(super) unsafe fn store_piece(
        &self,
        of: LLVMValueRef,
        pointer: LLVMValueRef,
        offset: u32,
        piece: LLVMValueRef,
    ) {
        // SAFETY: the instruction stores to the pointer more than so many bytes and the piece.
        unsafe {
            let stored = LLVMBuildStore(self.raw, piece, self.offset(pointer, offset));
            LLVMSetAlignment(stored, alignment_at(LLVMGetAlignment(of), offset));
            LLVMSetVolatile(stored, LLVMGetVolatile(of));
        }
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: the builder is ours.
        unsafe { LLVMDisposeBuilder(self.raw) }
    }
}

/// What is known of the alignment so many bytes behind a place of known alignment.
pub(super) fn alignment_at(alignment: c_uint, offset: u32) -> c_uint {
    match offset {
        0 => alignment,
        offset => alignment.min(1 << offset.trailing_zeros()),
    }
}

/// How many components a vector has; none for anything else.
pub(super) unsafe fn components(of: LLVMTypeRef) -> Option<c_uint> {
    // SAFETY: a type that is alive.
    unsafe { (LLVMGetTypeKind(of) == LLVMTypeKind::LLVMVectorTypeKind).then(|| LLVMGetVectorSize(of)) }
}

/// The type of a vector's components, or the type itself.
pub(super) unsafe fn scalar(of: LLVMTypeRef) -> LLVMTypeRef {
    // SAFETY: a type that is alive.
    unsafe {
        match components(of) {
            Some(_) => LLVMGetElementType(of),
            None => of,
        }
    }
}

/// How many bits an integer or each of a vector of such has; 0 for anything else.
pub(super) unsafe fn width(of: LLVMTypeRef) -> c_uint {
    // SAFETY: a type that is alive.
    unsafe {
        let scalar = scalar(of);
        match LLVMGetTypeKind(scalar) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(scalar),
            _ => 0,
        }
    }
}

/// The same type with other components, as many.
pub(super) unsafe fn with_scalar(of: LLVMTypeRef, scalar: LLVMTypeRef) -> LLVMTypeRef {
    // SAFETY: types that are alive.
    unsafe {
        match components(of) {
            Some(count) => LLVMVectorType(scalar, count),
            None => scalar,
        }
    }
}
