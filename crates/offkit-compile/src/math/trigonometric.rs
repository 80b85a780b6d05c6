//! Sines and their like: a polynomial of what is left of quarter turns.

use super::coefficients::{COS, FRAC_1_PI, FRAC_PI_2, PI, SIN, SIN_OF_HALF_TURN};
use super::real::{Format, Integer, Parts, Real};
use super::reduction;

/// The sine.
pub(super) fn sin<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let small = nearest_zero_of_sine(magnitude);
    let reduced = R::rarely(is_large(magnitude), small, || {
        let (quarters, rest) = reduce_large(magnitude);
        sine_as_half_turn(quarters.to_integer(), rest)
    });
    sine_of_half_turn(reduced).signed_by(x.sign())
}

/// The cosine.
pub(super) fn cos<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let small = nearest_zero_of_cosine(magnitude);
    let reduced = R::rarely(is_large(magnitude), small, || {
        let (quarters, rest) = reduce_large(magnitude);
        let quarters = quarters.to_integer();
        // The cosine is the sine a quarter turn on.
        sine_as_half_turn(quarters + quarters.constant(1), rest)
    });
    sine_of_half_turn(reduced)
}

/// The sine and the cosine.
pub(super) fn sincos<R: Real>(x: R) -> [R; 2] {
    let (quarters, rest) = reduce(x.abs());
    [sine(quarters, rest).signed_by(x.sign()), cosine(quarters, rest)]
}

/// The tangent.
pub(super) fn tan<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce(x.abs());
    tangent(quarters, rest).signed_by(x.sign())
}

/// The sine of an angle up to 65536.
pub(super) fn sin_of_small<R: Real>(x: R) -> R {
    sine_of_half_turn(nearest_zero_of_sine(x.abs())).signed_by(x.sign())
}

/// The cosine of an angle up to 65536.
pub(super) fn cos_of_small<R: Real>(x: R) -> R {
    sine_of_half_turn(nearest_zero_of_cosine(x.abs()))
}

/// The tangent of an angle up to 65536.
pub(super) fn tan_of_small<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_small(x.abs());
    tangent(quarters, rest).signed_by(x.sign())
}

/// The sine of `π x`.
pub(super) fn sinpi<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_half_turns(x.abs());
    positive_zero(sine(quarters, rest)).signed_by(x.sign())
}

/// The cosine of `π x`.
pub(super) fn cospi<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_half_turns(x.abs());
    positive_zero(cosine(quarters, rest))
}

/// The tangent of `π x`.
pub(super) fn tanpi<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_half_turns(x.abs());
    let sine = positive_zero(sine(quarters, rest)).signed_by(x.sign());
    sine / positive_zero(cosine(quarters, rest))
}

// OpenCL says which zeros these are: `cospi` gives +0 only, and `sinpi` of a whole number a zero of its sign.
fn positive_zero<R: Real>(x: R) -> R {
    let zero = x.constant(0.0);
    R::select(x.equals(zero), zero, x)
}

/// As [`reduce`] for `π x`, of which whole turns and quarters are known exactly.
fn reduce_half_turns<R: Real>(x: R) -> (R::Integer, R) {
    // Whole turns first, so that the number of quarters is small enough for an integer.
    let turns = x.times(0.5).rint();
    let x = x - turns.times(2.0);
    let quarters = x.times(2.0).rint();
    let rest = x - quarters.times(0.5);
    let [high, low, _] = PI.of(x);
    (quarters.to_integer(), rest.mad(high, rest * low))
}

/// Whether three parts of π are not enough to reduce an angle.
fn is_large<R: Real>(x: R) -> R::Mask {
    // Infinities and NaN count as large: `reduce_large` makes NaN of them.
    !x.less(x.constant(x.pick(65536.0, 1e9)))
}

/// `x - count * constant`, with three times the bits of the constant.
fn less_multiple<R: Real>(x: R, count: R, constant: &Parts) -> R {
    let [high, middle, low] = constant.of(x);
    // The first is exact.
    let rest = count.fma(-high, x);
    let rest = count.fma(-middle, rest);
    count.fma(-low, rest)
}

/// The nearest zero of the sine: the sign bit that the sine has above it, as a number, and how far above it is.
fn nearest_zero_of_sine<R: Real>(x: R) -> [R; 2] {
    let (half_turns, bits) = x.nearest_multiple(FRAC_1_PI.double[0]);
    let sign = R::from_bits(bits.left(x.format().bits() - 1));
    [sign, less_multiple(x, half_turns, &PI)]
}

