//! The error function of single precision: one less an exponential.

use super::super::coefficients::{ERFC, LN_ERFC};
use super::super::real::Real;
use super::exponential::{exp, expm1};

/// The error function.
pub(in super::super) fn erf<R: Real>(x: R) -> R {
    // Beyond, it is one.
    let magnitude = x.abs().at_most(4.0);
    let logarithm = magnitude.polynomial(&LN_ERFC) * magnitude;
    expm1(logarithm).abs().signed_by(x.sign())
}

/// One less the error function.
pub(in super::super) fn erfc<R: Real>(x: R) -> R {
    let magnitude = x.abs().at_most(10.1);
    let ratio = magnitude.plus(-2.0) / magnitude.plus(2.0);
    let factor = ratio.polynomial(&ERFC) / magnitude.times_plus(2.0, x.constant(1.0));
    // The square in two parts.
    let square = magnitude * magnitude;
    let rest = magnitude.fma(magnitude, -square);
    let factor = factor - factor * rest;
    let result = exp(-square) * factor;
    R::select(x.less(x.constant(0.0)), x.constant(2.0) - result, result)
}
