//! clang's own OpenMP, CUDA and HIP: its commands, in which the front ends of devices link device libraries.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use offkit_devlib::{Abi, AbiClash};
use offkit_image::target::Target;
use offkit_link::device_link::PORTABLE_VERSION;

use super::{Clang, Planner, stop};
use crate::UsageError;
use crate::arguments::{Role, Stop};
use crate::plan::Action;

impl Planner<'_> {
    /// Plans clang's commands one after the other, where one of them is to link a device library of `-l`; says whether
    /// that is so. Code that stays bitcode until the program is linked gets its libraries there.
    pub(super) fn link_early(&mut self) -> Result<bool, UsageError> {
        if !self.command_line.may_link_early() {
            return Ok(false);
        }
        let words = [self.environment.clang.clone(), self.for_clang()].concat();
        let commands = self
            .environment
            .files
            .commands(&words, &self.environment.temporary);
        let mut planned = Vec::new();
        let mut is_early = false;
        for words in commands {
            let libraries = match self.finished_by(&words) {
                Some(target) => self.bitcode_of_libraries(Path::new(source(&words)), &target, &words)?,
                None => Vec::new(),
            };
            is_early |= !libraries.is_empty();
            planned.push(with_bitcode(words, libraries));
        }
        // Otherwise clang is called once, and runs its commands itself.
        if is_early {
            for words in planned {
                // In clang's own order: its commands read what others before them have written.
                let before = self.plan.steps.len().checked_sub(1);
                // The others are assemblers, packagers and linkers.
                let is_clang = words.get(1).is_some_and(|word| word == "-cc1");
                let clang = Clang {
                    words,
                    is_clang,
                    // What chooses the tool inside clang stays outside of a file of arguments.
                    before_response_file: usize::from(is_clang),
                };
                self.step(Action::Clang(clang), before);
            }
        }
        Ok(is_early)
    }

    /// The target of a front end for a device after which no link has device libraries for its code.
    fn finished_by(&self, words: &[OsString]) -> Option<Target> {
        let has = |option: &str| words.iter().any(|word| word == option);
        let value = |option: &str| {
            let at = words.iter().position(|word| word == option)?;
            Some(words.get(at.checked_add(1)?)?.to_string_lossy())
        };
        let is_linked_later =
            has("-emit-llvm-bc") && stop(&self.command_line.arguments) != Some(Stop::Object);
        if !has("-cc1") || !(has("-fcuda-is-device") || has("-fopenmp-is-target-device")) || is_linked_later {
            return None;
        }
        let mut processor = value("-target-cpu").unwrap_or_default().into_owned();
        // Of all the features of a front end these two are part of a target's name, in this order.
        for feature in ["sramecc", "xnack"] {
            for sign in ["+", "-"] {
                if has(&format!("{sign}{feature}")) {
                    processor += &format!(":{feature}{sign}");
                }
            }
        }
        Some(Target::new(value("-triple")?, &processor))
    }

    /// The bitcode of the libraries of `-l` for a target, which must go with what a compiler makes of a source with
    /// these options.
    pub(super) fn bitcode_of_libraries(
        &self,
        source: &Path,
        target: &Target,
        compiler: &[OsString],
    ) -> Result<Vec<PathBuf>, UsageError> {
        let arguments = &self.command_line.arguments;
        let folders = arguments
            .iter()
            .filter(|argument| argument.role == Role::LibraryFolder);
        let folders: Vec<PathBuf> = folders.map(|argument| argument.value("-L").into()).collect();
        let abi = Abi::of_compiler(target, compiler, PORTABLE_VERSION);
        let mut bitcode = Vec::new();
        for library in arguments.iter().filter(|argument| argument.role == Role::Library) {
            let name = library.value("-l").to_string_lossy().into_owned();
            let files = self.environment.files;
            for (path, library) in
                files.find_device_library(&name, &folders, target, abi.code_object_version)?
            {
                if let Some(difference) = abi.clash(&library) {
                    let clash = AbiClash {
                        code: source.display().to_string(),
                        library: path.display().to_string(),
                        difference,
                    };
                    return Err(UsageError::new(clash.to_string()));
                }
                bitcode.push(path);
            }
        }
        Ok(bitcode)
    }
}

/// The source of a front end's command, which comes last.
fn source(words: &[OsString]) -> &OsStr {
    words.last().map_or(OsStr::new(""), OsString::as_os_str)
}

/// A front end's command with libraries before its output, which is last but for the input.
fn with_bitcode(mut words: Vec<OsString>, libraries: Vec<PathBuf>) -> Vec<OsString> {
    if libraries.is_empty() {
        return words;
    }
    let output = words.iter().position(|word| word == OsStr::new("-o"));
    let at = output.unwrap_or(words.len());
    let options = libraries
        .into_iter()
        .flat_map(linking)
        .chain([NO_WARNINGS.into()]);
    words.splice(at..at, options);
    words
}

/// The front end's options that link a library.
pub(super) fn linking(library: PathBuf) -> [OsString; 2] {
    ["-mlink-builtin-bitcode".into(), library.into()]
}

/// The search has seen that libraries fit; vendors write triples of their own.
pub(super) const NO_WARNINGS: &str = "-Wno-linker-warnings";
