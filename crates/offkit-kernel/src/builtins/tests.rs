//! The functions against correctly rounded references, tables of special values, and definitions spelled
//! out.

use offkit_spirv::grammar::{FPRoundingMode as Rounding, OpenclStd100Op as Op};

use super::float::{self, DOUBLE, Format, HALF, SINGLE};
use super::{Scalar, Shape, resolve};

const INT: Shape = scalar(Scalar::I32);
const FLOAT: Shape = scalar(Scalar::F32);
const DOUBLE_SHAPE: Shape = scalar(Scalar::F64);

const fn scalar(scalar: Scalar) -> Shape {
    Shape { scalar, lanes: 1 }
}

fn all_instructions() -> impl Iterator<Item = Op> {
    (0..=204).map(Op).filter(|op| op.name().is_some())
}

fn evaluate(op: Op, result: Shape, args: &[(&[u64], Shape)]) -> (Vec<u64>, Vec<u64>) {
    let shapes: Vec<Shape> = args.iter().map(|arg| arg.1).collect();
    let function = resolve(op, result, &shapes).unwrap_or_else(|| panic!("{op:?} is not resolved"));
    let (mut out, mut second) = (vec![0; result.lanes as usize], vec![0; result.lanes as usize]);
    function(result, args, &mut out, &mut second);
    (out, second)
}

/// Evaluates on doubles, with a last operand of type `int` where one is given; both results as words.
fn on_doubles(op: Op, values: &[f64], integer: Option<i32>) -> (u64, u64) {
    let words: Vec<[u64; 1]> = values.iter().map(|value| [value.to_bits()]).collect();
    let integer = integer.map(|value| [u64::from(value as u32)]);
    let mut args: Vec<(&[u64], Shape)> = words.iter().map(|word| (&word[..], DOUBLE_SHAPE)).collect();
    args.extend(integer.as_ref().map(|word| (&word[..], INT)));
    let (out, second) = evaluate(op, DOUBLE_SHAPE, &args);
    (out[0], second[0])
}

fn double(op: Op, values: &[f64]) -> f64 {
    f64::from_bits(on_doubles(op, values, None).0)
}

fn single(op: Op, values: &[f32]) -> f32 {
    let words: Vec<[u64; 1]> = values.iter().map(|value| [u64::from(value.to_bits())]).collect();
    let args: Vec<(&[u64], Shape)> = words.iter().map(|word| (&word[..], FLOAT)).collect();
    f32::from_bits(evaluate(op, FLOAT, &args).0[0] as u32)
}

