//! Addresses: for all work-items of a vector together where they are strided, for each of them elsewhere.

use offkit_compile::Shape;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Instruction, Operand, Operation};
use offkit_spirv::grammar::Op;

use super::builder::Value;
use super::kernel::{Emitter, Result};

impl<'e, 'm> Emitter<'e, 'm> {
    /// Base, indices: the base and so many bytes.
    pub(super) fn address(
        &mut self,
        instruction: &Instruction,
        offset: u64,
        strides: &[u64],
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let Some(result) = instruction.result else {
            return Ok(Vec::new());
        };
        let varies = self.plan.shapes.word(result, 0) == Shape::Varying;
        let operands = &instruction.operands;
        // A uniform base stays a scalar, as gathers take it, beside a vector of indices.
        let mut base = match (varies, self.shapes(operands[0])[0]) {
            (true, Shape::Strided(_)) => self.of_all(operands[0]),
            _ => self.operand(operands[0])[0],
        };
        base = self.coerce(base, b.pointer());
        // What is the same for all is added first.
        let mut sum = self.word(offset);
        let mut vectors = Vec::new();
        for (index, stride) in operands[1..].iter().zip(strides) {
            if varies && self.shapes(*index)[0] != Shape::Uniform {
                vectors.push((self.of_all(*index), *stride));
            } else {
                let wide = b.sext_or_trunc(self.operand(*index)[0], b.int(64));
                sum = b.add(sum, b.mul(wide, self.word(*stride)));
            }
        }
        if sum.as_integer() != Some(0) {
            let sum = if base.ty().width().is_some() {
                b.broadcast(sum, self.width)
            } else {
                sum
            };
            base = b.offset(base, sum);
        }
        // Scaled indices are left to the processor where it can scale.
        for (index, stride) in vectors {
            let wide = b.sext_or_trunc(index, b.int(64).vector(self.width));
            base = match stride {
                2 | 4 | 8 => b.element(b.int(8 * stride as u32), base, wide),
                1 => b.offset(base, wide),
                stride => b.offset(base, b.mul(wide, b.broadcast(self.word(stride), self.width))),
            };
        }
        Ok(vec![base])
    }

    /// The address that an access of those of a mask begins at, or would if the first work-item took part.
    pub(super) fn place(&mut self, pointer: Operand, mask: Option<Value<'m>>) -> Value<'m> {
        let b = self.b;
        let place = self.operand(pointer)[0];
        let (Operand::Value(value), Some(mask), Some(width)) = (pointer, mask, self.width) else {
            return place;
        };
        let Shape::Strided(stride) = self.plan.shapes.word(value, 0) else {
            return place;
        };
        if !self.plan.shapes.may_wrap(value) {
            return place;
        }
        // Counted back from one who takes part: others' addresses may be far away.
        let bits = b.zext_or_trunc(b.mask_bits(mask), b.int(64));
        let lane = b.intrinsic("llvm.cttz", &[b.int(64)], &[bits, b.truth(None, false)]);
        // One of the vector's lanes also where the mask is empty, and the access does nothing.
        let lane = b.and(lane, self.word(u64::from(width) - 1));
        let place = self.of_one(pointer, lane);
        b.offset(
            place,
            b.mul(lane, self.b.signed(b.int(64), stride.wrapping_neg())),
        )
    }

    /// The value of an address, or of a part of one, for all work-items, as a vector.
    pub(super) fn of_all(&mut self, operand: Operand) -> Value<'m> {
        let b = self.b;
        let (word, shape) = (self.operand(operand)[0], self.shapes(operand)[0]);
        // Of numbers that wrap somewhere in the vector, the others' values are no stride from the first one's: they are
        // computed as the program does, in their own width, back to operands that are strided for sure.
        let definition = match operand {
            Operand::Value(value) if self.width.is_some() && self.plan.shapes.may_wrap(value) => {
                self.plan.definition(value)
            }
            _ => None,
        };
        let Some(instruction) = definition else {
            return self.spread(word, shape);
        };
        let wide = word.ty().vector(self.width);
        let operands = &instruction.operands;
        match &instruction.operation {
            Operation::Convert {
                kind: Conversion::Signed,
                ..
            } => {
                let narrow = self.of_all(operands[0]);
                b.sext_or_trunc(narrow, wide)
            }
            Operation::Convert { .. } => {
                let narrow = self.of_all(operands[0]);
                b.zext_or_trunc(narrow, wide)
            }
            Operation::Reinterpret => {
                let same = self.of_all(operands[0]);
                self.coerce(same, word.ty())
            }
            Operation::Address { offset, strides } => {
                let base = self.of_all(operands[0]);
                let mut place = self.coerce(base, b.pointer());
                place = b.offset(place, b.broadcast(self.word(*offset), self.width));
                for (index, stride) in operands[1..].iter().zip(strides) {
                    let index = self.of_all(*index);
                    let index = b.sext_or_trunc(index, b.int(64).vector(self.width));
                    place = b.offset(place, b.mul(index, b.broadcast(self.word(*stride), self.width)));
                }
                self.coerce(place, word.ty())
            }
            Operation::Elementwise(op) => {
                let [left, right] = [0, 1].map(|index| self.of_all(operands[index]));
                self.integers(*op, left, right)
            }
            _ => self.spread(word, shape),
        }
    }

