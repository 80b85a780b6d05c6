//! The language itself: what the files in `language/` do on the device and on the host.
//!
//! Each file is compiled twice by the same clang, for SPIR-V and for this machine, and its kernels run
//! on the same numbers. A kernel takes `out` and `in` and makes four ints of each item's place in `in`;
//! it uses no built-in function but `get_global_id`, the one that the host's driver provides.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::samples::Generator;

const ITEMS: usize = 64;

/// The numbers that kernels work on: some more than items, since they look at the neighbours too.
fn input() -> Vec<u8> {
    let corners = [
        0,
        1,
        -1,
        7,
        1000,
        i32::MIN,
        i32::MAX,
        97,
        255,
        256,
        -128,
        65535,
        'a' as i32,
        20,
        63,
        127,
    ];
    let mut generator = Generator::new(41);
    let numbers = (0..ITEMS + 16).map(|index| match index {
        0..16 => corners[index],
        _ => (generator.next() as i64 >> (32 + generator.below(30))) as i32,
    });
    numbers.flat_map(i32::to_le_bytes).collect()
}

fn kernels(source: &str) -> Vec<&str> {
    let starts = source
        .lines()
        .filter_map(|line| line.strip_prefix("kernel void "));
    starts
        .filter_map(|rest| rest.split_once('('))
        .map(|(name, _)| name)
        .collect()
}

/// The results of all kernels, one after the other, from the source compiled for this machine.
fn on_the_host(file: &Path, standard: &str, kernels: &[&str], directory: &Path) -> Vec<u8> {
    let mut driver = format!(
        "#include <stdio.h>\n#include <string.h>\n\
         static size_t current;\n\
         size_t _Z13get_global_idj(unsigned d) {{ return d == 0 ? current : 0; }}\n\
         static _Alignas(128) int in[{}], out[{}];\n",
        ITEMS + 16,
        4 * ITEMS
    );
    for kernel in kernels {
        let _ = writeln!(driver, "void {kernel}(int *out, const int *in);");
    }
    driver += "int main(void) {\n  if (fread(in, sizeof in, 1, stdin) != 1) return 1;\n";
    for kernel in kernels {
        let _ = write!(
            driver,
            "  memset(out, 0, sizeof out);\n  for (current = 0; current < {ITEMS}; current++) {kernel}(out, in);\n  \
             fwrite(out, sizeof out, 1, stdout);\n"
        );
    }
    driver += "  return 0;\n}\n";
    let (object, c_file, program) = (
        directory.join("kernels.o"),
        directory.join("driver.c"),
        directory.join("driver"),
    );
    std::fs::write(&c_file, driver).expect("the driver is written");
    let mut compile = Command::new("clang-22");
    compile.args([
        "-x",
        "cl",
        "-O1",
        "-ffp-contract=off",
        // Nobody has the descriptions of types that virtual functions would need.
        "-Xclang",
        "-fno-rtti",
        "-Wno-everything",
        &format!("-cl-std={standard}"),
    ]);
    clang::run(compile.arg("-c").arg(file).arg("-o").arg(&object), &[])
        .expect("the source compiles for the host");
    let mut link = Command::new("clang-22");
    link.args(["-Wno-everything"])
        .arg(&c_file)
        .arg(&object)
        .arg("-o")
        .arg(&program);
    clang::run(&mut link, &[]).expect("the driver links");
    clang::run(&mut Command::new(&program), &input()).expect("the driver runs")
}

fn check(file: &str) {
    check_with(file, "");
}

