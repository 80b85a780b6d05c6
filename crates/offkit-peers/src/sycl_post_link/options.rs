//! The options of `sycl-post-link`.

use std::ffi::OsString;
use std::path::PathBuf;

use offkit_link::post_link::SplitMode;
use offkit_link::properties::PropertyChoice;
use offkit_llvm::SpecializationConstantMode;

use crate::arguments::{Argument, Arguments};

/// What the command line asks for.
pub(super) enum Parsed {
    Run(Box<Options>),
    /// Text to show, and nothing else.
    Show(String),
}

/// A table to write, and the target that its rows must suit; any target if there is none.
pub(super) struct Output {
    pub(super) target: String,
    pub(super) path: PathBuf,
}

pub(super) struct Options {
    pub(super) input: PathBuf,
    pub(super) outputs: Vec<Output>,
    pub(super) folder: Option<PathBuf>,
    pub(super) device_libraries: Option<PathBuf>,
    pub(super) force: bool,
    pub(super) text: bool,
    pub(super) ir_output_only: bool,
    pub(super) split: SplitMode,
    pub(super) split_esimd: bool,
    pub(super) lower_esimd: bool,
    pub(super) write_symbols: bool,
    pub(super) write_properties: bool,
    pub(super) specialization_constants: Option<SpecializationConstantMode>,
    pub(super) default_constants: bool,
    pub(super) properties: PropertyChoice,
    pub(super) only_kernels: bool,
    pub(super) dependencies: bool,
    /// The word after `-split=`.
    split_word: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            input: PathBuf::from("-"),
            outputs: Vec::new(),
            folder: None,
            device_libraries: None,
            force: false,
            text: false,
            ir_output_only: false,
            split: SplitMode::Source,
            split_esimd: false,
            lower_esimd: false,
            write_symbols: false,
            write_properties: false,
            specialization_constants: None,
            default_constants: false,
            properties: PropertyChoice::NONE,
            only_kernels: false,
            dependencies: false,
            split_word: "auto".into(),
        }
    }
}

impl Options {
    pub(super) fn parse(called: &str, args: Vec<OsString>) -> Result<Parsed, String> {
        let mut options = Self::default();
        let mut has_input = false;
        let mut arguments = Arguments::new(called, args);
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument {
                Argument::Positional(path) if !has_input => {
                    has_input = true;
                    options.input = path.into();
                    continue;
                }
                Argument::Positional(_) => {
                    return Err(format!(
                        "{called}: Too many positional arguments specified!\nCan specify at most 1 positional arguments: See: {called} --help"
                    ));
                }
                Argument::Option { name, value } => (name, value),
            };
            match name.as_str() {
                "help" | "h" | "help-hidden" | "help-list" | "help-list-hidden" => {
                    return Ok(Parsed::Show(help()));
                }
                "version" => return Ok(Parsed::Show(crate::version())),
                "o" => {
                    let text = arguments.value(&name, value)?;
                    let (target, path) = text.split_once(',').unwrap_or(("", &text));
                    options.outputs.push(match path {
                        "" => Output {
                            target: String::new(),
                            path: target.into(),
                        },
                        path => Output {
                            target: target.to_owned(),
                            path: path.into(),
                        },
                    });
                }
                "out-dir" => options.folder = Some(arguments.os_value(&name, value)?.into()),
                "device-lib-dir" => options.device_libraries = Some(arguments.os_value(&name, value)?.into()),
                "split" => {
                    options.split_word = arguments.value(&name, value)?;
                    options.split = match options.split_word.as_str() {
                        "source" | "auto" => SplitMode::Source,
                        "kernel" => SplitMode::Kernel,
                        "none" => SplitMode::None,
                        word => return Err(unknown_word(called, &name, word)),
                    };
                }
                "spec-const" => {
                    // The two older words for the same.
                    let mode = match arguments.value(&name, value)?.as_str() {
                        "native" | "rt" => SpecializationConstantMode::Native,
                        "emulation" | "default" => SpecializationConstantMode::Emulation,
                        word => return Err(unknown_word(called, &name, word)),
                    };
                    options.specialization_constants = Some(mode);
                }
                // They concern the lowering of ESIMD code only.
                "O0" | "O1" | "O2" | "O3" | "Os" | "Oz" | "force-disable-esimd-opt" => {
                    arguments.flag(&name, value)?;
                }
                _ => match options.flag(&name) {
                    Some(flag) => *flag = arguments.flag(&name, value)?,
                    None => return Err(arguments.unknown(&name)),
                },
            }
        }
        Ok(Parsed::Run(Box::new(options)))
    }

    /// An option that is there or not.
    fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "f" => &mut self.force,
            "S" => &mut self.text,
            "ir-output-only" => &mut self.ir_output_only,
            "split-esimd" => &mut self.split_esimd,
            "lower-esimd" => &mut self.lower_esimd,
            "symbols" => &mut self.write_symbols,
            "properties" => &mut self.write_properties,
            "emit-param-info" => &mut self.properties.parameter_optimization,
            "emit-program-metadata" => &mut self.properties.program_metadata,
            "emit-kernel-names" => &mut self.properties.kernel_names,
            "emit-exported-symbols" => &mut self.properties.exported_symbols,
            "emit-imported-symbols" => &mut self.properties.imported_symbols,
            "device-globals" => &mut self.properties.device_globals,
            "generate-device-image-default-spec-consts" => &mut self.default_constants,
            "emit-only-kernels-as-entry-points" => &mut self.only_kernels,
            // The older name says the same.
            "allow-device-image-dependencies" | "support-dynamic-linking" => &mut self.dependencies,
            _ => return None,
        })
    }

    /// Checks that there is something to do, and nothing that does not go with one file of code.
    pub(super) fn check(&self) -> Result<(), String> {
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
        if self.split == SplitMode::None && !others && !asked.iter().any(|(_, asked)| *asked) {
            return Err("no actions specified; try --help for usage info".into());
        }
        if self.ir_output_only {
            if !matches!(self.split_word.as_str(), "auto" | "none") {
                return Err(format!(
                    "error: -split={} can't be used with -ir-output-only",
                    self.split_word
                ));
            }
            let defaults = (
                "generate-device-image-default-spec-consts",
                self.default_constants,
            );
            if let Some((name, _)) = asked.iter().chain([&defaults]).find(|(_, asked)| *asked) {
                return Err(format!("error: -{name} can't be used with -ir-output-only"));
            }
        }
        Ok(())
    }

    /// Whether a terminal may get what is written.
    pub(super) fn binary_output_is_fine(&self) -> bool {
        self.text || self.force
    }
}

