//! Loops that come to an end, as far as can be seen: something counts in them, and they are left when it has come to a bound.

use offkit_kernel::ir::{ConstantId, Function, Instruction, Module, Operand, Operation, Terminator, ValueId};
use offkit_spirv::grammar::Op;

use crate::definitions::{Definition, Definitions, next_of};
use crate::graph::{Graph, Loop};

/// How far what a bound is computed from is followed.
const DEEPEST: u32 = 4;

/// Whether a loop counts up to a bound or down to one, and looks at it in each round. Bounds that can't be reached, as where
/// counting goes the wrong way, are not thought of.
pub(crate) fn is_counted(
    module: &Module,
    function: &Function,
    graph: &Graph,
    definitions: &Definitions,
    found: &Loop,
) -> bool {
    let look = Look {
        module,
        function,
        definitions,
        found,
    };
    let latches = || {
        let before = graph.predecessors[found.header].iter();
        before.filter(|node| found.contains(**node))
    };
    found.nodes.iter().any(|node| {
        let Terminator::Branch {
            condition,
            accept,
            reject,
            ..
        } = &function.blocks[*node].terminator
        else {
            return false;
        };
        let stays = [accept, reject].map(|block| found.contains(block.0 as usize));
        let goes_on_if = match stays {
            [true, false] => true,
            [false, true] => false,
            _ => return false,
        };
        // Each round has to come by here: one that goes past would never look at the bound.
        latches().all(|latch| graph.dominates(*node, *latch)) && look.bounds(*condition, goes_on_if, DEEPEST)
    })
}

struct Look<'f> {
    module: &'f Module,
    function: &'f Function,
    definitions: &'f Definitions,
    found: &'f Loop,
}

impl<'f> Look<'f> {
    fn instruction(&self, operand: Operand) -> Option<&'f Instruction> {
        match operand {
            Operand::Value(value) => self.definitions.instruction(self.function, value),
            Operand::Constant(_) => None,
        }
    }

    /// Whether a loop that goes on only if a condition holds, or only if it doesn't, counts to a bound.
    fn bounds(&self, condition: Operand, goes_on_if: bool, depth: u32) -> bool {
        let (Some(instruction), Some(depth)) = (self.instruction(condition), depth.checked_sub(1)) else {
            return false;
        };
        let operands = &instruction.operands;
        let either = || {
            let mut parts = operands.iter();
            parts.any(|part| self.bounds(*part, goes_on_if, depth))
        };
        match instruction.operation {
            Operation::Elementwise(Op::LogicalNot) => self.bounds(operands[0], !goes_on_if, depth),
            Operation::Elementwise(Op::LogicalAnd) if goes_on_if => either(),
            Operation::Elementwise(Op::LogicalOr) if !goes_on_if => either(),
            // Both hold, or one of them, as compilers write it: `c ? x : false`, `c ? true : x`.
            Operation::Select => {
                let [other, rest] = match goes_on_if {
                    true => [operands[1], operands[2]],
                    false => [operands[2], operands[1]],
                };
                self.is_truth(rest, !goes_on_if)
                    && (self.bounds(operands[0], goes_on_if, depth) || self.bounds(other, goes_on_if, depth))
            }
            Operation::Elementwise(
                Op::IEqual
                | Op::INotEqual
                | Op::PtrEqual
                | Op::PtrNotEqual
                | Op::ULessThan
                | Op::ULessThanEqual
                | Op::UGreaterThan
                | Op::UGreaterThanEqual
                | Op::SLessThan
                | Op::SLessThanEqual
                | Op::SGreaterThan
                | Op::SGreaterThanEqual,
            ) => [(operands[0], operands[1]), (operands[1], operands[0])]
                .into_iter()
                .any(|(counter, bound)| self.counts(counter, depth) && self.is_fixed(bound, DEEPEST)),
            _ => false,
        }
    }

    /// Whether an operand is a constant that holds, or one that doesn't.
    fn is_truth(&self, operand: Operand, holds: bool) -> bool {
        let Operand::Constant(ConstantId(constant)) = operand else {
            return false;
        };
        let words = &self.module.constants[constant as usize].words;
        words.iter().any(|word| *word != 0) == holds
    }

    /// Whether a value counts: it is one of the loop's head that changes by a constant, or that one a step later.
    fn counts(&self, operand: Operand, depth: u32) -> bool {
        let Operand::Value(value) = operand else {
            return false;
        };
        let Some(instruction) = self.instruction(operand) else {
            return self.is_counter(value);
        };
        match instruction.operation {
            Operation::Convert { .. } | Operation::Reinterpret if depth > 0 => {
                self.counts(instruction.operands[0], depth - 1)
            }
            _ => self
                .stepped(instruction)
                .is_some_and(|before| self.is_counter(before)),
        }
    }

    /// Whether each way back to the head of the loop steps a phi of it.
    fn is_counter(&self, value: ValueId) -> bool {
        let Some(mut back) = next_of(self.function, self.found, value) else {
            return false;
        };
        back.all(|operand| {
            let step = self.instruction(operand);
            step.and_then(|step| self.stepped(step)) == Some(value)
        })
    }

    /// What an instruction steps by a constant.
    fn stepped(&self, instruction: &Instruction) -> Option<ValueId> {
        let operands = &instruction.operands;
        // Halving counts as well: `for (n = size; n > 0; n >>= 1)` is how groups sum up.
        let is_step = matches!(
            instruction.operation,
            Operation::Elementwise(
                Op::IAdd
                    | Op::ISub
                    | Op::IMul
                    | Op::UDiv
                    | Op::SDiv
                    | Op::ShiftLeftLogical
                    | Op::ShiftRightLogical
                    | Op::ShiftRightArithmetic,
            ) | Operation::Address { .. }
        );
        match operands[..] {
            [Operand::Value(value), Operand::Constant(_)] if is_step => Some(value),
            // Anything else goes to and fro: `1 - i`.
            [Operand::Constant(_), Operand::Value(value)]
                if matches!(instruction.operation, Operation::Elementwise(Op::IAdd)) =>
            {
                Some(value)
            }
            // An address a constant further.
            [Operand::Value(value)] if is_step => Some(value),
            _ => None,
        }
    }

    /// Whether a value is the same in all rounds.
    fn is_fixed(&self, operand: Operand, depth: u32) -> bool {
        let Operand::Value(value) = operand else {
            return true;
        };
        let definition = self.definitions.of(value);
        if definition.block().is_none_or(|block| !self.found.contains(block)) {
            return true;
        }
        let (Definition::Instruction(..), Some(depth)) = (definition, depth.checked_sub(1)) else {
            return false;
        };
        // Loads are not among these: the loop, or another work-item, may write what is read.
        self.instruction(operand).is_some_and(|instruction| {
            matches!(
                instruction.operation,
                Operation::Elementwise(_)
                    | Operation::Convert { .. }
                    | Operation::Reinterpret
                    | Operation::Extract(_)
                    | Operation::Input(_)
                    | Operation::Address { .. }
            ) && instruction
                .operands
                .iter()
                .all(|operand| self.is_fixed(*operand, depth))
        })
    }
}