/// The same with extensions of SPIR-V.
fn check_with(file: &str, extensions: &'static str) {
    if !clang::is_available() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/opencl/language")
        .join(file);
    let source = std::fs::read_to_string(&path).expect("the source is there");
    let standards = source
        .lines()
        .next()
        .and_then(|line| line.split_once("compiled as: "))
        .expect("a list of standards");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::create_dir_all(&directory).expect("a directory");
    let kernels = kernels(&source);
    assert!(!kernels.is_empty());
    let mut failures = Vec::new();
    for standard in standards.1.split(' ') {
        let expected = on_the_host(&path, standard, &kernels, &directory);
        // With debug information, and with leave to reorder and simplify what has no floats in it.
        let more = ["-O0 -g", "-O2 -g -cl-fast-relaxed-math"].map(|flags| Options {
            flags,
            ..Options::DEFAULT
        });
        let exact = |options: &Options| file.contains("control") || !options.flags.contains("fast");
        for options in Options::all().into_iter().chain(more).filter(exact) {
            let options = Options {
                standard: known(standard),
                extensions,
                ..options
            };
            let spirv = match clang::compile(&source, options) {
                Ok(spirv) => spirv,
                Err(error) => panic!("{file} {options:?}: {error}"),
            };
            let device = match Device::new(&spirv) {
                Ok(device) => device,
                Err(error) => {
                    failures.push(format!("{file} {options:?}: {error}"));
                    continue;
                }
            };
            for (kernel, expected) in kernels.iter().zip(expected.chunks(16 * ITEMS)) {
                let operands = [Operand::Buffer(vec![0; 16 * ITEMS]), Operand::Buffer(input())];
                match device.run(kernel, &[ITEMS], &[], &operands) {
                    Err(error) => failures.push(format!("{kernel} of {file} {options:?}: {error}")),
                    Ok(outcome) => failures.extend(
                        difference(&outcome.buffers[0], expected)
                            .map(|difference| format!("{kernel} of {file} {options:?}: {difference}")),
                    ),
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The literal for a standard that a file names.
fn known(standard: &str) -> &'static str {
    ["CL1.2", "CL2.0", "CL3.0", "clc++1.0", "clc++2021"]
        .into_iter()
        .find(|known| *known == standard)
        .expect("a standard")
}

fn difference(results: &[u8], expected: &[u8]) -> Option<String> {
    let word =
        |bytes: &[u8], at: usize| i32::from_le_bytes(bytes[4 * at..][..4].try_into().expect("four bytes"));
    let at = (0..results.len() / 4).find(|&at| word(results, at) != word(expected, at))?;
    Some(format!(
        "item {} has {} in place {}, expected {}",
        at / 4,
        word(results, at),
        at % 4,
        word(expected, at)
    ))
}

#[test]
fn control_flow() {
    check("control.cl");
}

#[test]
fn functions() {
    check("functions.cl");
}

#[test]
fn data() {
    check("data.cl");
}

#[test]
fn arithmetic() {
    check("arithmetic.cl");
}

#[test]
fn vectors() {
    check("vectors.cl");
}

#[test]
fn indices() {
    check("indices.cl");
}

#[test]
fn recursion() {
    check("recursion.cl");
}

#[test]
fn endless_recursion_is_an_error() {
    if !clang::is_available() {
        return;
    }
    let source = "int deep(int n) {
        int kept[16];
        kept[n & 15] = n;
        return deep(n + 1) + kept[n & 15];
    }
    kernel void k(global int *out) {
        int i = get_global_id(0);
        if (i == 21) i = deep(i);
        out[i] = 1;
    }";
    // An optimizer would make a loop of it.
    let options = Options {
        flags: "-O0",
        ..Options::DEFAULT
    };
    let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
    let operands = [Operand::Buffer(vec![0; 4 * ITEMS])];
    let error = device
        .run("k", &[ITEMS], &[16], &operands)
        .expect_err("there is no room");
    let place = "work-item [21, 0, 0] (local id [5, 0, 0] of work-group [1, 0, 0])";
    assert!(
        error.contains("stack overflow") && error.contains(place),
        "{error}"
    );
}

#[test]
fn objects() {
    check("objects.clcpp");
}

const BY_ADDRESS: &str = "+SPV_INTEL_function_pointers";

#[test]
fn functions_called_by_their_addresses() {
    check_with("pointers.cl", BY_ADDRESS);
}

#[test]
fn virtual_functions() {
    check_with("virtual.clcpp", BY_ADDRESS);
}

#[test]
fn a_call_by_no_address_is_an_error() {
    if !clang::is_available() {
        return;
    }
    let source = "#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
    int next(int x) { return x + 1; }
    int other(int x) { return x * 2; }
    float number(float x) { return x; }
    kernel void k(global int *out, global const int *in) {
        int i = get_global_id(0);
        int (*table[4])(int) = {next, other, 0, (int (*)(int))number};
        out[i] = table[in[i]](i);
    }";
    for options in Options::extended(BY_ADDRESS) {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        // Null, and a function of another type.
        for wrong in [2, 3] {
            let mut input = vec![0_u8; 4 * ITEMS];
            input[4 * 21] = wrong;
            let operands = [Operand::Buffer(vec![0; 4 * ITEMS]), Operand::Buffer(input)];
            let error = device
                .run("k", &[ITEMS], &[16], &operands)
                .expect_err("there is nothing to call");
            let place = "work-item [21, 0, 0] (local id [5, 0, 0] of work-group [1, 0, 0])";
            assert!(
                error.contains("call through a pointer to no function of its type") && error.contains(place),
                "{error}"
            );
        }
    }
}

#[test]
fn every_file_is_run() {
    let directory: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/opencl/language"]
        .iter()
        .collect();
    let files = std::fs::read_dir(directory)
        .expect("the directory is there")
        .count();
    assert_eq!(files, 10, "a file in language/ has no test here");
}
