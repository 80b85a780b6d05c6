//! Functions of OpenCL C that are defined here, in plain IR, instead of being left to the back end.

use std::collections::BTreeSet;

use offkit_llvm::Linkage;

use super::{conversions, half_vectors, relational};
use crate::Error;
use crate::module::Module;

/// A function by its mangled symbol: the definition in LLVM's text form, if there is one here.
type Definition = fn(&str) -> Option<String>;

const DEFINITIONS: [Definition; 3] = [
    conversions::definition,
    relational::definition,
    half_vectors::definition,
];

/// Defines the functions that the module calls.
pub(super) fn define(module: &mut Module) -> Result<(), Error> {
    let mut defined = BTreeSet::new();
    let mut text = String::new();
    for global in module.globals() {
        if !global.is_function() || !global.is_declaration() {
            continue;
        }
        let symbol = global.name();
        if let Some(definition) = DEFINITIONS.iter().find_map(|definition| definition(&symbol)) {
            text.push_str(&definition);
            defined.insert(symbol);
        }
    }
    if defined.is_empty() {
        return Ok(());
    }
    let mut definitions = Module::parse_text(module.context(), &text)?;
    // LLVM warns of two layouts in one link, which would look like a warning of the program.
    definitions.set_target_like(module);
    module.link(definitions)?;
    for global in module.globals().filter(|global| !global.is_declaration()) {
        // What is not inlined would be an export of the image otherwise, and two images of one
        // program would have it.
        if defined.contains(&global.name()) {
            global.set_linkage(Linkage::Internal);
        }
    }
    Ok(())
}

/// Reads a mangled vector, or a scalar as one of a single component: how many there are, and what follows.
pub(super) fn vector(argument: &str) -> Option<(u32, &str)> {
    let Some(vector) = argument.strip_prefix("Dv") else {
        return Some((1, argument));
    };
    let (count, rest) = vector.split_once('_')?;
    Some((count.parse().ok()?, rest))
}
