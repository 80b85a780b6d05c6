//! Which library supplies each device symbol that code needs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use offkit_object::Target;
use offkit_spirv::is_opencl_builtin;
use offkit_spirv::names::is_built_in;

use offkit_devlib::Search;
use offkit_devlib::code::{Module, modules, sources};

use crate::device_link::{Input, LinkError, targets_of};
use crate::symbols::is_supplied_by_driver;

/// A symbol that code needs and does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolCheck {
    /// The symbol.
    pub symbol: String,
    /// The code that needs it.
    pub needed_by: Vec<String>,
    /// For each target that needs it, what supplies it.
    pub targets: Vec<(Target, Option<Provider>)>,
}

/// What supplies a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The library, as `-l` has it.
    pub library: String,
    /// The file of it.
    pub path: PathBuf,
}

/// Looks in libraries, in order, for each symbol that the code of the inputs needs and does not define.
///
/// `targets` are those to check for; where empty, all that there is code for.
///
/// # Errors
///
/// An input cannot be read, or a manifest cannot be used.
pub fn check(
    inputs: &[Input<'_>],
    libraries: &[String],
    search: &Search,
    targets: &[Target],
) -> Result<Vec<SymbolCheck>, LinkError> {
    let sources = sources(inputs)?;
    let modules = modules(&sources)?;
    if modules.is_empty() {
        let inputs = inputs.iter().map(|input| input.name().to_owned()).collect();
        return Err(LinkError::NoDeviceCode { inputs });
    }
    let own;
    let targets = if targets.is_empty() {
        own = targets_of(&modules)?;
        &own
    } else {
        targets
    };
    let mut search = search.clone();
    if search.code_object_version.is_none() {
        search.code_object_version = modules.iter().find_map(|module| module.abi.code_object_version);
    }
    let mut found: BTreeMap<&str, SymbolCheck> = BTreeMap::new();
    for target in targets {
        let fitting = || modules.iter().filter(|module| module.is_for(target));
        let missing = missing(fitting(), target);
        let providers = providers(&missing, libraries, &search, target)?;
        for symbol in missing {
            let needs = |module: &&Module<'_>| module.imports().any(|name| name == symbol);
            let check = found.entry(symbol).or_insert_with(|| SymbolCheck {
                symbol: symbol.to_owned(),
                needed_by: Vec::new(),
                targets: Vec::new(),
            });
            for module in fitting().filter(needs) {
                if !check.needed_by.contains(&module.label) {
                    check.needed_by.push(module.label.clone());
                }
            }
            check
                .targets
                .push((target.clone(), providers.get(symbol).cloned()));
        }
    }
    Ok(found.into_values().collect())
}

/// The symbols that modules need and none of them defines.
fn missing<'a>(modules: impl Iterator<Item = &'a Module<'a>> + Clone, target: &Target) -> BTreeSet<&'a str> {
    let family = target.family();
    let defined: HashSet<&str> = modules
        .clone()
        .flat_map(|module| module.exports().chain(module.kernels()))
        .collect();
    modules
        .flat_map(Module::imports)
        .filter(|name| !defined.contains(name) && !is_supplied_by_driver(family, name))
        // What SPIR-V has instructions for.
        .filter(|name| !(family.is_spirv() && (is_built_in(name) || is_opencl_builtin(name))))
        .collect()
}

/// The first library that has each symbol.
fn providers(
    symbols: &BTreeSet<&str>,
    libraries: &[String],
    search: &Search,
    target: &Target,
) -> Result<HashMap<String, Provider>, LinkError> {
    let mut providers = HashMap::new();
    for library in libraries {
        let answer = search.find(library, target);
        if let Some(problem) = answer.problem {
            return Err(LinkError::Manifest(problem));
        }
        for file in answer.found.into_iter().flat_map(|found| found.files) {
            let fitting = file.fitting(target);
            for module in (file.modules.iter()).filter(|module| fitting.contains(&module.image.target)) {
                for symbol in module.exports().filter(|name| symbols.contains(name)) {
                    providers.entry(symbol.to_owned()).or_insert_with(|| Provider {
                        library: library.clone(),
                        path: file.path.clone(),
                    });
                }
            }
        }
    }
    Ok(providers)
}
