//! How exact the mathematics is: within the bounds that the OpenCL specification has for the full profile.
//!
//! `./dev math` measures it with every argument there is; what runs by default takes a sample.

#![allow(clippy::print_stdout, reason = "the table of errors is what is asked for")]

use std::f64::consts::PI;
use std::num::Wrapping;
use std::thread;

use offkit_compile::math::{Function, Real, has_rare_path};
use offkit_kernel::builtins::{Scalar, may_err};
use offkit_spirv::grammar::OpenclStd100Op as Op;

/// A function of one number, its bound in units in the last place, and a better one in double precision.
type Unary = (Op, f64, fn(f64) -> f64);
/// The same of two numbers.
type Binary = (Op, f64, fn(f64, f64) -> f64);

/// The same of a number and an integer.
type WithInteger = (Op, f64, fn(f64, i32) -> f64);

const UNARY: &[Unary] = &[
    (Op::acos, 4.0, f64::acos),
    (Op::acosh, 4.0, exact::acosh),
    (Op::acospi, 5.0, |x| x.acos() / PI),
    (Op::asin, 4.0, f64::asin),
    (Op::asinh, 4.0, libm::asinh),
    (Op::asinpi, 5.0, |x| x.asin() / PI),
    (Op::atan, 5.0, f64::atan),
    (Op::atanh, 5.0, libm::atanh),
    (Op::atanpi, 5.0, |x| x.atan() / PI),
    (Op::cbrt, 2.0, f64::cbrt),
    (Op::cos, 4.0, f64::cos),
    (Op::cosh, 4.0, f64::cosh),
    (Op::cospi, 4.0, |x| exact::sincospi(x).1),
    (Op::erf, 16.0, libm::erf),
    (Op::erfc, 16.0, libm::erfc),
    (Op::exp, 3.0, f64::exp),
    (Op::exp2, 3.0, f64::exp2),
    (Op::exp10, 3.0, |x| 10f64.powf(x)),
    (Op::expm1, 3.0, f64::exp_m1),
    // The standard has no bound.
    (Op::lgamma, f64::INFINITY, exact::lgamma),
    (Op::log, 3.0, f64::ln),
    (Op::log2, 3.0, f64::log2),
    (Op::log10, 3.0, f64::log10),
    (Op::log1p, 2.0, f64::ln_1p),
    (Op::sin, 4.0, f64::sin),
    (Op::sinh, 4.0, f64::sinh),
    (Op::sinpi, 4.0, |x| exact::sincospi(x).0),
    (Op::tan, 5.0, f64::tan),
    (Op::tanh, 5.0, f64::tanh),
    (Op::tanpi, 6.0, exact::tanpi),
    (Op::tgamma, 16.0, libm::tgamma),
];

const BINARY: &[Binary] = &[
    (Op::atan2, 6.0, f64::atan2),
    (Op::atan2pi, 6.0, |y, x| y.atan2(x) / PI),
    (Op::hypot, 4.0, f64::hypot),
    (Op::pow, 16.0, f64::powf),
    (Op::powr, 16.0, exact::powr),
];

const WITH_INTEGER: &[WithInteger] = &[
    (Op::pown, 16.0, |x, n| x.powf(n.into())),
    (Op::rootn, 16.0, exact::rootn),
];

/// Functions that libraries don't have, or not as OpenCL has them.
mod exact {
    use std::f64::consts::PI;

    pub(super) fn acosh(x: f64) -> f64 {
        if x < 1.0 { f64::NAN } else { libm::acosh(x) }
    }

    pub(super) fn lgamma(x: f64) -> f64 {
        match x.is_infinite() || x <= 0.0 && x == x.floor() {
            true => f64::INFINITY,
            false => libm::lgamma(x),
        }
    }

    pub(super) fn sincospi(x: f64) -> (f64, f64) {
        let turn = x % 2.0;
        let quarter = (2.0 * turn).round();
        let (sin, cos) = (PI * (turn - quarter / 2.0)).sin_cos();
        let (sin, cos) = match quarter as i32 & 3 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        };
        (
            if sin == 0.0 { 0f64.copysign(x) } else { sin },
            if cos == 0.0 { 0.0 } else { cos },
        )
    }

    pub(super) fn tanpi(x: f64) -> f64 {
        let (sin, cos) = sincospi(x);
        sin / cos
    }

    pub(super) fn powr(x: f64, y: f64) -> f64 {
        let undefined = x < 0.0
            || x.is_nan()
            || y.is_nan()
            || (x == 0.0 || x == f64::INFINITY) && y == 0.0
            || x == 1.0 && y.is_infinite();
        if undefined { f64::NAN } else { x.abs().powf(y) }
    }

    pub(super) fn rootn(x: f64, n: i32) -> f64 {
        let odd = n % 2 != 0;
        if n == 0 || x.is_nan() || x < 0.0 && !odd {
            return f64::NAN;
        }
        let root = x.abs().powf(1.0 / f64::from(n));
        if odd { root.copysign(x) } else { root }
    }
}

