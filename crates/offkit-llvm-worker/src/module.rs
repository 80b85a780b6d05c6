//! Modules: lazy reading, symbols, linking, writing.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{CStr, CString, c_char, c_uint};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::{LLVMAttributeRef, LLVMContextRef, LLVMModuleRef, LLVMValueRef};
use llvm_sys::{LLVMLinkage, LLVMVisibility};
use offkit_image::Family;
use offkit_llvm::{CallingConvention, FunctionSummary, Linkage, ModuleSummary, VariableSummary};

use crate::Error;
use crate::beyond_c;
use crate::buffer::Buffer;
use crate::context::{Context, take_message};

/// `LLVMAttributeFunctionIndex`: the attributes of the function itself, not of a parameter.
pub(crate) const FUNCTION_ATTRIBUTES: c_uint = c_uint::MAX;

// LLVM's numbers of the kernel calling conventions (llvm/IR/CallingConv.h).
pub(crate) const C: c_uint = 0;
const PTX_KERNEL: c_uint = 71;
pub(crate) const SPIR_FUNCTION: c_uint = 75;
const SPIR_KERNEL: c_uint = 76;
const AMDGPU_KERNEL: c_uint = 91;

/// A module of LLVM IR, in memory or partly still in the bytes it is read from.
#[derive(Debug)]
pub struct Module {
    raw: LLVMModuleRef,
    // Both are dropped after the module.
    context: Context,
    /// What is not read yet is still in there.
    buffer: Option<Arc<Buffer>>,
}

impl Module {
    /// Opens bitcode lazily: symbols are read, function bodies stay where they are until needed. LLVM's text form is
    /// read as a whole.
    ///
    /// # Errors
    ///
    /// It is neither, or comes from an LLVM that 22 does not read.
    pub fn open(context: &Context, buffer: &Arc<Buffer>, name: &str) -> Result<Self, Error> {
        if !buffer.is_bitcode() {
            return Self::parse(context, buffer, name);
        }
        let mut raw = ptr::null_mut();
        let view = buffer.view(name);
        // SAFETY: context and buffer are alive; the module takes the view over and keeps what it views. Where there is
        // no module, the view is still ours.
        unsafe {
            if LLVMGetBitcodeModuleInContext2(context.as_raw(), view, &raw mut raw) != 0 {
                LLVMDisposeMemoryBuffer(view);
                return Err(context.take_error("not LLVM bitcode").of(name));
            }
        }
        // SAFETY: the module is alive, and copies the name.
        unsafe { LLVMSetModuleIdentifier(raw, name.as_ptr().cast(), name.len()) };
        Ok(Self {
            raw,
            context: context.clone(),
            buffer: Some(Arc::clone(buffer)),
        })
    }

    /// Reads a module as a whole, bitcode or text.
    ///
    /// # Errors
    ///
    /// It is neither, or comes from an LLVM that 22 does not read.
    pub fn parse(context: &Context, buffer: &Arc<Buffer>, name: &str) -> Result<Self, Error> {
        let mut raw = ptr::null_mut();
        let mut message = ptr::null_mut();
        let view = buffer.view(name);
        // SAFETY: context and buffer are alive. The parser only borrows the view (the "2" form), which is freed here;
        // the message is ours to free.
        unsafe {
            let failed = LLVMParseIRInContext2(context.as_raw(), view, &raw mut raw, &raw mut message) != 0;
            LLVMDisposeMemoryBuffer(view);
            let message = take_message(message);
            if failed {
                return Err(Error::new(message.trim().to_owned()));
            }
        }
        Ok(Self {
            raw,
            context: context.clone(),
            // All was read: nothing is left in the bytes.
            buffer: None,
        })
    }

    /// Parses a module from its text form.
    ///
    /// # Errors
    ///
    /// The parser's message with line and column.
    pub fn parse_text(context: &Context, text: &str) -> Result<Self, Error> {
        Self::parse(context, &Buffer::copy(text.as_bytes()), "text")
    }

