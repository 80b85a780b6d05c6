//! Taking some symbols and all that they need out of a module.
//!
//! LLVM's linker imports a definition with `linkonce` linkage only if the destination refers to it.
//! So a part is made by opening the module lazily, giving every definition but the wanted ones that
//! linkage, and linking the result into an empty module: only the wanted bodies and what they reach
//! are ever read. Afterwards the wanted symbols are external again and everything else is internal.
//! Compared with cloning the module for every part and deleting the rest, 64 parts of a module of
//! 3,809 functions take a tenth of the time.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;

use llvm_sys::LLVMLinkage;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::{
    LLVMAddAttributeAtIndex, LLVMAddFunction, LLVMAddGlobal, LLVMArrayType2, LLVMConstArray2,
    LLVMCountParams, LLVMCreateStringAttribute, LLVMDeleteFunction, LLVMDeleteGlobal,
    LLVMGetAttributeCountAtIndex, LLVMGetAttributesAtIndex, LLVMGetFunctionCallConv, LLVMGetGlobalParent,
    LLVMGetNamedGlobal, LLVMGetUnnamedAddress, LLVMGetVisibility, LLVMGlobalGetValueType,
    LLVMIsAGlobalVariable, LLVMReplaceAllUsesWith, LLVMSetFunctionCallConv, LLVMSetInitializer,
    LLVMSetUnnamedAddress, LLVMSetValueName2, LLVMSetVisibility, LLVMTypeOf,
};
use offkit_llvm::{Linkage, SplitPart};

use crate::Error;
use crate::describe::refers_to_functions;
use crate::module::{FUNCTION_ATTRIBUTES, Global, Module};

/// The attribute of the functions that a part is made for.
const ENTRY_POINT: &str = "sycl-entry-point";

/// The name of a variable that is there only while a part is taken out.
const ORDER: &CStr = c"offkit.order";

/// Takes `roots`, and what they need except `left_out`, out of a module that was read already, or partly.
///
/// In the result the roots are external, other definitions internal, and what is left out is a
/// copy for the optimiser (`available_externally`) until [`crate::codegen`] turns it into a
/// declaration.
///
/// # Errors
///
/// A root that the module does not define; what [`Module::link`] reports.
pub fn take_part<'context>(
    source: Module<'context>,
    roots: &[String],
    left_out: &[String],
) -> Result<Module<'context>, Error> {
    let roots: HashSet<&str> = roots.iter().map(String::as_str).collect();
    let left_out: HashSet<&str> = left_out.iter().map(String::as_str).collect();

    let mut missing = roots.clone();
    for global in source.globals().filter(|global| !global.is_declaration()) {
        let name = global.name();
        if roots.contains(name.as_str()) {
            missing.remove(name.as_str());
            // Also for a root that was `linkonce`: it is wanted whether or not it is used.
            global.set_linkage(Linkage::External);
        } else if left_out.contains(name.as_str()) {
            global.set_linkage(Linkage::AvailableExternally);
        } else if !matches!(global.linkage(), Linkage::Internal | Linkage::Appending) {
            global.set_linkage(Linkage::LinkOnce);
        }
    }
    if let Some(name) = missing.into_iter().min() {
        return Err(Error::new(format!("no definition of `{name}`")));
    }

    let mut part = Module::like(&source, "part");
    part.link(source)?;
    for global in part.globals().filter(|global| !global.is_declaration()) {
        if global.linkage() == Linkage::LinkOnce {
            global.set_linkage(Linkage::Internal);
        }
    }
    Ok(part)
}

/// Takes the definitions that are listed out of a lazily read module, in the order of the module.
///
/// Unlike [`take_part`], which lets the linker find what is needed, this takes exactly what the list has,
/// and what has no name where it is used. In the result the visible symbols link as they did, others are
/// internal, and what is left out is declared; of its body nothing is read, nor of what that needs.
///
/// # Errors
///
/// What [`Module::link`] reports.
pub fn take_contents<'context>(
    source: Module<'context>,
    part: &SplitPart,
) -> Result<Module<'context>, Error> {
    let set = |names: &'_ [String]| names.iter().cloned().collect::<HashSet<String>>();
    let (contents, left_out) = (set(&part.contents), set(&part.left_out));
    let mut linkages = HashMap::new();
    let mut declared = Vec::new();
    for global in source.globals().filter(|global| !global.is_declaration()) {
        let (name, linkage) = (global.name(), global.raw_linkage());
        if contents.contains(&name) {
            // The linker takes over what is external, used or not, variables first. A table that somebody in
            // the part uses comes along anyway, behind the list of functions.
            let waits = !global.is_function() && is_discardable(linkage) && refers_to_functions(global);
            if linkage != LLVMLinkage::LLVMAppendingLinkage && !waits {
                global.set_raw_linkage(LLVMLinkage::LLVMExternalLinkage);
            }
            linkages.insert(name, linkage);
        } else if left_out.contains(&name) {
            declared.push(global);
        } else if !matches!(global.linkage(), Linkage::Internal | Linkage::Appending) {
            global.set_linkage(Linkage::LinkOnce);
        }
    }
    declared.iter().for_each(declare);
    add_order(&source, |name| contents.contains(name));
    let mut taken = Module::like(&source, "part");
    let source_file = source.source_file();
    taken.link(source)?;
    remove_order(&taken);
    taken.set_names("part", &source_file);

    let (visible, entry_points) = (set(&part.visible), set(&part.entry_points));
    let externalized = set(&part.externalized);
    for global in taken.globals().filter(|global| !global.is_declaration()) {
        let name = global.name();
        match linkages.get(&name) {
            Some(_) if externalized.contains(&name) => global.set_linkage(Linkage::External),
            Some(linkage) if !is_local(*linkage) && !visible.contains(&name) => {
                global.set_linkage(Linkage::Internal);
            }
            Some(linkage) => global.set_raw_linkage(*linkage),
            None if global.linkage() == Linkage::LinkOnce => global.set_linkage(Linkage::Internal),
            None => {}
        }
        if global.is_function() && entry_points.contains(&name) {
            // SAFETY: a function that is alive with its module, and strings whose lengths are given.
            unsafe {
                let (kind, context) = (ENTRY_POINT, taken.context_raw());
                let attribute = LLVMCreateStringAttribute(
                    context,
                    kind.as_ptr().cast(),
                    kind.len() as u32,
                    c"".as_ptr(),
                    0,
                );
                LLVMAddAttributeAtIndex(global.as_raw(), FUNCTION_ATTRIBUTES, attribute);
            }
        }
    }
    Ok(taken)
}

