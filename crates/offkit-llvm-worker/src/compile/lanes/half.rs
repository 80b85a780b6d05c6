//! Conversions to and from half precision: by the processor's instructions, or by integers where it has none. LLVM would
//! call functions of a library.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate};
use offkit_kernel::builtins::Scalar;

use super::Lanes;
use crate::compile::builder::Value;

/// The bits of infinity in half precision.
const INFINITY: u64 = 0x7c00;
/// The quiet NaN in half precision.
const NAN: u64 = 0x7e00;

impl<'m> Lanes<'_, 'm> {
    /// Half precision as single precision.
    pub(super) fn widen_half(&self, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let single = self.like(value, Scalar::F32);
        if self.options.half {
            return b.cast(Opcode::LLVMFPExt, value, single);
        }
        let word = self.like(value, Scalar::I32);
        let bits = b.zext_or_trunc(self.bits(value), word);
        let constant = |bits: u64| b.integer(word, bits);
        let sign = b.shl(b.and(bits, constant(0x8000)), constant(16));
        let magnitude = b.shl(b.and(bits, constant(0x7fff)), constant(13));
        // The fields are in place, and the exponent is too small by the difference of the biases, also of numbers below
        // the normal ones.
        let scaled = b.fmul(
            b.bit_cast(magnitude, single),
            b.float(single, 2f64.powi(127 - 15)),
        );
        let scaled = b.bit_cast(scaled, word);
        let is_finite = self.below(magnitude, INFINITY << 13);
        let special = b.or(magnitude, constant(0x7f80_0000));
        b.bit_cast(b.or(sign, b.select(is_finite, scaled, special)), single)
    }

    /// Single precision rounded to half precision, to nearest.
    pub(super) fn narrow_to_half(&self, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let half = self.like(value, Scalar::F16);
        if self.options.half {
            return b.cast(Opcode::LLVMFPTrunc, value, half);
        }
        let word = self.like(value, Scalar::I32);
        let constant = |bits: u64| b.integer(word, bits);
        let bits = b.bit_cast(value, word);
        let magnitude = b.and(bits, constant(0x7fff_ffff));
        let sign = b.lshr(b.xor(bits, magnitude), constant(16));
        // A sum with 1/2, whose last place is that of the numbers below the normal ones, rounds these.
        let sum = b.fadd(b.bit_cast(magnitude, value.ty()), b.float(value.ty(), 0.5));
        let small = b.sub(b.bit_cast(sum, word), constant(0x3f00_0000));
        // Others are rounded by a carry: the exponents' biases differ by 112.
        let odd = b.and(b.lshr(magnitude, constant(13)), constant(1));
        let carried = b.add(b.sub(magnitude, constant((112 << 23) - 0xfff)), odd);
        let normal = b.lshr(carried, constant(13));
        let not_a_number = b.icmp(IntPredicate::LLVMIntUGT, magnitude, constant(0x7f80_0000));
        let special = b.select(not_a_number, constant(NAN), constant(INFINITY));
        // Below 2^-14 numbers are not normal in half precision, from 2^16 on they are infinite. What rounds up to 2^16
        // carries into the bits of infinity by itself.
        let rounded = b.select(self.below(magnitude, 113 << 23), small, normal);
        let result = b.select(self.below(magnitude, 143 << 23), rounded, special);
        let result = b.zext_or_trunc(b.or(sign, result), self.like(value, Scalar::I16));
        b.bit_cast(result, half)
    }

    /// Double precision cut to single precision so that rounding it again, to half precision, rounds as if it were
    /// rounded once: to the neighbour with an odd last bit, unless it is exact.
    pub(super) fn narrow_to_odd(&self, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let (single, word) = (self.like(value, Scalar::F32), self.like(value, Scalar::I32));
        let nearest = b.cast(Opcode::LLVMFPTrunc, value, single);
        let back = b.cast(Opcode::LLVMFPExt, nearest, value.ty());
        let size = |value| b.intrinsic("llvm.fabs", &[Value::ty(value)], &[value]);
        let above = b.fcmp(RealPredicate::LLVMRealOGT, size(back), size(value));
        let bits = b.bit_cast(nearest, word);
        // Toward zero, and then up to the odd one.
        let toward_zero = b.select(above, b.sub(bits, b.integer(word, 1)), bits);
        let inexact = b.fcmp(RealPredicate::LLVMRealONE, back, value);
        let odd = b.or(toward_zero, b.zext_or_trunc(inexact, word));
        b.bit_cast(odd, single)
    }
}
