//! The floating-point functions that work lane by lane, for each of the float types. They compute on the `f64` value
//! of an operand and round their result.

use offkit_spirv::grammar::{FPRoundingMode as Rounding, OpenclStd100Op as Op};

use super::float::{self, Float, Format};
use super::integer::{sign_extend, truncate};
use super::{Arguments, PureFn, Scalar, Shape, convert, each, lane, math};

/// The function that evaluates an instruction on operands of the result's type (`ldexp`, `pown` and
/// `rootn`: the second one an integer).
pub(super) fn resolve(op: Op, scalar: Scalar, operands: usize) -> Option<PureFn> {
    let (arity, function) = match scalar {
        Scalar::F16 => function::<half::f16>(op)?,
        Scalar::F32 => function::<f32>(op)?,
        Scalar::F64 => function::<f64>(op)?,
        _ => return None,
    };
    (arity == operands).then_some(function)
}

/// A function on words, by one on numbers and what applies that to the lanes. The functions with two results are
/// those that write a second one.
macro_rules! by {
    (pair, $function:expr) => {
        |_, a, out, second| pair::<R>(a, out, second, $function)
    };
    (with_integer, $function:expr) => {
        |_, a, out, second| with_integer::<R>(a, out, second, $function)
    };
    ($lanes:ident, $function:expr) => {
        |_, a, out, _| $lanes::<R>(a, out, $function)
    };
}

fn function<R: Float>(op: Op) -> Option<(usize, PureFn)> {
    if let Some(function) = unary_function::<R>(op) {
        return Some((1, function));
    }
    Some(match op {
        Op::fract => (1, fract::<R>),
        Op::modf => (1, by!(pair, math::modf)),
        Op::sincos => (1, by!(pair, libm::sincos)),
        Op::frexp => (1, by!(with_integer, |x, _| math::frexp(x))),
        Op::lgamma_r => (1, by!(with_integer, |x, _| math::lgamma_r(x))),
        Op::remquo => (2, by!(with_integer, math::remquo)),

        Op::atan2 => (2, by!(binary, libm::atan2)),
        Op::atan2pi => (2, by!(binary, math::atan2pi)),
        Op::copysign => (2, copysign::<R>),
        Op::fdim => (2, by!(binary, libm::fdim)),
        Op::fmax => (2, by!(binary, math::fmax)),
        Op::fmin => (2, by!(binary, math::fmin)),
        // With a NaN these may give anything, unlike `fmax` and `fmin`.
        Op::fmax_common => (2, by!(binary, |x, y| if x < y { y } else { x })),
        Op::fmin_common => (2, by!(binary, |x, y| if y < x { y } else { x })),
        Op::fmod => (2, by!(binary, libm::fmod)),
        Op::hypot => (2, by!(binary, libm::hypot)),
        Op::maxmag => (2, by!(binary, math::maxmag)),
        Op::minmag => (2, by!(binary, math::minmag)),
        Op::nextafter => (2, nextafter::<R>),
        Op::pow => (2, by!(binary, libm::pow)),
        Op::powr | Op::half_powr | Op::native_powr => (2, by!(binary, math::powr)),
        Op::half_divide | Op::native_divide => (2, by!(binary, |x, y| x / y)),
        Op::remainder => (2, by!(binary, |x, y| math::remquo(x, y).0)),
        Op::step => (2, by!(binary, math::step)),
        Op::ldexp => (2, by!(scaled, libm::ldexp)),
        Op::pown => (2, by!(scaled, |x, n| libm::pow(x, n.into()))),
        Op::rootn => (2, by!(scaled, math::rootn)),

        // `mad` may round however it likes, and so as well as `fma` does.
        Op::fma | Op::mad => (3, by!(ternary, R::fused)),
        Op::fclamp => (3, by!(ternary, math::clamp)),
        Op::mix => (3, by!(ternary, math::mix)),
        Op::smoothstep => (3, by!(ternary, math::smoothstep)),
        _ => return None,
    })
}

