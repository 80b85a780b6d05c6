//! Integer functions, operators, and the bit functions of the extensions.

use crate::case::{Case, check, check_using};
use crate::clang::Options;
use crate::element::Element::{self, *};

const ALL_WIDTHS: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// The functions that every integer type has.
fn functions(element: Element) -> Vec<Case> {
    let bits = element.bits();
    let unsigned = element.to_unsigned();
    let clamp = move |value: i128| value.clamp(element.least(), element.greatest());
    let (one, two, three) = ([element], [element; 2], [element; 3]);
    let low = move |value: i128| unsigned.word_of_integer(value);
    vec![
        Case::of_integers("r = abs(a);", unsigned, &one, |x| x[0].abs()),
        Case::of_integers("r = abs_diff(a, b);", unsigned, &two, |x| (x[0] - x[1]).abs()),
        Case::of_integers("r = add_sat(a, b);", element, &two, |x| clamp(x[0] + x[1])),
        Case::of_integers("r = sub_sat(a, b);", element, &two, |x| clamp(x[0] - x[1])),
        Case::of_integers("r = hadd(a, b);", element, &two, |x| (x[0] + x[1]) >> 1),
        Case::of_integers("r = rhadd(a, b);", element, &two, |x| (x[0] + x[1] + 1) >> 1),
        Case::of_integers("r = max(a, b);", element, &two, |x| x[0].max(x[1])),
        Case::of_integers("r = min(a, b);", element, &two, |x| x[0].min(x[1])),
        Case::of_integers("r = clamp(a, b, c);", element, &three, |x| {
            x[0].max(x[1]).min(x[2])
        })
        .only(|x| element.integer(x[1]) <= element.integer(x[2])),
        Case::of_integers("r = mul_hi(a, b);", element, &two, |x| {
            product(x[0], x[1]).1 >> (bits - 1) >> 1
        }),
        Case::of_integers("r = mad_hi(a, b, c);", element, &three, |x| {
            (product(x[0], x[1]).1 >> (bits - 1) >> 1) + x[2]
        }),
        Case::of_integers("r = mad_sat(a, b, c);", element, &three, |x| {
            match product(x[0], x[1]) {
                (true, _) => element.greatest(),
                (false, product) => clamp(product + x[2]),
            }
        }),
        Case::of_integers("r = rotate(a, b);", element, &two, |x| {
            let (value, left) = (low(x[0]) as u128, low(x[1]) as u32 % bits);
            (value << left | value >> (bits - left)) as i128
        }),
        Case::of_integers("r = clz(a);", element, &one, |x| {
            i128::from((low(x[0]) << (64 - bits)).leading_zeros().min(bits))
        }),
        Case::of_integers("r = ctz(a);", element, &one, |x| {
            low(x[0]).trailing_zeros().min(bits).into()
        }),
        Case::of_integers("r = popcount(a);", element, &one, |x| {
            low(x[0]).count_ones().into()
        }),
        Case::of_words("r = bitselect(a, b, c);", element, &three, |x| {
            x[0] & !x[2] | x[1] & x[2]
        }),
    ]
}

/// The product, and whether it is beyond even 128 bits with a sign (which only unsigned longs reach).
fn product(x: i128, y: i128) -> (bool, i128) {
    match x.checked_mul(y) {
        Some(product) => (false, product),
        None => (true, (x as u128 * y as u128) as i128),
    }
}

