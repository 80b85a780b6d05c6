//! The command line: what is for the wrapper, and what is for the linker that it wraps.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use offkit_host::command_line::expand;

use super::error::{Error, Result};
use crate::options::{CommandLine, List, UsageError, Value, Wrong, text};

/// The wrapper's own options, which have two dashes and their values behind `=`. Whatever is not among them is for the
/// linker: [`LINKER_OPTIONS`] are those that say something about device code, too.
pub(super) const COMMAND_LINE: CommandLine<Options> = CommandLine {
    tool: "clang-linker-wrapper",
    overview: "Links a program with device code: takes the device code out of the inputs, links it for each
target, makes an object that registers the result, and runs the host's linker with that object added.",
    usage: "[options] -- <arguments of the host's linker>",
    options: options![o: Options;
        "arch" | "triple" = "" => o.ignored, "";
        "compiler-arg" = "" => o.compiler_arguments, "";
        "compress" => o.compress, "Write bundles compressed";
        "compression-level" = "<value>" => o.compression_level, "How hard to compress them, a number";
        "cuda-path" = "<dir>" => o.cuda_path, "Where CUDA is installed";
        "device-compiler" = "[<triple>=]<value>" => o.device_compiler, "What the device's compiler is given too, for one triple or for all";
        "device-linker" = "[<triple>=]<value>" => o.device_linker, "What the device's linker is given too, for one triple or for all";
        "dry-run" => o.dry_run, "Show the commands and run none";
        "embed-bitcode" => o.embed_bitcode, "Embed the linked bitcode";
        "emit-fatbin-only" => o.fatbin_only, "Write the container of images; no registration, no host link";
        "host-triple" = "<value>" => o.host_triple, "What the program runs on";
        "linker-arg" = "" => o.linker_arguments, "";
        "linker-path" = "<path>" => o.linker_path, "The host's linker";
        "no-default-device-libs" => o.no_default_libraries, "Take nothing from the device libraries that come with offkit; not in the original";
        "override-image" = "<kind=file>" => o.overrides, "Take this file for the image of a kind instead of linking one";
        "print-wrapped-module" => o.print_module, "Print the module that LLVM would compile to the object that registers images";
        "save-temps" => o.save_temps, "Keep intermediate files";
        "should-extract" = "<arch>" => o.should_extract, "Take code for this architecture out of archives whether it is needed or not";
        "sycl-images" = "<kind>" => o.sycl_images, "How SYCL's images are registered: sycl-llvm (as LLVM 22, the default), sycl-v3
    (DPC++ 2026), sycl-v2 (before), offload (LLVM after 22); not in the original";
        "whole-program" => o.ignored, "";
        "wrapper-jobs" = "<number>" => o.jobs, "How many device links run at a time; 'jobserver': as many as make has tokens for";
        "wrapper-time-trace" = "<file>" => o.trace, "Write how long each step took, for Chrome's trace viewers";
        "wrapper-time-trace-granularity" = "<number>" => o.granularity, "Leave out steps of fewer microseconds; 500 if not given";
        "wrapper-verbose" => o.verbose, "Show the commands that are run";
    ],
    positional: |_, _| {},
    positionals: 0..=0,
    missing: |_| None,
};

/// What help says of the options that the linker gets, too.
const LINKER_HELP: &str = "
options for the linker, too:

  -L <dir>                      - Look for libraries in this folder
  -l <libname>                  - Link this library
  -mllvm <value>                - An option of LLVM, for every step
  -o <path>                     - The file to write
  -r, --relocatable             - Link device code now, in an object that is to be linked again
  --sysroot=<value>             - The root of the target's files
";

/// Where the value of an option is.
#[derive(Clone, Copy)]
enum Form {
    /// There is none.
    Flag,
    /// In the next word.
    Separate,
    /// Behind the name; in the next word where nothing is there.
    JoinedOrSeparate,
    /// Behind the name.
    Joined,
    /// Behind `=`, or in the next word.
    EqualsOrSeparate,
}

/// What an option of a linker means for the wrapper.
#[derive(Clone, Copy)]
enum LinkerOption {
    Version,
    Output,
    /// Microsoft's.
    Out,
    Library,
    LibraryPath,
    LibPath,
    WholeArchive(bool),
    /// All archives, wherever it is.
    WholeArchives,
    Relocatable,
    RunPath,
    Sysroot,
    /// For LLVM; whether it goes to LLVM inside of the compiler, too.
    Llvm {
        in_compiler: bool,
    },
}

