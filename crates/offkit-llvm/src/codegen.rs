//! Passes and code generation.

use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr;
use std::sync::Once;

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::support::LLVMParseCommandLineOptions;
use llvm_sys::target::{
    LLVM_InitializeAllAsmPrinters, LLVM_InitializeAllTargetInfos, LLVM_InitializeAllTargetMCs,
    LLVM_InitializeAllTargets,
};
use llvm_sys::target_machine::{
    LLVMCodeGenFileType, LLVMCodeGenOptLevel, LLVMCodeModel, LLVMCreateTargetMachine,
    LLVMDisposeTargetMachine, LLVMGetTargetFromTriple, LLVMRelocMode, LLVMTargetMachineEmitToFile,
    LLVMTargetMachineRef,
};
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMPassBuilderOptionsSetLoopInterleaving,
    LLVMPassBuilderOptionsSetLoopUnrolling, LLVMPassBuilderOptionsSetLoopVectorization,
    LLVMPassBuilderOptionsSetSLPVectorization, LLVMRunPasses,
};

use crate::Error;
use crate::context::take_message;
use crate::extensions::KNOWN_EXTENSIONS;
use crate::module::Module;

/// Drops what is not used and what is only a copy.
const CLEAN_UP: &str = "elim-avail-extern,globaldce,strip-dead-prototypes";

/// Something that generates code for one target.
#[derive(Debug)]
pub struct TargetMachine {
    raw: LLVMTargetMachineRef,
}

impl TargetMachine {
    /// A code generator for that triple.
    ///
    /// # Errors
    ///
    /// This LLVM has no such target.
    pub fn new(triple: &str, optimization: u8) -> Result<Self, Error> {
        static TARGETS: Once = Once::new();
        // SAFETY: registering targets has no conditions beyond happening once at a time.
        TARGETS.call_once(|| unsafe {
            LLVM_InitializeAllTargetInfos();
            LLVM_InitializeAllTargets();
            LLVM_InitializeAllTargetMCs();
            LLVM_InitializeAllAsmPrinters();
        });
        let name = CString::new(triple).unwrap_or_default();
        let level = match optimization {
            0 => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
            1 => LLVMCodeGenOptLevel::LLVMCodeGenLevelLess,
            2 => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
            _ => LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
        };
        let mut target = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: the strings are valid through the calls, and the target that the first finds is a
        // static of LLVM's.
        let raw = unsafe {
            if LLVMGetTargetFromTriple(name.as_ptr(), &raw mut target, &raw mut message) != 0 {
                return Err(Error::new(take_message(message)));
            }
            LLVMCreateTargetMachine(
                target,
                name.as_ptr(),
                c"".as_ptr(),
                c"".as_ptr(),
                level,
                LLVMRelocMode::LLVMRelocDefault,
                LLVMCodeModel::LLVMCodeModelDefault,
            )
        };
        if raw.is_null() {
            return Err(Error::new(format!("cannot generate code for `{triple}`")));
        }
        Ok(Self { raw })
    }

    /// Optimises the module and drops what its external symbols do not need.
    ///
    /// Loops are neither unrolled nor vectorised: which device will run the code is not known here,
    /// and each device's own compiler does better on plain loops.
    ///
    /// # Errors
    ///
    /// What LLVM reports.
    pub fn optimize(&self, module: &mut Module<'_>, optimization: u8) -> Result<(), Error> {
        let pipeline = match optimization {
            0 => format!("{CLEAN_UP},always-inline,globaldce,strip-dead-prototypes"),
            level => format!(
                "{CLEAN_UP},default<O{}>,globaldce,strip-dead-prototypes",
                level.min(3)
            ),
        };
        let pipeline = CString::new(pipeline).unwrap_or_default();
        // SAFETY: module and machine are alive, the options are ours and freed below, and an error
        // is taken over by the function that reads it.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
            LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
            LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
            LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
            let error = LLVMRunPasses(module.as_raw(), pipeline.as_ptr(), self.raw, options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let message = LLVMGetErrorMessage(error);
            let text = std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(message);
            Err(Error::new(text))
        }
    }

    /// Generates code into a file.
    ///
    /// # Errors
    ///
    /// What LLVM reports; much of what goes wrong in a code generator ends the process instead.
    pub fn emit(&self, module: &Module<'_>, output: &Path) -> Result<(), Error> {
        let name = CString::new(output.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::new("the path holds a zero byte"))?;
        let mut message = ptr::null_mut();
        let kind = LLVMCodeGenFileType::LLVMObjectFile;
        // SAFETY: machine and module are alive, and the path is valid through the call.
        unsafe {
            if LLVMTargetMachineEmitToFile(self.raw, module.as_raw(), name.as_ptr(), kind, &raw mut message)
                != 0
            {
                return Err(Error::new(take_message(message)));
            }
        }
        Ok(())
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: the machine is ours, and modules hold no reference to it.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

/// Sets which SPIR-V extensions the code generator may use.
///
/// This is a setting of the whole process: LLVM has no other way.
///
/// # Errors
///
/// A name that LLVM does not know.
pub fn set_spirv_extensions(extensions: &[String]) -> Result<(), Error> {
    if let Some(unknown) = extensions
        .iter()
        .find(|name| !KNOWN_EXTENSIONS.contains(&name.as_str()))
    {
        return Err(Error::new(format!("LLVM knows no SPIR-V extension `{unknown}`")));
    }
    let list: Vec<_> = extensions.iter().map(|name| format!("+{name}")).collect();
    let option = CString::new(format!("--spirv-ext={}", list.join(","))).unwrap_or_default();
    let arguments: [*const c_char; 2] = [c"offkit-llvm-worker".as_ptr(), option.as_ptr()];
    // SAFETY: two valid strings and their count; LLVM copies what it keeps.
    unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), c"".as_ptr()) };
    Ok(())
}
