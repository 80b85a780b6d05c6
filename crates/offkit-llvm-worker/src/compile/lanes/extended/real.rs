//! The functions of numbers that arithmetic and rounding suffice for.
//!
//! Where OpenCL leaves a result no choice it is the interpreter's. Where it bounds an error (`rsqrt`, `mix`, `smoothstep`)
//! single and double precision compute in themselves, and half precision in single.

use llvm_sys::{
    LLVMFastMathAllowContract, LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPredicate,
};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::Attributes;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::Lanes;
use crate::compile::builder::Value;

/// Degrees in a radian.
const DEGREES: f64 = 180.0 * std::f64::consts::FRAC_1_PI;
/// Radians in a degree.
const RADIANS: f64 = std::f64::consts::PI / 180.0;

impl<'m> Lanes<'_, 'm> {
    pub(super) fn function_of_reals(
        &self,
        op: Op,
        attributes: &Attributes,
        words: &[Value<'m>],
    ) -> Option<Value<'m>> {
        let ty = words.first()?.ty();
        if let Some(result) = self.exact(op, words) {
            return Some(result);
        }
        let singles: Vec<_> = words.iter().map(|word| self.single(*word)).collect();
        let result = self.computed(op, attributes, &singles)?;
        Some(self.narrow_to(result, ty))
    }

    /// What chooses among operands, or changes bits, so that half precision needs no rounding.
    fn exact(&self, op: Op, words: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        let less = |x, y| b.fcmp(RealPredicate::LLVMRealOLT, self.single(x), self.single(y));
        Some(match (op, words) {
            (Op::fabs, [x]) => b.bit_cast(self.magnitude(*x), x.ty()),
            (Op::copysign, [x, y]) => self.copy_sign(*x, *y),
            (Op::fmin, [x, y]) => self.least(*x, *y),
            (Op::fmax, [x, y]) => self.greatest(*x, *y),
            (Op::fmin_common, [x, y]) => b.select(less(*y, *x), *y, *x),
            (Op::fmax_common, [x, y]) => b.select(less(*x, *y), *y, *x),
            (Op::fclamp, [x, low, high]) => self.least(self.greatest(*x, *low), *high),
            (Op::maxmag | Op::minmag, [x, y]) => {
                let size = |value| b.bit_cast(self.magnitude(value), Value::ty(value));
                let (left, right) = (size(*x), size(*y));
                let (first, second, equal) = match op {
                    Op::maxmag => (less(right, left), less(left, right), self.greatest(*x, *y)),
                    _ => (less(left, right), less(right, left), self.least(*x, *y)),
                };
                b.select(first, *x, b.select(second, *y, equal))
            }
            (Op::fma | Op::mad, [x, _, _]) if x.ty().scalar() == Scalar::F16 && self.options.half_fma => {
                b.intrinsic("llvm.fma", &[x.ty()], words)
            }
            (Op::fma | Op::mad, [x, y, z]) if x.ty().scalar() == Scalar::F16 => {
                // The product is exact.
                let product = b.fmul(self.single(*x), self.single(*y));
                self.narrow_to_half(self.odd_sum(product, self.single(*z)))
            }
            (Op::step, [edge, x]) => b.select(less(*x, *edge), b.zero(x.ty()), b.float(x.ty(), 1.0)),
            (Op::sign, [x]) => {
                let zero = b.zero(x.ty());
                let one = |value| b.float(x.ty(), value);
                let of_zero = b.select(self.is_nan(*x), zero, *x);
                let negative = b.select(less(*x, zero), one(-1.0), of_zero);
                b.select(less(zero, *x), one(1.0), negative)
            }
            _ => return None,
        })
    }

    /// Of single or double precision; half precision is what comes of it rounded.
    fn computed(&self, op: Op, attributes: &Attributes, words: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        let ty = words.first()?.ty();
        if let Some(result) = self.approximate(op, words) {
            return Some(result);
        }
        let number = |value| b.float(ty, value);
        let call = |name, words: &[Value<'m>]| b.intrinsic(name, &[ty], words);
        Some(match (op, words) {
            (Op::ceil, [_]) => call("llvm.ceil", words),
            (Op::floor, [_]) => call("llvm.floor", words),
            (Op::trunc, [_]) => call("llvm.trunc", words),
            (Op::rint, [_]) => call("llvm.rint", words),
            (Op::round, [x]) => self.round_half_away(*x),
            (Op::sqrt | Op::half_sqrt | Op::native_sqrt, [_]) => call("llvm.sqrt", words),
            (Op::rsqrt | Op::half_rsqrt | Op::native_rsqrt, [x]) => self.reciprocal_root(*x),
            (Op::half_recip | Op::native_recip, [x]) => b.fdiv(number(1.0), *x),
            (Op::half_divide | Op::native_divide, [x, y]) => b.fdiv(*x, *y),
            (Op::fdim, [x, y]) => {
                // So that NaN goes the other way, where the difference is NaN as well.
                let not_above = b.fcmp(RealPredicate::LLVMRealOLE, *x, *y);
                b.select(not_above, number(0.0), b.fsub(*x, *y))
            }
            (Op::fma, [x, y, z]) => self.fused(*x, *y, *z)?,
            (Op::mad, [x, y, z]) => match self.options.processor.fma {
                true => self.fused(*x, *y, *z)?,
                false => b.fadd(b.fmul(*x, *y), *z),
            },
            (Op::degrees, [x]) => self.scaled(*x, DEGREES),
            (Op::radians, [x]) => self.scaled(*x, RADIANS),
            (Op::mix, [x, y, a]) => {
                let before = b.set_flags(self.flags(attributes) & LLVMFastMathAllowContract);
                let mixed = b.fadd(*x, b.fmul(b.fsub(*y, *x), *a));
                b.set_flags(before);
                mixed
            }
            (Op::smoothstep, [low, high, x]) => {
                let part = b.fdiv(b.fsub(*x, *low), b.fsub(*high, *low));
                let part = self.least(self.greatest(part, number(0.0)), number(1.0));
                let slope = b.fsub(number(3.0), b.fmul(number(2.0), part));
                b.fmul(b.fmul(part, part), slope)
            }
            _ => return None,
        })
    }

    /// A product with a constant, rounded once as far as double precision tells.
    fn scaled(&self, x: Value<'m>, by: f64) -> Value<'m> {
        let b = self.builder;
        let double = self.like(x, Scalar::F64);
        let product = b.fmul(b.cast(Opcode::LLVMFPExt, x, double), b.float(double, by));
        b.cast(Opcode::LLVMFPTrunc, product, x.ty())
    }

    /// To the nearest whole number, and away from zero from the middle between two.
    fn round_half_away(&self, x: Value<'m>) -> Value<'m> {
        let b = self.builder;
        // Not the floor of a sum with one half: of the number just below one half that sum is
        // rounded to one.
        let whole = b.intrinsic("llvm.trunc", &[x.ty()], &[x]);
        let rest = b.intrinsic("llvm.fabs", &[x.ty()], &[b.fsub(x, whole)]);
        let half = b.float(x.ty(), 0.5);
        let is_half = b.fcmp(RealPredicate::LLVMRealOGE, rest, half);
        let one = b.select(is_half, b.float(x.ty(), 1.0), b.zero(x.ty()));
        b.fadd(whole, self.copy_sign(one, x))
    }

    pub(super) fn copy_sign(&self, x: Value<'m>, y: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let of = self.bits(y);
        let sign = b.integer(of.ty(), 1 << (of.ty().bits() - 1));
        b.bit_cast(b.or(self.magnitude(x), b.and(of, sign)), x.ty())
    }

    /// A product and sum that rounds once. Without an instruction for it single precision computes in double, and double
    /// precision has none.
    pub(super) fn fused(&self, x: Value<'m>, y: Value<'m>, z: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        if self.options.processor.fma {
            return Some(b.intrinsic("llvm.fma", &[x.ty()], &[x, y, z]));
        }
        if x.ty().scalar() != Scalar::F32 {
            return None;
        }
        let double = self.like(x, Scalar::F64);
        let wide = |value| b.cast(Opcode::LLVMFPExt, value, double);
        let (product, addend) = (b.fmul(wide(x), wide(y)), wide(z));
        let sum = self.odd_sum(product, addend);
        Some(b.cast(Opcode::LLVMFPTrunc, sum, x.ty()))
    }

    /// A sum whose last bit is odd unless it is exact, so that rounding it once more rounds as if it were the first time.
    fn odd_sum(&self, x: Value<'m>, y: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let sum = b.fadd(x, y);
        // What the sum is short of, exactly.
        let of_y = b.fsub(sum, x);
        let of_x = b.fsub(sum, of_y);
        let error = b.fadd(b.fsub(x, of_x), b.fsub(y, of_y));
        let bits = self.bits(sum);
        let zero = b.zero(sum.ty());
        // Toward zero: the bits are one too many where the error has the other sign.
        let differs = b.xor(bits, self.bits(error));
        let other_sign = b.icmp(IntPredicate::LLVMIntSLT, differs, b.zero(bits.ty()));
        // Of infinity and NaN the error is NaN.
        let inexact = b.fcmp(RealPredicate::LLVMRealONE, error, zero);
        let too_many = b.zext_or_trunc(b.and(inexact, other_sign), bits.ty());
        let odd = b.or(b.sub(bits, too_many), b.zext_or_trunc(inexact, bits.ty()));
        b.bit_cast(odd, sum.ty())
    }
}
