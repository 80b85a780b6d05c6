//! Inverse trigonometric functions: by a polynomial of small arguments, and what angles add up to.

use super::coefficients::{ASIN, ATAN, FRAC_1_PI, FRAC_PI_2, PI};
use super::real::{Parts, Real};

/// The arc sine.
pub(super) fn asin<R: Real>(x: R) -> R {
    let (large, angle) = asin_or_half_acos(x.abs());
    let quarter = from(&FRAC_PI_2, angle.times(2.0));
    R::select(large, quarter, angle).signed_by(x.sign())
}

/// The arc cosine.
pub(super) fn acos<R: Real>(x: R) -> R {
    let (large, angle) = asin_or_half_acos(x.abs());
    let double = angle.times(2.0);
    let of_large = R::select(x.negative(), from(&PI, double), double);
    let of_small = from(&FRAC_PI_2, angle.signed_by(x.sign()));
    R::select(large, of_large, of_small)
}

/// Of a magnitude of at most a half the arc sine, of others half the arc cosine; and which of them it is.
fn asin_or_half_acos<R: Real>(x: R) -> (R::Mask, R) {
    let half = x.constant(0.5);
    let large = half.less(x);
    // asin x = π/2 - 2 asin √((1 - x) / 2): towards one the arc sine is ever steeper, which no polynomial is.
    // Rounded once, as towards one the difference is all that is left of x.
    let square = R::select(large, (-half).fma(x, half), x * x);
    let x = R::select(large, square.sqrt(), x);
    (large, ASIN.at(square).mad(square * x, x))
}

/// The arc tangent.
pub(super) fn atan<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let one = x.constant(1.0);
    let large = one.less(magnitude);
    let angle = atan_of_part(R::select(large, one / magnitude, magnitude));
    R::select(large, from(&FRAC_PI_2, angle), angle).signed_by(x.sign())
}

/// The angle of a point.
pub(super) fn atan2<R: Real>(y: R, x: R) -> R {
    let (across, up) = (x.abs(), y.abs());
    let steep = across.less(up);
    let less = R::select(steep, across, up);
    let more = R::select(steep, up, across);
    let zero = x.constant(0.0);
    // Two infinities count as equal, and two zeros as none beside something.
    let equal = R::select(more.equals(zero), zero, x.constant(1.0));
    let ratio = R::select(less.equals(more), equal, less / more);
    let angle = atan_of_part(ratio);
    let angle = R::select(steep, from(&FRAC_PI_2, angle), angle);
    // By the sign bit: -0 is on the negative side, where the angle is π.
    R::select(x.negative(), from(&PI, angle), angle).signed_by(y.sign())
}

/// The arc tangent of a number from zero to one.
fn atan_of_part<R: Real>(x: R) -> R {
    let square = x * x;
    ATAN.at(square).mad(square * x, x)
}

/// `angle - x`, with twice the bits of the angle.
fn from<R: Real>(angle: &Parts, x: R) -> R {
    let [high, low, _] = angle.of(x);
    high - (x - low)
}

/// In half turns.
pub(super) fn over_pi<R: Real>(angle: R) -> R {
    let [high, low, _] = FRAC_1_PI.of(angle);
    angle.mad(high, angle * low)
}
