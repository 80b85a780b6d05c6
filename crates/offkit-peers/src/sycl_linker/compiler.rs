//! Intel's compilers, which make native code of SPIR-V, and the files on the way to it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fmt, io};

use super::Options;
use super::link::Error;

/// Intel's devices that LLVM 22 knows, whose code its compilers make ahead of time.
const INTEL_CPU: &str = "graniterapids";
const INTEL_GPU: &str = "bmg_g21";

/// The names of what is made on the way, as LLVM's tool has them.
pub(super) struct Names {
    pub(super) linked: PathBuf,
    pub(super) spirv: PathBuf,
    pub(super) native: PathBuf,
}

impl Names {
    pub(super) fn new(options: &Options<'_>, output: &Path) -> Self {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        // LLVM's tool has six random hexadecimal digits there: several links may go on in one
        // folder.
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

/// A compiler and its arguments; shown as a command line.
pub(super) struct Compiler {
    program: &'static str,
    arguments: Vec<String>,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " \"{}\" {}", self.program, self.arguments.join(" "))
    }
}

impl Options<'_> {
    /// The compiler for the architecture, if there is one.
    pub(super) fn compiler(&self, names: &Names) -> Option<Compiler> {
        let (spirv, native) = (
            names.spirv.display().to_string(),
            names.native.display().to_string(),
        );
        let (program, before, given, after): (_, &[&str], _, &[&str]) = match self.arch.as_str() {
            INTEL_GPU => (
                "ocloc",
                &["-output_no_suffix", "-spirv_input", "-device", INTEL_GPU],
                &self.ocloc,
                &["-output", &native, "-file", &spirv],
            ),
            INTEL_CPU => (
                "opencl-aot",
                &["--device=cpu"],
                &self.opencl_aot,
                &["-o", &native, &spirv],
            ),
            _ => return None,
        };
        let words = before.iter().copied().chain(given.split_whitespace());
        let words = words.chain(after.iter().copied());
        Some(Compiler {
            program,
            arguments: words.map(str::to_owned).collect(),
        })
    }
}

impl Compiler {
    pub(super) fn run(&self, verbose: bool) -> Result<(), Error> {
        if verbose {
            say!("{self}");
        }
        let program = self.program;
        let status = Command::new(program)
            .args(&self.arguments)
            // The input of a build is nothing for it to read, or to wait for.
            .stdin(Stdio::null())
            .status()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Error::NoCompiler(program),
                _ => Error::Compiler { program, error },
            })?;
        match status.success() {
            true => Ok(()),
            false => Err(Error::CompilerFailed { program, status }),
        }
    }
}
