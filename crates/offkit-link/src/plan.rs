//! Post-link planning: how a linked device module is cut into images.
//!
//! Pure data in, pure data out: a [`ModuleSummary`] says what there is, a [`Plan`] says which
//! symbols go where. [`post_link`](crate::post_link) carries the plan out.
//!
//! # Groups
//!
//! The entry points of a module are put into groups by a name of the group; an image is made for each, and
//! the images are numbered from the last name to the first, as `sycl-post-link` of intel/llvm numbers them.
//! Without splitting there is one group, by kernel each entry point has its own, and by source the name is
//! made of the source file and of everything a device must support for the entry point to run there.
//!
//! # Exported functions
//!
//! There are two ways of arranging the functions that others may call: see [`ExportArrangement`].

mod category;
mod closure;
mod variables;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::str::FromStr;

use offkit_llvm::{FunctionSummary, ModuleSummary, VariableSummary};

use crate::symbols::{
    DEVICE_GLOBAL_SIZE, ESIMD_FUNCTION, INDIRECTLY_CALLABLE, exported_functions, exported_variables,
    is_entry_point,
};
use closure::Closure;

use category::aspect;

offkit_image::named! {
    /// How a module is split into images.
    #[derive(Default)]
    pub enum SplitMode, "Its name in options." {
        /// One image with everything.
        None => "none",
        /// An image for each source file and set of required device features: its kernels and its exported
        /// symbols.
        #[default]
        Source => "source",
        /// An image for each kernel. What several kernels need is in the image of each.
        Kernel => "kernel",
    }
}

impl FromStr for SplitMode {
    type Err = String;

    /// The names of `sycl-post-link`'s option; `auto` is by source.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" | "off" => Ok(Self::None),
            "auto" | "source" => Ok(Self::Source),
            "kernel" => Ok(Self::Kernel),
            _ => Err(format!(
                "`{name}` is not a way to split: expected `auto`, `source`, `kernel` or `none`"
            )),
        }
    }
}

/// Where exported functions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportArrangement {
    /// In images of their own, without kernels, one for each source file when the module is split. A kernel's
    /// image has private copies of all that the kernel needs, so it needs no other image at run time; and
    /// who calls an exported function links no kernel. An exported function's image has private copies of
    /// all but the exported functions of other source files, which it imports. This is what the design of
    /// shared SYCL libraries describes.
    #[default]
    Apart,
    /// In the image of their group, beside its kernels; what a source file's kernels and functions need from
    /// other source files they import if images may depend on each other, and have copies of otherwise.
    /// This is what today's SYCL compilers do.
    Grouped,
}

impl FromStr for ExportArrangement {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "apart" => Ok(Self::Apart),
            "grouped" => Ok(Self::Grouped),
            _ => Err(format!(
                "`{name}` is not an arrangement of exported functions: expected `apart` or `grouped`"
            )),
        }
    }
}

/// Whose rules say what is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SymbolRules {
    /// offkit's: in a module without marks, as clang 22 writes it, all external functions are exported, and
    /// so are external variables in memory that images share. An image has only the variables it needs.
    #[default]
    Toolkit,
    /// Those of today's SYCL compilers: marked functions only. Every image has all external variables.
    Compiler,
}

/// How to plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// How entry points are grouped.
    pub split: SplitMode,
    /// Where exported functions are.
    pub exports: ExportArrangement,
    /// Whose rules say what is exported.
    pub rules: SymbolRules,
    /// Whether only kernels, and virtual functions, get images.
    pub only_kernels: bool,
    /// Whether an image may need functions of others at run time.
    pub dependencies: bool,
    /// Whether all entry points are put into one image, while what they do not need is dropped as if the
    /// module were split.
    pub one_image: bool,
    /// Whether ESIMD functions are put into images apart from others.
    pub split_esimd: bool,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            split: SplitMode::default(),
            exports: ExportArrangement::default(),
            rules: SymbolRules::default(),
            only_kernels: false,
            dependencies: true,
            one_image: false,
            split_esimd: false,
        }
    }
}

