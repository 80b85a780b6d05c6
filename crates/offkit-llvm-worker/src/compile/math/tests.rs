//! What is compiled computes what the algorithms do on one number.

use std::ffi::CString;
use std::num::Wrapping;
use std::process::Command;

use offkit_compile::math::{Function, Real};
use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::super::builder::Builder;
use super::{Processor, extended};
use crate::context::Context;
use crate::module::Module;

const WIDTH: usize = 16;

/// Vectors of arguments to two of results.
type Compiled<N> = unsafe extern "C" fn(arguments: *const [[N; WIDTH]; 2], results: *mut [[N; WIDTH]; 2]);

/// A number of the host.
trait Number: Real<Mask = bool> + std::fmt::LowerExp {
    const SCALAR: Scalar;

    fn from_double(value: f64) -> Self;
    fn word(self) -> u64;
    /// The integer in the low bits.
    fn integer(self) -> Self::Integer;
}

impl Number for f32 {
    const SCALAR: Scalar = Scalar::F32;

    fn from_double(value: f64) -> Self {
        value as Self
    }
    fn word(self) -> u64 {
        self.to_bits().into()
    }
    fn integer(self) -> Wrapping<i32> {
        Wrapping(self.word() as i32)
    }
}

impl Number for f64 {
    const SCALAR: Scalar = Scalar::F64;

    fn from_double(value: f64) -> Self {
        value
    }
    fn word(self) -> u64 {
        self.to_bits()
    }
    fn integer(self) -> Wrapping<i64> {
        Wrapping((self.word() as i32).into())
    }
}

/// Writes a function of that name and of type [`Compiled`], which calls one of OpenCL on vectors, or on their first
/// lanes.
fn write<N: Number>(builder: &Builder<'_>, processor: Processor, op: Op, vectors: bool, name: &str) {
    let pointer = builder.pointer();
    let ty = builder.function_type(builder.void(), &[pointer, pointer]);
    let function = builder.function(name, ty);
    builder.at_end(builder.block(function, "entry"));
    let number = builder.scalar(N::SCALAR).vector(vectors.then_some(WIDTH as u32));
    let place = |pointer, index: usize| {
        let bytes = builder.integer(builder.int(64), (index * WIDTH * size_of::<N>()) as u64);
        builder.offset(pointer, bytes)
    };
    let (arguments, results) = (builder.parameter(function, 0), builder.parameter(function, 1));
    let operand = |index| builder.load(number, place(arguments, index), 4);
    let integer = |value| {
        let word = builder.int(number.bits()).vector(number.width());
        builder.zext_or_trunc(
            builder.bit_cast(value, word),
            builder.int(32).vector(number.width()),
        )
    };
    let operands = match Function::<N>::of(op, N::SCALAR).expect("an algorithm") {
        Function::Unary(_) | Function::Pair(_) => vec![operand(0)],
        Function::Binary(_) => vec![operand(0), operand(1)],
        Function::WithInteger(_) => vec![operand(0), integer(operand(1))],
    };
    let values = extended(builder, processor, op, &operands).expect("an algorithm");
    for (index, value) in values.into_iter().enumerate() {
        builder.store(value, place(results, index), 4);
    }
    builder.return_void();
}

fn expected<N: Number>(op: Op, x: N, y: N) -> Vec<N> {
    match Function::<N>::of(op, N::SCALAR).expect("an algorithm") {
        Function::Unary(function) => vec![function(x)],
        Function::Binary(function) => vec![function(x, y)],
        Function::WithInteger(function) => vec![function(x, y.integer())],
        Function::Pair(function) => function(x).to_vec(),
    }
}

/// Numbers that take every path.
fn numbers<N: Number>() -> Vec<N> {
    let magnitudes = [
        0.0,
        1e-45,
        1e-39,
        1e-20,
        1e-5,
        0.1,
        0.3,
        0.5,
        0.7,
        0.75,
        1.0,
        1.4,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.7,
        20.0,
        33.0,
        87.0,
        89.0,
        104.0,
        708.0,
        710.0,
        745.0,
        65535.0,
        1e6,
        1e12,
        1e30,
        3e38,
        1e308,
        5e-324,
        f64::INFINITY,
        f64::NAN,
    ];
    let both = magnitudes.iter().flat_map(|x| [*x, -*x]);
    both.map(N::from_double).collect()
}

