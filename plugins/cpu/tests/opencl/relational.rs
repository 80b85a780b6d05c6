//! The relational functions: 1 or 0 for scalars, -1 or 0 in the lanes of vectors.

use crate::case::{Case, check};
use crate::element::Element::{self, *};

/// The functions with their truth as 1; vectors have -1, so the statement negates there.
fn functions(element: Element, lanes: usize) -> Vec<Case> {
    let (one, two, three) = ([element], [element; 2], [element; 3]);
    // A scalar function returns an int, whatever its operand.
    let result = if lanes == 1 { Int } else { element.to_signed() };
    let truth = if lanes == 1 { 1 } else { -1 };
    let smallest_normal = match element {
        Half => 2f64.powi(-14),
        Float => f32::MIN_POSITIVE.into(),
        _ => f64::MIN_POSITIVE,
    };
    let number = move |word: u64| element.number(word);
    let of_one = |name: &str, holds: &dyn Fn(f64) -> bool| {
        Case::of_words(&format!("r = {name}(a);"), result, &one, |x| {
            result.word_of_integer(if holds(number(x[0])) { truth } else { 0 })
        })
    };
    let of_two = |name: &str, holds: fn(f64, f64) -> bool| {
        Case::of_words(&format!("r = {name}(a, b);"), result, &two, |x| {
            result.word_of_integer(if holds(number(x[0]), number(x[1])) {
                truth
            } else {
                0
            })
        })
    };
    let (condition, condition_unsigned) = (element.to_signed(), element.to_unsigned());
    let chosen = move |x: &[u64]| {
        let holds = if lanes == 1 {
            x[2] != 0
        } else {
            x[2] >> (element.bits() - 1) != 0
        };
        if holds { x[1] } else { x[0] }
    };
    vec![
        of_one("isnan", &f64::is_nan),
        of_one("isinf", &f64::is_infinite),
        of_one("isfinite", &f64::is_finite),
        of_one("isnormal", &|x| x.is_finite() && x.abs() >= smallest_normal),
        of_one("signbit", &f64::is_sign_negative),
        of_two("isequal", |x, y| x == y),
        of_two("isnotequal", |x, y| x != y),
        of_two("isgreater", |x, y| x > y),
        of_two("isgreaterequal", |x, y| x >= y),
        of_two("isless", |x, y| x < y),
        of_two("islessequal", |x, y| x <= y),
        of_two("islessgreater", |x, y| x != y && !x.is_nan() && !y.is_nan()),
        of_two("isordered", |x, y| !x.is_nan() && !y.is_nan()),
        of_two("isunordered", |x, y| x.is_nan() || y.is_nan()),
        Case::of_words("r = bitselect(a, b, c);", element, &three, |x| {
            x[0] & !x[2] | x[1] & x[2]
        }),
        Case::of_words(
            "r = select(a, b, c);",
            element,
            &[element, element, condition],
            chosen,
        ),
        Case::of_words(
            "r = select(a, b, c);",
            element,
            &[element, element, condition_unsigned],
            chosen,
        ),
    ]
}

#[test]
fn functions_of_floats() {
    for lanes in [1, 2, 3, 4, 8, 16] {
        check(&functions(Float, lanes), &[lanes]);
    }
    for lanes in [1, 4] {
        check(&functions(Double, lanes), &[lanes]);
        check(&functions(Half, lanes), &[lanes]);
    }
}

#[test]
fn select_on_integers() {
    for element in Element::INTEGERS {
        for lanes in [1, 4] {
            let cases = [element.to_signed(), element.to_unsigned()].map(|condition| {
                Case::of_words(
                    "r = select(a, b, c);",
                    element,
                    &[element, element, condition],
                    |x| {
                        let holds = if lanes == 1 {
                            x[2] != 0
                        } else {
                            x[2] >> (element.bits() - 1) != 0
                        };
                        if holds { x[1] } else { x[0] }
                    },
                )
            });
            check(&cases, &[lanes]);
        }
    }
}

#[test]
fn any_and_all() {
    for element in [Char, Short, Int, Long] {
        let negative = move |x: &[i128]| i128::from(x[0] < 0);
        let cases = ["r = any(a);", "r = all(a);"]
            .map(|statement| Case::of_integers(statement, Int, &[element], negative));
        check(&cases, &[1]);
    }
    // The vectors are made of three lanes, one of which is the operand.
    let cases = [
        Case::of_integers("r = any((int3)(a, b, c));", Int, &[Int; 3], |x| {
            i128::from(x.iter().any(|&x| x < 0))
        }),
        Case::of_integers("r = all((int3)(a, b, c));", Int, &[Int; 3], |x| {
            i128::from(x.iter().all(|&x| x < 0))
        }),
        Case::of_integers(
            "r = any((char8)(a, 0, 0, 0, b, 0, 0, c));",
            Int,
            &[Char; 3],
            |x| i128::from(x.iter().any(|&x| x < 0)),
        ),
        Case::of_integers("r = all((long4)(a, b, c, -1));", Int, &[Long; 3], |x| {
            i128::from(x.iter().all(|&x| x < 0))
        }),
    ];
    check(&cases, &[1]);
}

#[test]
fn comparisons_of_vectors_are_masks() {
    let cases = [
        Case::of_integers("r = a < b;", Int, &[Int; 2], |x| if x[0] < x[1] { -1 } else { 0 }),
        Case::of_integers("r = (a == b) | (a != b);", Int, &[Int; 2], |_| -1),
        Case::of_integers("r = !a;", Int, &[Int], |x| if x[0] == 0 { -1 } else { 0 }),
        Case::of_integers("r = a && b;", Int, &[Int; 2], |x| {
            if x[0] != 0 && x[1] != 0 { -1 } else { 0 }
        }),
        Case::of_integers("r = a || b;", Int, &[Int; 2], |x| {
            if x[0] != 0 || x[1] != 0 { -1 } else { 0 }
        }),
        Case::of_numbers("r = a < b;", Int, &[Float; 2], |x| {
            if x[0] < x[1] { -1.0 } else { 0.0 }
        }),
        Case::of_numbers("r = a != b;", Int, &[Float; 2], |x| {
            if x[0] != x[1] { -1.0 } else { 0.0 }
        }),
        Case::of_integers("r = a > b ? a : b;", Uint, &[Uint; 2], |x| x[0].max(x[1])),
    ];
    check(&cases, &[2, 3, 4, 16]);
}
