//! Where in its source each instruction of a kernel's code came from, for debuggers.
//!
//! Inlined functions have become part of the kernel by now: there is one function, whose instructions may be of several
//! files. What is between blocks, such as the loop over vectors, has no place.

use std::cell::RefCell;
use std::collections::HashMap;

use llvm_sys::LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
use llvm_sys::core::{LLVMAddModuleFlag, LLVMValueAsMetadata};
use llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateCompileUnit, LLVMDIBuilderCreateDebugLocation,
    LLVMDIBuilderCreateFile, LLVMDIBuilderCreateFunction, LLVMDIBuilderCreateLexicalBlockFile,
    LLVMDIBuilderCreateSubroutineType, LLVMDIBuilderFinalize, LLVMDIFlagZero, LLVMDWARFEmissionKind,
    LLVMDWARFSourceLanguage, LLVMDebugMetadataVersion, LLVMDisposeDIBuilder, LLVMSetSubprogram,
};
use llvm_sys::prelude::{LLVMDIBuilderRef, LLVMMetadataRef};
use offkit_kernel::ir::{self, FileId, Function, Line};

use super::builder::{Builder, Value};

/// What the code says that it was made by.
const PRODUCER: &str = concat!("offkit ", env!("CARGO_PKG_VERSION"));

/// The places of one function.
pub(super) struct Places<'b, 'm> {
    builder: &'b Builder<'m>,
    raw: LLVMDIBuilderRef,
    files: &'b [String],
    first: Line,
    /// What instructions of a file are in.
    scopes: RefCell<HashMap<FileId, LLVMMetadataRef>>,
    function: LLVMMetadataRef,
}

/// The first place that a kernel tells.
fn first(code: &Function) -> Option<Line> {
    let mut lines = code.blocks.iter().flat_map(|block| {
        let instructions = block.instructions.iter().map(|instruction| instruction.line);
        instructions.chain([block.line])
    });
    lines.find_map(|line| line)
}

impl<'b, 'm> Places<'b, 'm> {
    /// Those of a kernel's function, if the kernel tells any.
    pub(super) fn new(
        builder: &'b Builder<'m>,
        function: Value<'m>,
        module: &'b ir::Module,
        code: &Function,
    ) -> Option<Self> {
        let first = first(code)?;
        let kernel = &module.kernels.first()?.name;
        let (unit, nothing) = (builder.module_raw(), c"".as_ptr());
        // SAFETY: the module is alive, all strings have their lengths told, and what is made belongs to the module's context.
        unsafe {
            let version = builder.integer(builder.int(32), LLVMDebugMetadataVersion().into());
            let flag = "Debug Info Version";
            LLVMAddModuleFlag(
                unit,
                LLVMModuleFlagBehaviorWarning,
                flag.as_ptr().cast(),
                flag.len(),
                LLVMValueAsMetadata(version.as_raw()),
            );
            let raw = LLVMCreateDIBuilder(unit);
            let file = file(raw, &module.files, first.file);
            LLVMDIBuilderCreateCompileUnit(
                raw,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageOpenCL,
                file,
                PRODUCER.as_ptr().cast(),
                PRODUCER.len(),
                1,
                nothing,
                0,
                0,
                nothing,
                0,
                // With lines alone there would be no function to stop in.
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindFull,
                0,
                0,
                0,
                nothing,
                0,
                nothing,
                0,
            );
            let ty = LLVMDIBuilderCreateSubroutineType(raw, file, std::ptr::null_mut(), 0, LLVMDIFlagZero);
            let described = LLVMDIBuilderCreateFunction(
                raw,
                file,
                kernel.as_ptr().cast(),
                kernel.len(),
                nothing,
                0,
                file,
                first.line,
                ty,
                0,
                1,
                first.line,
                LLVMDIFlagZero,
                1,
            );
            LLVMSetSubprogram(function.as_raw(), described);
            Some(Self {
                builder,
                raw,
                files: &module.files,
                first,
                scopes: RefCell::new(HashMap::from([(first.file, described)])),
                function: described,
            })
        }
    }

    /// Has what is written from now on be of a place, or of none.
    pub(super) fn set(&self, line: Option<Line>) {
        let location = line.map(|line| {
            let mut scopes = self.scopes.borrow_mut();
            let scope = scopes.entry(line.file).or_insert_with(|| {
                // SAFETY: the builder is alive, and so is what it made.
                unsafe {
                    let file = file(self.raw, self.files, line.file);
                    LLVMDIBuilderCreateLexicalBlockFile(self.raw, self.function, file, 0)
                }
            });
            // SAFETY: the scope is in the module's context.
            unsafe {
                let context = self.builder.context_raw();
                // Kernels' forms have lines and no columns.
                LLVMDIBuilderCreateDebugLocation(context, line.line, 0, *scope, std::ptr::null_mut())
            }
        });
        // SAFETY: made just now, in a scope of the function that is written.
        unsafe { self.builder.set_location(location) };
    }

    /// Has what is written be of the place where the kernel begins.
    pub(super) fn begin(&self) {
        self.set(Some(self.first));
    }
}

/// # Safety
///
/// The builder is alive.
unsafe fn file(raw: LLVMDIBuilderRef, files: &[String], file: FileId) -> LLVMMetadataRef {
    let name = files.get(file.0 as usize).map_or("", String::as_str);
    // SAFETY: the name's length is told; there is no folder, as the names of files have theirs.
    unsafe { LLVMDIBuilderCreateFile(raw, name.as_ptr().cast(), name.len(), c"".as_ptr(), 0) }
}

impl Drop for Places<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        unsafe {
            LLVMDIBuilderFinalize(self.raw);
            LLVMDisposeDIBuilder(self.raw);
        }
    }
}
