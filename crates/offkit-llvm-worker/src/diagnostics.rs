//! What LLVM reports about code that is generated, with places.
//!
//! Of inline assembly, LLVM tells only a number that the front end left with it, in the metadata `srcloc`: clang's own
//! number for a place, which means nothing outside of clang, and which two modules may both have. So each piece of
//! assembly gets a number here, before anything is optimised, and what is known of its place is kept.

use std::ffi::c_uint;

use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;
use offkit_llvm::{Diagnostic, Place, Severity};

use crate::Error;
use crate::module::{Module, sized_text};

/// The metadata with the place of inline assembly.
const SOURCE_LOCATION: &str = "srcloc";

/// The places of a module's inline assembly, by number from 1.
#[derive(Debug, Default)]
pub(crate) struct AssemblyPlaces(Vec<Place>);

impl AssemblyPlaces {
    /// Numbers the inline assembly of a module.
    pub(crate) fn number(module: &Module) -> Self {
        let mut places = Vec::new();
        let context = module.context_raw();
        // SAFETY: the context is alive, and the name is as long as is said.
        let kind = unsafe {
            let length = SOURCE_LOCATION.len() as c_uint;
            LLVMGetMDKindIDInContext(context, SOURCE_LOCATION.as_ptr().cast(), length)
        };
        for global in module.globals().filter(|global| global.is_function()) {
            for instruction in global.instructions() {
                // SAFETY: the instruction is alive with its module, and each question is asked of what it is for.
                unsafe {
                    let is_call = !LLVMIsACallInst(instruction).is_null();
                    if !is_call || LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)).is_null() {
                        continue;
                    }
                    places.push(Place {
                        function: global.name(),
                        ..place(instruction)
                    });
                    let number = LLVMConstInt(LLVMInt64TypeInContext(context), places.len() as u64, 0);
                    let mut operand = LLVMValueAsMetadata(number);
                    let node = LLVMMDNodeInContext2(context, &raw mut operand, 1);
                    LLVMSetMetadata(instruction, kind, LLVMMetadataAsValue(context, node));
                }
            }
        }
        Self(places)
    }

    /// What was reported of the module since the last call.
    ///
    /// # Errors
    ///
    /// All errors that were reported, if there are any.
    pub(crate) fn diagnostics(&self, module: &Module, is_portable: bool) -> Result<Vec<Diagnostic>, Error> {
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        for reported in module.context().take_reported() {
            // Loops of portable code stay as they are, whatever their author asked for: the device's compiler is told.
            if is_portable && reported.text.is_about_loops {
                continue;
            }
            let number = usize::try_from(reported.text.assembly).unwrap_or_default();
            let known = number.checked_sub(1).and_then(|number| self.0.get(number));
            let diagnostic = Diagnostic {
                severity: reported.severity,
                message: reported.text.message,
                place: match known {
                    Some(place) if reported.text.place.file.is_empty() => place.clone(),
                    _ => reported.text.place,
                },
            };
            // Code that was inlined in several places is complained of in each of them.
            if !diagnostics.contains(&diagnostic) {
                diagnostics.push(diagnostic);
            }
        }
        let errors = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error);
        let errors: Vec<String> = errors.map(Diagnostic::to_string).collect();
        match errors.is_empty() {
            true => Ok(diagnostics),
            false => Err(Error::new(errors.join("\n"))),
        }
    }
}

/// Where an instruction comes from, as far as debug information tells.
///
/// # Safety
///
/// The instruction is alive.
pub(crate) unsafe fn place(instruction: LLVMValueRef) -> Place {
    let mut length = 0;
    // SAFETY: by this function's contract; the string belongs to the debug information.
    unsafe {
        let file = LLVMGetDebugLocFilename(instruction, &raw mut length);
        Place {
            function: String::new(),
            file: sized_text(file, length as usize),
            line: LLVMGetDebugLocLine(instruction),
            column: LLVMGetDebugLocColumn(instruction),
        }
    }
}
