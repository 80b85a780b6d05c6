//! How exact the mathematics is: within the bounds that the OpenCL specification has for the full profile.
//!
//! `./dev math` measures it with every argument there is; what runs by default takes a sample.

#![allow(clippy::print_stdout, reason = "the table of errors is what is asked for")]

use std::f64::consts::PI;
use std::num::Wrapping;
use std::thread;

use offkit_compile::math::Function;
use offkit_kernel::builtins::Scalar;
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
    (Op::exp10, 3.0, libm::exp10),
    (Op::expm1, 3.0, f64::exp_m1),
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
];

const BINARY: &[Binary] = &[
    (Op::atan2, 6.0, f64::atan2),
    (Op::atan2pi, 6.0, |y, x| y.atan2(x) / PI),
    (Op::fmod, 0.0, |x, y| x % y),
    (Op::hypot, 4.0, f64::hypot),
    (Op::pow, 16.0, f64::powf),
    (Op::powr, 16.0, exact::powr),
    (Op::remainder, 0.0, libm::remainder),
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

/// Numbers at which functions change what they do, and their neighbours.
fn edges() -> Vec<f32> {
    let whole = (0..=34).map(|n| n as f32);
    let halves = (0..=34).map(|n| n as f32 + 0.5);
    let powers = (-149..=127).map(|n| 2f64.powi(n) as f32);
    let turns = (1..=64).map(|n| (f64::from(n) * PI / 4.0) as f32);
    let limits = [
        88.722, 87.336, 103.97, 38.53, 44.85, 126.0, 149.0, 150.0, 0.75, 1.5, 65536.0, 1e5, 1e10, 1e30,
    ];
    let special = [
        f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
    ];
    let near = whole
        .chain(halves)
        .chain(powers)
        .chain(turns)
        .chain(limits)
        .chain(special);
    let near = near.flat_map(|x| [x.next_down(), x, x.next_up()]);
    near.flat_map(|x| [x, -x]).collect()
}

/// Numbers of all magnitudes, and more of moderate ones; the same ones each time.
fn sample(count: usize, mut state: u64) -> impl Iterator<Item = f32> {
    (0..count).map(move |index| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bits = (state >> 32) as u32;
        match index % 4 {
            0 => f32::from_bits(bits),
            // Of exponents from -12 to 20.
            1 | 2 => f32::from_bits(bits & 0x807f_ffff | ((bits >> 23 & 31) + 115) << 23),
            _ => f32::from_bits(bits & 0x80ff_ffff | 0x3f00_0000),
        }
    })
}

