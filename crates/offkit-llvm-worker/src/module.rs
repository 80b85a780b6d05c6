//! Modules: lazy reading, symbols, linking, writing.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{CStr, CString, c_char, c_uint};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use llvm_sys::bit_writer::LLVMWriteBitcodeToFile;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::{
    LLVMCloneModule, LLVMCountParams, LLVMCreateMemoryBufferWithContentsOfFile,
    LLVMCreateMemoryBufferWithMemoryRangeCopy, LLVMDisposeMemoryBuffer, LLVMDisposeModule,
    LLVMGetAttributeCountAtIndex, LLVMGetAttributesAtIndex, LLVMGetBasicBlockParent, LLVMGetDataLayoutStr,
    LLVMGetFirstFunction, LLVMGetFirstGlobal, LLVMGetFirstGlobalAlias, LLVMGetFirstGlobalIFunc,
    LLVMGetFirstUse, LLVMGetFunctionCallConv, LLVMGetInstructionParent, LLVMGetIntrinsicID, LLVMGetLinkage,
    LLVMGetNamedFunction, LLVMGetNamedGlobal, LLVMGetNamedGlobalAlias, LLVMGetNextFunction,
    LLVMGetNextGlobal, LLVMGetNextGlobalAlias, LLVMGetNextGlobalIFunc, LLVMGetNextUse,
    LLVMGetPointerAddressSpace, LLVMGetSourceFileName, LLVMGetStringAttributeKind,
    LLVMGetStringAttributeValue, LLVMGetTarget, LLVMGetUser, LLVMGetValueName2, LLVMIsAFunction,
    LLVMIsAGlobalObject, LLVMIsAGlobalValue, LLVMIsAGlobalVariable, LLVMIsAInstruction, LLVMIsDeclaration,
    LLVMIsGlobalConstant, LLVMIsStringAttribute, LLVMModuleCreateWithNameInContext, LLVMPrintModuleToFile,
    LLVMSetDataLayout, LLVMSetLinkage, LLVMSetModuleIdentifier, LLVMSetSourceFileName, LLVMSetTarget,
    LLVMSetVisibility, LLVMTypeOf,
};
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::{LLVMContextRef, LLVMMemoryBufferRef, LLVMModuleRef, LLVMValueRef};
use llvm_sys::{LLVMLinkage, LLVMVisibility};
use offkit_llvm::{CallingConvention, FunctionSummary, Linkage, ModuleSummary, VariableSummary};

use crate::Error;
use crate::context::{Context, take_message};

/// `LLVMAttributeFunctionIndex`: the attributes of the function itself, not of a parameter.
pub(crate) const FUNCTION_ATTRIBUTES: c_uint = c_uint::MAX;

// LLVM's numbers of the kernel calling conventions (llvm/IR/CallingConv.h).
const C: c_uint = 0;
const PTX_KERNEL: c_uint = 71;
pub(crate) const SPIR_FUNCTION: c_uint = 75;
const SPIR_KERNEL: c_uint = 76;
const AMDGPU_KERNEL: c_uint = 91;

/// A module of LLVM IR, in memory or partly still in its file.
#[derive(Debug)]
pub struct Module<'context> {
    raw: LLVMModuleRef,
    context: &'context Context,
}

impl<'context> Module<'context> {
    /// Opens a bitcode file lazily: symbols are read, function bodies stay in the file until needed.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not bitcode, or comes from an LLVM that 22 does not read.
    pub fn open(context: &'context Context, path: &Path) -> Result<Self, Error> {
        Self::open_named(context, path, &path.display().to_string())
    }

