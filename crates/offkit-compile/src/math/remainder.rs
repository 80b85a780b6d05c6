//! Remainders of single precision, exactly: doubles have the products of quotients of up to 29 bits.

use super::real::Real;

/// `x - y * trunc(x / y)`.
pub(super) fn fmod<R: Real>(x: R, y: R) -> R {
    let rest = x.narrow(modulo::<R>(x.abs().widen(), y.abs().widen()));
    finish(rest, x, y)
}

/// `x - y * rint(x / y)`.
pub(super) fn remainder<R: Real>(x: R, y: R) -> R {
    let divisor = y.abs().widen();
    // What two divisors leave, so that it is known whether the quotient is even.
    let rest = modulo::<R>(x.abs().widen(), divisor + divisor);
    let half = divisor.times(0.5);
    let once = R::Wide::select(half.less(rest), rest - divisor, rest);
    let nearest = R::Wide::select(rest.less(divisor + half), once, rest - (divisor + divisor));
    finish(x.narrow(nearest), x, y)
}

/// With the sign of x; x itself if y is infinite.
fn finish<R: Real>(rest: R, x: R, y: R) -> R {
    let infinity = x.constant(f64::INFINITY);
    let rest = rest.signed_by(x.sign());
    R::select(y.abs().equals(infinity) & x.abs().less(infinity), x, rest)
}

/// The remainder of two positive doubles that single precision has, or twice as much.
fn modulo<R: Real>(x: R::Wide, y: R::Wide) -> R::Wide {
    const STEP: i32 = 28;
    let few = (x / y).less(x.constant(2f64.powi(STEP)));
    let [rest] = R::Wide::rarely(!few, [step(x, y)], || {
        // The greatest number is 2^277 times the least.
        [(0..=277 / STEP)
            .rev()
            .fold(x, |rest, steps| step(rest, y.times(2f64.powi(STEP * steps))))]
    });
    rest
}

/// The remainder of numbers whose quotient has few bits.
fn step<R: Real>(x: R, y: R) -> R {
    let rest = (-(x / y).trunc()).fma(y, x);
    // The quotient may have been rounded up.
    R::select(rest.less(rest.constant(0.0)), rest + y, rest)
}
