//! Powers and roots of single precision: in double precision, as the logarithm's error is multiplied by the exponent.

use super::super::coefficients::LOG2_WIDE;
use super::super::real::{Integer, Real};
use super::exponential::exp2_of_parts;

/// `x^y`.
pub(in super::super) fn pow<R: Real>(x: R, y: R) -> R {
    let (zero, one, infinity) = (x.constant(0.0), x.constant(1.0), x.constant(f64::INFINITY));
    let (whole, odd) = y.parity();
    // Infinite ones make no difference, but that the logarithm of one times them would be no number.
    let limited = y.at_most(1e38).at_least(-1e38);
    let magnitude = exp2_wide::<R>(log2_wide(x.abs()) * limited.widen());
    let sign = R::Integer::select(odd, x.sign(), zero.bits());
    let result = magnitude.signed_by(sign);
    // Roots of negative numbers; those of -∞ are as they are for +∞.
    let root = x.less(zero) & (-infinity).less(x) & !whole;
    let result = R::select(root, x.constant(f64::NAN), result);
    R::select(x.equals(one) | y.equals(zero), one, result)
}

/// `x^y` for numbers that are not negative, and NaN for limits that depend on the path.
pub(in super::super) fn powr<R: Real>(x: R, y: R) -> R {
    exp2_wide(log2_wide(x) * y.widen())
}

/// `x^n`.
pub(in super::super) fn pown<R: Real>(x: R, n: R::Integer) -> R {
    let magnitude = exp2_wide::<R>(log2_wide(x.abs()) * R::widen_integer(n));
    let sign = R::Integer::select(n.has(1), x.sign(), n.constant(0));
    let result = magnitude.signed_by(sign);
    R::select(n.equals(n.constant(0)), x.constant(1.0), result)
}

/// The n-th root of x.
pub(in super::super) fn rootn<R: Real>(x: R, n: R::Integer) -> R {
    let magnitude = exp2_wide::<R>(log2_wide(x.abs()) / R::widen_integer(n));
    let odd = n.has(1);
    let sign = R::Integer::select(odd, x.sign(), n.constant(0));
    let none = n.equals(n.constant(0)) | (x.less(x.constant(0.0)) & !odd);
    R::select(none, x.constant(f64::NAN), magnitude.signed_by(sign))
}

/// The cube root.
pub(in super::super) fn cbrt<R: Real>(x: R) -> R {
    exp2_wide::<R>(log2_wide(x.abs()).times(1.0 / 3.0)).signed_by(x.sign())
}

/// The length of a vector.
pub(in super::super) fn hypot<R: Real>(x: R, y: R) -> R {
    let (x, y) = (x.abs(), y.abs());
    // The same for all powers of two: where squares would not be normal numbers, others are taken.
    let (one, infinity) = (x.constant(1.0), x.constant(f64::INFINITY));
    let longer = R::select(x.less(y), y, x);
    let choose = |of_large: f64, of_small: f64| {
        let small = longer.less(x.constant(2f64.powi(-50)));
        let scale = R::select(small, x.constant(of_small), one);
        R::select(
            x.constant(2f64.powi(60)).less(longer),
            x.constant(of_large),
            scale,
        )
    };
    let scale = choose(2f64.powi(-70), 2f64.powi(100));
    let (scaled_x, scaled_y) = (x * scale, y * scale);
    let length = scaled_x.fma(scaled_x, scaled_y * scaled_y).sqrt();
    let length = length * choose(2f64.powi(70), 2f64.powi(-100));
    R::select(x.equals(infinity) | y.equals(infinity), infinity, length)
}

/// `2^x`.
fn exp2_wide<R: Real>(x: R::Wide) -> R {
    // Beyond, it is zero or infinite.
    let x = x.at_most(160.0).at_least(-160.0);
    let exponent = x.rint();
    exp2_of_parts(R::narrow(exponent), R::narrow(x - exponent))
}

/// The logarithm to base 2, with 33 bits.
fn log2_wide<R: Real>(x: R) -> R::Wide {
    let (significand, exponent) = x.split();
    let fraction = significand.plus(-1.0).widen();
    fraction.polynomial(&LOG2_WIDE).mad(fraction, exponent.widen())
}
