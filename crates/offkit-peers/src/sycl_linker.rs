//! `clang-sycl-linker`: bitcode for SYCL devices linked into one SPIR-V image, in an offload binary.
//!
//! The code is generated as LLVM's tool does: all of the linked module, not optimised. Three things are otherwise,
//! on purpose: an input that is not there is an error, `--dry-run` writes nothing, and the SPIR-V file beside the
//! output is left there only with `--save-temps`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use offkit_image::Family;
use offkit_llvm::{CodeOptions, Form, ModuleId, Source, Worker};
use offkit_object::{ImageFormat, ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};

use crate::arguments::{Argument, Arguments};
use crate::{answers, say, show};
use offkit_host::files;

const HELP: &str = "\
OVERVIEW: Links bitcode for SYCL devices and generates SPIR-V, or native code for Intel's devices with Intel's
compilers.

USAGE: clang-sycl-linker [options] <bitcode files>

OPTIONS:
  --arch=<arch>           The device's architecture
  --device-libs=<value>   Device libraries, separated by commas; what is needed of them is linked
  --dry-run               Print what would be done, and do none of it
  --help                  Display this text
  --library-path=<dir>    The folder of the device libraries
  --ocloc-options=<value> Options for ocloc, which compiles for Intel's GPUs
  --opencl-aot-options=<value>
                          Options for opencl-aot, which compiles for Intel's CPUs
  -o <path>               The file to write
  --print-linked-module   Print the linked module in LLVM's text form
  --save-temps            Keep intermediate files
  --spirv-dump-device-code=<dir>
                          A folder that also gets the SPIR-V
  --triple=<triple>       The target triple of the device
  --version               Display the version
  -v                      Print what is done
";

/// Intel's devices that LLVM 22 knows, whose code its compilers make ahead of time.
const INTEL_CPU: &str = "graniterapids";
const INTEL_GPU: &str = "bmg_g21";

#[derive(Default)]
struct Options {
    inputs: Vec<PathBuf>,
    output: Option<PathBuf>,
    triple: Option<String>,
    arch: String,
    device_libraries: Option<String>,
    library_path: PathBuf,
    ocloc: String,
    opencl_aot: String,
    dump: Option<PathBuf>,
    dry_run: bool,
    print: bool,
    save_temps: bool,
    verbose: bool,
}

/// Runs as the tool, called by the name `called`.
pub(super) fn run(called: &str, args: Vec<OsString>) -> Result<(), String> {
    let Some(options) = parse(called, args)? else {
        return Ok(());
    };
    link(&options).map_err(|message| format!("{called}: error: {message}"))
}

fn parse(called: &str, args: Vec<OsString>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut arguments = Arguments::new(called, args);
    while let Some(argument) = arguments.next() {
        match argument {
            Argument::Positional(path) => options.inputs.push(path.into()),
            Argument::Option { name, value } => match name.as_str() {
                "o" => options.output = Some(arguments.os_value(&name, value)?.into()),
                "triple" => options.triple = Some(arguments.value(&name, value)?),
                "arch" => options.arch = arguments.value(&name, value)?,
                "device-libs" => options.device_libraries = Some(arguments.value(&name, value)?),
                "library-path" => options.library_path = arguments.os_value(&name, value)?.into(),
                "ocloc-options" => options.ocloc = arguments.value(&name, value)?,
                "opencl-aot-options" => options.opencl_aot = arguments.value(&name, value)?,
                "spirv-dump-device-code" => options.dump = Some(arguments.os_value(&name, value)?.into()),
                "dry-run" => options.dry_run = true,
                "print-linked-module" => options.print = true,
                "save-temps" => options.save_temps = true,
                "v" => options.verbose = true,
                _ if answers(&name, HELP) => return Ok(None),
                _ => return Err(arguments.unknown(&name)),
            },
        }
    }
    Ok(Some(options))
}

