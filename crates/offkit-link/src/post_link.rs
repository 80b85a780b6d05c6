//! A module split into images, each described in property sets.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::take;
use std::path::Path;

use offkit_llvm::{
    EmittedPart, Form, FunctionSummary, Metadata, ModuleSummary, Part, Source, SpecializationConstantMode,
    VariableSummary, Worker, WorkerError,
};
use offkit_object::property_set::names;
use offkit_object::{DeviceImage, ImageFormat, Limits, PropertySets};

use crate::plan::{PlannedImage, plan};
use crate::properties::{IndexedModule, ModuleImage, PropertyChoice, module_properties};
use crate::symbols::{
    DEVICE_GLOBAL_SIZE, ESIMD_FUNCTION, INDIRECTLY_CALLABLE, REGISTER_ATTRIBUTES, has_device_image_scope,
    is_bfloat16_import, is_memory_of_device,
};

pub use crate::plan::{ExportArrangement, Plan, PlanOptions, SplitMode, SymbolRules};

/// The name of metadata that lists execution modes of kernels.
const EXECUTION_MODES: &str = "spirv.ExecutionMode";

/// The name of metadata that lists kernels by names of their own.
const REGISTERED_KERNELS: &str = "sycl_registered_kernels";

/// What the names of functions begin with that get values of specialization constants.
// Only how they begin: mangled types follow. `llvm.sycl.alloca` is an intrinsic of Intel's fork, for private arrays
// whose size is a constant.
const CONSTANT_FUNCTIONS: [&str; 3] = [
    "_Z37__sycl_getScalar2020SpecConstantValue",
    "_Z40__sycl_getComposite2020SpecConstantValue",
    "llvm.sycl.alloca.",
];

