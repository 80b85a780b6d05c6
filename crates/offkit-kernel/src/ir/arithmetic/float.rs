//! Floating-point numbers as the bits of their format.

use std::ops::{Add, Div, Mul, Rem, Sub};

use offkit_spirv::grammar::Op;

use super::Elementwise::{self, Binary, Unary};

/// A format: how its bits become a number that the host can calculate with. Half precision calculates
/// in single precision and rounds once more, which gives the same for these operations.
pub(super) trait Format {
    type Number: Copy
        + PartialOrd
        + Default
        + Add<Output = Self::Number>
        + Sub<Output = Self::Number>
        + Mul<Output = Self::Number>
        + Div<Output = Self::Number>
        + Rem<Output = Self::Number>;
    const SIGN: u64;
    /// The bits of infinity, which are those of the exponent.
    const INFINITY: u64;

    fn read(word: u64) -> Self::Number;
    fn write(number: Self::Number) -> u64;
}

impl Format for half::f16 {
    type Number = f32;
    const SIGN: u64 = 1 << 15;
    const INFINITY: u64 = 0x7c00;

    fn read(word: u64) -> f32 {
        half::f16::from_bits(word as u16).to_f32()
    }

    fn write(number: f32) -> u64 {
        half::f16::from_f32(number).to_bits().into()
    }
}

impl Format for f32 {
    type Number = f32;
    const SIGN: u64 = 1 << 31;
    const INFINITY: u64 = 0x7f80_0000;

    fn read(word: u64) -> f32 {
        f32::from_bits(word as u32)
    }

    fn write(number: f32) -> u64 {
        number.to_bits().into()
    }
}

impl Format for f64 {
    type Number = f64;
    const SIGN: u64 = 1 << 63;
    const INFINITY: u64 = 0x7ff0 << 48;

    fn read(word: u64) -> f64 {
        f64::from_bits(word)
    }

    fn write(number: f64) -> u64 {
        number.to_bits()
    }
}

/// Bits without the sign.
fn magnitude<F: Format>(word: u64) -> u64 {
    word & (F::SIGN - 1)
}

fn is_nan<F: Format>(word: u64) -> bool {
    magnitude::<F>(word) > F::INFINITY
}

fn is_unordered<F: Format>(a: u64, b: u64) -> bool {
    is_nan::<F>(a) || is_nan::<F>(b)
}

/// A comparison, as its ordered and its unordered form.
macro_rules! compare {
    (ordered $operator:tt) => {
        Binary(|a, b| (!is_unordered::<F>(a, b) && F::read(a) $operator F::read(b)).into())
    };
    (unordered $operator:tt) => {
        Binary(|a, b| (is_unordered::<F>(a, b) || F::read(a) $operator F::read(b)).into())
    };
}

pub(super) fn resolve<F: Format>(op: Op) -> Option<Elementwise> {
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
            let adjust = remainder != zero && (remainder < zero) != (b < zero);
            F::write(if adjust { remainder + b } else { remainder })
        }),
        Op::FNegate => Unary(|a| a ^ F::SIGN),
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
        Op::IsInf => Unary(|a| u64::from(magnitude::<F>(a) == F::INFINITY)),
        Op::IsFinite => Unary(|a| u64::from(magnitude::<F>(a) < F::INFINITY)),
        Op::IsNormal => Unary(|a| {
            let exponent = a & F::INFINITY;
            u64::from(exponent != 0 && exponent != F::INFINITY)
        }),
        Op::SignBitSet => Unary(|a| u64::from(a & F::SIGN != 0)),
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
