//! The mathematical functions, against correctly rounded values and their special cases.

use std::collections::BTreeMap;

use crate::case::{Case, check};
use crate::device::IS_COMPILED;
use crate::element::Element::{self, *};
use crate::samples::COUNT;

/// Functions whose second operand is an integer.
const WITH_INTEGER: [&str; 2] = ["pown", "rootn"];

/// The bound of the specification for a function in units in the last place, without the half one that the
/// rounding of the expected value takes.
fn tolerance(name: &str, element: Element) -> u64 {
    let full = match name {
        "sqrt" => 1,
        "fmod" | "remainder" => 0,
        "cbrt" | "rsqrt" | "log1p" => 1,
        "exp" | "exp2" | "exp10" | "expm1" | "log" | "log2" | "log10" => 2,
        "acospi" | "asinpi" | "atan" | "atanh" | "atanpi" | "tan" | "tanh" => 4,
        "atan2" | "atan2pi" | "tanpi" => 5,
        "erf" | "erfc" | "tgamma" | "lgamma" | "pow" | "powr" | "pown" | "rootn" => 15,
        _ => 3,
    };
    match element {
        // Half has tighter bounds.
        Half => full.min(if full > 5 { 3 } else { 1 }),
        Double if name == "sqrt" => 0,
        _ => full,
    }
}

/// The reference values by function: the result and the operands of each.
fn references() -> BTreeMap<&'static str, Vec<Vec<f64>>> {
    let mut functions: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in include_str!("../../../../crates/offkit-kernel/tests/data/mathematics.txt").lines() {
        let (name, words) = line.split_once(' ').expect("a name and words");
        let value = |word| f64::from_bits(u64::from_str_radix(word, 16).expect("hexadecimal"));
        functions
            .entry(name)
            .or_default()
            .push(words.split(' ').map(value).collect());
    }
    functions
}

/// A case for each function of the table, on those operands that the type holds.
fn cases_of_table(element: Element) -> Vec<Case> {
    references()
        .into_iter()
        .map(|(name, rows)| {
            let integer = WITH_INTEGER.contains(&name);
            let held: Vec<&Vec<f64>> = rows
                .iter()
                .filter(|row| {
                    row[1..]
                        .iter()
                        .enumerate()
                        .all(|(at, &x)| integer && at == 1 || element.holds(x))
                })
                .collect();
            assert!(
                held.len() > 4,
                "{name}: only {} rows for {}",
                held.len(),
                element.name()
            );
            let row = |index: usize| held[index % held.len()];
            let types: Vec<Element> = (1..rows[0].len())
                .map(|at| if integer && at == 2 { Int } else { element })
                .collect();
            let inputs = types
                .iter()
                .enumerate()
                .map(|(at, kind)| (0..COUNT).map(|index| kind.word_of(row(index)[at + 1])).collect())
                .collect();
            let expected: Vec<u64> = (0..COUNT).map(|index| element.word_of(row(index)[0])).collect();
            let statement = if types.len() == 1 {
                format!("r = {name}(a);")
            } else {
                format!("r = {name}(a, b);")
            };
            Case {
                statement,
                result: element,
                operands: types,
                inputs,
                expected,
                tolerance: tolerance(name, element),
            }
        })
        .collect()
}

#[test]
fn table_for_float_at_all_widths() {
    check(&cases_of_table(Float), &[1, 2, 3, 4, 8, 16]);
}

#[test]
fn table_for_double() {
    check(&cases_of_table(Double), &[1, 4]);
}

#[test]
fn table_for_half() {
    check(&cases_of_table(Half), &[1, 4]);
}

#[test]
fn native_and_half_functions() {
    let names = [
        "cos", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "rsqrt", "sin", "sqrt", "tan",
    ];
    let mut cases = Vec::new();
    for case in cases_of_table(Float) {
        let name = case
            .statement
            .trim_start_matches("r = ")
            .split('(')
            .next()
            .expect("a name")
            .to_owned();
        if names.contains(&name.as_str()) {
            for prefix in ["native_", "half_"] {
                // The device's are as good as the full functions, which the specification doesn't ask for.
                let statement = case.statement.replace(&name, &format!("{prefix}{name}"));
                let in_range = |x: &[u64]| Float.number(x[0]).abs() <= 65536.0;
                let case = Case {
                    statement,
                    ..case.clone()
                };
                let case = case.only(in_range);
                // Compiled ones are faster instead.
                cases.push(if IS_COMPILED { case.within(8192) } else { case });
            }
        }
    }
    for prefix in ["native_", "half_"] {
        let reciprocal = format!("r = {prefix}recip(a);");
        cases.push(Case::of_numbers(&reciprocal, Float, &[Float], |x| 1.0 / x[0]).within(1));
        let quotient = format!("r = {prefix}divide(a, b);");
        cases.push(Case::of_numbers(&quotient, Float, &[Float; 2], |x| x[0] / x[1]).within(1));
    }
    assert_eq!(cases.len(), 2 * names.len() + 4);
    check(&cases, &[1, 3]);
}