const ONE: &[&str] = &["-"];
const TWO: &[&str] = &["--"];
const EITHER: &[&str] = &["--", "-"];
/// As Microsoft's linker has them.
const SLASH: &[&str] = &["/?", "-?", "/", "-"];

/// What options begin with, their names, where their values are, and what they mean. The first that fits counts.
const LINKER_OPTIONS: &[(&[&str], &str, Form, LinkerOption)] = {
    use Form::{EqualsOrSeparate, Flag, Joined, JoinedOrSeparate, Separate};
    use LinkerOption as L;
    &[
        (TWO, "sysroot=", Joined, L::Sysroot),
        (TWO, "output", EqualsOrSeparate, L::Output),
        (SLASH, "out:", Joined, L::Out),
        (SLASH, "libpath:", Joined, L::LibPath),
        (SLASH, "wholearchive", Joined, L::WholeArchives),
        (EITHER, "version", Flag, L::Version),
        (EITHER, "whole-archive", Flag, L::WholeArchive(true)),
        (EITHER, "no-whole-archive", Flag, L::WholeArchive(false)),
        (EITHER, "relocatable", Flag, L::Relocatable),
        // Before those that they begin with: `-library` is no `-l` for a library called `ibrary`.
        (EITHER, "library-path", EqualsOrSeparate, L::LibraryPath),
        (EITHER, "library", EqualsOrSeparate, L::Library),
        (EITHER, "rpath", EqualsOrSeparate, L::RunPath),
        (EITHER, "offload-opt=", Joined, L::Llvm { in_compiler: false }),
        (ONE, "mllvm", Separate, L::Llvm { in_compiler: true }),
        (ONE, "r", Flag, L::Relocatable),
        (ONE, "o", JoinedOrSeparate, L::Output),
        (ONE, "L", JoinedOrSeparate, L::LibraryPath),
        (ONE, "l", JoinedOrSeparate, L::Library),
    ]
};

/// What the command line asks for.
#[derive(Default)]
pub(super) struct Options {
    /// What goes to the linker, in order.
    pub(super) linker: Vec<Argument>,
    pub(super) linker_path: Option<PathBuf>,
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
    pub(super) compression_level: Option<i32>,
    pub(super) jobs: Jobs,
    /// Architectures that are taken out of archives even if no object has them.
    pub(super) should_extract: List,
    /// Offload kinds, and files that are used instead of the result of a device link.
    pub(super) overrides: Vec<(String, PathBuf)>,
    /// `--device-linker=`, as given: with or without a triple.
    pub(super) device_linker: Vec<String>,
    /// `--device-compiler=`, as given.
    pub(super) device_compiler: Vec<String>,
    /// Options for LLVM, in order, and whether they go to LLVM inside of the compiler, too (`-mllvm`).
    pub(super) llvm: Vec<(String, bool)>,
    /// Whether device code gets nothing from the libraries that come with offkit.
    pub(super) no_default_libraries: bool,
    pub(super) linker_arguments: Vec<String>,
    pub(super) compiler_arguments: Vec<String>,
    pub(super) sycl_images: Option<String>,
    /// What is asked for instead of a link: help, or the version.
    pub(super) shown: Option<String>,
    /// Where to write how long each step took, and how long a step must take to be in there.
    pub(super) trace: Option<PathBuf>,
    pub(super) granularity: Option<Duration>,
    ignored: (),
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

impl Value for Jobs {
    fn of(value: OsString) -> std::result::Result<Self, Wrong> {
        let value = text(value)?;
        match value.parse() {
            _ if value.eq_ignore_ascii_case("jobserver") => Ok(Self::Server),
            Ok(jobs) if jobs > 0 => Ok(Self::Count(jobs)),
            _ => Err(Wrong::Expected("a positive integer or 'jobserver'")),
        }
    }
}

impl Value for Duration {
    fn of(value: OsString) -> std::result::Result<Self, Wrong> {
        let micros = text(value)?.parse();
        let micros = micros.map_err(|_| Wrong::Expected("microseconds"))?;
        Ok(Self::from_micros(micros))
    }
}

impl Value for (String, PathBuf) {
    fn of(value: OsString) -> std::result::Result<Self, Wrong> {
        let value = text(value)?;
        let (kind, file) = value.split_once('=').unwrap_or((&value, ""));
        Ok((kind.to_owned(), file.into()))
    }
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
pub(super) fn parse(arguments: Vec<OsString>) -> Result<Options> {
    let mut options = Options::default();
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let mut rest = expand(arguments, &read).into_iter();
    while let Some(argument) = rest.next() {
        // Names of files need not be UTF-8, but all options that are known here are.
        let Some(text) = argument.to_str().filter(|text| *text != "-") else {
            options.input(argument);
            continue;
        };
        if options.take_own(text)? {
            continue;
        }
        match of_linker(text) {
            Some((option, value)) => {
                let value = match value {
                    Place::None => OsString::new(),
                    Place::Here(value) => value.into(),
                    Place::Next => rest.next().ok_or_else(|| Error::NoValue(text.to_owned()))?,
                };
                options.take_of_linker(option, &argument, value);
            }
            None if text.starts_with('-') => options.forward(vec![argument], Meaning::Other),
            None => options.input(argument),
        }
    }
    Ok(options)
}

/// Where a value was found.
enum Place<'text> {
    None,
    Here(&'text str),
    Next,
}

/// The option of the linker that a word is.
fn of_linker(text: &str) -> Option<(LinkerOption, Place<'_>)> {
    LINKER_OPTIONS.iter().find_map(|(prefixes, name, form, option)| {
        let without = |prefix: &&str| text.strip_prefix(prefix)?.strip_prefix(name);
        let behind = prefixes.iter().find_map(without)?;
        let value = match form {
            Form::Flag if behind.is_empty() => Place::None,
            Form::Joined => Place::Here(behind),
            Form::JoinedOrSeparate if !behind.is_empty() => Place::Here(behind),
            Form::Separate | Form::JoinedOrSeparate | Form::EqualsOrSeparate if behind.is_empty() => {
                Place::Next
            }
            Form::EqualsOrSeparate => Place::Here(behind.strip_prefix('=')?),
            _ => return None,
        };
        Some((*option, value))
    })
}

impl Options {
    /// Takes an option of the wrapper alone; whether this is one.
    fn take_own(&mut self, text: &str) -> Result<bool> {
        let Some(name) = text.strip_prefix("--") else {
            return Ok(false);
        };
        if let "help" | "help-hidden" = name {
            self.shown = Some(COMMAND_LINE.help(false) + LINKER_HELP);
            return Ok(true);
        }
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        let mut own = COMMAND_LINE.options.iter();
        // A known name in the wrong form, a flag with a value or the other way round, is the
        // linker's.
        let own = own.find(|own| own.names.contains(&name) && own.takes_value() == value.is_some());
        match own {
            None => Ok(false),
            Some(own) => {
                UsageError::of(name, value.unwrap_or_default().into(), (own.slot)(self))?;
                Ok(true)
            }
        }
    }

