//! The integer functions of OpenCL.std.
//!
//! Operands have at most 64 bits, so 128-bit arithmetic gives every product and sum exactly; what is
//! left of each function is its definition.

use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::{Arguments, PureFn, Scalar, Shape, each, lane};

/// The bits of `word` that belong to the type.
pub fn truncate(scalar: Scalar, word: u64) -> u64 {
    word & (u64::MAX >> (64 - scalar.bits()))
}

/// The signed value of an integer of the type.
pub fn sign_extend(scalar: Scalar, word: u64) -> i64 {
    let unused = 64 - scalar.bits();
    (word << unused) as i64 >> unused
}

/// A row of the table: a number of operands, and what makes a lane of the result from one lane of each, as signed
/// numbers wide enough for every product.
macro_rules! signed {
    ($arity:literal, $function:expr) => {
        ($arity, |r, a, out, _| signed(r, a, out, $function))
    };
}

/// The same for unsigned numbers.
macro_rules! unsigned {
    ($arity:literal, $function:expr) => {
        ($arity, |r, a, out, _| unsigned(r, a, out, $function))
    };
}

/// The function that evaluates an integer instruction on operands of the result's type.
pub(super) fn resolve(op: Op, operands: usize) -> Option<PureFn> {
    let (arity, function): (usize, PureFn) = match op {
        Op::s_abs => signed!(1, |_, [x, ..]| x.abs()),
        Op::u_abs => unsigned!(1, |_, [x, ..]| x),
        Op::s_abs_diff => signed!(2, |_, [x, y, _]| (x - y).abs()),
        Op::u_abs_diff => unsigned!(2, |_, [x, y, _]| x.abs_diff(y)),
        Op::s_add_sat => signed!(2, |s, [x, y, _]| clamp_signed(s, x + y)),
        Op::u_add_sat => unsigned!(2, |s, [x, y, _]| clamp_unsigned(s, x + y)),
        Op::s_sub_sat => signed!(2, |s, [x, y, _]| clamp_signed(s, x - y)),
        Op::u_sub_sat => unsigned!(2, |_, [x, y, _]| x.saturating_sub(y)),
        Op::s_hadd => signed!(2, |_, [x, y, _]| (x + y) >> 1),
        Op::u_hadd => unsigned!(2, |_, [x, y, _]| (x + y) >> 1),
        Op::s_rhadd => signed!(2, |_, [x, y, _]| (x + y + 1) >> 1),
        Op::u_rhadd => unsigned!(2, |_, [x, y, _]| (x + y + 1) >> 1),
        Op::s_max => signed!(2, |_, [x, y, _]| x.max(y)),
        Op::u_max => unsigned!(2, |_, [x, y, _]| x.max(y)),
        Op::s_min => signed!(2, |_, [x, y, _]| x.min(y)),
        Op::u_min => unsigned!(2, |_, [x, y, _]| x.min(y)),
        Op::s_clamp => signed!(3, |_, [x, low, high]| x.max(low).min(high)),
        Op::u_clamp => unsigned!(3, |_, [x, low, high]| x.max(low).min(high)),
        Op::s_mul_hi => signed!(2, |s, [x, y, _]| (x * y) >> s.bits()),
        Op::u_mul_hi => unsigned!(2, |s, [x, y, _]| (x * y) >> s.bits()),
        Op::s_mad_hi => signed!(3, |s, [x, y, z]| ((x * y) >> s.bits()) + z),
        Op::u_mad_hi => unsigned!(3, |s, [x, y, z]| ((x * y) >> s.bits()) + z),
        Op::s_mad_sat => signed!(3, |s, [x, y, z]| clamp_signed(s, x * y + z)),
        Op::u_mad_sat => unsigned!(3, |s, [x, y, z]| clamp_unsigned(s, x * y + z)),
        Op::s_mul24 => signed!(2, |_, [x, y, _]| low24(x) * low24(y)),
        Op::u_mul24 => unsigned!(2, |_, [x, y, _]| (x & 0xff_ffff) * (y & 0xff_ffff)),
        Op::s_mad24 => signed!(3, |_, [x, y, z]| low24(x) * low24(y) + z),
        Op::u_mad24 => unsigned!(3, |_, [x, y, z]| (x & 0xff_ffff) * (y & 0xff_ffff) + z),
        // All bits above the type's width are zeros, so that there are enough to subtract from.
        Op::clz => unsigned!(1, |s, [x, ..]| {
            u128::from(x.leading_zeros() + s.bits() - u128::BITS)
        }),
        Op::ctz => unsigned!(1, |s, [x, ..]| x.trailing_zeros().min(s.bits()).into()),
        Op::popcount => unsigned!(1, |_, [x, ..]| x.count_ones().into()),
        // By nothing, the second shift is by the whole width, which 128 bits allow for every type.
        Op::rotate => unsigned!(2, |s, [x, y, _]| {
            let left = y as u32 % s.bits();
            x << left | x >> (s.bits() - left)
        }),
        _ => return None,
    };
    (arity == operands).then_some(function)
}

/// `s_upsample` and `u_upsample`: the operands side by side in a type of twice their width.
pub(super) fn upsample(_: Shape, args: Arguments<'_>, out: &mut [u64], _: &mut [u64]) {
    let [high, low] = args else { return };
    each(out, |index| {
        lane(high, index) << low.1.scalar.bits() | lane(low, index)
    });
}

fn signed(result: Shape, args: Arguments<'_>, out: &mut [u64], function: fn(Scalar, [i128; 3]) -> i128) {
    for (index, out) in out.iter_mut().enumerate() {
        let mut values = [0; 3];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = sign_extend(arg.1.scalar, lane(arg, index)).into();
        }
        *out = truncate(result.scalar, function(result.scalar, values) as u64);
    }
}

fn unsigned(result: Shape, args: Arguments<'_>, out: &mut [u64], function: fn(Scalar, [u128; 3]) -> u128) {
    for (index, out) in out.iter_mut().enumerate() {
        let mut values = [0; 3];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = lane(arg, index).into();
        }
        *out = truncate(result.scalar, function(result.scalar, values) as u64);
    }
}

fn clamp_signed(scalar: Scalar, value: i128) -> i128 {
    let (low, high) = scalar.range(true);
    value.clamp(low, high)
}

fn clamp_unsigned(scalar: Scalar, value: u128) -> u128 {
    value.min(scalar.range(false).1 as u128)
}

/// The low 24 bits as a signed number: all that the 24-bit multiplications look at.
fn low24(value: i128) -> i128 {
    value << 104 >> 104
}
