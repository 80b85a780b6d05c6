//! Types of specialization constants, and their names.

use std::ffi::c_uint;

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMTypeRef;

use crate::Error;
use crate::module::text;

pub(super) unsafe fn is_integer(tested: LLVMTypeRef, width: c_uint) -> bool {
    // SAFETY: the type is alive; only integers are asked for their width.
    unsafe {
        LLVMGetTypeKind(tested) == LLVMTypeKind::LLVMIntegerTypeKind && LLVMGetIntTypeWidth(tested) == width
    }
}

pub(super) unsafe fn is_composite(tested: LLVMTypeRef) -> bool {
    // SAFETY: the type is alive.
    let kind = unsafe { LLVMGetTypeKind(tested) };
    matches!(
        kind,
        LLVMTypeKind::LLVMStructTypeKind | LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind
    )
}

/// A type as the names of the functions have it, which is not quite C++'s way.
pub(super) unsafe fn mangled(named: LLVMTypeRef) -> Result<String, Error> {
    // SAFETY: the type is alive, and each question is asked of a type of the kind it is for.
    unsafe {
        let of_element = |prefix: String| Ok(format!("{prefix}{}", mangled(LLVMGetElementType(named))?));
        Ok(match LLVMGetTypeKind(named) {
            LLVMTypeKind::LLVMHalfTypeKind => "Dh".into(),
            LLVMTypeKind::LLVMFloatTypeKind => "f".into(),
            LLVMTypeKind::LLVMDoubleTypeKind => "d".into(),
            LLVMTypeKind::LLVMIntegerTypeKind => match LLVMGetIntTypeWidth(named) {
                1 => "b".into(),
                8 => "a".into(),
                16 => "s".into(),
                32 => "i".into(),
                64 => "x".into(),
                width => {
                    return Err(Error::new(format!(
                        "a specialization constant cannot be an integer of {width} bits"
                    )));
                }
            },
            LLVMTypeKind::LLVMStructTypeKind => {
                let name = text(LLVMGetStructName(named));
                if !name.is_empty() {
                    return Ok(name);
                }
                // By what is in it: others without a name are other types.
                let count = LLVMCountStructElementTypes(named);
                let packed = if LLVMIsPackedStruct(named) == 0 { "" } else { "P" };
                let mut name = format!("S{packed}{count}_");
                for index in 0..count {
                    name.push_str(&mangled(LLVMStructGetTypeAtIndex(named, index))?);
                }
                name
            }
            LLVMTypeKind::LLVMArrayTypeKind => {
                return of_element(format!("A{}_", LLVMGetArrayLength2(named)));
            }
            LLVMTypeKind::LLVMVectorTypeKind => {
                return of_element(format!("Dv{}_", LLVMGetVectorSize(named)));
            }
            _ => return Err(Error::new("a specialization constant cannot be of this type")),
        })
    }
}
