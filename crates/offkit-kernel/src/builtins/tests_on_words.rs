//! The integer functions against their definitions, for all pairs of bytes, and the functions across lanes.

use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::{Arguments, Scalar, Shape, resolve};

fn evaluate(op: Op, result: Shape, args: Arguments<'_>) -> Vec<u64> {
    let shapes: Vec<Shape> = args.iter().map(|arg| arg.1).collect();
    let function = resolve(op, result, &shapes).unwrap_or_else(|| panic!("{op:?} is not resolved"));
    let mut out = vec![0; result.lanes as usize];
    function(result, args, &mut out, &mut []);
    out
}

const fn shape(scalar: Scalar, lanes: u32) -> Shape {
    Shape { scalar, lanes }
}

/// Checks a function of two bytes, once on scalars and once on vectors of all first operands.
fn all_bytes(op: Op, expected: impl Fn(u8, u8) -> u8) {
    let vector = shape(Scalar::I8, 256);
    let firsts: Vec<u64> = (0..256).collect();
    for y in 0..=u8::MAX {
        let out = evaluate(
            op,
            vector,
            &[(&firsts, vector), (&[y.into()], shape(Scalar::I8, 1))],
        );
        for (x, out) in (0..=u8::MAX).zip(out) {
            assert_eq!(out, u64::from(expected(x, y)), "{op:?}({x}, {y})");
        }
    }
}

/// The same for bytes with a sign.
fn all_signed_bytes(op: Op, expected: impl Fn(i8, i8) -> i8) {
    all_bytes(op, |x, y| expected(x as i8, y as i8) as u8);
}

#[test]
fn all_pairs_of_bytes() {
    all_signed_bytes(Op::s_abs_diff, |x, y| x.abs_diff(y) as i8);
    all_bytes(Op::u_abs_diff, u8::abs_diff);
    all_signed_bytes(Op::s_add_sat, i8::saturating_add);
    all_bytes(Op::u_add_sat, u8::saturating_add);
    all_signed_bytes(Op::s_sub_sat, i8::saturating_sub);
    all_bytes(Op::u_sub_sat, u8::saturating_sub);
    all_signed_bytes(Op::s_hadd, |x, y| ((i16::from(x) + i16::from(y)) >> 1) as i8);
    all_bytes(Op::u_hadd, |x, y| ((u16::from(x) + u16::from(y)) >> 1) as u8);
    all_signed_bytes(Op::s_rhadd, |x, y| ((i16::from(x) + i16::from(y) + 1) >> 1) as i8);
    all_bytes(Op::u_rhadd, |x, y| ((u16::from(x) + u16::from(y) + 1) >> 1) as u8);
    all_signed_bytes(Op::s_max, i8::max);
    all_bytes(Op::u_max, u8::max);
    all_signed_bytes(Op::s_min, i8::min);
    all_bytes(Op::u_min, u8::min);
    all_signed_bytes(Op::s_mul_hi, |x, y| ((i16::from(x) * i16::from(y)) >> 8) as i8);
    all_bytes(Op::u_mul_hi, |x, y| ((u16::from(x) * u16::from(y)) >> 8) as u8);
    all_bytes(Op::rotate, |x, y| x.rotate_left(u32::from(y) % 8));
}

#[test]
fn functions_of_one_integer() {
    let byte = shape(Scalar::I8, 1);
    for x in 0..=u8::MAX {
        let one = |op| evaluate(op, byte, &[(&[x.into()], byte)])[0];
        assert_eq!(one(Op::clz), u64::from(x.leading_zeros()));
        assert_eq!(one(Op::ctz), u64::from(x.trailing_zeros()));
        assert_eq!(one(Op::popcount), u64::from(x.count_ones()));
        assert_eq!(one(Op::s_abs), u64::from((x as i8).unsigned_abs()));
        assert_eq!(one(Op::u_abs), u64::from(x));
    }
    let long = shape(Scalar::I64, 1);
    assert_eq!(evaluate(Op::clz, long, &[(&[0], long)]), [64]);
    assert_eq!(evaluate(Op::ctz, long, &[(&[1 << 63], long)]), [63]);
    assert_eq!(evaluate(Op::s_abs, long, &[(&[1 << 63], long)]), [1 << 63]);
}