/// Functions that are exact, or defined by a formula.
fn exact_functions(element: Element) -> Vec<Case> {
    let (one, two, three) = ([element], [element; 2], [element; 3]);
    let number = move |word: u64| element.number(word);
    let equal_zeros = move |x: &[u64]| !(number(x[0]) == 0.0 && number(x[1]) == 0.0);
    let below_one = element.number(element.word_of(1.0) - 1);
    let fract = move |x: f64| match x {
        _ if x.is_infinite() || x == 0.0 => 0.0_f64.copysign(x),
        _ => (x - x.floor()).min(if x.is_nan() { x } else { below_one }),
    };
    let magnitude = |x: &[f64], larger: bool| match x[0].abs().partial_cmp(&x[1].abs()) {
        Some(std::cmp::Ordering::Equal) | None => {
            if larger {
                x[0].max(x[1])
            } else {
                x[0].min(x[1])
            }
        }
        Some(order) => {
            if order.is_gt() == larger {
                x[0]
            } else {
                x[1]
            }
        }
    };
    vec![
        Case::of_numbers("r = ceil(a);", element, &one, |x| x[0].ceil()),
        Case::of_numbers("r = floor(a);", element, &one, |x| x[0].floor()),
        Case::of_numbers("r = rint(a);", element, &one, |x| x[0].round_ties_even()),
        Case::of_numbers("r = round(a);", element, &one, |x| x[0].round()),
        Case::of_numbers("r = trunc(a);", element, &one, |x| x[0].trunc()),
        Case::of_numbers("r = fabs(a);", element, &one, |x| x[0].abs()),
        Case::of_numbers("r = copysign(a, b);", element, &two, |x| x[0].copysign(x[1])),
        Case::of_numbers("r = fdim(a, b);", element, &two, |x| {
            if x[0].is_nan() || x[1].is_nan() {
                f64::NAN
            } else if x[0] > x[1] {
                x[0] - x[1]
            } else {
                0.0
            }
        }),
        Case::of_numbers("r = fmax(a, b);", element, &two, |x| x[0].max(x[1])).only(equal_zeros),
        Case::of_numbers("r = fmin(a, b);", element, &two, |x| x[0].min(x[1])).only(equal_zeros),
        Case::of_numbers("r = maxmag(a, b);", element, &two, |x| magnitude(x, true)),
        Case::of_numbers("r = minmag(a, b);", element, &two, |x| magnitude(x, false)),
        Case::of_words("r = nextafter(a, b);", element, &two, |x| {
            let (from, to) = (number(x[0]), number(x[1]));
            if from.is_nan() || to.is_nan() {
                return element.word_of(f64::NAN);
            }
            let step = match from.partial_cmp(&to) {
                Some(std::cmp::Ordering::Less) => 1,
                Some(std::cmp::Ordering::Greater) => -1,
                _ => 0,
            };
            element.at_position(element.position(x[0]) + step)
        }),
        Case::of_numbers("r = fma(a, b, c);", element, &three, |x| x[0].mul_add(x[1], x[2])).within(1),
        Case::of_numbers("r = mad(a, b, c);", element, &three, |x| x[0].mul_add(x[1], x[2])).within(1),
        Case::of_numbers("r = logb(a);", element, &one, |x| match x[0] {
            0.0 => f64::NEG_INFINITY,
            x if !x.is_finite() => x.abs(),
            x => f64::from(exponent(x)),
        }),
        Case::of_numbers("r = ilogb(a);", Int, &one, |x| match x[0] {
            0.0 => i32::MIN.into(),
            x if !x.is_finite() => i32::MAX.into(),
            x => exponent(x).into(),
        }),
        Case::of_numbers("r = ldexp(a, b);", element, &[element, Int], |x| {
            let half = x[1].clamp(-4000.0, 4000.0) / 4.0;
            let power = |n: f64| 2f64.powi(n as i32);
            // In four steps, of which only the last can be inexact for operands that are narrower than
            // double.
            let rest = x[1].clamp(-4000.0, 4000.0) - 3.0 * half.trunc();
            x[0] * power(half.trunc()) * power(half.trunc()) * power(half.trunc()) * power(rest)
        })
        .within(1),
        Case::of_words("r = nan(a);", element, &[element.to_unsigned()], |_| {
            element.word_of(f64::NAN)
        }),
        Case::of_numbers("r = fract(a, &b);", element, &two, |x| fract(x[0])),
        Case::of_numbers("fract(a, &r);", element, &one, |x| x[0].floor()),
        Case::of_numbers("r = modf(a, &b);", element, &two, |x| {
            if x[0].is_infinite() {
                0.0_f64.copysign(x[0])
            } else {
                x[0].fract().copysign(x[0])
            }
        }),
        Case::of_numbers("modf(a, &r);", element, &one, |x| x[0].trunc()),
        Case::of_numbers("int# e; r = frexp(a, &e);", element, &one, |x| match x[0] {
            x if x == 0.0 || !x.is_finite() => x,
            x => x * 2f64.powi(-exponent(x) / 2) * 2f64.powi(-exponent(x) + exponent(x) / 2) / 2.0,
        }),
        Case::of_numbers("frexp(a, &r);", Int, &one, |x| {
            if x[0] == 0.0 {
                0.0
            } else {
                f64::from(exponent(x[0]) + 1)
            }
        })
        .only(|x| number(x[0]).is_finite()),
        Case::of_numbers("lgamma_r(a, &r);", Int, &one, |x| {
            if x[0] > 0.0 || x[0].floor() % 2.0 == 0.0 {
                1.0
            } else {
                -1.0
            }
        })
        .only(|x| {
            number(x[0]).is_finite() && number(x[0]) != number(x[0]).floor() && number(x[0]).abs() < 1e3
        }),
        Case::of_numbers("remquo(a, b, &r);", Int, &two, |x| {
            let quotient = (x[0] / x[1]).round_ties_even();
            (quotient.abs() % 128.0).copysign(quotient)
        })
        .only(|x| {
            let quotient = number(x[0]) / number(x[1]);
            number(x[0]).is_finite()
                && number(x[1]).is_finite()
                && quotient.abs() < 1e3
                && quotient.fract().abs() != 0.5
        }),
        Case::of_numbers("a = sincos(a, &r);", element, &one, |x| x[0].cos())
            .within(2)
            .only(|x| number(x[0]).abs() < 1e4),
        Case::of_numbers("r = sincos(a, &b);", element, &two, |x| x[0].sin())
            .within(2)
            .only(|x| number(x[0]).abs() < 1e4),
    ]
}

