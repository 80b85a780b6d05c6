//! Passes and code generation.

use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

use llvm_sys::core::LLVMSetTarget;
use llvm_sys::target::{LLVMDisposeTargetData, LLVMSetModuleDataLayout};
use llvm_sys::target_machine::{
    LLVMCodeGenFileType, LLVMCodeGenOptLevel, LLVMCodeModel, LLVMCreateTargetDataLayout,
    LLVMCreateTargetMachine, LLVMDisposeTargetMachine, LLVMGetDefaultTargetTriple, LLVMGetHostCPUFeatures,
    LLVMGetHostCPUName, LLVMGetTargetFromTriple, LLVMGetTargetMachineCPU, LLVMGetTargetMachineFeatureString,
    LLVMGetTargetMachineTriple, LLVMRelocMode, LLVMTargetMachineEmitToMemoryBuffer, LLVMTargetMachineRef,
};
use llvm_sys::transforms::pass_builder::{
    LLVMPassBuilderOptionsSetLoopInterleaving, LLVMPassBuilderOptionsSetLoopUnrolling,
    LLVMPassBuilderOptionsSetLoopVectorization, LLVMPassBuilderOptionsSetSLPVectorization,
};
use offkit_image::target::Family;

use crate::Error;
use crate::beyond_c;
use crate::buffer::Buffer;
use crate::context::take_message;
use crate::extensions::KNOWN_EXTENSIONS;
use crate::module::{Module, add_attribute};
use crate::passes::run_with;
use crate::targets::register;

/// Drops what is not used and what is only a copy.
const CLEAN_UP: &str = "elim-avail-extern,globaldce,strip-dead-prototypes";

/// Takes away what narrow counters are widened for.
// By its bare name in a pipeline, `instcombine` ends the process where one round leaves
// it something to do.
const NARROWED: &str = "function(instcombine<no-verify-fixpoint>,early-cse<memssa>,simplifycfg)";

/// Something that generates code for one target.
#[derive(Debug)]
pub struct TargetMachine {
    raw: LLVMTargetMachineRef,
    /// Whether the device that will run the code is not known yet.
    is_portable: bool,
    /// Whether code is text: NVIDIA's own assembler is not LLVM's.
    is_text: bool,
}

// SAFETY: LLVM ties none to a thread, and whoever has it alone uses it.
unsafe impl Send for TargetMachine {}