    /// The operations that addresses are computed with.
    fn integers(&self, op: Op, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        match op {
            Op::IAdd => self.b.add(left, right),
            Op::ISub => self.b.sub(left, right),
            Op::IMul => self.b.mul(left, right),
            _ => self.b.shl(left, right),
        }
    }

    /// The value of an address, or of a part of one, for one work-item.
    fn of_one(&mut self, operand: Operand, lane: Value<'m>) -> Value<'m> {
        let b = self.b;
        let word = self.operand(operand)[0];
        let Operand::Value(value) = operand else {
            return word;
        };
        let Shape::Strided(stride) = self.plan.shapes.word(value, 0) else {
            return word;
        };
        // Where nothing wraps, the stride tells. Else it is computed as the program does, for that
        // lane alone.
        if !self.plan.shapes.may_wrap(value) {
            if word.ty().is_pointer() {
                return b.offset(word, b.mul(lane, b.signed(b.int(64), stride)));
            }
            let lane = b.zext_or_trunc(lane, word.ty());
            return b.add(word, b.mul(lane, b.signed(word.ty(), stride)));
        }
        let Some(instruction) = self.plan.definition(value) else {
            return word;
        };
        let wide = b.int(64);
        match &instruction.operation {
            Operation::Convert {
                kind: Conversion::Signed,
                ..
            } => {
                let narrow = self.of_one(instruction.operands[0], lane);
                b.sext_or_trunc(narrow, word.ty())
            }
            Operation::Convert { .. } => {
                let narrow = self.of_one(instruction.operands[0], lane);
                b.zext_or_trunc(narrow, word.ty())
            }
            Operation::Reinterpret => {
                let same = self.of_one(instruction.operands[0], lane);
                self.coerce(same, word.ty())
            }
            Operation::Address { offset, strides } => {
                let base = self.of_one(instruction.operands[0], lane);
                let mut place = b.offset(self.coerce(base, b.pointer()), self.word(*offset));
                for (index, stride) in instruction.operands[1..].iter().zip(strides) {
                    let index = self.of_one(*index, lane);
                    let index = b.sext_or_trunc(index, wide);
                    place = b.offset(place, b.mul(index, self.word(*stride)));
                }
                self.coerce(place, word.ty())
            }
            Operation::Elementwise(op) => {
                let [left, right] = [0, 1].map(|index| self.of_one(instruction.operands[index], lane));
                self.integers(*op, left, right)
            }
            _ => word,
        }
    }
}
