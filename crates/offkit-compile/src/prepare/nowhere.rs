//! Stores to the null pointer: how kernels end themselves, since SPIR-V has no instruction for it. A failed `assert` does.
//!
//! LLVM takes such a store for code that is never reached, and goes on with whatever stands behind it.

use offkit_kernel::ir::{Operand, Operation, Terminator};

use super::body::Body;

/// Has work-items that would store to the null pointer fail there; whether any would.
pub(super) fn fail(body: &mut Body) -> bool {
    let constants = &body.module.constants;
    let is_null = |operand: &Operand| match operand {
        Operand::Constant(id) => {
            let constant = &constants[id.0 as usize];
            constant.relocations.is_empty() && constant.words.iter().all(|word| *word == 0)
        }
        Operand::Value(_) => false,
    };
    let mut found = false;
    for block in &mut body.function.blocks {
        let place = block.instructions.iter().position(|instruction| {
            instruction.operation == Operation::Store && instruction.operands.first().is_some_and(is_null)
        });
        let Some(place) = place else { continue };
        block.instructions.truncate(place + 1);
        block.instructions[place].operation = Operation::Nowhere;
        block.instructions[place].operands.clear();
        block.line = block.instructions[place].line;
        block.merge = None;
        // Phis behind it still name this block; `control::straighten`, which comes next, has them
        // forget it.
        block.terminator = Terminator::Unreachable;
        found = true;
    }
    found
}
