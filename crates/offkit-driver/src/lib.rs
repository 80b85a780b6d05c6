//! The compiler driver: clang's command line, with offloading by offkit.
//!
//! [`drive`] carries out a whole command line. What has nothing to do with the driver goes to clang as it is. For the
//! rest, [`CommandLine::plan`] makes a list of steps: clang for the front ends and the host's linker, offkit for what
//! is between. The planner looks at nothing but its arguments, so that a plan can be printed as commands, typed, and
//! tested without running anything; [`run`](Plan::run) does the steps, those of offkit in this process.
//!
//! ```
//! use std::path::Path;
//! use offkit_driver::{Action, CommandLine, Environment, NoFiles, Work};
//!
//! # fn main() -> Result<(), offkit_driver::UsageError> {
//! let words = ["-fsyclbin", "kernels.cpp", "-o", "kernels.syclbin"].map(Into::into).to_vec();
//! let command_line = CommandLine::read(words, &|_| None)?;
//! let environment = Environment {
//!     clang: vec!["clang-22".into(), "--driver-mode=g++".into()],
//!     offkit: "offkit".into(),
//!     include: Some("include".into()),
//!     runtime: None,
//!     tools: "tools".into(),
//!     temporary: "/tmp/work".into(),
//!     suffix: String::new(),
//!     files: &NoFiles,
//! };
//! let Work::Plan(plan) = command_line.plan(&environment)? else { panic!("not for clang alone") };
//! let actions: Vec<_> = plan.steps.iter().map(|step| &step.action).collect();
//! assert!(matches!(actions[..], [Action::Clang(_), Action::Mark(_), Action::Link(_)]));
//! # Ok(())
//! # }
//! ```

pub mod arguments;
mod drive;
mod error;
pub mod inputs;
mod messages;
pub mod offload;
mod on_disk;
pub mod opencl;
mod plan;
mod run;
mod support;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use arguments::{Argument, Role, Stop};
use offkit_devlib::Abi;
use offkit_host::command_line;
use offload::{Mode, Offload};

pub use drive::{Language, Outcome, Report, drive};
pub use error::DriveError;
pub use inputs::Content;
pub use plan::{
    Action, Clang, Link, LinkInput, LinkInputKind, LinkResult, Mark, Pack, Plan, Registration, Step,
};
pub use run::{RunError, RunOptions, StepTime};

/// The command line is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    /// An error with that text.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A value that an option does not have, in clang's words.
    fn value(value: &str, option: &str) -> Self {
        Self(format!("invalid value '{value}' in '{option}'"))
    }
}

/// Something the user should know, in clang's words and with the group that clang's options switch it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    text: String,
    group: &'static str,
}

impl Warning {
    fn unused(spelling: &str) -> Self {
        Self {
            text: format!("argument unused during compilation: '{spelling}'"),
            group: "unused-command-line-argument",
        }
    }

    /// Whether options such as `-Wno-option-ignored` switch it off.
    fn is_silenced(&self, arguments: &[Argument]) -> bool {
        let mut silenced = false;
        for argument in arguments {
            match &*argument.name() {
                "-w" => return true,
                "-Qunused-arguments" if self.group == "unused-command-line-argument" => return true,
                // Of these two the last one counts, as with clang; those above count wherever they are.
                name if name.strip_prefix("-Wno-") == Some(self.group) => silenced = true,
                name if name.strip_prefix("-W") == Some(self.group) => silenced = false,
                _ => {}
            }
        }
        silenced
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [-W{}]", self.text, self.group)
    }
}

/// A command line that was read.
#[derive(Clone, Debug)]
pub struct CommandLine {
    arguments: Vec<Argument>,
    mode: Mode,
    offload: Offload,
}

/// What a plan depends on besides the command line.
pub struct Environment<'a> {
    /// How clang is called: the program, and the options that choose the language it is for.
    pub clang: Vec<OsString>,
    /// The offkit program.
    pub offkit: PathBuf,
    /// The folder that holds `offkit/device.h` and the other headers, if sources are to find them.
    pub include: Option<PathBuf>,
    /// The folder that holds `liboffkit.so`, which programs get that name no other runtime.
    pub runtime: Option<PathBuf>,
    /// The folder that holds the tools that clang starts, under their names: `clang-linker-wrapper`.
    pub tools: PathBuf,
    /// The folder for temporary files; empty for the current one.
    pub temporary: PathBuf,
    /// What the names of temporary files end with, before their extension.
    pub suffix: String,
    /// The files that the command line names.
    pub files: &'a dyn Files,
}

/// What a planner has to know of files, which a test can make up.
pub trait Files {
    /// Looks into a file.
    fn look(&self, path: &Path) -> Content;

    /// Whether there is such a file.
    fn is_file(&self, path: &Path) -> bool {
        let _ = path;
        false
    }

