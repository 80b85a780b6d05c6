//! Symbols that nothing supplies: who needs them, and who might have been meant to supply them.

use std::collections::{BTreeMap, HashSet};

use offkit_object::{Target, demangle};
use offkit_spirv::{CallGraph, Module as SpirvModule};
use offkit_worker::Worker;

use super::LinkedImage;
use super::error::{LinkError, UndefinedSymbol};
use super::input::Module;
use super::select::select;
use crate::symbols::is_reserved;

/// How many who might supply a symbol are told.
const MOST_PROVIDERS: usize = 4;

/// How alike two names must be for one to be taken for a misspelling of the other.
const ALIKE: f64 = 0.9;

/// The symbols that images need and none of them supplies, each with the labels of the images that need it; also
/// those that are not recorded because their names belong to the compiler.
pub(super) fn undefined<'a>(
    images: impl Iterator<Item = &'a LinkedImage> + Clone,
) -> BTreeMap<String, Vec<String>> {
    let supplied: HashSet<&str> = images
        .clone()
        .flat_map(|image| image.exports.iter().map(String::as_str))
        .collect();
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for image in images {
        for import in image
            .imports
            .iter()
            .filter(|name| !supplied.contains(name.as_str()))
        {
            missing
                .entry(import.clone())
                .or_default()
                .push(image.label.clone());
        }
    }
    missing
}

/// The error that tells of undefined symbols all that is known.
///
/// `worker` is there if it has linked bitcode for this target, whose ways to a symbol it knows as they were
/// before optimisation.
pub(super) fn explain(
    missing: BTreeMap<String, Vec<String>>,
    images: &[&LinkedImage],
    modules: &[Module<'_>],
    target: &Target,
    libraries: &[String],
    worker: Option<&mut Worker>,
) -> LinkError {
    let names: Vec<String> = missing.keys().cloned().collect();
    let mut chains: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    // Without an answer the symbols are still told.
    if let Some(Ok(needs)) = worker.map(|worker| worker.needs(&names)) {
        for need in needs {
            chains.insert(need.symbol, need.chains);
        }
    }
    for image in images {
        if !image
            .imports
            .iter()
            .any(|name| chains.get(name).is_none_or(Vec::is_empty))
        {
            continue;
        }
        let Ok(module) = SpirvModule::from_bytes(&image.bytes) else {
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
    let symbols = missing.into_iter().map(|(name, images)| UndefinedSymbol {
        providers: providers(&name, modules, target),
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

/// Who defines the symbol for another target, or something of a similar name for this one.
fn providers(symbol: &str, modules: &[Module<'_>], target: &Target) -> Vec<String> {
    let mut told = Vec::new();
    let has = |names: &[String]| names.iter().any(|name| name == symbol);
    for module in modules {
        if has(&module.exports) {
            told.push(format!("{} defines it, for `{}`", module.label, module.target));
        } else if has(&module.kernels) {
            told.push(format!(
                "{} has a kernel of this name, which cannot be called",
                module.label
            ));
        }
    }
    if told.is_empty() {
        let wanted = base_name(symbol);
        let fitting: HashSet<usize> = select(modules, target, true, &[]).into_iter().collect();
        for (number, module) in modules.iter().enumerate() {
            let similar = module.exports.iter().filter(|name| {
                let name = base_name(name);
                name == wanted || strsim::jaro_winkler(&name, &wanted) >= ALIKE
            });
            let linked = if fitting.contains(&number) {
                ""
            } else {
                " (not linked)"
            };
            told.extend(similar.filter(|name| !is_reserved(name)).map(|name| {
                format!(
                    "{} defines {}{linked}",
                    module.label,
                    offkit_object::describe_symbol(name)
                )
            }));
        }
    }
    told.truncate(MOST_PROVIDERS);
    told
}

/// The name without arguments.
fn base_name(symbol: &str) -> String {
    let name = demangle(symbol);
    name.split('(').next().unwrap_or_default().to_owned()
}
