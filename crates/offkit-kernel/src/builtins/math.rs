//! The mathematical functions that `libm` lacks or defines differently, on `f64`.

use core::f64::consts::{FRAC_1_PI, LN_10, LOG2_10, PI};

/// `x / π` for the inverse functions in half-turns.
fn over_pi(x: f64) -> f64 {
    // π is not a double: dividing by its nearest neighbour is closer than multiplying by the rounded
    // inverse.
    x / PI
}

pub(super) fn acospi(x: f64) -> f64 {
    over_pi(libm::acos(x))
}

pub(super) fn asinpi(x: f64) -> f64 {
    over_pi(libm::asin(x))
}

pub(super) fn atanpi(x: f64) -> f64 {
    over_pi(libm::atan(x))
}

pub(super) fn atan2pi(y: f64, x: f64) -> f64 {
    over_pi(libm::atan2(y, x))
}

pub(super) fn acosh(x: f64) -> f64 {
    // `libm` makes numbers of some arguments for which there is none.
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// `10^x`, within one and a half units in the last place.
pub(super) fn exp10(x: f64) -> f64 {
    if (0.0..=22.0).contains(&x) && x == libm::trunc(x) {
        // Exact, and so is every product on the way.
        return (0..x as u32).fold(1.0, |power, _| power * 10.0);
    }
    // The upper part of log10(2) has so few bits that its product with any exponent is exact.
    const LOG10_2: [f64; 2] = [0.301_029_995_607_677_85, 5.630_334_806_675_098e-11];
    const LN_10_REST: f64 = -2.170_756_223_382_249_4e-16;
    // Beyond, everything is zero or infinite; NaN stays as it is.
    let x = x.clamp(-400.0, 400.0);
    let exponent = libm::rint(x * LOG2_10);
    let rest = libm::fma(-exponent, LOG10_2[1], x - exponent * LOG10_2[0]);
    // 10^x = 2^exponent · e^(rest · ln 10), where the product is a sum of two numbers.
    let power = rest * LN_10;
    let error = libm::fma(rest, LN_10, -power) + rest * LN_10_REST;
    let root = libm::exp(power);
    libm::ldexp(libm::fma(root, error, root), exponent as i32)
}

/// The sine and cosine of `π x`; zeros of the sine keep the sign of `x`.
pub(super) fn sincospi(x: f64) -> (f64, f64) {
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    // Exact: the remainder of a turn, then the nearest quarter turn and what is left of it, at most 1/4.
    let turn = libm::fmod(x, 2.0);
    let quarter = libm::rint(2.0 * turn);
    let (sin, cos) = libm::sincos(PI * (turn - quarter / 2.0));
    let (sin, cos) = match quarter as i32 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    (
        if sin == 0.0 { libm::copysign(0.0, x) } else { sin },
        if cos == 0.0 { 0.0 } else { cos },
    )
}

pub(super) fn sinpi(x: f64) -> f64 {
    sincospi(x).0
}

pub(super) fn cospi(x: f64) -> f64 {
    sincospi(x).1
}

pub(super) fn tanpi(x: f64) -> f64 {
    let (sin, cos) = sincospi(x);
    if sin == 0.0 {
        // Zero with the sign of x at even numbers and the other one at odd numbers.
        return libm::copysign(0.0, x) * cos;
    }
    if cos == 0.0 {
        // +∞ at n + 1/2 for even n, -∞ for odd n: the sign of the sine.
        return libm::copysign(f64::INFINITY, sin);
    }
    sin / cos
}

/// The exponent of the leading bit as an integer: `INT_MIN` for zero, `INT_MAX` for infinity and NaN.
pub(super) fn ilogb(x: f64) -> i32 {
    if x == 0.0 {
        i32::MIN
    } else if x.is_finite() {
        libm::frexp(x).1 - 1
    } else {
        i32::MAX
    }
}

/// The exponent of the leading bit: `-∞` for zero, `+∞` for infinity.
pub(super) fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_finite() {
        f64::from(ilogb(x))
    } else {
        // Both infinities become the positive one, and a NaN stays one.
        x * x
    }
}

/// The significand in [1/2, 1) and the exponent; infinity and NaN keep their value and get exponent zero.
pub(super) fn frexp(x: f64) -> (f64, i32) {
    if x.is_finite() { libm::frexp(x) } else { (x, 0) }
}

