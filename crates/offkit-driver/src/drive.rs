//! A whole command line, from its words to its output.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use offkit_host::{clang, temporary};

use crate::on_disk::OnDisk;
use crate::support::Support;
use crate::{CommandLine, DriveError, Environment, RunOptions, StepTime, Work};

/// The language that the driver is for, which decides about libraries as clang's two names do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// As `clang` is called.
    C,
    /// As `clang++` is called.
    Cxx,
}

impl Language {
    /// The option that chooses it.
    fn clang_option(self) -> Option<&'static str> {
        match self {
            Self::C => None,
            Self::Cxx => Some("--driver-mode=g++"),
        }
    }
}

/// What people see while a command line is carried out.
pub trait Report: Send {
    /// Something the user should know although it stops nothing.
    fn warning(&mut self, text: &dyn Display);
    /// A command that can be typed: of a plan that is shown, or one that did what was done.
    fn command(&mut self, line: &str);
    /// What clang says, whole lines, perhaps with colours.
    fn messages(&mut self, text: &[u8]);
    /// How long a step took.
    fn time(&mut self, step: &StepTime);
}

/// What became of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is done.
    Done,
    /// It is clang's: this program with these arguments is to take over.
    Clang {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        words: Vec<OsString>,
    },
}

/// Carries out a command line, without the program's name. `offkit` is the program that the commands of a plan name,
/// and that clang starts as `clang-linker-wrapper`.
///
/// Where there are steps to be done, temporary files of this process are [kept
/// together](temporary::keep_together) until they are.
///
/// # Errors
///
/// See [`DriveError`].
pub fn drive(
    language: Language,
    offkit: &Path,
    words: Vec<OsString>,
    report: &mut dyn Report,
) -> Result<Outcome, DriveError> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let command_line = CommandLine::read(words.clone(), &read)?;
    let option = language.clang_option().map(OsString::from);
    let clangs = |program: PathBuf, words: Vec<OsString>| Outcome::Clang {
        program,
        words: option.clone().into_iter().chain(words).collect(),
    };
    if !command_line.is_for_offloading() {
        return Ok(clangs(clang::find()?, words));
    }
    for warning in command_line.warnings() {
        report.warning(warning);
    }
    let clang = clang::find()?;
    let support = Support::find(offkit, &clang).map_err(DriveError::Temporary)?;
    let temporary = match command_line.is_planned() {
        true => Some(Temporary::new()?),
        false => None,
    };
    let folder = temporary
        .as_ref()
        .map_or(Path::new(""), |temporary| temporary.folder.path());
    let (kept, suffix) = match command_line.kept_temporaries() {
        Some(kept) => (kept, String::new()),
        // Names that stay free for whoever types the lines.
        None if command_line.is_dry_run() => (std::env::temp_dir(), unique(folder)),
        None => (folder.to_owned(), String::new()),
    };
    let mut called = vec![clang.clone().into_os_string()];
    called.extend(option.clone());
    let environment = Environment {
        clang: called,
        offkit: offkit.to_owned(),
        include: Some(support.include),
        runtime: support.runtime,
        tools: support.tools,
        temporary: kept,
        suffix,
        files: &OnDisk,
    };
    let plan = match command_line.plan(&environment)? {
        Work::Clang(words) => return Ok(clangs(clang, words)),
        Work::Plan(plan) => plan,
    };
    if command_line.is_dry_run() {
        plan.lines().for_each(|line| report.command(&line));
        return Ok(Outcome::Done);
    }
    let options = RunOptions {
        jobs: command_line
            .jobs()
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        verbose: command_line.is_verbose(),
        folder: folder.to_owned(),
    };
    let times = plan.run(&options, report)?;
    if command_line.is_timed() {
        times.iter().for_each(|step| report.time(step));
    }
    Ok(Outcome::Done)
}

/// The folder for the files between the steps, gone with what is in it when this is dropped.
struct Temporary {
    folder: tempfile::TempDir,
    // Dropped after the folder, which is in it.
    _all: temporary::TemporaryFiles,
}

impl Temporary {
    fn new() -> Result<Self, DriveError> {
        let all = temporary::keep_together();
        let folder = tempfile::Builder::new().prefix("offkit-cc-").tempdir();
        Ok(Self {
            folder: folder.map_err(DriveError::Temporary)?,
            _all: all,
        })
    }
}

/// What the name of a temporary folder ends with, which no other has.
fn unique(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    format!("-{}", name.rsplit('-').next().unwrap_or_default())
}
