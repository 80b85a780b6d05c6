//! Last steps: what only the whole linked module can tell.

use std::collections::{HashMap, HashSet};

use crate::dr::{self, Instruction, ModuleHeader, Operand};
use crate::grammar::{Capability, Decoration, LinkageType, Op, StorageClass};

use super::merge::Merger;
use super::resolve::Resolution;
use super::{Input, LinkError, UnresolvedSymbol};
use crate::call_graph::CallGraph;
use crate::index::Index;
use crate::symbols::is_supplied_by_device;

/// The extension that definitions of which one is kept need.
const LINK_ONCE_EXTENSION: &str = "SPV_KHR_linkonce_odr";

/// Most unresolved symbols for which the ways to them are told.
const MAX_EXPLAINED: usize = 16;

/// Most ways that are told to one of them.
const MAX_CHAINS: usize = 4;

/// Makes the module of what was merged.
pub(super) fn finish(merger: Merger<'_>) -> Result<dr::Module, LinkError> {
    let header = header(merger.inputs);
    let (mut module, globals, bound) = merger.into_parts();
    module.types_global_values = in_order_of_use(globals)?;
    module.header = Some(ModuleHeader { bound, ..header });
    set_linkage_capability(&mut module);
    set_interfaces(&mut module);
    check_entry_points(&module)?;
    Ok(module)
}

