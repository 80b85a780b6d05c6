//! Sines and their like of single precision: a polynomial of what is left of quarter turns.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, PI};

use super::super::coefficients::{COS, SIN, TAN};
use super::super::real::{Integer, Real};
use super::super::reduction;
use super::high;

/// Up to here three parts of π/2 give the rest of quarter turns; beyond it takes many more.
const LARGE: f64 = 65536.0;

/// The sine.
pub(in super::super) fn sin<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce(x.abs());
    sine(quarters, rest).signed_by(x.sign())
}

/// The cosine.
pub(in super::super) fn cos<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce(x.abs());
    cosine(quarters, rest)
}

/// The sine and the cosine.
pub(in super::super) fn sincos<R: Real>(x: R) -> [R; 2] {
    let (quarters, rest) = reduce(x.abs());
    [sine(quarters, rest).signed_by(x.sign()), cosine(quarters, rest)]
}

/// The tangent.
pub(in super::super) fn tan<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce(x.abs());
    let square = rest * rest;
    let tangent = square.polynomial(&TAN).mad(square * rest, rest);
    let turned = x.constant(-1.0) / tangent;
    R::select(quarters.has(1), turned, tangent).signed_by(x.sign())
}

/// The sine of `π x`.
pub(in super::super) fn sinpi<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_half_turns(x.abs());
    positive_zero(sine(quarters, rest)).signed_by(x.sign())
}

/// The cosine of `π x`.
pub(in super::super) fn cospi<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_half_turns(x.abs());
    positive_zero(cosine(quarters, rest))
}

/// The tangent of `π x`.
pub(in super::super) fn tanpi<R: Real>(x: R) -> R {
    let (quarters, rest) = reduce_half_turns(x.abs());
    let sine = positive_zero(sine(quarters, rest)).signed_by(x.sign());
    sine / positive_zero(cosine(quarters, rest))
}

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
    let low = rest.times(PI - high(PI));
    (quarters.to_integer(), rest.mad(x.constant(high(PI)), low))
}

/// Which quarter turn is nearest, modulo four, and what is left.
fn reduce<R: Real>(x: R) -> (R::Integer, R) {
    const MIDDLE: f64 = high(FRAC_PI_2 - high(FRAC_PI_2));
    const LOW: f64 = FRAC_PI_2 - high(FRAC_PI_2) - MIDDLE + reduction::FRAC_PI_2_REST;
    let quarters = x.times(FRAC_2_PI).rint();
    // The first is exact.
    let rest = quarters.times_plus(-high(FRAC_PI_2), x);
    let rest = quarters.times_plus(-MIDDLE, rest);
    let rest = quarters.times_plus(-LOW, rest);
    let small = x.less(x.constant(LARGE));
    let [quarters, rest] = R::rarely(!small, [quarters, rest], || {
        let (quarters, rest, _) = reduction::quarters(x.widen());
        let rest = R::narrow(rest);
        let finite = x.less(x.constant(f64::INFINITY));
        [R::narrow(quarters), R::select(finite, rest, x.constant(f64::NAN))]
    });
    (quarters.to_integer(), rest)
}

fn sine<R: Real>(quarters: R::Integer, rest: R) -> R {
    let square = rest * rest;
    let odd = quarters.has(1);
    let value = R::select(odd, cosine_of_rest(square), sine_of_rest(rest, square));
    value.signed_by(sign_of_half_turn(quarters))
}

fn cosine<R: Real>(quarters: R::Integer, rest: R) -> R {
    let square = rest * rest;
    let odd = quarters.has(1);
    let value = R::select(odd, sine_of_rest(rest, square), cosine_of_rest(square));
    value.signed_by(sign_of_half_turn(quarters + quarters.constant(1)))
}

fn sine_of_rest<R: Real>(x: R, square: R) -> R {
    square.polynomial(&SIN).mad(square * x, x)
}

fn cosine_of_rest<R: Real>(square: R) -> R {
    let one = square.constant(1.0);
    square
        .polynomial(&COS)
        .mad(square, square.constant(-0.5))
        .mad(square, one)
}

/// The sign bit where the second and third of four quarters are negative.
fn sign_of_half_turn<I: Integer>(quarters: I) -> I {
    (quarters & quarters.constant(2)).left(30)
}
