//! Error functions: by the exponential of the square.

use super::coefficients::{ERFC, ERFC_DOUBLE, LN_ERFC, LN_ERFC_DOUBLE};
use super::exponential::{exp, quarter_expm1_of_moderate};
use super::real::{Format, Real};

/// The error function.
pub(super) fn erf<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    // Beyond, it is one.
    let magnitude = magnitude.at_most(x.pick(4.0, 5.94));
    let slope = if x.format() == Format::SINGLE {
        LN_ERFC.at(magnitude)
    } else {
        LN_ERFC_DOUBLE.at(magnitude.times_plus(1.0 / 3.0, x.constant(-1.0)))
    };
    let result = quarter_expm1_of_moderate(slope * magnitude).times(4.0);
    // It is erfc - 1, and so -erf of the magnitude.
    result.abs().signed_by(x.sign())
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
    let inverse = x.constant(1.0) / x.plus(center);
    let ratio = x.plus(-center) * inverse;
    let factor = if x.format() == Format::SINGLE {
        ERFC.at(ratio)
    } else {
        ERFC_DOUBLE.at(ratio)
    };
    let factor = factor * inverse;
    // The square in two parts.
    let square = x * x;
    let rest = x.fma(x, -square);
    exp(-square) * (factor - factor * rest)
}
