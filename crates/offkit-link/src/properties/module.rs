//! The property sets of an image that is still LLVM bitcode.
//!
//! Names, values and the order of sets and keys are those of `sycl-post-link` of intel/llvm.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use offkit_image::Family;
use offkit_llvm::{
    EmittedPart, FunctionSummary, Linkage, Metadata, ModuleSummary, VariableSummary, sanitizer_of,
};
use offkit_object::property_set::{ByteArray, PropertySets, PropertyValue, names};

use offkit_spirv::names::is_built_in;

use super::{DUMMY_IMAGE, VIRTUAL_FUNCTIONS_SET};
use crate::plan::{PlannedImage, SymbolRules, required_aspects, says_aspects};
use crate::symbols::{
    DEVICE_GLOBAL_SIZE, INDIRECTLY_CALLABLE, REGISTER_ATTRIBUTES, can_be_imported, has_device_image_scope,
    is_builtin, is_supplied_to,
};

/// The key of the required work-group size among the device requirements.
pub const REQUIRED_WORK_GROUP_SIZE: &str = "reqd_work_group_size_uint64_t";

/// The sets of properties that are made on demand only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyChoice {
    /// Which arguments of kernels were found to be unused.
    pub parameter_optimization: bool,
    /// Requirements kernel by kernel, and the names of device globals.
    pub program_metadata: bool,
    /// The names of kernels.
    pub kernel_names: bool,
    /// What other images may use.
    pub exported_symbols: bool,
    /// What other images must supply.
    pub imported_symbols: bool,
    /// Device globals.
    pub device_globals: bool,
}

impl PropertyChoice {
    /// All of them.
    pub const ALL: Self = Self {
        parameter_optimization: true,
        program_metadata: true,
        kernel_names: true,
        exported_symbols: true,
        imported_symbols: true,
        device_globals: true,
    };

    /// None of them.
    pub const NONE: Self = Self {
        parameter_optimization: false,
        program_metadata: false,
        kernel_names: false,
        exported_symbols: false,
        imported_symbols: false,
        device_globals: false,
    };
}

/// A module with bodies, and the places of its symbols.
#[derive(Clone, Debug)]
pub struct IndexedModule<'a> {
    module: &'a ModuleSummary,
    functions: HashMap<&'a str, usize>,
    variables: HashMap<&'a str, usize>,
    /// Whether the front end said which aspects functions use.
    says_aspects: bool,
    /// Kernels registered under names of their own: place in the list and name, by symbol.
    registered: HashMap<&'a str, Vec<(usize, &'a str)>>,
}

impl<'a> IndexedModule<'a> {
    /// Looks up all symbols once.
    pub fn new(module: &'a ModuleSummary) -> Self {
        let functions = module.functions.iter().map(|function| function.name.as_str());
        let variables = module.variables.iter().map(|variable| variable.name.as_str());
        Self {
            module,
            functions: functions.zip(0..).collect(),
            variables: variables.zip(0..).collect(),
            says_aspects: says_aspects(module),
            registered: registered(module),
        }
    }

    /// The functions of these names that the module has, in module order.
    fn functions<'n>(&self, names: impl Iterator<Item = &'n String>) -> Vec<&'a FunctionSummary> {
        let places = places(&self.functions, names);
        places
            .into_iter()
            .map(|place| &self.module.functions[place])
            .collect()
    }

    /// The variables of these names that the module has, in module order.
    fn variables<'n>(&self, names: impl Iterator<Item = &'n String>) -> Vec<&'a VariableSummary> {
        let places = places(&self.variables, names);
        places
            .into_iter()
            .map(|place| &self.module.variables[place])
            .collect()
    }
}

// A set, for names come as one list behind another, and what is made of them is in module order.
fn places<'n>(all: &HashMap<&str, usize>, names: impl Iterator<Item = &'n String>) -> BTreeSet<usize> {
    names.filter_map(|name| all.get(name.as_str()).copied()).collect()
}

/// An image and the module that it was taken out of.
#[derive(Clone, Copy, Debug)]
pub struct ModuleImage<'a> {
    /// The module.
    pub module: &'a IndexedModule<'a>,
    /// What was planned.
    pub planned: &'a PlannedImage,
    /// What was emitted.
    pub emitted: &'a EmittedPart,
    /// Whether specialization constants were replaced by their default values.
    pub has_default_constants: bool,
    /// Whose rules say what is imported.
    pub rules: SymbolRules,
    /// Whether an image may need functions of others at run time.
    pub dependencies: bool,
}

