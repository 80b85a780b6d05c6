//! `offkit cc` and `offkit c++`: the compiler driver.

pub(super) mod clang;

use clap::Args;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use offkit_driver::{DriveError, Language, Outcome, Report, RunError, StepTime};

use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, Terminal, duration};

const OPTIONS: &str = "\
Everything that clang 22 takes, and:
  -fsycl
      device code of C++ (SYCL) and OpenCL C sources and bitcode
  -fsyclbin[=input|object|executable]
      write a SYCLBIN file, without host code
  -fsycl-link
      link device code only: into an object, or SYCLBIN files into one
  -fsycl-targets=TRIPLE,…
      the devices to compile for; the default is SPIR-V
  --offload-arch=ARCH,…
      the same by processors, such as gfx90a, sm_80
  -fsycl-device-code-split=auto|per_source|per_kernel|off
      how to split device code into images
  -f[no-]sycl-allow-device-image-dependencies
      leave symbols for other images to supply
  -Xsycl-target-backend[=TRIPLE] OPTION
      an option for the compiler of a device
  --offload-rdc
      the same as -fgpu-rdc
  -###
      print the commands instead of running them
  -save-temps
      keep the files between the steps

OFFKIT_CLANG names the clang to use instead of `clang-22`.

Examples:
  offkit c++ -fsyclbin kernels.cpp -o kernels.syclbin
  offkit c++ -fsycl -c kernels.cpp -o kernels.o
  make CXX='offkit c++' CXXFLAGS=-fsycl LDFLAGS=-fsycl";

#[derive(Debug, Args)]
#[command(after_help = OPTIONS)]
pub(crate) struct Cc {
    /// clang's command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// The language of a verb.
pub(crate) fn language_of_verb(verb: &OsStr) -> Option<Language> {
    match verb.to_str()? {
        "cc" => Some(Language::C),
        "c++" => Some(Language::Cxx),
        _ => None,
    }
}

/// The language of a name that the program may be called by, such as that of a link to it. Build systems that take no
/// compiler of two words take one of these.
pub(crate) fn language_of_program(called: &OsStr) -> Option<Language> {
    match Path::new(called).file_stem()?.to_str()? {
        "offkit-cc" => Some(Language::C),
        "offkit-c++" => Some(Language::Cxx),
        _ => None,
    }
}

/// Runs the driver; does not come back when clang takes over.
pub(crate) fn run(language: Language, words: Vec<OsString>, terminal: Terminal) -> ExitCode {
    match drive(language, words, terminal) {
        Ok(code) => code,
        Err(failure) => {
            terminal.failure(&failure);
            ExitCode::from(failure.status as u8)
        }
    }
}

fn drive(language: Language, words: Vec<OsString>, terminal: Terminal) -> Result<ExitCode, Failure> {
    let program = env::current_exe().map_err(|error| {
        Failure::new(
            ExitStatus::Machine,
            format!("the program cannot find itself: {error}"),
        )
    })?;
    match offkit_driver::drive(language, &program, words, &mut Shown(terminal)) {
        Ok(Outcome::Done) => Ok(ExitCode::SUCCESS),
        Ok(Outcome::Clang { program, words }) => clang::become_clang(&program, words),
        // It has said why.
        // Its code is passed on, for build systems look at it. Those of Windows may be too large.
        Err(DriveError::Run(RunError::Failed { status, .. })) if status.code().is_some() => Ok(status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from)),
        Err(error) => {
            let status = match error.is_of_machine() {
                true => ExitStatus::Machine,
                false => ExitStatus::Input,
            };
            let hints = error.hints();
            Err(hints.into_iter().fold(Failure::new(status, error), Failure::hint))
        }
    }
}

/// What happens, shown on standard error.
struct Shown(Terminal);

impl Report for Shown {
    fn warning(&mut self, text: &dyn Display) {
        self.0.warning(text);
    }

    fn command(&mut self, line: &str) {
        self.0.note(line);
    }

    fn messages(&mut self, text: &[u8]) {
        // Nobody may be listening.
        let _ = io::stderr().lock().write_all(text);
    }

    fn time(&mut self, step: &StepTime) {
        self.0.note(format_args!(
            "{FAINT}{:>10}{FAINT:#}  {}",
            duration(step.time),
            step.name
        ));
    }
}
