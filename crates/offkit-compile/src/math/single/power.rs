//! Powers of single precision: in double precision, as the logarithm's error is multiplied by the exponent.

use super::super::coefficients::LOG2_WIDE;
use super::super::real::{Integer, Real};
use super::exponential::exp2_of_parts;

/// `x^y`.
pub(in super::super) fn pow<R: Real>(x: R, y: R) -> R {
    let (zero, one, infinity) = (x.constant(0.0), x.constant(1.0), x.constant(f64::INFINITY));
    let (whole, odd) = y.parity();
    let magnitude = power(x.abs(), y);
    let sign = R::Integer::select(odd, x.sign(), zero.bits());
    let result = magnitude.signed_by(sign);
    // Roots of negative numbers; those of -∞ are as they are for +∞.
    let root = x.less(zero) & (-infinity).less(x) & !whole;
    let result = R::select(root, x.constant(f64::NAN), result);
    R::select(x.equals(one) | y.equals(zero), one, result)
}

/// `x^y` for positive numbers, where limits that depend on the path are what `pow` has or NaN.
fn power<R: Real>(x: R, y: R) -> R {
    // Infinite ones make no difference but that they don't make NaN of zero.
    let y = y.at_most(1e38).at_least(-1e38);
    let product = log2_wide(x) * y.widen();
    let product = product.at_most(160.0).at_least(-160.0);
    let exponent = product.rint();
    exp2_of_parts(R::narrow(exponent), R::narrow(product - exponent))
}

/// The logarithm to base 2, with 33 bits.
fn log2_wide<R: Real>(x: R) -> R::Wide {
    let (significand, exponent) = x.split();
    let fraction = significand.plus(-1.0).widen();
    fraction.polynomial(&LOG2_WIDE).mad(fraction, exponent.widen())
}
