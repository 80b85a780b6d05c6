//! The floating-point functions that work lane by lane, for each of the float types.

use offkit_spirv::grammar::{FPRoundingMode as Rounding, OpenclStd100Op as Op};

use super::float::{self, DOUBLE, Format, HALF, SINGLE};
use super::integer::{sign_extend, truncate};
use super::{Arguments, PureFn, Scalar, Shape, convert, each, lane, math};

/// A float type. Functions compute on the `f64` value of an operand and round their result.
trait Real {
    const FORMAT: Format;

    /// `x * y + z`, rounded once.
    fn fused(x: f64, y: f64, z: f64) -> f64;
}

/// `half`
enum Half {}
/// `float`
enum Single {}
/// `double`
enum Double {}

impl Real for Half {
    const FORMAT: Format = HALF;

    fn fused(x: f64, y: f64, z: f64) -> f64 {
        // The product has 22 bits, and where the sum needs more than 53 its low end is too far below to
        // matter.
        libm::fma(x, y, z)
    }
}

impl Real for Single {
    const FORMAT: Format = SINGLE;

    fn fused(x: f64, y: f64, z: f64) -> f64 {
        libm::fmaf(x as f32, y as f32, z as f32).into()
    }
}

impl Real for Double {
    const FORMAT: Format = DOUBLE;

    fn fused(x: f64, y: f64, z: f64) -> f64 {
        libm::fma(x, y, z)
    }
}

/// The function that evaluates an instruction on operands of the result's type (`ldexp`, `pown` and
/// `rootn`: the second one an integer).
pub(super) fn resolve(op: Op, scalar: Scalar, operands: usize) -> Option<PureFn> {
    let (arity, function) = match scalar {
        Scalar::F16 => function::<Half>(op)?,
        Scalar::F32 => function::<Single>(op)?,
        Scalar::F64 => function::<Double>(op)?,
        _ => return None,
    };
    (arity == operands).then_some(function)
}

fn function<R: Real>(op: Op) -> Option<(usize, PureFn)> {
    if let Some(function) = unary_function::<R>(op) {
        return Some((1, function));
    }
    Some(match op {
        Op::fract => (1, fract::<R>),
        Op::modf => (1, |_, a, out, second| pair::<R>(a, out, second, math::modf)),
        Op::sincos => (1, |_, a, out, second| pair::<R>(a, out, second, libm::sincos)),
        Op::frexp => (1, |_, a, out, second| {
            with_integer::<R>(a, out, second, |x, _| math::frexp(x))
        }),
        Op::lgamma_r => (1, |_, a, out, second| {
            with_integer::<R>(a, out, second, |x, _| math::lgamma_r(x))
        }),
        Op::remquo => (2, |_, a, out, second| {
            with_integer::<R>(a, out, second, math::remquo)
        }),

        Op::atan2 => (2, |_, a, out, _| binary::<R>(a, out, libm::atan2)),
        Op::atan2pi => (2, |_, a, out, _| binary::<R>(a, out, math::atan2pi)),
        Op::copysign => (2, copysign::<R>),
        Op::fdim => (2, |_, a, out, _| binary::<R>(a, out, libm::fdim)),
        Op::fmax => (2, |_, a, out, _| binary::<R>(a, out, math::fmax)),
        Op::fmin => (2, |_, a, out, _| binary::<R>(a, out, math::fmin)),
        Op::fmax_common => (2, |_, a, out, _| {
            binary::<R>(a, out, |x, y| if x < y { y } else { x })
        }),
        Op::fmin_common => (2, |_, a, out, _| {
            binary::<R>(a, out, |x, y| if y < x { y } else { x })
        }),
        Op::fmod => (2, |_, a, out, _| binary::<R>(a, out, libm::fmod)),
        Op::hypot => (2, |_, a, out, _| binary::<R>(a, out, libm::hypot)),
        Op::maxmag => (2, |_, a, out, _| binary::<R>(a, out, math::maxmag)),
        Op::minmag => (2, |_, a, out, _| binary::<R>(a, out, math::minmag)),
        Op::nextafter => (2, nextafter::<R>),
        Op::pow => (2, |_, a, out, _| binary::<R>(a, out, libm::pow)),
        Op::powr | Op::half_powr | Op::native_powr => (2, |_, a, out, _| binary::<R>(a, out, math::powr)),
        Op::half_divide | Op::native_divide => (2, |_, a, out, _| binary::<R>(a, out, |x, y| x / y)),
        Op::remainder => (2, |_, a, out, _| binary::<R>(a, out, |x, y| math::remquo(x, y).0)),
        Op::step => (2, |_, a, out, _| binary::<R>(a, out, math::step)),
        Op::ldexp => (2, |_, a, out, _| scaled::<R>(a, out, libm::ldexp)),
        Op::pown => (2, |_, a, out, _| {
            scaled::<R>(a, out, |x, n| libm::pow(x, n.into()))
        }),
        Op::rootn => (2, |_, a, out, _| scaled::<R>(a, out, math::rootn)),

        Op::fma | Op::mad => (3, |_, a, out, _| ternary::<R>(a, out, R::fused)),
        Op::fclamp => (3, |_, a, out, _| ternary::<R>(a, out, math::clamp)),
        Op::mix => (3, |_, a, out, _| ternary::<R>(a, out, math::mix)),
        Op::smoothstep => (3, |_, a, out, _| ternary::<R>(a, out, math::smoothstep)),
        _ => return None,
    })
}

