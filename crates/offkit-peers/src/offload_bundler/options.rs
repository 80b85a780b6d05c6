//! The command line and the environment.

use std::env;

use offkit_object::bundle::CompressedVersion;

use super::NAME;
use super::error::{Error, Result};
use crate::options::{CommandLine, List};

/// Options in the order and with the words of the original, as far as it has them.
pub(super) const COMMAND_LINE: CommandLine<Options> = CommandLine {
    tool: NAME,
    overview: "A tool to bundle several input files of the specified type <type> 
referring to the same source file but different targets into a single 
one. The resulting file can also be unbundled into different files by 
this tool if -unbundle is provided.",
    usage: "[options]",
    options: options![o: Options;
        "###" => o.print_commands, "Print any external commands that are to be executed instead of actually executing them - for testing purposes.";
        "allow-missing-bundles" => o.allow_missing, "Create empty files if bundles are missing when unbundling.";
        "bundle-align" = "<uint>" => o.alignment, "Alignment of bundle for binary files";
        "check-input-archive" => o.check_archive, "Check if input heterogeneous archive is valid in terms of TargetID rules.";
        "compress" => o.compress, "Compress output file when bundling.";
        "compression-level" = "<n>" => o.level, "Specify the compression level (integer)";
        "hip-openmp-compatible" => o.hip_openmp_compatible, "Treat hip and hipv4 offload kinds as compatible with openmp kind, and vice versa.";
        "input" = "<string>" => o.inputs, "Input file. Can be specified multiple times for multiple input files.";
        "inputs" = "<string>" => o.old_inputs, "[<input file>,...] (deprecated)";
        "list" => o.list, "List bundle IDs in the bundled file.";
        "output" = "<string>" => o.outputs, "Output file. Can be specified multiple times for multiple output files.";
        "outputs" = "<string>" => o.old_outputs, "[<output file>,...] (deprecated)";
        "q" = "<file>" => o.query, "Say which devices a file of any type has code for, and of what kind.";
        "targets" = "<string>" => o.targets, "[<offload kind>-<target triple>,...]";
        "type" = "<string>" => o.file_type, "Type of the files to be bundled/unbundled.
Current supported types are:
  i    - cpp-output
  ii   - c++-cpp-output
  cui  - cuda-cpp-output
  hipi - hip-cpp-output
  d    - dependency
  ll   - llvm
  bc   - llvm-bc
  s    - assembler
  o    - object
  a    - archive of objects
  gch  - precompiled-header
  ast  - clang AST file";
        "unbundle" => o.unbundle, "Unbundle bundled file into several output files.";
        "verbose" => o.verbose, "Print debug information.";
    ],
    positional: |_, _| {},
    positionals: 0..=0,
    missing: |options| (options.file_type.is_none() && options.query.is_none()).then_some("type"),
};

/// What to do, as far as the command line says it.
#[derive(Debug, Default)]
pub(super) struct Options {
    file_type: Option<String>,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    old_inputs: List,
    old_outputs: List,
    pub(super) targets: List,
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
}

/// What is to be done, with the file that there must be exactly one of.
pub(super) enum Mode<'a> {
    Query(&'a str),
    List(&'a str),
    Unbundle(&'a str),
    Bundle(&'a str),
}

impl Options {
    /// What the environment says.
    pub(super) fn of_environment() -> Self {
        let mut options = Self {
            alignment: 1,
            ..Self::default()
        };
        let is_on = |name| env::var(name).is_ok_and(|value| value == "1");
        if is_on("OFFLOAD_BUNDLER_IGNORE_ENV_VAR") {
            return options;
        }
        options.compress = is_on("OFFLOAD_BUNDLER_COMPRESS");
        options.verbose = is_on("OFFLOAD_BUNDLER_VERBOSE");
        if let Ok(level) = env::var("OFFLOAD_BUNDLER_COMPRESSION_LEVEL") {
            options.level = level.parse().ok();
            if options.level.is_none() {
                say!("Warning: Invalid value for OFFLOAD_BUNDLER_COMPRESSION_LEVEL: {level}. Ignoring it.");
            }
        }
        if let Ok(version) = env::var("COMPRESSED_BUNDLE_FORMAT_VERSION") {
            options.version = match version.as_str() {
                "2" => Some(CompressedVersion::V2),
                "3" => Some(CompressedVersion::V3),
                _ => {
                    say!(
                        "Warning: Invalid value for COMPRESSED_BUNDLE_FORMAT_VERSION: {version}. \
                         Valid values are 2 or 3. Using default version 3."
                    );
                    None
                }
            };
        }
        options
    }

    /// The name of the type of the files.
    pub(super) fn file_type(&self) -> &str {
        self.file_type.as_deref().unwrap_or_default()
    }

    /// Takes the files of the deprecated options, which are in the place of the current ones or not at all. Gives
    /// back why that cannot be.
    pub(super) fn take_old(&mut self) -> Option<Error> {
        let places = [
            (
                &mut self.old_inputs.0,
                &mut self.inputs,
                "-inputs is deprecated, use -input instead",
                Error::BothInputs,
            ),
            (
                &mut self.old_outputs.0,
                &mut self.outputs,
                "-outputs is deprecated, use -output instead",
                Error::BothOutputs,
            ),
        ];
        let mut conflict = None;
        for (old, current, deprecated, both) in places {
            if old.is_empty() {
                continue;
            }
            if current.is_empty() {
                say!("{NAME}: warning: {deprecated}");
                *current = std::mem::take(old);
            } else {
                conflict = conflict.or(Some(both));
            }
        }
        conflict
    }

    /// What is to be done, if all that it needs is there.
    pub(super) fn mode(&self, conflict: Option<Error>) -> Result<Mode<'_>> {
        if let Some(file) = &self.query {
            return Ok(Mode::Query(file));
        }
        if let Some(conflict) = conflict {
            return Err(conflict);
        }
        let has_targets = !self.targets.is_empty();
        if self.list {
            return match self.inputs.as_slice() {
                _ if self.unbundle => Err(Error::UnbundleAndList),
                [input] if !has_targets && self.outputs.is_empty() => Ok(Mode::List(input)),
                [_] if has_targets => Err(Error::TargetsOfList),
                [_] => Err(Error::OutputsOfList),
                _ => Err(Error::OneInputOfList),
            };
        }
        if self.outputs.is_empty() {
            return Err(Error::NoOutput);
        }
        if !has_targets {
            return Err(Error::NoTargets);
        }
        if self.unbundle {
            match self.inputs.as_slice() {
                [input] if self.outputs.len() == self.targets.len() => Ok(Mode::Unbundle(input)),
                [_] => Err(Error::UnbundledOutputs),
                _ => Err(Error::OneUnbundledInput),
            }
        } else {
            match self.outputs.as_slice() {
                _ if self.file_type() == "a" => Err(Error::BundledArchive),
                [output] if self.inputs.len() == self.targets.len() => Ok(Mode::Bundle(output)),
                [_] => Err(Error::BundledInputs),
                _ => Err(Error::OneBundledOutput),
            }
        }
    }
}