/// The fractional and the whole part, both with the sign of `x`.
pub(super) fn modf(x: f64) -> (f64, f64) {
    let whole = libm::trunc(x);
    let fraction = if x.is_infinite() { 0.0 } else { x - whole };
    (
        if x.is_nan() {
            x
        } else {
            // Of a whole number the difference is +0, whatever the number's sign.
            libm::copysign(fraction, x)
        },
        whole,
    )
}

/// The remainder of `x / y` to nearest and the low seven bits of the quotient with its sign.
pub(super) fn remquo(x: f64, y: f64) -> (f64, i32) {
    if !x.is_finite() || y == 0.0 || y.is_nan() {
        return (f64::NAN, 0);
    }
    let (remainder, quotient) = libm::remquo(x, y);
    let bits = (quotient.unsigned_abs() & 0x7f) as i32;
    (remainder, if quotient < 0 { -bits } else { bits })
}

/// The logarithm of the absolute value of the gamma function, and the function's sign (zero at its poles).
pub(super) fn lgamma_r(x: f64) -> (f64, i32) {
    let pole = x == 0.0 || x.is_infinite() || x < 0.0 && x == libm::floor(x);
    let (value, sign) = libm::lgamma_r(x);
    if x == 0.0 {
        (f64::INFINITY, if x.is_sign_negative() { -1 } else { 1 })
    } else if pole {
        (f64::INFINITY, i32::from(x == f64::INFINITY))
    } else {
        (value, sign)
    }
}

/// `x^y` for `x >= 0`, where unlike in `pow` the limits that depend on the path are NaN.
pub(super) fn powr(x: f64, y: f64) -> f64 {
    let undefined = x < 0.0
        || x.is_nan()
        || y.is_nan()
        || x == 0.0 && y == 0.0
        || x == f64::INFINITY && y == 0.0
        || x == 1.0 && y.is_infinite();
    if undefined {
        f64::NAN
    } else {
        libm::pow(libm::fabs(x), y)
    }
}

/// The `n`-th root.
pub(super) fn rootn(x: f64, n: i32) -> f64 {
    let n = f64::from(n);
    let odd = n % 2.0 != 0.0;
    if n == 0.0 || x.is_nan() || x < 0.0 && !odd {
        return f64::NAN;
    }
    let power = 1.0 / n;
    let magnitude = libm::fabs(x);
    let root = libm::pow(magnitude, power);
    // The error of the rounded 1/n counts ln(x) times over: far too much for large x unless it is put
    // right.
    let rest = libm::fma(-n, power, 1.0) / n;
    let correction = rest * libm::log(magnitude);
    let root = if correction.is_finite() && root.is_normal() {
        root + root * correction
    } else {
        root
    };
    if odd { libm::copysign(root, x) } else { root }
}

/// The operand with the larger magnitude; equal ones as `fmax` has it.
pub(super) fn maxmag(x: f64, y: f64) -> f64 {
    let (a, b) = (libm::fabs(x), libm::fabs(y));
    if a > b {
        x
    } else if b > a {
        y
    } else {
        fmax(x, y)
    }
}

/// The operand with the smaller magnitude; equal ones as `fmin` has it.
pub(super) fn minmag(x: f64, y: f64) -> f64 {
    let (a, b) = (libm::fabs(x), libm::fabs(y));
    if a < b {
        x
    } else if b < a {
        y
    } else {
        fmin(x, y)
    }
}

/// The larger operand; a number if only one is NaN.
pub(super) fn fmax(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y { y } else { x }
}

/// The smaller operand; a number if only one is NaN.
pub(super) fn fmin(x: f64, y: f64) -> f64 {
    if x.is_nan() || y < x { y } else { x }
}

pub(super) fn clamp(x: f64, low: f64, high: f64) -> f64 {
    fmin(fmax(x, low), high)
}

pub(super) fn degrees(x: f64) -> f64 {
    x * (180.0 * FRAC_1_PI)
}

pub(super) fn radians(x: f64) -> f64 {
    x * (PI / 180.0)
}

pub(super) fn mix(x: f64, y: f64, a: f64) -> f64 {
    x + (y - x) * a
}

pub(super) fn step(edge: f64, x: f64) -> f64 {
    if x < edge { 0.0 } else { 1.0 }
}

pub(super) fn smoothstep(low: f64, high: f64, x: f64) -> f64 {
    let t = clamp((x - low) / (high - low), 0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// -1, 1, or the zero that `x` is; zero for NaN.
pub(super) fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else if x.is_nan() {
        0.0
    } else {
        x
    }
}
