//! The functions of the OpenCL.std instruction set and the conversions, on plain words.
//!
//! A value is a slice of `u64` words, one for each lane: integers zero-extended from their width,
//! booleans 0 or 1, floats as the bits of their format. Nothing here touches memory: `printf`,
//! `prefetch` and the `vload` and `vstore` families belong to the interpreter, and so does storing the
//! second result of `fract`, `modf`, `sincos`, `frexp`, `remquo` and `lgamma_r` through the pointer they
//! are given.
//!
//! Floating-point functions are written once, on `f64`. A result for `float` or `half` is the `f64` one
//! rounded, which makes it the correctly rounded value in all but a few of billions of cases: what a
//! reference should be. `double` results have the error of the `f64` function itself, within the bounds
//! of the OpenCL specification.

pub mod convert;
pub mod float;
mod integer;
mod math;
mod real;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_on_words;
mod vector;

use offkit_spirv::grammar::OpenclStd100Op as Op;

pub use integer::{sign_extend, truncate};

offkit_image::named! {
    /// The type of one lane of a value. Whether an integer has a sign is the operation's business.
    pub enum Scalar, "The name in the text form." {
        /// A truth.
        Bool => "bool",
        /// An integer of 8 bits.
        I8 => "i8",
        /// An integer of 16 bits.
        I16 => "i16",
        /// An integer of 32 bits.
        I32 => "i32",
        /// An integer of 64 bits.
        I64 => "i64",
        /// A number of half precision.
        F16 => "f16",
        /// A number of single precision.
        F32 => "f32",
        /// A number of double precision.
        F64 => "f64",
    }
}

impl Scalar {
    /// The width in bits; one for booleans.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I8 => 8,
            Self::I16 | Self::F16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
        }
    }

    /// Whether it is a floating-point number.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Whether it is an integer.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The least and the greatest integer of this width.
    // In 128 bits: no type of 64 holds both the least `long` and the greatest `ulong`.
    const fn range(self, signed: bool) -> (i128, i128) {
        if signed {
            let half = 1_i128 << (self.bits() - 1);
            (-half, half - 1)
        } else {
            (0, (1_i128 << self.bits()) - 1)
        }
    }
}

/// The type of a scalar or vector value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Of each lane.
    pub scalar: Scalar,
    /// 1 for a scalar.
    pub lanes: u32,
}

/// The operands of an instruction: the words of each and what they are.
pub type Arguments<'a> = &'a [(&'a [u64], Shape)];

/// Evaluates an instruction: from the shape of its result and its value operands to the words of the
/// result.
///
/// `second` receives the result that the instruction stores through its pointer operand, as many words
/// as the first result has; it stays untouched by all instructions without one.
pub type PureFn = fn(result: Shape, args: Arguments<'_>, out: &mut [u64], second: &mut [u64]);

/// The function that evaluates an instruction on operands of these shapes (without the pointer, where
/// there is one).
///
/// None when the instruction isn't one of a pure function, or when the operands don't suit it. Wherever the
/// instructions work lane by lane, a scalar operand counts for every lane.
pub fn resolve(op: Op, result: Shape, operands: &[Shape]) -> Option<PureFn> {
    // Before the check of components: a length is one number of many, and a shuffle may change
    // how many there are.
    if let Some(function) = vector::resolve(op, result, operands) {
        return Some(function);
    }
    if operands
        .iter()
        .any(|operand| operand.lanes != 1 && operand.lanes != result.lanes)
    {
        return None;
    }
    let (first, rest) = operands.split_first()?;
    match op {
        Op::ilogb if first.scalar.is_float() && rest.is_empty() && result.scalar.is_integer() => {
            Some(real::ilogb)
        }
        Op::nan if first.scalar.is_integer() && rest.is_empty() && result.scalar.is_float() => {
            Some(real::nan)
        }
        Op::s_upsample | Op::u_upsample => {
            let integers = first.scalar.is_integer() && result.scalar.is_integer();
            let doubled = result.scalar.bits() == 2 * first.scalar.bits();
            (integers && doubled && rest.len() == 1 && rest[0].scalar == first.scalar)
                .then_some(integer::upsample)
        }
        Op::ldexp | Op::pown | Op::rootn => {
            let fits = first.scalar == result.scalar && rest.len() == 1 && rest[0].scalar.is_integer();
            if fits {
                real::resolve(op, result.scalar, operands.len())
            } else {
                None
            }
        }
        _ if operands.iter().any(|operand| operand.scalar != result.scalar) => None,
        _ if result.scalar.is_integer() => integer::resolve(op, operands.len()),
        _ => real::resolve(op, result.scalar, operands.len()),
    }
}

/// Whether the last places of a function's results are left to who computes it: OpenCL allows an error, and compiled code
/// may make another one than [`resolve`]'s function.
///
/// OpenCL allows errors of `sqrt`, `half_divide`, `degrees` and their like too, but compiled code makes none there.
pub fn may_err(op: Op) -> bool {
    matches!(
        op,
        Op::acos
            | Op::acosh
            | Op::acospi
            | Op::asin
            | Op::asinh
            | Op::asinpi
            | Op::atan
            | Op::atan2
            | Op::atan2pi
            | Op::atanh
            | Op::atanpi
            | Op::cbrt
            | Op::cos
            | Op::cosh
            | Op::cospi
            | Op::cross
            | Op::distance
            | Op::erf
            | Op::erfc
            | Op::exp
            | Op::exp10
            | Op::exp2
            | Op::expm1
            | Op::fast_distance
            | Op::fast_length
            | Op::fast_normalize
            | Op::half_cos
            | Op::half_exp
            | Op::half_exp10
            | Op::half_exp2
            | Op::half_log
            | Op::half_log10
            | Op::half_log2
            | Op::half_powr
            | Op::half_rsqrt
            | Op::half_sin
            | Op::half_tan
            | Op::hypot
            | Op::length
            | Op::lgamma
            | Op::lgamma_r
            | Op::log
            | Op::log10
            | Op::log1p
            | Op::log2
            | Op::mix
            | Op::native_cos
            | Op::native_exp
            | Op::native_exp10
            | Op::native_exp2
            | Op::native_log
            | Op::native_log10
            | Op::native_log2
            | Op::native_powr
            | Op::native_rsqrt
            | Op::native_sin
            | Op::native_tan
            | Op::normalize
            | Op::pow
            | Op::pown
            | Op::powr
            | Op::rootn
            | Op::rsqrt
            | Op::sin
            | Op::sincos
            | Op::sinh
            | Op::sinpi
            | Op::smoothstep
            | Op::tan
            | Op::tanh
            | Op::tanpi
            | Op::tgamma
    )
}

/// Makes each lane of a result by its number.
fn each(out: &mut [u64], function: impl Fn(usize) -> u64) {
    for (index, out) in out.iter_mut().enumerate() {
        *out = function(index);
    }
}

/// The word of an operand for a lane of the result.
fn lane(arg: &(&[u64], Shape), index: usize) -> u64 {
    let index = if arg.1.lanes == 1 { 0 } else { index };
    arg.0.get(index).copied().unwrap_or_default()
}
