//! Vectors in memory and in registers: the `vload` and `vstore` families, components, shuffles.

use crate::case::{Case, HEADER, check, suffix};
use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::{self, *};
use crate::rounding::{Exact, Mode, round};
use crate::samples::{self, Generator};

const WIDTHS: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// Builds a source in all ways and hands each program to a check.
fn in_all_ways(source: &str, mut check: impl FnMut(&Device, Options)) {
    if !clang::is_available() {
        return;
    }
    for options in Options::all() {
        let spirv = clang::compile(&format!("{HEADER}{source}"), options).expect("compiles");
        let device = Device::new(&spirv).unwrap_or_else(|error| panic!("{options:?}: {error}"));
        check(&device, options);
    }
}

#[test]
fn vload_and_vstore_in_every_address_space() {
    let spaces = [
        (
            "local",
            "local short p[64]; for (int j = 0; j < 64; j++) p[j] = in[j];",
        ),
        (
            "private",
            "short p[64]; for (int j = 0; j < 64; j++) p[j] = in[j];",
        ),
        (
            "generic",
            "short q[64]; for (int j = 0; j < 64; j++) q[j] = in[j]; short *p = out; if (in[0] >= 0) p = q;",
        ),
    ];
    let kernels = spaces.iter().flat_map(|(space, array)| {
        WIDTHS[1..].iter().map(move |lanes| {
            format!(
                "kernel void {space}{lanes}(global short *out, global const short *in, constant short *c) {{
                   {array}
                   vstore{lanes}(vload{lanes}(1, p + 1) + vload{lanes}(0, c + 3), 0, p + 33);
                   for (int j = 0; j < 64; j++) out[j] = p[j]; }}\n"
            )
        })
    });
    in_all_ways(&kernels.collect::<String>(), |device, options| {
        let words: Vec<u64> = (0..64).map(|index| 3 * index + 1).collect();
        let input = Operand::Buffer(Short.encode(&words, 1, 1));
        for (space, _) in spaces {
            for &lanes in &WIDTHS[1..] {
                let kernel = format!("{space}{lanes}");
                let operands = [Operand::Buffer(vec![0; 128]), input.clone(), input.clone()];
                let outcome = device.run(&kernel, &[1], &[], &operands).expect(&kernel);
                let mut expected = words.clone();
                for lane in 0..lanes {
                    expected[33 + lane] = words[1 + lanes + lane] + words[3 + lane];
                }
                assert_eq!(
                    Short.decode(&outcome.buffers[0], 1, 1),
                    expected,
                    "{kernel} {options:?}"
                );
            }
        }
    });
}

#[test]
fn vload_and_vstore_need_the_alignment_of_an_element_only() {
    let kernels = Element::all().flat_map(|element| {
        WIDTHS[1..].iter().map(move |lanes| {
            let name = element.name();
            // Both pointers start at odd elements.
            format!(
                "kernel void copy_{name}{lanes}(global {name} *out, global const {name} *in) {{
                   size_t i = get_global_id(0);
                   {name}{lanes} v = vload{lanes}(i, in + 1);
                   vstore{lanes}(v, i + 1, out + 1); }}\n"
            )
        })
    });
    in_all_ways(&kernels.collect::<String>(), |device, options| {
        for element in Element::all() {
            for &lanes in &WIDTHS[1..] {
                let words = &samples::operands(&[element], 5)[0];
                let operands = [
                    Operand::Buffer(vec![0; 96 * element.size()]),
                    Operand::Buffer(element.encode(words, 1, 1)),
                ];
                let kernel = format!("copy_{}{lanes}", element.name());
                let outcome = device.run(&kernel, &[4], &[], &operands).expect(&kernel);
                let results = element.decode(&outcome.buffers[0], 1, 1);
                let mut expected = vec![0; 96];
                expected[1 + lanes..][..4 * lanes].copy_from_slice(&words[1..][..4 * lanes]);
                assert_eq!(results, expected, "{kernel} {options:?}");
            }
        }
    });
}