fn link(options: &Options) -> Result<(), String> {
    let output = options.output.as_deref().ok_or("Output file must be specified")?;
    let triple = options
        .triple
        .as_deref()
        .ok_or("Target triple must be specified")?;
    if !Family::of(triple).is_spirv() {
        return Err(format!("'{triple}' is no target with SPIR-V"));
    }
    let libraries = device_libraries(options)?;
    for input in &options.inputs {
        let content = files::open(input).map_err(|error| offkit_host::chain(&error))?;
        if ImageFormat::detect(&content) != ImageFormat::Bitcode {
            return Err(format!("{}: Unsupported file type", input.display()));
        }
    }
    if options.inputs.is_empty() {
        return Err("No input files".to_owned());
    }

    let names = Names::new(options, output);
    if options.verbose || options.dry_run {
        say(&format!(
            "sycl-device-link: inputs: {} libfiles: {} output: {}",
            listed(&options.inputs),
            listed(&libraries),
            names.linked.display()
        ));
        say(&format!(
            "SPIR-V Backend: input: {}, output: {}",
            names.linked.display(),
            names.spirv.display()
        ));
    }
    let compiler = compiler(options, &names);
    if options.dry_run {
        if options.print {
            let (mut worker, module, _) = linked(options, &libraries)?;
            show(&text(&mut worker, module)?);
        }
        if let Some((program, arguments)) = &compiler {
            say(&format!(" \"{program}\" {}", arguments.join(" ")));
        }
        return Ok(());
    }
    files::check_output(output).map_err(|error| offkit_host::chain(&error))?;
    let (mut worker, module, kernels) = linked(options, &libraries)?;
    let llvm = |error: offkit_llvm::WorkerError| offkit_host::chain(&error);
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if options.print {
        show(&text(&mut worker, module)?);
    }
    if options.save_temps {
        let bitcode = worker.emit_whole(module, &Form::Bitcode).map_err(llvm)?;
        fs::write(&names.linked, bitcode.content).map_err(|error| failed(&names.linked, error))?;
    }
    let code = Form::Code(CodeOptions {
        triple: triple.to_owned(),
        optimization: 2,
        as_it_is: true,
        ..CodeOptions::default()
    });
    let spirv = worker.emit_whole(module, &code).map_err(llvm)?.content;
    if options.save_temps {
        fs::write(&names.spirv, &spirv).map_err(|error| failed(&names.spirv, error))?;
    }
    if let Some(folder) = &options.dump {
        let name = names.spirv.file_name().unwrap_or_default();
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(name), &spirv));
        written.map_err(|error| failed(folder, error))?;
    }
    let image = match compiler {
        None => spirv,
        Some((program, _)) => {
            let _temporary = offkit_host::temporary::keep_together();
            let folder =
                tempfile::tempdir().map_err(|error| format!("cannot use a temporary file: {error}"))?;
            let file = |path: &Path| match options.save_temps {
                true => path.to_owned(),
                false => folder.path().join(path.file_name().unwrap_or_default()),
            };
            let paths = Names {
                spirv: file(&names.spirv),
                native: file(&names.native),
                ..names
            };
            fs::write(&paths.spirv, &spirv).map_err(|error| failed(&paths.spirv, error))?;
            let (_, arguments) = self::compiler(options, &paths).unwrap_or_default();
            compile(&program, &arguments, options.verbose)?;
            fs::read(&paths.native).map_err(|error| failed(&paths.native, error))?
        }
    };
    let symbols = kernels.join("\n");
    let mut entry = OffloadEntry::new(ImageKind::None, OffloadKind::Sycl, &image);
    entry.strings.set("triple", triple);
    entry.strings.set("arch", options.arch.as_str());
    entry.strings.set("symbols", symbols.as_str());
    let bytes = OffloadBinary::from(entry)
        .write(OffloadBinaryVersion::V1)
        .map_err(|error| offkit_host::chain(&error))?;
    crate::write(output, &[&bytes]).map_err(|error| offkit_host::chain(&error))
}

/// The names of what is made on the way, as LLVM's tool has them.
struct Names {
    linked: PathBuf,
    spirv: PathBuf,
    native: PathBuf,
}

impl Names {
    fn new(options: &Options, output: &Path) -> Self {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let linked = format!("{name}-{:06x}.bc", std::process::id());
        let stem = output.with_extension("");
        let beside = |ending: &str| {
            let mut path = stem.clone().into_os_string();
            path.push(ending);
            PathBuf::from(path)
        };
        Self {
            linked: match options.save_temps {
                true => linked.into(),
                false => env::temp_dir().join(linked),
            },
            spirv: beside("_0.spv"),
            native: beside("_0.out"),
        }
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

fn device_libraries(options: &Options) -> Result<Vec<PathBuf>, String> {
    let Some(list) = &options.device_libraries else {
        return Ok(Vec::new());
    };
    if list.is_empty() {
        return Err("Number of device library files cannot be zero".to_owned());
    }
    let libraries = list.split(',').map(|name| {
        let path = options.library_path.join(name);
        match path.is_file() {
            true => Ok(path),
            false => Err(format!(
                "'{}' SYCL device library file is not found",
                path.display()
            )),
        }
    });
    libraries.collect()
}

/// Links the inputs in a worker; also the names of the kernels.
fn linked(options: &Options, libraries: &[PathBuf]) -> Result<(Worker, ModuleId, Vec<String>), String> {
    let sources = |paths: &[PathBuf]| paths.iter().map(Source::file).collect::<Vec<_>>();
    let mut worker = Worker::start().map_err(|error| offkit_host::chain(&error))?;
    let linked = worker.open(&sources(&options.inputs), &sources(libraries), false);
    let linked = linked.map_err(|error| offkit_host::chain(&error))?;
    let kernels = linked.summary.kernels().map(|kernel| kernel.name.clone());
    Ok((worker, linked.id, kernels.collect()))
}

/// A module in LLVM's text form.
fn text(worker: &mut Worker, module: ModuleId) -> Result<String, String> {
    let text = worker
        .emit_whole(module, &Form::Text)
        .map_err(|error| offkit_host::chain(&error))?;
    Ok(String::from_utf8_lossy(&text.content).into_owned())
}

/// The program that makes native code of SPIR-V for the architecture, and its arguments.
fn compiler(options: &Options, names: &Names) -> Option<(String, Vec<String>)> {
    let (spirv, native) = (
        names.spirv.display().to_string(),
        names.native.display().to_string(),
    );
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |more: &[&str]| arguments.extend(more.iter().map(|word| (*word).to_owned()));
    match options.arch.as_str() {
        INTEL_GPU => {
            add(&["-output_no_suffix", "-spirv_input", "-device", &options.arch]);
            add(&options.ocloc.split_whitespace().collect::<Vec<_>>());
            add(&["-output", &native, "-file", &spirv]);
            Some(("ocloc".to_owned(), arguments))
        }
        INTEL_CPU => {
            add(&["--device=cpu"]);
            add(&options.opencl_aot.split_whitespace().collect::<Vec<_>>());
            add(&["-o", &native, &spirv]);
            Some(("opencl-aot".to_owned(), arguments))
        }
        _ => None,
    }
}

fn compile(program: &str, arguments: &[String], verbose: bool) -> Result<(), String> {
    if verbose {
        say(&format!(" \"{program}\" {}", arguments.join(" ")));
    }
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("Unable to find '{program}' in path"),
            _ => format!("'{program}': {error}"),
        })?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("'{program}' failed ({status})")),
    }
}
