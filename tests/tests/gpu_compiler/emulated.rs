//! Kernels compiled for GPUs on threads of this machine, beside the interpreter with the same arguments.
//!
//! The LLVM IR that code is generated of is made the host's by its text: address spaces go, and what it asks the hardware for
//! is asked of `threads.c`.

use std::fmt::Write;

use offkit_tests::{Folder, need, npy, tool};

use super::{LANGUAGE, MEASURED, compile, for_waves, spirv, wave_of};

/// What a kernel is given.
enum Given {
    /// Integers, which are the same afterwards.
    I32(Vec<i32>),
    I64(Vec<i64>),
    /// Numbers, which are but for roundings.
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Numbers of half precision, as their bits: whoever computes with them rounds as often.
    F16(Vec<u16>),
    /// One number, as `offkit run` and as C spell it, and its type in C.
    Number(&'static str, &'static str, &'static str),
    /// Bytes of local memory.
    Local(usize),
}

use Given::{F16, F32, F64, I32, I64, Local, Number};

/// The bytes of an array, and the type of its elements in C and in a `.npy` file.
struct Array {
    element: &'static str,
    kind: &'static str,
    size: usize,
    bytes: Vec<u8>,
}

impl Given {
    fn array(&self) -> Option<Array> {
        fn of<T: Copy, const N: usize>(
            element: &'static str,
            kind: &'static str,
            values: &[T],
            bytes: fn(T) -> [u8; N],
        ) -> Option<Array> {
            Some(Array {
                element,
                kind,
                size: N,
                bytes: values.iter().flat_map(|value| bytes(*value)).collect(),
            })
        }
        match self {
            I32(values) => of("int32_t", "<i4", values, i32::to_le_bytes),
            I64(values) => of("int64_t", "<i8", values, i64::to_le_bytes),
            F32(values) => of("float", "<f4", values, f32::to_le_bytes),
            F64(values) => of("double", "<f8", values, f64::to_le_bytes),
            F16(values) => of("_Float16", "<f2", values, u16::to_le_bytes),
            Number(..) | Local(_) => None,
        }
    }

    /// Whether elements are what they should be.
    fn is_near(&self, expected: &[u8], found: &[u8]) -> bool {
        fn number<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.try_into().expect("an element")
        }
        let near = |one: f64, two: f64, tolerance: f64| {
            one == two
                || (one - two).abs() <= tolerance * one.abs().max(two.abs()).max(1.0)
                || (one.is_nan() && two.is_nan())
        };
        let single = |bytes: &[u8]| f64::from(f32::from_le_bytes(number(bytes)));
        let double = |bytes: &[u8]| f64::from_le_bytes(number(bytes));
        match self {
            F32(_) => near(single(expected), single(found), 2e-4),
            F64(_) => near(double(expected), double(found), 1e-12),
            _ => expected == found,
        }
    }
}

