//! A module split into images, each described in property sets.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use offkit_llvm::{
    FunctionSummary, Metadata, ModuleSummary, SpecializationConstantMode, SplitOptions, SplitPart,
    VariableSummary, Worker, WorkerError, WrittenPart,
};
use offkit_object::property_set::names;
use offkit_object::{ImageFormat, Limits, PropertySets};

use super::{ExportArrangement, PlanOptions, PlannedImage, SplitMode, SymbolRules, plan};
use crate::properties::{IndexedModule, ModuleImage, PropertyChoice, module_properties};
use crate::symbols::{
    DEVICE_GLOBAL_SIZE, ESIMD_FUNCTION, INDIRECTLY_CALLABLE, has_device_image_scope, is_bfloat16_import,
    is_memory_of_device,
};

/// The name of metadata that lists execution modes of kernels.
const EXECUTION_MODES: &str = "spirv.ExecutionMode";

/// The name of metadata that lists kernels by names of their own.
const REGISTERED_KERNELS: &str = "sycl_registered_kernels";

/// How to split and describe a module.
#[derive(Clone, Debug)]
pub struct PostLink {
    /// The module, bitcode or text.
    pub input: PathBuf,
    /// What the module is called in what is written.
    pub name: String,
    /// Which source file each symbol comes from, by name, where the module itself does not say.
    pub sources: BTreeMap<String, String>,
    /// How it is split.
    pub plan: PlanOptions,
    /// Which property sets are made.
    pub properties: PropertyChoice,
    /// How specialization constants are lowered; not at all without.
    pub specialization_constants: Option<SpecializationConstantMode>,
    /// Whether each image with specialization constants is made a second time, with their default values.
    pub default_constants: bool,
    /// Whether the images are LLVM's text form instead of bitcode.
    pub text: bool,
    /// Whether the images record that they hold ESIMD functions or not.
    pub esimd_split_status: bool,
    /// Whether a device global of which each image has its own copy may be used in one image only.
    pub check_device_globals: bool,
    /// Whether ESIMD code is to be lowered. LLVM 22 has no code for that: it is an error where there is any.
    pub lower_esimd: bool,
    /// The greatest number of images made at a time; 0 stands for one on each core.
    pub jobs: usize,
}

impl Default for PostLink {
    fn default() -> Self {
        Self {
            input: PathBuf::new(),
            name: String::new(),
            sources: BTreeMap::new(),
            plan: PlanOptions::default(),
            properties: PropertyChoice::ALL,
            specialization_constants: Some(SpecializationConstantMode::Native),
            default_constants: false,
            text: false,
            esimd_split_status: false,
            check_device_globals: true,
            lower_esimd: false,
            jobs: 0,
        }
    }
}

/// Variables by name, with the places of the images that have copies of them.
pub type CopiedVariables = BTreeMap<String, Vec<usize>>;

/// The images that came out.
#[derive(Clone, Debug)]
pub struct PostLinked {
    /// The images, in the order of their numbers.
    pub images: Vec<PostLinkedImage>,
    /// The virtual functions of the module, which are found by the names of their sets.
    pub virtual_functions: HashSet<String>,
    /// The target triple of the module.
    pub triple: String,
    /// Whether anything but unneeded code differs from the module that came in.
    pub is_modified: bool,
    /// Whether an image needs functions of the device library for `bfloat16`.
    pub needs_bfloat16: bool,
    /// Variables that can be written to and that several images have, each a copy of its own; by name, with the
    /// places of the images. What a kernel of one writes, those of another do not see.
    pub copied_variables: CopiedVariables,
}

