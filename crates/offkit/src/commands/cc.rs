//! `offkit cc` and `offkit c++`: the compiler driver.

pub(super) mod clang;
mod support;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use offkit_driver::{CommandLine, Content, Environment, Files, RunError, RunOptions, UsageError, Work};
use offkit_object::{ContainerKind, ImageFormat, Item, Limits, Location, Target, inspect, walk};

use super::link::temporary_failure;
use crate::environment;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, Terminal, duration};
use offkit_host::files;

/// The language that the driver is for, which decides about libraries as clang's two names do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    /// The language of a verb.
    pub(crate) fn of_verb(verb: &OsStr) -> Option<Self> {
        match verb.to_str()? {
            "cc" => Some(Self::C),
            "c++" => Some(Self::Cxx),
            _ => None,
        }
    }

    /// The language of a name that the program may be called by, such as that of a link to it. Build systems
    /// that take no compiler of two words take one of these.
    pub(crate) fn of_program(called: &OsStr) -> Option<Self> {
        match Path::new(called).file_stem()?.to_str()? {
            "offkit-cc" => Some(Self::C),
            "offkit-c++" => Some(Self::Cxx),
            _ => None,
        }
    }

    fn clang_option(self) -> Option<&'static str> {
        match self {
            Self::C => None,
            Self::Cxx => Some("--driver-mode=g++"),
        }
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
    let read = |path: &Path| fs::read_to_string(path).ok();
    let command_line = CommandLine::read(words.clone(), &read).map_err(Failure::input)?;
    let option = language.clang_option().map(OsString::from);
    let in_language = |words: Vec<OsString>| option.clone().into_iter().chain(words);
    if !command_line.is_for_offloading() {
        let clang = clang::find()?;
        return clang::become_clang(&clang, in_language(words));
    }
    for warning in command_line.warnings() {
        terminal.warning(warning);
    }
    let clang = clang::find()?;
    let mut called = vec![clang.clone().into_os_string()];
    called.extend(option.clone());

    let support = support::Support::find(&clang)?;
    let _temporary = offkit_host::temporary::keep_together();
    // Removed, with what is in it, at the end of this function.
    let folder = tempfile::Builder::new().prefix("offkit-cc-").tempdir();
    let folder = folder.map_err(temporary_failure)?;
    let (temporary, suffix) = match command_line.kept_temporaries() {
        Some(kept) => (kept, String::new()),
        // Names that stay free for whoever types the lines.
        None if command_line.is_dry_run() => (std::env::temp_dir(), unique(folder.path())),
        None => (folder.path().to_owned(), String::new()),
    };
    let environment = Environment {
        clang: called,
        offkit: support.program.clone(),
        include: support.include.clone(),
        tools: support.tools.clone(),
        temporary,
        suffix,
        files: &OnDisk,
    };
    let plan = match command_line.plan(&environment).map_err(Failure::input)? {
        Work::Clang(words) => {
            // It may need what is in the folder of tools, which stays; the rest is not needed.
            drop(folder);
            return clang::become_clang(&clang, in_language(words));
        }
        Work::Plan(plan) => plan,
    };
    if command_line.is_dry_run() {
        for step in &plan.steps {
            terminal.note(format_args!("{}", step.line()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let options = RunOptions {
        jobs: command_line
            .jobs()
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        verbose: command_line.is_verbose(),
        folder: folder.path().to_owned(),
    };
    match plan.run(&options) {
        Ok(times) => {
            if command_line.is_timed() {
                for step in times {
                    terminal.note(format_args!(
                        "{FAINT}{:>10}{FAINT:#}  {}",
                        duration(step.time),
                        step.name
                    ));
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        // It has said why.
        Err(RunError::Failed { status, .. }) if status.code().is_some() => Ok(status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from)),
        Err(error @ RunError::Start { .. }) => Err(Failure::new(ExitStatus::Machine, error)),
        Err(error) => Err(Failure::input(error)),
    }
}

/// What the name of a temporary folder ends with, which no other has.
fn unique(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    format!("-{}", name.rsplit('-').next().unwrap_or_default())
}

/// The files of this machine.
struct OnDisk;

impl Files for OnDisk {
    fn look(&self, path: &Path) -> Content {
        // Nothing of a file that is no regular one, and nothing of a file that is not there yet.
        let Ok(content) = files::open_regular(path) else {
            return Content::Unknown;
        };
        match ImageFormat::detect(&content) {
            format @ ImageFormat::Bitcode => Content::Module(
                inspect(&content, format, &Limits::default())
                    .target
                    .triple
                    .to_string(),
            ),
            ImageFormat::Spirv => Content::DeviceImages,
            _ if path.extension().is_some_and(|extension| extension == "ll") => {
                Content::Module(text_triple(&content))
            }
            _ if is_container(path, &content) => Content::DeviceImages,
            _ => Content::Unknown,
        }
    }

    fn find_device_library(
        &self,
        name: &str,
        folders: &[PathBuf],
        target: &Target,
    ) -> Result<Vec<PathBuf>, UsageError> {
        let answer = offkit_devlib::Search::on_this_machine(folders).find(name, target);
        if let Some(problem) = answer.problem {
            return Err(UsageError::new(problem.to_string()));
        }
        let files = answer.found.into_iter().flat_map(|found| found.files);
        Ok(files
            .filter(|file| file.is_bitcode)
            .map(|file| file.path.clone())
            .collect())
    }
}

/// Whether it is a container of device images, and not one of files that may have some.
fn is_container(path: &Path, content: &[u8]) -> bool {
    let name = path.display().to_string();
    // Nothing is there, so nothing of what is inside is looked at.
    let nowhere = Location::of_file(name.as_str()).join("-");
    let mut kind = None;
    walk(&name, content, Some(&nowhere), &Limits::default(), &mut |item| {
        if let Item::Container(container) = item {
            kind.get_or_insert(container.kind);
        }
    });
    kind.is_some_and(|kind| !kind.is_host() && !matches!(kind, ContainerKind::Image | ContainerKind::Unknown))
}

/// The triple in the text form of a module.
fn text_triple(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("target triple = \""));
    line.and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned()
}

/// The user's folder for files that can be made again.
pub(super) fn cache_folder() -> Option<PathBuf> {
    let named = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    named(environment::CACHE)
        .or_else(|| Some(named("HOME")?.join(".cache")))
        .filter(|folder| folder.is_absolute())
}
