//! The mathematics of OpenCL for vectors: without branches, by reducing the argument and a polynomial.
//!
//! Each algorithm is written once, over [`Real`]. `f32` and `f64` are such numbers, which measures the algorithms'
//! errors; so are the emitter's vectors.

mod coefficients;
mod real;
mod reduction;
mod single;

use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

pub use real::{Format, Integer, Mask, Real};

/// A function of OpenCL, by its operands.
pub enum Function<R: Real> {
    /// Of one number.
    Unary(fn(R) -> R),
    /// Of two numbers.
    Binary(fn(R, R) -> R),
    /// Of one number, with two results.
    Pair(fn(R) -> [R; 2]),
}

/// Whether a function calls [`Real::rarely`].
pub fn has_rare_path(op: Op) -> bool {
    matches!(
        op,
        Op::sin | Op::half_sin | Op::native_sin | Op::cos | Op::half_cos | Op::native_cos | Op::sincos
    )
}

impl<R: Real> Function<R> {
    /// The function of an instruction on numbers of single or double precision.
    pub fn of(op: Op, scalar: Scalar) -> Option<Self> {
        match scalar {
            Scalar::F32 => Self::single(op),
            _ => None,
        }
    }

    fn single(op: Op) -> Option<Self> {
        use single::{exponential, logarithm, power, trigonometric};
        Some(Self::Unary(match op {
            Op::exp | Op::half_exp | Op::native_exp => exponential::exp,
            Op::exp2 | Op::half_exp2 | Op::native_exp2 => exponential::exp2,
            Op::exp10 | Op::half_exp10 | Op::native_exp10 => exponential::exp10,
            Op::log | Op::half_log | Op::native_log => logarithm::log,
            Op::log1p => logarithm::log1p,
            Op::log2 | Op::half_log2 | Op::native_log2 => logarithm::log2,
            Op::log10 | Op::half_log10 | Op::native_log10 => logarithm::log10,
            Op::sin | Op::half_sin | Op::native_sin => trigonometric::sin,
            Op::cos | Op::half_cos | Op::native_cos => trigonometric::cos,
            Op::sincos => return Some(Self::Pair(trigonometric::sincos)),
            Op::pow => return Some(Self::Binary(power::pow)),
            _ => return None,
        }))
    }
}
