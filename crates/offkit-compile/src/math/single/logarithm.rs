//! Logarithms of single precision: the exponent's and a polynomial of the significand's.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

use super::super::coefficients::LOG1P;
use super::super::real::Real;
use super::high;

/// A part of the logarithm of 2 that is less than it, so that the rest is positive: a sum with infinite exponents in it
/// must not have terms of both signs.
const LN_2_HIGH: f64 = f32::from_bits((LN_2 as f32).to_bits() - 1) as f64;

/// The natural logarithm.
pub(in super::super) fn log<R: Real>(x: R) -> R {
    let (significand, exponent) = x.split();
    with_exponent(log1p_of_fraction(significand.plus(-1.0)), exponent)
}

/// `ln(1 + x)`.
pub(in super::super) fn log1p<R: Real>(x: R) -> R {
    let one = x.constant(1.0);
    let (_, exponent) = (one + x).split();
    // (1 + x) / 2^exponent - 1, from x itself and so without what the sum lost.
    let scale = one.scale(-exponent);
    let fraction = x.fma(scale, scale - one);
    let result = with_exponent(log1p_of_fraction(fraction), exponent);
    let finite = exponent.abs().less(x.constant(f64::INFINITY));
    let result = R::select(finite, result, exponent);
    R::select(x.equals(x.constant(0.0)), x, result)
}

/// The logarithm to base 2.
pub(in super::super) fn log2<R: Real>(x: R) -> R {
    let (significand, exponent) = x.split();
    let logarithm = log1p_of_fraction(significand.plus(-1.0));
    let low = logarithm.times(LOG2_E - high(LOG2_E));
    logarithm.times_plus(high(LOG2_E), low) + exponent
}

/// The logarithm to base 10.
pub(in super::super) fn log10<R: Real>(x: R) -> R {
    const LOG10_2_HIGH: f64 = f32::from_bits((LOG10_2 as f32).to_bits() - 1) as f64;
    let (significand, exponent) = x.split();
    let logarithm = log1p_of_fraction(significand.plus(-1.0));
    let low = logarithm.times(LOG10_E - high(LOG10_E));
    let low = exponent.times_plus(LOG10_2 - LOG10_2_HIGH, low);
    let result = logarithm.times_plus(high(LOG10_E), low);
    exponent.times_plus(LOG10_2_HIGH, result)
}

/// `ln(1 + x)` for x in [-1/4, 1/2].
fn log1p_of_fraction<R: Real>(x: R) -> R {
    let second = x.polynomial(&LOG1P).mad(x, x.constant(-0.5));
    second.mad(x * x, x)
}

/// `logarithm + exponent * ln(2)`.
fn with_exponent<R: Real>(logarithm: R, exponent: R) -> R {
    let low = exponent.times_plus(LN_2 - LN_2_HIGH, logarithm);
    exponent.times_plus(LN_2_HIGH, low)
}