fn unknown_word(called: &str, option: &str, word: &str) -> String {
    format!("{called}: for the --{option} option: Cannot find option named '{word}'!")
}

fn help() -> String {
    "\
OVERVIEW: Splits linked bitcode for SYCL devices into images and writes a table of their files.

USAGE: sycl-post-link [options] <input bitcode file>

OPTIONS:

Generic Options:

  --help                                      - Show this text
  --help-list                                 - The same
  --version                                   - Show the version

sycl-post-link options:

  -O0, -O1, -O2, -O3, -Os, -Oz                - Level of optimisation of ESIMD code: accepted
  -S                                          - Write LLVM's text form
  --allow-device-image-dependencies           - Let images depend on each other
  --device-globals                            - Describe device globals
  --device-lib-dir=<dirname>                  - Where the device libraries for bfloat16 are
  --emit-exported-symbols                     - Record exported symbols
  --emit-imported-symbols                     - Record imported symbols
  --emit-kernel-names                         - Record the names of kernels
  --emit-only-kernels-as-entry-points         - Make images for kernels only
  --emit-param-info                           - Record unused arguments of kernels
  --emit-program-metadata                     - Record requirements kernel by kernel
  -f                                          - Write bitcode to a terminal
  --generate-device-image-default-spec-consts - Make each image a second time, with default values in the place of
                                                specialization constants
  --ir-output-only                            - Write one file of code and nothing else
  --lower-esimd                               - Lower ESIMD code: not supported, and refused where there is any
  -o <[target,]filename>                      - The table to write; may be repeated
  --out-dir=<dirname>                         - Where the files that the table names are written
  --properties                                - Write property files
  --spec-const=<value>                        - Lower specialization constants
    =native                                   -   to SPIR-V's own
    =emulation                                -   to loads from a buffer
  --split=<value>                             - How to split
    =source                                   -   an image for each source file
    =kernel                                   -   an image for each kernel
    =auto                                     -   by source file
    =none                                     -   not at all
  --split-esimd                               - Put ESIMD kernels into images of their own
  --symbols                                   - Write symbol files
"
    .to_owned()
}