fn unary_function<R: Real>(op: Op) -> Option<PureFn> {
    Some(match op {
        Op::acos => |_, a, out, _| unary::<R>(a, out, libm::acos),
        Op::acosh => |_, a, out, _| unary::<R>(a, out, math::acosh),
        Op::acospi => |_, a, out, _| unary::<R>(a, out, math::acospi),
        Op::asin => |_, a, out, _| unary::<R>(a, out, libm::asin),
        Op::asinh => |_, a, out, _| unary::<R>(a, out, libm::asinh),
        Op::asinpi => |_, a, out, _| unary::<R>(a, out, math::asinpi),
        Op::atan => |_, a, out, _| unary::<R>(a, out, libm::atan),
        Op::atanh => |_, a, out, _| unary::<R>(a, out, libm::atanh),
        Op::atanpi => |_, a, out, _| unary::<R>(a, out, math::atanpi),
        Op::cbrt => |_, a, out, _| unary::<R>(a, out, libm::cbrt),
        Op::ceil => |_, a, out, _| unary::<R>(a, out, libm::ceil),
        Op::cos | Op::half_cos | Op::native_cos => |_, a, out, _| unary::<R>(a, out, libm::cos),
        Op::cosh => |_, a, out, _| unary::<R>(a, out, libm::cosh),
        Op::cospi => |_, a, out, _| unary::<R>(a, out, math::cospi),
        Op::degrees => |_, a, out, _| unary::<R>(a, out, math::degrees),
        Op::erf => |_, a, out, _| unary::<R>(a, out, libm::erf),
        Op::erfc => |_, a, out, _| unary::<R>(a, out, libm::erfc),
        Op::exp | Op::half_exp | Op::native_exp => |_, a, out, _| unary::<R>(a, out, libm::exp),
        Op::exp2 | Op::half_exp2 | Op::native_exp2 => |_, a, out, _| unary::<R>(a, out, libm::exp2),
        Op::exp10 | Op::half_exp10 | Op::native_exp10 => |_, a, out, _| unary::<R>(a, out, libm::exp10),
        Op::expm1 => |_, a, out, _| unary::<R>(a, out, libm::expm1),
        Op::fabs => fabs::<R>,
        Op::floor => |_, a, out, _| unary::<R>(a, out, libm::floor),
        Op::lgamma => |_, a, out, _| unary::<R>(a, out, |x| math::lgamma_r(x).0),
        Op::log | Op::half_log | Op::native_log => |_, a, out, _| unary::<R>(a, out, libm::log),
        Op::log2 | Op::half_log2 | Op::native_log2 => |_, a, out, _| unary::<R>(a, out, libm::log2),
        Op::log10 | Op::half_log10 | Op::native_log10 => |_, a, out, _| unary::<R>(a, out, libm::log10),
        Op::log1p => |_, a, out, _| unary::<R>(a, out, libm::log1p),
        Op::logb => |_, a, out, _| unary::<R>(a, out, math::logb),
        Op::radians => |_, a, out, _| unary::<R>(a, out, math::radians),
        Op::half_recip | Op::native_recip => |_, a, out, _| unary::<R>(a, out, |x| 1.0 / x),
        Op::rint => |_, a, out, _| unary::<R>(a, out, libm::rint),
        Op::round => |_, a, out, _| unary::<R>(a, out, libm::round),
        Op::rsqrt | Op::half_rsqrt | Op::native_rsqrt => {
            |_, a, out, _| unary::<R>(a, out, |x| 1.0 / libm::sqrt(x))
        }
        Op::sign => |_, a, out, _| unary::<R>(a, out, math::sign),
        Op::sin | Op::half_sin | Op::native_sin => |_, a, out, _| unary::<R>(a, out, libm::sin),
        Op::sinh => |_, a, out, _| unary::<R>(a, out, libm::sinh),
        Op::sinpi => |_, a, out, _| unary::<R>(a, out, math::sinpi),
        Op::sqrt | Op::half_sqrt | Op::native_sqrt => |_, a, out, _| unary::<R>(a, out, libm::sqrt),
        Op::tan | Op::half_tan | Op::native_tan => |_, a, out, _| unary::<R>(a, out, libm::tan),
        Op::tanh => |_, a, out, _| unary::<R>(a, out, libm::tanh),
        Op::tanpi => |_, a, out, _| unary::<R>(a, out, math::tanpi),
        Op::tgamma => |_, a, out, _| unary::<R>(a, out, libm::tgamma),
        Op::trunc => |_, a, out, _| unary::<R>(a, out, libm::trunc),
        _ => return None,
    })
}