/// The nearest zero of the cosine, likewise, but how far below it is.
fn nearest_zero_of_cosine<R: Real>(x: R) -> [R; 2] {
    let (half_turns, bits) = x.plus(-FRAC_PI_2.double[0]).nearest_multiple(FRAC_1_PI.double[0]);
    let sign = R::from_bits(bits.left(x.format().bits() - 1));
    [sign, -less_multiple(x, half_turns.plus(0.5), &PI)]
}

/// As [`nearest_zero_of_sine`] from the nearest quarter turn.
fn sine_as_half_turn<R: Real>(quarters: R::Integer, rest: R) -> [R; 2] {
    let [high, low, _] = FRAC_PI_2.of(rest);
    let next = high - (rest.abs() - low);
    let sign = sign_of_half_turn(rest.format(), quarters);
    [R::from_bits(sign), R::select(quarters.has(1), next, rest)]
}

/// The sine of an angle of at most a quarter turn, and its sign.
// One polynomial on half a turn has fewer operations than that of the sine and that of the cosine on a quarter, of which
// each lane needs one.
fn sine_of_half_turn<R: Real>([sign, angle]: [R; 2]) -> R {
    let square = angle * angle;
    SIN_OF_HALF_TURN
        .at(square)
        .mad(square * angle, angle)
        .signed_by(sign.bits())
}

/// Which quarter turn is nearest, and what is left, of angles that are not large.
fn reduce_small<R: Real>(x: R) -> (R::Integer, R) {
    let (quarters, bits) = x.nearest_multiple(1.0 / FRAC_PI_2.double[0]);
    (bits, less_multiple(x, quarters, &FRAC_PI_2))
}

/// Which quarter turn is nearest, modulo four, and what is left, of any angle.
fn reduce_large<R: Real>(x: R) -> (R, R) {
    let (quarters, rest) = reduction::quarters(x.widen());
    let rest = x.narrow(rest);
    let finite = x.less(x.constant(f64::INFINITY));
    (x.narrow(quarters), R::select(finite, rest, x.constant(f64::NAN)))
}

/// Which quarter turn is nearest, in the lowest two bits, and what is left.
fn reduce<R: Real>(x: R) -> (R::Integer, R) {
    let (quarters, rest) = reduce_small(x);
    let [quarters, rest] = R::rarely(is_large(x), [R::from_bits(quarters), rest], || {
        let (quarters, rest) = reduce_large(x);
        [R::from_bits(quarters.to_integer()), rest]
    });
    (quarters.bits(), rest)
}

fn sine<R: Real>(quarters: R::Integer, rest: R) -> R {
    let square = rest * rest;
    let (sine, cosine) = (sine_of_rest(rest, square), cosine_of_rest(square));
    R::select(quarters.has(1), cosine, sine).signed_by(sign_of_half_turn(rest.format(), quarters))
}

fn cosine<R: Real>(quarters: R::Integer, rest: R) -> R {
    let square = rest * rest;
    let (sine, cosine) = (sine_of_rest(rest, square), cosine_of_rest(square));
    // The cosine changes its sign a quarter turn before the sine does.
    let next = quarters + quarters.constant(1);
    R::select(quarters.has(1), sine, cosine).signed_by(sign_of_half_turn(rest.format(), next))
}

fn tangent<R: Real>(quarters: R::Integer, rest: R) -> R {
    let square = rest * rest;
    let (sine, cosine) = (sine_of_rest(rest, square), cosine_of_rest(square));
    let odd = quarters.has(1);
    R::select(odd, -cosine, sine) / R::select(odd, sine, cosine)
}

fn sine_of_rest<R: Real>(x: R, square: R) -> R {
    SIN.at(square).mad(square * x, x)
}

fn cosine_of_rest<R: Real>(square: R) -> R {
    let one = square.constant(1.0);
    COS.at(square).mad(square, square.constant(-0.5)).mad(square, one)
}

/// The sign bit where the second and third of four quarters are negative.
fn sign_of_half_turn<I: Integer>(format: Format, quarters: I) -> I {
    (quarters & quarters.constant(2)).left(format.bits() - 2)
}
