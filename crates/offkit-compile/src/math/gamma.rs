//! The gamma function by Lanczos' fraction, and its logarithm by Stirling's series and a polynomial at 2: in double
//! precision, for numbers of single precision too.

use std::f64::consts::PI;

use super::coefficients::{LANCZOS_DENOMINATOR, LANCZOS_NUMERATOR, LGAMMA_AT_2};
use super::exponential::exp;
use super::logarithm::log;
use super::power::{pow, rough_powr};
use super::real::{Format, Real};
use super::trigonometric::sinpi;

/// What the fraction was made for, less a half.
// That is 6.024680040776729583740234375 in `coefficients.py`.
const SHIFT: f64 = 5.524_680_040_776_73;

/// Behind it the gamma function is infinite, and on the other side zero.
const MOST: f64 = 200.0;

/// The gamma function.
pub(super) fn tgamma<R: Real>(x: R) -> R {
    // The logarithm in the power of single precision need not be longer than a double.
    let power = match x.format() == Format::SINGLE {
        true => rough_powr,
        false => pow,
    };
    x.narrow(gamma(x.widen(), power))
}

/// The logarithm of the gamma function's magnitude.
pub(super) fn lgamma<R: Real>(x: R) -> R {
    x.narrow(log_of_gamma(x.widen()))
}

fn gamma<W: Real>(x: W, power: fn(W, W) -> W) -> W {
    let [zero, shift] = [0.0, SHIFT].map(|value| x.constant(value));
    let whole_magnitude = x.abs();
    let magnitude = whole_magnitude.at_most(MOST);
    let base = magnitude + shift;
    // By how much rounding has made it too large.
    let is_above = shift.less(magnitude);
    let (larger, smaller) = (
        W::select(is_above, magnitude, shift),
        W::select(is_above, shift, magnitude),
    );
    let excess = (base - larger) - smaller;
    let fraction = LANCZOS_NUMERATOR.at(magnitude) / LANCZOS_DENOMINATOR.at(magnitude);
    let positive = fraction * exp(-base);
    // Γ(-x) is -π / (x sin(π x) Γ(x)).
    let is_negative = x.less(zero);
    let negative = x.constant(-PI) / (sinpi(whole_magnitude) * magnitude * positive);
    let exponent = magnitude.plus(-0.5);
    let factor = W::select(is_negative, negative, positive);
    let exponent = W::select(is_negative, -exponent, exponent);
    let excess = W::select(is_negative, -excess, excess);
    let factor = factor + excess.times(SHIFT + 0.5) * factor / base;
    // In two steps, since the whole power may be too large where the result is not.
    let root = power(base, exponent.times(0.5));
    let result = factor * root * root;
    let near_zero = whole_magnitude.less(x.constant(2f64.powi(-54)));
    let result = W::select(near_zero, x.constant(1.0) / x, result);
    // Zero is none: the gamma function is infinite there, with the sign of the zero.
    let is_pole = is_negative & x.trunc().equals(x);
    W::select(!is_pole & x.equals(x), result, x.constant(f64::NAN))
}

fn log_of_gamma<W: Real>(x: W) -> W {
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|value| x.constant(value));
    let below = |limit: f64| x.less(x.constant(limit));
    let magnitude = x.abs();
    // From 2.5 to 8 down to 2, by factors.
    let (mut rest, mut product) = (magnitude, one);
    for _ in 0..6 {
        let is_near = rest.less(x.constant(2.5));
        rest = W::select(is_near, rest, rest.plus(-1.0));
        product = W::select(is_near, product, product * rest);
    }
    // Around 0 and 1 up to 2: Γ(2 + x) is x (1 + x) Γ(x).
    let around_zero = magnitude.less(x.constant(0.5));
    let around_one = magnitude.less(x.constant(1.5));
    let distance = W::select(around_one, magnitude.plus(-1.0), rest.plus(-2.0));
    let distance = W::select(around_zero, x, distance);
    let is_far = !magnitude.less(x.constant(8.0));
    let argument = W::select(around_one, magnitude, product);
    let argument = W::select(around_zero, magnitude * (x + one), argument);
    let argument = W::select(is_far, magnitude, argument);
    let logarithm = log(argument);
    let near = LGAMMA_AT_2.at(distance) * distance;
    let near = near + W::select(around_one, -logarithm, logarithm);
    // Stirling's series.
    let inverse = one / magnitude;
    let square = inverse * inverse;
    let series = STIRLING
        .iter()
        .rev()
        .fold(zero, |sum, coefficient| sum.mad(square, x.constant(*coefficient)));
    let far = magnitude.plus(-0.5) * logarithm.plus(-1.0)
        + series.mad(inverse, x.constant(HALF_LOG_OF_TAU_LESS_HALF));
    let positive = W::select(is_far, far, near);
    let turned = magnitude * sinpi(magnitude).abs();
    // Of large integers both are infinite, and poles are what they are.
    let negative = -(log(turned.times(1.0 / PI)) + positive.at_most(f64::MAX));
    let result = W::select(below(0.0) & !around_zero, negative, positive);
    W::select(magnitude.equals(infinity), infinity, result)
}

/// `log(2 π) / 2 - 1 / 2`.
const HALF_LOG_OF_TAU_LESS_HALF: f64 = 0.418_938_533_204_672_7;

/// Bernoulli's number of 2 k over 2 k (2 k - 1), from k = 1.
const STIRLING: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
    43_867.0 / 244_188.0,
];
