//! Symbols that nothing supplies: who needs them, and who might have been meant to supply them.

use std::collections::{BTreeMap, HashMap, HashSet};

use offkit_llvm::{ModuleId, Worker};
use offkit_object::{ImageFormat, Target, demangle};
use offkit_spirv::{CallGraph, Module as SpirvModule};

use super::error::{LinkError, UndefinedSymbol};
use super::join::Part;
use super::select::select;
use crate::symbols::is_reserved;
use offkit_devlib::code::Module;

/// How many who might supply a symbol are told.
const MOST_PROVIDERS: usize = 4;

/// Of how many symbols it is told by which way they are needed, and which others have similar names. Whoever misses
/// more misses a library.
const MOST_EXPLAINED: usize = 32;

/// How alike two names must be for one to be taken for a misspelling of the other.
const ALIKE: f64 = 0.9;

/// The symbols that images need and none of them supplies, each with the labels of the images that need it; also
/// those that are not recorded because their names belong to the compiler.
pub(super) fn undefined(parts: &[Part]) -> BTreeMap<String, Vec<String>> {
    let supplied = parts.iter().flat_map(|part| {
        let exports = part.symbols.exports.iter();
        exports.map(|export| (part.image.format, export))
    });
    let supplied: HashSet<_> = supplied.collect();
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in parts {
        // Of other code than SPIR-V nobody links one image with another, such as PTX with a cubin; but SYCL's runtimes link
        // machine code that says what it imports.
        let is_linked = part.image.format == ImageFormat::Spirv || part.is_told;
        let is_supplied = |name: &&String| is_linked && supplied.contains(&(part.image.format, *name));
        let imports = part.symbols.imports.iter();
        for import in imports.filter(|name| !is_supplied(name)) {
            missing
                .entry(import.clone())
                .or_default()
                .push(part.label.clone());
        }
    }
    missing
}

/// The error that tells of undefined symbols all that is known.
///
/// `worker` is there with the module that it has linked for this target, if there is bitcode: it knows the ways to a
/// symbol as they were before optimisation.
pub(super) fn explain(
    missing: BTreeMap<String, Vec<String>>,
    parts: &[Part],
    modules: &[Module<'_>],
    target: &Target,
    libraries: &[String],
    worker: Option<(&mut Worker, ModuleId)>,
) -> LinkError {
    let names: Vec<String> = missing.keys().take(MOST_EXPLAINED).cloned().collect();
    let mut chains: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    // Without an answer the symbols are still told.
    if let Some(Ok(needs)) = worker.map(|(worker, module)| worker.needs(module, &names)) {
        for need in needs {
            chains.insert(need.symbol, need.chains);
        }
    }
    // What LLVM has not linked, such as SPIR-V among the inputs, is asked for its own ways.
    let is_open = |name: &String| chains.get(name).is_none_or(Vec::is_empty);
    let open: HashSet<&String> = names.iter().filter(|name| is_open(name)).collect();
    for part in parts {
        if !part.symbols.imports.iter().any(|name| open.contains(name)) {
            continue;
        }
        let Ok(module) = SpirvModule::from_bytes(part.bytes()) else {
            continue;
        };
        let graph = CallGraph::new(&module);
        for kernel in graph.kernels() {
            for need in graph.needs(kernel) {
                let known = chains.entry(need.symbol).or_default();
                if known.len() < MOST_PROVIDERS && !known.contains(&need.chain) {
                    known.push(need.chain);
                }
            }
        }
    }
    let providers = Providers::new(modules, target);
    let symbols = missing
        .into_iter()
        .enumerate()
        .map(|(number, (name, images))| UndefinedSymbol {
            providers: providers.of(&name, number < MOST_EXPLAINED),
            chains: chains.remove(&name).unwrap_or_default(),
            target: target.to_string(),
            images,
            name,
        });
    LinkError::Undefined {
        symbols: symbols.collect(),
        libraries: libraries.to_vec(),
    }
}

/// Who defines what, of all that a link could take.
struct Providers<'a> {
    modules: &'a [Module<'a>],
    /// Which of them are linked.
    linked: HashSet<usize>,
    /// The modules that define a symbol, or have a kernel of that name.
    exports: HashMap<&'a str, Vec<usize>>,
    kernels: HashMap<&'a str, Vec<usize>>,
    /// All exports with their names without arguments, in the order of the modules.
    names: Vec<(String, usize, &'a str)>,
}

impl<'a> Providers<'a> {
    fn new(modules: &'a [Module<'a>], target: &Target) -> Self {
        let mut providers = Self {
            modules,
            linked: select(modules, target, true, &[]).into_iter().collect(),
            exports: HashMap::new(),
            kernels: HashMap::new(),
            names: Vec::new(),
        };
        for (number, module) in modules.iter().enumerate() {
            for name in module.exports() {
                providers.exports.entry(name).or_default().push(number);
                if !is_reserved(name) {
                    providers.names.push((base_name(name), number, name));
                }
            }
            for name in module.kernels() {
                providers.kernels.entry(name).or_default().push(number);
            }
        }
        providers
    }

    /// Who defines the symbol for another target, or, if `similar`, something of a similar name for this one.
    fn of(&self, symbol: &str, similar: bool) -> Vec<String> {
        let modules = |map: &HashMap<&str, Vec<usize>>| map.get(symbol).cloned().unwrap_or_default();
        let exports = modules(&self.exports).into_iter().map(|number| {
            let module = &self.modules[number];
            (
                number,
                format!("{} defines it, for `{}`", module.label, module.image.target),
            )
        });
        let kernels = modules(&self.kernels).into_iter().map(|number| {
            let label = &self.modules[number].label;
            (
                number,
                format!("{label} has a kernel of this name, which cannot be called"),
            )
        });
        let mut told: BTreeMap<usize, String> = kernels.collect();
        told.extend(exports);
        if !told.is_empty() || !similar {
            return told.into_values().take(MOST_PROVIDERS).collect();
        }
        let wanted = base_name(symbol);
        let alike = self
            .names
            .iter()
            .filter(|(name, ..)| *name == wanted || strsim::jaro_winkler(name, &wanted) >= ALIKE);
        let told = alike.take(MOST_PROVIDERS).map(|(_, number, name)| {
            let linked = if self.linked.contains(number) {
                ""
            } else {
                " (not linked)"
            };
            let label = &self.modules[*number].label;
            format!("{label} defines {}{linked}", offkit_object::describe_symbol(name))
        });
        told.collect()
    }
}

/// The name without arguments.
fn base_name(symbol: &str) -> String {
    let name = demangle(symbol);
    name.split('(').next().unwrap_or_default().to_owned()
}