fn unary_function<R: Float>(op: Op) -> Option<PureFn> {
    Some(match op {
        Op::acos => by!(unary, libm::acos),
        Op::acosh => by!(unary, math::acosh),
        Op::acospi => by!(unary, math::acospi),
        Op::asin => by!(unary, libm::asin),
        Op::asinh => by!(unary, libm::asinh),
        Op::asinpi => by!(unary, math::asinpi),
        Op::atan => by!(unary, libm::atan),
        Op::atanh => by!(unary, libm::atanh),
        Op::atanpi => by!(unary, math::atanpi),
        Op::cbrt => by!(unary, libm::cbrt),
        Op::ceil => by!(unary, libm::ceil),
        // The `half_` and `native_` forms may be less exact than the others, but need not be.
        Op::cos | Op::half_cos | Op::native_cos => by!(unary, libm::cos),
        Op::cosh => by!(unary, libm::cosh),
        Op::cospi => by!(unary, math::cospi),
        Op::degrees => by!(unary, math::degrees),
        Op::erf => by!(unary, libm::erf),
        Op::erfc => by!(unary, libm::erfc),
        Op::exp | Op::half_exp | Op::native_exp => by!(unary, libm::exp),
        Op::exp2 | Op::half_exp2 | Op::native_exp2 => by!(unary, libm::exp2),
        Op::exp10 | Op::half_exp10 | Op::native_exp10 => by!(unary, math::exp10),
        Op::expm1 => by!(unary, libm::expm1),
        Op::fabs => fabs::<R>,
        Op::floor => by!(unary, libm::floor),
        Op::lgamma => by!(unary, |x| math::lgamma_r(x).0),
        Op::log | Op::half_log | Op::native_log => by!(unary, libm::log),
        Op::log2 | Op::half_log2 | Op::native_log2 => by!(unary, libm::log2),
        Op::log10 | Op::half_log10 | Op::native_log10 => by!(unary, libm::log10),
        Op::log1p => by!(unary, libm::log1p),
        Op::logb => by!(unary, math::logb),
        Op::radians => by!(unary, math::radians),
        Op::half_recip | Op::native_recip => by!(unary, |x| 1.0 / x),
        Op::rint => by!(unary, libm::rint),
        Op::round => by!(unary, libm::round),
        Op::rsqrt | Op::half_rsqrt | Op::native_rsqrt => {
            by!(unary, |x| 1.0 / libm::sqrt(x))
        }
        Op::sign => by!(unary, math::sign),
        Op::sin | Op::half_sin | Op::native_sin => by!(unary, libm::sin),
        Op::sinh => by!(unary, libm::sinh),
        Op::sinpi => by!(unary, math::sinpi),
        Op::sqrt | Op::half_sqrt | Op::native_sqrt => by!(unary, libm::sqrt),
        Op::tan | Op::half_tan | Op::native_tan => by!(unary, libm::tan),
        Op::tanh => by!(unary, libm::tanh),
        Op::tanpi => by!(unary, math::tanpi),
        Op::tgamma => by!(unary, libm::tgamma),
        Op::trunc => by!(unary, libm::trunc),
        _ => return None,
    })
}

fn value<R: Float>(args: Arguments<'_>, operand: usize, index: usize) -> f64 {
    args.get(operand)
        .map_or(0.0, |arg| float::to_f64(R::FORMAT, lane(arg, index)))
}

fn integer(args: Arguments<'_>, operand: usize, index: usize) -> i64 {
    args.get(operand)
        .map_or(0, |arg| sign_extend(arg.1.scalar, lane(arg, index)))
}

fn round<R: Float>(value: f64) -> u64 {
    float::from_f64(R::FORMAT, value, Rounding::RTE)
}

fn unary<R: Float>(args: Arguments<'_>, out: &mut [u64], function: fn(f64) -> f64) {
    each(out, |index| round::<R>(function(value::<R>(args, 0, index))));
}

fn binary<R: Float>(args: Arguments<'_>, out: &mut [u64], function: fn(f64, f64) -> f64) {
    each(out, |index| {
        round::<R>(function(value::<R>(args, 0, index), value::<R>(args, 1, index)))
    });
}

