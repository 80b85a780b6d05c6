//! Values that are nothing but addresses.

use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Function, Operand, Operation, ValueId};
use offkit_spirv::grammar::Op;

/// The values that are used as addresses of loads and stores, and for nothing else: pointers, and the indices that
/// they are computed from.
pub(crate) fn addresses(function: &Function) -> Vec<bool> {
    let mut found = vec![true; function.values.len()];
    // Everything is taken for an address until a use tells otherwise, so that addresses which go round in loops stay
    // some.
    let mut spoil = |operand: &Operand| {
        if let Operand::Value(value) = operand {
            found[value.0 as usize] = false;
        }
    };
    let mut uses: Vec<(Operand, Option<ValueId>)> = Vec::new();
    for block in &function.blocks {
        block
            .phis
            .iter()
            .flat_map(|phi| &phi.incoming)
            .for_each(|(_, operand)| spoil(operand));
        block.terminator.operand().iter().for_each(&mut spoil);
        for instruction in &block.instructions {
            let operands = &instruction.operands;
            match &instruction.operation {
                Operation::Load => {}
                Operation::Store => spoil(&operands[1]),
                operation if makes_addresses(operation) => {
                    uses.extend(operands.iter().map(|operand| (*operand, instruction.result)));
                }
                _ => operands.iter().for_each(&mut spoil),
            }
        }
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        // Backwards, so that one walk follows a chain from its end to its beginning, however long it is.
        for (operand, result) in uses.iter().rev() {
            if result.is_some_and(|result| !found[result.0 as usize])
                && let Operand::Value(value) = operand
                && std::mem::replace(&mut found[value.0 as usize], false)
            {
                changed = true;
            }
        }
    }
    found
}

/// Whether an operation is among those that addresses are computed with.
fn makes_addresses(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Address { .. }
            | Operation::Reinterpret
            | Operation::Elementwise(Op::IAdd | Op::ISub | Op::IMul | Op::ShiftLeftLogical)
            | Operation::Convert {
                kind: Conversion::Signed | Conversion::Unsigned,
                saturate: false,
                ..
            }
    )
}
