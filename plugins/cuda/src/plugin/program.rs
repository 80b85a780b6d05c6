//! Programs: code that the driver loads, LTO-IR that is linked before, and SPIR-V that is compiled.

mod link;

use offkit_image::ImageFormat;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Build, Error, GlobalVariable, Program, Ref, Result};
use offkit_spirv::ProgramError;
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::collections::HashMap;
use std::ffi::CString;

use self::link::link_lto;
use super::Cuda;
use super::code::{Code, Told};
use super::compile::compile;
use super::context::{CudaContext, Place};
use super::device::CudaDevice;
use super::kernel::{CudaKernel, Variant};
use crate::driver::{Input, JitOptions, Module};

/// A program for one device, or as SPIR-V for those of a context.
pub(crate) struct CudaProgram {
    context: Ref<CudaContext>,
    places: Vec<Arc<Place>>,
    source: Source,
    state: Mutex<State>,
}

/// What a program is made of.
enum Source {
    /// Code that the driver loads.
    Code(Arc<Code>),
    SpirV(offkit_spirv::Program),
    /// Other programs' SPIR-V, or a module of the host's: nothing is left to be built.
    Made,
}

#[derive(Default)]
struct State {
    build: Build,
    /// Values for the next compile or build, as bits, by SpecId.
    constants: HashMap<u32, u64>,
    /// SPIR-V that can be linked.
    object: Option<Arc<offkit_spirv::Module>>,
    loaded: Vec<Loaded>,
}

/// A program on a device.
#[derive(Clone)]
struct Loaded {
    place: Arc<Place>,
    module: Arc<Module>,
    /// None of a host's module.
    code: Option<Arc<Code>>,
}

/// What options of compilers mean here.
struct Options {
    jit: JitOptions,
    /// What the log says of the others.
    note: String,
}

/// What the driver is told of options as compilers have them. Others are for other compilers: the log names them.
fn jit_options(options: &str) -> Result<Options> {
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
            "-cl-opt-disable" => jit.level = Some(0),
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
    Ok(Options { jit, note })
}

/// Texts that say something, one a line.
fn lines(texts: [&str; 2]) -> String {
    let said: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    said.join("\n")
}

impl CudaProgram {
    fn of(context: &Ref<CudaContext>, places: &[Arc<Place>], source: Source, state: State) -> CudaProgram {
        CudaProgram {
            context: context.clone(),
            places: places.to_vec(),
            source,
            state: Mutex::new(state),
        }
    }

    /// A program of code for one device.
    pub(super) fn new(context: &Ref<CudaContext>, place: &Arc<Place>, code: Code) -> CudaProgram {
        let source = Source::Code(Arc::new(code));
        CudaProgram::of(context, std::slice::from_ref(place), source, State::default())
    }

    /// A program of SPIR-V.
    pub(super) fn of_spirv(context: &Ref<CudaContext>, spirv: &[u8]) -> Result<CudaProgram> {
        let program =
            offkit_spirv::Program::new(spirv).map_err(|error| Error::new(PI_INVALID_VALUE, error))?;
        let source = Source::SpirV(program);
        Ok(CudaProgram::of(
            context,
            context.places(),
            source,
            State::default(),
        ))
    }