/// The numbers of a format in their order as consecutive integers.
fn position(format: Format, bits: u64) -> i64 {
    let magnitude = (bits & (format.sign() - 1)) as i64;
    if bits & format.sign() == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// The distance of a result from the correctly rounded one, in units of the last place.
fn distance(format: Format, result: u64, expected: u64) -> u64 {
    let nan = |bits| float::to_f64(format, bits).is_nan();
    if nan(result) && nan(expected) {
        0
    } else {
        position(format, result).abs_diff(position(format, expected))
    }
}

/// What the OpenCL specification allows for doubles, less the half unit by which the reference itself is
/// rounded.
fn bound_for_doubles(op: Op) -> u64 {
    match op {
        Op::sqrt | Op::fmod | Op::remainder => 0,
        Op::cbrt | Op::rsqrt | Op::log1p => 1,
        Op::exp | Op::exp2 | Op::exp10 | Op::expm1 | Op::log | Op::log2 | Op::log10 => 2,
        Op::asinpi | Op::acospi | Op::atan | Op::atanh | Op::atanpi | Op::tan | Op::tanh => 4,
        Op::atan2 | Op::atan2pi | Op::tanpi => 5,
        Op::erf | Op::erfc | Op::tgamma | Op::lgamma | Op::pow | Op::powr | Op::pown | Op::rootn => 15,
        _ => 3,
    }
}

#[test]
fn mathematics_stays_within_the_bounds_of_the_specification() {
    let mut checks = 0;
    for line in include_str!("../../tests/data/mathematics.txt").lines() {
        let mut words = line.split(' ');
        let name = words.next().expect("a name");
        let op = all_instructions()
            .find(|op| format!("{op:?}") == name)
            .expect("an instruction");
        let words: Vec<u64> = words
            .map(|word| u64::from_str_radix(word, 16).expect("hexadecimal"))
            .collect();
        let (&expected, operands) = words.split_first().expect("a result");
        let values: Vec<f64> = operands.iter().map(|&word| f64::from_bits(word)).collect();
        let integer_last = matches!(op, Op::pown | Op::rootn);
        for (scalar_type, format, bound) in [
            (Scalar::F64, DOUBLE, bound_for_doubles(op)),
            // What is rounded from a double misses the nearest number by one at most.
            (Scalar::F32, SINGLE, 1),
            (Scalar::F16, HALF, 1),
        ] {
            let round = |value| float::from_f64(format, value, Rounding::RTE);
            let operands: Vec<([u64; 1], Shape)> = values
                .iter()
                .enumerate()
                .map(|(index, &value)| match integer_last && index == 1 {
                    true => ([u64::from(value as i32 as u32)], INT),
                    false => ([round(value)], scalar(scalar_type)),
                })
                .collect();
            let exact = |(operand, &value): (&([u64; 1], Shape), &f64)| {
                operand.1 == INT || float::to_f64(format, operand.0[0]).to_bits() == value.to_bits()
            };
            if !operands.iter().zip(&values).all(exact) {
                continue;
            }
            let args: Vec<(&[u64], Shape)> = operands
                .iter()
                .map(|operand| (&operand.0[..], operand.1))
                .collect();
            let result = evaluate(op, scalar(scalar_type), &args).0[0];
            let off = distance(format, result, round(f64::from_bits(expected)));
            assert!(
                off <= bound,
                "{name}{values:?} as {scalar_type:?}: {off} units in the last place off"
            );
            checks += 1;
        }
    }
    assert!(checks > 2000, "only {checks} checks");
}

#[test]
fn every_pure_instruction_is_resolved_for_each_of_its_types() {
    let pointers = |op: &Op| (Op::vloadn..=Op::vstorea_halfn_r).contains(op);
    for op in all_instructions().filter(|op| !pointers(op) && !matches!(*op, Op::printf | Op::prefetch)) {
        let types = [
            Scalar::I8,
            Scalar::I16,
            Scalar::I32,
            Scalar::I64,
            Scalar::F16,
            Scalar::F32,
            Scalar::F64,
        ];
        let resolved = |result: Scalar, operands: &[Scalar]| {
            let vector = |scalar| Shape { scalar, lanes: 4 };
            let operands: Vec<Shape> = operands.iter().copied().map(vector).collect();
            let lanes = if matches!(
                op,
                Op::distance | Op::length | Op::fast_distance | Op::fast_length
            ) {
                1
            } else {
                4
            };
            resolve(
                op,
                Shape {
                    scalar: result,
                    lanes,
                },
                &operands,
            )
            .is_some()
        };
        let found = types
            .iter()
            .flat_map(|&result| {
                types
                    .iter()
                    .flat_map(move |&other| (1..=3).map(move |count| (result, other, count)))
            })
            .filter(|&(result, other, count)| {
                let mut operands = vec![result; count];
                operands[count - 1] = other;
                resolved(result, &operands)
            })
            .count();
        let expected = match op {
            Op::ldexp | Op::pown | Op::rootn => 3 * 4, // a number and any integer
            Op::ilogb => 4 * 3,                        // any integer from any float
            Op::nan => 3 * 4,                          // any float from any integer
            Op::s_upsample | Op::u_upsample => 0,      // the result is no operand's type: checked elsewhere
            Op::shuffle | Op::shuffle2 => 7 * 4,       // any integer as the mask
            Op::select => 7 * 4,                       // any integer as the condition
            Op::bitselect => 7,
            _ if (Op::s_abs..=Op::u_mul24).contains(&op) || op >= Op::u_abs => 4,
            _ => 3,
        };
        assert_eq!(found, expected, "{op:?}");
    }
}

/// Expectations with zeros of either sign told apart.
#[track_caller]
fn same(result: f64, expected: f64, what: &dyn std::fmt::Debug) {
    let equal = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
    assert!(equal, "{what:?}: {result:?}, expected {expected:?}");
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn special_values_of_functions_of_one_number() {
    for (op, x, expected) in [
        (Op::acos, 2.0, NAN),
        (Op::acospi, 1.0, 0.0),
        (Op::acospi, -1.0, 1.0),
        (Op::asinpi, -0.0, -0.0),
        (Op::asinpi, 1.0, 0.5),
        (Op::atanpi, -INF, -0.5),
        (Op::cbrt, -27.0, -3.0),
        (Op::cospi, 0.5, 0.0),
        (Op::cospi, -1.5, 0.0),
        (Op::cospi, 7.0, -1.0),
        (Op::cospi, 1e300, 1.0),
        (Op::cospi, INF, NAN),
        (Op::sinpi, -0.0, -0.0),
        (Op::sinpi, 3.0, 0.0),
        (Op::sinpi, -3.0, -0.0),
        (Op::sinpi, 2.5, 1.0),
        (Op::sinpi, -INF, NAN),
        (Op::tanpi, 1.0, -0.0),
        (Op::tanpi, 2.0, 0.0),
        (Op::tanpi, -1.0, 0.0),
        (Op::tanpi, -2.0, -0.0),
        (Op::tanpi, 0.5, INF),
        (Op::tanpi, 1.5, -INF),
        (Op::tanpi, -0.5, -INF),
        (Op::exp, -INF, 0.0),
        (Op::exp10, 2.0, 100.0),
        (Op::fabs, -0.0, 0.0),
        (Op::logb, 0.0, -INF),
        (Op::logb, -INF, INF),
        (Op::logb, 5e-324, -1074.0),
        (Op::logb, -7.0, 2.0),
        (Op::rint, 2.5, 2.0),
        (Op::rint, -0.4, -0.0),
        (Op::round, 2.5, 3.0),
        (Op::round, -2.5, -3.0),
        (Op::rsqrt, -0.0, -INF),
        (Op::rsqrt, INF, 0.0),
        (Op::sign, -0.0, -0.0),
        (Op::sign, -3.0, -1.0),
        (Op::sign, NAN, 0.0),
        (Op::sqrt, -1.0, NAN),
        (Op::tgamma, 5.0, 24.0),
        (Op::tgamma, -0.0, -INF),
        (Op::tgamma, -3.0, NAN),
        (Op::lgamma, -3.0, INF),
        (Op::lgamma, 0.0, INF),
        (Op::trunc, -0.7, -0.0),
        (Op::degrees, core::f64::consts::PI, 180.0),
        (Op::radians, 180.0, core::f64::consts::PI),
        (Op::half_recip, 4.0, 0.25),
        (Op::native_rsqrt, 4.0, 0.5),
    ] {
        same(double(op, &[x]), expected, &(op, x));
    }
}

#[test]
fn special_values_of_functions_of_two_numbers() {
    for (op, x, y, expected) in [
        (Op::fmax, NAN, 1.0, 1.0),
        (Op::fmax, 1.0, NAN, 1.0),
        (Op::fmin, NAN, -1.0, -1.0),
        (Op::fmin, NAN, NAN, NAN),
        (Op::fmax_common, 1.0, 2.0, 2.0),
        (Op::fmin_common, 1.0, 2.0, 1.0),
        (Op::maxmag, -3.0, 2.0, -3.0),
        (Op::maxmag, -3.0, 3.0, 3.0),
        (Op::minmag, -3.0, 2.0, 2.0),
        (Op::minmag, -3.0, 3.0, -3.0),
        (Op::minmag, NAN, 3.0, 3.0),
        (Op::fdim, 1.0, 3.0, 0.0),
        (Op::fdim, 3.0, 1.0, 2.0),
        (Op::fdim, NAN, 1.0, NAN),
        (Op::copysign, 2.0, -0.0, -2.0),
        (Op::nextafter, 0.0, -1.0, -5e-324),
        (Op::nextafter, 1.0, 2.0, 1.0 + f64::EPSILON),
        (Op::nextafter, -1.0, 2.0, -1.0 + f64::EPSILON / 2.0),
        (Op::nextafter, f64::MAX, INF, INF),
        (Op::nextafter, 0.0, -0.0, -0.0),
        (Op::nextafter, 1.0, NAN, NAN),
        (Op::powr, -1.0, 1.0, NAN),
        (Op::powr, 0.0, 0.0, NAN),
        (Op::powr, INF, 0.0, NAN),
        (Op::powr, 1.0, INF, NAN),
        (Op::powr, 1.0, 5.0, 1.0),
        (Op::powr, 2.0, -0.0, 1.0),
        (Op::powr, -0.0, 3.0, 0.0),
        (Op::powr, -0.0, -1.0, INF),
        (Op::powr, 0.0, -INF, INF),
        (Op::powr, NAN, 0.0, NAN),
        (Op::powr, 2.0, NAN, NAN),
        (Op::pow, -8.0, 3.0, -512.0),
        (Op::pow, NAN, 0.0, 1.0),
        (Op::pow, 1.0, NAN, 1.0),
        (Op::atan2pi, 0.0, -0.0, 1.0),
        (Op::atan2pi, -1.0, 0.0, -0.5),
        (Op::hypot, 1e300, 1e300, 1.414_213_562_373_095_1e300),
        (Op::hypot, INF, NAN, INF),
        (Op::fmod, 5.0, INF, 5.0),
        (Op::fmod, -6.0, 3.0, -0.0),
        (Op::fmod, 1.0, 0.0, NAN),
        (Op::remainder, 5.0, 2.0, 1.0),
        (Op::remainder, 7.0, 2.0, -1.0),
        (Op::remainder, 3.0, INF, 3.0),
        (Op::remainder, INF, 3.0, NAN),
        (Op::step, 1.0, 1.0, 1.0),
        (Op::step, 1.0, 0.5, 0.0),
    ] {
        same(double(op, &[x, y]), expected, &(op, x, y));
    }
}

#[test]
fn special_values_of_functions_with_an_integer() {
    for (op, x, n, expected) in [
        (Op::ldexp, 1.0, -1074, 5e-324),
        (Op::ldexp, 5e-324, 1074, 1.0),
        (Op::ldexp, 1.0, i32::MAX, INF),
        (Op::ldexp, -0.0, 12, -0.0),
        (Op::pown, 0.0, -3, INF),
        (Op::pown, -0.0, -3, -INF),
        (Op::pown, -0.0, -2, INF),
        (Op::pown, -0.0, 3, -0.0),
        (Op::pown, NAN, 0, 1.0),
        (Op::pown, -1.0, i32::MIN, 1.0),
        (Op::pown, -1.0, i32::MAX, -1.0),
        (Op::rootn, 8.0, 0, NAN),
        (Op::rootn, -8.0, 3, -2.0),
        (Op::rootn, -8.0, 2, NAN),
        (Op::rootn, 16.0, -4, 0.5),
        (Op::rootn, -0.0, -3, -INF),
        (Op::rootn, -0.0, -2, INF),
        (Op::rootn, -0.0, 2, 0.0),
        (Op::rootn, -0.0, 3, -0.0),
        (Op::rootn, INF, 5, INF),
        (Op::rootn, -INF, -5, -0.0),
        (Op::rootn, 5.0, 1, 5.0),
    ] {
        same(
            f64::from_bits(on_doubles(op, &[x], Some(n)).0),
            expected,
            &(op, x, n),
        );
    }
}

#[test]
fn second_results() {
    let pair = |op, values: &[f64]| {
        let (first, second) = on_doubles(op, values, None);
        (f64::from_bits(first), f64::from_bits(second))
    };
    for (op, x, first, second) in [
        (Op::fract, 2.75, 0.75, 2.0),
        (Op::fract, -0.25, 0.75, -1.0),
        (Op::fract, -1e-300, 1.0 - f64::EPSILON / 2.0, -1.0),
        (Op::fract, -0.0, -0.0, -0.0),
        (Op::fract, INF, 0.0, INF),
        (Op::fract, -INF, -0.0, -INF),
        (Op::fract, NAN, NAN, NAN),
        (Op::modf, -2.75, -0.75, -2.0),
        (Op::modf, -INF, -0.0, -INF),
        (Op::modf, -3.0, -0.0, -3.0),
        (Op::modf, NAN, NAN, NAN),
        (Op::sincos, 0.0, 0.0, 1.0),
    ] {
        let results = pair(op, &[x]);
        same(results.0, first, &(op, x));
        same(results.1, second, &(op, x, "second"));
    }
    for (op, values, first, second) in [
        (Op::frexp, &[-10.0][..], -0.625, 4),
        (Op::frexp, &[5e-324], 0.5, -1073),
        (Op::frexp, &[-0.0], -0.0, 0),
        (Op::frexp, &[INF], INF, 0),
        (Op::lgamma_r, &[-0.5], 1.265_512_123_484_645_4, -1),
        (Op::lgamma_r, &[-0.0], INF, -1),
        (Op::lgamma_r, &[-2.0], INF, 0),
        (Op::remquo, &[29.0, 3.0], -1.0, 10),
        (Op::remquo, &[-29.0, 3.0], 1.0, -10),
        (Op::remquo, &[1000.0, 3.0], 1.0, 333 & 0x7f),
        (Op::remquo, &[5.0, 0.0], NAN, 0),
        (Op::remquo, &[5.0, INF], 5.0, 0),
    ] {
        let (result, word) = on_doubles(op, values, None);
        same(f64::from_bits(result), first, &(op, values));
        assert_eq!(word as u32 as i32, second, "{op:?}{values:?}");
        assert_eq!(word >> 32, 0, "{op:?}{values:?}");
    }
}

#[test]
fn narrow_types_round_to_their_own_format() {
    assert_eq!(single(Op::nextafter, &[1.0, 2.0]), 1.0 + f32::EPSILON);
    assert_eq!(single(Op::fract, &[-1e-30]), 1.0 - f32::EPSILON / 2.0);
    assert_eq!(single(Op::exp, &[90.0]), f32::INFINITY);
    // The exact sum lies just above a tie that rounding to double first would hide.
    let (x, y, z) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON / 2.0, 2f32.powi(-100));
    assert_eq!(single(Op::fma, &[x, y, z]), x.mul_add(y, z));
    let half = scalar(Scalar::F16);
    assert_eq!(
        evaluate(Op::nextafter, half, &[(&[0x3c00], half), (&[0x4000], half)]).0,
        [0x3c01]
    );
    assert_eq!(evaluate(Op::fract, half, &[(&[0x8001], half)]).0, [0x3bff]);
    assert_eq!(
        evaluate(Op::nan, half, &[(&[0x3], scalar(Scalar::I16))]).0,
        [0x7e03]
    );
    assert_eq!(
        evaluate(Op::nan, FLOAT, &[(&[u64::from(u32::MAX)], INT)]).0,
        [0x7fff_ffff]
    );
    assert_eq!(
        evaluate(Op::ilogb, INT, &[(&[0x0001], half)]).0,
        [(-24_i32) as u32 as u64]
    );
    assert_eq!(evaluate(Op::ilogb, INT, &[(&[0], FLOAT)]).0, [0x8000_0000]);
    assert_eq!(
        evaluate(Op::ilogb, INT, &[(&[0x7f80_0000], FLOAT)]).0,
        [0x7fff_ffff]
    );
}

#[test]
fn common_functions() {
    assert_eq!(double(Op::fclamp, &[5.0, 0.0, 1.0]), 1.0);
    assert_eq!(double(Op::fclamp, &[-5.0, 0.0, 1.0]), 0.0);
    assert_eq!(double(Op::mix, &[1.0, 3.0, 0.25]), 1.5);
    assert_eq!(double(Op::smoothstep, &[0.0, 2.0, 0.5]), 0.15625);
    assert_eq!(double(Op::smoothstep, &[0.0, 2.0, 9.0]), 1.0);
}

/// A sum of two doubles, the second below half a unit in the last place of the first.
#[derive(Clone, Copy)]
struct Double(f64, f64);

impl Double {
    fn sum(a: f64, b: f64) -> Double {
        let sum = a + b;
        let of_b = sum - a;
        Double(sum, (a - (sum - of_b)) + (b - of_b))
    }

    fn plus(self, other: Double) -> Double {
        let (first, second) = (Double::sum(self.0, other.0), Double::sum(self.1, other.1));
        let first = Double::sum(first.0, first.1 + second.0);
        Double::sum(first.0, first.1 + second.1)
    }

    fn times(self, other: Double) -> Double {
        let product = self.0 * other.0;
        let rest = libm::fma(self.0, other.0, -product) + (self.0 * other.1 + self.1 * other.0);
        Double::sum(product, rest)
    }

    /// `10^x / 2^exponent` with twice the bits: the series of the exponential function, sixteen times squared.
    fn exp10(x: f64) -> (Double, i32) {
        let ln_10 = Double(std::f64::consts::LN_10, -2.170_756_223_382_249_4e-16);
        let ln_2 = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_7e-17);
        let exponent = (x * std::f64::consts::LOG2_10).round();
        let power = ln_10
            .times(Double(x, 0.0))
            .plus(ln_2.times(Double(-exponent, 0.0)));
        let power = Double(power.0 / 256.0, power.1 / 256.0);
        let one = Double(1.0, 0.0);
        let mut sum = one;
        for factor in (1..16).rev() {
            let part = power.times(sum);
            let quotient = part.0 / f64::from(factor);
            let rest = libm::fma(-quotient, f64::from(factor), part.0) + part.1;
            sum = one.plus(Double::sum(quotient, rest / f64::from(factor)));
        }
        ((0..8).fold(sum, |power, _| power.times(power)), exponent as i32)
    }
}

