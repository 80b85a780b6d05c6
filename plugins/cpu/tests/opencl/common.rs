//! The common and the geometric functions.

use crate::case::{Case, HEADER, check, suffix};
use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::{self, *};
use crate::samples::Generator;

fn functions(element: Element) -> Vec<Case> {
    let (one, two, three) = ([element], [element; 2], [element; 3]);
    let ordinary = move |x: &[u64]| x.iter().all(|&word| element.number(word).abs() < 1e4);
    let no_nan = move |x: &[u64]| !x.iter().any(|&word| element.number(word).is_nan());
    let zeros_alike =
        move |x: &[u64]| no_nan(x) && !(element.number(x[0]) == 0.0 && element.number(x[1]) == 0.0);
    vec![
        Case::of_numbers("r = degrees(a);", element, &one, |x| x[0].to_degrees()).within(2),
        Case::of_numbers("r = radians(a);", element, &one, |x| x[0].to_radians()).within(2),
        Case::of_numbers("r = clamp(a, b, c);", element, &three, |x| {
            x[0].max(x[1]).min(x[2])
        })
        .only(|x| {
            zeros_alike(x) && element.number(x[1]) <= element.number(x[2]) && element.number(x[2]) != 0.0
        }),
        Case::of_numbers("r = max(a, b);", element, &two, |x| x[0].max(x[1])).only(zeros_alike),
        Case::of_numbers("r = min(a, b);", element, &two, |x| x[0].min(x[1])).only(zeros_alike),
        Case::of_numbers("r = mix(a, b, c);", element, &three, |x| {
            x[0] + (x[1] - x[0]) * x[2]
        })
        .within(2)
        .only(ordinary),
        Case::of_numbers("r = step(a, b);", element, &two, |x| {
            if x[1] < x[0] { 0.0 } else { 1.0 }
        })
        .only(no_nan),
        Case::of_numbers("r = smoothstep(a, b, c);", element, &three, |x| {
            let t = ((x[2] - x[0]) / (x[1] - x[0])).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        })
        .within(3)
        .only(|x| ordinary(x) && element.number(x[0]) < element.number(x[1])),
        Case::of_numbers("r = sign(a);", element, &one, |x| match x[0] {
            x if x.is_nan() => 0.0,
            x if x == 0.0 => x,
            x => x.signum(),
        }),
    ]
}

#[test]
fn common_functions() {
    check(&functions(Float), &[1, 2, 3, 4, 8, 16]);
    check(&functions(Double), &[1, 4]);
    check(&functions(Half), &[1, 4]);
}

#[test]
fn common_functions_with_scalar_operands() {
    let ordinary = |x: &[u64]| Float.number(x[0]).abs() < 1e4;
    let cases = [
        Case::of_numbers("r = clamp(a, -1.0f, 1.0f);", Float, &[Float], |x| {
            x[0].clamp(-1.0, 1.0)
        })
        .only(ordinary),
        Case::of_numbers("r = max(a, 1.0f);", Float, &[Float], |x| x[0].max(1.0)).only(ordinary),
        Case::of_numbers("r = min(a, 1.0f);", Float, &[Float], |x| x[0].min(1.0)).only(ordinary),
        Case::of_numbers("r = mix(a, a + 4.0f, 0.5f);", Float, &[Float], |x| x[0] + 2.0)
            .within(2)
            .only(|x| Float.number(x[0]) > 0.1 && ordinary(x)),
        Case::of_numbers("r = step(1.0f, a);", Float, &[Float], |x| {
            if x[0] < 1.0 { 0.0 } else { 1.0 }
        })
        .only(ordinary),
        Case::of_numbers("r = smoothstep(0.0f, 2.0f, a);", Float, &[Float], |x| {
            let t = (x[0] / 2.0).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        })
        .within(2)
        .only(ordinary),
    ];
    check(&cases, &[2, 4]);
}

