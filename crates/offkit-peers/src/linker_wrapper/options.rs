//! The command line: what is for the wrapper, and what is for the linker that it wraps.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use offkit_host::command_line::expand;

/// What the command line asks for.
#[derive(Default)]
pub(super) struct Options {
    /// What goes to the linker, in order.
    pub(super) linker: Vec<Argument>,
    pub(super) linker_path: Option<OsString>,
    pub(super) cuda_path: Option<PathBuf>,
    pub(super) host_triple: Option<String>,
    pub(super) sysroot: PathBuf,
    pub(super) output: Option<OsString>,
    pub(super) dry_run: bool,
    pub(super) verbose: bool,
    pub(super) save_temps: bool,
    pub(super) embed_bitcode: bool,
    pub(super) print_module: bool,
    pub(super) fatbin_only: bool,
    pub(super) relocatable: bool,
    /// Whether all members of all archives count as if they were given alone.
    pub(super) whole_archive: bool,
    pub(super) compress: bool,
    pub(super) compression_level: Option<String>,
    pub(super) jobs: Jobs,
    /// Architectures that are taken out of archives even if no object has them.
    pub(super) should_extract: Vec<String>,
    /// Offload kinds, and files that are used instead of the result of a device link.
    pub(super) overrides: Vec<(String, PathBuf)>,
    /// `--device-linker=`, as given: with or without a triple.
    pub(super) device_linker: Vec<String>,
    /// `--device-compiler=`, as given.
    pub(super) device_compiler: Vec<String>,
    /// Options for LLVM, in order, and whether they go to LLVM inside of the compiler, too (`-mllvm`).
    pub(super) llvm: Vec<(String, bool)>,
    pub(super) linker_arguments: Vec<String>,
    pub(super) compiler_arguments: Vec<String>,
    pub(super) sycl_images: Option<String>,
    pub(super) ask: Option<Ask>,
    /// Where to write how long each step took, and how long a step must take to be in there.
    pub(super) trace: Option<PathBuf>,
    pub(super) granularity: Option<Duration>,
}

/// How many device links run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jobs {
    Count(usize),
    /// As many as make's job server has tokens for.
    Server,
}

impl Default for Jobs {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// Questions that are answered at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Help,
    Version,
}

/// An argument of the linker.
pub(super) struct Argument {
    /// As it is passed on: an option and its value are one or two words.
    pub(super) words: Vec<OsString>,
    pub(super) meaning: Meaning,
}

/// What an argument of the linker means for device code.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A file.
    Input(PathBuf),
    /// A library that is searched for: `-l`.
    Library(String),
    /// A folder in which libraries are searched: `-L`.
    LibraryPath(PathBuf),
    /// From here on all members of archives count, or not.
    WholeArchive(bool),
    /// A search path of the loader.
    RunPath,
    /// Where the output goes, behind which the wrapped images are put.
    Output,
    /// Nothing.
    Other,
}

/// Reads the arguments; those in response files (`@FILE`) too.
pub(super) fn parse(arguments: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let mut rest = expand(arguments, &read).into_iter();
    while let Some(argument) = rest.next() {
        options.take(argument, &mut rest)?;
    }
    Ok(options)
}

impl Options {
    fn take(&mut self, argument: OsString, rest: &mut dyn Iterator<Item = OsString>) -> Result<(), String> {
        let Some(text) = argument.to_str() else {
            self.input(argument);
            return Ok(());
        };
        if text == "-" {
            self.input(argument);
            return Ok(());
        }
        if let Some(name) = text.strip_prefix("--")
            && self.take_own(name, rest)?
        {
            return Ok(());
        }
        if self.take_of_linker(text, &argument, rest)? {
            return Ok(());
        }
        if text.starts_with('-') {
            self.forward(vec![argument], Meaning::Other);
        } else {
            self.input(argument);
        }
        Ok(())
    }

