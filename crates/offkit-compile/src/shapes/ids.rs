//! Global ids that kernels compute from the ids and sizes of groups.

use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Home, Instruction, Operand, Operation};
use offkit_spirv::grammar::{BuiltIn, Op};

use super::{Analysis, Shape};
use crate::Cut;

impl Analysis<'_> {
    pub(super) fn find_global_ids(&mut self) {
        for block in &self.graph.order {
            for instruction in &self.function.blocks[*block].instructions {
                if let (Operation::Elementwise(op), Some(result)) =
                    (&instruction.operation, instruction.result)
                    && self.all(&instruction.operands) == Some(Shape::Varying)
                    && let Some(axis) = self.global_id(*op, &instruction.operands)
                {
                    self.shapes.global_ids.insert(result, axis);
                }
            }
        }
    }

    /// The dimension of a global id, counted from the first, that is computed from the id and the size of a group and a local
    /// id. It is as regular as another, whatever they are where groups lie in others.
    pub(super) fn global_id(&self, op: Op, operands: &[Operand]) -> Option<u32> {
        // Where groups are those that are seen, the sum is regular by what its parts are.
        if self.variant.cut == Cut::AsSeen || op != Op::IAdd {
            return None;
        }
        self.sum_of_ids(operands)
    }

    /// The dimension, where one of two numbers that are added is the id and the size of a group, and the other a local id.
    pub(super) fn sum_of_ids(&self, operands: &[Operand]) -> Option<u32> {
        let axis = |product: Operand, local: Operand| {
            let (BuiltIn::LocalInvocationId, axis) = self.part_of_input(local)? else {
                return None;
            };
            let definition = self.converted(product)?;
            let Operation::Elementwise(Op::IMul) = definition.operation else {
                return None;
            };
            let of_axis = |operand: &Operand| {
                let (built_in, of) = self.part_of_input(*operand)?;
                (of == axis).then_some(built_in)
            };
            let factors: Vec<BuiltIn> = definition.operands.iter().filter_map(of_axis).collect();
            let has = |built_in| factors.contains(&built_in);
            let has_size = has(BuiltIn::WorkgroupSize) || has(BuiltIn::EnqueuedWorkgroupSize);
            (has(BuiltIn::WorkgroupId) && has_size).then_some(axis)
        };
        let [a, b] = *operands else { return None };
        axis(a, b).or_else(|| axis(b, a))
    }

    /// What defines a number, conversions aside that have room for every id: 32 bits.
    fn converted(&self, mut operand: Operand) -> Option<&Instruction> {
        loop {
            let Operand::Value(value) = operand else {
                return None;
            };
            if self.width(operand) < 32 || self.module.operand_lanes(self.function, operand) != 1 {
                return None;
            }
            let definition = self.definitions.instruction(self.function, value)?;
            let Operation::Convert {
                kind: Conversion::Signed | Conversion::Unsigned,
                ..
            } = definition.operation
            else {
                return Some(definition);
            };
            operand = definition.operands[0];
        }
    }

    /// The built-in variable, and the dimension, that an operand is.
    fn part_of_input(&self, operand: Operand) -> Option<(BuiltIn, u32)> {
        let definition = self.converted(operand)?;
        let Operation::Extract(axis @ 0..=2) = definition.operation else {
            return None;
        };
        let Operand::Value(value) = definition.operands[0] else {
            return None;
        };
        let Operation::Input(global) = self.definitions.instruction(self.function, value)?.operation else {
            return None;
        };
        match self.module.globals[global.0 as usize].home {
            Home::Input(built_in) => Some((built_in, axis)),
            _ => None,
        }
    }
}
