//! Device link: bitcode in, linked device images out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use offkit_object::property_set::PropertySets;
use offkit_object::{backquoted, describe_symbol};
use offkit_spirv::{Module, Reflection, reflect};
use offkit_worker::{EmitOptions, ModuleSummary, Part, Worker, WorkerError};

use crate::post_link::{self, SplitMode};
use crate::properties::{exported_symbols, image_properties, imported_symbols};

/// What to link, and how.
#[derive(Clone, Debug)]
pub struct DeviceLink {
    /// Bitcode files, in link order.
    pub inputs: Vec<PathBuf>,
    /// How the linked module is split into images.
    pub split: SplitMode,
    /// The version of SPIR-V to generate.
    pub spirv_version: (u8, u8),
    /// The SPIR-V extensions that may be used.
    pub spirv_extensions: Vec<String>,
    /// The level of optimisation, 0 to 3. Code stays portable at every level: loops are neither
    /// unrolled nor vectorised before the device is known.
    pub optimization: u8,
    /// Whether symbols may be left for other files to supply when the kernel is loaded.
    pub allow_imports: bool,
}

impl Default for DeviceLink {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            split: SplitMode::default(),
            spirv_version: (1, 2),
            spirv_extensions: PORTABLE_EXTENSIONS.map(str::to_owned).to_vec(),
            optimization: 2,
            allow_imports: true,
        }
    }
}

/// The SPIR-V extensions that are used unless others are asked for: ratified ones without which
/// OpenCL C's own functions cannot be expressed.
pub const PORTABLE_EXTENSIONS: [&str; 9] = [
    "SPV_EXT_relaxed_printf_string_address_space",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_KHR_bit_instructions",
    "SPV_KHR_expect_assume",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_subgroup_rotate",
    "SPV_KHR_uniform_group_instructions",
];

/// The device images that came out, and how long each step took.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The images, numbered as they stand here.
    pub images: Vec<LinkedImage>,
    /// The target triple of all of them.
    pub triple: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One device image.
#[derive(Clone, Debug)]
pub struct LinkedImage {
    /// The SPIR-V module.
    pub bytes: Vec<u8>,
    /// What is known about it.
    pub reflection: Reflection,
    /// What a runtime needs to know about it.
    pub properties: PropertySets,
}

/// One step of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What was done.
    pub name: &'static str,
    /// How long it took.
    pub time: Duration,
}

