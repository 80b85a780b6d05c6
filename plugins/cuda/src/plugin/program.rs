//! Programs: code that the driver loads, or links first.

use offkit_image::ImageFormat;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Build, Error, GlobalVariable, Program, Ref, Result};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::ffi::CString;

use super::Cuda;
use super::code::{Code, Told};
use super::context::{CudaContext, Place};
use super::device::CudaDevice;
use super::kernel::CudaKernel;
use crate::driver::{Input, JitOptions, Module, link};

/// A program for one device.
pub(crate) struct CudaProgram {
    context: Ref<CudaContext>,
    place: Arc<Place>,
    /// None of a host's module.
    code: Option<Code>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    build: Build,
    module: Option<Arc<Module>>,
}

/// What the driver is told of options as compilers have them. Others are for other compilers: the log names them.
fn jit_options(options: &str) -> Result<(JitOptions, String)> {
    let (mut jit, mut ignored) = (JitOptions::default(), Vec::new());
    for option in options.split_whitespace() {
        let number = |text: &str| {
            text.parse().map_err(|_| {
                let message = format_args!("`{option}`: expected a number");
                Error::new(PI_INVALID_BUILD_OPTIONS, message)
            })
        };
        match option {
            "-g" => jit.has_debug = true,
            "-lineinfo" => jit.has_lines = true,
            "-v" => jit.is_verbose = true,
            _ => match (option.strip_prefix("-O"), option.split_once("maxrregcount=")) {
                (Some(level @ ("0" | "1" | "2" | "3" | "4")), _) => jit.level = Some(number(level)?),
                (_, Some(("-" | "--", count))) => jit.registers = Some(number(count)?),
                _ => ignored.push(option),
            },
        }
    }
    let note = match ignored.as_slice() {
        [] => String::new(),
        ignored => format!("not for NVIDIA's driver: {}", ignored.join(" ")),
    };
    Ok((jit, note))
}

/// Texts that say something, one a line.
fn lines(texts: [&str; 2]) -> String {
    let said: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    said.join("\n")
}

impl CudaProgram {
    pub(super) fn new(context: &Ref<CudaContext>, place: &Arc<Place>, code: Code) -> CudaProgram {
        CudaProgram {
            context: context.clone(),
            place: Arc::clone(place),
            code: Some(code),
            state: Mutex::default(),
        }
    }

    /// A program of a module that a host has loaded.
    pub(super) fn loaded(context: &Ref<CudaContext>, place: &Arc<Place>, module: Module) -> CudaProgram {
        let build = Build {
            status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
            binary_type: PI_PROGRAM_BINARY_TYPE_EXECUTABLE,
            ..Build::default()
        };
        CudaProgram {
            context: context.clone(),
            place: Arc::clone(place),
            code: None,
            state: Mutex::new(State {
                build,
                module: Some(Arc::new(module)),
            }),
        }
    }

    /// Links programs of one device. One that fails is a program as well, with the driver's words.
    pub(super) fn link(
        context: &Ref<CudaContext>,
        programs: &[Ref<CudaProgram>],
        options: &str,
    ) -> Result<CudaProgram> {
        let no_code = || {
            Error::new(
                PI_INVALID_PROGRAM,
                "a program that the host has loaded cannot be linked",
            )
        };
        let Some(first) = programs.first() else {
            return Err(Error::new(PI_INVALID_VALUE, "no program to link"));
        };
        let place = &first.place;
        if programs.iter().any(|program| !Arc::ptr_eq(&program.place, place)) {
            let message = "programs for different devices cannot be linked together";
            return Err(Error::new(PI_INVALID_PROGRAM, message));
        }
        let mut inputs = Vec::new();
        let mut kernels: Vec<Told> = Vec::new();
        for (number, program) in programs.iter().enumerate() {
            let code = program.code.as_ref().ok_or_else(no_code)?;
            kernels.extend(code.kernels.iter().cloned());
            inputs.push(Input {
                name: CString::new(format!("program {number}")).unwrap_or_default(),
                is_ptx: code.is_ptx,
                code: &code.bytes,
            });
        }
        let (jit, note) = jit_options(options)?;
        let (linked, log) = link(&place.primary, &inputs, &jit);
        let log = lines([&log, &note]);
        let program = match linked {
            Ok(cubin) => {
                let mut code = Code::new(ImageFormat::Cubin, &cubin);
                // The driver's linker may leave out what offkit reads.
                if code.kernels.is_empty() {
                    code.kernels = kernels;
                }
                CudaProgram::new(context, place, code)
            }
            Err(error) if error.is_lost() => return Err(error.into()),
            Err(error) => {
                let program = CudaProgram::new(context, place, Code::new(ImageFormat::Cubin, &[]));
                program.fail(options, &lines([&log, &error.to_string()]));
                return Ok(program);
            }
        };
        // The module's log comes behind the linker's.
        if program.load(options, &log).is_ok() {
            program.state().build.log = log;
        }
        Ok(program)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, options: &str, log: &str) {
        self.state().build = Build {
            status: PI_PROGRAM_BUILD_STATUS_ERROR,
            binary_type: PI_PROGRAM_BINARY_TYPE_NONE,
            options: options.to_owned(),
            log: log.to_owned(),
        };
    }

