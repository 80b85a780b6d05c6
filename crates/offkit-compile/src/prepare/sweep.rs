//! Code that nobody needs.

use offkit_kernel::ir::{Instruction, Operand, Operation, ValueId};

use super::body::Body;

/// Where a value is made.
#[derive(Clone, Copy)]
enum Home {
    Elsewhere,
    Phi(usize, usize),
    Instruction(usize, usize),
}

/// Removes computations without use.
pub(super) fn sweep(body: &mut Body) {
    let mut homes = vec![Home::Elsewhere; body.function.values.len()];
    let mut needed = vec![false; body.function.values.len()];
    let mut left: Vec<ValueId> = Vec::new();
    let need = |operand: Operand, left: &mut Vec<ValueId>| {
        if let Operand::Value(value) = operand {
            left.push(value);
        }
    };
    for (index, block) in body.function.blocks.iter().enumerate() {
        for (at, phi) in block.phis.iter().enumerate() {
            homes[phi.result.0 as usize] = Home::Phi(index, at);
        }
        for (at, instruction) in block.instructions.iter().enumerate() {
            if has_effect(body, instruction) {
                instruction
                    .operands
                    .iter()
                    .for_each(|operand| need(*operand, &mut left));
            } else if let Some(result) = instruction.result {
                homes[result.0 as usize] = Home::Instruction(index, at);
            }
        }
        if let Some(operand) = block.terminator.operand() {
            need(operand, &mut left);
        }
    }
    // From what has effects back to what it needs: so phis of a loop that only need each other go, too.
    while let Some(value) = left.pop() {
        if std::mem::replace(&mut needed[value.0 as usize], true) {
            continue;
        }
        match homes[value.0 as usize] {
            Home::Elsewhere => {}
            Home::Phi(block, at) => {
                let phi = &body.function.blocks[block].phis[at];
                phi.incoming
                    .iter()
                    .for_each(|(_, operand)| need(*operand, &mut left));
            }
            Home::Instruction(block, at) => {
                let instruction = &body.function.blocks[block].instructions[at];
                instruction
                    .operands
                    .iter()
                    .for_each(|operand| need(*operand, &mut left));
            }
        }
    }
    let mut blocks = std::mem::take(&mut body.function.blocks);
    for block in &mut blocks {
        block.phis.retain(|phi| needed[phi.result.0 as usize]);
        block.instructions.retain(|instruction| {
            let used = instruction.result.is_some_and(|result| needed[result.0 as usize]);
            used || has_effect(body, instruction)
        });
    }
    body.function.blocks = blocks;
    // One that is only stored to stays, as stores are effects; `promote` takes it away if it can.
    let variables = &mut body.function.variables;
    variables.retain(|variable| needed[variable.address.0 as usize]);
}

/// Whether an instruction does something beside giving its result.
fn has_effect(body: &Body, instruction: &Instruction) -> bool {
    match instruction.operation {
        Operation::Load => instruction.attributes.volatile,
        // What it promises would cost more than it is worth where it is all that needs its condition.
        Operation::Assume => false,
        _ => !is_pure(body, instruction),
    }
}

/// Whether an instruction gives the same for the same operands, wherever it is, and does nothing else.
pub(super) fn is_pure(body: &Body, instruction: &Instruction) -> bool {
    match instruction.operation {
        Operation::Elementwise(_)
        | Operation::Fold(_)
        | Operation::Select
        | Operation::Convert { .. }
        | Operation::Reinterpret
        | Operation::Extract(_)
        | Operation::Insert(_)
        | Operation::ExtractDynamic
        | Operation::InsertDynamic
        | Operation::Construct
        | Operation::Shuffle(_)
        | Operation::Address { .. }
        | Operation::Input(_)
        | Operation::GenericCast(_)
        | Operation::PointerSemantics
        | Operation::Ballot(_)
        | Operation::Expect => true,
        // One with a pointer stores its second result there.
        Operation::Extended(_) => {
            let last = instruction.operands.last();
            last.is_none_or(|operand| !body.module.types.is_pointer(body.kind(*operand)))
        }
        _ => false,
    }
}