/// A geometric function: from two vectors to one, or to a number in its first lane.
struct Geometric {
    call: &'static str,
    widths: &'static [usize],
    to_vector: bool,
    expected: fn(&[f64], &[f64]) -> Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn normalized(a: &[f64]) -> Vec<f64> {
    a.iter().map(|x| x / length(a)).collect()
}

fn cross(a: &[f64], b: &[f64]) -> Vec<f64> {
    let at = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
    let mut product = vec![at(1, 2), at(2, 0), at(0, 1)];
    product.resize(a.len(), 0.0);
    product
}

const GEOMETRIC: [Geometric; 8] = [
    Geometric {
        call: "dot(a, b)",
        widths: &[1, 2, 3, 4],
        to_vector: false,
        expected: |a, b| vec![dot(a, b)],
    },
    Geometric {
        call: "length(a)",
        widths: &[1, 2, 3, 4],
        to_vector: false,
        expected: |a, _| vec![length(a)],
    },
    Geometric {
        call: "distance(a, b)",
        widths: &[1, 2, 3, 4],
        to_vector: false,
        expected: |a, b| vec![length(&difference(a, b))],
    },
    Geometric {
        call: "normalize(a)",
        widths: &[1, 2, 3, 4],
        to_vector: true,
        expected: |a, _| normalized(a),
    },
    Geometric {
        call: "cross(a, b)",
        widths: &[3, 4],
        to_vector: true,
        expected: cross,
    },
    Geometric {
        call: "fast_length(a)",
        widths: &[1, 2, 3, 4],
        to_vector: false,
        expected: |a, _| vec![length(a)],
    },
    Geometric {
        call: "fast_distance(a, b)",
        widths: &[1, 2, 3, 4],
        to_vector: false,
        expected: |a, b| vec![length(&difference(a, b))],
    },
    Geometric {
        call: "fast_normalize(a)",
        widths: &[1, 2, 3, 4],
        to_vector: true,
        expected: |a, _| normalized(a),
    },
];

#[test]
fn geometric_functions() {
    if !clang::is_available() {
        return;
    }
    for options in Options::all() {
        for element in Element::FLOATS {
            check_geometric(element, options);
        }
    }
}

fn check_geometric(element: Element, options: Options) {
    const ITEMS: usize = 24;
    let functions = || {
        let all = GEOMETRIC
            .iter()
            .flat_map(|function| function.widths.iter().map(move |&lanes| (function, lanes)));
        all.filter(|(function, _)| element == Float || !function.call.starts_with("fast_"))
            .enumerate()
    };
    let mut source = HEADER.to_owned();
    for (index, (function, lanes)) in functions() {
        let name = element.name();
        let operand = format!("{name}{}", suffix(lanes));
        let result = if function.to_vector { &operand } else { name };
        source += &format!(
            "kernel void k{index}(global {result} *out, global const {operand} *as, global const {operand} *bs) {{
               size_t i = get_global_id(0); {operand} a = as[i], b = bs[i]; out[i] = {}; }}\n",
            function.call
        );
    }
    let device = Device::new(&clang::compile(&source, options).expect("compiles")).expect("builds");
    for (index, (function, lanes)) in functions() {
        let stride = lanes.next_power_of_two();
        let (result_lanes, result_stride) = if function.to_vector {
            (lanes, stride)
        } else {
            (1, 1)
        };
        let mut generator = Generator::new(index as u64 + 1);
        let mut words = || -> Vec<u64> {
            let mut number = || element.word_of((generator.below(4001) as f64 - 2000.0) / 64.0);
            (0..ITEMS * lanes).map(|_| number()).collect()
        };
        let (a, b) = (words(), words());
        let operands = [
            Operand::Buffer(vec![0; ITEMS * result_stride * element.size()]),
            Operand::Buffer(element.encode(&a, lanes, stride)),
            Operand::Buffer(element.encode(&b, lanes, stride)),
        ];
        let what = format!(
            "{} on {}{}, {options:?}",
            function.call,
            element.name(),
            suffix(lanes)
        );
        let outcome = device
            .run(&format!("k{index}"), &[ITEMS], &[], &operands)
            .expect(&what);
        let results = element.decode(&outcome.buffers[0], result_lanes, result_stride);
        let numbers = |words: &[u64]| words.iter().map(|&word| element.number(word)).collect::<Vec<_>>();
        for ((a, b), result) in a
            .chunks(lanes)
            .zip(b.chunks(lanes))
            .zip(results.chunks(result_lanes))
        {
            let (a, b) = (numbers(a), numbers(b));
            let expected = (function.expected)(&a, &b);
            // Sums of products: the error is relative to the terms, not to what is left of them.
            let terms = length(&a) * length(&b);
            let scale = match function.call {
                "dot(a, b)" | "cross(a, b)" => terms,
                _ => expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs())),
            };
            let unit = 2f64.powi(match element {
                Half => -10,
                Float => -23,
                _ => -52,
            });
            for (&result, expected) in result.iter().zip(expected) {
                let off = (element.number(result) - expected).abs() / (scale * unit);
                assert!(
                    off <= 6.0,
                    "{what} of {a:?} {b:?}: {}, expected {expected}",
                    element.number(result)
                );
            }
        }
    }
}
