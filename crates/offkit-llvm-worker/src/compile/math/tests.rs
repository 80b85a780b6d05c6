//! What is compiled computes what the algorithms do on one number.

use std::ffi::CString;
use std::num::Wrapping;
use std::process::Command;

use offkit_compile::math::Function;
use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::super::builder::Builder;
use super::{Processor, extended};
use crate::context::Context;
use crate::module::Module;

const WIDTH: usize = 16;

/// Vectors of arguments to one of results.
type Compiled = unsafe extern "C" fn(arguments: *const [[f32; WIDTH]; 2], results: *mut [[f32; WIDTH]; 2]);

/// Writes `name(arguments, results)`, which calls a function of OpenCL on vectors, or on their first lanes.
fn write(builder: &Builder<'_>, processor: Processor, op: Op, operands: usize, vectors: bool) -> String {
    let name = format!("{op:?}_{}", if vectors { "vectors" } else { "scalars" });
    let pointer = builder.pointer();
    let ty = builder.function_type(builder.void(), &[pointer, pointer]);
    let function = builder.function(&name, ty);
    builder.at_end(builder.block(function, "entry"));
    let number = builder
        .scalar(Scalar::F32)
        .vector(vectors.then_some(WIDTH as u32));
    let place = |pointer, index: usize| {
        let bytes = builder.integer(builder.int(64), (index * WIDTH * 4) as u64);
        builder.offset(pointer, bytes)
    };
    let (arguments, results) = (builder.parameter(function, 0), builder.parameter(function, 1));
    let operands = (0..operands).map(|index| {
        let ty = match (op, index) {
            (Op::pown | Op::rootn, 1) => builder.int(32).vector(number.width()),
            _ => number,
        };
        builder.load(ty, place(arguments, index), 4)
    });
    let values = extended(builder, processor, op, &operands.collect::<Vec<_>>()).expect("an algorithm");
    for (index, value) in values.into_iter().enumerate() {
        builder.store(value, place(results, index), 4);
    }
    builder.return_void();
    name
}

/// All functions of single precision, and how many operands and results they have.
fn functions() -> impl Iterator<Item = (Op, usize, usize)> {
    let known = |op: Op| {
        Some(match Function::<f32>::of(op, Scalar::F32)? {
            Function::Unary(_) => (op, 1, 1),
            Function::Binary(_) => (op, 2, 1),
            Function::WithInteger(_) => (op, 2, 1),
            Function::Pair(_) => (op, 1, 2),
        })
    };
    Op::names().filter_map(Op::from_name).filter_map(known)
}

fn expected(op: Op, x: f32, y: f32) -> [f32; 2] {
    match Function::<f32>::of(op, Scalar::F32).expect("an algorithm") {
        Function::Unary(function) => [function(x), 0.0],
        Function::Binary(function) => [function(x, y), 0.0],
        Function::WithInteger(function) => [function(x, Wrapping(y.to_bits() as i32)), 0.0],
        Function::Pair(function) => function(x),
    }
}

/// Numbers that take every path.
fn numbers() -> Vec<f32> {
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
        1000.0,
        65535.0,
        1e6,
        1e12,
        1e30,
        3e38,
        f32::INFINITY,
        f32::NAN,
    ];
    magnitudes.iter().flat_map(|x| [*x, -*x]).collect()
}

/// Compiles all functions for a kind of processor, and compares.
fn compare(architecture: &str, processor: Processor, tolerated: u32) {
    let context = Context::new();
    let module = Module::parse_text(&context, "").expect("an empty module");
    let builder = Builder::new(&module);
    let mut written = Vec::new();
    for (op, operands, results) in functions() {
        for vectors in [true, false] {
            written.push((
                op,
                results,
                vectors,
                write(&builder, processor, op, operands, vectors),
            ));
        }
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
    for (op, results, vectors, name) in written {
        let symbol = CString::new(name).expect("a name");
        // SAFETY: the library is open; what has that name is such a function.
        let function: Compiled = unsafe { std::mem::transmute(libc::dlsym(handle, symbol.as_ptr())) };
        let numbers = numbers();
        for (shift, x) in numbers.iter().enumerate() {
            for group in 0..numbers.len().div_ceil(WIDTH) {
                let at = |lane: usize| numbers[(group * WIDTH + lane) % numbers.len()];
                let firsts: [f32; WIDTH] = match vectors {
                    // Different numbers, so that some lanes alone take a seldom path.
                    true => std::array::from_fn(|lane| numbers[(shift + lane) % numbers.len()]),
                    false => [*x; WIDTH],
                };
                let arguments = [firsts, std::array::from_fn(at)];
                let mut got = [[0.0; WIDTH]; 2];
                // SAFETY: as many vectors as it reads and writes.
                unsafe { function(&raw const arguments, &raw mut got) };
                for lane in 0..if vectors { WIDTH } else { 1 } {
                    let (x, y) = (arguments[0][lane], arguments[1][lane]);
                    let wanted = expected(op, x, y);
                    for result in 0..results {
                        let (got, wanted) = (got[result][lane], wanted[result]);
                        let distance = got.to_bits().abs_diff(wanted.to_bits());
                        if distance > tolerated && !(got.is_nan() && wanted.is_nan()) {
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
    if is_x86_feature_detected!("avx512vl") {
        compare(
            "x86-64-v4",
            Processor {
                fma: true,
                avx512: true,
            },
            0,
        );
    }
    if is_x86_feature_detected!("fma") {
        compare(
            "x86-64-v3",
            Processor {
                fma: true,
                avx512: false,
            },
            0,
        );
    }
}

#[test]
fn processors_without_fused_operations_are_nearly_as_exact() {
    compare(
        "x86-64-v2",
        Processor {
            fma: false,
            avx512: false,
        },
        2,
    );
}
