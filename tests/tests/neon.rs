//! Kernels that are compiled for Arm with NEON and executed under `qemu-aarch64`: the loader lays them out, a program in C runs
//! them as the CPU device does, and the results are the interpreter's.

use std::fs;
use std::process::Command;
use std::time::Duration;

use offkit_compile::{Arithmetic, Cut, Variant};
use offkit_llvm::{CompileRequest, Compiled, Effort, WORKER_PROGRAM, Worker};
use offkit_plugin_cpu::code::{Image, Machine};
use offkit_plugin_cpu::{
    AllocationKind, Argument, LaunchOptions, Memory, NdRange, Processor, Program, sub_group_size,
};
use offkit_tests::{Folder, need, programs, root};

const KERNELS: [&str; 12] = [
    "tail",
    "floats",
    "doubles",
    "gathered",
    "integers",
    "ways",
    "wide",
    "turned",
    "together",
    "counted",
    "halves",
    "functions",
];

/// What the image is laid out for: the smallest page that Arm has.
const PAGE: usize = 4096;

/// Work-items: as many words has each buffer.
const SIZE: u64 = 220;

/// The last group is shorter, and so is the last vector of each.
const LOCAL: u64 = 50;

fn words(text: impl IntoIterator<Item = u64>) -> Vec<u8> {
    text.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Numbers of all sizes, the same every time.
fn inputs() -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = |index: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 32) as u32) >> (index % 5 * 6)
    };
    (0..SIZE).map(next).flat_map(u32::to_le_bytes).collect()
}

/// What the interpreter writes.
fn interpreted(spirv: &[u8], kernel: &str) -> Vec<u8> {
    let memory = Memory::new();
    let program = Program::build(spirv, memory.clone()).unwrap();
    let buffer = |content: &[u8]| {
        let buffer = memory
            .allocate(content.len(), 16, AllocationKind::Buffer)
            .unwrap();
        memory.write(buffer, content).unwrap();
        buffer
    };
    let mut result = vec![0; 4 * SIZE as usize];
    let (out, input) = (buffer(&result), buffer(&inputs()));
    let size = (SIZE as u32).to_le_bytes().to_vec();
    let arguments = [
        Argument::Pointer(out),
        Argument::Pointer(input),
        Argument::Bytes(size),
    ];
    let range = NdRange {
        local: Some([LOCAL as usize, 1, 1]),
        ..NdRange::new([SIZE as usize])
    };
    program
        .launch(kernel, &range, &arguments, &LaunchOptions::default())
        .unwrap();
    memory.read(out, &mut result).unwrap();
    result
}

/// A launch of compiled code, as `run.c` reads it.
fn job(compiled: &Compiled, variant: Variant) -> Vec<u8> {
    assert_eq!(
        compiled.externals,
        ["cancelled"],
        "the program that runs it supplies nothing else"
    );
    let image = Image::of_object(&compiled.object, Machine::Aarch64, PAGE).unwrap();
    let mut functions = image.functions().iter();
    let entry = functions
        .find(|function| function.name == compiled.symbol)
        .unwrap()
        .offset;
    let vectors = LOCAL.div_ceil(u64::from(variant.width));
    let memory = compiled.shared.next_multiple_of(64) + compiled.scratch * vectors;
    let (output, input) = (vec![0; 4 * SIZE as usize], inputs());
    let head = [
        image.code_size() as u64,
        image.bytes().len() as u64,
        entry as u64,
        0,
        memory,
        1,
    ];
    let range = [0, 0, 0, SIZE, 1, 1, LOCAL, 1, 1, SIZE.div_ceil(LOCAL), 1, 1];
    let (arguments, buffers) = (
        [3, 2, 0, 0, SIZE],
        [0, output.len() as u64, 1, input.len() as u64],
    );
    let words = words(head.into_iter().chain(range).chain(arguments).chain(buffers));
    [&words, image.bytes(), &output, &input].concat()
}

/// The largest difference of two results that are numbers.
fn difference(one: &[u8], other: &[u8]) -> f32 {
    let numbers = |bytes: &[u8]| -> Vec<f32> {
        let words = bytes.as_chunks().0.iter();
        words.map(|word| f32::from_le_bytes(*word)).collect()
    };
    assert!(numbers(one).iter().all(|number| number.is_finite()));
    let pairs = numbers(one).into_iter().zip(numbers(other));
    pairs
        .map(|(one, other)| ((one - other) / other.abs().max(1.0)).abs())
        .fold(0.0, f32::max)
}

#[test]
fn code_for_neon_does_what_the_interpreter_does() {
    need!("clang-22", "qemu-aarch64", "aarch64-linux-gnu-gcc");
    let folder = Folder::new();
    let source = |name: &str| root().join("tests/neon").join(name);
    let mut c = Command::new("aarch64-linux-gnu-gcc");
    c.args(["-O1", "-static", "-Wall", "-o", "run"])
        .arg(source("run.c"));
    folder.run_command(&mut c).ok();
    folder.spirv("kernels", &fs::read_to_string(source("kernels.cl")).unwrap());
    let spirv = folder.read("kernels.spv");
    let mut worker = Worker::start_program(&programs().join(WORKER_PROGRAM)).unwrap();
    let (triple, processor) = Processor::NeoverseN1.target();
    for kernel in KERNELS {
        let expected = interpreted(&spirv, kernel);
        assert!(expected.iter().any(|byte| *byte != 0), "{kernel} does nothing");
        for level in [Effort::Light, Effort::Full] {
            // A kernel that sees its sub-groups has vectors of their size.
            let variant = Variant {
                width: sub_group_size(),
                rows: true,
                full: false,
                narrow_ids: true,
                contract: false,
                check_bounds: false,
                cut: Cut::AsSeen,
                arithmetic: Arithmetic::default(),
            };
            let request = CompileRequest {
                kernel: kernel.to_owned(),
                variant,
                triple: triple.to_owned(),
                processor: processor.to_owned(),
                features: String::new(),
                vector_functions: Vec::new(),
                level,
                lines: false,
            };
            let compiled = worker.compile(&spirv, request, Duration::from_secs(60)).unwrap();
            assert_eq!(compiled.notes, [""; 0], "{kernel} is vector code");
            folder.write("job", job(&compiled, variant));
            let mut run = Command::new("qemu-aarch64");
            run.arg(folder.path("run")).arg(folder.path("job"));
            let output = offkit_tests::output(&mut run);
            let what = format!("{kernel} with {level:?} passes: {output:?}");
            assert!(output.status.success(), "{what}");
            let (result, input) = output.stdout.split_at(expected.len());
            assert!(input == inputs(), "{what}");
            match kernel {
                "functions" => assert!(difference(result, &expected) < 1e-5, "{kernel} {level:?}"),
                _ => assert!(
                    result == expected,
                    "{kernel} {level:?}: {}",
                    first_of(result, &expected)
                ),
            }
        }
    }
}

/// The first word that differs.
fn first_of(result: &[u8], expected: &[u8]) -> String {
    let pairs = result.chunks(4).zip(expected.chunks(4)).enumerate();
    let mut different = pairs.filter(|(_, (one, other))| one != other);
    match different.next() {
        Some((index, (one, other))) => format!(
            "word {index} is {one:x?}, expected {other:x?}; {} more",
            different.count()
        ),
        None => "none".to_owned(),
    }
}