/// One image.
#[derive(Clone, Debug)]
pub struct PostLinkedImage {
    /// The file with its code, in the folder that was asked for.
    pub path: PathBuf,
    /// Its number. An image that was split off for its ESIMD functions shares that of the rest.
    pub number: usize,
    /// Whether it was split off for its ESIMD functions.
    pub is_esimd: bool,
    /// Whether specialization constants were replaced by their default values.
    pub has_default_constants: bool,
    /// Its kernels, in module order.
    pub kernels: Vec<String>,
    /// The symbols it supplies to others.
    pub exports: Vec<String>,
    /// The symbols others must supply.
    pub imports: Vec<String>,
    /// The functions it is made for, in module order.
    pub entry_points: Vec<String>,
    /// Functions that it uses and that are defined nowhere, where the device does not know them itself.
    pub undefined: Vec<String>,
    /// What a runtime needs to know about it.
    pub properties: PropertySets,
}

/// Why a module cannot be split.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostLinkError {
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The module was written by an LLVM whose bitcode 22 does not read, or is damaged.
    #[error("{message} (the bitcode was written by {producer})")]
    Bitcode {
        /// LLVM's words.
        message: String,
        /// Who wrote the bitcode, by its own account.
        producer: String,
    },
    /// ESIMD code that was to be lowered, or to be split from what calls it.
    #[error("{message}")]
    Esimd {
        /// What stands in the way.
        message: String,
    },
    /// A device global that would have several values.
    #[error(
        "device_global variable '{variable}' with property \"device_image_scope\" is used in more than one device image."
    )]
    DeviceGlobal {
        /// The variable.
        variable: String,
    },
}