fn ternary<R: Float>(args: Arguments<'_>, out: &mut [u64], function: fn(f64, f64, f64) -> f64) {
    for (index, out) in out.iter_mut().enumerate() {
        let [x, y, z] = [0, 1, 2].map(|operand| value::<R>(args, operand, index));
        *out = round::<R>(function(x, y, z));
    }
}

/// A function of a number and an integer of 32 bits.
fn scaled<R: Float>(args: Arguments<'_>, out: &mut [u64], function: fn(f64, i32) -> f64) {
    each(out, |index| {
        round::<R>(function(
            value::<R>(args, 0, index),
            integer(args, 1, index) as i32,
        ))
    });
}

/// A function with two results of its operand's type.
fn pair<R: Float>(args: Arguments<'_>, out: &mut [u64], second: &mut [u64], function: fn(f64) -> (f64, f64)) {
    for (index, (out, second)) in out.iter_mut().zip(second).enumerate() {
        let results = function(value::<R>(args, 0, index));
        (*out, *second) = (round::<R>(results.0), round::<R>(results.1));
    }
}

/// A function of one or two operands whose second result is an `int`.
fn with_integer<R: Float>(
    args: Arguments<'_>,
    out: &mut [u64],
    second: &mut [u64],
    function: fn(f64, f64) -> (f64, i32),
) {
    for (index, (out, second)) in out.iter_mut().zip(second).enumerate() {
        // An operand that is not there counts as zero, and functions of one do not look at it.
        let results = function(value::<R>(args, 0, index), value::<R>(args, 1, index));
        (*out, *second) = (round::<R>(results.0), truncate(Scalar::I32, results.1 as u64));
    }
}

/// `fabs` on the bits, so that NaNs are left as they are.
fn fabs<R: Float>(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [x] = args else { return };
    each(out, |index| lane(x, index) & !R::FORMAT.sign());
}

/// `copysign` on the bits, so that NaNs keep and give their signs.
fn copysign<R: Float>(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [x, y] = args else { return };
    let sign = R::FORMAT.sign();
    each(out, |index| lane(x, index) & !sign | lane(y, index) & sign);
}

/// The part above the next lower whole number, always below one, and that number.
fn fract<R: Float>(_: Shape, args: Arguments<'_>, out: &mut [u64], second: &mut [u64]) {
    for (index, (out, second)) in out.iter_mut().zip(second).enumerate() {
        let x = value::<R>(args, 0, index);
        let floor = libm::floor(x);
        let fraction = if x.is_infinite() { 0.0 } else { x - floor };
        let fraction = if fraction == 0.0 {
            libm::copysign(0.0, x)
        } else {
            fraction
        };
        let bits = round::<R>(fraction);
        // What is left of a tiny negative number rounds to one.
        *out = if fraction > 0.0 {
            bits.min(R::FORMAT.below_one())
        } else {
            bits
        };
        *second = round::<R>(floor);
    }
}

/// The next value of the type in the direction of another one.
fn nextafter<R: Float>(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [from, to] = args else { return };
    for (index, out) in out.iter_mut().enumerate() {
        let bits = lane(from, index);
        let (x, y) = (value::<R>(args, 0, index), value::<R>(args, 1, index));
        *out = if x.is_nan() || y.is_nan() {
            round::<R>(x + y)
        } else if x == y {
            lane(to, index)
        } else if x == 0.0 {
            lane(to, index) & R::FORMAT.sign() | 1
        // Without the sign, the bits of numbers are in the order of their magnitudes: the next one is one more or one
        // less.
        } else if (y > x) == (x > 0.0) {
            bits + 1
        } else {
            bits - 1
        };
    }
}

/// The exponent of the leading bit as an integer.
pub(super) fn ilogb(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [x] = args else { return };
    each(out, |index| {
        truncate(
            result.scalar,
            math::ilogb(convert::to_f64(x.1.scalar, lane(x, index))) as u64,
        )
    });
}

/// A quiet NaN with the operand as its payload.
pub(super) fn nan(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let ([code], Some(format)) = (args, Format::of(result.scalar)) else {
        return;
    };
    each(out, |index| {
        format.quiet_nan() | lane(code, index) & format.significand_mask()
    });
}