impl<'a> ModuleImage<'a> {
    /// The functions of the image in module order: those it defines, and those that are nowhere in the module.
    /// What was left to another image is not among them; its metadata says nothing about this one. Nor does that of
    /// functions without bodies.
    fn functions(&self) -> Vec<&'a FunctionSummary> {
        if self.planned.is_dummy {
            return Vec::new();
        }
        let left_out: HashSet<&str> = self.planned.left_out.iter().map(String::as_str).collect();
        let names = self.emitted.definitions.iter().chain(&self.emitted.declarations);
        self.module
            .functions(names.filter(|name| !left_out.contains(name.as_str())))
    }

    fn definitions(&self) -> Vec<&'a FunctionSummary> {
        self.module.functions(self.emitted.definitions.iter())
    }

    fn declarations(&self) -> Vec<&'a FunctionSummary> {
        self.module.functions(self.emitted.declarations.iter())
    }

    /// The functions the image is made for, in module order.
    pub fn entry_points(&self) -> Vec<&'a FunctionSummary> {
        let written: HashSet<&str> = self.emitted.definitions.iter().map(String::as_str).collect();
        let planned = self.planned.kernels.iter().chain(&self.planned.exports);
        self.module
            .functions(planned.filter(|name| written.contains(name.as_str())))
    }

    /// The variables of the image in module order, those included that it only declares.
    fn variables(&self) -> Vec<&'a VariableSummary> {
        let names = self
            .emitted
            .variables
            .iter()
            .chain(&self.emitted.variable_declarations);
        self.module.variables(names)
    }

    fn device_globals(&self) -> Vec<&'a VariableSummary> {
        self.variables()
            .into_iter()
            .filter(|variable| variable.attributes.contains_key(DEVICE_GLOBAL_SIZE))
            .collect()
    }

    /// The symbols that other images may use: functions, then variables, each in module order.
    pub fn exported_symbols(&self) -> Vec<&'a str> {
        // The compilers export `spir_func` functions only, so nothing for targets that do not have these.
        let has_exports = self.rules == SymbolRules::Toolkit
            || Family::of(&self.module.module.triple).is_written_as_spirv();
        // Virtual functions are found by the name of their set.
        let functions = self.entry_points().into_iter().filter(|function| {
            has_exports
                && !function.is_kernel()
                && is_callable(function)
                && !function.has_attribute(INDIRECTLY_CALLABLE)
        });
        let functions = functions.map(|function| function.name.as_str());
        let planned: HashSet<&String> = self.planned.exports.iter().collect();
        let is_exported = |variable: &&VariableSummary| match self.rules {
            SymbolRules::Toolkit => planned.contains(&variable.name),
            SymbolRules::Compiler => {
                variable.attributes.contains_key(DEVICE_GLOBAL_SIZE)
                    && !has_device_image_scope(variable)
                    && variable.linkage == Linkage::External
            }
        };
        let variables = self
            .module
            .variables(self.emitted.variables.iter())
            .into_iter()
            .filter(is_exported);
        functions
            .chain(variables.map(|variable| variable.name.as_str()))
            .collect()
    }

    /// The symbols that other images must supply: functions, then variables, each in module order.
    pub fn imported_symbols(&self) -> Vec<&'a str> {
        let functions = self.declarations().into_iter().filter(|function| {
            !function.has_attribute(INDIRECTLY_CALLABLE)
                && match self.rules {
                    SymbolRules::Compiler => can_be_imported(function, self.dependencies),
                    SymbolRules::Toolkit => {
                        // The library for `bfloat16` comes to images when they are loaded, also to
                        // those that depend on no others.
                        self.dependencies && !is_supplied_to(self.module.module, &function.name)
                            || can_be_imported(function, false)
                    }
                }
        });
        let functions = functions.map(|function| function.name.as_str());
        let is_imported = |variable: &&VariableSummary| {
            self.dependencies
                && match self.rules {
                    SymbolRules::Compiler => variable.type_name.contains("device_global"),
                    SymbolRules::Toolkit => !is_built_in(&variable.name),
                }
        };
        let variables = (self.module)
            .variables(self.emitted.variable_declarations.iter())
            .into_iter()
            .filter(is_imported);
        functions
            .chain(variables.map(|variable| variable.name.as_str()))
            .collect()
    }

    /// The functions that are used and defined nowhere of which SYCL's compilers warn: not those with names of theirs.
    pub fn undefined_functions(&self) -> Vec<&'a str> {
        let is_missing = |function: &&FunctionSummary| {
            !function.name.starts_with("__")
                && !is_builtin(&function.name)
                && !is_supplied_to(self.module.module, &function.name)
        };
        let functions = self.declarations().into_iter().filter(is_missing);
        functions.map(|function| function.name.as_str()).collect()
    }
}

