//! The functions of the linked module.

use crate::dr::{Block, Function, Instruction, Operand};
use crate::grammar::Op;

use super::adapt::{Adapters, CallAdapter};
use super::merge::Merger;
use super::resolve::Global;

/// Adds the functions of all modules: those without a body first, as SPIR-V demands.
pub(super) fn merge_functions(merger: &mut Merger<'_>, adapters: &Adapters) {
    let mut declarations = Vec::new();
    let mut definitions = Vec::new();
    for (module, input) in merger.inputs.iter().enumerate() {
        for function in &input.module.functions {
            let id = function.def_id().map(|id| Global { module, id });
            if id.is_some_and(|id| merger.is_dropped(id)) {
                // Names and decorations come later, and must not be given to what was inside.
                for id in function
                    .all_inst_iter()
                    .filter_map(|instruction| instruction.result_id)
                {
                    merger.drop_id(Global { module, id });
                }
                continue;
            }
            let merged = merge_function(merger, adapters, module, function);
            if merged.blocks.is_empty() {
                declarations.push(merged);
            } else {
                definitions.push(merged);
            }
        }
    }
    declarations.append(&mut definitions);
    merger.module.functions = declarations;
}

fn merge_function(
    merger: &mut Merger<'_>,
    adapters: &Adapters,
    module: usize,
    function: &Function,
) -> Function {
    let mut merged = Function {
        def: function.def.as_ref().map(|def| merger.renumber(module, def)),
        parameters: function
            .parameters
            .iter()
            .map(|p| merger.renumber(module, p))
            .collect(),
        blocks: Vec::new(),
        end: function.end.clone(),
    };
    for block in &function.blocks {
        let label = block.label.as_ref().map(|label| merger.renumber(module, label));
        let mut instructions = Vec::new();
        for instruction in &block.instructions {
            let renumbered = merger.renumber(module, instruction);
            match adapter(adapters, module, instruction) {
                Some(adapter) => instructions.extend(adapt_call(merger, adapter, renumbered)),
                None => instructions.push(renumbered),
            }
        }
        merged.blocks.push(Block { label, instructions });
    }
    merged
}

/// What has to be changed about an instruction, if it calls an import with other types than it is defined with.
fn adapter<'a>(adapters: &'a Adapters, module: usize, instruction: &Instruction) -> Option<&'a CallAdapter> {
    let called = instruction
        .operands
        .first()
        .filter(|_| instruction.opcode == Op::FunctionCall)?;
    let id = called.id_ref_any()?;
    adapters.get(&Global { module, id })
}

/// A call with its arguments cast to the types the function takes, and its result to the type the caller expects.
fn adapt_call(merger: &mut Merger<'_>, adapter: &CallAdapter, mut call: Instruction) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    for (argument, wanted) in call.operands.iter_mut().skip(1).zip(&adapter.parameters) {
        if let (Operand::IdRef(id), Some(wanted)) = (argument, wanted) {
            let cast = bitcast(*wanted, merger.fresh_id(), *id);
            *id = cast.result_id.unwrap_or(*id);
            instructions.push(cast);
        }
    }
    let expected = call.result_type.zip(call.result_id);
    if let (Some(returned), Some((expected_type, expected_id))) = (adapter.result, expected) {
        let id = merger.fresh_id();
        call.result_type = Some(returned);
        call.result_id = Some(id);
        instructions.push(call);
        // The cast takes over the id, so that whoever uses the result needs no change.
        instructions.push(bitcast(expected_type, expected_id, id));
    } else {
        instructions.push(call);
    }
    instructions
}

fn bitcast(type_id: u32, id: u32, value: u32) -> Instruction {
    Instruction::new(Op::Bitcast, Some(type_id), Some(id), vec![Operand::IdRef(value)])
}