    /// The same with the name that messages are to have.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_named(context: &'context Context, path: &Path, name: &str) -> Result<Self, Error> {
        let named = |error: &str| Error::new(format!("{name}: {error}"));
        let buffer = file_buffer(path).map_err(|error| named(&error))?;
        let mut raw = ptr::null_mut();
        // SAFETY: the buffer is valid, and the module takes it over, also when it fails.
        if unsafe { LLVMGetBitcodeModuleInContext2(context.as_raw(), buffer, &raw mut raw) } != 0 {
            return Err(named(&context.take_error("not LLVM bitcode").to_string()));
        }
        // SAFETY: the module is alive, and copies the name.
        unsafe { LLVMSetModuleIdentifier(raw, name.as_ptr().cast(), name.len()) };
        Ok(Self { raw, context })
    }

    /// Reads a file as a whole, bitcode or text.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is neither, or comes from an LLVM that 22 does not read.
    pub fn read(context: &'context Context, path: &Path) -> Result<Self, Error> {
        let buffer = file_buffer(path).map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        Self::parse(context, buffer)
    }

    /// Parses a module from its text form.
    ///
    /// # Errors
    ///
    /// The parser's message with line and column.
    pub fn parse_text(context: &'context Context, text: &str) -> Result<Self, Error> {
        // SAFETY: the text is copied, and the name lives through the call.
        let buffer = unsafe {
            LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr().cast(), text.len(), c"text".as_ptr())
        };
        Self::parse(context, buffer)
    }

    /// Parses what is in the buffer, which is freed.
    fn parse(context: &'context Context, buffer: LLVMMemoryBufferRef) -> Result<Self, Error> {
        let mut raw = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: the parser only borrows the buffer (the "2" form), which is valid until it is freed here.
        unsafe {
            let failed = LLVMParseIRInContext2(context.as_raw(), buffer, &raw mut raw, &raw mut message) != 0;
            LLVMDisposeMemoryBuffer(buffer);
            let message = take_message(message);
            if failed {
                return Err(Error::new(message.trim().to_owned()));
            }
        }
        Ok(Self { raw, context })
    }

    /// An empty module for the same target as `model`.
    pub fn like(model: &Module<'context>, name: &str) -> Self {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the string is valid through the call, which copies it.
        let raw = unsafe { LLVMModuleCreateWithNameInContext(name.as_ptr(), model.context.as_raw()) };
        let mut module = Self {
            raw,
            context: model.context,
        };
        module.set_target_like(model);
        module
    }

    /// Takes target triple and data layout over from `model`.
    pub fn set_target_like(&mut self, model: &Module<'context>) {
        // SAFETY: both modules are alive, and the strings of the model are copied.
        unsafe {
            LLVMSetTarget(self.raw, LLVMGetTarget(model.raw));
            LLVMSetDataLayout(self.raw, LLVMGetDataLayoutStr(model.raw));
        }
    }

    pub(crate) fn as_raw(&self) -> LLVMModuleRef {
        self.raw
    }

    /// The module, for somebody who takes it over.
    pub(crate) fn into_raw(self) -> LLVMModuleRef {
        std::mem::ManuallyDrop::new(self).raw
    }

    /// The context it lives in.
    pub fn context(&self) -> &'context Context {
        self.context
    }

    pub(crate) fn context_raw(&self) -> LLVMContextRef {
        self.context.as_raw()
    }

    /// A copy of the whole module.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self {
            // SAFETY: the module is alive; the copy lives in the same context.
            raw: unsafe { LLVMCloneModule(self.raw) },
            context: self.context,
        }
    }

    /// What the module calls itself and its source file.
    pub fn set_names(&mut self, identifier: &str, source_file: &str) {
        // SAFETY: the module is alive, and the strings, of which the lengths are given, are copied.
        unsafe {
            LLVMSetModuleIdentifier(self.raw, identifier.as_ptr().cast(), identifier.len());
            LLVMSetSourceFileName(self.raw, source_file.as_ptr().cast(), source_file.len());
        }
    }

    /// The name of the source file.
    pub fn source_file(&self) -> String {
        let mut length = 0;
        // SAFETY: the module is alive and owns the returned string.
        unsafe {
            let name = LLVMGetSourceFileName(self.raw, &raw mut length);
            sized_text(name, length)
        }
    }

    /// The target triple.
    pub fn triple(&self) -> String {
        // SAFETY: the module is alive and owns the returned string.
        unsafe { text(LLVMGetTarget(self.raw)) }
    }

    /// Changes the target triple.
    pub fn set_triple(&mut self, triple: &str) {
        let triple = CString::new(triple).unwrap_or_default();
        // SAFETY: the string is valid through the call, which copies it.
        unsafe { LLVMSetTarget(self.raw, triple.as_ptr()) }
    }

    /// Links `source` into this module, reading what is needed of it.
    ///
    /// # Errors
    ///
    /// LLVM's message, for example for a symbol defined in both.
    pub fn link(&mut self, source: Module<'context>) -> Result<(), Error> {
        // SAFETY: both modules are alive and of one context, which the lifetimes say. The linker takes the source
        // over, whether it succeeds or not.
        if unsafe { LLVMLinkModules2(self.raw, source.into_raw()) } != 0 {
            return Err(self.context.take_error("the modules cannot be linked"));
        }
        Ok(())
    }

    /// Checks that the module is well formed.
    ///
    /// # Errors
    ///
    /// The verifier's findings.
    pub fn verify(&self) -> Result<(), Error> {
        let mut message = ptr::null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        // SAFETY: the module is alive; the message is ours to free.
        let (failed, message) = unsafe {
            let failed = LLVMVerifyModule(self.raw, action, &raw mut message) != 0;
            (failed, take_message(message))
        };
        if failed {
            Err(Error::new(message.trim().to_owned()))
        } else {
            Ok(())
        }
    }

    /// Writes the module as bitcode.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let name = c_path(path).map_err(Error::new)?;
        // SAFETY: the module is alive and the path is valid through the call.
        if unsafe { LLVMWriteBitcodeToFile(self.raw, name.as_ptr()) } != 0 {
            return Err(Error::new(format!("cannot write `{}`", path.display())));
        }
        Ok(())
    }

    /// The module in text form.
    pub fn to_text(&self) -> String {
        // SAFETY: the module is alive; the text is ours to free.
        unsafe { take_message(llvm_sys::core::LLVMPrintModuleToString(self.raw)) }
    }

    /// Writes the module in its text form.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_text(&self, path: &Path) -> Result<(), Error> {
        let name = c_path(path).map_err(Error::new)?;
        let mut message = ptr::null_mut();
        // SAFETY: the module is alive and the path is valid through the call; the message is ours to free.
        let (failed, message) = unsafe {
            let failed = LLVMPrintModuleToFile(self.raw, name.as_ptr(), &raw mut message) != 0;
            (failed, take_message(message))
        };
        if failed {
            return Err(Error::new(format!(
                "cannot write `{}`: {message}",
                path.display()
            )));
        }
        Ok(())
    }

    /// Functions, then variables, then aliases, then indirect functions, each in module order.
    pub fn globals(&self) -> impl Iterator<Item = Global<'_>> {
        // SAFETY: the module is alive while the iterators are, and each function takes a value of
        // the kind that its "first" partner returned.
        let walk = |first: unsafe extern "C" fn(LLVMModuleRef) -> LLVMValueRef,
                    next: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef| {
            // SAFETY: as above.
            let start = unsafe { first(self.raw) };
            std::iter::successors((!start.is_null()).then_some(start), move |&value| {
                // SAFETY: as above.
                let following = unsafe { next(value) };
                (!following.is_null()).then_some(following)
            })
        };
        walk(LLVMGetFirstFunction, LLVMGetNextFunction)
            .chain(walk(LLVMGetFirstGlobal, LLVMGetNextGlobal))
            .chain(walk(LLVMGetFirstGlobalAlias, LLVMGetNextGlobalAlias))
            .chain(walk(LLVMGetFirstGlobalIFunc, LLVMGetNextGlobalIFunc))
            .map(|raw| Global {
                raw,
                module: PhantomData,
            })
    }

    /// The function, variable or alias of that name.
    pub fn global(&self, name: &str) -> Option<Global<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is alive, and the name lives through the calls.
        let found = unsafe {
            [
                LLVMGetNamedFunction(self.raw, name.as_ptr()),
                LLVMGetNamedGlobal(self.raw, name.as_ptr()),
                LLVMGetNamedGlobalAlias(self.raw, name.as_ptr(), name.as_bytes().len()),
            ]
        };
        let raw = found.into_iter().find(|raw| !raw.is_null())?;
        Some(Global {
            raw,
            module: PhantomData,
        })
    }

    /// What the planning steps need to know.
    pub fn summary(&self) -> ModuleSummary {
        let mut functions = Vec::new();
        let mut variables = Vec::new();
        for global in self.globals() {
            if global.is_function() {
                if !global.is_intrinsic() {
                    functions.push(global.function_summary());
                }
            } else {
                variables.push(global.variable_summary());
            }
        }
        ModuleSummary {
            triple: self.triple(),
            // SAFETY: the module is alive and owns the returned string.
            data_layout: unsafe { text(LLVMGetDataLayoutStr(self.raw)) },
            source_file: self.source_file(),
            functions,
            variables,
            ..ModuleSummary::default()
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module is ours, and the context it lives in is still borrowed.
        unsafe { LLVMDisposeModule(self.raw) }
    }
}

