//! The functions that take numbers apart, or put them together.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::float::Format;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::{Lanes, Results};
use crate::compile::builder::Value;

/// Of a format: bits of the significand.
fn significand(format: Format) -> u32 {
    format.significand_mask().count_ones()
}

/// Of a format: the exponent field of one.
fn bias(format: Format) -> u64 {
    format.infinity() >> (significand(format) + 1)
}

impl<'m> Lanes<'_, 'm> {
    pub(super) fn parts(&self, op: Op, words: &[Value<'m>], result: Scalar) -> Option<Results<'m>> {
        let b = self.builder;
        let x = *words.first()?;
        if op == Op::nextafter {
            return Some((self.next_after(x, *words.get(1)?)?, None));
        }
        let ty = x.ty();
        let wide = self.single(x);
        let narrow = |value| self.narrow_to(value, ty);
        let zero = b.zero(wide.ty());
        Some(match (op, words) {
            (Op::fract, [_]) => {
                let floor = b.intrinsic("llvm.floor", &[wide.ty()], &[wide]);
                let rest = b.select(self.is_infinite(wide)?, zero, b.fsub(wide, floor));
                let is_zero = b.fcmp(RealPredicate::LLVMRealOEQ, rest, zero);
                let rest = narrow(b.select(is_zero, self.copy_sign(zero, wide), rest));
                // What is left of a tiny negative number rounds to one.
                let below_one = b.word(ty, Format::of(ty.scalar())?.below_one());
                let one = b.float(wide.ty(), 1.0);
                let is_one = b.fcmp(RealPredicate::LLVMRealOEQ, self.single(rest), one);
                (b.select(is_one, below_one, rest), Some(narrow(floor)))
            }
            (Op::modf, [_]) => {
                let whole = b.intrinsic("llvm.trunc", &[wide.ty()], &[wide]);
                let rest = b.select(self.is_infinite(wide)?, zero, b.fsub(wide, whole));
                (narrow(self.copy_sign(rest, wide)), Some(narrow(whole)))
            }
            (Op::frexp, [_]) => {
                let (fraction, exponent) = self.split(wide, Format::of(wide.ty().scalar())?);
                (narrow(fraction), Some(exponent))
            }
            (Op::ilogb, [_]) => {
                let exponent = self.exponent(wide)?;
                (b.sext_or_trunc(exponent, self.like(x, result)), None)
            }
            (Op::logb, [_]) => {
                let exponent = b.cast(Opcode::LLVMSIToFP, self.exponent(wide)?, wide.ty());
                let finite = b.select(self.is_finite(wide), exponent, b.fmul(wide, wide));
                let is_zero = b.fcmp(RealPredicate::LLVMRealOEQ, wide, zero);
                let lowest = b.float(wide.ty(), f64::NEG_INFINITY);
                (narrow(b.select(is_zero, lowest, finite)), None)
            }
            (Op::ldexp, [_, power]) => (narrow(self.scale(wide, *power)?), None),
            _ => return None,
        })
    }

    /// The sign of the gamma function as 32 bits: zero at its poles but for zeros, which have their own, and at -∞.
    pub(super) fn sign_of_gamma(&self, x: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let zero = b.zero(x.ty());
        let integer = b.int(32).vector(x.ty().width());
        let number = |value: i32| b.integer(integer, u64::from(value.cast_unsigned()));
        let floor = |value| b.intrinsic("llvm.floor", &[x.ty()], &[value]);
        let (whole, half) = (floor(x), b.fmul(floor(x), b.float(x.ty(), 0.5)));
        let is_even = b.fcmp(RealPredicate::LLVMRealOEQ, floor(half), half);
        let between = b.select(is_even, number(1), number(-1));
        let is_pole = b.fcmp(RealPredicate::LLVMRealOEQ, whole, x);
        let of_negative = b.select(is_pole, number(0), between);
        let is_negative = b.fcmp(RealPredicate::LLVMRealOLT, x, zero);
        let of_others = b.select(self.is_negative_zero(x), number(-1), number(1));
        b.select(is_negative, of_negative, of_others)
    }

    fn is_negative_zero(&self, x: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let bits = self.bits(x);
        let sign = b.integer(bits.ty(), 1 << (bits.ty().bits() - 1));
        b.icmp(IntPredicate::LLVMIntEQ, bits, sign)
    }

    fn is_infinite(&self, x: Value<'m>) -> Option<Value<'m>> {
        Some(self.is(self.magnitude(x), Format::of(x.ty().scalar())?.infinity()))
    }

    /// The fraction in [1/2, 1) and the exponent in 32 bits, of single or double precision. Zero, infinity and NaN keep
    /// their value and get exponent zero.
    pub(super) fn split(&self, x: Value<'m>, format: Format) -> (Value<'m>, Value<'m>) {
        let b = self.builder;
        let (places, bias) = (significand(format), bias(format));
        // Numbers below the normal ones are scaled into these.
        let up = u64::from(places) + 1;
        let is_small = self.below(self.magnitude(x), format.significand_mask() + 1);
        let scaled = b.fmul(x, b.float(x.ty(), 2f64.powi(places as i32 + 1)));
        let normal = b.select(is_small, scaled, x);
        let bits = self.bits(normal);
        let constant = |value| b.integer(bits.ty(), value);
        let field = b.lshr(self.magnitude(normal), constant(places.into()));
        let less = b.select(is_small, constant(up), constant(0));
        let exponent = b.sub(field, b.add(less, constant(bias - 1)));
        let rest = b.and(bits, constant(!format.infinity()));
        let fraction = b.bit_cast(b.or(rest, constant((bias - 1) << places)), x.ty());
        let is_zero = b.fcmp(RealPredicate::LLVMRealOEQ, x, b.zero(x.ty()));
        let is_whole = b.or(is_zero, b.not(self.is_finite(x)));
        let exponent = b.zext_or_trunc(exponent, self.like(x, Scalar::I32));
        (
            b.select(is_whole, x, fraction),
            b.select(is_whole, b.zero(exponent.ty()), exponent),
        )
    }

    /// The exponent of the leading bit: the least integer for zero, the greatest for infinity and NaN.
    fn exponent(&self, x: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        let (_, exponent) = self.split(x, Format::of(x.ty().scalar())?);
        let constant = |value| b.signed(exponent.ty(), value);
        let exponent = b.sub(exponent, constant(1));
        let is_zero = b.fcmp(RealPredicate::LLVMRealOEQ, x, b.zero(x.ty()));
        let finite = b.select(is_zero, constant(i32::MIN.into()), exponent);
        Some(b.select(self.is_finite(x), finite, constant(i32::MAX.into())))
    }

    /// A power of two of double precision, by an exponent of 32 bits in its range.
    pub(super) fn power_of_two(&self, exponent: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let long = self.like(exponent, Scalar::I64);
        let field = b.add(b.sext_or_trunc(exponent, long), b.integer(long, 1023));
        let bits = b.shl(field, b.integer(long, 52));
        b.bit_cast(bits, self.like(exponent, Scalar::F64))
    }

    /// A number times a power of two, of single or double precision, rounded once.
    fn scale(&self, x: Value<'m>, power: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        // An `int`, whatever its type.
        let power = b.sext_or_trunc(power, self.like(power, Scalar::I32));
        let within = |power: Value<'m>, bound| {
            let ty = power.ty();
            let below = b.intrinsic("llvm.smin", &[ty], &[power, b.signed(ty, bound)]);
            b.intrinsic("llvm.smax", &[ty], &[below, b.signed(ty, -bound)])
        };
        let double = self.like(x, Scalar::F64);
        if x.ty().scalar() == Scalar::F32 {
            // Exact in double precision, where nothing that single precision has is near the ends.
            let wide = b.cast(Opcode::LLVMFPExt, x, double);
            let scaled = b.fmul(wide, self.power_of_two(within(power, 400)));
            return Some(b.cast(Opcode::LLVMFPTrunc, scaled, x.ty()));
        }
        // A fraction times half the power is exact.
        let (fraction, exponent) = self.split(x, Format::of(x.ty().scalar())?);
        // No factor beyond 2^2200 makes a difference to a number, nor one beyond 2^1100 to a fraction: so the
        // sum doesn't wrap, and half of what is left is the exponent of a normal number.
        let power = b.add(within(power, 3000), exponent);
        let power = within(power, 1800);
        let one = b.integer(power.ty(), 1);
        let half = b.ashr(power, one);
        let scaled = b.fmul(fraction, self.power_of_two(half));
        Some(b.fmul(scaled, self.power_of_two(b.sub(power, half))))
    }

    /// A quiet NaN with an integer's low bits.
    pub(super) fn quiet_nan(&self, code: Value<'m>, result: Scalar) -> Option<Value<'m>> {
        let b = self.builder;
        let format = Format::of(result)?;
        let ty = b.int(result.bits()).vector(code.ty().width());
        let payload = b.and(
            b.zext_or_trunc(code, ty),
            b.integer(ty, format.significand_mask()),
        );
        let bits = b.or(payload, b.integer(ty, format.quiet_nan()));
        Some(b.bit_cast(bits, self.like(code, result)))
    }

    /// The next number in the direction of another.
    fn next_after(&self, x: Value<'m>, y: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        let format = Format::of(x.ty().scalar())?;
        let (left, right) = (self.single(x), self.single(y));
        let zero = b.zero(left.ty());
        let bits = self.bits(x);
        let constant = |value| b.integer(bits.ty(), value);
        let compare = |predicate, left, right| b.fcmp(predicate, left, right);
        let above = compare(RealPredicate::LLVMRealOGT, right, left);
        let positive = compare(RealPredicate::LLVMRealOGT, left, zero);
        let away = b.not(b.xor(above, positive));
        let step = b.select(away, constant(1), b.signed(bits.ty(), -1));
        let least = b.or(b.and(self.bits(y), constant(format.sign())), constant(1));
        let is_zero = compare(RealPredicate::LLVMRealOEQ, left, zero);
        let next = b.select(is_zero, least, b.add(bits, step));
        let equal = compare(RealPredicate::LLVMRealOEQ, left, right);
        // Of two zeros the second counts, with its sign.
        let next = b.select(equal, self.bits(y), next);
        let undefined = compare(RealPredicate::LLVMRealUNO, left, right);
        let result = b.select(undefined, constant(format.quiet_nan()), next);
        Some(b.bit_cast(result, x.ty()))
    }
}