fn value<R: Real>(args: Arguments<'_>, operand: usize, index: usize) -> f64 {
    args.get(operand)
        .map_or(0.0, |arg| float::to_f64(R::FORMAT, lane(arg, index)))
}

fn integer(args: Arguments<'_>, operand: usize, index: usize) -> i64 {
    args.get(operand)
        .map_or(0, |arg| sign_extend(arg.1.scalar, lane(arg, index)))
}

fn round<R: Real>(value: f64) -> u64 {
    float::from_f64(R::FORMAT, value, Rounding::RTE)
}

fn unary<R: Real>(args: Arguments<'_>, out: &mut [u64], function: fn(f64) -> f64) {
    each(out, |index| round::<R>(function(value::<R>(args, 0, index))));
}

fn binary<R: Real>(args: Arguments<'_>, out: &mut [u64], function: fn(f64, f64) -> f64) {
    each(out, |index| {
        round::<R>(function(value::<R>(args, 0, index), value::<R>(args, 1, index)))
    });
}

fn ternary<R: Real>(args: Arguments<'_>, out: &mut [u64], function: fn(f64, f64, f64) -> f64) {
    for (index, out) in out.iter_mut().enumerate() {
        let [x, y, z] = [0, 1, 2].map(|operand| value::<R>(args, operand, index));
        *out = round::<R>(function(x, y, z));
    }
}

/// A function of a number and an integer of 32 bits.
fn scaled<R: Real>(args: Arguments<'_>, out: &mut [u64], function: fn(f64, i32) -> f64) {
    each(out, |index| {
        round::<R>(function(
            value::<R>(args, 0, index),
            integer(args, 1, index) as i32,
        ))
    });
}

/// A function with two results of its operand's type.
fn pair<R: Real>(args: Arguments<'_>, out: &mut [u64], second: &mut [u64], function: fn(f64) -> (f64, f64)) {
    for (index, (out, second)) in out.iter_mut().zip(second).enumerate() {
        let results = function(value::<R>(args, 0, index));
        (*out, *second) = (round::<R>(results.0), round::<R>(results.1));
    }
}

/// A function of one or two operands whose second result is an `int`.
fn with_integer<R: Real>(
    args: Arguments<'_>,
    out: &mut [u64],
    second: &mut [u64],
    function: fn(f64, f64) -> (f64, i32),
) {
    for (index, (out, second)) in out.iter_mut().zip(second).enumerate() {
        let results = function(value::<R>(args, 0, index), value::<R>(args, 1, index));
        (*out, *second) = (round::<R>(results.0), truncate(Scalar::I32, results.1 as u64));
    }
}

/// `fabs` on the bits, so that NaNs are left as they are.
fn fabs<R: Real>(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [x] = args else { return };
    each(out, |index| lane(x, index) & !R::FORMAT.sign());
}

/// `copysign` on the bits, so that NaNs keep and give their signs.
fn copysign<R: Real>(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [x, y] = args else { return };
    let sign = R::FORMAT.sign();
    each(out, |index| lane(x, index) & !sign | lane(y, index) & sign);
}

/// The part above the next lower whole number, always below one, and that number.
fn fract<R: Real>(_: Shape, args: Arguments<'_>, out: &mut [u64], second: &mut [u64]) {
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
fn nextafter<R: Real>(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
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
