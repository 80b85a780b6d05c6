//! Conversions between number types, and bytes as other types.

use llvm_sys::{
    LLVMFastMathNone, LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPredicate,
};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::scalar_size;
use offkit_spirv::grammar::FPRoundingMode as Rounding;

use super::Lanes;
use crate::compile::builder::Value;

/// Magnitudes from here on are infinite in half precision, or round to its greatest number.
const BEYOND_HALF: i64 = 1 << 17;

impl<'m> Lanes<'_, 'm> {
    /// Numbers out of range of an integer become the nearest in it, NaN zero.
    pub(super) fn convert(
        &self,
        kind: Conversion,
        saturate: bool,
        rounding: Option<Rounding>,
        value: Value<'m>,
        to: Scalar,
    ) -> Value<'m> {
        let b = self.builder;
        let value = self.plain(value);
        let ty = self.like(value, to);
        match kind {
            Conversion::FloatToUnsigned => self.to_integer(value, to, rounding, false),
            Conversion::FloatToSigned => self.to_integer(value, to, rounding, true),
            Conversion::UnsignedToFloat => self.to_float(value, to, rounding, false),
            Conversion::SignedToFloat => self.to_float(value, to, rounding, true),
            Conversion::Float => self.between_floats(value, to, rounding),
            Conversion::Unsigned if saturate => self.clamp_above(value, to, false),
            Conversion::Unsigned => b.zext_or_trunc(value, ty),
            Conversion::Signed if saturate => self.clamp_signed(value, to),
            Conversion::Signed => b.sext_or_trunc(value, ty),
            // From signed: what is negative has to go before the number counts as unsigned.
            Conversion::SaturateToUnsigned => {
                let positive = b.intrinsic("llvm.smax", &[value.ty()], &[value, b.zero(value.ty())]);
                self.clamp_above(positive, to, false)
            }
            Conversion::SaturateToSigned => self.clamp_above(value, to, true),
            Conversion::QuantizeToHalf => self.widen_half(self.narrow_to_half(value)),
        }
    }

    fn to_integer(
        &self,
        value: Value<'m>,
        to: Scalar,
        rounding: Option<Rounding>,
        signed: bool,
    ) -> Value<'m> {
        let b = self.builder;
        let value = self.single(value);
        let round = |name| b.intrinsic(name, &[value.ty()], &[value]);
        let whole = match rounding.unwrap_or(Rounding::RTZ) {
            // The conversion itself does that.
            Rounding::RTZ => value,
            Rounding::RTP => round("llvm.ceil"),
            Rounding::RTN => round("llvm.floor"),
            _ => round("llvm.rint"),
        };
        if whole.ty().width().is_some() {
            return self.saturated_vector(whole, to, signed);
        }
        let ty = self.like(value, to);
        let name = if signed {
            "llvm.fptosi.sat"
        } else {
            "llvm.fptoui.sat"
        };
        b.intrinsic(name, &[ty, whole.ty()], &[whole])
    }

    /// What LLVM's intrinsic gives, which it takes vectors apart for.
    fn saturated_vector(&self, value: Value<'m>, to: Scalar, signed: bool) -> Value<'m> {
        let b = self.builder;
        let bits = to.bits() - u32::from(signed);
        // The least integer, and the power of two that is one too many.
        let (least, beyond) = (
            if signed { -2f64.powi(bits as i32) } else { 0.0 },
            2f64.powi(bits as i32),
        );
        let number = |number| b.float(value.ty(), number);
        let below = b.fcmp(RealPredicate::LLVMRealOLT, value, number(beyond));
        let above = b.fcmp(RealPredicate::LLVMRealOGE, value, number(beyond));
        // Neither what is beyond nor NaN is converted.
        let small = b.select(below, value, number(0.0));
        let low = b.fcmp(RealPredicate::LLVMRealOGT, small, number(least));
        let inside = b.select(low, small, number(least));
        let ty = self.like(value, to);
        // Vectors of 32 bits with a sign are what processors convert to.
        let (opcode, through) = match to.bits() {
            ..=16 => (Opcode::LLVMFPToSI, self.like(value, Scalar::I32)),
            _ if signed => (Opcode::LLVMFPToSI, ty),
            _ => (Opcode::LLVMFPToUI, ty),
        };
        let converted = b.zext_or_trunc(b.cast(opcode, inside, through), ty);
        b.select(above, b.integer(ty, u64::MAX >> (64 - bits)), converted)
    }

    fn to_float(&self, value: Value<'m>, to: Scalar, rounding: Option<Rounding>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let opcode = if signed {
            Opcode::LLVMSIToFP
        } else {
            Opcode::LLVMUIToFP
        };
        let cast = |value, scalar| b.cast(opcode, value, self.like(value, scalar));
        let bits = value.ty().bits();
        // The integers that a format holds exactly.
        let exact = |scalar| match scalar {
            Scalar::F32 => bits <= 16,
            Scalar::F64 => bits <= 32,
            _ => false,
        };
        let nearest = matches!(rounding, None | Some(Rounding::RTE));
        match to {
            Scalar::F16 => {
                // Integers up to that bound are exact in single precision, so that they are rounded once.
                let small = match bits > 16 {
                    true => self.within(value, BEYOND_HALF, signed),
                    false => value,
                };
                self.between_floats(cast(small, Scalar::F32), to, rounding)
            }
            _ if nearest || exact(to) => cast(value, to),
            Scalar::F32 if exact(Scalar::F64) => self.between_floats(cast(value, Scalar::F64), to, rounding),
            Scalar::F32 => self.between_floats(self.long_to_odd(value, signed), to, rounding),
            _ => self.long_to_double(value, rounding, signed),
        }
    }

    /// An integer of 64 bits as the nearest number of double precision, and what that is too little or too much by.
    fn long_and_error(&self, value: Value<'m>, signed: bool) -> (Value<'m>, Value<'m>) {
        let b = self.builder;
        let (double, half) = (self.like(value, Scalar::F64), self.like(value, Scalar::I32));
        let high = b.zext_or_trunc(b.lshr(value, b.integer(value.ty(), 32)), half);
        let opcode = match signed {
            true => Opcode::LLVMSIToFP,
            false => Opcode::LLVMUIToFP,
        };
        let high = b.fmul(b.cast(opcode, high, double), b.float(double, 2f64.powi(32)));
        let low = b.cast(Opcode::LLVMUIToFP, b.zext_or_trunc(value, half), double);
        // Both parts are exact, and so is the rest: the higher part is zero, or greater than the lower.
        let sum = b.fadd(high, low);
        (sum, b.fsub(low, b.fsub(sum, high)))
    }

    fn long_to_double(&self, value: Value<'m>, rounding: Option<Rounding>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let flags = b.set_flags(LLVMFastMathNone);
        // Without flags: reassociated, the error would be zero.
        let (nearest, error) = self.long_and_error(value, signed);
        b.set_flags(flags);
        // The error is compared instead of the numbers, of which one has too many bits.
        self.redirect(nearest, b.zero(error.ty()), error, rounding)
    }

    /// An integer of 64 bits cut to double precision; where that loses something, the last bit is set, so that it is on the
    /// same side of every number of lower precision.
    fn long_to_odd(&self, value: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let flags = b.set_flags(LLVMFastMathNone);
        let (nearest, error) = self.long_and_error(value, signed);
        b.set_flags(flags);
        let none = b.zero(error.ty());
        let cut = self.redirect(nearest, none, error, Some(Rounding::RTZ));
        let bits = self.bits(cut);
        let is_inexact = b.fcmp(RealPredicate::LLVMRealUNE, error, none);
        let odd = b.or(bits, b.zext_or_trunc(is_inexact, bits.ty()));
        b.bit_cast(odd, cut.ty())
    }

    /// An integer, or the bound that it is beyond; of a wide one 32 bits.
    fn within(&self, value: Value<'m>, bound: i64, signed: bool) -> Value<'m> {
        let b = self.builder;
        let ty = value.ty();
        let (least, greatest) = match signed {
            true => ("llvm.smin", "llvm.smax"),
            false => ("llvm.umin", "llvm.umax"),
        };
        let mut value = b.intrinsic(least, &[ty], &[value, b.signed(ty, bound)]);
        if signed {
            value = b.intrinsic(greatest, &[ty], &[value, b.signed(ty, -bound)]);
        }
        b.zext_or_trunc(value, self.like(value, Scalar::I32))
    }

    fn between_floats(&self, value: Value<'m>, to: Scalar, rounding: Option<Rounding>) -> Value<'m> {
        let from = value.ty().scalar();
        if from == to {
            return value;
        }
        let value = self.single(value);
        let b = self.builder;
        let wide = |value, to| b.cast(Opcode::LLVMFPExt, value, self.like(value, to));
        match (from, to) {
            (_, Scalar::F64) => wide(value, Scalar::F64),
            (Scalar::F16, _) => value,
            (Scalar::F64, Scalar::F32) => {
                let nearest = b.cast(Opcode::LLVMFPTrunc, value, self.like(value, to));
                self.redirect(nearest, wide(nearest, Scalar::F64), value, rounding)
            }
            _ => {
                let single = match from {
                    Scalar::F64 => self.narrow_to_odd(value),
                    _ => value,
                };
                let nearest = self.narrow_to_half(single);
                // What it was cut to is on the same side of every number of half precision as it is itself.
                self.redirect(nearest, self.widen_half(nearest), single, rounding)
            }
        }
    }

    /// The neighbour of the number that another was rounded to, as a mode has it. The number is given as wide as the
    /// other.
    fn redirect(
        &self,
        nearest: Value<'m>,
        wide: Value<'m>,
        exact: Value<'m>,
        rounding: Option<Rounding>,
    ) -> Value<'m> {
        let b = self.builder;
        let bits = self.bits(nearest);
        let one = b.integer(bits.ty(), 1);
        let is_negative = b.icmp(IntPredicate::LLVMIntSLT, bits, b.zero(bits.ty()));
        // Next to a number's bits are those of its neighbours, up to infinity. What was rounded to zero has
        // kept its sign, so that none is moved across it.
        let (closer, further) = (b.sub(bits, one), b.add(bits, one));
        let (up, down) = (
            b.select(is_negative, closer, further),
            b.select(is_negative, further, closer),
        );
        let too_low = b.fcmp(RealPredicate::LLVMRealOLT, wide, exact);
        let too_high = b.fcmp(RealPredicate::LLVMRealOGT, wide, exact);
        let redirected = match rounding {
            Some(Rounding::RTP) => b.select(too_low, up, bits),
            Some(Rounding::RTN) => b.select(too_high, down, bits),
            Some(Rounding::RTZ) => {
                let too_far = b.select(is_negative, too_low, too_high);
                b.select(too_far, closer, bits)
            }
            _ => return nearest,
        };
        b.bit_cast(redirected, nearest.ty())
    }

    /// An unsigned integer, or the greatest of a type if it is above that.
    fn clamp_above(&self, value: Value<'m>, to: Scalar, signed: bool) -> Value<'m> {
        let b = self.builder;
        let bits = to.bits() - u32::from(signed);
        let fits = bits >= value.ty().bits();
        let greatest = b.integer(value.ty(), u64::MAX >> (64 - bits));
        let clamped = match fits {
            true => value,
            false => b.intrinsic("llvm.umin", &[value.ty()], &[value, greatest]),
        };
        b.zext_or_trunc(clamped, self.like(value, to))
    }

    /// A signed integer, or the nearest of a type.
    pub(super) fn clamp_signed(&self, value: Value<'m>, to: Scalar) -> Value<'m> {
        let b = self.builder;
        let (ty, like) = (value.ty(), self.like(value, to));
        if to.bits() >= ty.bits() {
            return b.sext_or_trunc(value, like);
        }
        let greatest = i64::MAX >> (64 - to.bits());
        let below = b.intrinsic("llvm.smin", &[ty], &[value, b.signed(ty, greatest)]);
        let inside = b.intrinsic("llvm.smax", &[ty], &[below, b.signed(ty, !greatest)]);
        b.sext_or_trunc(inside, like)
    }

    /// The bytes of components as components of another width, those of lower places first.
    pub(super) fn reinterpret(&self, value: &[Value<'m>], to: Scalar) -> Vec<Value<'m>> {
        let b = self.builder;
        let Some(first) = value.first() else {
            return Vec::new();
        };
        if first.ty().is_pointer() && to == Scalar::I64 {
            return value.to_vec();
        }
        let integer_of = |bits| b.int(bits).vector(first.ty().width());
        let ty = self.like(*first, to);
        let bytes = |scalar| u32::try_from(scalar_size(scalar)).unwrap_or(8);
        let (from_bytes, to_bytes) = (bytes(first.ty().scalar()), bytes(to));
        // A truth takes a byte.
        let (from, wide) = (integer_of(8 * from_bytes), integer_of(8 * to_bytes));
        let words = value.iter().map(|word| b.zext_or_trunc(self.bits(*word), from));
        let words: Vec<_> = words.collect();
        let result = |bits: Value<'m>| match to {
            Scalar::Bool => b.zext_or_trunc(bits, ty),
            _ => b.bit_cast(bits, ty),
        };
        if from_bytes >= to_bytes {
            let parts = from_bytes / to_bytes;
            let pieces = words.iter().flat_map(|word| {
                (0..parts).map(|part| {
                    let place = b.integer(from, (part * 8 * to_bytes).into());
                    result(b.zext_or_trunc(b.lshr(*word, place), wide))
                })
            });
            return pieces.collect();
        }
        let whole = |parts: &[Value<'m>]| {
            let parts = (0..).zip(parts).map(|(part, word)| {
                let place = b.integer(wide, part * 8 * u64::from(from_bytes));
                b.shl(b.zext_or_trunc(*word, wide), place)
            });
            result(
                parts
                    .reduce(|whole, part| b.or(whole, part))
                    .unwrap_or(b.zero(wide)),
            )
        };
        words
            .chunks((to_bytes / from_bytes) as usize)
            .map(whole)
            .collect()
    }
}