impl PostLink {
    /// Splits the module and writes the images into `folder`, named by their position.
    ///
    /// `progress` is told the name of each step as it begins.
    ///
    /// # Errors
    ///
    /// See [`PostLinkError`].
    pub fn run(
        &self,
        worker: &mut Worker,
        folder: &Path,
        progress: &mut dyn FnMut(&'static str),
    ) -> Result<PostLinked, PostLinkError> {
        progress("read");
        let prepared = folder.join("prepared.bc");
        let module = worker
            .prepare(&self.input, &prepared)
            .map_err(|error| self.explain(error))?;
        self.check_esimd(&module)?;
        progress("plan");
        let plan = plan(&module, &self.sources, self.plan);
        if self.check_device_globals {
            check_device_globals(&module, &plan.images)?;
        }
        progress("split");
        let virtual_functions: HashSet<&str> = (module.functions.iter())
            .filter(|function| function.has_attribute(INDIRECTLY_CALLABLE))
            .map(|function| function.name.as_str())
            .collect();
        let lists = ListsOfKernels::new(&module);
        let parts: Vec<SplitPart> = (plan.images.iter().enumerate())
            .map(|(index, image)| {
                self.part(&lists, image, &virtual_functions, &folder.join(index.to_string()))
            })
            .collect();
        let options = SplitOptions {
            name: self.name.clone(),
            specialization_constants: self.specialization_constants,
            text: self.text,
            jobs: self.jobs,
        };
        let written = worker.split(&prepared, &parts, &options)?;

        progress("describe");
        let indexed = IndexedModule::new(&module);
        let mut images = Vec::new();
        let mut number = 0;
        let mut last = None;
        let mut met_constants = false;
        let mut defaults: Vec<PostLinkedImage> = Vec::new();
        for ((planned, part), written) in plan.images.iter().zip(&parts).zip(&written) {
            if last.is_some_and(|last| last != planned.number) {
                number += 1;
                if !defaults.is_empty() {
                    images.append(&mut defaults);
                    number += 1;
                }
            }
            last = Some(planned.number);
            met_constants |= !written.specialization_constants.is_empty();
            let image = ModuleImage {
                module: &indexed,
                planned,
                written,
                has_default_constants: false,
                rules: self.plan.rules,
                dependencies: self.plan.dependencies,
            };
            images.push(self.describe(&image, &part.output, number));
            if let (true, Some(output)) = (written.has_default_constants, &part.default_constants_output) {
                let image = ModuleImage {
                    has_default_constants: true,
                    ..image
                };
                defaults.push(self.describe(&image, output, number + 1));
            }
        }
        images.append(&mut defaults);
        let copied_variables = copied_variables(&module, &written);
        let is_modified = images.len() > 1
            || met_constants
            || module
                .variables
                .iter()
                .any(|variable| variable.name == "llvm.used");
        let virtual_functions = virtual_functions.into_iter().map(str::to_owned).collect();
        Ok(PostLinked {
            images,
            virtual_functions,
            is_modified,
            needs_bfloat16: (module.functions.iter()).any(is_bfloat16_import),
            copied_variables,
            triple: module.triple,
        })
    }

    /// What to take out for an image. `output` is the path of its file, without an extension.
    fn part(
        &self,
        lists: &ListsOfKernels<'_>,
        image: &PlannedImage,
        virtual_functions: &HashSet<&str>,
        output: &Path,
    ) -> SplitPart {
        let extension = if self.text { "ll" } else { "bc" };
        let compiler = self.plan.rules == SymbolRules::Compiler;
        SplitPart {
            contents: image.contents.clone(),
            visible: image.visible.clone(),
            entry_points: if compiler && !self.plan.dependencies {
                image.roots()
            } else {
                Vec::new()
            },
            externalized: if image.has_virtual_functions {
                image
                    .contents
                    .iter()
                    .filter(|name| virtual_functions.contains(name.as_str()))
                    .cloned()
                    .collect()
            } else {
                Vec::new()
            },
            left_out: image.left_out.clone(),
            esimd_split_status: self.esimd_split_status.then_some(u8::from(image.is_esimd)),
            named_metadata: lists.of(image),
            output: output.with_extension(extension),
            default_constants_output: (self.default_constants)
                .then(|| output.with_extension(format!("defaults.{extension}"))),
        }
    }

    fn describe(&self, image: &ModuleImage<'_>, path: &Path, number: usize) -> PostLinkedImage {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let entry_points = image.entry_points();
        let kernels = entry_points.iter().filter(|function| function.is_kernel());
        let kernels = kernels.map(|function| function.name.as_str()).collect();
        PostLinkedImage {
            path: path.to_owned(),
            number,
            is_esimd: image.planned.is_esimd,
            has_default_constants: image.has_default_constants,
            kernels: owned(kernels),
            exports: owned(image.exported_symbols()),
            imports: owned(image.imported_symbols()),
            entry_points: owned(
                entry_points
                    .iter()
                    .map(|function| function.name.as_str())
                    .collect(),
            ),
            undefined: if self.plan.dependencies || self.plan.split == SplitMode::None {
                Vec::new()
            } else {
                owned(image.undefined_functions())
            },
            properties: module_properties(image, &self.properties),
        }
    }

    /// Checks that nothing is asked for that cannot be done with ESIMD code.
    fn check_esimd(&self, module: &ModuleSummary) -> Result<(), PostLinkError> {
        let refused = |message: String| Err(PostLinkError::Esimd { message });
        let calls_simd = |function: &FunctionSummary| function.name.contains("__builtin_invoke_simd");
        if self.plan.split_esimd && module.functions.iter().any(calls_simd) {
            return refused("'invoke_simd' calls detected, '-split-esimd' must not be specified".into());
        }
        let esimd = (module.functions.iter()).find(|function| function.metadata.contains_key(ESIMD_FUNCTION));
        match esimd {
            Some(function) if self.lower_esimd => refused(format!(
                "`{}` is explicit SIMD code, which cannot be lowered here: that needs Intel's compiler",
                function.name
            )),
            _ => Ok(()),
        }
    }

    /// Adds to what LLVM says of a module it cannot read who wrote it.
    fn explain(&self, error: WorkerError) -> PostLinkError {
        let WorkerError::Failed { message } = error else {
            return error.into();
        };
        let bytes = std::fs::read(&self.input).unwrap_or_default();
        let producer = offkit_object::inspect(&bytes, ImageFormat::Bitcode, &Limits::default()).producer;
        match producer {
            Some(producer) if !message.contains(&producer) => PostLinkError::Bitcode { message, producer },
            _ => WorkerError::Failed { message }.into(),
        }
    }
}

/// Copies a device library of SYCL's compilers into `folder` as an image that exports its functions.
///
/// The library comes in two forms, of which the name tells: `native` for devices that have the operations
/// themselves, `fallback` for others.
///
/// # Errors
///
/// The library cannot be read.
pub fn device_library_image(
    worker: &mut Worker,
    library: &Path,
    folder: &Path,
    number: usize,
    text: bool,
) -> Result<PostLinkedImage, PostLinkError> {
    let name = library
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let prepared = folder.join(&name).with_extension("prepared.bc");
    let module = worker.prepare(library, &prepared)?;
    let functions = module
        .functions
        .iter()
        .filter(|function| !function.is_declaration);
    let variables = module
        .variables
        .iter()
        .filter(|variable| !variable.is_declaration);
    let functions: Vec<_> = functions.map(|function| function.name.clone()).collect();
    let contents: Vec<_> = (functions.iter().cloned())
        .chain(variables.map(|variable| variable.name.clone()))
        .filter(|name| !name.is_empty())
        .collect();
    let part = SplitPart {
        visible: contents.clone(),
        contents,
        output: folder
            .join(&name)
            .with_extension(if text { "ll" } else { "image.bc" }),
        ..SplitPart::default()
    };
    let options = SplitOptions {
        name: library.display().to_string(),
        text,
        ..SplitOptions::default()
    };
    worker.split(&prepared, std::slice::from_ref(&part), &options)?;
    let exports: Vec<_> = functions
        .into_iter()
        .filter(|name| name.starts_with("__devicelib_"))
        .collect();
    let mut properties = PropertySets::new();
    properties.insert_symbols(names::EXPORTED_SYMBOLS, exports.clone());
    properties.insert(
        names::DEVICELIB_METADATA,
        "bfloat16",
        u32::from(name.contains("native")),
    );
    Ok(PostLinkedImage {
        path: part.output,
        number,
        is_esimd: false,
        has_default_constants: false,
        kernels: Vec::new(),
        exports,
        imports: Vec::new(),
        entry_points: Vec::new(),
        undefined: Vec::new(),
        properties,
    })
}

/// The lists of kernels that a module has, by symbol.
struct ListsOfKernels<'a> {
    /// Execution modes, with their places in the list.
    modes: HashMap<&'a str, Vec<(usize, &'a Metadata)>>,
    /// Names of their own; none where the module has no such list.
    registered: Option<HashMap<&'a str, Vec<(usize, &'a str)>>>,
}

