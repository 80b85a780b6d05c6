//! Marks on what a source file offers to others.
//!
//! DPC++'s front end puts the string attribute [`MODULE_ID`] on kernels and on functions that are
//! exported; everything later in the tool chain reads it. clang 22's front ends do not: they leave
//! kernels without it, and exported functions look like any other function with external linkage.
//! What survives is `annotate`, so `offkit/device.h` writes [`ANNOTATION`] with it, and this module
//! turns that into the attribute.
//!
//! The annotation is then removed: the SPIR-V back end would make it a decoration of the definition,
//! which a declaration in another module lacks, and linkers refuse such a pair.

use std::collections::HashSet;
use std::ffi::c_uint;

use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use offkit_llvm::{CallingConvention, Linkage};

use crate::lists::without_casts;
use crate::module::{FUNCTION_ATTRIBUTES, Global, Module, add_attribute};

/// The string attribute of kernels and exported functions: the source file they come from.
pub const MODULE_ID: &str = "sycl-module-id";

/// The annotation that asks for a function to be exported, or says that it is defined elsewhere.
pub const ANNOTATION: &str = "offkit_export";

/// Where clang keeps annotations.
const ANNOTATIONS: &std::ffi::CStr = c"llvm.global.annotations";

/// Marks the kernels of a module and the functions annotated with [`ANNOTATION`], and removes those
/// annotations. A mark that is there already stays as it is.
///
/// With `only_annotated`, a module without such an annotation is left as it is: what it exports was
/// decided by whoever made it.
pub fn mark(module: &mut Module, module_id: &str, only_annotated: bool) {
    let annotated = take_annotations(module);
    if annotated.is_empty() && only_annotated {
        return;
    }
    for global in module.globals().filter(Global::is_function) {
        let is_exported = annotated.contains(&global.as_raw());
        let is_kernel = !global.is_declaration() && global.calling_convention() == CallingConvention::Kernel;
        // What is `static` stays private, whatever it is annotated with.
        if !(is_kernel || is_exported) || global.linkage() == Linkage::Internal {
            continue;
        }
        // An exported inline function must be there although this module may not call it.
        let is_inline = is_exported && global.linkage() == Linkage::LinkOnce;
        if is_inline
            || is_kernel && global.linkage() == Linkage::External && may_be_of_a_header(&global.name())
        {
            global.set_linkage(Linkage::Weak);
        }
        if !global
            .string_attributes(FUNCTION_ATTRIBUTES)
            .contains_key(MODULE_ID)
        {
            add_attribute(module, &global, MODULE_ID, module_id);
        }
    }
}

/// Whether a kernel is named after a type that several files may have. clang 22 gives each of them a definition of its own,
/// as if it was another, also where an inline function of a header launches the kernel.
fn may_be_of_a_header(kernel: &str) -> bool {
    let Some(name) = kernel.strip_prefix("_ZTS") else {
        return false;
    };
    // What is `static`, `_ZTSZL3runvE4Name`, or in a namespace without a name, is another in each file.
    let is_static = |letters: &[u8]| letters[0] == b'L' && letters[1].is_ascii_digit();
    !name.contains("_GLOBAL__N_") && !name.as_bytes().windows(2).any(is_static)
}

/// Takes our annotations out of the module and returns the functions that had one. Other people's
/// annotations stay.
fn take_annotations(module: &mut Module) -> Vec<LLVMValueRef> {
    let mut functions = Vec::new();
    // SAFETY: the module is alive, and initialisers are read with the symbols. Each value is asked only what its kind, which is checked first, allows; nothing is kept of
    // the array after it is deleted.
    unsafe {
        let array = LLVMGetNamedGlobal(module.as_raw(), ANNOTATIONS.as_ptr());
        if array.is_null() || LLVMGetInitializer(array).is_null() {
            return functions;
        }
        let initializer = LLVMGetInitializer(array);
        let count = c_uint::try_from(LLVMGetNumOperands(initializer)).unwrap_or(0);
        let mut kept = Vec::new();
        let mut texts = Vec::new();
        for entry in (0..count).map(|index| LLVMGetOperand(initializer, index)) {
            // Not clang's, which begin with what is annotated, the text and the file: it stays.
            if LLVMGetNumOperands(entry) < 3 {
                kept.push(entry);
                continue;
            }
            let text = without_casts(LLVMGetOperand(entry, 1));
            if constant_text(text).as_deref() != Some(ANNOTATION) {
                kept.push(entry);
                continue;
            }
            texts.push(text);
            texts.push(without_casts(LLVMGetOperand(entry, 2)));
            let target = without_casts(LLVMGetOperand(entry, 0));
            if !LLVMIsAFunction(target).is_null() {
                functions.push(target);
            }
        }
        if texts.is_empty() {
            return functions;
        }
        if !kept.is_empty() {
            replace_array(module, array, &mut kept);
        }
        LLVMDeleteGlobal(array);
        // The texts of annotations, unless another one still needs them.
        // Entries share a text, and most of them the file; each may be deleted once only.
        texts.sort_unstable();
        texts.dedup();
        for text in texts {
            let is_ours = !LLVMIsAGlobalVariable(text).is_null()
                && !LLVMGetSection(text).is_null()
                && std::ffi::CStr::from_ptr(LLVMGetSection(text)) == c"llvm.metadata";
            if is_ours && !is_needed(text) {
                // The constants that used it are still there, although nothing uses them.
                LLVMReplaceAllUsesWith(text, LLVMGetPoison(LLVMTypeOf(text)));
                LLVMDeleteGlobal(text);
            }
        }
    }
    functions
}