    /// Takes an option that the linker gets, too.
    fn take_of_linker(&mut self, option: LinkerOption, argument: &OsStr, value: OsString) {
        let same = || vec![argument.to_owned()];
        match option {
            LinkerOption::Version => self.shown = Some(crate::version()),
            LinkerOption::Output => {
                self.forward(vec!["-o".into(), value.clone()], Meaning::Output);
                self.output = Some(value);
            }
            LinkerOption::Out => {
                self.forward(same(), Meaning::Output);
                self.output = Some(value);
            }
            LinkerOption::Library => {
                let meaning = Meaning::Library(value.to_string_lossy().into_owned());
                // All linkers know this form, whichever was given here.
                self.forward(vec![joined("-l", &value)], meaning);
            }
            LinkerOption::LibraryPath => {
                self.forward(vec![joined("-L", &value)], Meaning::LibraryPath(value.into()));
            }
            LinkerOption::LibPath => self.forward(same(), Meaning::LibraryPath(value.into())),
            LinkerOption::WholeArchive(whole) => self.forward(same(), Meaning::WholeArchive(whole)),
            LinkerOption::WholeArchives => {
                self.whole_archive = true;
                self.forward(same(), Meaning::Other);
            }
            LinkerOption::Relocatable => {
                self.relocatable = true;
                self.forward(same(), Meaning::Other);
            }
            LinkerOption::RunPath => self.forward(vec!["-rpath".into(), value], Meaning::RunPath),
            LinkerOption::Sysroot => {
                self.forward(same(), Meaning::Other);
                self.sysroot = value.into();
            }
            LinkerOption::Llvm { in_compiler } => {
                self.llvm
                    .push((value.to_string_lossy().into_owned(), in_compiler));
            }
        }
    }

    fn forward(&mut self, words: Vec<OsString>, meaning: Meaning) {
        self.linker.push(Argument { words, meaning });
    }

    fn input(&mut self, file: OsString) {
        let meaning = Meaning::Input(file.clone().into());
        self.forward(vec![file], meaning);
    }
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
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
