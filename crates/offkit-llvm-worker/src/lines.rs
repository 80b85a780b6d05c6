//! Source lines for SPIR-V, of which LLVM 22's back end writes none.
//!
//! They come through it as calls of functions without a body, one function for each place in a source file. The calls
//! are put in when optimisation is done, and [`put_lines`] makes `OpLine` of what the back end made of them.
//! (`--spv-emit-nonsemantic-debug-info` is no help: LLVM 22 writes files and basic types with it, and not one line.)

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use llvm_sys::core::*;
use llvm_sys::debuginfo::{
    LLVMDIFileGetDirectory, LLVMDIFileGetFilename, LLVMDILocationGetColumn, LLVMDILocationGetLine,
    LLVMDILocationGetScope, LLVMDIScopeGetFile, LLVMGetSubprogram, LLVMInstructionGetDebugLoc,
};
use llvm_sys::prelude::{LLVMBuilderRef, LLVMMetadataRef, LLVMTypeRef, LLVMValueRef};
use offkit_spirv::{SourceLine, put_lines};

use crate::Error;
use crate::module::{FUNCTION_ATTRIBUTES, Module, SPIR_FUNCTION, sized_text, value_name};

/// What keeps the back end from treating code with marks otherwise than code without: a mark returns, and touches no
/// memory that anybody else sees. It is not removed, for all that, as it does touch some.
const ATTRIBUTES: [(&str, u64); 3] = [
    ("nounwind", 0),
    ("willreturn", 0),
    ("memory", INACCESSIBLE_MEMORY),
];

/// `memory(inaccessiblemem: readwrite)` (llvm/Support/ModRef.h).
const INACCESSIBLE_MEMORY: u64 = 0b11 << 2;

/// The marks in a module, by their names: what each stands for, if it is not the end of a line.
pub(crate) struct Lines(HashMap<String, Option<SourceLine>>);

impl Lines {
    /// Puts marks into a module, or none if its code has no source lines.
    pub(crate) fn mark(module: &Module) -> Option<Self> {
        let functions: Vec<LLVMValueRef> = (module.globals())
            .filter(|global| global.is_function() && !global.is_declaration())
            .map(|global| global.as_raw())
            // SAFETY: the module is alive, and these are functions of it.
            .filter(|function| unsafe { !LLVMGetSubprogram(*function).is_null() })
            .collect();
        if functions.is_empty() {
            return None;
        }
        // SAFETY: module and context are alive; the builder is ours and freed.
        unsafe {
            let context = module.context_raw();
            let nothing = LLVMVoidTypeInContext(context);
            let builder = LLVMCreateBuilderInContext(context);
            let mut marker = Marker {
                module,
                builder,
                of_type: LLVMFunctionType(nothing, std::ptr::null_mut(), 0, 0),
                files: HashMap::new(),
                functions: HashMap::new(),
                marks: HashMap::new(),
            };
            for function in functions {
                marker.mark(function);
            }
            LLVMDisposeBuilder(builder);
            Some(Self(marker.marks))
        }
    }

    /// The code that the back end made, with lines where the marks were.
    ///
    /// # Errors
    ///
    /// It is not SPIR-V.
    pub(crate) fn put(&self, code: &[u8]) -> Result<Vec<u8>, Error> {
        put_lines(code, &self.0).map_err(|error| Error::new(format!("LLVM wrote damaged SPIR-V: {error}")))
    }
}

/// Puts marks into functions.
struct Marker<'a> {
    module: &'a Module,
    builder: LLVMBuilderRef,
    of_type: LLVMTypeRef,
    /// Paths of files.
    files: HashMap<LLVMMetadataRef, Arc<str>>,
    functions: HashMap<Option<SourceLine>, LLVMValueRef>,
    marks: HashMap<String, Option<SourceLine>>,
}

