//! The mathematics of OpenCL for vectors: without branches, by reducing the argument and a polynomial.
//!
//! Each algorithm is written once, over [`Real`]. `f32` and `f64` are such numbers, which measures the algorithms'
//! errors; so are the emitter's vectors.

mod coefficients;
mod error;
mod exponential;
mod gamma;
mod hyperbolic;
mod inverse;
mod library;
mod logarithm;
mod power;
mod real;
mod reduction;
mod trigonometric;

use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

pub use library::{Registers, VECTOR_LIBRARY, VectorFunction};
pub use real::{Format, Integer, Mask, Real};

/// A function of OpenCL, by its operands.
pub enum Function<R: Real> {
    /// Of one number.
    Unary(fn(R) -> R),
    /// Of two numbers.
    Binary(fn(R, R) -> R),
    /// Of a number and an integer of 32 bits.
    WithInteger(fn(R, R::Integer) -> R),
    /// Of one number, with two results.
    Pair(fn(R) -> [R; 2]),
}

/// Whether a function calls [`Real::rarely`].
pub fn has_rare_path(op: Op) -> bool {
    matches!(
        op,
        Op::sin | Op::half_sin | Op::cos | Op::half_cos | Op::sincos | Op::tan | Op::half_tan | Op::hypot
    )
}

impl<R: Real> Function<R> {
    /// The function of an instruction on numbers of single or double precision.
    pub fn of(op: Op, scalar: Scalar) -> Option<Self> {
        // Half precision is computed in single, which has more than twice its bits.
        if !matches!(scalar, Scalar::F32 | Scalar::F64) {
            return None;
        }
        Some(match op {
            Op::atan2 => Self::Binary(inverse::atan2),
            Op::atan2pi => Self::Binary(|y, x| inverse::over_pi(inverse::atan2(y, x))),
            Op::hypot => Self::Binary(power::hypot),
            Op::pow => Self::Binary(power::pow),
            Op::powr => Self::Binary(power::powr),
            Op::half_powr | Op::native_powr => Self::Binary(power::rough_powr),
            Op::pown => Self::WithInteger(power::pown),
            Op::rootn => Self::WithInteger(power::rootn),
            Op::sincos => Self::Pair(trigonometric::sincos),
            _ => Self::Unary(match op {
                Op::acos => inverse::acos,
                Op::acosh => hyperbolic::acosh,
                Op::acospi => |x| inverse::over_pi(inverse::acos(x)),
                Op::asin => inverse::asin,
                Op::asinh => hyperbolic::asinh,
                Op::asinpi => |x| inverse::over_pi(inverse::asin(x)),
                Op::atan => inverse::atan,
                Op::atanh => hyperbolic::atanh,
                Op::atanpi => |x| inverse::over_pi(inverse::atan(x)),
                Op::cbrt => power::cbrt,
                Op::cos | Op::half_cos => trigonometric::cos,
                Op::native_cos => trigonometric::cos_of_small,
                Op::cosh => hyperbolic::cosh,
                Op::cospi => trigonometric::cospi,
                Op::erf => error::erf,
                Op::erfc => error::erfc,
                Op::exp | Op::half_exp | Op::native_exp => exponential::exp,
                Op::exp2 | Op::half_exp2 | Op::native_exp2 => exponential::exp2,
                Op::exp10 | Op::half_exp10 | Op::native_exp10 => exponential::exp10,
                Op::expm1 => exponential::expm1,
                Op::lgamma => gamma::lgamma,
                Op::log | Op::half_log | Op::native_log => logarithm::log,
                Op::log2 | Op::half_log2 | Op::native_log2 => logarithm::log2,
                Op::log10 | Op::half_log10 | Op::native_log10 => logarithm::log10,
                Op::log1p => logarithm::log1p,
                Op::sin | Op::half_sin => trigonometric::sin,
                Op::native_sin => trigonometric::sin_of_small,
                Op::sinh => hyperbolic::sinh,
                Op::sinpi => trigonometric::sinpi,
                Op::tan | Op::half_tan => trigonometric::tan,
                Op::native_tan => trigonometric::tan_of_small,
                Op::tanh => hyperbolic::tanh,
                Op::tanpi => trigonometric::tanpi,
                Op::tgamma => gamma::tgamma,
                _ => return None,
            }),
        })
    }
}
