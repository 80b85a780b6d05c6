//! Functions that are called with another signature than they are defined with.
//!
//! LLVM takes such a call for one that never happens: its result is anything, most often 0, and nothing is said.

use std::collections::{HashMap, HashSet};

use offkit_devlib::code::Module;
use offkit_object::{FunctionType, function_types};

use super::error::SignatureMismatch;

/// The functions that bitcode calls as they are not defined, there or in libraries.
pub(super) fn mismatches(bitcode: &[&Module<'_>], libraries: &[&Module<'_>]) -> Vec<SignatureMismatch> {
    let imports: HashSet<&str> = bitcode.iter().flat_map(|module| module.imports()).collect();
    // As the link does: the first that defines it.
    let mut definers: HashMap<&str, &Module<'_>> = HashMap::new();
    for module in bitcode.iter().chain(libraries) {
        for symbol in module.exports().filter(|symbol| imports.contains(symbol)) {
            definers.entry(symbol).or_insert(module);
        }
    }
    let mut definitions: HashMap<String, (FunctionType, &Module<'_>)> = HashMap::new();
    // Types are read from the bitcode, module by module, and most modules define nothing that is asked for.
    // By address, as labels need not differ.
    let mut seen: HashSet<*const Module<'_>> = HashSet::new();
    for module in definers.values().copied() {
        if !seen.insert(module) {
            continue;
        }
        let is_here = |name: &str| {
            definers
                .get(name)
                .is_some_and(|definer| std::ptr::eq(*definer, module))
        };
        let types = types(module, &is_here).into_iter();
        definitions.extend(types.map(|(name, function)| (name, (function, module))));
    }
    let mut mismatches = Vec::new();
    for module in bitcode {
        if !module.imports().any(|name| definitions.contains_key(name)) {
            continue;
        }
        let imports: HashSet<&str> = module.imports().collect();
        let is_called = |name: &str| imports.contains(name) && definitions.contains_key(name);
        for (name, called) in types(module, &is_called) {
            let Some((defined, definer)) = definitions.get(&name) else {
                continue;
            };
            if !called.agrees_with(defined) {
                mismatches.push(SignatureMismatch {
                    symbol: name,
                    definition: (defined.clone(), definer.label.clone()),
                    call: (called, module.label.clone()),
                });
            }
        }
    }
    mismatches
}

/// Damaged bitcode has none: LLVM says what is wrong with it.
fn types(module: &Module<'_>, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, FunctionType)> {
    function_types(module.bytes(), wanted).unwrap_or_default()
}