/// Numbers of a format, as doubles, which have all of them.
trait Number: Real<Integer: From32> {
    /// Numbers at which functions change what they do.
    const LIMITS: &[f64];
    /// The exponents of the least and the greatest number, and the least that is not subnormal.
    const EXPONENTS: [i32; 3];
    const SCALAR: Scalar;

    fn from_bits_of_sample(bits: u64) -> Self;
    fn neighbours(self) -> [Self; 3];
    fn from_double(value: f64) -> Self;
    fn to_double(self) -> f64;
}

trait From32 {
    fn from_32(value: i32) -> Self;
}

impl From32 for Wrapping<i32> {
    fn from_32(value: i32) -> Self {
        Wrapping(value)
    }
}

impl From32 for Wrapping<i64> {
    fn from_32(value: i32) -> Self {
        Wrapping(value.into())
    }
}

impl Number for f32 {
    const LIMITS: &[f64] = &[
        88.722,
        87.336,
        103.97,
        38.53,
        44.85,
        89.4159,
        10.05,
        126.0,
        149.0,
        150.0,
        65536.0,
        1e-20,
        1e9,
        f32::MAX as f64,
    ];
    const EXPONENTS: [i32; 3] = [-149, 127, -126];
    const SCALAR: Scalar = Scalar::F32;

    fn from_bits_of_sample(bits: u64) -> Self {
        Self::from_bits((bits >> 32) as u32)
    }
    fn neighbours(self) -> [Self; 3] {
        [self.next_down(), self, self.next_up()]
    }
    fn from_double(value: f64) -> Self {
        value as Self
    }
    fn to_double(self) -> f64 {
        self.into()
    }
}

impl Number for f64 {
    const LIMITS: &[f64] = &[
        709.78,
        708.4,
        744.44,
        745.14,
        710.4759,
        308.25,
        323.31,
        1022.0,
        1074.0,
        1075.0,
        1e9,
        1e-20,
        f64::MAX,
    ];
    const EXPONENTS: [i32; 3] = [-1074, 1023, -1022];
    const SCALAR: Scalar = Scalar::F64;

    fn from_bits_of_sample(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn neighbours(self) -> [Self; 3] {
        [self.next_down(), self, self.next_up()]
    }
    fn from_double(value: f64) -> Self {
        value
    }
    fn to_double(self) -> f64 {
        self
    }
}

/// Numbers at which functions change what they do, and their neighbours; `step` leaves some powers of two out.
fn edges<N: Number>(step: usize) -> Vec<N> {
    let whole = (0..=34).map(f64::from);
    let halves = (0..=34).map(|n| f64::from(n) + 0.5);
    let powers = (N::EXPONENTS[0]..=N::EXPONENTS[1])
        .step_by(step)
        .map(power_of_two);
    let turns = (1..=32).map(|n| f64::from(n) * PI / 4.0);
    let others = [0.25, 0.75, 1e5, 1e10, 1e30, f64::INFINITY, f64::NAN];
    let all = whole.chain(halves).chain(powers).chain(turns).chain(others);
    let all = all.chain(N::LIMITS.iter().copied());
    all.flat_map(|x| N::from_double(x).neighbours().into_iter().flat_map(|x| [x, -x]))
        .collect()
}

/// Numbers of all magnitudes, and more of moderate ones; the same ones each time.
fn sample<N: Number>(count: usize, mut state: u64) -> impl Iterator<Item = N> {
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    (0..count).map(move |index| {
        let (any, fraction) = (next(), next() as f64 / 2f64.powi(64));
        N::from_double(match index % 4 {
            0 => N::from_bits_of_sample(any).to_double(),
            1 => 2f64.powi((any >> 32) as i32 % 20) * (1.0 + fraction),
            2 => -(2f64.powi((any >> 32) as i32 % 20) * (1.0 + fraction)),
            _ => 4.0 * fraction - 2.0,
        })
    })
}

/// How many units in the last place lie between a result and the exact one; infinitely many for a wrong kind of result.
fn error<N: Number>(result: N, exact: f64) -> f64 {
    let result = result.to_double();
    if result.is_nan() || exact.is_nan() {
        return if result.is_nan() && exact.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if exact == 0.0 || exact.is_infinite() {
        let equal = result == exact && result.is_sign_negative() == exact.is_sign_negative();
        // A double may have been rounded to infinity.
        let rounded = N::SCALAR == Scalar::F64 && result == f64::MAX.copysign(exact);
        return if equal || rounded { 0.0 } else { f64::INFINITY };
    }
    // Infinity counts as the power of two that comes next, which needs half of everything to be a double.
    let [_, greatest, least] = N::EXPONENTS;
    let (beyond, scale) = (power_of_two(greatest), if exact.abs() > 1e10 { 0.5 } else { 1.0 });
    let (result, scaled) = (
        (result * scale).clamp(-beyond, beyond),
        (exact * scale).clamp(-beyond, beyond),
    );
    let exponent = (exact.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let digits = if N::SCALAR == Scalar::F64 { 52 } else { 23 };
    let unit = power_of_two(exponent.clamp(least, greatest) - digits);
    ((result - scaled) / (unit * scale)).abs()
}

/// `2^exponent`; `powi` would multiply, and divide too early.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(match exponent {
        -1022.. => ((exponent + 1023) as u64) << 52,
        _ => 1 << (exponent + 1074),
    })
}