#[test]
fn functions_of_wide_integers() {
    let long = shape(Scalar::I64, 1);
    let int = shape(Scalar::I32, 1);
    let on = |op, shape: Shape, operands: &[i64]| {
        let words: Vec<[u64; 1]> = operands
            .iter()
            .map(|&word| [super::truncate(shape.scalar, word as u64)])
            .collect();
        let args: Vec<(&[u64], Shape)> = words.iter().map(|word| (&word[..], shape)).collect();
        super::sign_extend(shape.scalar, evaluate(op, shape, &args)[0])
    };
    for (op, shape, operands, expected) in [
        (Op::s_mul_hi, long, &[i64::MIN, i64::MIN][..], 1 << 62),
        (Op::s_mul_hi, long, &[-1, 1], -1),
        (Op::u_mul_hi, long, &[-1, -1], -2),
        (Op::u_mad_hi, long, &[-1, -1, 3], 1),
        (Op::s_mad_hi, long, &[1 << 40, 1 << 40, -1], (1 << 16) - 1),
        (Op::s_mad_sat, long, &[i64::MAX, i64::MAX, i64::MAX], i64::MAX),
        (Op::s_mad_sat, long, &[i64::MIN, i64::MAX, -1], i64::MIN),
        (Op::s_mad_sat, long, &[i64::MAX, 2, i64::MIN], i64::MAX - 1),
        (Op::u_mad_sat, long, &[-1, -1, -1], -1),
        (Op::u_mad_sat, long, &[3, 4, 5], 17),
        (Op::s_add_sat, long, &[i64::MAX, 1], i64::MAX),
        (Op::u_add_sat, long, &[-1, 1], -1),
        (Op::s_sub_sat, long, &[i64::MIN, 1], i64::MIN),
        (Op::s_hadd, long, &[i64::MAX, i64::MAX], i64::MAX),
        (Op::u_rhadd, long, &[-1, -1], -1),
        (Op::s_clamp, int, &[-5, -2, 7], -2),
        (Op::u_clamp, int, &[-5, -2, 7], 7),
        (Op::s_mul24, int, &[-3, 5], -15),
        (Op::s_mul24, int, &[0x7f80_0001, 2], -0xff_fffe),
        (Op::u_mul24, int, &[-1, 2], 0x1ff_fffe),
        (Op::s_mad24, int, &[-3, 5, 100], 85),
        (Op::u_mad24, int, &[3, 5, -16], -1),
        (Op::rotate, long, &[1, -1], i64::MIN),
        (Op::rotate, int, &[0x1234_5678, 36], 0x2345_6781),
    ] {
        assert_eq!(on(op, shape, operands), expected, "{op:?}{operands:x?}");
    }
}

#[test]
fn upsample_doubles_the_width() {
    let (byte, short) = (shape(Scalar::I8, 2), shape(Scalar::I16, 2));
    for op in [Op::s_upsample, Op::u_upsample] {
        assert_eq!(
            evaluate(op, short, &[(&[0x80, 1], byte), (&[0xff, 2], byte)]),
            [0x80ff, 0x0102]
        );
        assert!(resolve(op, shape(Scalar::I32, 2), &[byte, byte]).is_none());
    }
    let (int, long) = (shape(Scalar::I32, 1), shape(Scalar::I64, 1));
    assert_eq!(
        evaluate(Op::s_upsample, long, &[(&[0xffff_ffff], int), (&[7], int)]),
        [0xffff_ffff_0000_0007]
    );
}