    /// A program of a module that a host has loaded.
    pub(super) fn loaded(context: &Ref<CudaContext>, place: &Arc<Place>, module: Module) -> CudaProgram {
        let build = Build {
            status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
            binary_type: PI_PROGRAM_BINARY_TYPE_EXECUTABLE,
            ..Build::default()
        };
        let loaded = Loaded {
            place: Arc::clone(place),
            module: Arc::new(module),
            code: None,
        };
        let state = State {
            build,
            loaded: vec![loaded],
            ..State::default()
        };
        CudaProgram::of(context, std::slice::from_ref(place), Source::Made, state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a new state. What the program had so far is gone: kernels keep what they need.
    fn become_now(&self, build: Build, object: Option<Arc<offkit_spirv::Module>>, loaded: Vec<Loaded>) {
        let mut state = self.state();
        state.build = build;
        let before = (
            std::mem::replace(&mut state.object, object),
            std::mem::replace(&mut state.loaded, loaded),
        );
        // Not while the program is locked: the last references to modules may be among them.
        drop(state);
        drop(before);
    }

    fn fail(&self, options: &str, log: &str) {
        let build = Build {
            status: PI_PROGRAM_BUILD_STATUS_ERROR,
            binary_type: PI_PROGRAM_BINARY_TYPE_NONE,
            options: options.to_owned(),
            log: log.to_owned(),
        };
        self.become_now(build, None, Vec::new());
    }

    /// Builds the program; the log has something before it.
    fn build_with(&self, options: &str, before: &str) -> Result<()> {
        // Before anything changes: with a wrong option the program stays as it was.
        let told = jit_options(options)?;
        match &self.source {
            Source::Code(code) => {
                let codes = self
                    .places
                    .iter()
                    .map(|place| (Arc::clone(place), Arc::clone(code)));
                self.load(codes.collect(), (options, &told), before)
            }
            Source::SpirV(program) => {
                let module = program.specialized(&self.state().constants);
                let module = module.map_err(|error| self.refused(options, error))?;
                self.load_spirv(&module, (options, &told), str::to_owned)
            }
            // A host's module is built.
            Source::Made if self.is_loaded_only() => Ok(()),
            Source::Made => Err(nothing_to_compile()),
        }
    }

    /// Whether it is a module of the host's.
    fn is_loaded_only(&self) -> bool {
        self.state()
            .loaded
            .first()
            .is_some_and(|first| first.code.is_none())
    }

    /// That the program cannot be built, which its log says from now on.
    fn refused(&self, options: &str, why: impl std::fmt::Display) -> Error {
        let words = why.to_string();
        self.fail(options, &words);
        Error::new(PI_BUILD_PROGRAM_FAILURE, words)
    }

    /// Compiles SPIR-V for all devices of the program, once for those that take the same code, and has the driver load it.
    fn load_spirv(
        &self,
        module: &offkit_spirv::Module,
        (options, told): (&str, &Options),
        explain: impl Fn(&str) -> String,
    ) -> Result<()> {
        let spirv = module.to_bytes();
        // LLVM's levels end at 3, and the driver's at 4.
        let level = told.jit.level.map_or(3, |level| level.min(3) as u8);
        let mut codes: Vec<(Arc<Place>, Arc<Code>)> = Vec::new();
        for place in &self.places {
            let device = &place.device;
            let same = codes
                .iter()
                .find(|(other, _)| other.device.target.target == device.target.target);
            let code = match same {
                Some((_, code)) => Arc::clone(code),
                None => {
                    let ptx = compile(&spirv, device, level);
                    let ptx = ptx.map_err(|words| self.refused(options, explain(&words)))?;
                    Arc::new(Code::new(ImageFormat::Ptx, &ptx))
                }
            };
            codes.push((Arc::clone(place), code));
        }
        self.load(codes, (options, told), "")
    }

    /// Has the driver load code for each device.
    fn load(
        &self,
        codes: Vec<(Arc<Place>, Arc<Code>)>,
        (options, told): (&str, &Options),
        before: &str,
    ) -> Result<()> {
        let Options { jit, note } = told;
        let mut log = before.to_owned();
        let mut loaded = Vec::new();
        for (place, mut code) in codes {
            if code.format == ImageFormat::LtoIr {
                let input = Input {
                    name: c"program".to_owned(),
                    format: code.format,
                    code: &code.bytes,
                };
                let (linked, said) = link_lto(&place, (&[input], code.special.as_deref()), jit);
                log = lines([&log, &said]);
                let cubin = linked.map_err(|words| self.refused(options, lines([&log, &words])))?;
                code = Arc::new(Code::new(ImageFormat::Cubin, &cubin));
            }
            // The driver is told no length: it would read where nothing is.
            if code.bytes.is_empty() {
                return Err(self.refused(options, lines([&log, "the linker has made no code"])));
            }
            let (module, said) = Module::load(&place.primary, &code.bytes, jit);
            log = lines([&log, &said]);
            match module {
                Ok(module) => loaded.push(Loaded {
                    place,
                    module: Arc::new(module),
                    code: Some(code),
                }),
                Err(error) => {
                    let words = lines([&lines([&log, note]), &error.to_string()]);
                    self.fail(options, &words);
                    // No fault of the program's, which the host is not to be told of as one.
                    let is_of_device = error.is_lost() || error.result() == PI_MEM_OBJECT_ALLOCATION_FAILURE;
                    let result = if is_of_device {
                        error.result()
                    } else {
                        PI_BUILD_PROGRAM_FAILURE
                    };
                    return Err(Error::new(result, words));
                }
            }
        }
        let build = built(options, PI_PROGRAM_BINARY_TYPE_EXECUTABLE, lines([&log, note]));
        self.become_now(build, None, loaded);
        Ok(())
    }

    fn all_loaded(&self) -> Result<Vec<Loaded>> {
        let loaded = self.state().loaded.clone();
        match loaded.is_empty() {
            false => Ok(loaded),
            true => Err(Error::new(
                PI_INVALID_PROGRAM_EXECUTABLE,
                "the program is not built",
            )),
        }
    }
}

fn nothing_to_compile() -> Error {
    let message = "a program of other programs, or a module of the host's, has nothing to compile";
    Error::new(PI_INVALID_OPERATION, message)
}

fn built(options: &str, binary_type: pi_program_binary_type, log: String) -> Build {
    Build {
        status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
        binary_type,
        options: options.to_owned(),
        log,
    }
}

/// What the images tell of the kernels that a host sees.
fn told(loaded: &[Loaded]) -> &[Told] {
    // The images for the other devices have the same kernels, made of the same SPIR-V.
    let code = loaded.first().and_then(|first| first.code.as_deref());
    code.map_or(&[], |code| &code.kernels)
}

impl Program<Cuda> for CudaProgram {
    fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        let Source::SpirV(program) = &self.source else {
            let message = "only a program made of SPIR-V has specialization constants";
            return Err(Error::new(PI_INVALID_PROGRAM, message));
        };
        let bits = program.constant(id, value).map_err(|error| {
            let code = match error {
                ProgramError::NoConstant { .. } => PI_INVALID_SPEC_ID,
                ProgramError::ConstantSize { .. } => PI_INVALID_VALUE,
                _ => PI_INVALID_PROGRAM,
            };
            Error::new(code, error)
        })?;
        self.state().constants.insert(id, bits);
        Ok(())
    }

    /// What the driver takes is compiled when it is loaded or linked: until then nothing is to be done. SPIR-V gets the
    /// values of its constants, and is compiled when it is linked.
    fn compile(&self, _: &[Arc<CudaDevice>], options: &str) -> Result<()> {
        jit_options(options)?;
        let object = match &self.source {
            Source::SpirV(program) => {
                let module = program.specialized(&self.state().constants);
                let module = module.map_err(|error| {
                    let error = self.refused(options, error);
                    Error::new(PI_COMPILE_PROGRAM_FAILURE, error)
                })?;
                Some(Arc::new(module))
            }
            Source::Code(_) => None,
            Source::Made => return Err(nothing_to_compile()),
        };
        let build = built(options, PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, String::new());
        self.become_now(build, object, Vec::new());
        Ok(())
    }

    fn build(&self, _: &[Arc<CudaDevice>], options: &str) -> Result<()> {
        self.build_with(options, "")
    }

    fn build_info(&self, _: &Arc<CudaDevice>) -> Build {
        self.state().build.clone()
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        let loaded = self.all_loaded()?;
        Ok(told(&loaded).iter().map(|kernel| kernel.name.clone()).collect())
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<CudaKernel> {
        let loaded = program.all_loaded()?;
        let told = told(&loaded);
        let known = told.iter().find(|kernel| kernel.name == name);
        let none = || {
            let names: Vec<_> = told.iter().map(|kernel| kernel.name.as_str()).collect();
            let message = match known {
                Some(_) => format!("the program's code names kernel {name}, and the driver has not made it"),
                None if names.is_empty() => {
                    format!("there is no kernel {name}; what kernels the program has is not known")
                }
                None => format!("there is no kernel {name}; the program has {}", names.join(", ")),
            };
            Error::new(PI_INVALID_KERNEL_NAME, message)
        };
        let variant = |one: &Loaded| {
            let variant = Variant::find(name, &one.module, &one.place, known)?;
            variant.ok_or_else(none)
        };
        let variants = loaded.iter().map(variant).collect::<Result<_>>()?;
        Ok(CudaKernel::new(name, variants))
    }

    fn global_variable(&self, device: &Arc<CudaDevice>, name: &str) -> Result<GlobalVariable> {
        let none = |why: &str| Error::new(PI_INVALID_VALUE, format_args!("variable {name}: {why}"));
        let loaded = self.all_loaded()?;
        let mut loaded = loaded.iter();
        let on = loaded.find(|one| Arc::ptr_eq(&one.place.device, device));
        let on = on.ok_or_else(|| none("the program is for another device"))?;
        let text = CString::new(name).map_err(|_| none("there is none"))?;
        let found = on.module.global(&text)?;
        let (address, size) = found.ok_or_else(|| none("the program has none of that name"))?;
        Ok(GlobalVariable { address, size })
    }

    /// What was linked, or was machine code from the start. What the driver compiles of PTX it keeps itself, and gives to
    /// nobody.
    fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        // What was loaded first: of LTO-IR that is the cubin which the linker has made.
        let loaded = self.state().loaded.first().and_then(|first| first.code.clone());
        let code = match &self.source {
            Source::Code(code) => loaded.or_else(|| Some(Arc::clone(code))),
            _ => None,
        };
        match code {
            Some(code) if code.format == ImageFormat::Cubin => {
                let of = |place: &Arc<Place>| match Arc::ptr_eq(place, &self.places[0]) {
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
        let loaded = self.all_loaded()?;
        Ok(loaded[0].module.handle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_the_drivers_or_named_in_the_log() {
        let Options { jit, note } = jit_options("-O2 --maxrregcount=32 -lineinfo -cl-mad-enable").unwrap();
        assert_eq!(
            (jit.level, jit.registers, jit.has_lines),
            (Some(2), Some(32), true)
        );
        assert_eq!(note, "not for NVIDIA's driver: -cl-mad-enable");
        let Err(error) = jit_options("-maxrregcount=many") else {
            panic!("no number");
        };
        assert_eq!(error.code, PI_INVALID_BUILD_OPTIONS);
        let none = jit_options("").unwrap();
        assert_eq!((none.jit, none.note), (JitOptions::default(), String::new()));
        assert_eq!(jit_options("-cl-opt-disable").unwrap().jit.level, Some(0));
    }
}