/// The newest version and the first generator.
fn header(inputs: &[Input<'_>]) -> ModuleHeader {
    let headers = inputs.iter().filter_map(|input| input.module.header);
    let first = headers.clone().next().unwrap_or_else(|| ModuleHeader::new(0));
    let version = headers
        .map(|header| header.version)
        // What is good in an older version is so in a newer one, but for the variables of entry points:
        // `set_interfaces` lists those anew.
        .max()
        .unwrap_or(first.version);
    ModuleHeader { version, ..first }
}

/// The instructions in an order in which each definition comes before its uses; otherwise as they are.
///
/// A module may give a variable the address of one that another module defines, so no order of the modules will do.
fn in_order_of_use(mut units: Vec<Vec<Instruction>>) -> Result<Vec<Instruction>, LinkError> {
    let mut place = HashMap::new();
    let mut forward = HashSet::new();
    for (number, unit) in units.iter().enumerate() {
        for instruction in unit {
            place.extend(instruction.result_id.map(|id| (id, number)));
            if instruction.opcode == Op::TypeForwardPointer {
                forward.extend(instruction.operands.first().and_then(Operand::id_ref_any));
            }
        }
    }
    let uses = |number: usize| -> Vec<usize> {
        let instructions = units.get(number).into_iter().flatten();
        let forward = &forward;
        let ids = instructions.flat_map(|instruction| {
            // Types may refer to pointers declared ahead, and so does the declaration itself.
            let may_come_later = instruction.opcode.is_type();
            let operands = instruction.operands.iter().filter_map(Operand::id_ref_any);
            let operands = operands.filter(move |id| !(may_come_later && forward.contains(id)));
            operands.chain(instruction.result_type)
        });
        ids.filter_map(|id| place.get(&id).copied())
            .filter(|used| *used != number)
            .collect()
    };
    // Depth first, with a stack of its own: how deep definitions go is up to the file, and the thread's stack is not.
    let mut state = vec![State::Waiting; units.len()];
    let mut order = Vec::with_capacity(units.len());
    for root in 0..units.len() {
        let mut stack = vec![(root, None::<std::vec::IntoIter<usize>>)];
        while let Some((number, pending)) = stack.last_mut() {
            let number = *number;
            let Some(slot) = state.get_mut(number) else { break };
            let pending = match pending {
                Some(pending) => pending,
                None if *slot == State::Waiting => {
                    *slot = State::Open;
                    pending.insert(uses(number).into_iter())
                }
                None => {
                    stack.pop();
                    continue;
                }
            };
            match pending.next() {
                Some(used) if state.get(used) == Some(&State::Open) => {
                    let mut closing = units.get(used).into_iter().flatten();
                    return Err(match closing.any(|instruction| instruction.opcode.is_type()) {
                        true => LinkError::TypeCycle,
                        false => LinkError::InitializerCycle,
                    });
                }
                Some(used) => stack.push((used, None)),
                None => {
                    if let Some(slot) = state.get_mut(number) {
                        *slot = State::Written;
                    }
                    order.push(number);
                    stack.pop();
                }
            }
        }
    }
    Ok(order
        .into_iter()
        .flat_map(|number| units.get_mut(number).map(std::mem::take).unwrap_or_default())
        .collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Open,
    Written,
}

/// Declares the Linkage capability exactly when something is left to link, or when without a kernel the module would
/// be refused.
fn set_linkage_capability(module: &mut dr::Module) {
    let linkages = module
        .annotations
        .iter()
        .filter_map(|annotation| match annotation.operands.as_slice() {
            [
                _,
                Operand::Decoration(Decoration::LinkageAttributes),
                _,
                Operand::LinkageType(linkage),
            ] => Some(*linkage),
            _ => None,
        });
    let linkages: Vec<LinkageType> = linkages.collect();
    let linkage = Instruction::new(
        Op::Capability,
        None,
        None,
        vec![Operand::Capability(Capability::Linkage)],
    );
    let declared = module.capabilities.contains(&linkage);
    let needed = !linkages.is_empty() || module.entry_points.is_empty();
    if declared && !needed {
        module.capabilities.retain(|capability| *capability != linkage);
    } else if needed && !declared {
        module.capabilities.push(linkage);
    }
    // A device that does not know an extension refuses the module, whether it makes use of it or
    // not.
    if !linkages.contains(&LinkageType::LinkOnceODR) {
        let text = Operand::LiteralString(LINK_ONCE_EXTENSION.to_owned());
        module
            .extensions
            .retain(|extension| extension.operands.first() != Some(&text));
    }
}

/// Completes the list of variables of each entry point: a kernel may now reach variables of other modules. From
/// SPIR-V 1.4 on all variables are listed, before only those the device fills in.
fn set_interfaces(module: &mut dr::Module) {
    let index = Index::new(module);
    let graph = CallGraph::of(&index);
    let lists_all = module
        .header
        .as_ref()
        .is_none_or(|header| header.version >= 0x0001_0400);
    let is_listed = |id: &u32| {
        let variable = index.global(*id).filter(|i| i.opcode == Op::Variable);
        let storage = variable.and_then(|i| i.operands.first());
        match storage {
            Some(Operand::StorageClass(StorageClass::Input | StorageClass::Output)) => true,
            Some(_) => lists_all,
            None => false,
        }
    };
    let interfaces: Vec<Vec<Operand>> = module
        .entry_points
        .iter()
        .map(|entry_point| {
            let function = entry_point.operands.get(1).and_then(Operand::id_ref_any);
            let reached = function.map_or_else(Vec::new, |id| graph.reach(id).order);
            let listed = entry_point
                .operands
                .iter()
                .skip(3)
                .filter_map(Operand::id_ref_any);
            let mut seen = HashSet::new();
            let interface = listed
                .chain(reached)
                .filter(is_listed)
                .filter(|id| seen.insert(*id));
            interface.map(Operand::IdRef).collect()
        })
        .collect();
    for (entry_point, interface) in module.entry_points.iter_mut().zip(interfaces) {
        // The variables come behind the execution model, the function and the name.
        entry_point.operands.truncate(3);
        entry_point.operands.extend(interface);
    }
}

/// Fails when an entry point lists more variables than an instruction has room for: of all instructions only these grow
/// in a link.
fn check_entry_points(module: &dr::Module) -> Result<(), LinkError> {
    for entry_point in &module.entry_points {
        let words = entry_point.words();
        if words > dr::LONGEST_INSTRUCTION {
            let kernel = match entry_point.operands.get(2) {
                Some(Operand::LiteralString(name)) => name.clone(),
                _ => String::new(),
            };
            return Err(LinkError::EntryPointTooLong {
                kernel,
                words,
                limit: dr::LONGEST_INSTRUCTION,
            });
        }
    }
    Ok(())
}

/// Fails when symbols are left that no module exports, and says which kernels need them.
pub(super) fn check_unresolved(
    inputs: &[Input<'_>],
    resolution: &Resolution,
    module: &dr::Module,
) -> Result<(), LinkError> {
    let missing = resolution
        .unresolved
        .iter()
        .filter(|symbol| !is_supplied_by_device(&symbol.name));
    let missing = missing.map(|symbol| {
        let modules = symbol.modules.iter().filter_map(|&number| inputs.get(number));
        UnresolvedSymbol {
            name: symbol.name.clone(),
            kind: symbol.kind,
            modules: modules.map(|input| input.label.to_owned()).collect(),
            chains: Vec::new(),
            more_kernels: 0,
        }
    });
    let mut missing: Vec<UnresolvedSymbol> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    let places = missing.iter().enumerate();
    let places: HashMap<String, usize> = places
        .map(|(place, symbol)| (symbol.name.clone(), place))
        .collect();
    let graph = CallGraph::of(&Index::new(module));
    for (kernel, function) in graph.kernel_functions() {
        let reach = graph.reach(function);
        for (id, name, _) in graph.imports(&reach) {
            let Some(&place) = places.get(name) else { continue };
            let Some(symbol) = missing.get_mut(place) else {
                continue;
            };
            if place < MAX_EXPLAINED && symbol.chains.len() < MAX_CHAINS {
                symbol.chains.push(graph.chain(&reach, id, kernel));
            } else {
                symbol.more_kernels += 1;
            }
        }
    }
    Err(LinkError::Unresolved(missing))
}
