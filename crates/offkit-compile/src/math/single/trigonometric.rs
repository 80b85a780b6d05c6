//! Sines and their like of single precision: a polynomial of what is left of quarter turns.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::super::coefficients::{COS, SIN};
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
