//! What OpenCL's build options allow of the arithmetic of compiled kernels, and that no more is taken than they allow.

#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};

use offkit_llvm::WORKER_VARIABLE;
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::{Buffer, Context, NdRange, Plugin, QueueProperties};

const KERNELS: &str = "
    kernel void quotients(global float4 *x, float divisor) {
        size_t i = get_global_id(0);
        x[i] = x[i] / divisor;
    }
    kernel void sums(global float4 *x, float factor) {
        size_t i = get_global_id(0);
        float sum = 0;
        for (int round = 0; round < 4; ++round)
            sum += ((x[i].x + x[i].y) + x[i].z) * factor + x[i].w;
        x[i].x = sum;
    }
    kernel void functions(global float4 *x, float factor) {
        size_t i = get_global_id(0);
        float4 y = x[i] * (1.0f / 65536);
        x[i] = (float4)(exp(y.x), sin(y.y), sqrt(fabs(y.z)), atan2(y.w, factor));
    }
";

/// Work-items, each with four numbers: too many for the interpreter to run them without waiting for code.
const SIZE: usize = 1 << 14;

const DIVISOR: f32 = 3.7;

/// Numbers of magnitudes from 2^-8 to 2^8, the same every time.
fn inputs() -> Vec<f32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let exponent = 119 + (state >> 60);
        f32::from_bits((state as u32 & 0x807f_ffff) | (exponent as u32) << 23)
    };
    std::iter::repeat_with(next).take(4 * SIZE).collect()
}

/// What a kernel makes of the inputs in a program that is built with options.
fn run(spirv: &[u8], options: &str, kernel: &str) -> Vec<f32> {
    let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_il(spirv).unwrap();
    program.build(options).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let mut kernel = program.kernel(kernel).unwrap();
    let mut bytes: Vec<u8> = inputs().into_iter().flat_map(f32::to_ne_bytes).collect();
    let buffer: Buffer = context.buffer(bytes.len()).unwrap();
    queue.write_buffer(&buffer, 0, &bytes, &[]).unwrap();
    kernel.set_argument(0, &buffer).unwrap();
    kernel.set_argument(1, DIVISOR).unwrap();
    let range = NdRange::new([SIZE]);
    queue.launch(&kernel, &range, &[]).unwrap().wait().unwrap();
    queue.read_buffer(&buffer, 0, &mut bytes, &[]).unwrap();
    assert_eq!(program.build_log(&device).unwrap(), "", "it was not interpreted");
    let floats = bytes.as_chunks().0.iter();
    floats.map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// How far a number is from what it should be, in units in the last place of that.
fn error(found: f32, exact: f64) -> f64 {
    let unit = 2.0_f64.powf(exact.abs().log2().floor() - 23.0);
    (f64::from(found) - exact).abs() / unit
}

/// SPIR-V of the kernels, if this is the process that the test runs in: one with a worker, without what was kept before.
#[expect(clippy::print_stderr, reason = "what is not tested is said")]
fn inside(test: &str) -> Option<Vec<u8>> {
    const INSIDE: &str = "OFFKIT_TEST_INSIDE";
    let this = std::env::current_exe().unwrap();
    let worker = this.with_file_name("../offkit-cpu-worker");
    let is_required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    if std::env::var_os(INSIDE).is_none() {
        if !worker.exists() {
            assert!(!is_required, "{} is required", worker.display());
            eprintln!("SKIPPED: the worker is not built: cargo build -p offkit-llvm-worker");
            return None;
        }
        let mut command = Command::new(this);
        command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
        command.env(WORKER_VARIABLE, worker).env("OFFKIT_CACHE", "off");
        assert!(command.status().unwrap().success(), "see above");
        return None;
    }
    let mut clang = Command::new("clang-22");
    clang.args([
        "-xcl",
        "--target=spirv64",
        "-cl-std=CL3.0",
        "-O1",
        "-c",
        "-",
        "-o",
        "-",
    ]);
    let Ok(mut clang) = clang.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        assert!(!is_required, "clang-22 is required");
        eprintln!("SKIPPED: clang-22 is not installed");
        return None;
    };
    clang.stdin.take().unwrap().write_all(KERNELS.as_bytes()).unwrap();
    let output = clang.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

#[test]
fn options_allow_what_opencl_says_and_no_more() {
    let Some(spirv) = inside("options_allow_what_opencl_says_and_no_more") else {
        return;
    };
    let exact = |options: &str| {
        let quotients = run(&spirv, options, "quotients");
        let pairs = quotients.into_iter().zip(inputs());
        pairs.filter(|(found, x)| *found != x / DIVISOR).count()
    };
    for options in [
        "",
        "-cl-mad-enable",
        "-cl-no-signed-zeros",
        "-cl-finite-math-only",
        "-cl-denorms-are-zero",
        "-cl-opt-disable",
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-fast-relaxed-math -cl-fp32-correctly-rounded-divide-sqrt",
    ] {
        assert_eq!(exact(options), 0, "{options}: quotients are rounded correctly");
    }
    for options in ["-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"] {
        assert!(exact(options) > 0, "{options} changes nothing");
        for (found, x) in run(&spirv, options, "quotients").into_iter().zip(inputs()) {
            let exact = f64::from(x) / f64::from(DIVISOR);
            assert!(error(found, exact) <= 2.5, "{options}: {found} for {exact}");
        }
        // In whatever order: each of so few roundings is of no more than the sum of all.
        let sums = run(&spirv, options, "sums");
        for (found, x) in sums.as_chunks::<4>().0.iter().zip(inputs().as_chunks::<4>().0) {
            let [a, b, c, d] = x.map(f64::from);
            let exact = 4.0 * ((a + b + c) * f64::from(DIVISOR) + d);
            let most = 4.0 * ((a.abs() + b.abs() + c.abs()) * f64::from(DIVISOR) + d.abs());
            let error = (f64::from(found[0]) - exact).abs();
            assert!(
                error <= 16.0 * most * 2.0_f64.powi(-24),
                "{options}: {found:?} for {exact}"
            );
        }
        // Functions are as exact as without.
        let found = run(&spirv, options, "functions");
        assert!(found == run(&spirv, "", "functions"), "{options}");
    }
}
