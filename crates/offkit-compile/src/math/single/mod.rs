//! The functions of single precision.

pub(super) mod error;
pub(super) mod exponential;
pub(super) mod hyperbolic;
pub(super) mod inverse;
pub(super) mod logarithm;
pub(super) mod power;
pub(super) mod remainder;
pub(super) mod trigonometric;

/// The part of a constant that single precision has.
const fn high(constant: f64) -> f64 {
    constant as f32 as f64
}