/// The greatest error, and where it is.
#[derive(Clone, Copy, Default)]
struct Worst {
    error: f64,
    at: [f64; 2],
}

impl Worst {
    fn add(&mut self, error: f64, at: [f64; 2]) {
        if error > self.error {
            *self = Self { error, at };
        }
    }
}

fn measure<N: Number>(op: Op, exact: fn(f64) -> f64, arguments: impl Iterator<Item = N>) -> Worst {
    let Some(Function::Unary(function)) = Function::<N>::of(op, N::SCALAR) else {
        panic!("{op:?} is no function of one number");
    };
    let mut worst = Worst::default();
    for x in arguments {
        let (result, exact) = (function(x), exact(x.to_double()));
        // Most results are the nearest number, and cost half of the time to measure.
        let nearest = N::from_double(exact).to_double().to_bits() == result.to_double().to_bits();
        if !(nearest && worst.error >= 0.5) {
            worst.add(error(result, exact), [x.to_double(), 0.0]);
        }
    }
    worst
}

fn measure_pairs<N: Number>(op: Op, exact: fn(f64, f64) -> f64, count: usize) -> Worst {
    let Some(Function::Binary(function)) = Function::<N>::of(op, N::SCALAR) else {
        panic!("{op:?} is no function of two numbers");
    };
    let edges = edges::<N>(97);
    let crossed = edges.iter().flat_map(|x| edges.iter().map(|y| (*x, *y)));
    let sampled = sample(count, 3).zip(sample(count, 7));
    let mut worst = Worst::default();
    for (x, y) in crossed.chain(sampled) {
        let at = [x.to_double(), y.to_double()];
        worst.add(error(function(x, y), exact(at[0], at[1])), at);
    }
    worst
}

fn measure_with_integer<N: Number>(op: Op, exact: fn(f64, i32) -> f64, count: usize) -> Worst {
    let Some(Function::WithInteger(function)) = Function::<N>::of(op, N::SCALAR) else {
        panic!("{op:?} is no function of a number and an integer");
    };
    let integers = (-12..12).chain([-1000, 1000, -1001, 1001, i32::MIN, i32::MAX, 16_777_217]);
    let integers: Vec<_> = integers.collect();
    let edges = edges::<N>(17);
    let crossed = edges.iter().flat_map(|x| integers.iter().map(|n| (*x, *n)));
    let sampled = sample(count, 11).enumerate();
    let sampled = sampled.map(|(index, x)| (x, integers[index % integers.len()]));
    let mut worst = Worst::default();
    for (x, n) in crossed.chain(sampled) {
        let at = [x.to_double(), f64::from(n)];
        worst.add(error(function(x, From32::from_32(n)), exact(at[0], n)), at);
    }
    worst
}

fn check(op: Op, bound: f64, worst: Worst) -> Option<String> {
    println!(
        "{op:?} {:.2} of {bound} at {:e} {:e}",
        worst.error, worst.at[0], worst.at[1]
    );
    // The wrong kind of result is within no bound.
    (worst.error > bound || worst.error == f64::INFINITY)
        .then(|| format!("{op:?}: {} ULP at {:?}", worst.error, worst.at))
}

/// Whether there is the function, and a reference that is exact enough for it.
fn is_measured<N: Number>(op: Op) -> bool {
    let rough = N::SCALAR == Scalar::F64 && op == Op::rootn;
    !rough && Function::<N>::of(op, N::SCALAR).is_some()
}

/// Those that are not within their bounds on a sample.
fn failures<N: Number>() -> Vec<String> {
    const COUNT: usize = 100_000;
    let unary = UNARY
        .iter()
        .filter(|row| is_measured::<N>(row.0))
        .map(|&(op, bound, exact)| {
            let arguments = edges(1).into_iter().chain(sample(COUNT, 5));
            check(op, bound, measure::<N>(op, exact, arguments))
        });
    let binary = BINARY.iter().filter(|row| is_measured::<N>(row.0));
    let binary = binary.map(|&(op, bound, exact)| check(op, bound, measure_pairs::<N>(op, exact, COUNT)));
    let with_integer = WITH_INTEGER.iter().filter(|row| is_measured::<N>(row.0));
    let with_integer =
        with_integer.map(|&(op, bound, exact)| check(op, bound, measure_with_integer::<N>(op, exact, COUNT)));
    unary.chain(binary).chain(with_integer).flatten().collect()
}

