//! Compiled kernels that call functions of glibc's libmvec: for AVX2 and for AVX-512, by all work-items of a vector, by some and by
//! one alone.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use offkit_compile::math::{Registers, VectorFunction};
use offkit_kernel::builtins::Scalar;
use offkit_llvm::{WORKER_PROGRAM, Worker};
use offkit_plugin_cpu::{
    AllocationKind, Argument, LIBMVEC_VARIABLE, LaunchOptions, Memory, NdRange, PROCESSOR_VARIABLE, Program,
    Trial, TrialOptions, vector_functions,
};
use offkit_spirv::Module;
use offkit_spirv::grammar::OpenclStd100Op as Op;
use offkit_tests::{Folder, need, offkit, programs, skip, spirv};

/// Work-items; the last vector is shorter.
const SIZE: usize = 1003;

/// A work-item in three computes nothing of its own.
const IDLE: usize = 3;

/// The work-item whose argument all others have as well.
const SHARED: usize = 5;

/// A function with its precision.
#[derive(Clone, Copy, Debug)]
struct Case {
    op: Op,
    scalar: Scalar,
    function: VectorFunction,
}

impl Case {
    fn number(self) -> &'static str {
        match self.scalar {
            Scalar::F32 => "float",
            _ => "double",
        }
    }

    /// OpenCL's bound in units in the last place.
    fn bound(self) -> f64 {
        match self.op {
            Op::erf | Op::erfc | Op::pow => 16.0,
            Op::atanh => 5.0,
            Op::log | Op::log2 | Op::log10 => 3.0,
            Op::log1p => 2.0,
            _ => 4.0,
        }
    }

    /// Kernels for vectors as wide as the device has them, and for four work-items.
    fn source(self) -> String {
        let (name, number) = (format!("{:?}", self.op), self.number());
        let call = |x: &str, y: &str| match self.function.operands() {
            1 => format!("{name}({x})"),
            _ => format!("{name}({x}, {y})"),
        };
        let (own, shared) = (call("v", "y[i]"), call("x_of_all", "y_of_all"));
        let kernel = |name: &str, attribute: &str| {
            format!(
                "{attribute} kernel void {name}(global const {number} *x, global const {number} *y, global {number} *r,
                        {number} x_of_all, {number} y_of_all) {{
                    size_t i = get_global_id(0);
                    {number} v = x[i];
                    if (i % {IDLE})
                        v = {own};
                    r[2 * i] = v;
                    r[2 * i + 1] = {shared};
                }}\n"
            )
        };
        kernel("wide", "") + &kernel("narrow", "__attribute__((intel_reqd_sub_group_size(4)))")
    }

    fn bytes(self, value: f64) -> Vec<u8> {
        match self.scalar {
            Scalar::F32 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        }
    }

    fn values(self, bytes: &[u8]) -> Vec<f64> {
        match self.scalar {
            Scalar::F32 => {
                let words = bytes.as_chunks().0.iter();
                words.map(|word| f64::from(f32::from_le_bytes(*word))).collect()
            }
            _ => {
                let words = bytes.as_chunks().0.iter();
                words.map(|word| f64::from_le_bytes(*word)).collect()
            }
        }
    }

    /// Units in the last place between two numbers; infinitely many where they are of different kinds.
    fn distance(self, found: f64, expected: f64) -> f64 {
        let (significand, least) = match self.scalar {
            Scalar::F32 => (23, -126),
            _ => (52, -1022),
        };
        if found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan() {
            return 0.0;
        }
        if !found.is_finite() || !expected.is_finite() || expected == 0.0 {
            return f64::INFINITY;
        }
        let exponent = (expected.abs().log2().floor() as i32).max(least);
        (found - expected).abs() / 2f64.powi(exponent) * 2f64.powi(significand)
    }
}

