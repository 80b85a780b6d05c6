//! Powers and roots, by the logarithm, whose error is multiplied by the exponent: it has twice the bits.

use super::coefficients::{ATANH, CBRT_OF_INVERSE, LOG2_FRACTION, TWO_OVER_LN_2};
use super::exponential::{exp2, exp2_of_parts};
use super::logarithm::log2;
use super::real::{Format, Integer, Real};

/// `x^y`.
pub(super) fn pow<R: Real>(x: R, y: R) -> R {
    let (zero, one, infinity) = (x.constant(0.0), x.constant(1.0), x.constant(f64::INFINITY));
    let (whole, odd) = y.parity();
    // Larger ones make no difference, but that the logarithm of one times infinity would be no number.
    let magnitude = exp2_wide(
        x,
        log2_wide(x.abs()).times(y.at_most(1e20).at_least(-1e20).widen()),
    );
    let sign = R::Integer::select(odd, x.sign(), zero.bits());
    let result = magnitude.signed_by(sign);
    // Roots of negative numbers; those of -∞ are as they are for +∞.
    let root = x.less(zero) & (-infinity).less(x) & !whole;
    let result = R::select(root, x.constant(f64::NAN), result);
    R::select(x.equals(one) | y.equals(zero), one, result)
}

/// `x^y` for numbers that are not negative, and NaN for limits that depend on the path.
pub(super) fn powr<R: Real>(x: R, y: R) -> R {
    exp2_wide(x, log2_wide(x).times(y.widen()))
}

/// `x^y` for numbers that are not negative, by a logarithm that is no longer than they are.
pub(super) fn rough_powr<R: Real>(x: R, y: R) -> R {
    exp2(y * log2(x))
}

/// `x^n`.
pub(super) fn pown<R: Real>(x: R, n: R::Integer) -> R {
    let magnitude = exp2_wide(x, log2_wide(x.abs()).times(R::widen_integer(n)));
    let sign = R::Integer::select(n.has(1), x.sign(), n.constant(0));
    let result = magnitude.signed_by(sign);
    R::select(n.equals(n.constant(0)), x.constant(1.0), result)
}

/// The n-th root of x.
pub(super) fn rootn<R: Real>(x: R, n: R::Integer) -> R {
    let magnitude = exp2_wide(x, log2_wide(x.abs()).over(R::widen_integer(n)));
    let odd = n.has(1);
    let sign = R::Integer::select(odd, x.sign(), n.constant(0));
    // An even root of a negative number is none; -0 is no such number.
    let none = n.equals(n.constant(0)) | (x.less(x.constant(0.0)) & !odd);
    R::select(none, x.constant(f64::NAN), magnitude.signed_by(sign))
}

/// The cube root.
pub(super) fn cbrt<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let (significand, exponent) = magnitude.split();
    let (third, _) = exponent.nearest_multiple(1.0 / 3.0);
    // -1, 0 or 1.
    let left = third.mad(x.constant(-3.0), exponent);
    let number = significand.scale(left);
    // 1/∛number, whose square times the number is the root.
    let (zero, one) = (x.constant(0.0), x.constant(1.0));
    let factor = R::select(left.less(zero), x.constant(2f64.cbrt()), one);
    let factor = R::select(zero.less(left), x.constant(0.5f64.cbrt()), factor);
    let inverse = CBRT_OF_INVERSE.at(significand) * factor;
    let of_third = |x: R| x.times(1.0 / 3.0);
    // The polynomial has 14 bits, and each step twice as many: the last one, below, is enough for
    // single precision, and doubles need another.
    let inverse = if x.format() == Format::SINGLE {
        inverse
    } else {
        let rest = (-(inverse * inverse * inverse)).mad(number, one);
        of_third(inverse).mad(rest, inverse)
    };
    let square = inverse * inverse;
    let root = number * square;
    // What the root's cube lacks, over the derivative, three times the root's square.
    let rest = (-(root * root)).fma(root, number);
    let root = of_third(square).mad(rest, root);
    // Zero, infinity and NaN, which have no such exponent.
    let usual = magnitude.times(0.5).less(magnitude);
    R::select(usual, root.scale(third).signed_by(x.sign()), x)
}

/// The length of a vector.
pub(super) fn hypot<R: Real>(x: R, y: R) -> R {
    let sum = x.fma(x, y * y);
    // Between these what is lost of the squares makes no difference.
    let (least, most) = (
        x.pick(2f64.powi(-76), 2f64.powi(-900)),
        x.pick(2f64.powi(127), 2f64.powi(1023)),
    );
    let usual = sum.less(x.constant(most)) & x.constant(least).less(sum);
    let [length] = R::rarely(!usual, [sum.root()], || [hypot_of_any(x.abs(), y.abs())]);
    length
}