    /// Has the driver load the code.
    fn load(&self, options: &str, before: &str) -> Result<()> {
        let Some(code) = &self.code else { return Ok(()) };
        let (jit, note) = jit_options(options)?;
        let (module, log) = Module::load(&self.place.primary, &code.bytes, &jit);
        let log = lines([before, &lines([&log, &note])]);
        match module {
            Ok(module) => {
                *self.state() = State {
                    build: Build {
                        status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
                        binary_type: PI_PROGRAM_BINARY_TYPE_EXECUTABLE,
                        options: options.to_owned(),
                        log,
                    },
                    module: Some(Arc::new(module)),
                };
                Ok(())
            }
            Err(error) => {
                let words = lines([&log, &error.to_string()]);
                self.fail(options, &words);
                let is_of_device = error.is_lost() || error.result() == PI_MEM_OBJECT_ALLOCATION_FAILURE;
                let result = if is_of_device {
                    error.result()
                } else {
                    PI_BUILD_PROGRAM_FAILURE
                };
                Err(Error::new(result, words))
            }
        }
    }

    fn module(&self) -> Result<Arc<Module>> {
        let not_built = || Error::new(PI_INVALID_PROGRAM_EXECUTABLE, "the program is not built");
        self.state().module.clone().ok_or_else(not_built)
    }

    fn told(&self) -> &[Told] {
        self.code.as_ref().map_or(&[], |code| &code.kernels)
    }
}

impl Program<Cuda> for CudaProgram {
    /// The driver compiles when it loads or links: until then nothing is to be done.
    fn compile(&self, options: &str) -> Result<()> {
        jit_options(options)?;
        self.state().build = Build {
            status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
            binary_type: PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            options: options.to_owned(),
            log: String::new(),
        };
        Ok(())
    }

    fn build(&self, options: &str) -> Result<()> {
        self.load(options, "")
    }

    fn build_info(&self) -> Build {
        self.state().build.clone()
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        self.module()?;
        Ok(self.told().iter().map(|kernel| kernel.name.clone()).collect())
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<CudaKernel> {
        let module = program.module()?;
        let names = || {
            program
                .told()
                .iter()
                .map(|kernel| kernel.name.as_str())
                .collect::<Vec<_>>()
        };
        let none = || {
            let message = format!(
                "there is no kernel {name}; the program has {}",
                names().join(", ")
            );
            Error::new(PI_INVALID_KERNEL_NAME, message)
        };
        let text = CString::new(name).map_err(|_| none())?;
        let function = module.function(&text)?.ok_or_else(none)?;
        let told = program.told().iter().find(|kernel| kernel.name == name);
        let told = told.and_then(|kernel| kernel.arguments);
        CudaKernel::new(name, module, function, told, Arc::clone(&program.place))
    }

    fn global_variable(&self, device: &Arc<CudaDevice>, name: &str) -> Result<GlobalVariable> {
        let none = |why: &str| Error::new(PI_INVALID_VALUE, format_args!("variable {name}: {why}"));
        if !Arc::ptr_eq(device, &self.place.device) {
            return Err(none("the program is for another device"));
        }
        let text = CString::new(name).map_err(|_| none("there is none"))?;
        let found = self.module()?.global(&text)?;
        let (address, size) = found.ok_or_else(|| none("the program has none of that name"))?;
        Ok(GlobalVariable { address, size })
    }

    /// What was linked, or was machine code from the start. What the driver compiles of PTX it keeps itself, and gives to
    /// nobody.
    fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        match &self.code {
            Some(code) if !code.is_ptx => {
                let of = |place: &Arc<Place>| match Arc::ptr_eq(place, &self.place) {
                    true => code.bytes.clone(),
                    false => Vec::new(),
                };
                Ok(self.context.places().iter().map(of).collect())
            }
            _ => Err(Error::unsupported(
                "the machine code that NVIDIA's driver makes of PTX",
            )),
        }
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.module()?.handle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_drivers_or_named_in_the_log() {
        let (jit, note) = jit_options("-O2 --maxrregcount=32 -lineinfo -cl-mad-enable").unwrap();
        assert_eq!(
            (jit.level, jit.registers, jit.has_lines),
            (Some(2), Some(32), true)
        );
        assert_eq!(note, "not for NVIDIA's driver: -cl-mad-enable");
        let error = jit_options("-maxrregcount=many").unwrap_err();
        assert_eq!(error.code, PI_INVALID_BUILD_OPTIONS);
        assert_eq!(jit_options("").unwrap(), (JitOptions::default(), String::new()));
    }
}
