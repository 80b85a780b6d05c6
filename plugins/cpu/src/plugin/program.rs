//! Programs: SPIR-V, compiled, linked and built.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Build, Error, GlobalVariable, Program, Ref, Result};
use offkit_spirv::{LinkedPrograms, Module, ProgramError, link_programs};
use std::collections::HashMap;
use std::sync::Arc;

use super::Cpu;
use super::device::CpuDevice;
use super::kernel::CpuKernel;
use crate::compiled::{self, CompiledKernel, KernelOptions, kernel_options};
use crate::kernel::KernelCode;
use crate::native::{self, Table};
use crate::pool::FloatMode;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::{BuildError, Memory};

/// Device code, from SPIR-V to something that runs.
pub(crate) struct CpuProgram {
    memory: Arc<Memory>,
    source: Source,
    state: Mutex<State>,
    /// Whether the devices of the context compile kernels.
    compiles: bool,
}

/// What a program was made from.
enum Source {
    SpirV(offkit_spirv::Program),
    /// Functions of this process, which are what they are.
    Native(Table),
    /// Other programs.
    Linked,
}

#[derive(Default)]
struct State {
    build: Build,
    /// Values for the next compile or build, as bits, by SpecId.
    specialization: HashMap<u32, u64>,
    /// What can be linked.
    object: Option<Arc<Module>>,
    /// What can be run.
    executable: Option<Executable>,
}

/// What can be run.
#[derive(Clone)]
struct Executable {
    kernels: Arc<[Arc<dyn KernelCode>]>,
    /// The module that has the variables; native functions have none that are known.
    variables: Option<Arc<crate::Program>>,
}

/// Builds a module whose specialization constants have their values.
fn build(
    module: &Module,
    memory: &Arc<Memory>,
    compiles: bool,
    options: KernelOptions,
) -> Result<Executable, BuildError> {
    let program = Arc::new(crate::Program::from_module(module, Arc::clone(memory))?);
    let kernels = 0..program.kernels().len();
    let kernels = if compiles {
        let source = Arc::new(compiled::Source::new(module.to_bytes()));
        let kernels = kernels.map(|index| Arc::new(CompiledKernel::new(&program, index, &source, options)));
        let kernels: Vec<_> = kernels.collect();
        if let Some(kernel) = kernels.first() {
            kernel.expect_launch(kernels.len() == 1);
        }
        kernels.into_iter().map(|kernel| kernel as _).collect()
    } else {
        kernels
            .map(|index| Arc::new(program.kernel(index)) as _)
            .collect()
    };
    Ok(Executable {
        kernels,
        variables: Some(program),
    })
}

/// The kernels of a table of native functions.
fn kernels_of(table: &Table) -> Executable {
    let kernels = table.iter().map(|kernel| Arc::clone(kernel) as _);
    Executable {
        kernels: kernels.collect(),
        variables: None,
    }
}

impl CpuProgram {
    pub(super) fn new(memory: &Arc<Memory>, il: &[u8], compiles: bool) -> Result<CpuProgram> {
        if let Some(table) = native::named(il) {
            return Ok(CpuProgram {
                memory: Arc::clone(memory),
                source: Source::Native(table.map_err(|error| Error::new(PI_INVALID_VALUE, error))?),
                state: Mutex::default(),
                compiles,
            });
        }
        // The rest is looked at by the compiler, which has a log to write to.
        let program = offkit_spirv::Program::new(il).map_err(|error| Error::new(PI_INVALID_VALUE, error))?;
        Ok(CpuProgram {
            memory: Arc::clone(memory),
            source: Source::SpirV(program),
            state: Mutex::default(),
            compiles,
        })
    }

