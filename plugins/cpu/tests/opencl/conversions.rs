//! `convert_T`, with saturation and rounding, between all pairs of types; casts; `as_type`.

use crate::case::{Case, check};
use crate::element::Element::{self, *};
use crate::rounding::{Exact, Mode, round};
use crate::samples::{self, Generator};

/// The word of `to` for a word of `from`; none where the specification leaves it open.
fn convert(from: Element, to: Element, mode: Option<Mode>, saturate: bool, word: u64) -> Option<u64> {
    if to.is_float() {
        let value = if from.is_float() {
            Exact::Float(from.number(word))
        } else {
            Exact::Integer(from.integer(word))
        };
        return Some(round(to, value, mode.unwrap_or(Mode::Nearest)));
    }
    let value = if from.is_float() {
        let rounded = mode.unwrap_or(Mode::Zero).to_integer(from.number(word));
        if rounded.is_nan() && !saturate {
            return None;
        }
        rounded as i128
    } else {
        from.integer(word)
    };
    let clamped = value.clamp(to.least(), to.greatest());
    if saturate {
        return Some(to.word_of_integer(clamped));
    }
    // Integers keep their low bits; the standard calls it implementation-defined, everybody does it.
    (!from.is_float() || clamped == value).then(|| to.word_of_integer(value))
}

/// Numbers around the limits of the integer type, and where rounding makes a difference.
fn operands(from: Element, to: Element) -> Vec<u64> {
    let mut words = samples::operands(&[from], to.bits().into())[0].clone();
    if from.is_float() && !to.is_float() {
        let limits = [to.least(), to.greatest()].map(|limit| limit as f64);
        let near = limits
            .iter()
            .flat_map(|limit| [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5].map(|step| limit + step));
        for (word, number) in words.iter_mut().skip(20).zip(near) {
            *word = from.word_of(number);
        }
    }
    if to == Half {
        let mut generator = Generator::new(3);
        for word in words.iter_mut().skip(60) {
            let value = generator.next() >> (40 + generator.below(8));
            *word = if from.is_float() {
                from.word_of(value as f64 / 8.0)
            } else {
                from.word_of_integer(value.into())
            };
        }
    }
    words
}

fn conversions(from: Element, to: Element) -> Vec<Case> {
    let mut cases = Vec::new();
    let modes = || {
        Mode::ALL
            .map(|(mode, suffix)| (Some(mode), suffix))
            .into_iter()
            .chain([(None, "")])
    };
    // LLVM 22 takes the source of a conversion between integers for one of the other signedness than the
    // result: see the limits.
    let mistaken = !from.is_float() && !to.is_float() && from.is_signed() == to.is_signed();
    let wider = to.size() > from.size();
    for saturate in [false, true]
        .into_iter()
        .filter(|saturate| !(mistaken && (*saturate || wider)))
    {
        for (mode, suffix) in modes().filter(|_| !saturate || !to.is_float()) {
            let saturation = if saturate { "_sat" } else { "" };
            let statement = format!("r = convert_{}#{saturation}{suffix}(a);", to.name());
            let defined = |x: &[u64]| convert(from, to, mode, saturate, x[0]).is_some();
            let case = Case::with_inputs(&statement, to, &[from], vec![operands(from, to)], |x| {
                convert(from, to, mode, saturate, x[0]).unwrap_or_default()
            });
            cases.push(case.only(defined));
        }
    }
    cases
}

fn check_conversions_from(from: Element, widths: &[usize]) {
    let cases: Vec<Case> = Element::all().flat_map(|to| conversions(from, to)).collect();
    check(&cases, widths);
}

#[test]
fn from_small_integers() {
    for from in [Char, Uchar, Short, Ushort] {
        check_conversions_from(from, &[1]);
    }
}

#[test]
fn from_large_integers() {
    for from in [Int, Uint, Long, Ulong] {
        check_conversions_from(from, &[1]);
    }
}

#[test]
fn from_floats() {
    for from in [Half, Float, Double] {
        check_conversions_from(from, &[1]);
    }
}

#[test]
fn of_vectors() {
    check_conversions_from(Float, &[2, 4]);
    check_conversions_from(Int, &[3, 8]);
    check_conversions_from(Uchar, &[16]);
}

#[test]
fn casts() {
    for from in Element::all() {
        let cases: Vec<Case> = Element::all()
            .flat_map(|to| {
                let explicit = format!("r = ({})a;", to.name());
                [explicit, "r = a;".to_owned()].map(|statement| {
                    let inputs = vec![operands(from, to)];
                    let case = Case::with_inputs(&statement, to, &[from], inputs, |x| {
                        convert(from, to, None, false, x[0]).unwrap_or_default()
                    });
                    case.only(|x| convert(from, to, None, false, x[0]).is_some())
                })
            })
            .collect();
        check(&cases, &[1]);
    }
}

#[test]
fn casts_to_bool() {
    let cases: Vec<Case> = Element::all()
        .map(|from| {
            Case::of_words("bool b = a; r = b; r += (bool)a;", Int, &[from], |x| {
                if from.number(x[0]) == 0.0 { 0 } else { 2 }
            })
        })
        .collect();
    check(&cases, &[1]);
}

#[test]
fn reinterpretation() {
    let same_size = |size: usize| Element::all().filter(move |element| element.size() == size);
    for size in [1, 2, 4, 8] {
        let cases: Vec<Case> = same_size(size)
            .flat_map(|from| same_size(size).map(move |to| (from, to)))
            .map(|(from, to)| {
                let statement = format!("r = as_{}#(a);", to.name());
                // A conversion of the other sort would show; NaNs are any, so compare the bits as integers.
                let back = format!("{statement} r = as_{0}#(as_{1}#(r));", to.name(), from.name());
                Case::of_words(&back, to, &[from], |x| x[0])
            })
            .collect();
        check(&cases, &[1, 2, 4]);
    }
    let cases = [
        Case::of_words("r = as_uint((uchar4)(a, b, c, 9));", Uint, &[Uchar; 3], |x| {
            x[0] | x[1] << 8 | x[2] << 16 | 9 << 24
        }),
        Case::of_words("r = as_uchar4(a).s2;", Uchar, &[Uint], |x| x[0] >> 16 & 0xff),
        Case::of_words("r = as_ushort2(a).y;", Ushort, &[Float], |x| x[0] >> 16),
        Case::of_words("r = as_ulong((uint2)(a, b));", Ulong, &[Uint; 2], |x| {
            x[0] | x[1] << 32
        }),
        Case::of_words(
            "r = as_int3((float4)(1.0f, as_float(a), 2.0f, 3.0f)).y;",
            Int,
            &[Int],
            |x| x[0],
        )
        .only(|x| !Float.number(x[0]).is_nan()),
        Case::of_words("r = as_double((uint2)(a, b));", Double, &[Uint; 2], |x| {
            x[0] | x[1] << 32
        }),
    ];
    check(&cases, &[1]);
}
