//! The error function of single precision: one less an exponential.

use super::coefficients::{ERFC, LN_ERFC};
use super::exponential::{exp, expm1};
use super::real::Real;

/// The error function.
pub(super) fn erf<R: Real>(x: R) -> R {
    // Beyond, it is one.
    let magnitude = x.abs().at_most(4.0);
    let logarithm = LN_ERFC.at(magnitude) * magnitude;
    expm1(logarithm).abs().signed_by(x.sign())
}

/// One less the error function.
pub(super) fn erfc<R: Real>(x: R) -> R {
    let magnitude = x.abs().at_most(10.1);
    let ratio = magnitude.plus(-2.0) / magnitude.plus(2.0);
    let factor = ERFC.at(ratio) / magnitude.times_plus(2.0, x.constant(1.0));
    // The square in two parts.
    let square = magnitude * magnitude;
    let rest = magnitude.fma(magnitude, -square);
    let factor = factor - factor * rest;
    let result = exp(-square) * factor;
    R::select(x.less(x.constant(0.0)), x.constant(2.0) - result, result)
}