    /// Links compiled programs. What goes wrong is in the new program's log.
    pub(super) fn link(
        memory: &Arc<Memory>,
        programs: &[Ref<CpuProgram>],
        options: &str,
        compiles: bool,
    ) -> Result<CpuProgram> {
        let objects: Vec<Arc<Module>> = programs
            .iter()
            .map(|program| program.state().object.clone())
            .collect::<Option<_>>()
            .ok_or_else(|| Error::new(PI_INVALID_OPERATION, "a program to link has not been compiled"))?;
        let library = options
            .split_ascii_whitespace()
            .any(|option| option == "-create-library");
        // Code is made for what is linked, and not for its parts: what these were compiled with
        // would be forgotten.
        let parts = programs
            .iter()
            .map(|program| program.state().build.options.clone());
        let parts: Vec<String> = parts.collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let for_kernels = KernelOptions::of(&kernel_options(options, &parts));
        let _mode = FloatMode::standard();
        let linked = link_programs(&objects, library).map_err(|error| error.to_string());
        let linked = linked.and_then(|linked| {
            if library {
                return Ok((Some(linked.module), None));
            }
            let executable = build(&linked.module, memory, compiles, for_kernels)
                .map_err(|error| explain(&linked, error))?;
            Ok((None, Some(executable)))
        });
        let mut state = State::default();
        state.build.options = options.to_owned();
        match linked {
            Ok((object, executable)) => {
                state.build.status = PI_PROGRAM_BUILD_STATUS_SUCCESS;
                state.build.binary_type = match library {
                    true => PI_PROGRAM_BINARY_TYPE_LIBRARY,
                    false => PI_PROGRAM_BINARY_TYPE_EXECUTABLE,
                };
                state.object = object.map(Arc::new);
                state.executable = executable;
            }
            Err(log) => {
                state.build.status = PI_PROGRAM_BUILD_STATUS_ERROR;
                state.build.log = log;
            }
        }
        Ok(CpuProgram {
            memory: Arc::clone(memory),
            source: Source::Linked,
            state: Mutex::new(state),
            compiles,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles or builds: `work` makes something of the module and the specialization constants.
    fn make(
        &self,
        options: &str,
        failure: pi_result,
        work: impl FnOnce(Module, &mut State) -> Result<pi_program_binary_type, String>,
    ) -> Result<()> {
        let mut state = self.state();
        let Source::SpirV(source) = &self.source else {
            return Err(Error::new(
                PI_INVALID_OPERATION,
                "a program of other programs, or of native functions, has nothing to compile",
            ));
        };
        state.build = Build {
            options: options.to_owned(),
            ..Build::default()
        };
        // Whatever fails from here on, nothing of an earlier build is left to be run or linked.
        (state.object, state.executable) = (None, None);
        // The host may compute with numbers in another way than the device and its compiler.
        let _mode = FloatMode::standard();
        let module = source.specialized(&state.specialization);
        match module
            .map_err(|error| error.to_string())
            .and_then(|module| work(module, &mut state))
        {
            Ok(binary_type) => {
                state.build.status = PI_PROGRAM_BUILD_STATUS_SUCCESS;
                state.build.binary_type = binary_type;
                Ok(())
            }
            Err(log) => {
                state.build.status = PI_PROGRAM_BUILD_STATUS_ERROR;
                state.build.log.clone_from(&log);
                Err(Error::new(failure, log))
            }
        }
    }

    fn executable(&self) -> Result<Executable> {
        let not_built = || {
            Error::new(
                PI_INVALID_PROGRAM_EXECUTABLE,
                "the program has not been built or linked",
            )
        };
        self.state().executable.clone().ok_or_else(not_built)
    }
}

/// What is said about a linked module that does not build: for a symbol that neither an input nor the device has, all that
/// the linker knows about it.
fn explain(linked: &LinkedPrograms, error: BuildError) -> String {
    match &error {
        BuildError::UnresolvedImport { name, .. } => linked.unresolved(name),
        _ => None,
    }
    .unwrap_or_else(|| error.to_string())
}

impl Program<Cpu> for CpuProgram {
    fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        let Source::SpirV(source) = &self.source else {
            return Err(Error::new(
                PI_INVALID_PROGRAM,
                "only a program made of SPIR-V has specialization constants",
            ));
        };
        let bits = source.constant(id, value).map_err(|error| {
            let code = match error {
                ProgramError::NoConstant { .. } => PI_INVALID_SPEC_ID,
                ProgramError::ConstantSize { .. } => PI_INVALID_VALUE,
                _ => PI_INVALID_PROGRAM,
            };
            Error::new(code, error)
        })?;
        self.state().specialization.insert(id, bits);
        Ok(())
    }

    fn compile(&self, _: &[Arc<CpuDevice>], options: &str) -> Result<()> {
        self.make(options, PI_COMPILE_PROGRAM_FAILURE, |module, state| {
            state.object = Some(Arc::new(module));
            Ok(PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT)
        })
    }

    fn build(&self, _: &[Arc<CpuDevice>], options: &str) -> Result<()> {
        if let Source::Native(table) = &self.source {
            let mut state = self.state();
            state.executable = Some(kernels_of(table));
            state.build = Build {
                options: options.to_owned(),
                status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
                binary_type: PI_PROGRAM_BINARY_TYPE_EXECUTABLE,
                ..Build::default()
            };
            return Ok(());
        }
        self.make(options, PI_BUILD_PROGRAM_FAILURE, |module, state| {
            let options = KernelOptions::of(options);
            let executable = build(&module, &self.memory, self.compiles, options);
            let executable = executable.map_err(|error| error.to_string())?;
            state.executable = Some(executable);
            Ok(PI_PROGRAM_BINARY_TYPE_EXECUTABLE)
        })
    }

    // The log grows: why a kernel isn't compiled is known when it is launched.
    fn build_info(&self, _: &Arc<CpuDevice>) -> Build {
        let state = self.state();
        let mut build = state.build.clone();
        let kernels = state
            .executable
            .iter()
            .flat_map(|executable| executable.kernels.iter());
        let notes = kernels.filter_map(|kernel| kernel.note());
        // Of the process, and not of this program: it is in the log of each that it is true of.
        let instead = compiled::instead().filter(|_| self.compiles).map(str::to_owned);
        for note in instead.into_iter().chain(notes) {
            build.log.push_str(&note);
            build.log.push('\n');
        }
        build
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        let kernels = self.executable()?.kernels;
        Ok(kernels.iter().map(|kernel| kernel.info().name.clone()).collect())
    }

    fn global_variable(&self, _: &Arc<CpuDevice>, name: &str) -> Result<GlobalVariable> {
        let variables = self.executable()?.variables;
        let found = variables.and_then(|program| program.variable(name));
        let (address, size) = found.ok_or_else(|| {
            let message = format_args!("the program has no variable `{name}` in global memory");
            Error::new(PI_INVALID_VALUE, message)
        })?;
        Ok(GlobalVariable {
            address: address as usize,
            size: size as usize,
        })
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<CpuKernel> {
        let executable = program.executable()?.kernels;
        let Some(kernel) = executable.iter().find(|kernel| kernel.info().name == name) else {
            let names: Vec<&str> = executable
                .iter()
                .map(|kernel| kernel.info().name.as_str())
                .collect();
            let message = format!("there is no kernel {name}; the program has {}", names.join(", "));
            return Err(Error::new(PI_INVALID_KERNEL_NAME, message));
        };
        Ok(CpuKernel::new(Arc::clone(kernel)))
    }
}