impl From<SplitMode> for PlanOptions {
    /// What a device link does: exported functions are apart from kernels where these have an image each.
    fn from(split: SplitMode) -> Self {
        Self {
            split,
            exports: match split {
                SplitMode::Kernel => ExportArrangement::Apart,
                SplitMode::None | SplitMode::Source => ExportArrangement::Grouped,
            },
            ..Self::default()
        }
    }
}

/// What goes into each image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The images, in the order of their numbers.
    pub images: Vec<PlannedImage>,
}

/// What goes into one image, by symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedImage {
    /// Its kernels, in module order.
    pub kernels: Vec<String>,
    /// The functions and variables it exports, in module order.
    pub exports: Vec<String>,
    /// Definitions of other images that it needs, and imports instead of having a copy.
    pub left_out: Vec<String>,
    /// All named definitions of the image, in module order.
    pub contents: Vec<String>,
    /// The definitions among them that can be seen from outside, in module order.
    pub visible: Vec<String>,
    /// Whether it defines virtual functions, which other images reach through tables.
    pub has_virtual_functions: bool,
    /// Its number. An image that was split off for its ESIMD functions shares that of the rest.
    pub number: usize,
    /// Whether it was split off for its ESIMD functions.
    pub is_esimd: bool,
    /// Whether it stands in for the image before it on devices without an optional feature that this one needs: it has
    /// the same virtual functions, with empty bodies.
    pub is_dummy: bool,
}

impl PlannedImage {
    /// All symbols that the image is made for.
    pub fn roots(&self) -> Vec<String> {
        self.kernels.iter().chain(&self.exports).cloned().collect()
    }
}

/// Plans the images of a linked module.
///
/// `sources` tells which source file each symbol comes from, by name, where the module itself does not; a
/// symbol of which nothing is known counts as coming from one nameless file. By offkit's rules nothing is
/// planned for a module that has neither kernels nor exported symbols; by the compilers' rules there is then
/// one image without entry points.
pub fn plan(
    module: &ModuleSummary,
    sources: &BTreeMap<String, String>,
    options: impl Into<PlanOptions>,
) -> Plan {
    let options = options.into();
    let closure = Closure::new(module, &options);
    let mut groups = groups(module, sources, &options, &closure);
    // sycl-post-link makes one image of a module without entry points, and so its table has a row.
    if groups.is_empty() && options.rules == SymbolRules::Compiler {
        groups.insert(GroupName::default(), PlannedImage::default());
    }
    let owners: HashMap<&str, &GroupName> = (groups.iter())
        .flat_map(|(name, image)| image.exports.iter().map(move |export| (export.as_str(), name)))
        .collect();
    let mut images = Vec::with_capacity(groups.len());
    // The place in the list is not the number: the ESIMD half of a group has that of the other half, since whoever reads
    // sycl-post-link's table counts rows before that split, and the image that stands in for another has one of its own.
    let mut last: Option<&GroupName> = None;
    let mut number = 0;
    for (name, image) in &groups {
        let mut image = image.clone();
        if last.is_some_and(|last| !last.shares_number(name)) {
            number += 1;
        }
        last = Some(name);
        image.number = number;
        image.is_esimd = name.is_esimd.0;
        // By the compilers' rules it is `Closure::is_imported` that keeps definitions out. A kernel's image of its
        // own (`Apart`) imports nothing that is defined in the module: it has copies.
        let imports = options.dependencies
            && options.rules == SymbolRules::Toolkit
            && options.split != SplitMode::None
            && (name.exports || options.exports == ExportArrangement::Grouped);
        // What the other half of the same group exports is copied: the two come as one image to whoever counts.
        let elsewhere =
            |symbol: &str| imports && owners.get(symbol).is_some_and(|owner| !owner.shares_number(name));
        closure.fill(&mut image, &elsewhere);
        let dummy = closure.dummy(&image);
        images.push(image);
        if let Some(dummy) = dummy {
            number += 1;
            images.push(PlannedImage { number, ..dummy });
        }
    }
    Plan { images }
}

/// What a group goes by. Groups come in the order of their images' numbers: those for exports behind the
/// others, and each kind from the last name to the first.
///
/// The order from the last name on is that of `sycl-post-link`, which takes entry points from the back of a list. Nothing
/// depends on it but names of files, which build systems and LLVM's tests know.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct GroupName {
    exports: bool,
    category: Reverse<String>,
    is_esimd: Reverse<bool>,
}