    /// Options with two dashes that are for the wrapper alone; whether this is one.
    fn take_own(&mut self, name: &str, rest: &mut dyn Iterator<Item = OsString>) -> Result<bool, String> {
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        match (name, value) {
            ("help" | "help-hidden", None) => self.ask = Some(Ask::Help),
            ("dry-run", None) => self.dry_run = true,
            ("wrapper-verbose", None) => self.verbose = true,
            ("embed-bitcode", None) => self.embed_bitcode = true,
            ("print-wrapped-module", None) => self.print_module = true,
            ("save-temps", None) => self.save_temps = true,
            ("compress", None) => self.compress = true,
            ("emit-fatbin-only", None) => self.fatbin_only = true,
            ("whole-program", None) => {}
            ("linker-path", Some(value)) => self.linker_path = Some(value.into()),
            ("cuda-path", Some(value)) => self.cuda_path = Some(value.into()),
            ("host-triple", Some(value)) => self.host_triple = Some(value),
            ("device-linker", Some(value)) => self.device_linker.push(value),
            ("device-compiler", Some(value)) => self.device_compiler.push(value),
            ("compression-level", Some(value)) => self.compression_level = Some(value),
            ("wrapper-time-trace", Some(value)) => self.trace = Some(value.into()),
            ("wrapper-time-trace-granularity", Some(value)) => {
                let micros = value.parse().map(Duration::from_micros);
                self.granularity = Some(micros.map_err(|_| {
                    format!("--wrapper-time-trace-granularity=: expected microseconds, got '{value}'")
                })?);
            }
            ("wrapper-jobs", Some(value)) => {
                self.jobs = jobs(&value).ok_or_else(|| {
                    format!("--wrapper-jobs=: expected a positive integer or 'jobserver', got '{value}'")
                })?;
            }
            ("override-image", Some(value)) => {
                let (kind, file) = value.split_once('=').unwrap_or((&value, ""));
                self.overrides.push((kind.to_owned(), file.into()));
            }
            ("should-extract", Some(value)) => {
                self.should_extract.extend(value.split(',').map(str::to_owned));
            }
            ("arch" | "triple", Some(_)) => {}
            ("linker-arg", Some(value)) => self.linker_arguments.push(value),
            ("compiler-arg", Some(value)) => self.compiler_arguments.push(value),
            ("sycl-images", Some(value)) => self.sycl_images = Some(value),
            ("offload-opt", Some(value)) => self.llvm.push((value, false)),
            ("sysroot", Some(value)) => {
                self.forward(vec![format!("--sysroot={value}").into()], Meaning::Other);
                self.sysroot = value.into();
            }
            ("output", value) => {
                let value = value.map(OsString::from).or_else(|| rest.next());
                self.output(value.ok_or("argument to '--output' is missing (expected 1 value)")?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options of linkers that say something about device code; whether this is one.
    fn take_of_linker(
        &mut self,
        text: &str,
        argument: &OsStr,
        rest: &mut dyn Iterator<Item = OsString>,
    ) -> Result<bool, String> {
        if let Some(value) = of_windows(text, "out:") {
            self.output = Some(value.into());
            self.forward(vec![argument.to_owned()], Meaning::Output);
            return Ok(true);
        }
        if let Some(value) = of_windows(text, "libpath:") {
            self.forward(vec![argument.to_owned()], Meaning::LibraryPath(value.into()));
            return Ok(true);
        }
        if of_windows(text, "wholearchive").is_some() {
            self.whole_archive = true;
            self.forward(vec![argument.to_owned()], Meaning::Other);
            return Ok(true);
        }
        let Some(name) = text.strip_prefix('-') else {
            return Ok(false);
        };
        let long = name.strip_prefix('-').unwrap_or(name);
        let mut value = |option: &str| {
            rest.next()
                .ok_or_else(|| format!("argument to '{option}' is missing (expected 1 value)"))
        };
        match long {
            "version" => self.ask = Some(Ask::Version),
            "whole-archive" | "no-whole-archive" => {
                self.forward(
                    vec![argument.to_owned()],
                    Meaning::WholeArchive(long == "whole-archive"),
                );
            }
            "relocatable" => self.relocatable(argument),
            "library-path" => {
                let folder = value(text)?;
                self.library_path(folder);
            }
            "library" => {
                let library = value(text)?;
                self.library(library);
            }
            "rpath" => {
                let path = value(text)?;
                self.forward(vec!["-rpath".into(), path], Meaning::RunPath);
            }
            _ => {
                if let Some(folder) = long.strip_prefix("library-path=") {
                    self.library_path(folder.into());
                } else if let Some(library) = long.strip_prefix("library=") {
                    self.library(library.into());
                } else if let Some(path) = long.strip_prefix("rpath=") {
                    self.forward(vec!["-rpath".into(), path.into()], Meaning::RunPath);
                } else if let Some(option) = long.strip_prefix("offload-opt=") {
                    self.llvm.push((option.to_owned(), false));
                } else {
                    return self.take_short(name, argument, &mut value);
                }
            }
        }
        Ok(true)
    }

    /// Options of one letter, whose values may be in the same word.
    fn take_short(
        &mut self,
        name: &str,
        argument: &OsStr,
        value: &mut dyn FnMut(&str) -> Result<OsString, String>,
    ) -> Result<bool, String> {
        match name {
            "mllvm" => {
                let option = value("-mllvm")?;
                self.llvm.push((option.to_string_lossy().into_owned(), true));
                return Ok(true);
            }
            "r" => {
                self.relocatable(argument);
                return Ok(true);
            }
            _ => {}
        }
        let mut of = |letter: char| -> Option<Result<OsString, String>> {
            let joined = name.strip_prefix(letter)?;
            Some(if joined.is_empty() {
                value(&format!("-{letter}"))
            } else {
                Ok(joined.into())
            })
        };
        if let Some(output) = of('o') {
            self.output(output?);
        } else if let Some(folder) = of('L') {
            self.library_path(folder?);
        } else if let Some(library) = of('l') {
            self.library(library?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn forward(&mut self, words: Vec<OsString>, meaning: Meaning) {
        self.linker.push(Argument { words, meaning });
    }

    fn input(&mut self, file: OsString) {
        let meaning = Meaning::Input(file.clone().into());
        self.forward(vec![file], meaning);
    }

    fn output(&mut self, file: OsString) {
        self.forward(vec!["-o".into(), file.clone()], Meaning::Output);
        self.output = Some(file);
    }

    fn relocatable(&mut self, argument: &OsStr) {
        self.relocatable = true;
        self.forward(vec![argument.to_owned()], Meaning::Other);
    }

    fn library(&mut self, name: OsString) {
        let meaning = Meaning::Library(name.to_string_lossy().into_owned());
        self.forward(vec![joined("-l", &name)], meaning);
    }

    fn library_path(&mut self, folder: OsString) {
        let meaning = Meaning::LibraryPath(folder.clone().into());
        self.forward(vec![joined("-L", &folder)], meaning);
    }
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

/// The value of an option as Microsoft's linker has them: `/out:FILE`, `-out:FILE`.
fn of_windows<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    let option = text.strip_prefix('/').or_else(|| text.strip_prefix('-'))?;
    option.strip_prefix('?').unwrap_or(option).strip_prefix(name)
}

/// How many jobs a value means.
fn jobs(value: &str) -> Option<Jobs> {
    if value.eq_ignore_ascii_case("jobserver") {
        return Some(Jobs::Server);
    }
    value.parse().ok().filter(|jobs| *jobs > 0).map(Jobs::Count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        parse(line.split(' ').map(OsString::from).collect()).unwrap()
    }

    fn forwarded(options: &Options) -> String {
        let words = options.linker.iter().flat_map(|argument| &argument.words);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn what_is_for_the_linker_goes_there_in_order() {
        let line = "--host-triple=x86_64-pc-linux-gnu --linker-path=/usr/bin/ld -a --hash-style=gnu -m elf_x86_64 \
                    -o out a.o -L dir -llib -l:lib.a --whole-archive x.a --no-whole-archive -rpath=p -mllvm -x \
                    --output=other /usr/lib/crt1.o";
        let options = options(line);
        assert_eq!(
            forwarded(&options),
            "-a --hash-style=gnu -m elf_x86_64 -o out a.o -Ldir -llib -l:lib.a --whole-archive x.a \
             --no-whole-archive -rpath p -o other /usr/lib/crt1.o"
        );
        assert_eq!(options.output, Some("other".into()));
        assert!(options.llvm == [("-x".to_owned(), true)]);
        let inputs = options
            .linker
            .iter()
            .filter(|argument| matches!(argument.meaning, Meaning::Input(_)));
        assert_eq!(inputs.count(), 4); // with `elf_x86_64`, which is no file
    }

    #[test]
    fn both_linkers_spellings_are_known() {
        let options = options("-libpath:./ -out:a.exe /wholearchive:x.lib a.obj");
        assert_eq!(
            forwarded(&options),
            "-libpath:./ -out:a.exe /wholearchive:x.lib a.obj"
        );
        assert_eq!(options.output, Some("a.exe".into()));
        assert!(options.whole_archive);
    }

    #[test]
    fn numbers_of_jobs_are_checked() {
        assert!(parse(vec!["--wrapper-jobs=0".into()]).is_err());
        assert!(parse(vec!["--wrapper-jobs=many".into()]).is_err());
        assert_eq!(options("--wrapper-jobs=4").jobs, Jobs::Count(4));
        assert_eq!(options("--wrapper-jobs=jobserver").jobs, Jobs::Server);
        assert!(parse(vec!["-o".into()]).is_err());
    }
}