#[test]
fn vectors_anywhere_in_memory() {
    const COUNT: usize = 40;
    let kernels = Element::all().flat_map(|element| {
        WIDTHS[1..].iter().map(move |lanes| {
            let name = element.name();
            format!(
                "kernel void all_{name}{lanes}(global {name}{lanes} *out, global const {name}{lanes} *in,
                                               global const int *order) {{
                   int i = order[get_global_id(0)];
                   out[i] = in[order[i]]; }}
                 kernel void some_{name}{lanes}(global {name}{lanes} *out, global const {name}{lanes} *in,
                                                global const int *order) {{
                   int i = order[get_global_id(0)];
                   if (i % 3) out[i] = in[order[i]]; }}
                 kernel void rows_{name}{lanes}(global {name}{lanes} *out, global const {name}{lanes} *in,
                                                global const int *order) {{
                   size_t i = 5 * get_global_id(0);
                   if (i < {COUNT}) for (int j = 0; j < 5; j++) out[i + j] = in[order[i + j]]; }}\n"
            )
        })
    });
    let order: Vec<usize> = (0..COUNT).map(|index| index * 7 % COUNT).collect();
    let order_words: Vec<u64> = order.iter().map(|&index| index as u64).collect();
    in_all_ways(&kernels.collect::<String>(), |device, options| {
        for element in Element::all() {
            for &lanes in &WIDTHS[1..] {
                let stride = lanes.next_power_of_two();
                let numbers = &samples::operands(&[element], lanes as u64)[0];
                let words: Vec<u64> = numbers.iter().copied().cycle().take(COUNT * lanes).collect();
                for (form, is_written) in [
                    ("all", (|_| true) as fn(usize) -> bool),
                    ("some", |index| index % 3 != 0),
                    ("rows", |_| true),
                ] {
                    let operands = [
                        Operand::Buffer(vec![0; COUNT * stride * element.size()]),
                        Operand::Buffer(element.encode(&words, lanes, stride)),
                        Operand::Buffer(Int.encode(&order_words, 1, 1)),
                    ];
                    let kernel = format!("{form}_{}{lanes}", element.name());
                    let outcome = device.run(&kernel, &[COUNT], &[], &operands).expect(&kernel);
                    let results = element.decode(&outcome.buffers[0], lanes, stride);
                    let expected: Vec<u64> = (0..COUNT * lanes)
                        .map(|index| match is_written(index / lanes) {
                            true => words[order[index / lanes] * lanes + index % lanes],
                            false => 0,
                        })
                        .collect();
                    assert_eq!(results, expected, "{kernel} {options:?}");
                }
            }
        }
    });
}

/// The functions for half values: the aligned ones exist for vectors only.
fn half_functions(name: &str, lanes: usize) -> Vec<String> {
    // LLVM 22 makes vload_half3 of vloada_half3: see the limits.
    let unaligned = lanes == 1 || lanes == 3 && name == "vload";
    let forms = if unaligned {
        &["_half"][..]
    } else {
        &["_half", "a_half"]
    };
    forms.iter().map(|form| format!("{name}{form}")).collect()
}

/// Half values to load: every class of number, and many between.
fn halves() -> Vec<u64> {
    let mut generator = Generator::new(17);
    let classes = [
        0, 0x8000, 1, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x3555, 0xbc01,
    ];
    classes
        .into_iter()
        .chain((0..53).map(|_| generator.next() & 0xfbff))
        .collect()
}

#[test]
fn vload_half_from_every_address_space() {
    let spaces = [
        ("global", "global const half *in", "global const half *p = in;"),
        ("constant", "constant half *in", "constant half *p = in;"),
        (
            "local",
            "global const half *in",
            "local half p[64]; for (int j = 0; j < 64; j++) p[j] = in[j];",
        ),
        (
            "private",
            "global const half *in",
            "half p[64]; for (int j = 0; j < 64; j++) p[j] = in[j];",
        ),
        ("generic", "global const half *in", "const half *p = in;"),
    ];
    let mut source = String::new();
    for (space, parameter, pointer) in spaces {
        for lanes in WIDTHS {
            for function in half_functions("vload", lanes) {
                let (suffix, vector) = (
                    suffix(lanes),
                    if lanes == 1 {
                        "float".into()
                    } else {
                        format!("float{lanes}")
                    },
                );
                source += &format!(
                    "kernel void {function}{lanes}{space}(global {vector} *out, {parameter}) {{
                       size_t i = get_global_id(0); {pointer} out[i] = {function}{suffix}(i, p); }}\n"
                );
            }
        }
    }
    let halves = halves();
    in_all_ways(&source, |device, options| {
        for (space, ..) in spaces {
            for lanes in WIDTHS {
                for function in half_functions("vload", lanes) {
                    let kernel = format!("{function}{lanes}{space}");
                    let stride = lanes.next_power_of_two();
                    let operands = [
                        Operand::Buffer(vec![0; 4 * stride * 4]),
                        Operand::Buffer(Half.encode(&halves, 1, 1)),
                    ];
                    let outcome = device.run(&kernel, &[4], &[1], &operands).expect(&kernel);
                    // The aligned form of three halves takes the place of four.
                    let step = if function.contains("a_half") {
                        stride
                    } else {
                        lanes
                    };
                    let expected: Vec<u64> = (0..4 * lanes)
                        .map(|index| Float.word_of(Half.number(halves[index / lanes * step + index % lanes])))
                        .collect();
                    assert_eq!(
                        Float.decode(&outcome.buffers[0], lanes, stride),
                        expected,
                        "{kernel} {options:?}"
                    );
                }
            }
        }
    });
}