/// Whether anything may come out for angles beyond 65536.
fn has_small_angles(op: Op) -> bool {
    matches!(op, Op::native_sin | Op::native_cos | Op::native_tan)
}

/// Compiles all functions on numbers of a format for a kind of processor, and compares.
fn compare<N: Number>(architecture: &str, processor: Processor, tolerated: u64) {
    let context = Context::new();
    let module = Module::parse_text(&context, "").expect("an empty module");
    let builder = Builder::new(&module);
    let known = |op: &Op| Function::<N>::of(*op, N::SCALAR).is_some();
    let written: Vec<_> = Op::names()
        .filter_map(Op::from_name)
        .filter(known)
        .flat_map(|op| {
            [
                (op, true, format!("{op:?}_vectors")),
                (op, false, format!("{op:?}_scalars")),
            ]
        })
        .collect();
    for (op, vectors, name) in &written {
        write::<N>(&builder, processor, *op, *vectors, name);
    }
    drop(builder);
    module.verify().expect("a valid module");
    let folder = tempfile::tempdir().expect("a folder");
    let (text, library) = (folder.path().join("math.ll"), folder.path().join("math.so"));
    std::fs::write(&text, module.to_text()).expect("a file");
    let status = Command::new("clang-22")
        .args(["-O2", "-shared", "-fPIC", "-w", "--target=x86_64-linux-gnu"])
        .arg(format!("-march={architecture}"))
        .arg(&text)
        .arg("-o")
        .arg(&library)
        .status();
    assert!(status.expect("clang-22").success());
    let path = CString::new(library.to_str().expect("a path")).expect("a path");
    // SAFETY: a library without constructors.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    let mut failed = Vec::new();
    for (op, vectors, name) in written {
        let symbol = CString::new(name).expect("a name");
        // SAFETY: the library is open; what has that name is such a function.
        let function: Compiled<N> = unsafe { std::mem::transmute(libc::dlsym(handle, symbol.as_ptr())) };
        let numbers = numbers::<N>();
        let lanes = if vectors { WIDTH } else { 1 };
        for first in 0..numbers.len() {
            for second in (0..numbers.len()).step_by(lanes) {
                // Different numbers, so that some lanes alone take a seldom path.
                let from = |first: usize| std::array::from_fn(|lane| numbers[(first + lane) % numbers.len()]);
                let arguments: [[N; WIDTH]; 2] = [from(first), from(second)];
                let mut got = arguments;
                // SAFETY: as many vectors as it reads and writes.
                unsafe { function(&raw const arguments, &raw mut got) };
                for lane in 0..lanes {
                    let (x, y) = (arguments[0][lane], arguments[1][lane]);
                    if has_small_angles(op) && N::from_double(65536.0).less(x.abs()) {
                        continue;
                    }
                    for (result, wanted) in expected(op, x, y).into_iter().enumerate() {
                        let got = got[result][lane];
                        let is_nan = |number: N| !number.equals(number);
                        if got.word().abs_diff(wanted.word()) > tolerated && !(is_nan(got) && is_nan(wanted))
                        {
                            failed.push(format!("{op:?}({x:e}, {y:e}) = {got:e}, not {wanted:e}"));
                        }
                    }
                }
            }
        }
    }
    assert_eq!(failed, [""; 0], "{architecture}");
}

#[test]
fn vectors_compute_what_single_numbers_do() {
    let processor = |avx512| Processor {
        fma: true,
        avx512,
        nvidia: false,
    };
    if is_x86_feature_detected!("avx512vl") {
        compare::<f32>("x86-64-v4", processor(true), 0);
        compare::<f64>("x86-64-v4", processor(true), 0);
    }
    if is_x86_feature_detected!("fma") {
        compare::<f32>("x86-64-v3", processor(false), 0);
        compare::<f64>("x86-64-v3", processor(false), 0);
    }
}

#[test]
fn processors_without_fused_operations_are_nearly_as_exact() {
    let processor = Processor::default();
    compare::<f32>("x86-64-v2", processor, 2);
    compare::<f64>("x86-64-v2", processor, 2);
}