#[test]
fn powers_of_ten_are_within_their_bounds() {
    // The reference itself: the root of ten, by another way.
    let (root, exponent) = Double::exp10(0.5);
    assert_eq!((root.0 * 4.0, exponent), (3.162_277_660_168_379_5, 2));
    assert!(
        (root.1 * 4.0 + 1.907_881_697_071_660_3e-16).abs() < 1e-29,
        "{}",
        root.1
    );

    let (mut most, mut most_of_floats) = (0.0_f64, 0.0_f64);
    let mut check = |x: f64| {
        let (exact, exponent) = Double::exp10(x);
        // All in units in the last place of the exact value, which is between 1/2 and 2.
        let off = |result: f64, digits: i32| {
            let unit = libm::ldexp(1.0, libm::ilogb(exact.0) - digits);
            let result = libm::ldexp(result, -exponent);
            (((result - exact.0) - exact.1) / unit).abs()
        };
        most = most.max(off(double(Op::exp10, &[x]), 52));
        if f64::from(x as f32) == x && x.abs() < 37.0 {
            most_of_floats = most_of_floats.max(off(single(Op::exp10, &[x as f32]).into(), 23));
        }
    };
    for step in -19_660..=19_660 {
        // Through all exponents of normal numbers, and close to zero.
        check(f64::from(step) / 64.0);
        check(f64::from(step) * 0.015_632_71);
        check(f64::from(step) / 65536.0 + 1e-9);
    }
    assert!(most < 1.5, "{most} units");
    assert!(most_of_floats < 0.501, "{most_of_floats} units");
    for (x, expected) in [
        (22.0, 1e22),
        (400.0, f64::INFINITY),
        (f64::NEG_INFINITY, 0.0),
        (-400.0, 0.0),
    ] {
        assert_eq!(double(Op::exp10, &[x]), expected);
    }
}