/// Whether device code may call a function in the ordinary way.
fn is_callable(function: &FunctionSummary) -> bool {
    function.calling_convention == offkit_llvm::CallingConvention::Function
}

/// The property sets of an image, in the order in which the SYCL tool chain writes them. The device
/// requirements are always there.
pub fn module_properties(image: &ModuleImage<'_>, choice: &PropertyChoice) -> PropertySets {
    let mut sets = PropertySets::new();
    device_requirements(image, &mut sets);
    specialization_constants(image, &mut sets);
    if choice.parameter_optimization {
        if image.rules == SymbolRules::Compiler {
            // Their tools write the set's name also where there is nothing in it.
            sets.set_mut(names::KERNEL_PARAMETER_OPTIMIZATION);
        }
        for function in image.functions() {
            let omitted = numbers(function, "sycl_kernel_omit_args");
            if !omitted.is_empty() {
                let flags = bit_vector(&omitted);
                sets.insert(names::KERNEL_PARAMETER_OPTIMIZATION, &function.name, flags);
            }
        }
    }
    let mut symbols = |set, symbols: Vec<&str>| {
        if !symbols.is_empty() {
            sets.insert_symbols(set, symbols);
        }
    };
    if choice.exported_symbols {
        symbols(names::EXPORTED_SYMBOLS, image.exported_symbols());
    }
    if choice.kernel_names {
        let kernels = image
            .entry_points()
            .into_iter()
            .filter(|function| function.is_kernel());
        symbols(
            names::KERNEL_NAMES,
            kernels.map(|kernel| kernel.name.as_str()).collect(),
        );
    }
    if choice.imported_symbols {
        symbols(names::IMPORTED_SYMBOLS, image.imported_symbols());
    }
    if choice.program_metadata {
        program_metadata(image, &mut sets);
    }
    misc(image, &mut sets);
    for function in image
        .definitions()
        .into_iter()
        .filter(|function| function.is_kernel())
    {
        if function.has_attribute("sycl-work-group-static") {
            let position = (function.parameter_attributes.iter())
                .position(|attributes| attributes.contains_key("sycl-implicit-local-arg"));
            let position = position.map_or(u32::MAX, |position| position as u32);
            sets.insert(names::IMPLICIT_LOCAL_ARGUMENT, &function.name, position);
        }
    }
    sanitizer(image, &mut sets);
    if choice.device_globals {
        for variable in image.device_globals() {
            let size = number(variable.attributes.get(DEVICE_GLOBAL_SIZE));
            let scope = u32::from(has_device_image_scope(variable));
            sets.insert(
                names::DEVICE_GLOBALS,
                unique_id(variable),
                [size, scope].as_slice(),
            );
        }
    }
    for variable in image.variables() {
        if let size @ Some(_) = variable.attributes.get("sycl-host-pipe-size") {
            sets.insert(names::HOST_PIPES, unique_id(variable), [number(size)].as_slice());
        }
    }
    if image.has_default_constants {
        sets.insert(names::MISC_PROPERTIES, "specConstsReplacedWithDefault", 1);
    }
    virtual_functions(image, &mut sets);
    registered_kernels(image, &mut sets);
    sets
}