impl Marker<'_> {
    /// # Safety
    ///
    /// It is a function of the module.
    unsafe fn mark(&mut self, function: LLVMValueRef) {
        // SAFETY: blocks and instructions are of this function, and only ever followed from one to the next.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function);
            while !block.is_null() {
                // In SPIR-V a line holds to the end of its block: each tells its own again.
                let mut current = None;
                let mut instruction = LLVMGetFirstInstruction(block);
                while !instruction.is_null() {
                    if has_line(instruction) {
                        let line = self.line_of(instruction);
                        if line != current {
                            self.call(&line, instruction);
                            current = line;
                        }
                    }
                    instruction = LLVMGetNextInstruction(instruction);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }

    /// Where an instruction comes from: of inlined code, the line that it was written in.
    ///
    /// # Safety
    ///
    /// It is an instruction of the module.
    unsafe fn line_of(&mut self, instruction: LLVMValueRef) -> Option<SourceLine> {
        // SAFETY: metadata lives as long as its module; each has the kind that is asked of it.
        unsafe {
            let location = LLVMInstructionGetDebugLoc(instruction);
            if location.is_null() {
                return None;
            }
            let line = LLVMDILocationGetLine(location);
            let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
            if line == 0 || file.is_null() {
                return None;
            }
            let path = self.files.entry(file).or_insert_with(|| path(file).into());
            Some(SourceLine {
                file: Arc::clone(path),
                line,
                column: LLVMDILocationGetColumn(location),
            })
        }
    }

    /// Puts a call of a line's mark before an instruction.
    ///
    /// # Safety
    ///
    /// It is an instruction of the module.
    unsafe fn call(&mut self, line: &Option<SourceLine>, instruction: LLVMValueRef) {
        let known = self.functions.get(line).copied();
        let mark = known.unwrap_or_else(|| self.declare(line));
        // SAFETY: builder, type and function are of the module's context, and LLVM takes no arguments from a null
        // pointer.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction);
            let nothing = std::ptr::null_mut();
            let call = LLVMBuildCall2(self.builder, self.of_type, mark, nothing, 0, c"".as_ptr());
            LLVMSetInstructionCallConv(call, SPIR_FUNCTION);
        }
    }

    fn declare(&mut self, line: &Option<SourceLine>) -> LLVMValueRef {
        let name = CString::new(format!("__offkit_line_{}", self.functions.len())).unwrap_or_default();
        // SAFETY: the module is alive, and copies the name, or takes another if the module has that one.
        let (mark, name) = unsafe {
            let mark = LLVMAddFunction(self.module.as_raw(), name.as_ptr(), self.of_type);
            LLVMSetFunctionCallConv(mark, SPIR_FUNCTION);
            for (name, value) in ATTRIBUTES {
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(self.module.context_raw(), kind, value);
                LLVMAddAttributeAtIndex(mark, FUNCTION_ATTRIBUTES, attribute);
            }
            (mark, value_name(mark))
        };
        self.functions.insert(line.clone(), mark);
        self.marks.insert(name, line.clone());
        mark
    }
}

/// Whether an instruction can have a line before it, and any use of one. Others come first in their blocks, or are
/// all of a block, which the back end then removes.
///
/// # Safety
///
/// It is an instruction.
unsafe fn has_line(instruction: LLVMValueRef) -> bool {
    // SAFETY: it is an instruction, and only branches are asked for their conditions.
    unsafe {
        let is_jump = !LLVMIsABranchInst(instruction).is_null() && LLVMIsConditional(instruction) == 0;
        let comes_first = !LLVMIsAPHINode(instruction).is_null() || !LLVMIsAAllocaInst(instruction).is_null();
        !is_jump && !comes_first
    }
}

/// The path of a file, with its folder where there is one.
///
/// # Safety
///
/// It is the description of a file.
unsafe fn path(file: LLVMMetadataRef) -> String {
    // SAFETY: the description is alive, and owns its strings, of which the lengths are given.
    let [folder, name] = unsafe {
        let mut length = 0;
        [LLVMDIFileGetDirectory, LLVMDIFileGetFilename].map(|get| {
            let string = get(file, &raw mut length);
            sized_text(string, length as usize)
        })
    };
    // Also as Windows has it: the code may have been compiled there, wherever this runs.
    let is_absolute = name.starts_with(['/', '\\']) || name.get(1..2) == Some(":");
    match is_absolute || folder.is_empty() {
        true => name,
        false => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}