/// The operators. Where C leaves the result open, the operands are left out.
fn operators(element: Element) -> Vec<Case> {
    let bits = element.bits();
    let (one, two) = ([element], [element; 2]);
    let truth = move |value: bool| i128::from(value);
    let divisible = move |x: &[u64]| {
        let (x, y) = (element.integer(x[0]), element.integer(x[1]));
        y != 0 && !(element.is_signed() && x == element.least() && y == -1)
    };
    let shift = move |x: i128| (element.to_unsigned().word_of_integer(x) % u64::from(bits)) as u32;
    let mut cases = vec![
        Case::of_integers("r = a + b;", element, &two, |x| x[0] + x[1]),
        Case::of_integers("r = a - b;", element, &two, |x| x[0] - x[1]),
        Case::of_integers("r = a * b;", element, &two, |x| x[0].wrapping_mul(x[1])),
        Case::of_integers("r = -a;", element, &one, |x| -x[0]),
        Case::of_integers("r = ~a;", element, &one, |x| !x[0]),
        Case::of_integers("r = a & b;", element, &two, |x| x[0] & x[1]),
        Case::of_integers("r = a | b;", element, &two, |x| x[0] | x[1]),
        Case::of_integers("r = a ^ b;", element, &two, |x| x[0] ^ x[1]),
        Case::of_integers("a++; --a; r = a++ + ++a;", element, &one, |x| 2 * x[0] + 2),
        Case::of_integers("r = a; r += b; r <<= 1;", element, &two, |x| 2 * (x[0] + x[1])),
    ];
    let divided = |x: &[i128]| {
        if x[1] == 0 {
            (0, 0)
        } else {
            (x[0] / x[1], x[0] % x[1])
        }
    };
    cases.push(Case::of_integers("r = a / b;", element, &two, |x| divided(x).0).only(divisible));
    cases.push(Case::of_integers("r = a % b;", element, &two, |x| divided(x).1).only(divisible));
    // The shift counts modulo the width; not for narrow scalars though, which are promoted to int before.
    let in_width = |x: &[u64]| x[1] < u64::from(bits);
    cases.push(Case::of_integers("r = a << b;", element, &two, |x| x[0] << shift(x[1])).only(in_width));
    cases.push(Case::of_integers("r = a >> b;", element, &two, |x| x[0] >> shift(x[1])).only(in_width));
    for (operator, holds) in comparisons() {
        let statement = format!("r = (a {operator} b) != 0 ? 1 : 0;");
        cases.push(Case::of_integers(&statement, element, &two, |x| {
            truth(holds(x[0], x[1]))
        }));
    }
    cases
}