/// The same of numbers of any magnitude, which are not negative.
fn hypot_of_any<R: Real>(x: R, y: R) -> R {
    // The same for all powers of two: where squares would not be normal numbers, others are taken.
    let (one, infinity) = (x.constant(1.0), x.constant(f64::INFINITY));
    let longer = R::select(x.less(y), y, x);
    // Between these the sum of the squares is a normal number: from 2^-100 to 2^121 for single precision. The shorter
    // one's square may be lost, where it makes no difference to the sum.
    let large = x.constant(x.pick(2f64.powi(60), 2f64.powi(500))).less(longer);
    let small = longer.less(x.constant(x.pick(2f64.powi(-50), 2f64.powi(-400))));
    let scale_of = |of_large: i32, of_small: i32| {
        let scale = R::select(small, x.constant(2f64.powi(of_small)), one);
        R::select(large, x.constant(2f64.powi(of_large)), scale)
    };
    let (shorten, lengthen) = (x.pick(70, 600), x.pick(100, 600));
    let scale = scale_of(-shorten, lengthen);
    let (scaled_x, scaled_y) = (x * scale, y * scale);
    let length = scaled_x.fma(scaled_x, scaled_y * scaled_y).root();
    let length = length * scale_of(shorten, -lengthen);
    R::select(x.equals(infinity) | y.equals(infinity), infinity, length)
}

/// A double, and what must be added to it, if that matters.
struct Wide<W> {
    high: W,
    low: Option<W>,
}

impl<W: Real> Wide<W> {
    fn times(self, factor: W) -> Self {
        let high = self.high * factor;
        let low = |low: W| self.high.fma(factor, -high) + low * factor;
        Self {
            high,
            low: self.low.map(low),
        }
    }

    fn over(self, divisor: W) -> Self {
        let high = self.high / divisor;
        let low = |low: W| ((-high).fma(divisor, self.high) + low) / divisor;
        Self {
            high,
            low: self.low.map(low),
        }
    }
}

/// `2^x` in the format of another number.
fn exp2_wide<R: Real>(form: R, x: Wide<R::Wide>) -> R {
    // Beyond, it is zero or infinite.
    let limit = if x.low.is_none() { 160.0 } else { 1100.0 };
    let high = x.high.at_most(limit).at_least(-limit);
    let exponent = high.rint();
    let rest = high - exponent;
    let rest = x.low.map_or(rest, |low| {
        let zero = low.constant(0.0);
        // What is added to what is too large may be no number.
        rest + R::Wide::select(high.abs().less(high.constant(limit)), low, zero)
    });
    exp2_of_parts(form.narrow(exponent), form.narrow(rest))
}

/// The logarithm to base 2 of a number that is not negative, for single precision with 33 bits, for double with 64.
fn log2_wide<R: Real>(x: R) -> Wide<R::Wide> {
    let (significand, exponent) = x.split();
    let (fraction, exponent) = (significand.plus(-1.0).widen(), exponent.widen());
    if x.format() == Format::SINGLE {
        let high = LOG2_FRACTION.at(fraction).mad(fraction, exponent);
        return Wide { high, low: None };
    }
    let one = fraction.constant(1.0);
    // ln(1 + fraction) is 2 atanh(s) with s = fraction / (2 + fraction), each number in two parts from here on.
    let divisor = fraction.plus(2.0);
    let divisor_low = fraction - divisor.plus(-2.0);
    let inverse = one / divisor;
    let s = fraction * inverse;
    let s_low = ((-s).fma(divisor, fraction) - s * divisor_low) * inverse;
    let square = s * s;
    let square_low = s.fma(s, -square) + (s * s_low).times(2.0);
    // atanh(s) / s - 1 is square * (1/3 + square * ATANH).
    let third = one.times(1.0 / 3.0);
    let third_low = third.fma(one.constant(-3.0), one).times(1.0 / 3.0);
    let rest = ATANH.at(square) * square;
    let factor = third + rest;
    let factor_low = (third - factor) + rest + third_low;
    let product = square * factor;
    let product_low = square.fma(factor, -product) + square.fma(factor_low, square_low * factor);
    let cube = s * product;
    let cube_low = s.fma(product, -cube) + s.fma(product_low, s_low * product);
    let atanh = s + cube;
    let atanh_low = (s - atanh) + cube + (s_low + cube_low);
    let [scale, scale_low, _] = TWO_OVER_LN_2.of(fraction);
    let logarithm = atanh * scale;
    let logarithm_low = atanh.fma(scale, -logarithm) + atanh.fma(scale_low, atanh_low * scale);
    let high = exponent + logarithm;
    let low = (exponent - high) + logarithm + logarithm_low;
    // Infinities have no rest.
    let finite = high.abs().less(high.constant(f64::INFINITY));
    let low = R::Wide::select(finite, low, high.constant(0.0));
    Wide { high, low: Some(low) }
}
