//! Hyperbolic functions and their inverses, by exponentials and logarithms.

use super::coefficients::{COSH, LN_2, SINH};
use super::exponential::{TINY, quarter_expm1_of_moderate, whole_and_rest};
use super::logarithm::log1p;
use super::real::{Format, Real};

/// The hyperbolic sine.
pub(super) fn sinh<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let Halves {
        sum,
        difference,
        sinh,
        cosh_less_one,
    } = Halves::of(magnitude);
    let half = difference + sum.mad(sinh, difference * cosh_less_one);
    let result = half.times(2.0);
    let tiny = magnitude.less(x.constant(TINY));
    R::select(tiny, magnitude, result).signed_by(x.sign())
}

/// The hyperbolic cosine.
pub(super) fn cosh<R: Real>(x: R) -> R {
    let Halves {
        sum,
        difference,
        sinh,
        cosh_less_one,
    } = Halves::of(x.abs());
    let half = sum + difference.mad(sinh, sum * cosh_less_one);
    half.times(2.0)
}

/// What sines and cosines are made of, by the theorem of sums, without a quotient: those of `n ln(2)`, which are
/// `2^n ± 2^-n`, here halves of that, since the larger one has no number yet where the result has; and those of the rest.
struct Halves<R> {
    sum: R,
    difference: R,
    sinh: R,
    cosh_less_one: R,
}

impl<R: Real> Halves<R> {
    /// Those of a number that is not negative.
    fn of(x: R) -> Self {
        // Beyond, it is infinite.
        let (exponent, rest) = whole_and_rest(x.at_most(x.pick(89.5, 710.6)));
        let square = rest * rest;
        let quarter = x.constant(0.25);
        let (large, small) = (quarter.scale(exponent), quarter.scale(-exponent));
        Self {
            sum: large + small,
            difference: large - small,
            sinh: SINH.at(square).mad(square * rest, rest),
            cosh_less_one: COSH.at(square) * square,
        }
    }
}

/// The hyperbolic tangent.
pub(super) fn tanh<R: Real>(x: R) -> R {
    // Beyond, it is one.
    let moderate = x.at_most(19.0).at_least(-19.0);
    let quarter = quarter_expm1_of_moderate(moderate.times(2.0));
    let result = quarter / quarter.plus(0.5);
    // A quarter of a subnormal number may be none, and zero keeps its sign.
    R::select(x.abs().less(x.constant(TINY)), x, result)
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
    let root = match x.format() {
        // The unit that takes roots and quotients is busy with the one quotient for as long as the rest takes.
        Format::DOUBLE => (square + one).root(),
        _ => (square + one).sqrt(),
    };
    // x + √(x² + 1) - 1: as a difference, the root less one would lose the bits of a small x.
    let above = magnitude + square / (root + one);
    log1p_or_of_double(large(magnitude), above, magnitude).signed_by(x.sign())
}

/// The inverse of the hyperbolic cosine.
pub(super) fn acosh<R: Real>(x: R) -> R {
    // x² - 1 is (x - 1)² + 2 (x - 1), and x - 1 is exact where little is left of it.
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
    // (1 + x) / (1 - x) less one, which keeps the bits of a small x.
    let ratio = magnitude.times(2.0) / (one - magnitude);
    log1p(ratio).times(0.5).signed_by(x.sign())
}

/// `ln(1 + x)`, or `ln(2 y)` where the mask holds.
fn log1p_or_of_double<R: Real>(mask: R::Mask, x: R, y: R) -> R {
    let logarithm = log1p(R::select(mask, y.plus(-1.0), x));
    R::select(mask, logarithm.plus(LN_2.double[0]), logarithm)
}
