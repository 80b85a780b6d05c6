//! Lists in a module that name symbols of all of its parts.
//!
//! LLVM's linker, which takes parts out of modules (see [`crate::split`]), always brings along what
//! `llvm.used` names and all of the named metadata. So before a part is taken out, whatever lists kernels in
//! these goes; what of the metadata concerns the part is given to it afterwards.

use std::collections::HashSet;
use std::ffi::CStr;

use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use llvm_sys::{LLVMLinkage, LLVMOpcode};
use offkit_image::Family;
use offkit_llvm::{Linkage, ModuleSummary};

use crate::beyond_c::remove_named_metadata;
use crate::module::{Global, Module, value_name};

/// Named metadata that lists kernels.
const LISTS_OF_KERNELS: [&CStr; 2] = [c"spirv.ExecutionMode", c"sycl_registered_kernels"];

/// What is to be kept whether or not it is used, by the linker and by the compiler.
const USED: &CStr = c"llvm.used";
const USED_BY_COMPILER: &CStr = c"llvm.compiler.used";

/// The attribute of SYCL's device globals.
pub(crate) const DEVICE_GLOBAL: &str = "sycl-device-global-size";

/// Removes the lists from a module that parts are taken out of.
pub(crate) fn leave_lists(module: &Module) {
    for list in LISTS_OF_KERNELS {
        remove_named_metadata(module, list);
    }
    remove_used(module);
    if keeps_no_device_globals(&module.triple()) {
        let is_device_global = |global: &Global<'_>| global.variable_attributes().contains_key(DEVICE_GLOBAL);
        let names: HashSet<String> = (module.globals())
            .filter(is_device_global)
            .map(|global| global.name())
            .collect();
        if !names.is_empty() {
            keep_used_by_compiler(module, |name| !names.contains(name));
        }
    }
}

/// What was only kept for these lists needs nothing: the same for what is told of a module.
pub(crate) fn leave_lists_of(summary: &mut ModuleSummary) {
    let first = summary.functions.len() as u32;
    let device_globals: HashSet<u32> = (summary.variables.iter().zip(first..))
        // Sanitizers' lists are for the runtime alone.
        .filter(|(variable, _)| {
            variable.attributes.contains_key(DEVICE_GLOBAL) && variable.sanitizer().is_none()
        })
        .map(|(_, number)| number)
        .collect();
    let keeps_none = keeps_no_device_globals(&summary.triple);
    let mut released = HashSet::new();
    for list in &mut summary.variables {
        match list.name.as_bytes() {
            name if name == USED.to_bytes() => list.uses.clear(),
            name if name == USED_BY_COMPILER.to_bytes() && keeps_none => {
                released.extend(list.uses.extract_if(.., |symbol| device_globals.contains(symbol)));
            }
            _ => {}
        }
    }
    if released.is_empty() {
        return;
    }
    // Used by code or by another variable, it stays what it is, as it comes along with its user.
    let functions = summary.functions.iter().flat_map(|function| &function.uses);
    let variables = summary.variables.iter().flat_map(|variable| &variable.uses);
    for used in functions.chain(variables) {
        released.remove(used);
    }
    // However they link: nobody outside knows them by name but a host, which has nothing to tell a variable that no code
    // looks at.
    for (variable, number) in summary.variables.iter_mut().zip(first..) {
        if released.contains(&number) && variable.linkage != Linkage::Internal {
            variable.linkage = Linkage::LinkOnce;
        }
    }
}

/// Whether device globals that nothing uses are dropped.
fn keeps_no_device_globals(triple: &str) -> bool {
    Family::of(triple).is_written_as_spirv()
}

/// Removes `llvm.used`.
fn remove_used(module: &Module) {
    // SAFETY: the module is alive; nothing can refer to the variable, which LLVM reserves.
    unsafe {
        let used = LLVMGetNamedGlobal(module.as_raw(), USED.as_ptr());
        if !used.is_null() {
            LLVMDeleteGlobal(used);
        }
    }
}

/// Removes from `llvm.compiler.used` what is not to be kept.
fn keep_used_by_compiler(module: &Module, keep: impl Fn(&str) -> bool) {
    // SAFETY: the module is alive; nothing can refer to the variable, which LLVM reserves, and its
    // initializer is an array of constants, alive with the context.
    unsafe {
        let used = LLVMGetNamedGlobal(module.as_raw(), USED_BY_COMPILER.as_ptr());
        if used.is_null() {
            return;
        }
        let list = LLVMGetInitializer(used);
        if list.is_null() {
            return;
        }
        let count = LLVMGetNumOperands(list).max(0).cast_unsigned();
        let entries: Vec<_> = (0..count).map(|index| LLVMGetOperand(list, index)).collect();
        let mut kept: Vec<_> = (entries.iter().copied())
            .filter(|&entry| keep(&value_name(without_casts(entry))))
            .collect();
        if kept.len() == entries.len() {
            return;
        }
        // Before there is another: LLVM would give that a name under which nobody looks for it.
        LLVMDeleteGlobal(used);
        if let Some(&first) = kept.first() {
            let element = LLVMTypeOf(first);
            let array = LLVMArrayType2(element, kept.len() as u64);
            let used = LLVMAddGlobalInAddressSpace(module.as_raw(), array, USED_BY_COMPILER.as_ptr(), 0);
            LLVMSetInitializer(
                used,
                LLVMConstArray2(element, kept.as_mut_ptr(), kept.len() as u64),
            );
            LLVMSetLinkage(used, LLVMLinkage::LLVMAppendingLinkage);
            LLVMSetSection(used, c"llvm.metadata".as_ptr());
        }
    }
}

/// What a constant is behind casts between address spaces.
///
/// # Safety
///
/// The value is alive.
pub(crate) unsafe fn without_casts(mut value: LLVMValueRef) -> LLVMValueRef {
    use llvm_sys::core::{LLVMGetConstOpcode, LLVMIsAConstantExpr};
    // SAFETY: by this function's contract; only constant expressions are asked for their kind, and a cast
    // has an operand.
    unsafe {
        while !LLVMIsAConstantExpr(value).is_null()
            && matches!(
                LLVMGetConstOpcode(value),
                LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMGetElementPtr
            )
        {
            value = LLVMGetOperand(value, 0);
        }
    }
    value
}
