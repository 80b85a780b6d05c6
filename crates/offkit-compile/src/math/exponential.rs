//! Exponentials: `2^n` times a polynomial of what is left.

use super::coefficients::{EXP, EXP2, EXP10, EXPM1, LN_2, LOG2_E, LOG10_2};
use super::real::{Parts, Real};

/// `e^x`.
pub(super) fn exp<R: Real>(x: R) -> R {
    // Beyond, it is zero or infinite.
    let x = x.at_most(x.pick(89.0, 710.0)).at_least(x.pick(-104.0, -746.0));
    let (exponent, rest) = whole_and_rest(x);
    let one = x.constant(1.0);
    EXP.at(rest).mad(rest, one).mad(rest, one).scale(exponent)
}

/// An exponent of 2, and what it leaves of a natural exponent.
pub(super) fn whole_and_rest<R: Real>(x: R) -> (R, R) {
    let (exponent, _) = x.nearest_multiple(LOG2_E.double[0]);
    (exponent, less_multiple(x, exponent, &LN_2))
}

/// `e^x - 1`.
pub(super) fn expm1<R: Real>(x: R) -> R {
    let result = quarter_expm1(x).times(4.0);
    // A quarter of a subnormal number may be none, and zero keeps its sign.
    R::select(x.abs().less(x.constant(TINY)), x, result)
}

/// Of less than this the square makes no difference.
pub(super) const TINY: f64 = 1e-20;

/// `(e^x - 1) / 4`, which has a number where the whole has none yet.
fn quarter_expm1<R: Real>(x: R) -> R {
    // Below -40, what the exponential adds to -1 is less than half of a double's last place.
    quarter_expm1_of_moderate(x.at_most(x.pick(89.5, 710.5)).at_least(-40.0))
}

/// The same between -40 and 89 or 710.
pub(super) fn quarter_expm1_of_moderate<R: Real>(x: R) -> R {
    let (exponent, rest) = whole_and_rest(x);
    let result = EXPM1.at(rest).mad(rest * rest, rest);
    let quarter = x.constant(0.25);
    let scale = quarter.scale(exponent);
    result.fma(scale, scale - quarter)
}

/// `2^x`.
pub(super) fn exp2<R: Real>(x: R) -> R {
    let x = x.at_most(x.pick(129.0, 1025.0)).at_least(x.pick(-151.0, -1076.0));
    let exponent = x.rint();
    exp2_of_parts(exponent, x - exponent)
}

/// `2^(exponent + rest)`, where the rest is at most a half.
pub(super) fn exp2_of_parts<R: Real>(exponent: R, rest: R) -> R {
    let one = rest.constant(1.0);
    EXP2.at(rest).mad(rest, one).scale(exponent)
}

/// `10^x`.
pub(super) fn exp10<R: Real>(x: R) -> R {
    let x = x.at_most(x.pick(39.0, 309.0)).at_least(x.pick(-46.0, -324.5));
    let (exponent, _) = x.nearest_multiple(1.0 / LOG10_2.double[0]);
    let rest = less_multiple(x, exponent, &LOG10_2);
    let one = x.constant(1.0);
    EXP10.at(rest).mad(rest, one).scale(exponent)
}

/// `x - factor * constant`, with twice the bits of the constant.
fn less_multiple<R: Real>(x: R, factor: R, constant: &Parts) -> R {
    let [high, low, _] = constant.of(x);
    factor.fma(-low, factor.fma(-high, x))
}
