//! Making a module fit for splitting.
//!
//! LLVM's linker, which takes parts out of modules (see [`crate::split`]), always brings along what
//! `llvm.used` names and all of the named metadata. So before a module is split, whatever lists kernels in
//! these is taken out of it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use llvm_sys::core::{
    LLVMAddGlobalInAddressSpace, LLVMArrayType2, LLVMConstArray2, LLVMDeleteGlobal, LLVMGetInitializer,
    LLVMGetNamedGlobal, LLVMGetNumOperands, LLVMGetOperand, LLVMPrintModuleToString, LLVMSetInitializer,
    LLVMSetLinkage, LLVMSetSection, LLVMTypeOf,
};
use llvm_sys::prelude::LLVMValueRef;
use llvm_sys::{LLVMLinkage, LLVMOpcode};
use offkit_image::Family;
use offkit_llvm::ModuleSummary;

use crate::Error;
use crate::context::{Context, take_message};
use crate::describe::{describe, variable_attributes};
use crate::module::{Module, value_name};

/// Named metadata that lists kernels. Each part gets what is left of it.
const LISTS_OF_KERNELS: [&str; 2] = ["spirv.ExecutionMode", "sycl_registered_kernels"];

/// The attribute of SYCL's device globals.
const DEVICE_GLOBAL: &str = "sycl-device-global-size";

/// Reads a module, text or bitcode, describes it as it was, and writes it fit for splitting.
///
/// # Errors
///
/// The module cannot be read or is not well formed; the output cannot be written.
pub fn prepare(context: &Context, input: &Path, output: &Path) -> Result<ModuleSummary, Error> {
    let module = Module::read(context, input)?;
    module
        .verify()
        .map_err(|error| Error::new(format!("{}: {error}", input.display())))?;
    let mut summary = describe(&module);
    let lists_kernels = |name: &String| LISTS_OF_KERNELS.contains(&name.as_str());
    if summary.named_metadata.keys().any(lists_kernels) {
        // Types keep their names in a context of their own.
        let context = Context::new();
        write_prepared(
            &without_lists_of_kernels(&context, &module)?,
            output,
            &mut summary,
        )?;
    } else {
        write_prepared(&module, output, &mut summary)?;
    }
    Ok(summary)
}

/// Writes the module, its lists of what is used cut down, which is changed in the summary too, to which the
/// attributes of variables are added.
fn write_prepared(module: &Module<'_>, output: &Path, summary: &mut ModuleSummary) -> Result<(), Error> {
    remove_used(module);
    module.write(output)?;
    // What was only kept for these lists needs nothing.
    let lists = (summary.variables.iter_mut()).filter(|variable| variable.name == "llvm.used");
    lists.for_each(|list| list.uses.clear());

    if !summary.variables.is_empty() {
        let mut attributes = variable_attributes(&Module::open(&Context::new(), output)?);
        for variable in &mut summary.variables {
            variable.attributes = attributes.remove(&variable.name).unwrap_or_default();
        }
        let first = summary.functions.len() as u32;
        let device_globals: HashMap<&str, u32> = (summary.variables.iter().zip(first..))
            .filter(|(variable, _)| variable.attributes.contains_key(DEVICE_GLOBAL))
            .map(|(variable, number)| (variable.name.as_str(), number))
            .collect();
        if Family::of(&summary.triple).is_written_as_spirv()
            && keep_used_by_compiler(module, |name| !device_globals.contains_key(name))
        {
            module.write(output)?;
            let removed: HashSet<u32> = device_globals.into_values().collect();
            let lists =
                (summary.variables.iter_mut()).filter(|variable| variable.name == "llvm.compiler.used");
            lists.for_each(|list| list.uses.retain(|symbol| !removed.contains(symbol)));
        }
    }
    Ok(())
}

/// The module without the named metadata that lists kernels. LLVM's C interface cannot remove any, so this
/// goes through the text form, where each is a line.
fn without_lists_of_kernels<'context>(
    context: &'context Context,
    module: &Module<'_>,
) -> Result<Module<'context>, Error> {
    // SAFETY: the module is alive, and the text is ours to free.
    let text = unsafe { take_message(LLVMPrintModuleToString(module.as_raw())) };
    let is_list = |line: &&str| {
        (line.strip_prefix('!').and_then(|line| line.split_once(" = ")))
            .is_some_and(|(name, _)| LISTS_OF_KERNELS.contains(&name))
    };
    let mut kept = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !is_list(line)) {
        kept.push_str(line);
        kept.push('\n');
    }
    Module::parse_text(context, &kept)
}

/// Removes `llvm.used`.
fn remove_used(module: &Module<'_>) {
    // SAFETY: the module is alive; nothing can refer to the variable, which LLVM reserves.
    unsafe {
        let used = LLVMGetNamedGlobal(module.as_raw(), c"llvm.used".as_ptr());
        if !used.is_null() {
            LLVMDeleteGlobal(used);
        }
    }
}

/// Removes from `llvm.compiler.used` what is not to be kept; tells whether there was any.
fn keep_used_by_compiler(module: &Module<'_>, keep: impl Fn(&str) -> bool) -> bool {
    // SAFETY: the module is alive; nothing can refer to the variable, which LLVM reserves, and its
    // initializer is an array of constants, alive with the context.
    unsafe {
        let name = c"llvm.compiler.used";
        let used = LLVMGetNamedGlobal(module.as_raw(), name.as_ptr());
        if used.is_null() {
            return false;
        }
        let list = LLVMGetInitializer(used);
        if list.is_null() {
            return false;
        }
        let count = LLVMGetNumOperands(list).max(0).cast_unsigned();
        let entries: Vec<_> = (0..count).map(|index| LLVMGetOperand(list, index)).collect();
        let mut kept: Vec<_> = (entries.iter().copied())
            .filter(|&entry| keep(&value_name(without_casts(entry))))
            .collect();
        if kept.len() == entries.len() {
            return false;
        }
        LLVMDeleteGlobal(used);
        if let Some(&first) = kept.first() {
            let element = LLVMTypeOf(first);
            let array = LLVMArrayType2(element, kept.len() as u64);
            let used = LLVMAddGlobalInAddressSpace(module.as_raw(), array, name.as_ptr(), 0);
            LLVMSetInitializer(
                used,
                LLVMConstArray2(element, kept.as_mut_ptr(), kept.len() as u64),
            );
            LLVMSetLinkage(used, LLVMLinkage::LLVMAppendingLinkage);
            LLVMSetSection(used, c"llvm.metadata".as_ptr());
        }
        true
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
