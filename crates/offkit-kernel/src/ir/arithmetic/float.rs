//! Floating-point numbers as the bits of their format.

use offkit_spirv::grammar::Op;

use super::Elementwise::{self, Binary, Unary};
use crate::builtins::float::Float;

/// Bits without the sign.
fn magnitude<F: Float>(word: u64) -> u64 {
    word & (F::FORMAT.sign() - 1)
}

fn is_nan<F: Float>(word: u64) -> bool {
    magnitude::<F>(word) > F::FORMAT.infinity()
}

fn is_unordered<F: Float>(a: u64, b: u64) -> bool {
    is_nan::<F>(a) || is_nan::<F>(b)
}

/// A comparison, as its ordered and its unordered form.
// The first test is not for nothing: `!=` holds for NaNs, and an ordered comparison must not.
macro_rules! compare {
    (ordered $operator:tt) => {
        Binary(|a, b| (!is_unordered::<F>(a, b) && F::read(a) $operator F::read(b)).into())
    };
    (unordered $operator:tt) => {
        Binary(|a, b| (is_unordered::<F>(a, b) || F::read(a) $operator F::read(b)).into())
    };
}

pub(super) fn resolve<F: Float>(op: Op) -> Option<Elementwise> {
    Some(match op {
        Op::FAdd => Binary(|a, b| F::write(F::read(a) + F::read(b))),
        Op::FSub => Binary(|a, b| F::write(F::read(a) - F::read(b))),
        Op::FMul => Binary(|a, b| F::write(F::read(a) * F::read(b))),
        Op::FDiv => Binary(|a, b| F::write(F::read(a) / F::read(b))),
        Op::FRem => Binary(|a, b| F::write(F::read(a) % F::read(b))),
        Op::FMod => Binary(|a, b| {
            let (a, b) = (F::read(a), F::read(b));
            let zero = F::Number::default();
            let remainder = a % b;
            // Rust gives it the sign of the dividend, OpFMod that of the divisor.
            let adjust = remainder != zero && (remainder < zero) != (b < zero);
            F::write(if adjust { remainder + b } else { remainder })
        }),
        // By the bit: a difference from zero would lose the sign of zero, and touch NaNs.
        Op::FNegate => Unary(|a| a ^ F::FORMAT.sign()),
        // LLVM 22 compares floating-point values so after an atomic compare-exchange, by their bits.
        Op::IEqual => Binary(|a, b| u64::from(a == b)),
        Op::INotEqual => Binary(|a, b| u64::from(a != b)),
        Op::FOrdEqual => compare!(ordered ==),
        Op::FUnordEqual => compare!(unordered ==),
        Op::FOrdNotEqual | Op::LessOrGreater => compare!(ordered !=),
        Op::FUnordNotEqual => compare!(unordered !=),
        Op::FOrdLessThan => compare!(ordered <),
        Op::FUnordLessThan => compare!(unordered <),
        Op::FOrdGreaterThan => compare!(ordered >),
        Op::FUnordGreaterThan => compare!(unordered >),
        Op::FOrdLessThanEqual => compare!(ordered <=),
        Op::FUnordLessThanEqual => compare!(unordered <=),
        Op::FOrdGreaterThanEqual => compare!(ordered >=),
        Op::FUnordGreaterThanEqual => compare!(unordered >=),
        Op::Ordered => Binary(|a, b| (!is_unordered::<F>(a, b)).into()),
        Op::Unordered => Binary(|a, b| is_unordered::<F>(a, b).into()),
        Op::IsNan => Unary(|a| is_nan::<F>(a).into()),
        Op::IsInf => Unary(|a| u64::from(magnitude::<F>(a) == F::FORMAT.infinity())),
        Op::IsFinite => Unary(|a| u64::from(magnitude::<F>(a) < F::FORMAT.infinity())),
        Op::IsNormal => Unary(|a| {
            let exponent = a & F::FORMAT.infinity();
            u64::from(exponent != 0 && exponent != F::FORMAT.infinity())
        }),
        Op::SignBitSet => Unary(|a| u64::from(a & F::FORMAT.sign() != 0)),
        // As `fmin` and `fmax` of OpenCL C: of a number and a NaN it is the number.
        Op::GroupFMin => Binary(|a, b| match (is_nan::<F>(a), is_nan::<F>(b)) {
            (true, _) => b,
            (_, true) => a,
            _ => {
                if F::read(b) < F::read(a) {
                    b
                } else {
                    a
                }
            }
        }),
        Op::GroupFMax => Binary(|a, b| match (is_nan::<F>(a), is_nan::<F>(b)) {
            (true, _) => b,
            (_, true) => a,
            _ => {
                if F::read(b) > F::read(a) {
                    b
                } else {
                    a
                }
            }
        }),
        _ => return None,
    })
}