/// Why device code cannot be linked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// There is nothing to link.
    #[error("no input files")]
    NoInput,
    /// The inputs hold neither kernels nor functions for others.
    #[error("nothing to put into an image: no kernel and no exported function in {} (names that start with `__` belong to the compiler and are not exported)", backquoted(.inputs.iter().map(|input| input.display())))]
    NothingToLink {
        /// The inputs.
        inputs: Vec<PathBuf>,
    },
    /// An input is for another device than the others, or than the code generator.
    #[error("{}: the module is for `{found}`, expected {expected}", .input.display())]
    Target {
        /// The input.
        input: PathBuf,
        /// Its triple.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// A symbol that nothing supplies, in a link that must be complete.
    #[error("{}", undefined(.symbols))]
    Undefined {
        /// The symbols, each with the kernels of the images that need it.
        symbols: BTreeMap<String, Vec<String>>,
    },
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// A temporary file.
    #[error("cannot use a temporary file")]
    Temporary(#[from] io::Error),
    /// LLVM wrote something that is no SPIR-V module.
    #[error("LLVM generated a module that cannot be read: {0}")]
    Generated(offkit_spirv::ReadError),
}

fn undefined(symbols: &BTreeMap<String, Vec<String>>) -> String {
    let lines = symbols.iter().map(|(symbol, kernels)| {
        let kernels = if kernels.is_empty() {
            "an exported function".to_owned()
        } else {
            backquoted(kernels)
        };
        format!(
            "undefined symbol {}, needed by {kernels}",
            describe_symbol(symbol)
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

impl DeviceLink {
    /// Links the inputs.
    ///
    /// `progress` is told the name of each step as it begins.
    ///
    /// # Errors
    ///
    /// See [`LinkError`].
    pub fn run(
        &self,
        worker: &mut Worker,
        progress: &mut dyn FnMut(&'static str),
    ) -> Result<Linked, LinkError> {
        let mut steps = Steps {
            done: Vec::new(),
            progress,
        };
        let folder = tempfile::Builder::new().prefix("offkit-link-").tempdir()?;

        let summaries = steps.time("read", || {
            self.inputs
                .iter()
                .map(|input| Ok(worker.summarize(input)?))
                .collect::<Result<Vec<_>, LinkError>>()
        })?;
        let triple = self.check_targets(&summaries)?;
        let sources = sources(&summaries);

        let (merged, module) = match (self.inputs.as_slice(), summaries) {
            ([], _) => return Err(LinkError::NoInput),
            ([only], mut summaries) => (only.clone(), summaries.remove(0)),
            (inputs, _) => {
                let merged = folder.path().join("merged.bc");
                let module = steps.time("merge", || {
                    worker.merge(inputs, &merged)?;
                    worker.summarize(&merged)
                })?;
                (merged, module)
            }
        };

        let plan = steps.time("post-link", || post_link::plan(&module, &sources, self.split));
        if plan.images.is_empty() {
            return Err(LinkError::NothingToLink {
                inputs: self.inputs.clone(),
            });
        }
        let parts: Vec<Part> = (plan.images.iter().enumerate())
            .map(|(number, image)| Part {
                roots: image.roots(),
                left_out: image.left_out.clone(),
                output: folder.path().join(format!("{number}.spv")),
            })
            .collect();
        let options = EmitOptions {
            triple: triple.clone(),
            optimization: self.optimization,
            spirv_extensions: self.spirv_extensions.clone(),
            ..EmitOptions::default()
        };
        steps.time("generate code", || worker.emit(&merged, &parts, &options))?;

        let images = steps.time("describe", || {
            parts
                .iter()
                .map(|part| describe(&part.output))
                .collect::<Result<Vec<_>, LinkError>>()
        })?;
        if !self.allow_imports {
            check_complete(&images)?;
        }
        for (number, image) in images.iter().enumerate() {
            tracing::debug!(
                number,
                kernels = ?image.reflection.kernels.iter().map(|kernel| &kernel.name).collect::<Vec<_>>(),
                exports = ?exported_symbols(&image.reflection).collect::<Vec<_>>(),
                imports = ?imported_symbols(&image.reflection).collect::<Vec<_>>(),
                bytes = image.bytes.len(),
                "linked a device image"
            );
        }
        Ok(Linked {
            images,
            triple: "spirv64-unknown-unknown".to_owned(),
            steps: steps.done,
        })
    }

    /// Checks that the inputs are for one SPIR-V target and returns the triple to generate code for.
    fn check_targets(&self, summaries: &[ModuleSummary]) -> Result<String, LinkError> {
        for (input, summary) in self.inputs.iter().zip(summaries) {
            let architecture = summary.triple.split('-').next().unwrap_or_default();
            // `spir64` is what the DPC++ front end writes; the code is the same.
            if !(architecture.starts_with("spirv64") || architecture == "spir64") {
                return Err(LinkError::Target {
                    input: input.clone(),
                    found: summary.triple.clone(),
                    expected: "`spirv64`: compile with `--target=spirv64`".into(),
                });
            }
        }
        let (major, minor) = self.spirv_version;
        Ok(format!("spirv64v{major}.{minor}-unknown-unknown"))
    }
}

/// The steps done so far, and who wants to know about the next.
struct Steps<'a> {
    done: Vec<Step>,
    progress: &'a mut dyn FnMut(&'static str),
}

impl Steps<'_> {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        (self.progress)(name);
        let start = Instant::now();
        let result = work();
        self.done.push(Step {
            name,
            time: start.elapsed(),
        });
        result
    }
}

/// Which source file defines each symbol, by name.
fn sources(summaries: &[ModuleSummary]) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for summary in summaries {
        let functions = summary
            .functions
            .iter()
            .filter(|function| !function.is_declaration);
        let variables = summary
            .variables
            .iter()
            .filter(|variable| !variable.is_declaration);
        for function in functions {
            let module_id = function.attributes.get(crate::symbols::MODULE_ID);
            sources.insert(
                function.name.clone(),
                module_id.unwrap_or(&summary.source_file).clone(),
            );
        }
        sources.extend(variables.map(|variable| (variable.name.clone(), summary.source_file.clone())));
    }
    sources
}

fn describe(path: &Path) -> Result<LinkedImage, LinkError> {
    let bytes = fs::read(path)?;
    let module = Module::from_bytes(&bytes).map_err(LinkError::Generated)?;
    let reflection = reflect(&module);
    let properties = image_properties(&reflection);
    Ok(LinkedImage {
        bytes,
        reflection,
        properties,
    })
}

/// Checks that every import has an exporter among the images, also those that are not recorded because
/// their names belong to the compiler.
fn check_complete(images: &[LinkedImage]) -> Result<(), LinkError> {
    let supplied = |name: &str| {
        images
            .iter()
            .any(|image| exported_symbols(&image.reflection).any(|export| export == name))
    };
    let mut symbols: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for image in images {
        for import in image
            .reflection
            .imports
            .iter()
            .filter(|import| !supplied(&import.name))
        {
            let kernels = image.reflection.kernels.iter().map(|kernel| kernel.name.clone());
            symbols.entry(import.name.clone()).or_default().extend(kernels);
        }
    }
    if symbols.is_empty() {
        Ok(())
    } else {
        Err(LinkError::Undefined { symbols })
    }
}