fn device_requirements(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    // By the rule of the plan, which has made the groups by these aspects.
    let found = image.rules == SymbolRules::Toolkit && !image.module.says_aspects;
    let aspects = required_aspects(image.functions().into_iter(), found);
    let mut fixed_targets = BTreeSet::new();
    let mut work_group_size: Option<Vec<u64>> = None;
    let mut dimensions = None;
    // Sorted by key, as sycl-post-link passes them through a sorted map.
    let mut requirements: BTreeMap<&str, PropertyValue> = BTreeMap::new();
    for function in image.functions() {
        fixed_targets.extend(
            numbers(function, "sycl_fixed_targets")
                .into_iter()
                .map(|target| target as u32),
        );
        if let Some(count) = numbers(function, "work_group_num_dim").first()
            && work_group_size.is_none()
        {
            dimensions = Some(*count as u32);
        }
        let size = numbers(function, "reqd_work_group_size");
        if !size.is_empty() && work_group_size.is_none() {
            work_group_size = Some(size);
        }
        for (kind, key) in [
            ("sycl_joint_matrix", "joint_matrix"),
            ("sycl_joint_matrix_mad", "joint_matrix_mad"),
        ] {
            let operands = function.metadata.get(kind).and_then(|operands| operands.first());
            if let Some(text) = operands.and_then(Metadata::text).filter(|text| !text.is_empty()) {
                requirements.insert(key, text.into());
            }
        }
    }
    let aspects: Vec<u32> = aspects.into_iter().collect();
    requirements.insert("aspects", aspects.as_slice().into());
    if !fixed_targets.is_empty() {
        let targets: Vec<u32> = fixed_targets.into_iter().collect();
        requirements.insert("fixed_target", targets.as_slice().into());
    }
    if let Some(size) = work_group_size {
        let bytes: Vec<u8> = size.into_iter().flat_map(u64::to_le_bytes).collect();
        requirements.insert(REQUIRED_WORK_GROUP_SIZE, bytes.as_slice().into());
    }
    if let Some(dimensions) = dimensions {
        requirements.insert("work_group_num_dim", dimensions.into());
    }
    // Of entry points alone, unlike the rest: a function that they call may have been compiled for another size.
    let sub_group_size = image
        .entry_points()
        .into_iter()
        .filter(|_| !image.planned.is_dummy)
        .find_map(|function| numbers(function, "intel_reqd_sub_group_size").first().copied());
    if let Some(size) = sub_group_size {
        requirements.insert("reqd_sub_group_size", PropertyValue::from(size as u32));
    }
    for (key, value) in requirements {
        sets.insert(names::DEVICE_REQUIREMENTS, key, value);
    }
}

fn specialization_constants(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    if image.has_default_constants || image.emitted.specialization_constants.is_empty() {
        return;
    }
    for constant in &image.emitted.specialization_constants {
        let words: Vec<u32> = constant.leaves.iter().flatten().copied().collect();
        sets.insert(names::SPECIALIZATION_CONSTANTS, &constant.name, words.as_slice());
    }
    let defaults = image.emitted.specialization_defaults.as_slice();
    sets.insert(names::SPECIALIZATION_CONSTANT_DEFAULTS, "all", defaults);
}

fn program_metadata(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    let mut insert = |name: &str, key: &str, value: PropertyValue| {
        sets.insert(names::PROGRAM_METADATA, format!("{name}@{key}"), value);
    };
    for function in image.functions() {
        let words = |kind| {
            numbers(function, kind)
                .into_iter()
                .map(|number| number as u32)
                .collect::<Vec<_>>()
        };
        let first = |kind| numbers(function, kind).first().copied();
        let size = words("reqd_work_group_size");
        if !size.is_empty() {
            insert(&function.name, "reqd_work_group_size", size.as_slice().into());
        }
        if let Some(size) = first("intel_reqd_sub_group_size") {
            insert(&function.name, "reqd_sub_group_size", (size as u32).into());
        }
        if let Some(count) = first("work_group_num_dim") {
            insert(&function.name, "work_group_num_dim", (count as u32).into());
        }
        let size = words("max_work_group_size");
        if !size.is_empty() {
            insert(&function.name, "max_work_group_size", size.as_slice().into());
        }
        // Numbers of properties have 32 bits: one of 64 goes as its bytes.
        if let Some(size) = first("max_linear_work_group_size") {
            insert(
                &function.name,
                "max_linear_work_group_size",
                size.to_le_bytes().as_slice().into(),
            );
        }
    }
    for variable in image.device_globals() {
        insert(
            unique_id(variable),
            "global_id_mapping",
            variable.name.as_str().into(),
        );
    }
}