/// A launch: the kernel, work-items in all and in a group, arguments.
struct Launch(&'static str, [usize; 3], [usize; 3], Vec<Given>);

/// In how many dimensions a launch is, and where its ids begin: what kernels may ask for.
#[derive(Clone, Copy)]
struct Place {
    dimensions: usize,
    offset: [usize; 3],
}

/// Where launches are of kernels that don't ask.
const PLAIN: Place = Place {
    dimensions: 3,
    offset: [0; 3],
};

fn numbers(count: usize) -> Vec<i32> {
    (0..count)
        .map(|index| ((index * 7919 + 13) % 101) as i32)
        .collect()
}

fn fractions(count: usize) -> Vec<f32> {
    numbers(count)
        .into_iter()
        .map(|number| number as f32 * 0.25 + 0.5)
        .collect()
}

/// The LLVM IR as the host's.
fn of_host(text: &str) -> String {
    let mut text = text
        .replace("llvm.nvvm.", "device.")
        .replace("llvm.amdgcn.", "device.amd.")
        .replace("@vprintf", "@device.vprintf");
    for space in [1, 3, 4, 5, 101] {
        text = text
            .replace(&format!(", addrspace({space})"), "")
            .replace(&format!(" addrspace({space})"), "");
    }
    text = text
        .replace("addrspacecast", "bitcast")
        .replace("ptx_kernel ", "")
        .replace("amdgpu_kernel ", "")
        // Bytes of the launch: where they are is what the host is given.
        .replace(" byval([12 x i8])", "")
        .replace(" byval([16 x i8])", "");
    let is_targets = |line: &&str| !line.starts_with("target ");
    let lines = text
        .lines()
        .filter(is_targets)
        .map(|line| match line.starts_with("attributes ") {
            // The processor is another one.
            true => line
                .split(' ')
                .filter(|word| !word.starts_with("\"target-"))
                .collect::<Vec<_>>()
                .join(" "),
            false => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// A program that launches a kernel and writes what it leaves in memory. A pointer into local memory is given as such, or as
/// a place in what the launch has.
fn program(
    Launch(kernel, global, local, given): &Launch,
    emulated: &Emulated,
    place: Option<Place>,
) -> String {
    let mut text = String::from(
        "#include <stdint.h>\n#include <stdio.h>\n\
         extern char offkit_local_memory[];\n\
         extern uint32_t launched[4];\n\
         void launch(void (*)(void), uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);\n\
         static void move(const char *name, void *to, size_t size, int is_read) {\n\
         FILE *file = fopen(name, is_read ? \"rb\" : \"wb\");\n\
         if (!file || (is_read ? fread : (size_t (*)(void *, size_t, size_t, FILE *))fwrite)(to, 1, size, file) != size)\n\
         perror(name), __builtin_trap();\nfclose(file);\n}\n",
    );
    let (mut types, mut arguments) = (Vec::new(), Vec::new());
    let (mut reads, mut writes) = (String::new(), String::new());
    let mut used = 0;
    for (index, given) in given.iter().enumerate() {
        let (kind, value) = match given {
            Number(_, value, kind) => (*kind, (*value).to_owned()),
            Local(size) => {
                let place = used;
                used += size.next_multiple_of(128);
                match emulated.wave.is_some() {
                    true => ("char *", format!("offkit_local_memory + {place}")),
                    false => ("uint32_t", place.to_string()),
                }
            }
            array => {
                let Array {
                    element, size, bytes, ..
                } = array.array().expect("nothing else");
                let count = bytes.len() / size;
                writeln!(
                    text,
                    "static {element} a{index}[{count}] __attribute__((aligned(128)));"
                )
                .unwrap();
                writeln!(reads, "move(\"a{index}.bin\", a{index}, sizeof a{index}, 1);").unwrap();
                writeln!(writes, "move(\"b{index}.bin\", a{index}, sizeof a{index}, 0);").unwrap();
                ("void *", format!("a{index}"))
            }
        };
        types.push(kind.to_owned());
        arguments.push(value);
    }
    let groups = [0, 1, 2].map(|axis| global[axis] / local[axis]);
    let [left, top, front] = place.unwrap_or(PLAIN).offset;
    let launched = format!("{left}, {top}, {front}, {}", place.unwrap_or(PLAIN).dimensions);
    let mut kernel = (*kernel).to_owned();
    // NVIDIA's kernels are told by an argument, in an entry of its own; AMD's by their runtime.
    if emulated.wave.is_none() && place.is_some() {
        kernel += "_with_offset";
        types.push("uint32_t *".to_owned());
        arguments.push("launched".to_owned());
    }
    let (types, arguments) = (types.join(", "), arguments.join(", "));
    writeln!(text, "typedef int32_t int4 __attribute__((ext_vector_type(4)));").unwrap();
    writeln!(
        text,
        "void {kernel}({types});\nstatic void of(void) {{ {kernel}({arguments}); }}"
    )
    .unwrap();
    let [x, y, z] = groups;
    let [a, b, c] = local;
    writeln!(
        text,
        "uint32_t launched[4] = {{{launched}}};\nint main(void) {{ {reads} launch(of, {x}, {y}, {z}, {a}, {b}, {c}); {writes} }}"
    )
    .unwrap();
    text
}

/// Runs a launch both ways; gives what was printed, too.
#[track_caller]
fn compare(emulated: &Emulated, launch: &Launch) -> [String; 2] {
    compare_at(emulated, launch, None)
}

/// The same for a launch in some place.
#[track_caller]
fn compare_at(emulated: &Emulated, launch: &Launch, place: Option<Place>) -> [String; 2] {
    let Emulated { folder, name, .. } = emulated;
    let Launch(kernel, global, local, given) = launch;
    let Place { dimensions, offset } = place.unwrap_or(PLAIN);
    let joined = |three: &[usize; 3]| {
        let sizes = three.iter().take(dimensions).map(usize::to_string);
        sizes.collect::<Vec<_>>().join(",")
    };
    let mut line = format!(
        "run {name}.spv {kernel} --device cpu-checked --global {} --local {} --offset {}",
        joined(global),
        joined(local),
        joined(&offset)
    );
    for (index, given) in given.iter().enumerate() {
        line += &match given {
            Number(value, ..) => format!(" --arg {value}"),
            Local(size) => format!(" --arg local:{size}"),
            array => {
                let Array {
                    kind, size, bytes, ..
                } = array.array().expect("nothing else");
                let shape = format!("({},)", bytes.len() / size);
                folder.write(&format!("a{index}.npy"), npy(kind, &shape, bytes.iter().copied()));
                folder.write(&format!("a{index}.bin"), bytes);
                format!(" --arg a{index}.npy --out {index}=o{index}.npy")
            }
        };
    }
    let interpreted = folder.offkit(&line).ok();
    folder.write("main.c", program(launch, emulated, place));
    let clang = tool("clang-22").expect("asked for before");
    let build = "-w main.c threads.o host.o -lm -o main";
    folder.run(clang, build.split(' ')).ok();
    let threads = folder.run::<String>(folder.path("main"), []).ok();
    for (index, given) in given.iter().enumerate() {
        let Some(Array { size, .. }) = given.array() else {
            continue;
        };
        let expected = folder.read(&format!("o{index}.npy"));
        let found = folder.read(&format!("b{index}.bin"));
        let expected = &expected[expected.len() - found.len()..];
        for (at, (expected, found)) in expected.chunks(size).zip(found.chunks(size)).enumerate() {
            assert!(
                given.is_near(expected, found),
                "{kernel}, argument {index} at {at}: {found:02x?}, and interpreted {expected:02x?}"
            );
        }
    }
    [interpreted, threads]
}

/// Kernels that are the host's.
struct Emulated {
    folder: Folder,
    name: &'static str,
    /// Work-items of a wave, on AMD's.
    wave: Option<u32>,
}

/// Compiles kernels for the processor, and makes them the host's.
fn emulated(name: &'static str, source: &str, processor: &str) -> Emulated {
    let folder = Folder::new();
    let wave = wave_of(processor);
    let size = wave.unwrap_or(32);
    spirv(&folder, name, &for_waves(wave, source));
    compile(&folder, name, processor);
    let text = folder.read(&format!("{name}.{processor}/0.ll"));
    folder.write(
        "host.ll",
        of_host(&String::from_utf8(text).expect("LLVM IR is text")),
    );
    folder.write("threads.c", include_str!("threads.c"));
    let clang = tool("clang-22").expect("asked for before");
    let build = format!("-O1 -w -DWARP={size} -c threads.c host.ll");
    folder.run(clang, build.split(' ')).ok();
    Emulated { folder, name, wave }
}

fn int(value: &'static str) -> Given {
    Number(
        Box::leak(format!("i32:{value}").into_boxed_str()),
        value,
        "int32_t",
    )
}

#[test]
fn measured_kernels_compute_what_the_interpreter_does() {
    need!("clang-22");
    for processor in ["sm_70", "gfx90a", "gfx1100"] {
        measured(&emulated("measured", MEASURED, processor));
    }
}

fn measured(emulated: &Emulated) {
    let of = |count: usize| F32(fractions(count));
    let none = |count: usize| F32(vec![0.0; count]);
    let row = |count: usize| [count, 1, 1];
    let bins = numbers(512).into_iter().map(|number| number * 2).collect();
    let launches = [
        Launch("empty", row(32), row(32), vec![]),
        Launch("vector_add", row(96), row(32), vec![of(96), of(96), none(96)]),
        Launch(
            "saxpy",
            row(128),
            row(64),
            vec![Number("f32:2.5", "2.5f", "float"), of(128), of(128), int("100")],
        ),
        Launch(
            "stencil",
            [32, 16, 1],
            [8, 8, 1],
            vec![of(512), none(512), int("32"), int("16")],
        ),
        Launch(
            "gather",
            row(101),
            row(101),
            vec![I32(numbers(101)), of(101), none(101)],
        ),
        Launch(
            "matrix_naive",
            [32, 32, 1],
            [8, 4, 1],
            vec![of(1024), of(1024), none(1024), int("32")],
        ),
        Launch(
            "matrix_tiled",
            [32, 32, 1],
            [16, 16, 1],
            vec![of(1024), of(1024), none(1024), int("32")],
        ),
        Launch(
            "transpose",
            [32, 16, 1],
            [16, 16, 1],
            vec![of(512), none(512), int("32"), int("16")],
        ),
        Launch("bodies", row(64), row(32), vec![of(256), none(256), int("64")]),
        Launch(
            "bodies_tiled",
            row(64),
            row(32),
            vec![of(256), none(256), int("64"), Local(512)],
        ),
        Launch(
            "options",
            row(64),
            row(32),
            vec![of(64), of(64), of(64), none(64)],
        ),
        Launch("waves", row(64), row(32), vec![of(64), none(64)]),
        Launch(
            "mandelbrot",
            [16, 8, 1],
            [8, 4, 1],
            vec![I32(vec![0; 128]), int("16"), int("8"), int("30")],
        ),
        Launch("reduce", row(256), row(64), vec![of(256), none(4), Local(256)]),
        Launch("scan", row(128), row(64), vec![of(128), none(128), Local(256)]),
        Launch(
            "histogram",
            row(512),
            row(64),
            vec![I32(numbers(512)), I32(vec![0; 256])],
        ),
        Launch(
            "histogram_local",
            row(128),
            row(64),
            vec![I32(bins), I32(vec![0; 256]), int("4")],
        ),
        Launch(
            "sort_step",
            row(64),
            row(32),
            vec![I32(numbers(64)), I32(vec![0; 64]), int("8"), int("16")],
        ),
        Launch(
            "fourier_step",
            row(32),
            row(32),
            vec![of(128), none(128), int("8")],
        ),
        Launch(
            "mix_bits",
            row(64),
            row(32),
            vec![I32(numbers(64)), I32(vec![0; 64]), int("9")],
        ),
        Launch(
            "convolve",
            [16, 16, 1],
            [8, 8, 1],
            vec![of(256), of(49), none(256), int("16"), int("16")],
        ),
        Launch(
            "sparse",
            row(64),
            row(32),
            vec![
                I32((0..65).map(|index| index * 3 / 2).collect()),
                I32(numbers(96)),
                of(96),
                of(101),
                none(64),
            ],
        ),
        Launch(
            "polynomial_f64",
            row(64),
            row(32),
            vec![
                F64((0..64).map(|index| f64::from(index) / 65.0).collect()),
                F64(vec![0.0; 64]),
            ],
        ),
        Launch(
            "exp_f64",
            row(96),
            row(32),
            vec![
                F64((0..96).map(|index| f64::from(index) * 7.3 - 350.0).collect()),
                F64(vec![0.0; 96]),
            ],
        ),
        Launch(
            "saxpy_f16",
            row(64),
            row(32),
            // Bits of numbers of all sizes, below zero and above.
            vec![
                F16((0..64).map(|index| (index * 491) ^ ((index & 1) << 15)).collect()),
                F16(vec![0; 64]),
            ],
        ),
        Launch(
            "reduce_sub_groups",
            row(192),
            row(96),
            vec![of(192), none(2), Local(512)],
        ),
    ];
    for launch in &launches {
        compare(emulated, launch);
    }
}

#[test]
fn collectives_atomics_and_pointers_do_what_the_interpreter_does() {
    need!("clang-22");
    for processor in ["sm_60", "sm_90", "gfx942", "gfx1030"] {
        let emulated = emulated("language", LANGUAGE, processor);
        let row = |count: usize| [count, 1, 1];
        let none = |count: usize| I32(vec![0; count]);
        let of = |count: usize| I32(numbers(count));
        let launches = [
            // The last sub-group of a group has fewer than 32.
            Launch("sub_groups", row(144), row(72), vec![of(144), none(144 * 12)]),
            Launch("sub_groups", row(128), row(64), vec![of(128), none(128 * 12)]),
            Launch(
                "wide_words",
                row(64),
                row(64),
                vec![
                    I64((1..65).map(|number| number << 33 | 7).collect()),
                    I64(vec![0; 128]),
                ],
            ),
            Launch("work_groups", row(200), row(100), vec![of(200), none(800)]),
            Launch(
                "generic_pointers",
                row(64),
                row(32),
                vec![of(64), none(64), Local(128)],
            ),
            Launch(
                "structs",
                row(64),
                row(32),
                vec![
                    of(64),
                    none(64),
                    Number("i32:3,4,5,6", "(int4){3, 4, 5, 6}", "int4"),
                    Number("i8:9", "9", "char"),
                ],
            ),
            Launch("program_scope", row(64), row(32), vec![of(64), none(64)]),
            Launch(
                "atomics",
                row(96),
                row(32),
                vec![none(8), F32(vec![0.0]), I64(vec![0])],
            ),
            Launch(
                "mathematics",
                row(96),
                row(32),
                vec![F32(fractions(96)), F32(vec![0.0; 768])],
            ),
            Launch(
                "native_mathematics",
                row(96),
                row(32),
                vec![F32(fractions(96)), F32(vec![0.0; 768])],
            ),
            Launch("conversions", row(96), row(32), vec![of(96), none(384)]),
            Launch("counters", row(96), row(32), vec![of(96), I64(vec![0; 960])]),
            // Next to whole numbers, of which half have no gamma.
            Launch(
                "gammas",
                row(96),
                row(32),
                vec![
                    F32(fractions(96)),
                    F64((0..96).map(|index| f64::from(index) * 0.37 + 0.11).collect()),
                    none(96),
                ],
            ),
        ];
        for launch in &launches {
            compare(&emulated, launch);
        }
        let everywhere = || Launch("places", [32, 6, 1], [16, 2, 1], vec![none(32 * 6 * 6)]);
        for (dimensions, offset) in [(3, [0; 3]), (2, [0; 3]), (2, [70, 5, 0]), (3, [1, 2, 3])] {
            compare_at(&emulated, &everywhere(), Some(Place { dimensions, offset }));
        }
        if emulated.wave.is_some() {
            continue;
        }
        let prints = Launch("prints", row(4), row(4), vec![of(4)]);
        let [interpreted, threads] = compare(&emulated, &prints);
        let printed = "13 13.00, 0.50,-1.00, 2.00 text 32c8 nbc-5 100%\n";
        assert!(threads.starts_with(printed), "{threads}");
        assert!(interpreted.contains(&threads), "{interpreted}{threads}");
    }
}