#[test]
fn functions_of_single_precision_are_within_opencls_bounds() {
    assert_eq!(failures::<f32>(), [""; 0]);
}

#[test]
fn functions_with_half_of_the_digits_have_them() {
    const BOUND: f64 = 8192.0;
    let unary: [Unary; 9] = [
        (Op::half_cos, BOUND, f64::cos),
        (Op::half_exp, BOUND, f64::exp),
        (Op::half_exp2, BOUND, f64::exp2),
        (Op::half_exp10, BOUND, |x| 10f64.powf(x)),
        (Op::half_log, BOUND, f64::ln),
        (Op::half_log2, BOUND, f64::log2),
        (Op::half_log10, BOUND, f64::log10),
        (Op::half_sin, BOUND, f64::sin),
        (Op::half_tan, BOUND, f64::tan),
    ];
    let failed = unary.into_iter().filter_map(|(op, bound, exact)| {
        // More is not asked of the trigonometric ones.
        let arguments = edges(1).into_iter().chain(sample(10_000, 5));
        let arguments = arguments.filter(|x: &f32| !x.is_finite() || x.abs() <= 65536.0);
        check(op, bound, measure(op, exact, arguments))
    });
    let powr = check(
        Op::half_powr,
        BOUND,
        measure_pairs::<f32>(Op::half_powr, exact::powr, 10_000),
    );
    assert_eq!(failed.chain(powr).collect::<Vec<_>>(), [""; 0]);
}

/// Code may not have blocks of its own where it is told that it has none.
#[test]
fn functions_with_half_of_the_digits_have_the_rare_paths_of_the_others() {
    for (half, whole) in [
        (Op::half_cos, Op::cos),
        (Op::half_exp, Op::exp),
        (Op::half_log, Op::log),
        (Op::half_powr, Op::powr),
        (Op::half_sin, Op::sin),
        (Op::half_tan, Op::tan),
    ] {
        assert_eq!(has_rare_path(half), has_rare_path(whole), "{half:?}");
    }
}

/// The references have an error too, of at most one.
#[test]
fn functions_of_double_precision_are_within_opencls_bounds() {
    assert_eq!(failures::<f64>(), [""; 0]);
}

/// The table of docs/mathematics.md: every argument of the functions of one number, which takes hours.
#[test]
#[ignore = "takes hours: ./dev math"]
fn table() {
    let wanted = std::env::var("OFFKIT_MATH").unwrap_or_default();
    let wanted = |op: Op| wanted.is_empty() || wanted.split(',').any(|name| name == format!("{op:?}"));
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    println!("| function | bound | greatest error | at |\n|---|---|---|---|");
    let print = |op: Op, bound: f64, worst: Worst| {
        println!(
            "| {op:?} | {bound} | {:.2} | {:e}, {:e} |",
            worst.error, worst.at[0], worst.at[1]
        );
    };
    for &(op, bound, exact) in UNARY.iter().filter(|row| wanted(row.0)) {
        let part = (1_u64 << 32) / threads + 1;
        let worst = thread::scope(|scope| {
            let part = |thread: u64| thread * part..((thread + 1) * part).min(1 << 32);
            let workers = (0..threads).map(|thread| {
                let arguments = part(thread).map(|bits| f32::from_bits(bits as u32));
                scope.spawn(move || measure(op, exact, arguments))
            });
            let workers = workers.collect::<Vec<_>>();
            let results = workers.into_iter().map(|worker| worker.join().expect("no panic"));
            results.fold(Worst::default(), |mut all, one| {
                all.add(one.error, one.at);
                all
            })
        });
        print(op, bound, worst);
    }
    for &(op, bound, exact) in BINARY.iter().filter(|row| wanted(row.0)) {
        print(op, bound, measure_pairs::<f32>(op, exact, 1 << 28));
    }
    for &(op, bound, exact) in WITH_INTEGER.iter().filter(|row| wanted(row.0)) {
        print(op, bound, measure_with_integer::<f32>(op, exact, 1 << 28));
    }
}

#[test]
fn functions_of_the_table_are_those_that_may_err() {
    for op in (0..=204).map(Op) {
        if Function::<f64>::of(op, Scalar::F64).is_some() {
            assert!(may_err(op), "{op:?}");
        }
    }
    for op in [Op::fabs, Op::sqrt, Op::fma, Op::floor, Op::frexp, Op::select] {
        assert!(!may_err(op), "{op:?}");
    }
}
