//! Sines and their like: a polynomial of what is left of quarter turns.

use super::coefficients::{COS, FRAC_PI_2, PI, SIN};
use super::real::{Format, Integer, Real};
use super::reduction;

/// The sine.
pub(super) fn sin<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce(x.abs());
    sine(quarters, rest).signed_by(x.sign())
}

/// The cosine.
pub(super) fn cos<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce(x.abs());
    cosine(quarters, rest)
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
    let (quarters, rest) = reduce_small(x.abs());
    sine(quarters.to_integer(), rest).signed_by(x.sign())
}

/// The cosine of an angle up to 65536.
pub(super) fn cos_of_small<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_small(x.abs());
    cosine(quarters.to_integer(), rest)
}

/// The tangent of an angle up to 65536.
pub(super) fn tan_of_small<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_small(x.abs());
    tangent(quarters.to_integer(), rest).signed_by(x.sign())
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
    let turns = x.times(0.5).rint();
    let x = x - turns.times(2.0);
    let quarters = x.times(2.0).rint();
    let rest = x - quarters.times(0.5);
    let [high, low, _] = PI.of(x);
    (quarters.to_integer(), rest.mad(high, rest * low))
}

/// Which quarter turn is nearest, and what is left, if three parts of π/2 are enough for that.
fn reduce_small<R: Real>(x: R) -> (R, R) {
    let [high, middle, low] = FRAC_PI_2.of(x);
    let quarters = x.times(1.0 / FRAC_PI_2.double[0]).rint();
    // The first is exact.
    let rest = quarters.fma(-high, x);
    let rest = quarters.fma(-middle, rest);
    (quarters, quarters.fma(-low, rest))
}

/// Which quarter turn is nearest, modulo four beyond some, and what is left.
fn reduce<R: Real>(x: R) -> (R::Integer, R) {
    let (quarters, rest) = reduce_small(x);
    let small = x.less(x.constant(x.pick(65536.0, 1e9)));
    let [quarters, rest] = R::rarely(!small, [quarters, rest], || {
        let (quarters, rest) = reduction::quarters(x.widen());
        let rest = x.narrow(rest);
        let finite = x.less(x.constant(f64::INFINITY));
        [x.narrow(quarters), R::select(finite, rest, x.constant(f64::NAN))]
    });
    (quarters.to_integer(), rest)
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