/// The exponent of a finite number's leading bit.
fn exponent(x: f64) -> i32 {
    let scaled = if x.is_normal() { x } else { x * 2f64.powi(64) };
    let field = (scaled.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    if x.is_normal() { field } else { field - 64 }
}

#[test]
fn exact_functions_of_all_types() {
    check(&exact_functions(Float), &[1, 2, 3, 4, 8, 16]);
    check(&exact_functions(Double), &[1, 4]);
    check(&exact_functions(Half), &[1, 4]);
}

#[test]
fn second_results_through_computed_pointers() {
    let choose = "float# p[2]; float# *q = p + (get_global_id(0) & 1); modf(a, q); r = *q;";
    check(
        &[Case::of_numbers(choose, Float, &[Float], |x| x[0].trunc())],
        &[1, 4],
    );
}

type Comparison = fn(f64, f64) -> bool;

#[test]
fn operators_on_floats() {
    for element in Element::FLOATS {
        let two = [element; 2];
        let mut cases = vec![
            Case::of_numbers("r = a + b;", element, &two, |x| x[0] + x[1]),
            Case::of_numbers("r = a - b;", element, &two, |x| x[0] - x[1]),
            Case::of_numbers("r = a * b;", element, &two, |x| x[0] * x[1]),
            Case::of_numbers("r = a / b;", element, &two, |x| x[0] / x[1]).within(if element == Double {
                0
            } else {
                2
            }),
            Case::of_words("r = -a;", element, &[element], |x| {
                x[0] ^ 1 << (element.bits() - 1)
            }),
            Case::of_numbers("r = a; r += 1; r = 2 * r;", element, &[element], |x| {
                // Every step is rounded.
                2.0 * element.number(element.word_of(x[0] + 1.0))
            }),
        ];
        let comparisons: [(&str, Comparison); 6] = [
            ("==", |x, y| x == y),
            ("!=", |x, y| x != y),
            ("<", |x, y| x < y),
            ("<=", |x, y| x <= y),
            (">", |x, y| x > y),
            (">=", |x, y| x >= y),
        ];
        for (operator, holds) in comparisons {
            let statement = format!("r = a {operator} b ? ({0}#)1 : ({0}#)2;", element.name());
            cases.push(Case::of_numbers(&statement, element, &two, |x| {
                if holds(x[0], x[1]) { 1.0 } else { 2.0 }
            }));
            let statement = format!("r = !(a {operator} b) ? ({0}#)1 : ({0}#)2;", element.name());
            cases.push(Case::of_numbers(&statement, element, &two, |x| {
                if holds(x[0], x[1]) { 2.0 } else { 1.0 }
            }));
        }
        check(&cases, &[1, 4]);
    }
}

#[test]
fn scalar_operands_of_vector_functions() {
    let cases = [
        Case::of_numbers("r = ldexp(a, 3);", Float, &[Float], |x| x[0] * 8.0),
        Case::of_numbers("r = fmax(a, 1.0f);", Float, &[Float], |x| x[0].max(1.0)),
        Case::of_numbers("r = fmin(a, 1.0f);", Float, &[Float], |x| x[0].min(1.0)),
        Case::of_numbers("r = a * 2.0f;", Float, &[Float], |x| x[0] * 2.0),
        Case::of_numbers("r = 2.0f / a;", Float, &[Float], |x| 2.0 / x[0]).within(2),
    ];
    check(&cases, &[2, 3, 16]);
}
