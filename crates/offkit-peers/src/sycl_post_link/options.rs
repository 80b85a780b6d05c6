//! The options of `sycl-post-link`.

use std::ffi::OsString;
use std::path::PathBuf;

use offkit_link::post_link::SplitMode;
use offkit_link::properties::PropertyChoice;
use offkit_llvm::SpecializationConstantMode;

use super::Error;
use crate::options::{CommandLine, Value, Wrong, text};

pub(super) const COMMAND_LINE: CommandLine<Options> = CommandLine {
    tool: super::NAME,
    overview: "Splits linked bitcode for SYCL devices into images and writes a table of their files.",
    usage: "[options] <input bitcode file>",
    options: options![o: Options;
        "O0" | "O1" | "O2" | "O3" | "Os" | "Oz" => o.ignored, "Level of optimisation of ESIMD code, also 1 to 3, s and z: accepted";
        "S" => o.text, "Write LLVM's text form";
        // The older name says the same.
        "allow-device-image-dependencies" | "support-dynamic-linking" => o.dependencies, "Let images depend on each other";
        "device-globals" => o.properties.device_globals, "Describe device globals";
        "device-lib-dir" = "<dirname>" => o.device_libraries, "Where the device libraries for bfloat16 are";
        "emit-exported-symbols" => o.properties.exported_symbols, "Record exported symbols";
        "emit-imported-symbols" => o.properties.imported_symbols, "Record imported symbols";
        "emit-kernel-names" => o.properties.kernel_names, "Record the names of kernels";
        "emit-only-kernels-as-entry-points" => o.only_kernels, "Make images for kernels only";
        "emit-param-info" => o.properties.parameter_optimization, "Record unused arguments of kernels";
        "emit-program-metadata" => o.properties.program_metadata, "Record requirements kernel by kernel";
        "f" => o.force, "Write bitcode to a terminal";
        // It concerns the lowering of ESIMD code only.
        "force-disable-esimd-opt" => o.ignored, "";
        "generate-device-image-default-spec-consts" => o.default_constants, "Make each image a second time, with default values in the place of\nspecialization constants";
        "ir-output-only" => o.ir_output_only, "Write one file of code and nothing else";
        "lower-esimd" => o.lower_esimd, "Lower ESIMD code: not supported, and refused where there is any";
        "o" = "<[target,]filename>" => o.outputs, "The table to write; may be repeated";
        "out-dir" = "<dirname>" => o.folder, "Where the files that the table names are written";
        "properties" => o.write_properties, "Write property files";
        "spec-const" = "<value>" => o.specialization_constants, "Lower specialization constants
  =native    - to SPIR-V's own
  =emulation - to loads from a buffer";
        "split" = "<value>" => o.split, "How to split
  =source - an image for each source file
  =kernel - an image for each kernel
  =auto   - by source file
  =none   - not at all";
        "split-esimd" => o.split_esimd, "Put ESIMD kernels into images of their own";
        "symbols" => o.write_symbols, "Write symbol files";
    ],
    positional: |options, file| options.input = file.into(),
    positionals: 0..=1,
    missing: |_| None,
};

/// A table to write, and the target that its rows must suit; any target if there is none.
pub(super) struct Output {
    pub(super) target: String,
    pub(super) path: PathBuf,
}

impl Value for Output {
    fn of(value: OsString) -> Result<Self, Wrong> {
        let text = text(value)?;
        let (target, path) = match text.split_once(',') {
            None | Some((_, "")) => ("", text.trim_end_matches(',')),
            Some(both) => both,
        };
        Ok(Self {
            target: target.to_owned(),
            path: path.into(),
        })
    }
}

/// How to split.
pub(super) struct Split {
    pub(super) mode: SplitMode,
    /// The word on the command line.
    word: String,
}

impl Value for Split {
    fn of(value: OsString) -> Result<Self, Wrong> {
        let word = text(value)?;
        let mode = match word.as_str() {
            "source" | "auto" => SplitMode::Source,
            "kernel" => SplitMode::Kernel,
            "none" => SplitMode::None,
            _ => return Err(Wrong::Word),
        };
        Ok(Self { mode, word })
    }
}

impl Value for SpecializationConstantMode {
    fn of(value: OsString) -> Result<Self, Wrong> {
        match value.to_str() {
            // `rt` and `default` are older words for the same.
            Some("native" | "rt") => Ok(Self::Native),
            Some("emulation" | "default") => Ok(Self::Emulation),
            _ => Err(Wrong::Word),
        }
    }
}

pub(super) struct Options {
    pub(super) input: PathBuf,
    pub(super) outputs: Vec<Output>,
    pub(super) folder: Option<PathBuf>,
    pub(super) device_libraries: Option<PathBuf>,
    pub(super) force: bool,
    pub(super) text: bool,
    pub(super) ir_output_only: bool,
    pub(super) split: Split,
    pub(super) split_esimd: bool,
    pub(super) lower_esimd: bool,
    pub(super) write_symbols: bool,
    pub(super) write_properties: bool,
    pub(super) specialization_constants: Option<SpecializationConstantMode>,
    pub(super) default_constants: bool,
    pub(super) properties: PropertyChoice,
    pub(super) only_kernels: bool,
    pub(super) dependencies: bool,
    ignored: bool,
}

impl Options {
    pub(super) fn new() -> Self {
        Self {
            input: PathBuf::from("-"),
            outputs: Vec::new(),
            folder: None,
            device_libraries: None,
            force: false,
            text: false,
            ir_output_only: false,
            split: Split {
                mode: SplitMode::Source,
                word: "auto".into(),
            },
            split_esimd: false,
            lower_esimd: false,
            write_symbols: false,
            write_properties: false,
            specialization_constants: None,
            default_constants: false,
            properties: PropertyChoice::NONE,
            only_kernels: false,
            dependencies: false,
            ignored: false,
        }
    }

    /// Checks that there is something to do, and nothing that does not go with one file of code.
    pub(super) fn check(&self) -> Result<(), Error> {
        let asked = [
            ("split-esimd", self.split_esimd),
            ("symbols", self.write_symbols),
            ("properties", self.write_properties),
            ("emit-param-info", self.properties.parameter_optimization),
            ("emit-program-metadata", self.properties.program_metadata),
            ("emit-kernel-names", self.properties.kernel_names),
            ("emit-exported-symbols", self.properties.exported_symbols),
            ("emit-imported-symbols", self.properties.imported_symbols),
        ];
        let others =
            self.specialization_constants.is_some() || self.properties.device_globals || self.lower_esimd;
        if self.split.mode == SplitMode::None && !others && !asked.iter().any(|(_, asked)| *asked) {
            return Err(Error::NothingAsked);
        }
        if self.ir_output_only {
            let refuse = |option: String| Err(Error::NotWithOneFile { option });
            if !matches!(self.split.word.as_str(), "auto" | "none") {
                return refuse(format!("-split={}", self.split.word));
            }
            let defaults = (
                "generate-device-image-default-spec-consts",
                self.default_constants,
            );
            if let Some((name, _)) = asked.iter().chain([&defaults]).find(|(_, asked)| *asked) {
                return refuse(format!("-{name}"));
            }
        }
        Ok(())
    }

    /// Whether a terminal may get what is written.
    pub(super) fn binary_output_is_fine(&self) -> bool {
        self.text || self.force
    }
}