/// A function, variable or alias of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Global<'module> {
    raw: LLVMValueRef,
    module: PhantomData<&'module ()>,
}

// SAFETY of the calls below: a `Global` is made by `Module::globals` only and lives no longer than
// the borrow of its module, so the value is alive and a global value.
impl Global<'_> {
    pub(crate) fn as_raw(&self) -> LLVMValueRef {
        self.raw
    }

    /// The symbol.
    pub fn name(&self) -> String {
        // SAFETY: see the head of this block.
        unsafe { value_name(self.raw) }
    }

    /// Whether it is a function.
    pub fn is_function(&self) -> bool {
        // SAFETY: see the head of this block.
        unsafe { !LLVMIsAFunction(self.raw).is_null() }
    }

    /// Whether its definition is elsewhere.
    pub fn is_declaration(&self) -> bool {
        // SAFETY: see the head of this block.
        unsafe { LLVMIsDeclaration(self.raw) != 0 }
    }

    pub(crate) fn is_intrinsic(&self) -> bool {
        // SAFETY: asked of functions only.
        unsafe { LLVMGetIntrinsicID(self.raw) != 0 }
    }

    /// How it links.
    pub fn linkage(&self) -> Linkage {
        // SAFETY: see the head of this block.
        match unsafe { LLVMGetLinkage(self.raw) } {
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage => Linkage::Internal,
            LLVMLinkage::LLVMLinkOnceAnyLinkage | LLVMLinkage::LLVMLinkOnceODRLinkage => Linkage::LinkOnce,
            LLVMLinkage::LLVMWeakAnyLinkage
            | LLVMLinkage::LLVMWeakODRLinkage
            | LLVMLinkage::LLVMCommonLinkage => Linkage::Weak,
            LLVMLinkage::LLVMAvailableExternallyLinkage => Linkage::AvailableExternally,
            LLVMLinkage::LLVMAppendingLinkage => Linkage::Appending,
            _ => Linkage::External,
        }
    }

    /// Changes how it links; one that is no longer seen outside also leaves its comdat.
    pub fn set_linkage(&self, linkage: Linkage) {
        let raw = match linkage {
            Linkage::External => LLVMLinkage::LLVMExternalLinkage,
            Linkage::Weak => LLVMLinkage::LLVMWeakODRLinkage,
            Linkage::LinkOnce => LLVMLinkage::LLVMLinkOnceODRLinkage,
            Linkage::AvailableExternally => LLVMLinkage::LLVMAvailableExternallyLinkage,
            Linkage::Internal => LLVMLinkage::LLVMInternalLinkage,
            Linkage::Appending => LLVMLinkage::LLVMAppendingLinkage,
        };
        self.set_raw_linkage(raw);
    }

    /// How it links, in all of LLVM's kinds.
    pub(crate) fn raw_linkage(&self) -> LLVMLinkage {
        // SAFETY: see the head of this block.
        unsafe { LLVMGetLinkage(self.raw) }
    }

    /// Changes how it links; one that is no longer seen outside also leaves its comdat.
    pub(crate) fn set_raw_linkage(&self, linkage: LLVMLinkage) {
        // SAFETY: see the head of this block; only functions and variables have a comdat of their own to
        // leave.
        unsafe {
            LLVMSetLinkage(self.raw, linkage);
            let is_object = !LLVMIsAGlobalObject(self.raw).is_null();
            let leaves = matches!(
                linkage,
                LLVMLinkage::LLVMInternalLinkage
                    | LLVMLinkage::LLVMPrivateLinkage
                    | LLVMLinkage::LLVMAvailableExternallyLinkage
            );
            if is_object && leaves {
                LLVMSetComdat(self.raw, ptr::null_mut());
            }
        }
    }

    /// Gives a kernel the calling convention of C; asked of functions only. Other kernels call its copy.
    pub(crate) fn set_c_convention(&self) {
        // SAFETY: asked of functions only.
        unsafe { llvm_sys::core::LLVMSetFunctionCallConv(self.raw, C) }
    }

    /// Changes who may see it in a linked program: everyone, but no definition elsewhere takes its place where
    /// it is `protected`.
    pub(crate) fn set_visible(&self, protected: bool) {
        let visibility = match protected {
            true => LLVMVisibility::LLVMProtectedVisibility,
            false => LLVMVisibility::LLVMDefaultVisibility,
        };
        // SAFETY: see the head of this block.
        unsafe { LLVMSetVisibility(self.raw, visibility) }
    }

    /// Whether LLVM itself gives it its meaning (`llvm.sqrt.f32`, `llvm.used`).
    pub fn is_llvms(&self) -> bool {
        if self.is_function() {
            self.is_intrinsic()
        } else {
            self.name().starts_with("llvm.")
        }
    }

    /// The functions, variables and aliases that refer to it, also through constants.
    pub fn users(&self) -> Vec<Self> {
        let mut users = Vec::new();
        let mut met = HashSet::new();
        let mut constants = vec![self.raw];
        while let Some(value) = constants.pop() {
            // SAFETY: values of a module that is alive, each asked only what its kind has an answer to.
            unsafe {
                let mut next = LLVMGetFirstUse(value);
                while !next.is_null() {
                    let user = LLVMGetUser(next);
                    next = LLVMGetNextUse(next);
                    let raw = if !LLVMIsAInstruction(user).is_null() {
                        LLVMGetBasicBlockParent(LLVMGetInstructionParent(user))
                    } else if !LLVMIsAGlobalValue(user).is_null() {
                        user
                    } else {
                        if met.insert(user) {
                            constants.push(user);
                        }
                        continue;
                    };
                    if met.insert(raw) {
                        users.push(Self {
                            raw,
                            module: PhantomData,
                        });
                    }
                }
            }
        }
        users
    }

    /// Who may call it; asked of functions only.
    pub fn calling_convention(&self) -> CallingConvention {
        // SAFETY: asked of functions only.
        match unsafe { LLVMGetFunctionCallConv(self.raw) } {
            PTX_KERNEL | SPIR_KERNEL | AMDGPU_KERNEL => CallingConvention::Kernel,
            C | SPIR_FUNCTION => CallingConvention::Function,
            other => CallingConvention::Other(other),
        }
    }

    fn function_summary(&self) -> FunctionSummary {
        FunctionSummary {
            name: self.name(),
            linkage: self.linkage(),
            calling_convention: self.calling_convention(),
            is_declaration: self.is_declaration(),
            attributes: self.string_attributes(FUNCTION_ATTRIBUTES),
            parameter_attributes: self.parameter_attributes(),
            ..FunctionSummary::default()
        }
    }

    fn parameter_attributes(&self) -> Vec<BTreeMap<String, String>> {
        // SAFETY: asked of functions only.
        let count = unsafe { LLVMCountParams(self.raw) };
        // The attributes of the result come first.
        let attributes: Vec<_> = (1..=count).map(|place| self.string_attributes(place)).collect();
        if attributes.iter().all(BTreeMap::is_empty) {
            return Vec::new();
        }
        attributes
    }

    fn variable_summary(&self) -> VariableSummary {
        VariableSummary {
            name: self.name(),
            linkage: self.linkage(),
            is_declaration: self.is_declaration(),
            // SAFETY: see the head of this block; a global value's type is a pointer.
            address_space: unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(self.raw)) },
            // SAFETY: as above; asked of variables only, not of aliases.
            is_constant: unsafe {
                !LLVMIsAGlobalVariable(self.raw).is_null() && LLVMIsGlobalConstant(self.raw) != 0
            },
            ..VariableSummary::default()
        }
    }

    pub(crate) fn string_attributes(&self, place: c_uint) -> BTreeMap<String, String> {
        // SAFETY: asked of functions only; the vector has room for as many as LLVM counted.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.raw, place);
            let mut attributes = vec![ptr::null_mut(); count as usize];
            LLVMGetAttributesAtIndex(self.raw, place, attributes.as_mut_ptr());
            attributes
                .into_iter()
                .filter(|&attribute| LLVMIsStringAttribute(attribute) != 0)
                .map(|attribute| {
                    let mut length = 0;
                    let kind = LLVMGetStringAttributeKind(attribute, &raw mut length);
                    let kind = sized_text(kind, length as usize);
                    let value = LLVMGetStringAttributeValue(attribute, &raw mut length);
                    (kind, sized_text(value, length as usize))
                })
                .collect()
        }
    }
}

fn c_path(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| "the path holds a zero byte".to_owned())
}

fn file_buffer(path: &Path) -> Result<LLVMMemoryBufferRef, String> {
    let name = c_path(path)?;
    let mut buffer = ptr::null_mut();
    let mut message = ptr::null_mut();
    // SAFETY: the path is valid through the call; the message is ours to free.
    unsafe {
        let failed =
            LLVMCreateMemoryBufferWithContentsOfFile(name.as_ptr(), &raw mut buffer, &raw mut message) != 0;
        let message = take_message(message);
        if failed { Err(message) } else { Ok(buffer) }
    }
}

/// The name of a value.
///
/// # Safety
///
/// The value is alive.
pub(crate) unsafe fn value_name(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: by this function's contract; the value owns the string.
    unsafe { sized_text(LLVMGetValueName2(value, &raw mut length), length) }
}

/// # Safety
///
/// `string` is null or a C string.
pub(crate) unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: by this function's contract.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

/// # Safety
///
/// `string` is null or points to `length` bytes.
pub(crate) unsafe fn sized_text(string: *const c_char, length: usize) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: by this function's contract.
    let bytes = unsafe { std::slice::from_raw_parts(string.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}
