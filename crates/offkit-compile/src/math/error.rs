//! Error functions: by the exponential of the square.

use super::coefficients::{ERF_DOUBLE, ERFC, ERFC_DOUBLE, LN_ERFC};
use super::exponential::{exp, expm1};
use super::real::{Format, Real};

/// The error function.
pub(super) fn erf<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let result = if x.format() == Format::SINGLE {
        // Beyond, it is one.
        let magnitude = magnitude.at_most(4.0);
        expm1(LN_ERFC.at(magnitude) * magnitude).abs()
    } else {
        let rest = x.constant(1.0) - erfc_of_positive(magnitude);
        let small = magnitude.less(x.constant(0.75));
        R::select(small, ERF_DOUBLE.at(magnitude * magnitude) * magnitude, rest)
    };
    result.signed_by(x.sign())
}

/// One less the error function.
pub(super) fn erfc<R: Real>(x: R) -> R {
    let result = erfc_of_positive(x.abs());
    R::select(x.less(x.constant(0.0)), x.constant(2.0) - result, result)
}

fn erfc_of_positive<R: Real>(x: R) -> R {
    // Beyond, it is zero.
    let x = x.at_most(x.pick(10.1, 27.3));
    let center = x.pick(2.0, 4.0);
    let ratio = x.plus(-center) / x.plus(center);
    let factor = if x.format() == Format::SINGLE {
        ERFC.at(ratio)
    } else {
        ERFC_DOUBLE.at(ratio)
    };
    let factor = factor / x.times_plus(2.0, x.constant(1.0));
    // The square in two parts.
    let square = x * x;
    let rest = x.fma(x, -square);
    exp(-square) * (factor - factor * rest)
}