/// How many units in the last place lie between a result and the exact one; infinitely many for a wrong kind of result.
fn error(result: f32, exact: f64) -> f64 {
    const BEYOND: f64 = 2.0 * (1_u128 << 127) as f64;
    if result.is_nan() || exact.is_nan() {
        return if result.is_nan() && exact.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if exact == 0.0 || exact.is_infinite() {
        let equal = f64::from(result) == exact && result.is_sign_negative() == exact.is_sign_negative();
        return if equal { 0.0 } else { f64::INFINITY };
    }
    let result = f64::from(result).clamp(-BEYOND, BEYOND);
    let exact = exact.clamp(-BEYOND, BEYOND);
    let exponent = (exact.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let unit = 2f64.powi(exponent.clamp(-126, 127) - 23);
    (result - exact).abs() / unit
}

/// The greatest error, and where it is.
#[derive(Clone, Copy, Default)]
struct Worst {
    error: f64,
    at: [f32; 2],
}

impl Worst {
    fn add(&mut self, error: f64, at: [f32; 2]) {
        if error > self.error {
            *self = Self { error, at };
        }
    }
}

fn measure(op: Op, exact: fn(f64) -> f64, arguments: impl Iterator<Item = f32>) -> Worst {
    let Some(Function::Unary(function)) = Function::<f32>::of(op, Scalar::F32) else {
        panic!("{op:?} is no function of one number");
    };
    let mut worst = Worst::default();
    for x in arguments {
        worst.add(error(function(x), exact(x.into())), [x, 0.0]);
    }
    worst
}

fn measure_pairs(op: Op, exact: fn(f64, f64) -> f64, arguments: impl Iterator<Item = [f32; 2]>) -> Worst {
    let Some(Function::Binary(function)) = Function::<f32>::of(op, Scalar::F32) else {
        panic!("{op:?} is no function of two numbers");
    };
    let mut worst = Worst::default();
    for [x, y] in arguments {
        worst.add(error(function(x, y), exact(x.into(), y.into())), [x, y]);
    }
    worst
}

fn measure_with_integer(
    op: Op,
    exact: fn(f64, i32) -> f64,
    arguments: impl Iterator<Item = (f32, i32)>,
) -> Worst {
    let Some(Function::WithInteger(function)) = Function::<f32>::of(op, Scalar::F32) else {
        panic!("{op:?} is no function of a number and an integer");
    };
    let mut worst = Worst::default();
    for (x, n) in arguments {
        worst.add(error(function(x, Wrapping(n)), exact(x.into(), n)), [x, n as f32]);
    }
    worst
}

/// Numbers, each with some integers, most of them small.
fn with_integers(count: usize) -> impl Iterator<Item = (f32, i32)> {
    let integers = (-40..40).chain([-1000, 1000, -1001, 1001, i32::MIN, i32::MAX, 16_777_217]);
    let integers: Vec<_> = integers.collect();
    let crossed = edges().into_iter().flat_map({
        let integers = integers.clone();
        move |x| integers.clone().into_iter().map(move |n| (x, n))
    });
    let sampled = sample(count, 11).enumerate();
    crossed.chain(sampled.map(move |(index, x)| (x, integers[index % integers.len()])))
}

fn pairs(count: usize) -> impl Iterator<Item = [f32; 2]> {
    let edges = edges();
    let firsts = edges.clone();
    let crossed = firsts
        .into_iter()
        .flat_map(move |x| edges.clone().into_iter().map(move |y| [x, y]));
    let sampled = sample(count, 3).zip(sample(count, 7)).map(|(x, y)| [x, y]);
    crossed.chain(sampled)
}

fn check(op: Op, bound: f64, worst: Worst) -> Option<String> {
    println!(
        "{op:?} {:.2} of {bound} at {:e} {:e}",
        worst.error, worst.at[0], worst.at[1]
    );
    (worst.error > bound).then(|| format!("{op:?}: {} ULP at {:?}", worst.error, worst.at))
}

#[test]
fn functions_of_a_float_are_within_opencls_bounds() {
    let failed = UNARY.iter().filter_map(|&(op, bound, exact)| {
        let arguments = edges().into_iter().chain(sample(200_000, 5));
        check(op, bound, measure(op, exact, arguments))
    });
    assert_eq!(failed.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn functions_of_two_floats_are_within_opencls_bounds() {
    let failed = BINARY
        .iter()
        .filter_map(|&(op, bound, exact)| check(op, bound, measure_pairs(op, exact, pairs(200_000))));
    assert_eq!(failed.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn functions_of_a_float_and_an_integer_are_within_opencls_bounds() {
    let failed = WITH_INTEGER.iter().filter_map(|&(op, bound, exact)| {
        check(op, bound, measure_with_integer(op, exact, with_integers(200_000)))
    });
    assert_eq!(failed.collect::<Vec<_>>(), [""; 0]);
}

/// The table of docs/mathematics.md: every argument of the functions of one number, which takes hours.
#[test]
#[ignore = "takes hours: ./dev math"]
fn table() {
    let wanted = std::env::var("OFFKIT_MATH").unwrap_or_default();
    let wanted = |op: Op| wanted.is_empty() || wanted.split(',').any(|name| name == format!("{op:?}"));
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    println!("| function | bound | greatest error | at |\n|---|---|---|---|");
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
        println!("| {op:?} | {bound} | {:.2} | {:e} |", worst.error, worst.at[0]);
    }
    for &(op, bound, exact) in BINARY.iter().filter(|row| wanted(row.0)) {
        let worst = measure_pairs(op, exact, pairs(1 << 28));
        println!(
            "| {op:?} | {bound} | {:.2} | {:e}, {:e} |",
            worst.error, worst.at[0], worst.at[1]
        );
    }
    for &(op, bound, exact) in WITH_INTEGER.iter().filter(|row| wanted(row.0)) {
        let worst = measure_with_integer(op, exact, with_integers(1 << 28));
        println!(
            "| {op:?} | {bound} | {:.2} | {:e}, {} |",
            worst.error, worst.at[0], worst.at[1]
        );
    }
}