impl<'a> ListsOfKernels<'a> {
    fn new(module: &'a ModuleSummary) -> Self {
        let mut modes: HashMap<_, Vec<_>> = HashMap::new();
        let all = module.named_metadata.get(EXECUTION_MODES).into_iter().flatten();
        for (place, mode) in all.enumerate() {
            if let Some(Metadata::Symbol(kernel)) = mode.node().and_then(|operands| operands.first()) {
                modes.entry(kernel.as_str()).or_default().push((place, mode));
            }
        }
        let has_list = module.named_metadata.contains_key(REGISTERED_KERNELS);
        let registered = has_list.then(|| crate::properties::registered(module));
        Self { modes, registered }
    }

    /// What of them concerns an image.
    fn of(&self, image: &PlannedImage) -> BTreeMap<String, Vec<Metadata>> {
        let mut lists = BTreeMap::new();
        let modes = image
            .contents
            .iter()
            .filter_map(|symbol| self.modes.get(symbol.as_str()));
        let mut modes: Vec<_> = modes.flatten().collect();
        modes.sort_by_key(|(place, _)| *place);
        if !modes.is_empty() {
            let modes = modes.into_iter().map(|(_, mode)| (*mode).clone());
            lists.insert(EXECUTION_MODES.to_owned(), modes.collect());
        }
        if let Some(registered) = &self.registered {
            let symbols = image.contents.iter().chain(&image.left_out);
            let mut kernels: Vec<(usize, &str, &str)> = symbols
                .flat_map(|symbol| {
                    let names = registered.get(symbol.as_str()).into_iter().flatten();
                    names.map(|(place, name)| (*place, *name, symbol.as_str()))
                })
                .collect();
            kernels.sort_unstable();
            let text = |text: &str| Metadata::Text(text.to_owned());
            let kernels = kernels.into_iter();
            let kernels = kernels.map(|(_, name, symbol)| Metadata::Node(vec![text(name), text(symbol)]));
            lists.insert(
                REGISTERED_KERNELS.to_owned(),
                vec![Metadata::Node(kernels.collect())],
            );
        }
        lists
    }
}