fn misc(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    if image.planned.is_esimd {
        sets.insert(names::MISC_PROPERTIES, "isEsimdImage", 1);
    }
    for attribute in REGISTER_ATTRIBUTES {
        if let value @ Some(_) = image
            .entry_points()
            .into_iter()
            .find_map(|function| function.attributes.get(attribute))
        {
            sets.insert(names::MISC_PROPERTIES, attribute, number(value));
        }
    }
    let level = image
        .entry_points()
        .into_iter()
        .find_map(|function| function.attributes.get("sycl-optlevel")?.parse::<u32>().ok());
    if let Some(level) = level {
        sets.insert(names::MISC_PROPERTIES, "optLevel", level);
    }
}

fn sanitizer(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    let mut all = (image.emitted.variables.iter()).chain(&image.emitted.variable_declarations);
    if let Some(sanitizer) = all.find_map(|variable| sanitizer_of(variable)) {
        sets.insert(names::MISC_PROPERTIES, "sanUsed", sanitizer);
    }
}

fn virtual_functions(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    let mut used = BTreeSet::new();
    for function in image.definitions() {
        if let Some(set) = function.attributes.get(INDIRECTLY_CALLABLE) {
            // The functions of an image all belong to one set.
            sets.insert(names::VIRTUAL_FUNCTIONS, VIRTUAL_FUNCTIONS_SET, set.as_str());
            break;
        }
        let called = function.attributes.get("calls-indirectly");
        used.extend(
            called
                .into_iter()
                .flat_map(|sets| sets.split(','))
                .filter(|set| !set.is_empty()),
        );
    }
    if image.planned.is_dummy {
        sets.insert(names::VIRTUAL_FUNCTIONS, DUMMY_IMAGE, 1);
    }
    if !used.is_empty() {
        let used = used.into_iter().collect::<Vec<_>>().join(",");
        sets.insert(
            names::VIRTUAL_FUNCTIONS,
            "uses-virtual-functions-set",
            used.as_str(),
        );
    }
}

fn registered_kernels(image: &ModuleImage<'_>, sets: &mut PropertySets) {
    let all = (image.emitted.definitions.iter()).chain(&image.emitted.declarations);
    let mut found: Vec<(usize, &str, &str)> = all
        .flat_map(|symbol| {
            let registered = image.module.registered.get(symbol.as_str()).into_iter().flatten();
            registered.map(|(place, name)| (*place, *name, symbol.as_str()))
        })
        .collect();
    found.sort_unstable();
    for (_, name, symbol) in found {
        sets.insert(names::REGISTERED_KERNELS, name, symbol);
    }
}

/// The kernels that are registered under names of their own: place in the list and name, by symbol.
pub(crate) fn registered(module: &ModuleSummary) -> HashMap<&str, Vec<(usize, &str)>> {
    let lists = module.named_metadata.get("sycl_registered_kernels");
    let list = lists.and_then(|lists| lists.first()?.node()).unwrap_or_default();
    let mut registered: HashMap<_, Vec<_>> = HashMap::new();
    for (place, pair) in list.iter().enumerate() {
        if let Some([name, symbol]) = pair.node()
            && let (Some(name), Some(symbol)) = (name.text(), symbol.text())
        {
            registered.entry(symbol).or_default().push((place, name));
        }
    }
    registered
}

fn numbers(function: &FunctionSummary, kind: &str) -> Vec<u64> {
    let operands = function.metadata.get(kind).into_iter().flatten();
    operands
        .filter_map(Metadata::integer)
        .map(|number| number as u64)
        .collect()
}

fn number(text: Option<&String>) -> u32 {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn unique_id(variable: &VariableSummary) -> &str {
    variable
        .attributes
        .get("sycl-unique-id")
        .unwrap_or(&variable.name)
}

/// A bit for each number, least significant first: set where the number is not 0. The bytes are as many
/// as the bits need.
fn bit_vector(flags: &[u64]) -> PropertyValue {
    let mut bytes = vec![0_u8; flags.len().div_ceil(8)];
    for (byte, flags) in bytes.iter_mut().zip(flags.chunks(8)) {
        for (bit, flag) in flags.iter().enumerate() {
            *byte |= u8::from(*flag != 0) << bit;
        }
    }
    // The length is one in bits: flags of three arguments are not those of eight.
    let array = ByteArray::with_bits(flags.len() as u64, bytes);
    array.expect("as many bytes as the bits need").into()
}