    /// An empty module for the same target as `model`.
    pub fn like(model: &Module, name: &str) -> Self {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the string is valid through the call, which copies it.
        let raw = unsafe { LLVMModuleCreateWithNameInContext(name.as_ptr(), model.context.as_raw()) };
        let mut module = Self {
            raw,
            context: model.context.clone(),
            buffer: None,
        };
        module.set_target_like(model);
        module
    }

    /// Takes target triple and data layout over from `model`.
    pub fn set_target_like(&mut self, model: &Module) {
        // SAFETY: both modules are alive, and the strings of the model are copied.
        unsafe {
            LLVMSetTarget(self.raw, LLVMGetTarget(model.raw));
            LLVMSetDataLayout(self.raw, LLVMGetDataLayoutStr(model.raw));
        }
    }

    pub(crate) fn as_raw(&self) -> LLVMModuleRef {
        self.raw
    }

    /// The module, for somebody who takes it over, and who drops the rest when it is gone.
    pub(crate) fn into_raw(self) -> (LLVMModuleRef, Rest) {
        let this = ManuallyDrop::new(self);
        // SAFETY: each is read once, and not dropped here.
        let rest = unsafe {
            (
                ptr::read(&raw const this.context),
                ptr::read(&raw const this.buffer),
            )
        };
        (this.raw, rest)
    }

    /// The context it lives in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn context_raw(&self) -> LLVMContextRef {
        self.context.as_raw()
    }

    /// A copy of the module, all of which must have been read.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self {
            // SAFETY: the module is alive; the copy lives in the same context.
            raw: unsafe { LLVMCloneModule(self.raw) },
            context: self.context.clone(),
            buffer: self.buffer.clone(),
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
    pub fn link(&mut self, source: Module) -> Result<(), Error> {
        self.check_context(&source)?;
        // The rest lives as long as the call: what is linked is read from its bytes meanwhile.
        let (source, _rest) = source.into_raw();
        // SAFETY: both modules are alive and of one context, which was checked. The linker takes the source over,
        // whether it succeeds or not.
        if unsafe { LLVMLinkModules2(self.raw, source) } != 0 {
            return Err(self.context.take_error("the modules cannot be linked"));
        }
        Ok(())
    }

    /// Checks that another module can be linked into this one.
    pub(crate) fn check_context(&self, other: &Self) -> Result<(), Error> {
        match self.context.is(&other.context) {
            true => Ok(()),
            false => Err(Error::new("modules of two contexts cannot be linked")),
        }
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

    /// The module as bitcode. All of it must have been read.
    pub fn to_bitcode(&self) -> Arc<Buffer> {
        // SAFETY: the module is alive. LLVM copies what it wrote into a buffer of its own, which has a zero behind it
        // and is ours.
        unsafe { Buffer::from_raw(LLVMWriteBitcodeToMemoryBuffer(self.raw)) }
    }

    /// Writes the module as bitcode to a file.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        std::fs::write(path, self.to_bitcode().bytes())
            .map_err(|error| Error::new(format!("cannot write `{}`: {error}", path.display())))
    }

    /// The module in text form.
    pub fn to_text(&self) -> Vec<u8> {
        // SAFETY: the module is alive; the text is ours, and is freed after it was copied.
        unsafe {
            let text = LLVMPrintModuleToString(self.raw);
            let copy = CStr::from_ptr(text).to_bytes().to_vec();
            LLVMDisposeMessage(text);
            copy
        }
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
                // Nobody has to supply one. `describe` leaves out the same: its numbers are
                // places in these lists.
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

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module is ours; context and buffer, which it needs to the end, are dropped after it.
        unsafe { LLVMDisposeModule(self.raw) }
    }
}