#[test]
fn vstore_half_in_every_rounding_mode() {
    let modes: Vec<(Mode, &str)> = [(Mode::Nearest, "")].into_iter().chain(Mode::ALL).collect();
    let spaces = [
        ("global", ""),
        ("private", "half p[64] = {0};"),
        ("local", "local half p[64];"),
    ];
    let functions = || {
        let modes = modes.clone();
        [Float, Double].into_iter().flat_map(move |from| {
            let modes = modes.clone();
            WIDTHS.into_iter().flat_map(move |lanes| {
                modes.clone().into_iter().flat_map(move |(mode, rounding)| {
                    let functions = half_functions("vstore", lanes).into_iter();
                    functions.map(move |function| (from, lanes, mode, rounding, function))
                })
            })
        })
    };
    for (space, array) in spaces {
        let mut source = String::new();
        for (from, lanes, _, rounding, function) in functions() {
            let (lanes_suffix, vector) = (suffix(lanes), format!("{}{}", from.name(), suffix(lanes)));
            let stride = if function.contains("a_half") {
                lanes.next_power_of_two()
            } else {
                lanes
            };
            let copy = match array {
                "" => String::new(),
                _ => format!("for (size_t j = i * {stride}; j < i * {stride} + {lanes}; j++) out[j] = p[j];"),
            };
            let target = if array.is_empty() { "out" } else { "p" };
            source += &format!(
                "kernel void {function}{vector}{rounding}(global half *out, global const {vector} *in) {{
                   size_t i = get_global_id(0); {array}
                   {function}{lanes_suffix}{rounding}(in[i], i, {target}); {copy} }}\n"
            );
        }
        let mut generator = Generator::new(23);
        let numbers: Vec<f64> = (0..64)
            .map(|index| match index {
                0..11 => [
                    0.0,
                    -0.0,
                    1.0,
                    65504.0,
                    65519.0,
                    65520.0,
                    -1e9,
                    1e-9,
                    5.5e-8,
                    6e-5,
                    f64::INFINITY,
                ][index],
                _ => (generator.next() as i64 >> 20) as f64 * 2f64.powi(generator.below(40) as i32 - 64),
            })
            .collect();
        in_all_ways(&source, |device, options| {
            for (from, lanes, mode, rounding, function) in functions() {
                let words: Vec<u64> = numbers.iter().map(|&number| from.word_of(number)).collect();
                let kernel = format!("{function}{}{}{rounding}", from.name(), suffix(lanes));
                let stride = lanes.next_power_of_two();
                let input = from.encode(&words[..4 * lanes], lanes, stride);
                let operands = [Operand::Buffer(vec![0; 64 * 2]), Operand::Buffer(input)];
                let outcome = device.run(&kernel, &[4], &[1], &operands).expect(&kernel);
                let step = if function.contains("a_half") {
                    stride
                } else {
                    lanes
                };
                let mut expected = vec![0; 64];
                for (index, &word) in words[..4 * lanes].iter().enumerate() {
                    expected[index / lanes * step + index % lanes] =
                        round(Half, Exact::Float(from.number(word)), mode);
                }
                let results = Half.decode(&outcome.buffers[0], 1, 1);
                let same = results
                    .iter()
                    .zip(&expected)
                    .all(|(&a, &b)| Half.distance(a, b) == 0);
                assert!(
                    same,
                    "{kernel} {space} {options:?}: {results:x?}, expected {expected:x?}"
                );
            }
        });
    }
}

