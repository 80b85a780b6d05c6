//! Floating-point numbers. Half precision is computed in single precision and rounded once, as the interpreter does.

use llvm_sys::{
    LLVMFastMathFlags, LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPredicate,
};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::float::Format;
use offkit_spirv::grammar::Op;

use super::Lanes;
use crate::compile::builder::{Type, Value};

/// The predicate of a comparison of numbers.
fn predicate(op: Op) -> Option<RealPredicate> {
    Some(match op {
        Op::FOrdEqual => RealPredicate::LLVMRealOEQ,
        Op::FUnordEqual => RealPredicate::LLVMRealUEQ,
        Op::FOrdNotEqual | Op::LessOrGreater => RealPredicate::LLVMRealONE,
        Op::FUnordNotEqual => RealPredicate::LLVMRealUNE,
        Op::FOrdLessThan => RealPredicate::LLVMRealOLT,
        Op::FUnordLessThan => RealPredicate::LLVMRealULT,
        Op::FOrdGreaterThan => RealPredicate::LLVMRealOGT,
        Op::FUnordGreaterThan => RealPredicate::LLVMRealUGT,
        Op::FOrdLessThanEqual => RealPredicate::LLVMRealOLE,
        Op::FUnordLessThanEqual => RealPredicate::LLVMRealULE,
        Op::FOrdGreaterThanEqual => RealPredicate::LLVMRealOGE,
        Op::FUnordGreaterThanEqual => RealPredicate::LLVMRealUGE,
        Op::Ordered => RealPredicate::LLVMRealORD,
        Op::Unordered => RealPredicate::LLVMRealUNO,
        _ => return None,
    })
}

fn instruction(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::FAdd => Opcode::LLVMFAdd,
        Op::FSub => Opcode::LLVMFSub,
        Op::FMul => Opcode::LLVMFMul,
        Op::FDiv => Opcode::LLVMFDiv,
        _ => return None,
    })
}

impl<'m> Lanes<'_, 'm> {
    /// The flags are for sums, products and quotients; what is made of several instructions needs each as it is.
    pub(super) fn float(&self, op: Op, words: &[Value<'m>], flags: LLVMFastMathFlags) -> Option<Value<'m>> {
        let b = self.builder;
        if let (Some(opcode), [x, y]) = (instruction(op), words) {
            let (x_wide, y_wide) = (self.single(*x), self.single(*y));
            // For this one alone: the conversions of halves around it must stay as they are.
            let before = b.set_flags(flags);
            let result = b.binary(opcode, x_wide, y_wide);
            b.set_flags(before);
            return Some(self.narrow_to(result, x.ty()));
        }
        if let (Some(predicate), [x, y]) = (predicate(op), words) {
            return Some(b.fcmp(predicate, self.single(*x), self.single(*y)));
        }
        if let (Op::IEqual | Op::INotEqual, [x, y]) = (op, words) {
            return self.integer(op, &[self.bits(*x), self.bits(*y)]);
        }
        Some(match (op, words) {
            (Op::FRem, [x, y]) => self.float_remainder(*x, *y)?,
            (Op::FMod, [x, y]) => self.float_modulo(*x, *y)?,
            (Op::FNegate, [x]) => self.negate(*x),
            (Op::GroupFMin, [x, y]) => self.least(*x, *y),
            (Op::GroupFMax, [x, y]) => self.greatest(*x, *y),
            (Op::IsNan, [x]) => self.is_nan(*x),
            // By bits, so that halves need not be widened to be compared.
            (Op::IsInf, [x]) => {
                let infinity = Format::of(x.ty().scalar())?.infinity();
                self.is(self.magnitude(*x), infinity)
            }
            (Op::IsFinite, [x]) => self.is_finite(*x),
            (Op::IsNormal, [x]) => {
                // Neither the least exponent nor the greatest.
                let format = Format::of(x.ty().scalar())?;
                let lowest = format.significand_mask() + 1;
                let bits = self.magnitude(*x);
                // What is below the lowest wraps around, so that one unsigned comparison sees both ends.
                let from_lowest = b.sub(bits, b.integer(bits.ty(), lowest));
                self.below(from_lowest, format.infinity() - lowest)
            }
            (Op::SignBitSet, [x]) => {
                let bits = self.bits(*x);
                b.icmp(IntPredicate::LLVMIntSLT, bits, b.zero(bits.ty()))
            }
            _ => return None,
        })
    }

    /// A number of half precision in single precision; others as they are.
    pub(super) fn single(&self, value: Value<'m>) -> Value<'m> {
        match value.ty().scalar() {
            Scalar::F16 => self.widen_half(value),
            _ => value,
        }
    }

    /// What [`Lanes::single`] was the beginning of, rounded to the type that it is a result of.
    pub(super) fn narrow_to(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        match to.scalar() {
            Scalar::F16 if value.ty().scalar() == Scalar::F32 => self.narrow_to_half(value),
            _ => value,
        }
    }

    /// Of half precision by the bit, so that NaNs stay as they are.
    pub(super) fn negate(&self, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        if value.ty().scalar() != Scalar::F16 {
            return b.fneg(value);
        }
        let bits = self.bits(value);
        b.bit_cast(b.xor(bits, b.integer(bits.ty(), 0x8000)), value.ty())
    }

    /// The smaller number; one of them where the other is NaN.
    pub(super) fn least(&self, x: Value<'m>, y: Value<'m>) -> Value<'m> {
        let (left, right) = (self.single(x), self.single(y));
        let less = self.builder.fcmp(RealPredicate::LLVMRealOLT, right, left);
        self.builder
            .select(self.is_nan(x), y, self.builder.select(less, y, x))
    }

    /// The larger number; one of them where the other is NaN.
    pub(super) fn greatest(&self, x: Value<'m>, y: Value<'m>) -> Value<'m> {
        let (left, right) = (self.single(x), self.single(y));
        let greater = self.builder.fcmp(RealPredicate::LLVMRealOGT, right, left);
        self.builder
            .select(self.is_nan(x), y, self.builder.select(greater, y, x))
    }

    pub(super) fn is_nan(&self, x: Value<'m>) -> Value<'m> {
        let wide = self.single(x);
        self.builder.fcmp(RealPredicate::LLVMRealUNO, wide, wide)
    }

    pub(super) fn is_finite(&self, x: Value<'m>) -> Value<'m> {
        let infinity = Format::of(x.ty().scalar()).map_or(0, Format::infinity);
        self.below(self.magnitude(x), infinity)
    }

    /// The bits without the sign.
    pub(super) fn magnitude(&self, x: Value<'m>) -> Value<'m> {
        let bits = self.bits(x);
        let sign = 1 << (bits.ty().bits() - 1);
        self.builder.and(bits, self.builder.integer(bits.ty(), sign - 1))
    }

    /// Whether an unsigned integer is below another.
    pub(super) fn below(&self, value: Value<'m>, bound: u64) -> Value<'m> {
        let bound = self.builder.integer(value.ty(), bound);
        self.builder.icmp(IntPredicate::LLVMIntULT, value, bound)
    }
}