/// Arguments of all magnitudes, the same every time; the special ones are first.
fn arguments(seed: u64) -> Vec<f64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ seed;
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        0.3,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-310,
        1e-40,
        1e30,
        -1e-20,
    ];
    let mut next = |index: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let fraction = (state >> 11) as f64 / 2f64.powi(53);
        match index % 4 {
            0 => 4.0 * fraction - 2.0,
            1 => 80.0 * fraction - 40.0,
            2 => fraction,
            _ => fraction * 2f64.powi((state % 60) as i32 - 30),
        }
    };
    (0..SIZE)
        .map(|index| special.get(index).copied().unwrap_or_else(|| next(index)))
        .collect()
}

/// What a kernel leaves, run by `launch`.
fn results(
    case: Case,
    spirv: &[u8],
    launch: impl FnOnce(&Arc<Program>, &NdRange, &[Argument]),
) -> (Vec<f64>, Vec<f64>) {
    let memory = Memory::new();
    let program = Arc::new(Program::build(spirv, memory.clone()).unwrap());
    let buffer = |content: &[u8]| {
        let buffer = memory
            .allocate(content.len(), 64, AllocationKind::Buffer)
            .unwrap();
        memory.write(buffer, content).unwrap();
        buffer
    };
    let (x, y) = (arguments(0), arguments(7));
    let bytes = |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|value| case.bytes(*value)).collect() };
    let mut result = bytes(&[0.0; 2 * SIZE]);
    let out = buffer(&result);
    let arguments = [
        Argument::Pointer(buffer(&bytes(&x))),
        Argument::Pointer(buffer(&bytes(&y))),
        Argument::Pointer(out),
        Argument::Bytes(case.bytes(x[SHARED])),
        Argument::Bytes(case.bytes(y[SHARED])),
    ];
    launch(&program, &NdRange::new([SIZE]), &arguments);
    memory.read(out, &mut result).unwrap();
    let values = case.values(&result);
    let part = |first: usize| values.iter().skip(first).step_by(2).copied().collect();
    (part(0), part(1))
}

/// Compiles both kernels of a case for such registers, and compares.
fn compare(case: Case, registers: Registers, worker: &mut Worker) {
    let spirv = spirv(&case.source());
    let symbol = case.function.symbol();
    for (kernel, name) in ["wide", "narrow"].into_iter().enumerate() {
        let (expected, _) = results(case, &spirv, |program, range, arguments| {
            program
                .launch(name, range, arguments, &LaunchOptions::default())
                .unwrap();
        });
        for at_full_effort in [false, true] {
            let what = format!("{symbol} in {name}, with all passes: {at_full_effort}");
            let (found, shared) = results(case, &spirv, |program, range, arguments| {
                let options = TrialOptions {
                    at_full_effort,
                    contract: true,
                    check_bounds: false,
                };
                let trial = Trial::new(program, &spirv, kernel, options);
                let made = trial.compile_by(range, |request| {
                    let mut request = request.clone();
                    request.vector_functions = vec![symbol.clone()];
                    if registers == Registers::Avx2 {
                        request.processor = "x86-64-v3".to_owned();
                    }
                    let compiled = worker.compile(&spirv, request, Duration::from_secs(60));
                    let compiled = compiled.map_err(|error| error.to_string())?;
                    assert_eq!(compiled.notes, [""; 0], "{what}: it is vector code");
                    let calls = compiled.externals.iter().filter(|name| **name == symbol);
                    assert_eq!(calls.count(), 1, "{what}: {:?}", compiled.externals);
                    Ok(compiled)
                });
                assert_eq!(made, Ok(()), "{what}");
                let refused = trial.launch(range, arguments, &LaunchOptions::default());
                assert_eq!(refused.unwrap(), None, "{what}");
            });
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let distance = case.distance(*found, *expected);
                // What it is compared with may be off by one unit itself.
                let bound = match index % IDLE {
                    0 => 0.0,
                    _ => case.bound() + 1.0,
                };
                assert!(
                    distance <= bound,
                    "{what}: work-item {index} has {found:e}, expected {expected:e}"
                );
            }
            let of_all = found[SHARED].to_bits();
            assert!(
                shared.iter().all(|shared| shared.to_bits() == of_all),
                "{what}: one number alone has another result than in a vector"
            );
        }
    }
}