/// What a module needs that somebody took over.
pub(crate) type Rest = (Context, Option<Arc<Buffer>>);

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

    /// The string attributes of a variable; functions have theirs in several places.
    pub fn variable_attributes(&self) -> BTreeMap<String, String> {
        beyond_c::variable_attributes(self)
            .into_iter()
            // SAFETY: LLVM's attributes live as long as their context, which lives as long as the module.
            .filter_map(|attribute| unsafe { string_attribute(attribute) })
            .collect()
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
            // A linker that has a comdat of that name already drops all of this one, also what
            // only this module sees.
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

    /// Whether nobody outside of what it is linked into may see it.
    fn is_hidden(&self) -> bool {
        // SAFETY: see the head of this block.
        unsafe { LLVMGetVisibility(self.raw) == LLVMVisibility::LLVMHiddenVisibility }
    }

    /// Whether it is memory of each work group whose size the launch decides: `extern __shared__`. The device supplies it.
    pub(crate) fn is_memory_of_launch(&self, family: Family) -> bool {
        const LOCAL: c_uint = 3;
        // SAFETY: see the head of this block; a global value's type is a pointer.
        (family.is_nvptx() || family == Family::Amdgcn)
            && self.is_declaration()
            && unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(self.raw)) == LOCAL }
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
                        // Once each: constants are shared, and one leads to another by many ways.
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

    /// The instructions of a function, block by block. Each is read together with the next: it may be removed, what
    /// follows it may not.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = LLVMValueRef> + use<> {
        // SAFETY: asked of functions only, whose blocks and instructions live as long as they are not removed.
        unsafe {
            let first = LLVMGetFirstBasicBlock(self.raw);
            let blocks =
                std::iter::successors(not_null(first), |&block| not_null(LLVMGetNextBasicBlock(block)));
            blocks.flat_map(|block| {
                let mut next = not_null(LLVMGetFirstInstruction(block));
                std::iter::from_fn(move || {
                    let instruction = next?;
                    next = not_null(LLVMGetNextInstruction(instruction));
                    Some(instruction)
                })
            })
        }
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
            is_hidden: self.is_hidden(),
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
            is_hidden: self.is_hidden(),
            // SAFETY: see the head of this block; a global value's type is a pointer.
            address_space: unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(self.raw)) },
            // SAFETY: as above; asked of variables only, not of aliases.
            is_constant: unsafe {
                !LLVMIsAGlobalVariable(self.raw).is_null() && LLVMIsGlobalConstant(self.raw) != 0
            },
            ..VariableSummary::default()
        }
    }

    /// Whether a function has an attribute of LLVM's own.
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        // SAFETY: asked of functions only, which the module has; the name is read during the call.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            !LLVMGetEnumAttributeAtIndex(self.raw, FUNCTION_ATTRIBUTES, kind).is_null()
        }
    }

    pub(crate) fn string_attributes(&self, place: c_uint) -> BTreeMap<String, String> {
        // SAFETY: asked of functions only; the vector has room for as many as LLVM counted.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.raw, place);
            let mut attributes = vec![ptr::null_mut(); count as usize];
            LLVMGetAttributesAtIndex(self.raw, place, attributes.as_mut_ptr());
            let attributes = attributes.into_iter();
            attributes
                .filter_map(|attribute| string_attribute(attribute))
                .collect()
        }
    }
}

fn not_null<T>(pointer: *mut T) -> Option<*mut T> {
    (!pointer.is_null()).then_some(pointer)
}

/// Gives a function of the module a string attribute.
pub(crate) fn add_attribute(module: &Module, function: &Global<'_>, name: &str, value: &str) {
    let size = |text: &str| c_uint::try_from(text.len()).unwrap_or(0);
    // SAFETY: the context outlives the module; both strings are copied; the value is a function of the
    // module, which is alive.
    unsafe {
        let attribute = LLVMCreateStringAttribute(
            module.context_raw(),
            name.as_ptr().cast(),
            size(name),
            value.as_ptr().cast(),
            size(value),
        );
        LLVMAddAttributeAtIndex(function.as_raw(), FUNCTION_ATTRIBUTES, attribute);
    }
}

/// The name and value of a string attribute.
///
/// # Safety
///
/// The attribute's context is alive.
unsafe fn string_attribute(attribute: LLVMAttributeRef) -> Option<(String, String)> {
    // SAFETY: by this function's contract; only string attributes are asked for theirs, which the context owns.
    unsafe {
        if LLVMIsStringAttribute(attribute) == 0 {
            return None;
        }
        let mut length = 0;
        let kind = LLVMGetStringAttributeKind(attribute, &raw mut length);
        let kind = sized_text(kind, length as usize);
        let value = LLVMGetStringAttributeValue(attribute, &raw mut length);
        Some((kind, sized_text(value, length as usize)))
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
