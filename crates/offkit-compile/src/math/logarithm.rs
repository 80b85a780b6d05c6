//! Logarithms: the exponent's and a polynomial of the significand's.

use super::coefficients::{LN_2, LOG1P, LOG2_E, LOG10_2, LOG10_E};
use super::real::Real;

/// The natural logarithm.
pub(super) fn log<R: Real>(x: R) -> R {
    let (significand, exponent) = x.split();
    with_exponent(log1p_of_fraction(significand.plus(-1.0)), exponent)
}

/// `ln(1 + x)`.
pub(super) fn log1p<R: Real>(x: R) -> R {
    let one = x.constant(1.0);
    let (_, exponent) = (one + x).split();
    // (1 + x) / 2^exponent - 1, from x itself and so without what the sum lost.
    let scale = one.scale(-exponent);
    let fraction = x.fma(scale, scale - one);
    let result = with_exponent(log1p_of_fraction(fraction), exponent);
    // Of zero, infinity and what has no logarithm, the exponent is the result (see `Real::split`),
    // and the fraction none that could be added.
    let finite = exponent.abs().less(x.constant(f64::INFINITY));
    let result = R::select(finite, result, exponent);
    // A zero keeps its sign.
    R::select(x.equals(x.constant(0.0)), x, result)
}

/// The logarithm to base 2.
pub(super) fn log2<R: Real>(x: R) -> R {
    let (significand, exponent) = x.split();
    let logarithm = log1p_of_fraction(significand.plus(-1.0));
    let [high, low, _] = LOG2_E.of(x);
    logarithm.mad(high, logarithm * low) + exponent
}

/// The logarithm to base 10.
pub(super) fn log10<R: Real>(x: R) -> R {
    let (significand, exponent) = x.split();
    let logarithm = log1p_of_fraction(significand.plus(-1.0));
    let [high, low, _] = LOG10_E.of(x);
    // No term is negative where the exponent is infinite.
    let [of_two, of_two_low, _] = LOG10_2.of(x);
    let low = exponent.mad(of_two_low, logarithm * low);
    exponent.mad(of_two, logarithm.mad(high, low))
}

/// `ln(1 + x)` for x in [-1/4, 1/2].
fn log1p_of_fraction<R: Real>(x: R) -> R {
    let second = LOG1P.at(x).mad(x, x.constant(-0.5));
    second.mad(x * x, x)
}

/// `logarithm + exponent * ln(2)`.
fn with_exponent<R: Real>(logarithm: R, exponent: R) -> R {
    let [high, low, _] = LN_2.of(logarithm);
    exponent.mad(high, exponent.mad(low, logarithm))
}