/// How to split and describe a module.
#[derive(Clone, Debug)]
pub struct PostLink {
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

/// One image, and its place among those that came out.
#[derive(Clone, Debug)]
pub struct PostLinkedImage {
    /// What it became, bitcode, LLVM's text form, or code, with its symbols and property sets.
    pub image: DeviceImage<'static>,
    /// Its number. An image that was split off for its ESIMD functions shares that of the rest.
    pub number: usize,
    /// Whether it was split off for its ESIMD functions.
    pub is_esimd: bool,
    /// Whether specialization constants were replaced by their default values.
    pub has_default_constants: bool,
    /// The functions it is made for, in module order.
    pub entry_points: Vec<String>,
    /// Functions that it uses and that are defined nowhere, where the device does not know them itself.
    pub undefined: Vec<String>,
    /// Symbols that what it became uses and does not define.
    pub open: Vec<String>,
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
    /// A function that says in two ways how many registers it gets.
    #[error("Unsupported use of both register_alloc_mode and grf_size: `{function}` has both")]
    Registers {
        /// The function.
        function: String,
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
    /// Splits a module.
    ///
    /// `progress` is told the name of each step as it begins.
    ///
    /// # Errors
    ///
    /// See [`PostLinkError`].
    pub fn run(
        &self,
        worker: &mut Worker,
        input: &Source<'_>,
        progress: &mut dyn FnMut(&'static str),
    ) -> Result<PostLinked, PostLinkError> {
        progress("read");
        let module = worker
            .open(std::slice::from_ref(input), &[], true)
            .map_err(|error| explain(error, input))?;
        progress("plan");
        let split = self.split(&module.summary)?;
        progress("split");
        let form = if self.text { Form::Text } else { Form::Bitcode };
        let emitted = worker.emit(module.id, split.parts(), &form, self.jobs)?;
        // The values are baked in where calls for them are lowered, before anything is made of the part: so these images are
        // emitted a second time instead of being changed afterwards, and only those that have a constant.
        let defaults = match self.default_constants {
            true => {
                let parts: Vec<Part> = (split.parts().iter().zip(&emitted))
                    .filter(|(_, emitted)| has_constants(emitted))
                    .map(|(part, _)| with_defaults(part))
                    .collect();
                worker.emit(module.id, &parts, &form, self.jobs)?
            }
            false => Vec::new(),
        };
        // Before the rest: to describe images takes the summary alone, and a module's memory is
        // large.
        worker.close(module.id)?;
        progress("describe");
        Ok(split.describe(emitted, defaults))
    }

    /// Plans what a module is split into. Its summary must be one with bodies.
    ///
    /// # Errors
    ///
    /// Those that have nothing to do with the worker.
    pub fn split<'a>(&'a self, module: &'a ModuleSummary) -> Result<Split<'a>, PostLinkError> {
        self.check_esimd(module)?;
        let says_both = |function: &&FunctionSummary| {
            REGISTER_ATTRIBUTES
                .iter()
                .all(|name| function.attributes.contains_key(*name))
        };
        if let Some(function) = module.functions.iter().find(says_both) {
            return Err(PostLinkError::Registers {
                function: function.name.clone(),
            });
        }
        let plan = plan(module, &self.sources, self.plan);
        if self.check_device_globals {
            check_device_globals(module, &plan.images)?;
        }
        let virtual_functions: HashSet<&str> = (module.functions.iter())
            .filter(|function| function.has_attribute(INDIRECTLY_CALLABLE))
            .map(|function| function.name.as_str())
            .collect();
        // Once for all images: there may be as many of them as there are kernels in the lists.
        let lists = ListsOfKernels::new(module);
        let parts = (plan.images.iter()).map(|image| self.part(&lists, image, &virtual_functions));
        Ok(Split {
            parts: parts.collect(),
            options: self,
            module,
            virtual_functions,
            plan,
        })
    }

    /// What to take out for an image.
    fn part(
        &self,
        lists: &ListsOfKernels<'_>,
        image: &PlannedImage,
        virtual_functions: &HashSet<&str>,
    ) -> Part {
        let compiler = self.plan.rules == SymbolRules::Compiler;
        Part {
            roots: image.roots(),
            contents: Some(image.contents.clone()),
            visible: Some(image.visible.clone()),
            entry_points: if compiler && !self.plan.dependencies {
                image.roots()
            } else {
                Vec::new()
            },
            // Nothing in the image calls them: they are reached through tables that live in other images. Inline as the front
            // end made them, the first clean-up would drop them.
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
            emptied: match image.is_dummy {
                true => image.contents.clone(),
                false => Vec::new(),
            },
            left_out: image.left_out.clone(),
            esimd_split_status: self.esimd_split_status.then_some(u8::from(image.is_esimd)),
            named_metadata: lists.of(image),
            specialization_constants: self.specialization_constants,
        }
    }

    fn describe(
        &self,
        image: &ModuleImage<'_>,
        number: usize,
        content: Vec<u8>,
        open: Vec<String>,
    ) -> PostLinkedImage {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let entry_points = image.entry_points();
        let kernels = entry_points.iter().filter(|function| function.is_kernel());
        let kernels = kernels.map(|function| function.name.as_str()).collect();
        let mut emitted = DeviceImage::new(content);
        emitted.kernels = owned(kernels);
        emitted.exports = owned(image.exported_symbols());
        emitted.imports = owned(image.imported_symbols());
        emitted.properties = module_properties(image, &self.properties);
        PostLinkedImage {
            image: emitted,
            open,
            number,
            is_esimd: image.planned.is_esimd,
            has_default_constants: image.has_default_constants,
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
}

/// A module that is to be split: what to emit, and how to describe that.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    options: &'a PostLink,
    module: &'a ModuleSummary,
    virtual_functions: HashSet<&'a str>,
    plan: Plan,
    parts: Vec<Part>,
}

impl Split<'_> {
    /// The parts to emit, one for each image.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Describes what was emitted: each part, and those with default values of specialization constants, if these were
    /// asked for.
    pub fn describe(self, emitted: Vec<EmittedPart>, defaults: Vec<EmittedPart>) -> PostLinked {
        let indexed = IndexedModule::new(self.module);
        let copied_variables = copied_variables(self.module, &emitted);
        let mut images = Vec::new();
        // The runtime does not care for the numbers, but file names and golden files do: sycl-post-link counts once for each
        // row of its table before ESIMD code is split off, so both halves of a row have one number, and the twins with
        // default values count as a row of their own behind it.
        let mut number = 0;
        let mut last = None;
        let mut met_constants = false;
        let mut defaults = defaults.into_iter();
        let mut with_defaults: Vec<PostLinkedImage> = Vec::new();
        for (planned, mut emitted) in self.plan.images.iter().zip(emitted) {
            if last.is_some_and(|last| last != planned.number) {
                number += 1;
                // Those with default values follow the images of one number, and share the next.
                if !with_defaults.is_empty() {
                    images.append(&mut with_defaults);
                    number += 1;
                }
            }
            last = Some(planned.number);
            met_constants |= !emitted.specialization_constants.is_empty();
            let (content, open) = (take(&mut emitted.content), take(&mut emitted.imports));
            let image = ModuleImage {
                module: &indexed,
                planned,
                emitted: &emitted,
                has_default_constants: false,
                rules: self.options.plan.rules,
                dependencies: self.options.plan.dependencies,
            };
            images.push(self.options.describe(&image, number, content, open));
            // Only such parts were emitted a second time, in the same order.
            if has_constants(&emitted)
                && let Some(defaults) = defaults.next()
            {
                let image = ModuleImage {
                    has_default_constants: true,
                    ..image
                };
                let image = (self.options).describe(&image, number + 1, defaults.content, defaults.imports);
                with_defaults.push(image);
            }
        }
        images.append(&mut with_defaults);
        // sycl-post-link names its input in the table, and writes no file, where it changed nothing.
        let is_modified = images.len() > 1
            || met_constants
            || (self.module.variables.iter())
                .any(|variable| variable.name == "llvm.used" || variable.sanitizer().is_some());
        let virtual_functions = self.virtual_functions.into_iter().map(str::to_owned).collect();
        PostLinked {
            images,
            virtual_functions,
            is_modified,
            needs_bfloat16: (self.module.functions.iter()).any(is_bfloat16_import),
            copied_variables,
            triple: self.module.triple.clone(),
        }
    }
}

/// Whether a part has specialization constants, lowered or not.
fn has_constants(part: &EmittedPart) -> bool {
    let is_function = |name: &String| CONSTANT_FUNCTIONS.iter().any(|prefix| name.starts_with(prefix));
    !part.specialization_constants.is_empty() || part.declarations.iter().any(is_function)
}

/// The same part with the default values of specialization constants.
fn with_defaults(part: &Part) -> Part {
    Part {
        specialization_constants: Some(SpecializationConstantMode::Defaults),
        ..part.clone()
    }
}

/// Adds to what LLVM says of a module it cannot read who wrote it.
fn explain(error: WorkerError, input: &Source<'_>) -> PostLinkError {
    let WorkerError::Failed { message } = error else {
        return error.into();
    };
    let bytes = input.read().unwrap_or_default();
    let producer = offkit_object::inspect(&bytes, ImageFormat::Bitcode, &Limits::default()).producer;
    match producer {
        // LLVM may say it itself: `(Producer: 'LLVM23.0.0' Reader: 'LLVM 22.1.8')`.
        Some(producer) if !message.contains(&producer) => PostLinkError::Bitcode { message, producer },
        _ => WorkerError::Failed { message }.into(),
    }
}

/// Makes an image of a device library of SYCL's compilers, which exports its functions.
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
    number: usize,
    text: bool,
) -> Result<PostLinkedImage, PostLinkError> {
    let name = library
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let opened = worker.open(&[Source::file(library)], &[], true)?;
    let module = &opened.summary;
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
        // What has no name comes along with what uses it.
        .filter(|name| !name.is_empty())
        .collect();
    let part = Part {
        contents: Some(contents),
        ..Part::default()
    };
    let form = if text { Form::Text } else { Form::Bitcode };
    let mut emitted = worker.emit(opened.id, &[part], &form, 1)?;
    let EmittedPart { content, imports, .. } = emitted.pop().unwrap_or_default();
    worker.close(opened.id)?;
    let exports: Vec<_> = functions
        .into_iter()
        // Names of the compiler's, which are exported nowhere else: here images ask for them.
        .filter(|name| name.starts_with("__devicelib_"))
        .collect();
    let mut properties = PropertySets::new();
    properties.insert_symbols(names::EXPORTED_SYMBOLS, exports.clone());
    properties.insert(
        names::DEVICELIB_METADATA,
        "bfloat16",
        u32::from(name.contains("native")),
    );
    let mut image = DeviceImage::new(content);
    image.exports = exports;
    image.properties = properties;
    Ok(PostLinkedImage {
        image,
        open: imports,
        number,
        is_esimd: false,
        has_default_constants: false,
        entry_points: Vec::new(),
        undefined: Vec::new(),
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
        // An image of a module with such a list has one as well, be it empty.
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
        // In the order of the module: two modes of one kernel may depend on it, and so do golden files.
        modes.sort_by_key(|(place, _)| *place);
        if !modes.is_empty() {
            let modes = modes.into_iter().map(|(_, mode)| (*mode).clone());
            lists.insert(EXECUTION_MODES.to_owned(), modes.collect());
        }
        if let Some(registered) = &self.registered {
            // A kernel that the image only imports still goes by its registered name there.
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
fn copied_variables(module: &ModuleSummary, emitted: &[EmittedPart]) -> CopiedVariables {
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
    for (number, part) in emitted.iter().enumerate() {
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
    // Symbols are numbered as `uses` has them: functions first, variables behind.
    let scoped = module.variables.iter().zip(module.functions.len() as u32..);
    let scoped: Vec<_> = scoped
        .filter(|(variable, _)| has_device_image_scope(variable))
        .collect();
    if scoped.is_empty() || images.len() < 2 {
        return Ok(());
    }
    // From the variable up to whoever uses it: there are few such variables, and many entry points.
    let mut users: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let functions = module.functions.iter().map(|function| &function.uses);
    let variables = module.variables.iter().map(|variable| &variable.uses);
    for (user, uses) in (0..).zip(functions.chain(variables)) {
        for used in uses {
            users.entry(*used).or_default().push(user);
        }
    }
    // A dummy has empty bodies: it uses nothing.
    let image_of: BTreeMap<String, usize> = (images.iter().enumerate())
        .filter(|(_, image)| !image.is_dummy)
        .flat_map(|(index, image)| image.roots().into_iter().map(move |root| (root, index)))
        .collect();
    for (variable, number) in scoped {
        let mut found = None;
        let mut seen = HashSet::from([number]);
        let mut open = vec![number];
        while let Some(used) = open.pop() {
            if let Some(image) = module.symbol(used).and_then(|name| image_of.get(name))
                // Helpers are nobody's roots: the search goes on to whoever uses them.
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
