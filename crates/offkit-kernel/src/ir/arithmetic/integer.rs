//! Integers of `B` bits, zero-extended in a word.

use offkit_spirv::grammar::Op;

use super::Elementwise::{self, Binary, Quaternary, Ternary, Unary};

const fn truncate<const B: u32>(word: u64) -> u64 {
    word & (u64::MAX >> (64 - B))
}

const fn signed<const B: u32>(word: u64) -> i64 {
    ((word << (64 - B)) as i64) >> (64 - B)
}

pub(super) fn resolve<const B: u32>(op: Op) -> Option<Elementwise> {
    Some(match op {
        Op::IAdd => Binary(|a, b| truncate::<B>(a.wrapping_add(b))),
        Op::ISub => Binary(|a, b| truncate::<B>(a.wrapping_sub(b))),
        Op::IMul => Binary(|a, b| truncate::<B>(a.wrapping_mul(b))),
        Op::UDiv => Binary(|a, b| a.checked_div(b).unwrap_or(truncate::<B>(u64::MAX))),
        Op::UMod => Binary(|a, b| a.checked_rem(b).unwrap_or(a)),
        Op::SDiv => Binary(|a, b| match signed::<B>(b) {
            0 => truncate::<B>(u64::MAX),
            // The least number of 64 bits divided by -1 has no result there: `/` would panic.
            b => truncate::<B>(signed::<B>(a).wrapping_div(b) as u64),
        }),
        Op::SRem => Binary(remainder::<B>),
        Op::SMod => Binary(|a, b| {
            let remainder = remainder::<B>(a, b);
            let other_sign = (signed::<B>(remainder) < 0) != (signed::<B>(b) < 0);
            let adjust = remainder != 0 && b != 0 && other_sign;
            if adjust {
                truncate::<B>(remainder.wrapping_add(b))
            } else {
                remainder
            }
        }),
        Op::SNegate => Unary(|a| truncate::<B>(a.wrapping_neg())),
        Op::Not => Unary(|a| truncate::<B>(!a)),
        Op::BitwiseAnd => Binary(|a, b| a & b),
        Op::BitwiseOr => Binary(|a, b| a | b),
        Op::BitwiseXor => Binary(|a, b| a ^ b),
        Op::ShiftLeftLogical => Binary(|a, b| if b < B.into() { truncate::<B>(a << b) } else { 0 }),
        Op::ShiftRightLogical => Binary(|a, b| if b < B.into() { a >> b } else { 0 }),
        Op::ShiftRightArithmetic => {
            Binary(|a, b| truncate::<B>((signed::<B>(a) >> b.min(u64::from(B) - 1)) as u64))
        }
        Op::BitReverse => Unary(|a| a.reverse_bits() >> (64 - B)),
        Op::BitCount => Unary(|a| a.count_ones().into()),
        Op::BitFieldInsert => Quaternary(|base, insert, offset, count| {
            let mask = field_mask(count).checked_shl(offset as u32).unwrap_or(0);
            let insert = insert.checked_shl(offset as u32).unwrap_or(0);
            truncate::<B>(base & !mask | insert & mask)
        }),
        Op::BitFieldUExtract => Ternary(extract),
        Op::BitFieldSExtract => Ternary(|base, offset, count| {
            let unused = 64u64.saturating_sub(count) as u32;
            let field = extract(base, offset, count);
            let extended = field
                .checked_shl(unused)
                .map_or(0, |word| (word as i64) >> unused.min(63));
            truncate::<B>(extended as u64)
        }),
        Op::IEqual | Op::PtrEqual => Binary(|a, b| u64::from(a == b)),
        Op::INotEqual | Op::PtrNotEqual => Binary(|a, b| u64::from(a != b)),
        Op::UGreaterThan => Binary(|a, b| u64::from(a > b)),
        Op::UGreaterThanEqual => Binary(|a, b| u64::from(a >= b)),
        Op::ULessThan => Binary(|a, b| u64::from(a < b)),
        Op::ULessThanEqual => Binary(|a, b| u64::from(a <= b)),
        Op::SGreaterThan => Binary(|a, b| u64::from(signed::<B>(a) > signed::<B>(b))),
        Op::SGreaterThanEqual => Binary(|a, b| u64::from(signed::<B>(a) >= signed::<B>(b))),
        Op::SLessThan => Binary(|a, b| u64::from(signed::<B>(a) < signed::<B>(b))),
        Op::SLessThanEqual => Binary(|a, b| u64::from(signed::<B>(a) <= signed::<B>(b))),
        Op::GroupUMin => Binary(|a, b| a.min(b)),
        Op::GroupUMax => Binary(|a, b| a.max(b)),
        Op::GroupSMin => Binary(|a, b| if signed::<B>(b) < signed::<B>(a) { b } else { a }),
        Op::GroupSMax => Binary(|a, b| if signed::<B>(b) > signed::<B>(a) { b } else { a }),
        // Operands have zeros above their width, so that what is above it in the sum is the carry.
        Op::IAddCarry => Binary(|a, b| ((u128::from(a) + u128::from(b)) >> B) as u64),
        Op::ISubBorrow => Binary(|a, b| u64::from(a < b)),
        Op::UMulExtended => Binary(|a, b| ((u128::from(a) * u128::from(b)) >> B) as u64),
        Op::SMulExtended => Binary(|a, b| {
            let product = i128::from(signed::<B>(a)) * i128::from(signed::<B>(b));
            truncate::<B>((product >> B) as u64)
        }),
        _ => return None,
    })
}

fn remainder<const B: u32>(a: u64, b: u64) -> u64 {
    match signed::<B>(b) {
        0 => a,
        b => truncate::<B>(signed::<B>(a).wrapping_rem(b) as u64),
    }
}

fn field_mask(count: u64) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

fn extract(base: u64, offset: u64, count: u64) -> u64 {
    base.checked_shr(u32::try_from(offset).unwrap_or(u32::MAX))
        .unwrap_or(0)
        & field_mask(count)
}
