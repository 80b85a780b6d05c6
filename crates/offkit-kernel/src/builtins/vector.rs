//! The functions that look at several lanes at once, or choose among operands without computing.

use offkit_spirv::grammar::{FPRoundingMode as Rounding, OpenclStd100Op as Op};

use super::convert::{from_f64, to_f64};
use super::{Arguments, PureFn, Shape, each, lane};

/// The function that evaluates an instruction of this family; none for other instructions and for
/// operands that don't suit it.
pub(super) fn resolve(op: Op, result: Shape, operands: &[Shape]) -> Option<PureFn> {
    let like = |operand: &Shape| *operand == result;
    let scalar_result = result.lanes == 1 && result.scalar.is_float();
    let of_vectors = |count| {
        scalar_result
            && operands.len() == count
            && operands
                .iter()
                .all(|operand| operand.scalar == result.scalar && operand.lanes == operands[0].lanes)
    };
    match (op, operands) {
        (Op::cross, [a, b])
            if like(a) && like(b) && result.scalar.is_float() && matches!(result.lanes, 3 | 4) =>
        {
            Some(cross)
        }
        (Op::distance | Op::fast_distance, _) if of_vectors(2) => Some(distance),
        (Op::length | Op::fast_length, _) if of_vectors(1) => Some(length),
        (Op::normalize | Op::fast_normalize, [a]) if like(a) && result.scalar.is_float() => Some(normalize),
        (Op::bitselect, [a, b, c]) if like(a) && like(b) && like(c) => Some(bitselect),
        (Op::select, [a, b, c]) if like(a) && like(b) && c.scalar.is_integer() && c.lanes == result.lanes => {
            Some(select)
        }
        (Op::shuffle, [x, mask]) if x.scalar == result.scalar && mask.scalar.is_integer() => {
            (mask.lanes == result.lanes).then_some(shuffle)
        }
        (Op::shuffle2, [x, y, mask]) if x.scalar == result.scalar && x == y && mask.scalar.is_integer() => {
            (mask.lanes == result.lanes).then_some(shuffle)
        }
        _ => None,
    }
}

fn values(arg: &(&[u64], Shape)) -> impl Iterator<Item = f64> {
    arg.0.iter().map(|&word| to_f64(arg.1.scalar, word))
}

fn round(result: Shape, value: f64) -> u64 {
    from_f64(result.scalar, value, Rounding::RTE)
}

/// The Euclidean norm, without overflow on the way.
fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, libm::hypot)
}

fn cross(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [a, b] = args else { return };
    let coordinate = |arg, index| to_f64(result.scalar, lane(arg, index % 3));
    for (index, out) in out.iter_mut().enumerate() {
        let (next, after) = (index + 1, index + 2);
        *out = match index {
            // One rounding less than the textbook's formula has.
            0..3 => round(
                result,
                libm::fma(
                    coordinate(a, next),
                    coordinate(b, after),
                    -(coordinate(a, after) * coordinate(b, next)),
                ),
            ),
            // The fourth lane of the product is zero.
            _ => 0,
        };
    }
}

fn distance(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let ([a, b], [out]) = (args, out) else { return };
    *out = round(result, norm(values(a).zip(values(b)).map(|(a, b)| a - b)));
}

fn length(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let ([a], [out]) = (args, out) else { return };
    *out = round(result, norm(values(a)));
}

fn normalize(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [a] = args else { return };
    let largest = values(a).map(libm::fabs).fold(0.0, f64::max);
    let exponent = libm::frexp(largest).1;
    // The direction with a largest coordinate near one; with infinite coordinates only these count.
    let direction = |value: f64| match largest.is_infinite() {
        true => libm::copysign(f64::from(u8::from(value.is_infinite())), value),
        false => libm::ldexp(value, -exponent),
    };
    let length = norm(values(a).map(direction));
    let undefined = values(a).any(f64::is_nan);
    for (out, value) in out.iter_mut().zip(values(a)) {
        *out = round(
            result,
            match () {
                () if undefined => f64::NAN,
                () if largest == 0.0 => value,
                () => direction(value) / length,
            },
        );
    }
}

fn bitselect(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [a, b, mask] = args else { return };
    for (index, out) in out.iter_mut().enumerate() {
        let mask = lane(mask, index);
        *out = lane(a, index) & !mask | lane(b, index) & mask;
    }
}

/// Takes the second operand where the condition is true: nonzero for scalars, its highest bit set for
/// vectors.
fn select(result: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [a, b, condition] = args else { return };
    let truth = if result.lanes == 1 {
        u64::MAX
    } else {
        1 << (condition.1.scalar.bits() - 1)
    };
    each(out, |index| {
        lane(if lane(condition, index) & truth != 0 { b } else { a }, index)
    });
}

/// Picks lanes of one vector, or of two side by side, by the low bits of a mask.
fn shuffle(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let Some((mask, sources)) = args.split_last() else {
        return;
    };
    let lanes = sources.first().map_or(1, |source| source.0.len().max(1));
    // OpenCL looks at as many low bits of a mask as count the components, where three count as
    // four.
    let choices = (lanes * sources.len()).next_power_of_two() as u64;
    for (index, out) in out.iter_mut().enumerate() {
        let choice = (lane(mask, index) % choices) as usize;
        let source = sources
            .get(choice / lanes)
            .and_then(|source| source.0.get(choice % lanes));
        *out = source.copied().unwrap_or_default();
    }
}
