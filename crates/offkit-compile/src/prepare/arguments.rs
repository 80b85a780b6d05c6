//! Structs that a kernel is given: they can stay where the caller put them for all work-items, as long as none of them
//! writes to what would be its own copy.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Attributes, Constant, Instruction, Operand, Operation, Type, ValueId, Variable};

use super::body::{Body, Replaced};

/// Gives the kernel a variable with a copy of each argument that may be written; whether there is one.
pub(super) fn copy_written(body: &mut Body) -> bool {
    let mut changed = false;
    for index in 0..body.function.parameters.len() {
        let parameter = &body.function.parameters[index];
        let address = ValueId(index as u32);
        let Type::Pointer { pointee, .. } = *body.module.types.get(parameter.kind) else {
            continue;
        };
        if !parameter.by_value || is_only_read(body, address) {
            continue;
        }
        let (kind, align) = (parameter.kind, parameter.align);
        let Some(size_kind) = body.scalar_kind(Scalar::I64) else {
            continue;
        };
        let size = body.module.types.layout(pointee).size;
        let size = body.constant(Constant::plain(size_kind, vec![size]));
        let own = body.new_value(kind);
        // Before there is the copy, which has to go on naming the argument itself.
        let mut replaced = Replaced::new();
        replaced.insert(address, Operand::Value(own));
        body.substitute(&replaced);
        body.function.variables.push(Variable {
            address: own,
            kind: pointee,
            align,
            initializer: None,
        });
        let copy = Instruction {
            result: None,
            operation: Operation::Copy,
            operands: vec![Operand::Value(own), Operand::Value(address), size],
            attributes: Attributes {
                align: align.or_else(|| u32::try_from(body.module.types.layout(pointee).align).ok()),
                ..Attributes::default()
            },
            line: None,
        };
        // Nothing leads back to the entry.
        body.function.blocks[0].instructions.insert(0, copy);
        changed = true;
    }
    changed
}

/// Whether what an address leads to is read and nothing else.
fn is_only_read(body: &Body, address: ValueId) -> bool {
    let mut derived = vec![false; body.function.values.len()];
    derived[address.0 as usize] = true;
    // Addresses go round in loops.
    loop {
        let mut changed = false;
        let is_derived = |derived: &[bool], operand: &Operand| match operand {
            Operand::Value(value) => derived[value.0 as usize],
            Operand::Constant(_) => false,
        };
        for block in &body.function.blocks {
            for phi in &block.phis {
                if phi
                    .incoming
                    .iter()
                    .any(|(_, operand)| is_derived(&derived, operand))
                {
                    changed |= !std::mem::replace(&mut derived[phi.result.0 as usize], true);
                }
            }
            for instruction in &block.instructions {
                let operands = instruction.operands.iter().enumerate();
                let used: Vec<usize> = operands
                    .filter(|(_, operand)| is_derived(&derived, operand))
                    .map(|(at, _)| at)
                    .collect();
                if used.is_empty() {
                    continue;
                }
                match instruction.operation {
                    Operation::Address { .. } | Operation::Select | Operation::GenericCast(_) => {
                        if let Some(result) = instruction.result {
                            changed |= !std::mem::replace(&mut derived[result.0 as usize], true);
                        }
                    }
                    Operation::Load | Operation::PointerSemantics | Operation::Print => {}
                    Operation::Copy if used == [1] => {}
                    // It is written to, or the address is kept: then anything may become of it.
                    _ => return false,
                }
            }
        }
        if !changed {
            return true;
        }
    }
}