/// Makes a definition of a lazily read module a declaration.
fn declare(global: &Global<'_>) {
    let old = global.as_raw();
    // SAFETY: the value is alive with its module, and each question is asked of a value of the kind it is for. What
    // is still in the file refers to functions through handles that follow a replacement.
    unsafe {
        if global.is_function() {
            let name = global.name();
            let new = LLVMAddFunction(
                LLVMGetGlobalParent(old),
                c"".as_ptr(),
                LLVMGlobalGetValueType(old),
            );
            if LLVMTypeOf(new) != LLVMTypeOf(old) {
                // In another address space, which cannot be asked for: a copy that the optimiser drops.
                LLVMDeleteFunction(new);
                return global.set_linkage(Linkage::AvailableExternally);
            }
            LLVMSetFunctionCallConv(new, LLVMGetFunctionCallConv(old));
            LLVMSetVisibility(new, LLVMGetVisibility(old));
            LLVMSetUnnamedAddress(new, LLVMGetUnnamedAddress(old));
            for place in (0..=LLVMCountParams(old)).chain([FUNCTION_ATTRIBUTES]) {
                let count = LLVMGetAttributeCountAtIndex(old, place);
                let mut attributes = vec![std::ptr::null_mut(); count as usize];
                LLVMGetAttributesAtIndex(old, place, attributes.as_mut_ptr());
                for attribute in attributes {
                    LLVMAddAttributeAtIndex(new, place, attribute);
                }
            }
            LLVMReplaceAllUsesWith(old, new);
            // Nobody needs it, so the linker leaves it where it is.
            LLVMSetValueName2(old, c"".as_ptr(), 0);
            global.set_linkage(Linkage::Internal);
            LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
        } else if !LLVMIsAGlobalVariable(old).is_null() {
            LLVMSetInitializer(old, std::ptr::null_mut());
            LLVMSetComdat(old, std::ptr::null_mut());
            global.set_linkage(Linkage::External);
        } else {
            global.set_linkage(Linkage::AvailableExternally);
        }
    }
}

/// Adds a variable that lists the functions that are ordered, as they stand in the module.
///
/// The linker takes variables over first, and makes functions known in the order in which it meets them: with
/// such a list, in that of the module, and not in the order of their uses.
fn add_order(module: &Module<'_>, ordered: impl Fn(&str) -> bool) {
    let functions = (module.globals())
        .filter(|global| global.is_function() && !global.is_declaration() && ordered(&global.name()));
    let mut functions: Vec<_> = functions.map(|function| function.as_raw()).collect();
    let Some(&first) = functions.first() else { return };
    // SAFETY: the functions are alive with their module; the list holds pointers of one type.
    unsafe {
        let pointer = LLVMTypeOf(first);
        functions.retain(|function| LLVMTypeOf(*function) == pointer);
        let count = functions.len() as u64;
        let list = LLVMAddGlobal(module.as_raw(), LLVMArrayType2(pointer, count), ORDER.as_ptr());
        LLVMSetInitializer(list, LLVMConstArray2(pointer, functions.as_mut_ptr(), count));
    }
}

/// Removes the variable that [`add_order`] added.
fn remove_order(module: &Module<'_>) {
    // SAFETY: the module is alive, and nothing refers to the variable.
    unsafe {
        let list = LLVMGetNamedGlobal(module.as_raw(), ORDER.as_ptr());
        if !list.is_null() {
            LLVMDeleteGlobal(list);
        }
    }
}

/// Whether a symbol is not seen by other modules anyway, or is one of LLVM's own lists.
fn is_local(linkage: LLVMLinkage) -> bool {
    matches!(
        linkage,
        LLVMLinkage::LLVMInternalLinkage
            | LLVMLinkage::LLVMPrivateLinkage
            | LLVMLinkage::LLVMAppendingLinkage
    )
}

/// Whether a definition is there for those in its module that use it.
fn is_discardable(linkage: LLVMLinkage) -> bool {
    matches!(
        linkage,
        LLVMLinkage::LLVMInternalLinkage
            | LLVMLinkage::LLVMPrivateLinkage
            | LLVMLinkage::LLVMLinkOnceAnyLinkage
            | LLVMLinkage::LLVMLinkOnceODRLinkage
    )
}
