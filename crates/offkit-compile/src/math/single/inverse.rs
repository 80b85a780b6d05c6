//! Inverse trigonometric functions of single precision: by a polynomial of small arguments, and what angles add up to.

use std::f64::consts::{FRAC_1_PI, FRAC_PI_2, PI};

use super::super::coefficients::{ASIN, ATAN};
use super::super::real::Real;
use super::high;

/// The arc sine.
pub(in super::super) fn asin<R: Real>(x: R) -> R {
    let (large, angle) = asin_or_half_acos(x.abs());
    let quarter = from(FRAC_PI_2, angle.times(2.0));
    R::select(large, quarter, angle).signed_by(x.sign())
}

/// The arc cosine.
pub(in super::super) fn acos<R: Real>(x: R) -> R {
    let (large, angle) = asin_or_half_acos(x.abs());
    let double = angle.times(2.0);
    let of_large = R::select(x.negative(), from(PI, double), double);
    let of_small = from(FRAC_PI_2, angle.signed_by(x.sign()));
    R::select(large, of_large, of_small)
}

/// Of a magnitude of at most a half the arc sine, of others half the arc cosine; and which of them it is.
fn asin_or_half_acos<R: Real>(x: R) -> (R::Mask, R) {
    let half = x.constant(0.5);
    let large = half.less(x);
    let square = R::select(large, (-half).fma(x, half), x * x);
    let x = R::select(large, square.sqrt(), x);
    (large, square.polynomial(&ASIN).mad(square * x, x))
}

/// The arc tangent.
pub(in super::super) fn atan<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let one = x.constant(1.0);
    let large = one.less(magnitude);
    let angle = atan_of_part(R::select(large, one / magnitude, magnitude));
    R::select(large, from(FRAC_PI_2, angle), angle).signed_by(x.sign())
}

/// The angle of a point.
pub(in super::super) fn atan2<R: Real>(y: R, x: R) -> R {
    let (across, up) = (x.abs(), y.abs());
    let steep = across.less(up);
    let less = R::select(steep, across, up);
    let more = R::select(steep, up, across);
    let zero = x.constant(0.0);
    // Two infinities count as equal, and two zeros as none beside something.
    let equal = R::select(more.equals(zero), zero, x.constant(1.0));
    let ratio = R::select(less.equals(more), equal, less / more);
    let angle = atan_of_part(ratio);
    let angle = R::select(steep, from(FRAC_PI_2, angle), angle);
    R::select(x.negative(), from(PI, angle), angle).signed_by(y.sign())
}

/// The arc tangent of a number from zero to one.
fn atan_of_part<R: Real>(x: R) -> R {
    let square = x * x;
    square.polynomial(&ATAN).mad(square * x, x)
}

/// `angle - x`, with 48 bits of the angle.
fn from<R: Real>(angle: f64, x: R) -> R {
    x.constant(high(angle)) - x.plus(high(angle) - angle)
}

/// In half turns.
pub(in super::super) fn over_pi<R: Real>(angle: R) -> R {
    let low = angle.times(FRAC_1_PI - high(FRAC_1_PI));
    angle.times_plus(high(FRAC_1_PI), low)
}