/// All functions that are called, in the code of a kernel for such registers.
fn compare_all(registers: Registers) {
    need!("clang-22");
    let mut worker = Worker::start_program(&programs().join(WORKER_PROGRAM)).unwrap();
    let ops = Op::names().filter_map(Op::from_name);
    let mut count = 0;
    for op in ops {
        let name = format!("{op:?}");
        // Those of less precision are the same functions.
        if name.starts_with("half_") || name.starts_with("native_") {
            continue;
        }
        for scalar in [Scalar::F32, Scalar::F64] {
            let Some(function) = VectorFunction::of(op, scalar, registers) else {
                continue;
            };
            let case = Case { op, scalar, function };
            compare(case, registers, &mut worker);
            count += 1;
        }
    }
    assert!(count > 1, "there are such functions");
}

#[test]
fn functions_for_avx2_are_as_exact_as_opencl_asks() {
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        return skip("this processor has no AVX2");
    }
    compare_all(Registers::Avx2);
}

#[test]
#[expect(clippy::print_stderr, reason = "a skip must be loud")]
fn functions_for_avx512_are_as_exact_as_opencl_asks() {
    if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")) {
        // No tool that could be installed changes that.
        eprintln!("SKIPPED: this processor has no AVX-512");
        return;
    }
    compare_all(Registers::Avx512);
}

#[test]
fn only_modules_that_have_a_use_for_it_depend_on_libmvec() {
    need!("clang-22");
    let module = |source: &str| {
        let module = Module::from_bytes(&spirv(source)).unwrap();
        vector_functions(&offkit_kernel::read(module.dr()).unwrap())
    };
    let without = "kernel void k(global double *x) { x[0] = sin(x[0]) + fmin(x[1], x[2]); }";
    assert_eq!(module(without), [""; 0]);
    let with = module("kernel void k(global double *x) { x[0] = erf(x[0]); }");
    assert_eq!(with.len(), 1, "{with:?}");
    assert!(with[0].ends_with("v_erf"), "{with:?}");
}

#[test]
fn variables_choose_the_processor_and_do_without_libmvec() {
    need!("clang-22");
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        return skip("this processor has no AVX2");
    }
    let folder = Folder::new();
    folder.spirv(
        "k",
        "kernel void k(global double *x) { size_t i = get_global_id(0); x[i] = erf(x[i]); }",
    );
    let form = |stage: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new(offkit());
        command.args(["show", "--kernel-ir", "--stage", stage, "k.spv"]);
        command
            .env_remove(PROCESSOR_VARIABLE)
            .env_remove(LIBMVEC_VARIABLE);
        command.envs(variables.iter().copied());
        let outcome = folder.run_command(&mut command);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
    };
    let avx2 = [(PROCESSOR_VARIABLE, "x86-64-v3")];
    let assembly = form("assembly", &avx2).stdout;
    assert!(
        assembly.contains("%ymm") && !assembly.contains("%zmm"),
        "{assembly}"
    );
    assert!(form("optimized", &avx2).stdout.contains("_ZGVdN4v_erf"));
    let without = form("optimized", &[avx2[0], (LIBMVEC_VARIABLE, "0")]).stdout;
    assert!(!without.contains("_ZGV") && without.contains("fmul"), "{without}");
    let wrong = [(PROCESSOR_VARIABLE, "x86-64-v9"), ("OFFKIT_LOG", "warn")];
    let wrong = form("optimized", &wrong).stderr;
    assert!(wrong.contains("OFFKIT_CPU_PROCESSOR is ignored"), "{wrong}");
}
