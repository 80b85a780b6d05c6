//! Device globals of SPIR-V modules that become one, as LLVM's linker has them.
//!
//! The host finds a device global by a name, which the property sets give for its unique ID. Where two that no other
//! file sees have the same name, the second one is renamed. Images that a split made of one module have copies of one
//! device global, of the same ID: these become one again. Two that other files see, of different files, are no business
//! of this: they are defined twice.

use std::collections::{HashMap, HashSet};

use offkit_object::PropertySets;
use offkit_object::property_set::names;
use offkit_spirv::Module;
use offkit_spirv::dr::{Instruction, Operand};
use offkit_spirv::grammar::{Decoration, LinkageType, Op};

use super::join::Part;

/// What the key of a device global's name ends with.
const NAME_KEY: &str = "@global_id_mapping";

/// The device globals of an image: their IDs and the names of the variables.
pub(super) fn device_globals(properties: &PropertySets) -> impl Iterator<Item = (&str, &str)> {
    let metadata = properties.set(names::PROGRAM_METADATA);
    (metadata.into_iter().flat_map(|set| set.iter()))
        .filter_map(|(key, value)| Some((key.strip_suffix(NAME_KEY)?, value.as_str()?)))
}

/// Whether two images are parts of what was one program: both were made of the bitcode of this link, or are in one
/// SYCLBIN file.
pub(super) fn have_one_origin(one: &Part, other: &Part) -> bool {
    program(one) == program(other)
}

/// What was one program: the bitcode of this link, which has no name here, or a SYCLBIN file, wherever it is.
fn program(part: &Part) -> &str {
    if part.is_generated {
        return "";
    }
    // Images are three parts below the file.
    let end = part
        .label
        .rmatch_indices(['/', '!'])
        .nth(2)
        .filter(|_| part.is_told);
    end.map_or(&part.label, |(at, _)| part.label.get(..at).unwrap_or(&part.label))
}

/// Readies modules for the link: each keeps its own device globals, and finds those that it shares. Returns symbols that
/// are there for the link alone.
pub(super) fn settle(parts: &mut [Part], modules: &mut [Module]) -> HashSet<String> {
    let symbols = parts.iter().map(|part| &part.symbols);
    // Names that stay.
    let mut taken: HashSet<String> = symbols
        .flat_map(|symbols| symbols.exports.iter().chain(&symbols.imports))
        .cloned()
        .collect();
    let mut first: HashMap<(String, String), usize> = HashMap::new();
    let mut hidden = HashSet::new();
    for number in 0..parts.len() {
        let globals = device_globals(&parts[number].image.properties);
        let globals: Vec<_> = globals
            .map(|(id, name)| (id.to_owned(), name.to_owned()))
            .collect();
        for (id, name) in globals {
            let Some(variable) = variable(&modules[number], &name) else {
                continue;
            };
            let is_visible = parts[number].symbols.exports.contains(&name);
            let origin = program(&parts[number]).to_owned();
            let copy_of = first.get(&(origin.clone(), id.clone())).copied();
            if let Some(other) = copy_of {
                // The name of the first one, which may be a new one.
                let known = device_globals(&parts[other].image.properties).find(|(known, _)| *known == id);
                let Some(known) = known.map(|(_, known)| known.to_owned()) else {
                    continue;
                };
                // The linker makes one of two variables only if both have a symbol. Copies that no other file sees
                // have none: they get one for the link, the first as the definition and the others as ones that may
                // recur, and lose it afterwards.
                if !is_visible
                    && hidden.insert(known.clone())
                    && let Some(first) = self::variable(&modules[other], &known)
                {
                    set_linkage(&mut modules[other], first, &known, LinkageType::Export);
                }
                rename(&mut modules[number], variable, &known);
                set_linkage(&mut modules[number], variable, &known, LinkageType::LinkOnceODR);
                parts[number].image.properties.insert(
                    names::PROGRAM_METADATA,
                    format!("{id}{NAME_KEY}"),
                    known.as_str(),
                );
                continue;
            }
            first.insert((origin, id.clone()), number);
            if is_visible || taken.insert(name.clone()) {
                continue;
            }
            // As LLVM numbers them.
            let free = (1_u32..)
                .map(|number| format!("{name}.{number}"))
                .find(|name| taken.insert(name.clone()));
            let Some(free) = free else { continue };
            rename(&mut modules[number], variable, &free);
            parts[number].image.properties.insert(
                names::PROGRAM_METADATA,
                format!("{id}{NAME_KEY}"),
                free.as_str(),
            );
        }
    }
    hidden
}

/// The variable of a name.
fn variable(module: &Module, name: &str) -> Option<u32> {
    let globals = module.dr().types_global_values.iter();
    let variables: HashSet<u32> = globals
        .filter(|global| matches!(global.opcode, Op::Variable | Op::UntypedVariableKHR))
        .filter_map(|variable| variable.result_id)
        .collect();
    // What no other file sees has no linkage, so that `OpName` is all that tells the variable of that name.
    let mut names = module.dr().debug_names.iter();
    names.find_map(|said| match said.operands.as_slice() {
        [Operand::IdRef(id), Operand::LiteralString(said)] if said == name && variables.contains(id) => {
            Some(*id)
        }
        _ => None,
    })
}

fn rename(module: &mut Module, variable: u32, name: &str) {
    for said in &mut module.dr_mut().debug_names {
        if let [Operand::IdRef(id), Operand::LiteralString(said)] = said.operands.as_mut_slice()
            && *id == variable
        {
            name.clone_into(said);
        }
    }
}

/// Whether a decoration says by what symbol modules know a definition.
fn symbol_of(annotation: &Instruction) -> Option<(u32, &str)> {
    match annotation.operands.as_slice() {
        [
            Operand::IdRef(id),
            Operand::Decoration(Decoration::LinkageAttributes),
            Operand::LiteralString(name),
            ..,
        ] => Some((*id, name)),
        _ => None,
    }
}

fn set_linkage(module: &mut Module, variable: u32, name: &str, linkage: LinkageType) {
    let annotations = &mut module.dr_mut().annotations;
    annotations.retain(|annotation| symbol_of(annotation).is_none_or(|(id, _)| id != variable));
    let operands = vec![
        Operand::IdRef(variable),
        Operand::Decoration(Decoration::LinkageAttributes),
        Operand::LiteralString(name.to_owned()),
        Operand::LinkageType(linkage),
    ];
    annotations.push(Instruction::new(Op::Decorate, None, None, operands));
}

/// Takes away the symbols that were there for the link alone.
pub(super) fn hide(module: &mut Module, hidden: &HashSet<String>) {
    let annotations = &mut module.dr_mut().annotations;
    annotations.retain(|annotation| symbol_of(annotation).is_none_or(|(_, name)| !hidden.contains(name)));
}