/// Puts an array with fewer entries in the place of the annotations.
///
/// # Safety
///
/// `array` is the module's array of annotations and `entries`, not empty, are entries of it.
unsafe fn replace_array(module: &Module, array: LLVMValueRef, entries: &mut [LLVMValueRef]) {
    // SAFETY: by this function's contract; the strings are copied.
    unsafe {
        let element = LLVMGetElementType(LLVMGlobalGetValueType(array));
        let content = LLVMConstArray2(element, entries.as_mut_ptr(), entries.len() as u64);
        let space = LLVMGetPointerAddressSpace(LLVMTypeOf(array));
        let smaller = LLVMAddGlobalInAddressSpace(module.as_raw(), LLVMTypeOf(content), c"".as_ptr(), space);
        LLVMSetInitializer(smaller, content);
        LLVMSetLinkage(smaller, LLVMLinkage::LLVMAppendingLinkage);
        LLVMSetSection(smaller, LLVMGetSection(array));
        // The old one lets go of the name first: LLVM would give the new one another.
        LLVMSetValueName2(array, c"".as_ptr(), 0);
        LLVMSetValueName2(smaller, ANNOTATIONS.as_ptr(), ANNOTATIONS.count_bytes());
    }
}

/// Whether an instruction or a global uses a constant, itself or through other constants.
///
/// # Safety
///
/// `value` is a constant that is alive.
unsafe fn is_needed(value: LLVMValueRef) -> bool {
    // One that uses another twice is looked at once: otherwise the ways double with each that is built on it.
    let mut seen = HashSet::new();
    let mut constants = vec![value];
    // SAFETY: by this function's contract; a use and its user live as long as what is used.
    unsafe {
        while let Some(constant) = constants.pop() {
            let mut usage = LLVMGetFirstUse(constant);
            while !usage.is_null() {
                let user = LLVMGetUser(usage);
                let is_mere_constant = !LLVMIsAConstant(user).is_null() && LLVMIsAGlobalValue(user).is_null();
                if !is_mere_constant {
                    return true;
                }
                if seen.insert(user) {
                    constants.push(user);
                }
                usage = LLVMGetNextUse(usage);
            }
        }
    }
    false
}

/// The text of a global constant with a zero at its end.
///
/// # Safety
///
/// `value` is a constant that is alive.
unsafe fn constant_text(value: LLVMValueRef) -> Option<String> {
    // SAFETY: by this function's contract; each function is called on the kind it is for; the string is
    // the constant's own and is copied.
    unsafe {
        if LLVMIsAGlobalVariable(value).is_null() {
            return None;
        }
        let initializer = LLVMGetInitializer(value);
        if initializer.is_null() || LLVMIsConstantString(initializer) == 0 {
            return None;
        }
        let mut length = 0;
        let start = LLVMGetAsString(initializer, &raw mut length);
        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
        let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    const TEXT: &str = r#"
target triple = "spirv64-unknown-unknown"
@.ours = private addrspace(1) constant [14 x i8] c"offkit_export\00", section "llvm.metadata"
@.theirs = private addrspace(1) constant [5 x i8] c"mine\00", section "llvm.metadata"
@.file = private addrspace(1) constant [6 x i8] c"a.cpp\00", section "llvm.metadata"
@llvm.global.annotations = appending addrspace(1) global [5 x { ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), i32, ptr addrspace(1) }] [
  { ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), i32, ptr addrspace(1) } { ptr addrspace(1) addrspacecast (ptr @exported to ptr addrspace(1)), ptr addrspace(1) @.ours, ptr addrspace(1) @.file, i32 1, ptr addrspace(1) null },
  { ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), i32, ptr addrspace(1) } { ptr addrspace(1) addrspacecast (ptr @plain to ptr addrspace(1)), ptr addrspace(1) @.theirs, ptr addrspace(1) @.file, i32 2, ptr addrspace(1) null },
  { ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), i32, ptr addrspace(1) } { ptr addrspace(1) addrspacecast (ptr @imported to ptr addrspace(1)), ptr addrspace(1) @.ours, ptr addrspace(1) @.file, i32 3, ptr addrspace(1) null },
  { ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), i32, ptr addrspace(1) } { ptr addrspace(1) addrspacecast (ptr @inlined to ptr addrspace(1)), ptr addrspace(1) @.ours, ptr addrspace(1) @.file, i32 4, ptr addrspace(1) null },
  { ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), i32, ptr addrspace(1) } { ptr addrspace(1) addrspacecast (ptr @private to ptr addrspace(1)), ptr addrspace(1) @.ours, ptr addrspace(1) @.file, i32 5, ptr addrspace(1) null }], section "llvm.metadata"