#[test]
fn components() {
    let cases = [
        Case::of_words(
            "int4 v = (int4)(a, b, c, 7); r = v.x + 3 * v.y + 5 * v.z + v.w;",
            Int,
            &[Int; 3],
            |x| Int.word_of_integer(Int.integer(x[0]) + 3 * Int.integer(x[1]) + 5 * Int.integer(x[2]) + 7),
        ),
        Case::of_words(
            "int4 v = (int4)(a, b, c, 7); v.xz = v.zx; r = v.s0;",
            Int,
            &[Int; 3],
            |x| x[2],
        ),
        Case::of_words(
            "int8 v = 0; v.odd = (int4)(a, b, c, 7); r = v.s3 ^ v.s4;",
            Int,
            &[Int; 3],
            |x| x[1],
        ),
        Case::of_words(
            "int8 v = 0; v.hi.even = (int2)(a, b); r = v.s6;",
            Int,
            &[Int; 3],
            |x| x[1],
        ),
        Case::of_words(
            "int16 v = (int16)(a); v.sa = b; v.lo = v.hi; r = v.s2 - v.sF;",
            Int,
            &[Int; 3],
            |x| Int.word_of_integer(Int.integer(x[1]) - Int.integer(x[0])),
        ),
        Case::of_words(
            "int3 v = (int3)(a, (int2)(b, c)); r = v.zyx.s0;",
            Int,
            &[Int; 3],
            |x| x[2],
        ),
        Case::of_words(
            "int4 v = (int4)(a, b, c, 7); v[a & 3] = 100; r = v[b & 3];",
            Int,
            &[Int; 3],
            |x| {
                let mut v = [x[0], x[1], x[2], 7];
                v[x[0] as usize & 3] = 100;
                v[x[1] as usize & 3]
            },
        ),
        Case::of_words(
            "int2 v[2] = {(int2)(a, b), (int2)(c, 9)}; r = v[a & 1].y;",
            Int,
            &[Int; 3],
            |x| {
                if x[0] & 1 == 0 { x[1] } else { 9 }
            },
        ),
        Case::of_words(
            "int4 v = a; v += (int4)(0, 1, 2, 3); v *= v.wzyx; r = v.y;",
            Int,
            &[Int; 3],
            |x| {
                let a = Int.integer(x[0]);
                Int.word_of_integer((a + 1) * (a + 2))
            },
        ),
    ];
    check(&cases, &[1]);
}

#[test]
fn shuffles() {
    for (element, mask) in [
        (Char, Uchar),
        (Short, Ushort),
        (Uint, Uint),
        (Long, Ulong),
        (Float, Uint),
        (Half, Ushort),
    ] {
        let name = element.name();
        let mut source = String::new();
        let shapes = || {
            [2, 4, 8, 16]
                .into_iter()
                .flat_map(|from| [2, 4, 8, 16].map(|to| (from, to)))
        };
        for (from, to) in shapes() {
            source += &format!(
                "kernel void s{from}_{to}(global {name}{to} *out, global const {name}{from} *in,
                                          global const {}{to} *masks) {{
                   size_t i = get_global_id(0);
                   out[2 * i] = shuffle(in[2 * i], masks[i]);
                   out[2 * i + 1] = shuffle2(in[2 * i], in[2 * i + 1], masks[i]); }}\n",
                mask.name()
            );
        }
        in_all_ways(&source, |device, options| {
            for (from, to) in shapes() {
                const ITEMS: usize = 3;
                let mut generator = Generator::new(29);
                let bits = u64::MAX >> (64 - element.bits());
                let values: Vec<u64> = (0..ITEMS * 2 * from)
                    .map(|_| generator.next() & bits >> 2)
                    .collect();
                let masks: Vec<u64> = (0..ITEMS * to).map(|_| generator.next() & (bits >> 1)).collect();
                let kernel = format!("s{from}_{to}");
                let operands = [
                    Operand::Buffer(vec![0; ITEMS * 2 * to * element.size()]),
                    Operand::Buffer(element.encode(&values, 1, 1)),
                    Operand::Buffer(mask.encode(&masks, 1, 1)),
                ];
                let outcome = device.run(&kernel, &[ITEMS], &[], &operands).expect(&kernel);
                let results = element.decode(&outcome.buffers[0], 1, 1);
                let mut expected = Vec::new();
                for (values, masks) in values.chunks(2 * from).zip(masks.chunks(to)) {
                    expected.extend(masks.iter().map(|&mask| values[mask as usize % from]));
                    expected.extend(masks.iter().map(|&mask| values[mask as usize % (2 * from)]));
                }
                assert_eq!(results, expected, "{name} {kernel} {options:?}");
            }
        });
    }
}