    /// The bitcode of the device library that `-l` means for a target, and its binary interface; none if there is no
    /// such library, as where nobody looks for any. Of AMDGPU's code objects, `code_object_version` is that of the
    /// code.
    ///
    /// # Errors
    ///
    /// Its manifest cannot be used.
    fn find_device_library(
        &self,
        name: &str,
        folders: &[PathBuf],
        target: &offkit_image::Target,
        code_object_version: Option<u32>,
    ) -> Result<Vec<(PathBuf, Abi)>, UsageError> {
        let _ = (name, folders, target, code_object_version);
        Ok(Vec::new())
    }

    /// The commands that clang would run for a command line, with their temporary files in a folder; none where they
    /// are not known, as for one that is wrong.
    fn commands(&self, words: &[OsString], temporary: &Path) -> Vec<Vec<OsString>> {
        let _ = (words, temporary);
        Vec::new()
    }
}

/// No files: what is named is not there yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn look(&self, _: &Path) -> Content {
        Content::Unknown
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// clang alone does it, with these arguments.
    Clang(Vec<OsString>),
    /// Several steps.
    Plan(Plan),
}

impl CommandLine {
    /// Reads a command line, without the program's name; `read` reads response files.
    ///
    /// # Errors
    ///
    /// Values that options for offloading do not have, and contradictions between them.
    pub fn read(words: Vec<OsString>, read: &dyn Fn(&Path) -> Option<String>) -> Result<Self, UsageError> {
        let arguments = arguments::parse(&command_line::expand(words, read));
        // The same spelling may mean something else to another driver, and what it means here must
        // be no error there.
        let (mode, offload) = match arguments.iter().any(is_another_command_line) {
            true => (Mode::None, Offload::default()),
            false => Offload::read(&arguments)?,
        };
        Ok(Self {
            arguments,
            mode,
            offload,
        })
    }

    /// Whether it has to do with offloading at all. If not, it is clang's as it was given.
    pub fn is_for_offloading(&self) -> bool {
        let is_clangs = self.arguments.iter().any(is_another_command_line);
        // Also where nothing is offloaded: build systems give the same options to all their
        // commands, and clang would refuse those that it does not have.
        self.mode != Mode::None
            || !is_clangs
                && self.arguments.iter().any(|argument| {
                    argument.role == Role::Offload("--offload-rdc") || !argument.is_known_to_clang()
                })
    }

    /// Whether the driver itself is to make the device code, or may have a part in it, which takes several steps.
    pub fn is_planned(&self) -> bool {
        self.mode == Mode::Driver || self.may_link_early()
    }

    /// Whether clang's front ends for devices may have libraries to link.
    fn may_link_early(&self) -> bool {
        let has = |role: Role| self.arguments.iter().any(|argument| argument.role == role);
        self.mode == Mode::Clang && has(Role::Library) && !has(Role::Stop(Stop::Earlier))
    }

    /// What the user should know.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        let warnings = self.offload.warnings.iter();
        warnings.filter(|warning| !warning.is_silenced(&self.arguments))
    }

    /// Whether `-###` asks for the plan instead of the work.
    pub fn is_dry_run(&self) -> bool {
        self.has("-###")
    }

    /// Whether `-v` asks to see the commands.
    pub fn is_verbose(&self) -> bool {
        self.has("-v")
    }

    /// Whether `-time` asks how long each command takes.
    pub fn is_timed(&self) -> bool {
        self.has("-time")
    }

    /// Where `-save-temps` asks to keep temporary files; `None` if it does not.
    pub fn kept_temporaries(&self) -> Option<PathBuf> {
        let option = self.arguments.iter().rev().find_map(|argument| {
            let name = argument.name();
            ["-save-temps", "--save-temps"]
                .iter()
                .find_map(|option| name.strip_prefix(option))
                .map(str::to_owned)
        })?;
        // `=cwd`, or nothing, means the current folder, which is an empty path.
        let beside_output = option == "=obj";
        let folder = self.output().filter(|_| beside_output);
        Some(
            folder
                .and_then(|output| Some(output.parent()?.to_owned()))
                .unwrap_or_default(),
        )
    }

    /// How many commands may run at a time, if that was said.
    pub fn jobs(&self) -> Option<usize> {
        self.offload.jobs
    }

    /// Plans the work.
    ///
    /// # Errors
    ///
    /// What cannot be done in one command.
    pub fn plan(&self, environment: &Environment<'_>) -> Result<Work, UsageError> {
        plan::plan(self, environment)
    }

    fn has(&self, option: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name() == option)
    }

    fn output(&self) -> Option<PathBuf> {
        let outputs = self.arguments.iter().rev();
        outputs
            .filter(|argument| argument.role == Role::Output)
            .map(|argument| argument.value("-o").into())
            .next()
    }
}

/// Whether an option says that the others are those of another compiler than GNU's: then all is clang's.
fn is_another_command_line(argument: &Argument) -> bool {
    let name = argument.name();
    name.strip_prefix("--driver-mode=")
        .is_some_and(|mode| !matches!(mode, "gcc" | "g++"))
}