define spir_kernel void @kernel() { ret void }
define spir_func void @exported() { ret void }
define spir_func void @plain() { ret void }
define linkonce_odr spir_func void @inlined() { ret void }
define internal spir_func void @private() { ret void }
declare spir_func void @imported()
declare spir_func void @other()
"#;

    fn marks(module: &Module) -> Vec<(String, String)> {
        let functions = module.summary().functions.into_iter();
        functions
            .filter_map(|function| Some((function.name, function.attributes.get(MODULE_ID)?.clone())))
            .collect()
    }

    fn module(context: &Context, text: &str) -> Module {
        Module::parse_text(context, text).expect("the text is a module")
    }

    #[test]
    fn kernels_and_annotated_functions_are_marked() {
        let context = Context::new();
        let mut module = module(&context, TEXT);
        mark(&mut module, "src/a.cpp", false);
        module.verify().expect("the module stays valid");
        let marked: Vec<_> = marks(&module).into_iter().map(|(name, _)| name).collect();
        assert_eq!(marked, ["kernel", "exported", "inlined", "imported"]);
        assert!(marks(&module).iter().all(|(_, id)| id == "src/a.cpp"));
        let summary = module.summary();
        let inlined = summary
            .functions
            .iter()
            .find(|function| function.name == "inlined");
        assert_eq!(inlined.map(|function| function.linkage), Some(Linkage::Weak));
    }

    #[test]
    fn only_our_annotations_are_removed() {
        let context = Context::new();
        let mut module = module(&context, TEXT);
        mark(&mut module, "a.cpp", false);
        let text = String::from_utf8(module.to_text()).unwrap();
        assert!(!text.contains("offkit_export"), "{text}");
        assert!(
            text.contains("@llvm.global.annotations = appending addrspace(1) global [1 x"),
            "{text}"
        );
        assert!(
            text.contains("c\"mine\\00\"") && text.contains("c\"a.cpp\\00\""),
            "{text}"
        );
        // A second time there is nothing left to do.
        mark(&mut module, "b.cpp", false);
        assert_eq!(module.to_text(), text.into_bytes());
    }

    #[test]
    fn constants_that_are_built_on_each_other_take_no_time() {
        let context = Context::new();
        let mut module = module(&context, TEXT);
        // SAFETY: the module is alive, and has a variable of that name; constants live as long as the context.
        unsafe {
            let mut constant = LLVMGetNamedGlobal(module.as_raw(), c".ours".as_ptr());
            for _ in 0..64 {
                let mut parts = [constant; 2];
                constant = LLVMConstArray2(LLVMTypeOf(constant), parts.as_mut_ptr(), 2);
            }
        }
        mark(&mut module, "a.cpp", false);
        let text = String::from_utf8(module.to_text()).unwrap();
        assert!(!text.contains("offkit_export"), "{text}");
    }

    #[test]
    fn a_module_without_annotations_may_be_left_alone() {
        let context = Context::new();
        let text = "define spir_kernel void @kernel() { ret void }";
        let mut module = module(&context, text);
        mark(&mut module, "a.cpp", true);
        assert_eq!(marks(&module), []);
        mark(&mut module, "a.cpp", false);
        assert_eq!(marks(&module), [("kernel".to_owned(), "a.cpp".to_owned())]);
        mark(&mut module, "b.cpp", false);
        assert_eq!(marks(&module), [("kernel".to_owned(), "a.cpp".to_owned())]);
    }
}
