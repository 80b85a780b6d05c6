//! The command line and the environment.
//!
//! Options have one dash or two; values follow after `=` or as the next argument. All that is wrong with the
//! words is said at once, before what is wrong with their meaning.

use std::env;
use std::ffi::OsString;

use offkit_object::bundle::CompressedVersion;

use super::help::HELP;
use super::{Message, Result};

/// What to do, as far as the command line says it.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) file_type: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) targets: Vec<String>,
    has_targets: bool,
    unbundle: bool,
    list: bool,
    query: Option<String>,
    pub(super) allow_missing: bool,
    pub(super) alignment: u64,
    pub(super) check_archive: bool,
    pub(super) hip_openmp_compatible: bool,
    pub(super) print_commands: bool,
    pub(super) compress: bool,
    pub(super) level: Option<i32>,
    pub(super) version: Option<CompressedVersion>,
    pub(super) verbose: bool,
    pub(super) warnings: Vec<String>,
    /// What is wrong with the inputs or outputs together.
    conflict: Option<&'static str>,
}

/// Why nothing is to be done.
pub(super) enum Stop {
    /// To print this was all.
    Print(String),
    /// The words are wrong.
    Usage(Vec<String>),
}

/// What is to be done, with the file that there must be exactly one of.
pub(super) enum Mode<'a> {
    Query(&'a str),
    List(&'a str),
    Unbundle(&'a str),
    Bundle(&'a str),
}

/// What follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Switch,
    Value,
}

const OPTIONS: &[(&str, Takes)] = &[
    ("help", Takes::Nothing),
    ("help-hidden", Takes::Nothing),
    ("help-list", Takes::Nothing),
    ("help-list-hidden", Takes::Nothing),
    ("version", Takes::Nothing),
    ("###", Takes::Switch),
    ("allow-missing-bundles", Takes::Switch),
    ("bundle-align", Takes::Value),
    ("check-input-archive", Takes::Switch),
    ("compress", Takes::Switch),
    ("compression-level", Takes::Value),
    ("hip-openmp-compatible", Takes::Switch),
    ("input", Takes::Value),
    ("inputs", Takes::Value),
    ("list", Takes::Switch),
    ("output", Takes::Value),
    ("outputs", Takes::Value),
    ("q", Takes::Value),
    ("targets", Takes::Value),
    ("type", Takes::Value),
    ("unbundle", Takes::Switch),
    ("verbose", Takes::Switch),
];

pub(super) fn parse(args: Vec<OsString>) -> std::result::Result<Options, Stop> {
    let mut options = Options {
        alignment: 1,
        ..Options::default()
    };
    options.take_environment();
    let mut wrong = Vec::new();
    let mut old = (Vec::new(), Vec::new());
    let mut file_type = None;
    let mut args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned());
    while let Some(arg) = args.next() {
        let words = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'));
        let (name, value) = match words.map(|words| words.split_once('=')) {
            Some(Some((name, value))) => (name, Some(value.to_owned())),
            Some(None) => (words.unwrap_or_default(), None),
            None => ("", None),
        };
        let Some((name, takes)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            let hint = "Try: 'clang-offload-bundler --help'";
            wrong.push(format!("Unknown command line argument '{arg}'.  {hint}"));
            continue;
        };
        let value = match (takes, value) {
            (Takes::Value, None) => match args.next() {
                Some(value) => value,
                None => {
                    wrong.push(format!("for the --{name} option: requires a value!"));
                    continue;
                }
            },
            (_, value) => value.unwrap_or_default(),
        };
        let mut switch = |switch: &mut bool| match value.as_str() {
            "" | "true" | "TRUE" | "True" | "1" => *switch = true,
            "false" | "FALSE" | "False" | "0" => *switch = false,
            other => wrong.push(format!(
                "for the --{name} option: '{other}' is invalid value for boolean argument! Try 0 or 1"
            )),
        };
        let list = || value.split(',').map(str::to_owned);
        match *name {
            "help" | "help-hidden" | "help-list" | "help-list-hidden" => {
                return Err(Stop::Print(HELP.to_owned()));
            }
            "version" => return Err(Stop::Print(crate::version())),
            "###" => switch(&mut options.print_commands),
            "allow-missing-bundles" => switch(&mut options.allow_missing),
            "check-input-archive" => switch(&mut options.check_archive),
            "compress" => switch(&mut options.compress),
            "hip-openmp-compatible" => switch(&mut options.hip_openmp_compatible),
            "list" => switch(&mut options.list),
            "unbundle" => switch(&mut options.unbundle),
            "verbose" => switch(&mut options.verbose),
            "bundle-align" => match value.parse() {
                Ok(alignment) => options.alignment = alignment,
                Err(_) => wrong.push(format!(
                    "for the --{name} option: '{value}' value invalid for uint argument!"
                )),
            },
            "compression-level" => match value.parse() {
                Ok(level) => options.level = Some(level),
                Err(_) => wrong.push(format!(
                    "for the --{name} option: '{value}' value invalid for integer argument!"
                )),
            },
            "input" => options.inputs.push(value),
            "output" => options.outputs.push(value),
            "inputs" => old.0.extend(list()),
            "outputs" => old.1.extend(list()),
            "targets" => {
                options.has_targets = true;
                options.targets.extend(list());
            }
            "type" => file_type = Some(value),
            "q" => options.query = Some(value),
            _ => {}
        }
    }
    match file_type {
        Some(file_type) => options.file_type = file_type,
        None if options.query.is_some() => {}
        None => wrong.push("for the --type option: must be specified at least once!".to_owned()),
    }
    if !wrong.is_empty() {
        return Err(Stop::Usage(wrong));
    }
    options.take_old(old.0, old.1);
    Ok(options)
}

impl Options {
    fn take_environment(&mut self) {
        let is_on = |name| env::var(name).is_ok_and(|value| value == "1");
        if is_on("OFFLOAD_BUNDLER_IGNORE_ENV_VAR") {
            return;
        }
        self.compress = is_on("OFFLOAD_BUNDLER_COMPRESS");
        self.verbose = is_on("OFFLOAD_BUNDLER_VERBOSE");
        if let Ok(level) = env::var("OFFLOAD_BUNDLER_COMPRESSION_LEVEL") {
            match level.parse() {
                Ok(level) => self.level = Some(level),
                Err(_) => super::say(format_args!(
                    "Warning: Invalid value for OFFLOAD_BUNDLER_COMPRESSION_LEVEL: {level}. Ignoring it."
                )),
            }
        }
        if let Ok(version) = env::var("COMPRESSED_BUNDLE_FORMAT_VERSION") {
            match version.as_str() {
                "2" => self.version = Some(CompressedVersion::V2),
                "3" => self.version = Some(CompressedVersion::V3),
                _ => super::say(format_args!(
                    "Warning: Invalid value for COMPRESSED_BUNDLE_FORMAT_VERSION: {version}. \
                     Valid values are 2 or 3. Using default version 3."
                )),
            }
        }
    }

    /// Takes the files of the deprecated options, which are in the place of the current ones or not at all.
    fn take_old(&mut self, inputs: Vec<String>, outputs: Vec<String>) {
        let places = [
            (
                inputs,
                &mut self.inputs,
                "-inputs is deprecated, use -input instead",
                "-inputs and -input cannot be used together, use only -input instead",
            ),
            (
                outputs,
                &mut self.outputs,
                "-outputs is deprecated, use -output instead",
                "-outputs and -output cannot be used together, use only -output instead",
            ),
        ];
        for (old, current, deprecated, conflict) in places {
            if old.is_empty() {
                continue;
            }
            if current.is_empty() {
                self.warnings.push(deprecated.to_owned());
                *current = old;
            } else {
                self.conflict = self.conflict.or(Some(conflict));
            }
        }
    }

    /// What is to be done, if all that it needs is there.
    pub(super) fn mode(&self) -> Result<Mode<'_>> {
        let refuse = |text: &str| Err(Message::new(text));
        if let Some(file) = &self.query {
            return Ok(Mode::Query(file));
        }
        if let Some(conflict) = self.conflict {
            return refuse(conflict);
        }
        if self.list {
            return match self.inputs.as_slice() {
                _ if self.unbundle => refuse("-unbundle and -list cannot be used together"),
                [input] if !self.has_targets && self.outputs.is_empty() => Ok(Mode::List(input)),
                [_] if self.has_targets => refuse("-targets option is invalid for -list"),
                [_] => refuse("-outputs option is invalid for -list"),
                _ => refuse("only one input file supported for -list"),
            };
        }
        if self.outputs.is_empty() {
            return refuse("no output file specified!");
        }
        if !self.has_targets {
            return refuse("for the --targets option: must be specified at least once!");
        }
        if self.unbundle {
            match self.inputs.as_slice() {
                [input] if self.outputs.len() == self.targets.len() => Ok(Mode::Unbundle(input)),
                [_] => refuse("number of output files and targets should match in unbundling mode"),
                _ => refuse("only one input file supported in unbundling mode"),
            }
        } else {
            match self.outputs.as_slice() {
                _ if self.file_type == "a" => refuse("Archive files are only supported for unbundling"),
                [output] if self.inputs.len() == self.targets.len() => Ok(Mode::Bundle(output)),
                [_] => refuse("number of input files and targets should match in bundling mode"),
                _ => refuse("only one output file supported in bundling mode"),
            }
        }
    }
}
