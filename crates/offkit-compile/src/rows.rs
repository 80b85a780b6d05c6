//! Kernels whose work-items each read rows of their own, as the product of a sparse matrix and a vector does.
//!
//! A vector of work-items gathers from as many places in memory then, a number from each, and comes back to all of them for
//! the next one. One work-item after the other reads each row in order, as caches like it: 4.3 GFLOP/s instead of 2.1 for
//! the sparse product of `./dev bench cpu`.

use offkit_kernel::ir::{Function, Instruction, Module, Operand, Operation, ValueId, scalar_size};
use offkit_spirv::grammar::{Op, OpenclStd100Op as Cl};

use crate::definitions::{Definition, Definitions, next_of};
use crate::graph::{Loop, Rounds};
use crate::shapes::{Shape, Shapes};

/// With fewer rows, a sum that each round adds to is what a work-item alone waits for.
const LEAST_ROWS: usize = 2;

/// How far what an address is computed from is followed.
const DEEPEST: u32 = 8;

/// Whether reading rows is nearly all that a kernel's loops do.
pub(crate) fn reads_rows(
    module: &Module,
    function: &Function,
    rounds: &Rounds,
    definitions: &Definitions,
    shapes: &Shapes,
) -> bool {
    let is_innermost = |found: &&Loop| {
        let mut others = rounds.loops.iter().filter(|other| other.header != found.header);
        !others.any(|other| found.contains(other.header))
    };
    let mut innermost = rounds.loops.iter().filter(is_innermost).peekable();
    innermost.peek().is_some()
        && innermost.all(|found| {
            let look = Look {
                module,
                function,
                definitions,
                shapes,
                found,
            };
            look.reads_rows()
        })
}

/// A look at one loop.
struct Look<'f> {
    module: &'f Module,
    function: &'f Function,
    definitions: &'f Definitions,
    shapes: &'f Shapes,
    found: &'f Loop,
}

impl Look<'_> {
    /// Whether the loop gathers at least as often as it computes, from rows among other places, and does nothing that a
    /// vector would do at once for all.
    fn reads_rows(&self) -> bool {
        let (mut rows, mut gathers, mut work) = (0, 0, 0);
        let nodes = self.found.nodes.iter();
        for instruction in nodes.flat_map(|node| &self.function.blocks[*node].instructions) {
            match &instruction.operation {
                Operation::Load => match self.is_row(instruction) {
                    None => return false,
                    // One number for all costs a vector no more than one work-item.
                    Some(_) if self.shapes.is_uniform(instruction.operands[0]) => {}
                    Some(is_row) => {
                        gathers += 1;
                        rows += usize::from(is_row);
                    }
                },
                Operation::Extended(Cl::fma | Cl::mad) => work += 1,
                Operation::Elementwise(_) | Operation::Select | Operation::Convert { .. } => {
                    work += usize::from(self.is_float(instruction));
                }
                Operation::Address { .. }
                | Operation::Reinterpret
                | Operation::Extract(_)
                | Operation::Input(_) => {}
                // Stores, calls and whatever waits: their cost isn't in these counts.
                _ => return false,
            }
        }
        rows >= LEAST_ROWS && work <= gathers
    }

    /// Whether a load goes on by one number in each round; nothing for one that a vector does at once.
    fn is_row(&self, load: &Instruction) -> Option<bool> {
        let kind = self.function.values[load.result?.0 as usize];
        let size = scalar_size(self.module.types.scalar(kind)?).cast_signed();
        let Operand::Value(address) = load.operands[0] else {
            return Some(false);
        };
        match self.shapes.word(address, 0) {
            Shape::Strided(stride) if stride == size => None,
            _ => Some(self.step(load.operands[0], DEEPEST) == Some(size)),
        }
    }

    fn is_float(&self, instruction: &Instruction) -> bool {
        let kinds = instruction
            .result
            .map(|result| self.function.values[result.0 as usize]);
        let scalar = kinds.and_then(|kind| self.module.types.scalar(kind));
        // A vector is more than one number.
        scalar.is_none_or(|scalar| scalar.is_float())
    }

    /// How much more a value is in each round, where that is always the same.
    fn step(&self, operand: Operand, depth: u32) -> Option<i64> {
        let Operand::Value(value) = operand else {
            return Some(0);
        };
        let definition = self.definitions.of(value);
        if definition.block().is_none_or(|block| !self.found.contains(block)) {
            return Some(0);
        }
        if let Definition::Phi(block) = definition {
            return (block == self.found.header)
                .then(|| self.counter(value))
                .flatten();
        }
        let depth = depth.checked_sub(1)?;
        let instruction = self.definitions.instruction(self.function, value)?;
        let step = |operand: &Operand| self.step(*operand, depth);
        match (&instruction.operation, &instruction.operands[..]) {
            // Wrong where a number wraps, which costs speed alone: this only chooses how the work-items are executed.
            (Operation::Convert { .. } | Operation::Reinterpret, [one]) => step(one),
            (Operation::Elementwise(Op::IAdd), [a, b]) => step(a)?.checked_add(step(b)?),
            (Operation::Elementwise(Op::ISub), [a, b]) => step(a)?.checked_sub(step(b)?),
            (Operation::Elementwise(Op::ShiftLeftLogical), [a, by]) => {
                step(a)?.checked_mul(1_i64.checked_shl(u32::try_from(self.constant(*by)?).ok()?)?)
            }
            (Operation::Address { strides, .. }, [base, indices @ ..]) => {
                let mut steps = indices.iter().zip(strides);
                steps.try_fold(step(base)?, |sum, (index, stride)| {
                    let stride = i64::try_from(*stride).ok()?;
                    sum.checked_add(step(index)?.checked_mul(stride)?)
                })
            }
            _ => None,
        }
    }

    /// How much more a phi of the loop's head is in each round.
    fn counter(&self, value: ValueId) -> Option<i64> {
        let mut back = next_of(self.function, self.found, value)?;
        let next = back.next()?;
        // Of several ways back each may go on by another number.
        if back.next().is_some() {
            return None;
        }
        let instruction = match next {
            Operand::Value(next) => self.definitions.instruction(self.function, next)?,
            Operand::Constant(_) => return None,
        };
        match (&instruction.operation, &instruction.operands[..]) {
            (Operation::Elementwise(Op::IAdd), [Operand::Value(before), by]) if *before == value => {
                self.constant(*by)
            }
            (Operation::Address { offset, .. }, [Operand::Value(before)]) if *before == value => {
                Some(offset.cast_signed())
            }
            (Operation::Address { offset, strides }, [Operand::Value(before), by]) if *before == value => {
                let by = self.constant(*by)?.checked_mul(i64::try_from(strides[0]).ok()?)?;
                by.checked_add(offset.cast_signed())
            }
            _ => None,
        }
    }

    /// A constant of one word.
    fn constant(&self, operand: Operand) -> Option<i64> {
        let Operand::Constant(constant) = operand else {
            return None;
        };
        match self.module.constants[constant.0 as usize].words[..] {
            [word] => Some(word.cast_signed()),
            _ => None,
        }
    }
}