#[test]
fn choosing_by_bits_and_conditions() {
    let byte = shape(Scalar::I8, 1);
    assert_eq!(
        evaluate(
            Op::bitselect,
            byte,
            &[(&[0xaa], byte), (&[0x55], byte), (&[0x0f], byte)]
        ),
        [0xa5]
    );
    // Of a scalar condition every bit counts, of a vector only the highest.
    let (int, pair) = (shape(Scalar::I32, 1), shape(Scalar::I32, 2));
    assert_eq!(
        evaluate(Op::select, int, &[(&[7], int), (&[9], int), (&[2], int)]),
        [9]
    );
    let conditions: &[u64] = &[2, 1 << 31];
    assert_eq!(
        evaluate(
            Op::select,
            pair,
            &[(&[1, 2], pair), (&[3, 4], pair), (conditions, pair)]
        ),
        [1, 4]
    );
    let float = shape(Scalar::F64, 1);
    assert_eq!(
        evaluate(Op::select, float, &[(&[7], float), (&[9], float), (&[0], byte)]),
        [7]
    );
}

#[test]
fn shuffles_take_the_low_bits_of_the_mask() {
    let of = |lanes| shape(Scalar::I16, lanes);
    let x: &[u64] = &[10, 11, 12, 13];
    let y: &[u64] = &[20, 21, 22, 23];
    let mask: &[u64] = &[3, 4 + 1];
    assert_eq!(
        evaluate(Op::shuffle, of(2), &[(x, of(4)), (mask, of(2))]),
        [13, 11]
    );
    let mask: &[u64] = &[7, 0, 4, 8 + 3];
    assert_eq!(
        evaluate(Op::shuffle2, of(4), &[(x, of(4)), (y, of(4)), (mask, of(4))]),
        [23, 10, 20, 13]
    );
    assert!(resolve(Op::shuffle, of(4), &[of(4), of(2)]).is_none());
}

fn floats(op: Op, result_lanes: u32, operands: &[&[f64]]) -> Vec<f64> {
    let words: Vec<Vec<u64>> = operands
        .iter()
        .map(|values| values.iter().map(|value| value.to_bits()).collect())
        .collect();
    let args: Vec<_> = words
        .iter()
        .map(|words| (&words[..], shape(Scalar::F64, words.len() as u32)))
        .collect();
    evaluate(op, shape(Scalar::F64, result_lanes), &args)
        .into_iter()
        .map(f64::from_bits)
        .collect()
}

#[test]
fn geometry() {
    assert_eq!(
        floats(Op::cross, 3, &[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]),
        [-3.0, 6.0, -3.0]
    );
    assert_eq!(
        floats(Op::cross, 4, &[&[1.0, 2.0, 3.0, 9.0], &[4.0, 5.0, 6.0, 9.0]]),
        [-3.0, 6.0, -3.0, 0.0]
    );
    assert_eq!(floats(Op::length, 1, &[&[3.0, 4.0]]), [5.0]);
    assert_eq!(floats(Op::length, 1, &[&[-2.0]]), [2.0]);
    let huge = floats(Op::length, 1, &[&[3e200, 4e200]])[0];
    assert!((huge / 5e200 - 1.0).abs() < 1e-15, "{huge}");
    assert_eq!(
        floats(Op::distance, 1, &[&[1.0, 1.0, 1.0], &[2.0, 3.0, 3.0]]),
        [3.0]
    );
    assert_eq!(floats(Op::fast_distance, 1, &[&[1.0], &[-2.0]]), [3.0]);
    assert_eq!(floats(Op::normalize, 2, &[&[3.0, -4.0]]), [0.6, -0.8]);
    assert_eq!(floats(Op::normalize, 2, &[&[0.0, 1e-320]]), [0.0, 1.0]);
    assert_eq!(floats(Op::normalize, 2, &[&[f64::MAX, 0.0]]), [1.0, 0.0]);
    assert_eq!(floats(Op::normalize, 2, &[&[0.0, 0.0]]), [0.0, 0.0]);
    assert_eq!(
        floats(Op::normalize, 2, &[&[f64::NEG_INFINITY, 5.0]]),
        [-1.0, 0.0]
    );
    assert!(
        floats(Op::normalize, 2, &[&[f64::NAN, 1.0]])
            .iter()
            .all(|value| value.is_nan())
    );
}
