//! What the entry points of an image need.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use offkit_image::Family;
use offkit_llvm::{FunctionSummary, Linkage, ModuleSummary, VariableSummary};

use super::{
    ExportArrangement, PlanOptions, PlannedImage, SplitMode, SymbolRules, required_aspects, says_aspects,
};
use crate::symbols::{
    DEVICE_GLOBAL_SIZE, ESIMD_FUNCTION, INDIRECTLY_CALLABLE, REFERENCED_INDIRECTLY, can_be_imported,
};

/// The symbols of a module by number, and who may be reached through pointers.
pub(super) struct Closure<'a> {
    module: &'a ModuleSummary,
    options: &'a PlanOptions,
    numbers: HashMap<&'a str, u32>,
    /// The functions that an indirect call may lead to, by type.
    callees: HashMap<&'a str, Vec<u32>>,
    /// What is in every image.
    always: Vec<u32>,
    /// What is in every image of ESIMD functions: all of these.
    esimd: Vec<u32>,
}

enum Symbol<'a> {
    Function(&'a FunctionSummary),
    Variable(&'a VariableSummary),
}

impl<'a> Closure<'a> {
    pub(super) fn new(module: &'a ModuleSummary, options: &'a PlanOptions) -> Self {
        let functions = module.functions.iter().map(|function| function.name.as_str());
        let variables = module.variables.iter().map(|variable| variable.name.as_str());
        let mut callees: HashMap<&str, Vec<u32>> = HashMap::new();
        for (function, number) in module.functions.iter().zip(0..) {
            if function.has_attribute(REFERENCED_INDIRECTLY) && !function.is_kernel() {
                callees.entry(&function.function_type).or_default().push(number);
            }
        }
        Self {
            module,
            options,
            // The numbers that `uses` has: functions first, variables behind.
            numbers: functions.chain(variables).zip(0..).collect(),
            callees,
            always: always(module, options),
            esimd: (module.functions.iter().zip(0..))
                .filter(|(function, _)| !function.is_declaration && is_esimd(function))
                .map(|(_, number)| number)
                .collect(),
        }
    }

    fn symbol(&self, number: u32) -> Option<Symbol<'a>> {
        let number = number as usize;
        match self.module.functions.get(number) {
            Some(function) => Some(Symbol::Function(function)),
            None => {
                let variable = number.checked_sub(self.module.functions.len())?;
                self.module.variables.get(variable).map(Symbol::Variable)
            }
        }
    }

    /// Adds to an image all that its entry points need, what of it can be seen, and what it finds in other
    /// images. `is_elsewhere` tells of a symbol that is exported by another image.
    pub(super) fn fill(&self, image: &mut PlannedImage, is_elsewhere: &dyn Fn(&str) -> bool) {
        let roots: BTreeSet<u32> = (image.kernels.iter().chain(&image.exports))
            .filter_map(|name| self.numbers.get(name.as_str()).copied())
            .collect();
        // Sets of numbers, so that every list comes out in module order.
        let mut contents = roots.clone();
        contents.extend(&self.always);
        if image.is_esimd {
            contents.extend(&self.esimd);
        }
        let mut left_out = BTreeSet::new();
        let mut open: Vec<u32> = contents.iter().copied().collect();
        while let Some(symbol) = open.pop() {
            for needed in self.needed_by(symbol) {
                if contents.contains(&needed) || left_out.contains(&needed) {
                    continue;
                }
                // What stays away is not followed: what it needs is the other image's concern.
                let stays_away = match self.symbol(needed) {
                    Some(Symbol::Function(function)) if !function.is_declaration => {
                        is_elsewhere(&function.name) || self.is_imported(function, image)
                    }
                    Some(Symbol::Variable(variable)) if !variable.is_declaration => {
                        is_elsewhere(&variable.name)
                    }
                    // Declarations come along with the bodies that refer to them.
                    _ => continue,
                };
                if stays_away {
                    left_out.insert(needed);
                } else {
                    contents.insert(needed);
                    open.push(needed);
                }
            }
        }
        let visible = contents
            .iter()
            .copied()
            .filter(|symbol| match self.symbol(*symbol) {
                Some(Symbol::Function(function)) => self.is_visible(function, roots.contains(symbol), image),
                Some(Symbol::Variable(variable)) => {
                    self.options.rules == SymbolRules::Compiler
                        || roots.contains(symbol)
                        // The host finds it by its name, in every image that has it.
                        || variable.attributes.contains_key(DEVICE_GLOBAL_SIZE)
                }
                None => false,
            });
        image.visible = self.names(visible);
        image.left_out = self.names(left_out.iter().copied());
        image.contents = self.names(contents.iter().copied());
    }

    /// The image that stands in for one with virtual functions where a device lacks an optional feature that these need.
    ///
    /// A kernel that makes an object refers to all virtual functions of its class, called or not; so that it links
    /// everywhere, each needs a definition everywhere. Images that are not linked at run time, and those with kernels,
    /// which are not linked to other kernels, are not stood in for.
    pub(super) fn dummy(&self, image: &PlannedImage) -> Option<PlannedImage> {
        let is_linked_later =
            Family::of(&self.module.triple).is_written_as_spirv() && !self.options.one_image;
        if !image.has_virtual_functions || !image.kernels.is_empty() || image.is_esimd || !is_linked_later {
            return None;
        }
        let function = |name: &String| match self.symbol(self.number(name)?)? {
            Symbol::Function(function) => Some(function),
            Symbol::Variable(_) => None,
        };
        let found = self.options.rules == SymbolRules::Toolkit && !says_aspects(self.module);
        if required_aspects(image.contents.iter().filter_map(function), found).is_empty() {
            return None;
        }
        let is_virtual = |name: &&String| {
            function(name).is_some_and(|function| function.has_attribute(INDIRECTLY_CALLABLE))
        };
        let functions: Vec<String> = image.exports.iter().filter(is_virtual).cloned().collect();
        Some(PlannedImage {
            exports: functions.clone(),
            contents: functions.clone(),
            visible: functions,
            has_virtual_functions: true,
            is_dummy: true,
            ..PlannedImage::default()
        })
    }

    /// The aspects that the instructions of each symbol, and of all that it needs, ask for, by number; nothing for
    /// symbols that need none.
    ///
    /// Each aspect spreads from where it is asked for to whatever needs that: the work does not grow with the
    /// number of entry points that share a function.
    pub(super) fn aspects(&self) -> HashMap<u32, BTreeSet<u32>> {
        let mut asking: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (function, number) in self.module.functions.iter().zip(0..) {
            for aspect in &function.aspects {
                asking.entry(*aspect).or_default().push(number);
            }
        }
        let mut found: HashMap<u32, BTreeSet<u32>> = HashMap::new();
        if asking.is_empty() {
            return found;
        }
        let mut users: HashMap<u32, Vec<u32>> = HashMap::new();
        let count = self.module.functions.len() + self.module.variables.len();
        for user in 0..count as u32 {
            for needed in self.needed_by(user) {
                users.entry(needed).or_default().push(user);
            }
        }
        for (aspect, mut open) in asking {
            while let Some(symbol) = open.pop() {
                if found.entry(symbol).or_default().insert(aspect) {
                    open.extend(users.get(&symbol).into_iter().flatten());
                }
            }
        }
        found
    }

    /// The number of a symbol, by which [`aspects`](Self::aspects) goes.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn needed_by(&self, number: u32) -> Vec<u32> {
        match self.symbol(number) {
            Some(Symbol::Function(function)) => {
                // Who is called through a pointer is not known, but the type is: every function of that type whose address is
                // taken may be meant, and leaving one out would be a jump to nowhere.
                let callees = (function.indirect_calls.iter())
                    .filter_map(|called| self.callees.get(called.as_str()))
                    .flatten();
                function.uses.iter().chain(callees).copied().collect()
            }
            Some(Symbol::Variable(variable)) => variable.uses.clone(),
            None => Vec::new(),
        }
    }

    /// Whether the rules of the compilers leave a definition to another image.
    fn is_imported(&self, function: &FunctionSummary, image: &PlannedImage) -> bool {
        // Virtual functions have images of their own, which the runtime links by the names of their sets.
        if function.has_attribute(INDIRECTLY_CALLABLE) {
            return !image.has_virtual_functions;
        }
        if self.options.split_esimd && is_esimd(function) {
            return !image.is_esimd;
        }
        self.options.rules == SymbolRules::Compiler
            && self.options.exports == ExportArrangement::Grouped
            && self.options.split != SplitMode::None
            && can_be_imported(function, self.options.dependencies)
    }

    fn is_visible(&self, function: &FunctionSummary, is_root: bool, image: &PlannedImage) -> bool {
        let grouped = self.options.exports == ExportArrangement::Grouped;
        if self.options.rules == SymbolRules::Compiler && self.options.dependencies && grouped {
            return function.is_kernel()
                || can_be_imported(function, true)
                || function.has_attribute(INDIRECTLY_CALLABLE) && image.has_virtual_functions;
        }
        is_root
            || function.has_attribute(INDIRECTLY_CALLABLE)
            || function.has_attribute(REFERENCED_INDIRECTLY)
    }

    fn names(&self, symbols: impl Iterator<Item = u32>) -> Vec<String> {
        symbols
            .filter_map(|symbol| self.module.symbol(symbol))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// What is in every image by the rules of the compilers: variables that other modules could refer to, and, in a
/// module that is not split, functions that somebody outside could use.
fn always(module: &ModuleSummary, options: &PlanOptions) -> Vec<u32> {
    let compiler = options.rules == SymbolRules::Compiler;
    let first_variable = module.functions.len() as u32;
    let variables = (module.variables.iter().zip(first_variable..)).filter(|(variable, _)| {
        let is_seen = matches!(
            variable.linkage,
            Linkage::External | Linkage::Weak | Linkage::Appending
        );
        // Nothing but the runtime reads a sanitizer's list.
        !variable.is_declaration && is_seen && (compiler || variable.sanitizer().is_some())
    });
    let functions = module.functions.iter().zip(0..).filter(|(function, _)| {
        compiler
            && options.split == SplitMode::None
            && !function.is_declaration
            && (function.has_attribute(REFERENCED_INDIRECTLY)
                || can_be_imported(function, options.dependencies))
    });
    let functions = functions.map(|(_, number)| number);
    functions.chain(variables.map(|(_, number)| number)).collect()
}

fn is_esimd(function: &FunctionSummary) -> bool {
    function.metadata.contains_key(ESIMD_FUNCTION)
}

#[cfg(test)]
mod tests {
    use offkit_llvm::CallingConvention;

    use super::super::plan;
    use super::*;

    /// Kernels `ka` (of a.cpp, uses `table`) and `kb` (of b.cpp, calls `export`); `table` refers to `helper`.
    fn module() -> ModuleSummary {
        let function = |name: &str, source: &str, uses: &[u32]| FunctionSummary {
            name: name.into(),
            attributes: (!source.is_empty())
                .then(|| (crate::symbols::MODULE_ID.to_owned(), source.to_owned()))
                .into_iter()
                .collect(),
            calling_convention: match name {
                "ka" | "kb" => CallingConvention::Kernel,
                _ => CallingConvention::Function,
            },
            uses: uses.to_vec(),
            ..FunctionSummary::default()
        };
        let variable = |name: &str, linkage, uses: &[u32]| VariableSummary {
            name: name.into(),
            linkage,
            address_space: 1,
            uses: uses.to_vec(),
            ..VariableSummary::default()
        };
        ModuleSummary {
            functions: vec![
                function("ka", "a.cpp", &[4]),
                function("kb", "b.cpp", &[2]),
                function("export", "a.cpp", &[3]),
                function("helper", "", &[]),
            ],
            variables: vec![
                variable("table", Linkage::Internal, &[3]),
                variable("unused", Linkage::External, &[]),
            ],
            ..ModuleSummary::default()
        }
    }

    fn planned(options: PlanOptions) -> Vec<[String; 3]> {
        let images = plan(&module(), &BTreeMap::new(), options).images;
        let join = |names: &[String]| names.join(" ");
        (images.iter())
            .map(|image| [join(&image.contents), join(&image.visible), join(&image.left_out)])
            .collect()
    }

    fn image(contents: &str, visible: &str, left_out: &str) -> [String; 3] {
        [contents, visible, left_out].map(str::to_owned)
    }

    #[test]
    fn a_variable_belongs_to_the_file_that_needs_it() {
        let mut module = module();
        // Of `kb`, and by way of `helper`, which has no mark, of both files.
        module.functions[1].uses.push(5);
        let variable = module.variables[0].clone();
        module.variables.push(VariableSummary {
            name: "shared".into(),
            ..variable
        });
        module.functions[3].uses.push(6);
        module.functions[1].uses.push(3);
        let options = PlanOptions::default();
        let closure = Closure::new(&module, &options);
        let found = super::super::variables::sources(&module, &closure);
        assert_eq!(found, HashMap::from([(4, "a.cpp"), (5, "b.cpp")]));
    }

    #[test]
    fn aspects_spread_to_all_that_need_them() {
        let mut module = module();
        module.functions[3].aspects = vec![6];
        module.functions[1].aspects = vec![5];
        let options = PlanOptions::default();
        let closure = Closure::new(&module, &options);
        let found = closure.aspects();
        let of = |name: &str| {
            closure
                .number(name)
                .and_then(|number| found.get(&number).cloned())
        };
        assert_eq!(of("ka"), Some(BTreeSet::from([6])), "through a variable");
        assert_eq!(of("kb"), Some(BTreeSet::from([5, 6])));
        assert_eq!(of("unused"), None);
    }

    #[test]
    fn kernels_apart_have_copies_and_only_the_variables_they_need() {
        assert_eq!(
            planned(PlanOptions::default()),
            [
                image("kb export helper", "kb", ""),
                image("ka helper table", "ka", ""),
                image("export helper", "export", ""),
                image("unused", "unused", ""),
            ]
        );
    }

    #[test]
    fn grouped_images_import_if_they_may_depend_on_each_other() {
        let options = PlanOptions::compiler(SplitMode::Source);
        assert_eq!(
            planned(options),
            [
                image("kb export helper unused", "kb unused", ""),
                image("ka export helper table unused", "ka export table unused", ""),
            ]
        );
        let options = PlanOptions {
            dependencies: true,
            ..options
        };
        assert_eq!(
            planned(options),
            [
                image("kb unused", "kb unused", "export"),
                image("ka export helper table unused", "ka export table unused", ""),
            ]
        );
    }
}