/// The variables of which several images have copies; of device globals the runtime takes care.
fn copied_variables(module: &ModuleSummary, written: &[WrittenPart]) -> CopiedVariables {
    let is_mutable = |variable: &&VariableSummary| {
        !variable.is_constant
            && !variable.is_declaration
            && is_memory_of_device(&module.triple, variable.address_space)
            && !variable.attributes.contains_key(DEVICE_GLOBAL_SIZE)
            && !variable.name.starts_with("llvm.")
    };
    let mutable = module.variables.iter().filter(is_mutable);
    let mutable: HashSet<&str> = mutable.map(|variable| variable.name.as_str()).collect();
    let mut copies: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, part) in written.iter().enumerate() {
        for name in (part.variables.iter()).filter(|name| mutable.contains(name.as_str())) {
            copies.entry(name.clone()).or_default().push(number);
        }
    }
    copies.retain(|_, images| images.len() > 1);
    copies
}

/// Checks that a device global of which each image has a copy of its own is used by the entry points of one
/// image only.
fn check_device_globals(module: &ModuleSummary, images: &[PlannedImage]) -> Result<(), PostLinkError> {
    let scoped = module.variables.iter().zip(module.functions.len() as u32..);
    let scoped: Vec<_> = scoped
        .filter(|(variable, _)| has_device_image_scope(variable))
        .collect();
    if scoped.is_empty() || images.len() < 2 {
        return Ok(());
    }
    let mut users: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let functions = module.functions.iter().map(|function| &function.uses);
    let variables = module.variables.iter().map(|variable| &variable.uses);
    for (user, uses) in (0..).zip(functions.chain(variables)) {
        for used in uses {
            users.entry(*used).or_default().push(user);
        }
    }
    let image_of: BTreeMap<String, usize> = (images.iter().enumerate())
        .flat_map(|(index, image)| image.roots().into_iter().map(move |root| (root, index)))
        .collect();
    for (variable, number) in scoped {
        let mut found = None;
        let mut seen = HashSet::from([number]);
        let mut open = vec![number];
        while let Some(used) = open.pop() {
            if let Some(image) = module.symbol(used).and_then(|name| image_of.get(name))
                && *found.get_or_insert(*image) != *image
            {
                return Err(PostLinkError::DeviceGlobal {
                    variable: variable.name.clone(),
                });
            }
            let users = users.get(&used).map(Vec::as_slice).unwrap_or_default();
            open.extend(users.iter().filter(|user| seen.insert(**user)));
        }
    }
    Ok(())
}

/// The arrangement and the rules of today's SYCL compilers.
impl PlanOptions {
    /// Options for a plan like that of `sycl-post-link`, which has images depend on each other only if asked to.
    pub fn compiler(split: SplitMode) -> Self {
        Self {
            split,
            exports: ExportArrangement::Grouped,
            rules: SymbolRules::Compiler,
            dependencies: false,
            ..Self::default()
        }
    }
}
