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
        // The quotient would be one more than the greatest, at which x86 traps as at zero.
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
        if y.is_constant() || x.ty().width().is_none() {
            return b.binary(opcode, x, y);
        }
        if x.ty().bits() == 64 {
            return self.divide_long(x, y, signed);
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
    /// Vectors of 64 bits, which processors don't divide: where all lanes have less than 52, as most have, doubles hold
    /// them, and else one after the other. A function of the module, since no block is made here.
    fn divide_long(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let ty = x.ty();
        let (opcode, name) = match signed {
            true => (Opcode::LLVMSDiv, "sdiv"),
            false => (Opcode::LLVMUDiv, "udiv"),
        };
        let name = format!("offkit.{name}.{}", ty.width().unwrap_or(1));
        let write = |operands: Vec<Value<'m>>| {
            let [x, y] = [operands[0], operands[1]];
            let function = b.current_function();
            let (short, long) = (b.block(function, "short"), b.block(function, "long"));
            let is_short = |value| {
                let from_least = match signed {
                    true => b.add(value, b.integer(ty, 1 << 50)),
                    false => value,
                };
                self.below(from_least, 1 << 51)
            };
            let are_long = b.mask_bits(b.not(b.and(is_short(x), is_short(y))));
            let are_long = b.icmp(IntPredicate::LLVMIntNE, are_long, b.zero(are_long.ty()));
            b.branch(are_long, long, short);
            b.at_end(long);
            b.return_all(&[b.binary(opcode, x, y)]);
            b.at_end(short);
            // Added to this number, integers are in its low bits.
            let double = self.like(x, Scalar::F64);
            let base = b.float(double, 1.5 * 2f64.powi(52));
            let bits = b.bit_cast(base, ty);
            let number = |value| b.fsub(b.bit_cast(b.add(value, bits), double), base);
            let quotient = b.fdiv(number(x), number(y));
            let whole = b.intrinsic("llvm.trunc", &[double], &[quotient]);
            b.return_all(&[b.sub(b.bit_cast(b.fadd(whole, base), ty), bits)]);
        };
        let (kind, function) = b.own_function(&name, &[ty], &[ty, ty], write);
        b.member(b.call(kind, function, &[x, y]), 0)
    }
}
