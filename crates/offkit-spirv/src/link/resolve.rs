//! Which definition each import gets.

use std::collections::{HashMap, HashSet};

use crate::grammar::Op;

use super::{Input, LinkError};
use crate::index::Index;
use crate::names::kernel_of_copy;
use crate::symbols::{Linkage, SymbolKind};

/// An id of one of the modules being linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Global {
    pub(super) module: usize,
    pub(super) id: u32,
}

/// What became of each symbol.
pub(super) struct Resolution {
    /// Imports with the definition they get, definitions that are left out with the one that is kept, and imports
    /// without definition with the first import of the same name. What is replaced never replaces anything itself.
    /// In module order.
    pub(super) replaced: Vec<Replacement>,
    /// Symbols that no module exports.
    pub(super) unresolved: Vec<Unresolved>,
}

pub(super) struct Replacement {
    pub(super) name: String,
    pub(super) kind: SymbolKind,
    pub(super) from: Global,
    pub(super) to: Global,
}

pub(super) struct Unresolved {
    pub(super) name: String,
    pub(super) kind: SymbolKind,
    pub(super) modules: Vec<usize>,
}

/// The part that `id` takes in linking, as far as modules linked later may see it. Copies of kernels are marked as
/// exports by clang but are of use only to kernels that call kernels: to all others they are not there.
pub(super) fn linkage<'m>(index: &Index<'m>, id: u32) -> Option<(&'m str, Linkage)> {
    marked_linkage(index, id).filter(|(name, linkage)| !is_kernel_copy(name, *linkage))
}

/// The part that `id` is marked with. Built-in variables are marked as imports by some compilers but are supplied by the
/// device: they take no part.
fn marked_linkage<'m>(index: &Index<'m>, id: u32) -> Option<(&'m str, Linkage)> {
    let (name, linkage) = index.linkage(id)?;
    index
        .built_in(id)
        .is_none()
        .then_some((name, Linkage::from(linkage)))
}

/// Whether it is the copy that clang makes of a kernel for kernels that call it.
fn is_kernel_copy(name: &str, linkage: Linkage) -> bool {
    linkage != Linkage::Import && kernel_of_copy(name).is_some()
}

struct Candidate<'m> {
    name: &'m str,
    linkage: Linkage,
    kind: SymbolKind,
    global: Global,
}

pub(super) fn resolve(inputs: &[Input<'_>]) -> Result<Resolution, LinkError> {
    let mut candidates: Vec<Candidate<'_>> = inputs
        .iter()
        .enumerate()
        .flat_map(|(number, input)| candidates(number, input))
        .collect();
    let imports = candidates.iter().filter(|c| c.linkage == Linkage::Import);
    let imported: HashSet<&str> = imports.map(|c| c.name).collect();
    candidates.retain(|c| !is_kernel_copy(c.name, c.linkage) || imported.contains(c.name));
    let definitions = definitions(inputs, &candidates)?;
    let mut resolution = Resolution {
        replaced: Vec::new(),
        unresolved: Vec::new(),
    };
    // For each name without definition the first import and its place among the unresolved.
    let mut declarations: HashMap<&str, (Global, usize)> = HashMap::new();
    for candidate in &candidates {
        let to = match definitions.get(candidate.name) {
            Some(definition) => {
                check_kind(inputs, candidate, definition)?;
                definition.global
            }
            None => {
                let next = resolution.unresolved.len();
                let (first, place) = *declarations
                    .entry(candidate.name)
                    .or_insert((candidate.global, next));
                // The first module that declares it keeps its declaration, and the others use that
                // one.
                if place == next {
                    resolution.unresolved.push(Unresolved {
                        name: candidate.name.to_owned(),
                        kind: candidate.kind,
                        modules: Vec::new(),
                    });
                }
                if let Some(unresolved) = resolution.unresolved.get_mut(place) {
                    unresolved.modules.push(candidate.global.module);
                }
                first
            }
        };
        if to != candidate.global {
            tracing::debug!(
                symbol = candidate.name,
                user = %label(inputs, candidate.global),
                definition = %label(inputs, to),
                "symbol resolved"
            );
            resolution.replaced.push(Replacement {
                name: candidate.name.to_owned(),
                kind: candidate.kind,
                from: candidate.global,
                to,
            });
        }
    }
    Ok(resolution)
}

pub(super) fn label(inputs: &[Input<'_>], global: Global) -> String {
    inputs
        .get(global.module)
        .map_or_else(String::new, |input| input.label.to_owned())
}

fn candidates<'m>(number: usize, input: &Input<'m>) -> Vec<Candidate<'m>> {
    let variables = input.module.types_global_values.iter();
    let variables = variables
        .filter(|i| matches!(i.opcode, Op::Variable | Op::UntypedVariableKHR))
        .filter_map(|i| Some((i.result_id?, SymbolKind::Variable)));
    let functions = input.module.functions.iter();
    let functions = functions.filter_map(|f| Some((f.def_id()?, SymbolKind::Function)));
    variables
        .chain(functions)
        .filter_map(|(id, kind)| {
            let (name, linkage) = marked_linkage(&input.index, id)?;
            Some(Candidate {
                name,
                linkage,
                kind,
                global: Global { module: number, id },
            })
        })
        .collect()
}

/// The definition kept for each name: the export, or the first of those that are all alike.
fn definitions<'c, 'm>(
    inputs: &[Input<'_>],
    candidates: &'c [Candidate<'m>],
) -> Result<HashMap<&'m str, &'c Candidate<'m>>, LinkError> {
    let mut definitions: HashMap<&str, &Candidate<'_>> = HashMap::new();
    for candidate in candidates.iter().filter(|c| c.linkage != Linkage::Import) {
        match definitions.get(candidate.name) {
            Some(known) if known.linkage == Linkage::Export && candidate.linkage == Linkage::Export => {
                return Err(LinkError::DuplicateExport {
                    symbol: candidate.name.to_owned(),
                    first: label(inputs, known.global),
                    second: label(inputs, candidate.global),
                });
            }
            Some(known) if known.linkage == Linkage::Export || candidate.linkage != Linkage::Export => {}
            _ => {
                definitions.insert(candidate.name, candidate);
            }
        }
    }
    Ok(definitions)
}

fn check_kind(inputs: &[Input<'_>], import: &Candidate<'_>, export: &Candidate<'_>) -> Result<(), LinkError> {
    if import.kind == export.kind {
        return Ok(());
    }
    Err(LinkError::KindMismatch {
        symbol: import.name.to_owned(),
        importer: label(inputs, import.global),
        import_kind: import.kind,
        exporter: label(inputs, export.global),
        export_kind: export.kind,
    })
}