impl TargetMachine {
    /// A code generator for that triple, processor and features, both as LLVM names them and both perhaps
    /// empty.
    ///
    /// # Errors
    ///
    /// This LLVM has no such target.
    pub fn new(triple: &str, cpu: &str, features: &str, optimization: u8) -> Result<Self, Error> {
        register(triple);
        let family = Family::of(triple);
        let name = CString::new(triple).unwrap_or_default();
        let (cpu, features) = (
            CString::new(cpu).unwrap_or_default(),
            CString::new(features).unwrap_or_default(),
        );
        // Code of a host becomes part of a shared library; device targets know themselves what they need.
        let relocation = match family.is_device() {
            true => LLVMRelocMode::LLVMRelocDefault,
            false => LLVMRelocMode::LLVMRelocPIC,
        };
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
                cpu.as_ptr(),
                features.as_ptr(),
                level,
                relocation,
                LLVMCodeModel::LLVMCodeModelDefault,
            )
        };
        if raw.is_null() {
            return Err(Error::new(format!("cannot generate code for `{triple}`")));
        }
        Ok(Self {
            raw,
            is_portable: family.is_spirv(),
            is_text: family.is_nvptx(),
        })
    }

    /// A code generator for this machine's processor and all that it can, with features to be on or off besides (`+avx2`),
    /// or none.
    ///
    /// # Errors
    ///
    /// This LLVM has no such target.
    pub fn host(features: &str) -> Result<Self, Error> {
        // SAFETY: each gives a string that is ours to free.
        let (name, own) = unsafe {
            (
                take_message(LLVMGetHostCPUName()),
                take_message(LLVMGetHostCPUFeatures()),
            )
        };
        // The last word on a feature is the one that LLVM heeds, and an empty one none.
        Self::new(&Self::host_triple(), &name, &format!("{own},{features}"), 2)
    }

    /// The target triple of this machine.
    pub fn host_triple() -> String {
        // SAFETY: a string that is ours to free.
        unsafe { take_message(LLVMGetDefaultTargetTriple()) }
    }

    /// Has a module be one for this target, and its functions for this processor, with vectors as wide as it has.
    ///
    /// # Errors
    ///
    /// What LLVM reports.
    pub fn adopt(&self, module: &mut Module) -> Result<(), Error> {
        // SAFETY: machine and module are alive; strings and the layout are ours to free, and the module copies both.
        let (cpu, features) = unsafe {
            let triple = LLVMGetTargetMachineTriple(self.raw);
            LLVMSetTarget(module.as_raw(), triple);
            take_message(triple);
            let layout = LLVMCreateTargetDataLayout(self.raw);
            LLVMSetModuleDataLayout(module.as_raw(), layout);
            LLVMDisposeTargetData(layout);
            (
                take_message(LLVMGetTargetMachineCPU(self.raw)),
                take_message(LLVMGetTargetMachineFeatureString(self.raw)),
            )
        };
        for function in module
            .globals()
            .filter(|global| global.is_function() && !global.is_declaration())
        {
            for (name, value) in [
                ("target-cpu", &*cpu),
                ("target-features", &features),
                // Of itself LLVM takes half of AVX-512's width on Intel's processors, as the whole
                // once slowed their clock. Kernels are planned for vectors of the whole.
                ("prefer-vector-width", "512"),
            ] {
                add_attribute(module, &function, name, value);
            }
        }
        Ok(())
    }

    /// Runs passes.
    ///
    /// # Errors
    ///
    /// What LLVM reports.
    pub fn run(&self, module: &mut Module, pipeline: &str) -> Result<(), Error> {
        // SAFETY: the machine is alive.
        unsafe { run_with(module, pipeline, self.raw, |_| {}) }
    }

    /// Whether the device that will run the code is not known yet.
    pub fn is_portable(&self) -> bool {
        self.is_portable
    }

    /// Optimises the module and drops what its external symbols do not need.
    ///
    /// For SPIR-V, loops are neither unrolled nor vectorised: which device will run the code is not known
    /// here, and each device's own compiler does better on plain loops.
    ///
    /// # Errors
    ///
    /// What LLVM reports.
    pub fn optimize(&self, module: &mut Module, optimization: u8) -> Result<(), Error> {
        let pipeline = match optimization {
            // Inlined all the same is what says so, such as the functions that `legalise` defines.
            0 => format!("{CLEAN_UP},always-inline,globaldce,strip-dead-prototypes"),
            level => format!(
                "{CLEAN_UP},default<O{}>,globaldce,strip-dead-prototypes",
                level.min(3)
            ),
        };
        let set = |options| {
            if self.is_portable {
                // SAFETY: the options are alive.
                unsafe {
                    LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
                    LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
                    LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
                    LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
                }
            }
        };
        // SAFETY: the machine is alive.
        unsafe { run_with(module, &pipeline, self.raw, set) }
    }

    /// Has loops count in 32 bits where these suffice, as compilers of languages whose counters have 32 bits leave them.
    ///
    /// Compilers to SPIR-V, which don't know the device, widen counters to the 64 bits that addresses have. A GPU has no
    /// registers that wide, so that each step and each comparison are two, and NVIDIA's assembler unrolls no loop that it
    /// doesn't see count in one.
    ///
    /// # Errors
    ///
    /// What LLVM reports.
    pub fn narrow(&self, module: &mut Module) -> Result<(), Error> {
        // SAFETY: machine and module are alive.
        unsafe { beyond_c::narrow(module.as_raw(), self.raw) };
        // It rewrites instructions by hand, and is no pass of LLVM's. A release takes it on trust.
        if cfg!(debug_assertions) {
            module.verify()?;
        }
        self.run(module, NARROWED)
    }

    /// Generates code.
    ///
    /// # Errors
    ///
    /// What LLVM reports; much of what goes wrong in a code generator ends the process instead.
    pub fn emit(&self, module: &Module) -> Result<Arc<Buffer>, Error> {
        self.generate(
            module,
            match self.is_text {
                true => LLVMCodeGenFileType::LLVMAssemblyFile,
                false => LLVMCodeGenFileType::LLVMObjectFile,
            },
        )
    }

    /// Generates code as text.
    ///
    /// # Errors
    ///
    /// Those of [`emit`](Self::emit).
    pub fn assembly(&self, module: &Module) -> Result<Arc<Buffer>, Error> {
        self.generate(module, LLVMCodeGenFileType::LLVMAssemblyFile)
    }

    fn generate(&self, module: &Module, kind: LLVMCodeGenFileType) -> Result<Arc<Buffer>, Error> {
        let mut message = ptr::null_mut();
        let mut code = ptr::null_mut();
        // SAFETY: machine and module are alive; LLVM copies what it wrote into a buffer of its own, which has a zero
        // behind it and is ours, as is the message.
        unsafe {
            let (machine, module) = (self.raw, module.as_raw());
            if LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &raw mut message, &raw mut code)
                != 0
            {
                return Err(Error::new(take_message(message)));
            }
            Ok(Buffer::from_raw(code))
        }
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: the machine is ours, and modules hold no reference to it.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

/// Sets which SPIR-V extensions the code generator may use, and other options of LLVM's.
///
/// These are settings of the whole process: LLVM has no other way.
///
/// # Errors
///
/// An extension or an option that LLVM does not know, or a value that is none of the option's.
pub fn set_options(extensions: &[String], others: &[String]) -> Result<(), Error> {
    if let Some(unknown) = extensions
        .iter()
        .find(|name| !KNOWN_EXTENSIONS.contains(&name.as_str()))
    {
        return Err(Error::new(format!("LLVM knows no SPIR-V extension `{unknown}`")));
    }
    let list: Vec<_> = extensions.iter().map(|name| format!("+{name}")).collect();
    let extensions = format!("--spirv-ext={}", list.join(","));
    beyond_c::set_options(&[extensions], others)
}