/// An operator and what it means.
type Comparison = (&'static str, fn(i128, i128) -> bool);

/// The comparison operators.
fn comparisons() -> [Comparison; 8] {
    [
        ("==", |x, y| x == y),
        ("!=", |x, y| x != y),
        ("<", |x, y| x < y),
        ("<=", |x, y| x <= y),
        (">", |x, y| x > y),
        (">=", |x, y| x >= y),
        ("&&", |x, y| x != 0 && y != 0),
        ("||", |x, y| x != 0 || y != 0),
    ]
}

#[test]
fn functions_of_char_and_uint_at_all_widths() {
    check(&functions(Char), &ALL_WIDTHS);
    check(&functions(Uint), &ALL_WIDTHS);
}

#[test]
fn functions_of_the_other_types() {
    for element in [Uchar, Short, Ushort, Int, Long, Ulong] {
        check(&functions(element), &[1, 4]);
    }
}

#[test]
fn functions_of_32_bits() {
    let low24 = |x: i128| x << 104 >> 104;
    let fits = |x: &[u64]| {
        x[..2]
            .iter()
            .all(|&word| low24(Int.integer(word)) == Int.integer(word))
    };
    let fits_unsigned = |x: &[u64]| x[..2].iter().all(|&word| word < 1 << 24);
    let cases = [
        Case::of_integers("r = mul24(a, b);", Int, &[Int; 2], |x| x[0] * x[1]).only(fits),
        Case::of_integers("r = mad24(a, b, c);", Int, &[Int; 3], |x| x[0] * x[1] + x[2]).only(fits),
        Case::of_integers("r = mul24(a, b);", Uint, &[Uint; 2], |x| x[0] * x[1]).only(fits_unsigned),
        Case::of_integers("r = mad24(a, b, c);", Uint, &[Uint; 3], |x| x[0] * x[1] + x[2])
            .only(fits_unsigned),
    ];
    check(&cases, &[1, 3, 4, 16]);
}

#[test]
fn upsample() {
    let cases: Vec<Case> = [
        (Char, Short),
        (Uchar, Ushort),
        (Short, Int),
        (Ushort, Uint),
        (Int, Long),
        (Uint, Ulong),
    ]
    .into_iter()
    .map(|(narrow, wide)| {
        let low = narrow.to_unsigned();
        Case::of_integers("r = upsample(a, b);", wide, &[narrow, low], |x| {
            (x[0] << narrow.bits()) + x[1]
        })
    })
    .collect();
    check(&cases, &[1, 4]);
}

#[test]
fn scalar_operands_of_vector_functions() {
    let cases = [
        Case::of_integers("r = max(a, (int)5);", Int, &[Int], |x| x[0].max(5)),
        Case::of_integers("r = min(a, (int)5);", Int, &[Int], |x| x[0].min(5)),
        Case::of_integers("r = clamp(a, (int)-3, (int)5);", Int, &[Int], |x| {
            x[0].clamp(-3, 5)
        }),
        Case::of_integers("r = a + (int)5;", Int, &[Int], |x| x[0] + 5),
        Case::of_integers("r = a >> (int)5;", Int, &[Int], |x| x[0] >> 5),
    ];
    check(&cases, &[2, 4]);
}

#[test]
fn operators_on_scalars() {
    for element in Element::INTEGERS {
        check(&operators(element), &[1]);
    }
}

#[test]
fn operators_on_vectors() {
    for element in [Char, Ushort, Int, Ulong] {
        // Comparisons of vectors give -1 in lanes of the same size, so the conditions have its type.
        let cases: Vec<Case> = operators(element)
            .into_iter()
            .map(|case| {
                let choice = format!(" ? ({0}#)1 : ({0}#)0;", element.name());
                Case {
                    statement: case.statement.replace(" != 0 ? 1 : 0;", &choice),
                    ..case
                }
            })
            .collect();
        check(&cases, &[3, 4]);
    }
}

#[test]
fn bit_functions_of_the_extension() {
    for element in Element::INTEGERS {
        let (signed, unsigned) = (element.to_signed(), element.to_unsigned());
        let bits = element.bits();
        let cases = [
            Case::of_words("r = bitfield_insert(a, b, 3, 4);", element, &[element; 2], |x| {
                x[0] & !0x78 | x[1] << 3 & 0x78
            }),
            Case::of_integers("r = bitfield_extract_signed(a, 2, 5);", signed, &[element], |x| {
                i128::from((x[0] as i64) << 57 >> 59)
            }),
            Case::of_words(
                "r = bitfield_extract_unsigned(a, 1, 6);",
                unsigned,
                &[element],
                |x| x[0] >> 1 & 0x3f,
            ),
            Case::of_words("r = bit_reverse(a);", element, &[element], |x| {
                x[0].reverse_bits() >> (64 - bits)
            }),
        ];
        check_using(&cases, &[1, 4], &Options::extended("+SPV_KHR_bit_instructions"));
    }
}

#[test]
fn compiler_builtins_on_integers() {
    let cases = [
        Case::of_integers("r = __builtin_popcount(a);", Int, &[Uint], |x| {
            (x[0] as u32).count_ones().into()
        }),
        Case::of_integers("r = __builtin_clz(a | 1);", Int, &[Uint], |x| {
            (x[0] as u32 | 1).leading_zeros().into()
        }),
        Case::of_integers("r = __builtin_ctz(a | 256);", Int, &[Uint], |x| {
            (x[0] as u32 | 256).trailing_zeros().into()
        }),
        Case::of_integers("r = __builtin_bswap32(a);", Uint, &[Uint], |x| {
            (x[0] as u32).swap_bytes().into()
        }),
        Case::of_integers(
            "r = 7; r += __builtin_add_overflow(a, b, &a) ? 1 : 0;",
            Uint,
            &[Uint; 2],
            |x| 7 + i128::from((x[0] as u32).overflowing_add(x[1] as u32).1),
        ),
        Case::of_integers(
            "r = __builtin_mul_overflow(a, b, &a) ? a : ~a;",
            Uint,
            &[Uint; 2],
            |x| {
                let (value, overflow) = (x[0] as u32).overflowing_mul(x[1] as u32);
                (if overflow { value } else { !value }).into()
            },
        ),
        Case::of_integers(
            "if (__builtin_sub_overflow(a, b, &r)) r = r ^ 1;",
            Uint,
            &[Uint; 2],
            |x| {
                let (value, overflow) = (x[0] as u32).overflowing_sub(x[1] as u32);
                i128::from(value) ^ i128::from(overflow)
            },
        ),
    ];
    check(&cases, &[1]);
    let cases = [Case::of_integers(
        "r = __builtin_elementwise_add_sat(a, b);",
        Int,
        &[Int; 2],
        |x| (x[0] + x[1]).clamp(Int.least(), Int.greatest()),
    )];
    check(&cases, &[1, 4]);
}

#[test]
fn products_of_packed_bytes() {
    let signed = |word: i128, index: u32| i128::from((word as u32).to_le_bytes()[index as usize] as i8);
    let unsigned = |word: i128, index: u32| i128::from((word as u32).to_le_bytes()[index as usize]);
    let cases = [
        Case::of_integers("r = dot(as_uchar4(a), as_uchar4(b));", Uint, &[Uint; 2], |x| {
            (0..4)
                .map(|index| unsigned(x[0], index) * unsigned(x[1], index))
                .sum()
        }),
        Case::of_integers("r = dot(as_char4(a), as_char4(b));", Int, &[Uint; 2], |x| {
            (0..4)
                .map(|index| signed(x[0], index) * signed(x[1], index))
                .sum()
        }),
        Case::of_integers("r = dot(as_uchar4(a), as_char4(b));", Int, &[Uint; 2], |x| {
            (0..4)
                .map(|index| unsigned(x[0], index) * signed(x[1], index))
                .sum()
        }),
        Case::of_integers("r = dot_4x8packed_uu_uint(a, b);", Uint, &[Uint; 2], |x| {
            (0..4)
                .map(|index| unsigned(x[0], index) * unsigned(x[1], index))
                .sum()
        }),
        Case::of_integers("r = dot_4x8packed_ss_int(a, b);", Int, &[Uint; 2], |x| {
            (0..4)
                .map(|index| signed(x[0], index) * signed(x[1], index))
                .sum()
        }),
        Case::of_integers("r = dot_4x8packed_su_int(a, b);", Int, &[Uint; 2], |x| {
            (0..4)
                .map(|index| signed(x[0], index) * unsigned(x[1], index))
                .sum()
        }),
        Case::of_integers(
            "r = dot_acc_sat(as_char4(a), as_char4(b), c);",
            Int,
            &[Uint, Uint, Int],
            |x| {
                let sum: i128 = (0..4)
                    .map(|index| signed(x[0], index) * signed(x[1], index))
                    .sum();
                (sum + x[2]).clamp(Int.least(), Int.greatest())
            },
        ),
        Case::of_integers(
            "r = dot_acc_sat(as_uchar4(a), as_uchar4(b), c);",
            Uint,
            &[Uint; 3],
            |x| {
                let sum: i128 = (0..4)
                    .map(|index| unsigned(x[0], index) * unsigned(x[1], index))
                    .sum();
                (sum + x[2]).min(Uint.greatest())
            },
        ),
        Case::of_integers(
            "r = dot_acc_sat_4x8packed_us_int(a, b, c);",
            Int,
            &[Uint, Uint, Int],
            |x| {
                let sum: i128 = (0..4)
                    .map(|index| unsigned(x[0], index) * signed(x[1], index))
                    .sum();
                (sum + x[2]).clamp(Int.least(), Int.greatest())
            },
        ),
    ];
    check_using(&cases, &[1], &Options::extended("+SPV_KHR_integer_dot_product"));
}
