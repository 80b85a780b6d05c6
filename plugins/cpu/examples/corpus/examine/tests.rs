//! That right results are told from wrong ones, by kernels that are compiled from another source than is interpreted.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{Built, Comparison};
use crate::record::{Run, Verdict};

/// Whether what is missing may not be missing.
fn is_required() -> bool {
    std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1")
}

/// OpenCL C with the statements of a kernel as SPIR-V, if there is a compiler.
fn spirv(statements: &str) -> Option<Vec<u8>> {
    let source = format!(
        "kernel void k(global double *x, global int *n) {{ size_t i = get_global_id(0); {statements} }}"
    );
    let mut clang = Command::new("clang-22");
    clang.args(["-xcl", "--target=spirv64", "-cl-std=CL3.0", "-O1"]);
    clang.args(["-ffp-contract=off", "-c", "-", "-o", "-"]);
    let Ok(mut clang) = clang.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        assert!(!is_required(), "clang-22 is required");
        eprintln!("SKIPPED: clang-22 is not installed");
        return None;
    };
    clang.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = clang.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

/// What is found of a kernel whose compiled code is that of other statements; nothing where that can't be tested.
fn compare(interpreted: &str, compiled: &str) -> Option<Run> {
    let folder = std::env::current_exe().unwrap();
    let worker = folder.with_file_name("../offkit-llvm-worker");
    if !worker.exists() {
        assert!(!is_required(), "{} is required", worker.display());
        eprintln!("SKIPPED: the worker is not built: cargo build -p offkit-llvm-worker");
        return None;
    }
    offkit_plugin_cpu::compile_with(worker);
    let (interpreted, compiled) = (spirv(interpreted)?, spirv(compiled)?);
    let built = Built {
        spirv: &compiled,
        ..Built::new(&interpreted).unwrap()
    };
    let run = Comparison::new(&built, 0, &|_, _| ()).run(1);
    assert!(run.wrote, "{run:?}");
    Some(run)
}

/// Asserts what is found of a kernel whose compiled code is that of other statements.
fn check(interpreted: &str, compiled: &str, expected: &[Verdict]) {
    if let Some(run) = compare(interpreted, compiled) {
        assert!(expected.contains(&run.verdict), "{compiled}: {run:?}");
    }
}

/// Each sine magnifies the error of what it is of some four times.
const SINES: &str = "double v = x[i]; for (int k = 0; k < 12; ++k) v = sin(8 * v); x[i] = v;";

/// Errors of the first power become a hundred times as large.
const POWERS: &str = "double v = x[i]; for (int k = 0; k < 3; ++k) v = pow(v, 10.0); x[i] = v;";

#[test]
fn numbers_may_be_as_far_apart_as_allowed_errors_put_them() {
    check(
        "x[i] = exp(x[i]);",
        "x[i] = exp(x[i]);",
        &[Verdict::Equal, Verdict::Rounded],
    );
    check(SINES, SINES, &[Verdict::Magnified]);
    // Functions may be very exact.
    check(
        POWERS,
        POWERS,
        &[Verdict::Equal, Verdict::Rounded, Verdict::Magnified],
    );
    // One has powers that are one.
    let other = POWERS.replace("pow(v, 10.0)", "pow(v, 10.0) * (fabs(v) == 1 ? 1 : 1 + 0x1p-52)");
    check(POWERS, &other, &[Verdict::Magnified]);
}

#[test]
fn numbers_are_wrong_that_are_further_apart() {
    let wrong = [Verdict::Wrong];
    check("x[i] = exp(x[i]);", "x[i] = exp(x[i]) * (1 + 0x1p-10);", &wrong);
    check("x[i] = exp(x[i]);", "x[i] = exp(x[i]) * (1 + 0x1p-40);", &wrong);
    check("x[i] = x[i] * 3;", "x[i] = x[i] * 3 * (1 + 0x1p-52);", &wrong);
    for kernel in [SINES, POWERS] {
        for by in ["* (1 + 0x1p-10)", "+ 1", "* INFINITY", "* NAN"] {
            check(
                kernel,
                &kernel.replace("x[i] = v", &format!("x[i] = v {by}")),
                &wrong,
            );
        }
    }
    // One of many.
    let one = format!("{SINES} if (i == 17) x[i] += 0x1p-10;");
    check(SINES, &one, &wrong);
}

#[test]
fn errors_explain_nothing_but_numbers() {
    let kernel = format!("{SINES} n[i] = i;");
    check(&kernel, &kernel, &[Verdict::Magnified]);
    check(&kernel, &format!("{SINES} n[i] = i + 1;"), &[Verdict::Wrong]);
}
