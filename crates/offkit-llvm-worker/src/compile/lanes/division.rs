//! Division of integers: a quotient by zero has all bits set, the remainder is the dividend then, and the least integer
//! divided by -1 is itself.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_kernel::builtins::Scalar;

use super::Lanes;
use crate::compile::builder::Value;

impl<'m> Lanes<'_, 'm> {
    pub(super) fn quotient(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let quotient = self.divide(x, self.divisor(x, y, signed), signed);
        b.select(self.is(y, 0), b.signed(x.ty(), -1), quotient)
    }

    /// With the sign of the dividend.
    pub(super) fn remainder(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let divisor = self.divisor(x, y, signed);
        let remainder = b.sub(x, b.mul(self.divide(x, divisor, signed), divisor));
        b.select(self.is(y, 0), x, remainder)
    }

    /// The remainder with the sign of the divisor.
    pub(super) fn modulo(&self, x: Value<'m>, y: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let remainder = self.remainder(x, y, true);
        let less = IntPredicate::LLVMIntSLT;
        let other_sign = b.icmp(less, b.xor(remainder, y), b.zero(x.ty()));
        let adjust = b.and(other_sign, b.not(b.or(self.is(remainder, 0), self.is(y, 0))));
        b.select(adjust, b.add(remainder, y), remainder)
    }

    /// The divisor, or 1 where there is no quotient.
    fn divisor(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let mut undefined = self.is(y, 0);
        if signed {
            let least = self.is(x, 1 << (x.ty().bits() - 1));
            undefined = b.or(undefined, b.and(least, self.is(y, u64::MAX)));
        }
        b.select(undefined, b.integer(y.ty(), 1), y)
    }

    /// Where there is a quotient.
    fn divide(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let opcode = if signed {
            Opcode::LLVMSDiv
        } else {
            Opcode::LLVMUDiv
        };
        // By constants LLVM multiplies; scalars are what processors divide.
        if y.is_constant() || x.ty().width().is_none() || x.ty().bits() == 64 {
            return b.binary(opcode, x, y);
        }
        // Vectors of numbers they divide as well. Somewhat more bits than the integers have are enough: a quotient
        // that is not whole is further from the next whole number than rounding takes it.
        let real = match x.ty().bits() {
            ..=16 => Scalar::F32,
            _ => Scalar::F64,
        };
        let (into, back) = match signed {
            true => (Opcode::LLVMSIToFP, Opcode::LLVMFPToSI),
            false => (Opcode::LLVMUIToFP, Opcode::LLVMFPToUI),
        };
        let real = self.like(x, real);
        let quotient = b.fdiv(b.cast(into, x, real), b.cast(into, y, real));
        b.cast(back, quotient, x.ty())
    }
}
