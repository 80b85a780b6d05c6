//! Where 32-bit numbers may wrap between the work-items of a vector, and what keeps its stride all the same.

use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Home, Operand, Operation, ValueId};
use offkit_spirv::grammar::{BuiltIn, Op};

use super::{Analysis, Shape, strided};
use crate::variant::{LONGEST_VECTOR, NEAR};

impl Analysis<'_> {
    /// The shape of a narrower integer as a wider one, which becomes part of a value: strides stay where no work-item's
    /// number wraps.
    ///
    /// Small ones also stay in what is nothing but an address. Where a 32-bit index wraps between two work-items of a
    /// vector, their addresses are almost 2^32 elements apart: with no object as large as that, all that take part in an
    /// access are on the same side. The address is that of one of them, then; see
    /// [`Shapes::may_wrap`](super::Shapes::may_wrap). By large strides an index may come back to the same object behind
    /// a wrap, as that of a hash does.
    pub(super) fn extended(
        &self,
        operand: Operand,
        bits: u32,
        signed: bool,
        value: Option<ValueId>,
    ) -> Option<Shape> {
        let shape = self.scalar(operand);
        if !self.may_wrap(operand, bits, signed) {
            return shape;
        }
        let is_address = value.is_some_and(|value| self.addresses[value.0 as usize]);
        if !is_address || self.width(operand) != 32 || !self.variant.narrow_ids {
            return Some(Shape::Varying);
        }
        match shape {
            // Told modulo 2^64, as the index may be a part of a wider number: it has 32 bits of that.
            Some(Shape::Strided(by)) => Some(self.short_stride(by as i32)),
            shape => shape,
        }
    }

    /// The shape of an address: kept where those of a vector are so close together that none comes back to an object from
    /// behind a wrap, whatever its indices were multiplied by once they were extended.
    pub(super) fn near(&self, shape: Shape) -> Shape {
        match shape {
            Shape::Strided(by) if by.unsigned_abs().saturating_mul(self.variant.width.into()) > 1 << 31 => {
                Shape::Varying
            }
            shape => shape,
        }
    }

    /// The shape of 32-bit indices with a stride: kept where those of a vector are so close together that a wrap between them
    /// leads out of every object.
    fn short_stride(&self, by: i32) -> Shape {
        let reach = u64::from(by.unsigned_abs()).saturating_mul(u64::from(self.variant.width));
        match reach <= LONGEST_VECTOR {
            true => strided(i64::from(by)),
            false => Shape::Varying,
        }
    }

    /// Whether a strided integer that is extended to so many bits may wrap between the work-items of a vector.
    fn may_wrap(&self, operand: Operand, bits: u32, signed: bool) -> bool {
        matches!(self.scalar(operand), Some(Shape::Strided(_)))
            && self.width(operand) < bits
            // Eight operations back at most; what has no answer by then counts as what may wrap.
            && !self.stays_in_range(operand, signed, 8)
    }

    /// Whether it is known that a strided integer doesn't wrap between the work-items of a vector: it is an id, or close to
    /// one.
    ///
    /// That an operation promises not to wrap doesn't tell, for it may for work-items that take no part in what follows: of
    /// `if (id >= n) … a[id - n]` clang says so, and the first lane, which the others are counted from, wraps.
    fn stays_in_range(&self, operand: Operand, signed: bool, depth: u32) -> bool {
        let Operand::Value(value) = operand else {
            return true;
        };
        if depth == 0 {
            return false;
        }
        if self.shapes.of(value).all(|shape| shape == Shape::Uniform) {
            return true;
        }
        let Some(definition) = self.definitions.instruction(self.function, value) else {
            return false;
        };
        let rest = |operands: &[Operand]| {
            operands
                .iter()
                .all(|operand| self.stays_in_range(*operand, signed, depth - 1))
        };
        match &definition.operation {
            Operation::Extract(_) | Operation::Expect => rest(&definition.operands[..1]),
            Operation::Convert {
                kind: Conversion::Signed | Conversion::Unsigned,
                ..
            } if self.width(operand) >= self.width(definition.operands[0]) => rest(&definition.operands[..1]),
            // A few more or less than an id: with a sign, that is far from both ends.
            Operation::Elementwise(Op::IAdd | Op::ISub) if signed => match *definition.operands {
                [a, b] => {
                    self.is_id(a, depth) && self.is_near_zero(b)
                        || self.is_near_zero(a) && self.is_id(b, depth)
                }
                _ => false,
            },
            _ => self.is_id(operand, depth),
        }
    }

    /// Whether an operand is an id, in at least 32 bits. Below 2^31, it wraps neither with a sign nor without.
    fn is_id(&self, operand: Operand, depth: u32) -> bool {
        let Operand::Value(value) = operand else {
            return false;
        };
        if depth == 0 || !self.variant.narrow_ids || self.width(operand) < 32 {
            return false;
        }
        let Some(definition) = self.definitions.instruction(self.function, value) else {
            return false;
        };
        match &definition.operation {
            // The number in all dimensions together has no bound.
            Operation::Input(global) => !matches!(
                self.module.globals[global.0 as usize].home,
                Home::Input(BuiltIn::GlobalLinearId)
            ),
            Operation::Extract(_)
            | Operation::Expect
            | Operation::Convert {
                kind: Conversion::Signed | Conversion::Unsigned,
                ..
            } => self.is_id(definition.operands[0], depth - 1),
            Operation::Elementwise(Op::IAdd) => self.sum_of_ids(&definition.operands).is_some(),
            _ => false,
        }
    }

    /// Whether an operand is a constant that is no further from zero than ids are from 2^31.
    fn is_near_zero(&self, operand: Operand) -> bool {
        let Operand::Constant(id) = operand else {
            return false;
        };
        let constant = &self.module.constants[id.0 as usize];
        let number = self.number(constant, 0).filter(|_| constant.words.len() == 1);
        number.is_some_and(|number| number.unsigned_abs() <= NEAR)
    }

    pub(super) fn find_what_may_wrap(&mut self) {
        // One walk, and no phis: what goes through one counts as no address (see `addresses`), and
        // has lost its stride where it may wrap.
        let function = self.function;
        for block in &self.graph.order {
            for instruction in &function.blocks[*block].instructions {
                let Some(result) = instruction.result else {
                    continue;
                };
                if !self
                    .shapes
                    .of(result)
                    .any(|shape| matches!(shape, Shape::Strided(_)))
                {
                    continue;
                }
                let wraps = |operand: &Operand| match operand {
                    Operand::Value(value) => self.shapes.may_wrap[value.0 as usize],
                    Operand::Constant(_) => false,
                };
                let operands = &instruction.operands;
                // What is computed from such a value is marked as well: an access asks about its address alone.
                let itself = match &instruction.operation {
                    Operation::Convert { kind, .. } => {
                        let bits = self.width(Operand::Value(result));
                        self.may_wrap(operands[0], bits, *kind == Conversion::Signed)
                    }
                    Operation::Address { .. } => {
                        operands[1..].iter().any(|index| self.may_wrap(*index, 64, true))
                    }
                    _ => false,
                };
                if itself || operands.iter().any(wraps) {
                    self.shapes.may_wrap[result.0 as usize] = true;
                }
            }
        }
    }
}
