//! Kernels that are compiled and run one step at a time: for the tests of this crate, and for tools that ask what becomes
//! of many kernels.

use std::sync::Arc;
use std::time::{Duration, Instant};

use offkit_compile::Variant;
use offkit_llvm::{CompileRequest, Compiled, Effort};
use offkit_pi::NdRange;

use super::code::Code;
use super::kept::Source;
use super::kernel::CompiledKernel;
use super::options::KernelOptions;
use super::order::Order;
use crate::kernel::KernelCode;
use crate::launch::{Arguments, Geometry};
use crate::{Argument, LaunchError, LaunchOptions, Program};

/// How long code is waited for: longer than the process has for a kernel.
const LIMIT: Duration = Duration::from_secs(90);

/// A kernel as the device runs it that compiles, with code of one tier.
#[doc(hidden)]
pub struct Trial {
    kernel: CompiledKernel,
    options: TrialOptions,
}

/// How the code of a trial is made.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TrialOptions {
    /// With all passes, not with few.
    pub at_full_effort: bool,
    /// A product and a sum may be one operation.
    pub contract: bool,
    /// Accesses are checked.
    pub check_bounds: bool,
}

impl Trial {
    /// A kernel of a program that was built of a module, by its number.
    pub fn new(program: &Arc<Program>, spirv: &[u8], kernel: usize, options: TrialOptions) -> Trial {
        let source = Arc::new(Source::new(spirv.to_vec()));
        let built = KernelOptions {
            check_bounds: options.check_bounds,
            ..KernelOptions::default()
        };
        Trial {
            kernel: CompiledKernel::new(program, kernel, &source, built),
            options,
        }
    }

    /// Compiles the kernel for launches over a range, or for the likeliest ones, and tells what is to be known of the code.
    ///
    /// # Errors
    /// Why there is no code, or why the range is none.
    pub fn compile(&self, range: Option<&NdRange>) -> Result<Vec<String>, String> {
        let (number, variant) = match range {
            Some(range) => {
                let geometry = self.kernel.geometry(range).map_err(|error| error.to_string())?;
                let (_, number, variant) = self.kernel.slot(&geometry).ok_or_else(|| self.none())?;
                (number, variant)
            }
            None => self.kernel.likely().ok_or_else(|| self.none())?,
        };
        let code = self.make(number, variant).ok_or_else(|| self.none())?;
        code.as_ref()
            .map(|code| code.notes.clone())
            .map_err(String::clone)
    }

    /// Has the code for launches over a range made by somebody else than the process that compiles.
    ///
    /// # Errors
    /// Why there is no code, or why the range is none.
    pub fn compile_by(
        &self,
        range: &NdRange,
        compile: impl FnOnce(&CompileRequest) -> Result<Compiled, String>,
    ) -> Result<(), String> {
        let geometry = self.kernel.geometry(range).map_err(|error| error.to_string())?;
        let Some((slot, number, variant)) = self.kernel.slot(&geometry) else {
            return Err(self.none());
        };
        // Nobody else is asked.
        _ = slot.is_to_be_asked_for();
        let (order, effort) = (self.order(number, variant), self.effort());
        let code = compile(&order.request(effort)).and_then(|compiled| order.load(effort, &compiled));
        let failed = code.as_ref().err().cloned();
        slot.fill(effort, code);
        failed.map_or(Ok(()), Err)
    }

    /// What is said where nobody says why there is no code.
    fn none(&self) -> String {
        let note = self.kernel.note();
        note.unwrap_or_else(|| "there is no code".to_owned())
    }

    fn effort(&self) -> Effort {
        match self.options.at_full_effort {
            true => Effort::Full,
            false => Effort::Light,
        }
    }

    fn order(&self, number: usize, variant: Variant) -> Order {
        let contract = self.options.contract;
        let mut order = self.kernel.order(number, Variant { contract, ..variant });
        // The code of one tier is asked for, and no other may take its place while it is measured.
        order.is_improved = false;
        order
    }

    fn make(&self, number: usize, variant: Variant) -> Option<&Result<Code, String>> {
        let slot = self.kernel.numbered(number)?;
        if slot.is_to_be_asked_for() {
            self.order(number, variant).make(self.effort(), Instant::now());
        }
        // A launch is interpreted where that takes long; what asks for the code itself wants it.
        let asked = Instant::now();
        while slot.wait().is_none() && asked.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(5));
        }
        slot.get()
    }

    fn make_for(&self, geometry: &Geometry) {
        if let Some((_, number, variant)) = self.kernel.slot(geometry) {
            self.make(number, variant);
        }
    }

    /// Runs the kernel compiled. Where there is no code for it, it is not run, and this tells why; likewise where it was
    /// interpreted all the same.
    ///
    /// # Errors
    /// As [`Program::launch`].
    pub fn launch(
        &self,
        range: &NdRange,
        arguments: &[Argument],
        options: &LaunchOptions<'_>,
    ) -> Result<Option<String>, LaunchError> {
        let info = self.kernel.info();
        let arguments = Arguments::of(info, arguments)?;
        arguments.check_local_memory(info)?;
        if range.global.contains(&0) {
            return Ok(None);
        }
        let geometry = self.kernel.geometry(range)?;
        // Before the launch, which would wait for code only so long, and then interpret the kernel.
        self.make_for(&geometry);
        if let Some(reason) = self.kernel.note() {
            return Ok(Some(reason));
        }
        self.kernel.run(&geometry, &arguments, options)?;
        Ok(self.kernel.note())
    }
}

/// Runs a kernel as [`Trial::launch`] does.
///
/// For tests of this crate; `spirv` is what the program was built of.
///
/// # Errors
/// As [`Program::launch`].
#[doc(hidden)]
pub fn launch_compiled(
    program: &Arc<Program>,
    spirv: &[u8],
    kernel: &str,
    range: &NdRange,
    arguments: &[Argument],
    options: &LaunchOptions<'_>,
    trial: TrialOptions,
) -> Result<Option<String>, LaunchError> {
    match program.kernels().iter().position(|info| info.name == kernel) {
        Some(index) => Trial::new(program, spirv, index, trial).launch(range, arguments, options),
        None => program.launch(kernel, range, arguments, options).map(|()| None),
    }
}
