//! Hyperbolic functions and their inverses, by exponentials and logarithms.

use super::coefficients::LN_2;
use super::exponential::{TINY, expm1, half_exp, quarter_expm1};
use super::logarithm::log1p;
use super::real::Real;

/// The hyperbolic sine.
pub(super) fn sinh<R: Real>(x: R) -> R {
    let (magnitude, one) = (x.abs(), x.constant(1.0));
    let quarter = quarter_expm1(magnitude);
    let result = (quarter + quarter / quarter.times_plus(4.0, one)).times(2.0);
    let tiny = magnitude.less(x.constant(TINY));
    R::select(tiny, magnitude, result).signed_by(x.sign())
}

/// The hyperbolic cosine.
pub(super) fn cosh<R: Real>(x: R) -> R {
    let half = half_exp(x.abs());
    half + x.constant(0.25) / half
}

/// The hyperbolic tangent.
pub(super) fn tanh<R: Real>(x: R) -> R {
    // Beyond, it is one.
    let x = x.at_most(20.0).at_least(-20.0);
    let expm1 = expm1(x.times(2.0));
    expm1 / expm1.plus(2.0)
}

/// Whether `x^2 + 1` is `x^2`, and that need not have a number.
fn large<R: Real>(x: R) -> R::Mask {
    x.constant(1e9).less(x)
}

/// The inverse of the hyperbolic sine.
pub(super) fn asinh<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let one = x.constant(1.0);
    let square = magnitude * magnitude;
    let above = magnitude + square / ((square + one).sqrt() + one);
    log1p_or_of_double(large(magnitude), above, magnitude).signed_by(x.sign())
}

/// The inverse of the hyperbolic cosine.
pub(super) fn acosh<R: Real>(x: R) -> R {
    let above = x.plus(-1.0);
    // Negative, and so without a root, below one.
    let root = above.fma(above, above.times(2.0)).sqrt();
    let result = log1p_or_of_double(large(x), above + root, x);
    R::select(x.less(x.constant(1.0)), x.constant(f64::NAN), result)
}

/// The inverse of the hyperbolic tangent.
pub(super) fn atanh<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let one = x.constant(1.0);
    let ratio = magnitude.times(2.0) / (one - magnitude);
    log1p(ratio).times(0.5).signed_by(x.sign())
}

/// `ln(1 + x)`, or `ln(2 y)` where the mask holds.
fn log1p_or_of_double<R: Real>(mask: R::Mask, x: R, y: R) -> R {
    let logarithm = log1p(R::select(mask, y.plus(-1.0), x));
    R::select(mask, logarithm.plus(LN_2.double[0]), logarithm)
}
