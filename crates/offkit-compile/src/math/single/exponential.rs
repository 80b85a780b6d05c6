//! Exponentials of single precision: `2^n` times a polynomial of what is left.

use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

use super::super::coefficients::{EXP, EXP2, EXP10, EXPM1};
use super::super::real::Real;
use super::high;

/// `e^x`.
pub(in super::super) fn exp<R: Real>(x: R) -> R {
    // Beyond, it is zero or infinite.
    let x = x.at_most(89.0).at_least(-104.0);
    let exponent = x.times(LOG2_E).rint();
    let rest = less_multiple(x, exponent, LN_2);
    let one = x.constant(1.0);
    rest.polynomial(&EXP)
        .mad(rest, one)
        .mad(rest, one)
        .scale(exponent)
}

/// `e^x / 2`, which has a number where `e^x` has none yet.
pub(super) fn half_exp<R: Real>(x: R) -> R {
    let x = x.at_most(90.0).at_least(-104.0);
    let exponent = x.times(LOG2_E).rint();
    let rest = less_multiple(x, exponent, LN_2);
    let one = x.constant(1.0);
    rest.polynomial(&EXP)
        .mad(rest, one)
        .mad(rest, one)
        .scale(exponent.plus(-1.0))
}

/// `e^x - 1`.
pub(in super::super) fn expm1<R: Real>(x: R) -> R {
    let result = quarter_expm1(x).times(4.0);
    // A quarter of a subnormal number may be none, and zero keeps its sign.
    R::select(x.abs().less(x.constant(TINY)), x, result)
}

/// Of less than this the square makes no difference.
pub(super) const TINY: f64 = 1e-10;

/// `(e^x - 1) / 4`, which has a number where the whole has none yet.
pub(super) fn quarter_expm1<R: Real>(x: R) -> R {
    let x = x.at_most(89.5).at_least(-20.0);
    let exponent = x.times(LOG2_E).rint();
    let rest = less_multiple(x, exponent, LN_2);
    let result = rest.polynomial(&EXPM1).mad(rest * rest, rest);
    let quarter = x.constant(0.25);
    let scale = quarter.scale(exponent);
    result.fma(scale, scale - quarter)
}

/// `2^x`.
pub(in super::super) fn exp2<R: Real>(x: R) -> R {
    let x = x.at_most(129.0).at_least(-151.0);
    let exponent = x.rint();
    exp2_of_parts(exponent, x - exponent)
}

/// `2^(exponent + rest)`, where the rest is at most a half.
pub(super) fn exp2_of_parts<R: Real>(exponent: R, rest: R) -> R {
    let one = rest.constant(1.0);
    rest.polynomial(&EXP2).mad(rest, one).scale(exponent)
}

/// `10^x`.
pub(in super::super) fn exp10<R: Real>(x: R) -> R {
    let x = x.at_most(39.0).at_least(-46.0);
    let exponent = x.times(LOG2_10).rint();
    let rest = less_multiple(x, exponent, LOG10_2);
    let one = x.constant(1.0);
    rest.polynomial(&EXP10).mad(rest, one).scale(exponent)
}

/// `x - factor * constant`, with 48 bits of the constant.
fn less_multiple<R: Real>(x: R, factor: R, constant: f64) -> R {
    let rest = factor.times_plus(-high(constant), x);
    factor.times_plus(high(constant) - constant, rest)
}
