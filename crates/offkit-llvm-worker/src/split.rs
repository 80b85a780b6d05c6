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

use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};
use offkit_llvm::{Linkage, Part};

use crate::Error;
use crate::describe::refers_to_functions;
use crate::lists::leave_lists;
use crate::module::{FUNCTION_ATTRIBUTES, Global, Module, add_attribute};

/// The attribute of the functions that a part is made for.
const ENTRY_POINT: &str = "sycl-entry-point";

/// The name of a variable that is there only while a part is taken out.
const ORDER: &CStr = c"offkit.order";

/// Takes the definitions that are listed out of a lazily opened module, in the order of the module, and what has no
/// name where it is used.
///
/// In the result the visible symbols link as they did, others are internal, and what is left out is declared; of its
/// body nothing is read, nor of what that needs. A part that lists no contents is all of the module, which must have
/// been read then.
///
/// # Errors
///
/// What [`Module::link`] reports.
pub fn take(source: Module, part: &Part) -> Result<Module, Error> {
    let (taken, linkages) = match &part.contents {
        Some(contents) => take_contents(source, contents, part)?,
        None => {
            let left_out = set(&part.left_out);
            let is_left_out = |global: &Global<'_>| left_out.contains(global.name().as_str());
            let declared: Vec<_> = (source.globals())
                .filter(|global| !global.is_declaration() && is_left_out(global))
                .collect();
            for global in &declared {
                declare(global);
            }
            (source, None)
        }
    };
    let visible: Option<HashSet<&str>> = part.visible.as_deref().map(set);
    let (entry_points, externalized) = (set(&part.entry_points), set(&part.externalized));
    for global in taken.globals().filter(|global| !global.is_declaration()) {
        let name = global.name();
        let linkage = match &linkages {
            Some(linkages) => linkages.get(&name).copied(),
            None => Some(global.raw_linkage()),
        };
        let is_hidden = || {
            visible
                .as_ref()
                .is_some_and(|visible| !visible.contains(name.as_str()))
        };
        match linkage {
            Some(_) if externalized.contains(name.as_str()) => global.set_linkage(Linkage::External),
            Some(linkage) if !is_local(linkage) && is_hidden() => global.set_linkage(Linkage::Internal),
            Some(linkage) => global.set_raw_linkage(linkage),
            // In no list: it came along because it is used, linked as the linker asks for.
            None if global.linkage() == Linkage::LinkOnce => global.set_linkage(Linkage::Internal),
            None => {}
        }
        if global.is_function() && entry_points.contains(name.as_str()) {
            add_attribute(&taken, &global, ENTRY_POINT, "");
        }
    }
    Ok(taken)
}

fn set(names: &[String]) -> HashSet<&str> {
    names.iter().map(String::as_str).collect()
}

/// How definitions link, by name.
type Linkages = HashMap<String, LLVMLinkage>;

/// What [`take`] takes, before it is said what is visible of it; also how its definitions linked.
fn take_contents(
    source: Module,
    contents: &[String],
    part: &Part,
) -> Result<(Module, Option<Linkages>), Error> {
    leave_lists(&source);
    let (contents, left_out) = (set(contents), set(&part.left_out));
    let emptied = set(&part.emptied);
    let mut linkages = HashMap::new();
    let (mut declared, mut empty) = (Vec::new(), Vec::new());
    for global in source.globals().filter(|global| !global.is_declaration()) {
        let (name, linkage) = (global.name(), global.raw_linkage());
        if contents.contains(name.as_str()) {
            // The linker takes over what is external, used or not, variables first. A table that somebody in
            // the part uses comes along anyway, behind the list of functions.
            let waits = !global.is_function() && is_discardable(linkage) && refers_to_functions(global);
            if linkage != LLVMLinkage::LLVMAppendingLinkage && !waits {
                global.set_raw_linkage(LLVMLinkage::LLVMExternalLinkage);
            }
            if emptied.contains(name.as_str()) {
                empty.push(global);
            }
            linkages.insert(name, linkage);
        } else if left_out.contains(name.as_str()) {
            declared.push(global);
        } else if !matches!(global.linkage(), Linkage::Internal | Linkage::Appending) {
            global.set_linkage(Linkage::LinkOnce);
        }
    }
    // After the walk through the module, whose list of functions these change.
    for global in &declared {
        declare(global);
    }
    for global in &empty {
        if let Some(function) = declare(global) {
            // SAFETY: it was just made in a module that is alive, without a body.
            unsafe { add_empty_body(function) };
        }
    }
    add_order(&source, |name| contents.contains(name));
    let mut taken = Module::like(&source, "part");
    let source_file = source.source_file();
    taken.link(source)?;
    remove_order(&taken);
    taken.set_names("part", &source_file);
    Ok((taken, Some(linkages)))
}

/// Makes a definition of a lazily read module a declaration: of a function a new one, which is returned.
fn declare(global: &Global<'_>) -> Option<LLVMValueRef> {
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
                global.set_linkage(Linkage::AvailableExternally);
                return None;
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
            return Some(new);
        } else if !LLVMIsAGlobalVariable(old).is_null() {
            // Unlike bodies, initializers have been read, and can be taken away. What has none
            // can be in no comdat.
            LLVMSetInitializer(old, std::ptr::null_mut());
            LLVMSetComdat(old, std::ptr::null_mut());
            global.set_linkage(Linkage::External);
        } else {
            global.set_linkage(Linkage::AvailableExternally);
        }
    }
    None
}

/// Gives a function a body that returns at once: nothing, or a value that nobody is to look at.
///
/// # Safety
///
/// The function is alive and has no body.
unsafe fn add_empty_body(function: LLVMValueRef) {
    // SAFETY: by this function's contract; the builder is freed when it has made the one instruction.
    unsafe {
        let context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
        let result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
        let builder = LLVMCreateBuilderInContext(context);
        let entry = LLVMAppendBasicBlockInContext(context, function, c"entry".as_ptr());
        LLVMPositionBuilderAtEnd(builder, entry);
        match LLVMGetTypeKind(result) {
            LLVMTypeKind::LLVMVoidTypeKind => LLVMBuildRetVoid(builder),
            _ => LLVMBuildRet(builder, LLVMGetUndef(result)),
        };
        LLVMDisposeBuilder(builder);
    }
}

/// Adds a variable that lists the functions that are ordered, as they stand in the module.
///
/// The linker takes variables over first, and makes functions known in the order in which it meets them: with
/// such a list, in that of the module, and not in the order of their uses.
fn add_order(module: &Module, ordered: impl Fn(&str) -> bool) {
    let functions = (module.globals())
        .filter(|global| global.is_function() && !global.is_declaration() && ordered(&global.name()));
    let mut functions: Vec<_> = functions.map(|function| function.as_raw()).collect();
    let Some(&first) = functions.first() else { return };
    // SAFETY: the functions are alive with their module; the list holds pointers of one type.
    unsafe {
        let pointer = LLVMTypeOf(first);
        // An array has one type. Functions in another address space come as they are used.
        functions.retain(|function| LLVMTypeOf(*function) == pointer);
        let count = functions.len() as u64;
        let list = LLVMAddGlobal(module.as_raw(), LLVMArrayType2(pointer, count), ORDER.as_ptr());
        LLVMSetInitializer(list, LLVMConstArray2(pointer, functions.as_mut_ptr(), count));
    }
}

/// Removes the variable that [`add_order`] added.
fn remove_order(module: &Module) {
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