impl GroupName {
    /// Whether the images of both have one number.
    fn shares_number(&self, other: &Self) -> bool {
        self.exports == other.exports && self.category == other.category
    }
}

/// Whether the front end said which aspects functions use, as SYCL's does.
pub(crate) fn says_aspects(module: &ModuleSummary) -> bool {
    (module.functions.iter()).any(|function| function.metadata.contains_key("sycl_used_aspects"))
}

/// The numbers of the aspects that functions need of a device: those that the front end says, and with `found` those
/// that the instructions ask for.
pub(crate) fn required_aspects<'a>(
    functions: impl Iterator<Item = &'a FunctionSummary>,
    found: bool,
) -> BTreeSet<u32> {
    let mut aspects = BTreeSet::new();
    for function in functions {
        let said = function.metadata.get("sycl_used_aspects").into_iter().flatten();
        // Negative ones are known to the compiler only, to tell images apart.
        aspects.extend(
            said.filter_map(aspect)
                .filter_map(|aspect| u32::try_from(aspect).ok()),
        );
        if found {
            aspects.extend(&function.aspects);
        }
    }
    aspects
}

fn groups(
    module: &ModuleSummary,
    sources: &BTreeMap<String, String>,
    options: &PlanOptions,
    closure: &Closure<'_>,
) -> BTreeMap<GroupName, PlannedImage> {
    let compiler = options.rules == SymbolRules::Compiler;
    // Where the front end said which aspects functions use, its word counts: it knows of code that was inlined since.
    // Plain OpenCL C has no such marks, so what the instructions ask for is found out here.
    let aspects = match options.rules == SymbolRules::Toolkit && !says_aspects(module) {
        true => closure.aspects(),
        false => HashMap::new(),
    };
    let none = BTreeSet::new();
    let exported: BTreeSet<&str> = if compiler {
        BTreeSet::new()
    } else {
        exported_functions(module)
            .map(|function| function.name.as_str())
            .collect()
    };
    let mut groups: BTreeMap<GroupName, PlannedImage> = BTreeMap::new();
    for function in &module.functions {
        let is_kernel = function.is_kernel();
        let counts = if compiler {
            is_entry_point(function, options.only_kernels)
        } else {
            is_kernel
                || exported.contains(function.name.as_str()) && !options.only_kernels
                // Virtual functions, whose linkage is that of inline code and says nothing of what they are for.
                || is_entry_point(function, true)
        };
        if !counts {
            continue;
        }
        let exports = !is_kernel && options.exports == ExportArrangement::Apart;
        let category = match options.split {
            _ if options.one_image => String::new(),
            SplitMode::None => String::new(),
            SplitMode::Kernel if !exports => function.name.clone(),
            SplitMode::Source | SplitMode::Kernel => {
                let number = closure.number(&function.name);
                let found = number.and_then(|number| aspects.get(&number)).unwrap_or(&none);
                category::of_function(function, sources.get(&function.name).map(String::as_str), found)
            }
        };
        let name = GroupName {
            exports,
            category: Reverse(category),
            is_esimd: Reverse(options.split_esimd && function.metadata.contains_key(ESIMD_FUNCTION)),
        };
        let image = groups.entry(name).or_default();
        let names = if is_kernel {
            &mut image.kernels
        } else {
            &mut image.exports
        };
        names.push(function.name.clone());
        image.has_virtual_functions |= function.has_attribute(INDIRECTLY_CALLABLE);
    }
    if !compiler && !options.only_kernels {
        // Device globals are the host's to find, in every image that has them.
        let is_shared = |variable: &&VariableSummary| !variable.attributes.contains_key(DEVICE_GLOBAL_SIZE);
        let found = variables::sources(module, closure);
        for variable in exported_variables(module).filter(is_shared) {
            let found = closure
                .number(&variable.name)
                .and_then(|number| found.get(&number));
            let source = sources.get(&variable.name).map(String::as_str);
            let source = source.or(found.copied());
            let category = match options.split {
                _ if options.one_image => String::new(),
                SplitMode::None => String::new(),
                _ => category::of_variable(source),
            };
            let name = GroupName {
                exports: options.exports == ExportArrangement::Apart,
                category: Reverse(category),
                is_esimd: Reverse(false),
            };
            groups
                .entry(name)
                .or_default()
                .exports
                .push(variable.name.clone());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use offkit_llvm::CallingConvention;

    use super::*;

    fn module() -> (ModuleSummary, BTreeMap<String, String>) {
        let function = |name: &str, calling_convention, uses: &[u32]| FunctionSummary {
            name: name.into(),
            calling_convention,
            uses: uses.to_vec(),
            ..FunctionSummary::default()
        };
        // The functions of both files need each other.
        let symbols: [(_, _, _, &[u32]); 5] = [
            ("k1", CallingConvention::Kernel, "a.cl", &[1]),
            ("scale", CallingConvention::Function, "b.cl", &[3]),
            ("k2", CallingConvention::Kernel, "b.cl", &[3]),
            ("twice", CallingConvention::Function, "a.cl", &[1]),
            ("k3", CallingConvention::Kernel, "a.cl", &[]),
        ];
        let functions = symbols
            .iter()
            .map(|(name, convention, _, uses)| function(name, *convention, uses))
            .collect();
        let sources = symbols
            .iter()
            .map(|(name, _, source, _)| (name.to_string(), source.to_string()))
            .collect();
        (
            ModuleSummary {
                functions,
                ..ModuleSummary::default()
            },
            sources,
        )
    }

    fn planned(split: SplitMode) -> Vec<(String, String, String)> {
        let (module, sources) = module();
        plan(&module, &sources, split)
            .images
            .iter()
            .map(|image| {
                (
                    image.kernels.join(" "),
                    image.exports.join(" "),
                    image.left_out.join(" "),
                )
            })
            .collect()
    }

    fn image(kernels: &str, exports: &str, left_out: &str) -> (String, String, String) {
        (kernels.into(), exports.into(), left_out.into())
    }

    #[test]
    fn without_splitting_all_is_in_one_image() {
        assert_eq!(planned(SplitMode::None), [image("k1 k2 k3", "scale twice", "")]);
    }

    #[test]
    fn images_that_may_not_depend_on_each_other_have_copies() {
        let (module, sources) = module();
        for split in [SplitMode::Source, SplitMode::Kernel] {
            let options = PlanOptions {
                dependencies: false,
                ..PlanOptions::from(split)
            };
            for image in plan(&module, &sources, options).images {
                assert_eq!(image.left_out, [""; 0], "{image:?}");
            }
        }
    }

    #[test]
    fn by_source_each_file_imports_what_the_others_export() {
        assert_eq!(
            planned(SplitMode::Source),
            [image("k2", "scale", "twice"), image("k1 k3", "twice", "scale")]
        );
    }

    #[test]
    fn by_kernel_each_kernel_is_self_contained() {
        assert_eq!(
            planned(SplitMode::Kernel),
            [
                image("k3", "", ""),
                image("k2", "", ""),
                image("k1", "", ""),
                image("", "scale", "twice"),
                image("", "twice", "scale"),
            ]
        );
    }

    #[test]
    fn every_symbol_is_exported_once() {
        for split in [SplitMode::None, SplitMode::Source, SplitMode::Kernel] {
            let (module, sources) = module();
            let mut roots: Vec<_> = plan(&module, &sources, split)
                .images
                .iter()
                .flat_map(PlannedImage::roots)
                .collect();
            roots.sort();
            assert_eq!(roots, ["k1", "k2", "k3", "scale", "twice"], "{split:?}");
        }
    }

    #[test]
    fn a_module_without_anything_to_see_makes_no_image() {
        assert_eq!(
            plan(&ModuleSummary::default(), &BTreeMap::new(), SplitMode::None),
            Plan::default()
        );
    }

    #[test]
    fn a_wrong_mode_lists_the_right_ones() {
        assert!("sources".parse::<SplitMode>().unwrap_err().contains("`kernel`"));
        assert_eq!("auto".parse(), Ok(SplitMode::Source));
    }
}
