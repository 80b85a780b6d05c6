//! What arithmetic means on the words of values: used to evaluate constants and by the interpreter.
//!
//! SPIR-V leaves some results undefined; here they are defined: a division by zero gives a quotient of
//! all ones and the dividend as remainder, an overflowing division wraps, and a shift by the width or
//! more shifts everything out.

mod float;
mod integer;

use offkit_spirv::grammar::{FPRoundingMode as Rounding, Op};

use super::scalar_size;
use crate::builtins::float::Format;
use crate::builtins::{Scalar, convert};

/// A function from the words of one component to a word of the result.
#[derive(Clone, Copy, Debug)]
pub enum Elementwise {
    /// Of one operand.
    Unary(fn(u64) -> u64),
    /// Of two.
    Binary(fn(u64, u64) -> u64),
    /// Of three.
    Ternary(fn(u64, u64, u64) -> u64),
    /// Of four.
    Quaternary(fn(u64, u64, u64, u64) -> u64),
}

impl Elementwise {
    /// How many operands it takes.
    pub fn arity(self) -> usize {
        match self {
            Elementwise::Unary(_) => 1,
            Elementwise::Binary(_) => 2,
            Elementwise::Ternary(_) => 3,
            Elementwise::Quaternary(_) => 4,
        }
    }

    /// Applies it; a missing operand counts as zero.
    pub fn apply(self, words: &[u64]) -> u64 {
        let word = |index: usize| words.get(index).copied().unwrap_or(0);
        match self {
            Elementwise::Unary(function) => function(word(0)),
            Elementwise::Binary(function) => function(word(0), word(1)),
            Elementwise::Ternary(function) => function(word(0), word(1), word(2)),
            Elementwise::Quaternary(function) => function(word(0), word(1), word(2), word(3)),
        }
    }
}

/// The function of an opcode on operands of a scalar type. `None` when there is none.
///
/// Minima and maxima have no opcodes of their own and go by those of group reductions: `GroupSMin` and
/// so on. `IAddCarry`, `ISubBorrow`, `UMulExtended` and `SMulExtended` give the upper part only.
pub fn resolve(op: Op, scalar: Scalar) -> Option<Elementwise> {
    match scalar {
        Scalar::Bool => logical(op),
        Scalar::F16 => float::resolve::<half::f16>(op),
        Scalar::F32 => float::resolve::<f32>(op),
        Scalar::F64 => float::resolve::<f64>(op),
        Scalar::I8 => integer::resolve::<8>(op),
        Scalar::I16 => integer::resolve::<16>(op),
        Scalar::I32 => integer::resolve::<32>(op),
        Scalar::I64 => integer::resolve::<64>(op),
    }
}

/// The binary function of an opcode, for reductions and atomic updates.
pub fn resolve_binary(op: Op, scalar: Scalar) -> Option<fn(u64, u64) -> u64> {
    match resolve(op, scalar)? {
        Elementwise::Binary(function) => Some(function),
        _ => None,
    }
}

/// The operation that tells whether two scalars are equal: zeros are whatever their signs, and no NaN is.
pub fn equality(scalar: Scalar) -> Op {
    match scalar {
        Scalar::Bool => Op::LogicalEqual,
        _ if scalar.is_float() => Op::FOrdEqual,
        _ => Op::IEqual,
    }
}

/// The word that a reduction starts with. `None` when the operation has none.
pub fn identity(op: Op, scalar: Scalar) -> Option<u64> {
    let ones = if scalar.bits() == 64 {
        u64::MAX
    } else {
        (1 << scalar.bits()) - 1
    };
    let sign = 1 << (scalar.bits() - 1);
    let infinity = Format::of(scalar).map_or(0, Format::infinity);
    Some(match op {
        Op::IAdd | Op::BitwiseOr | Op::BitwiseXor | Op::GroupUMax => 0,
        Op::LogicalOr | Op::LogicalNotEqual => 0,
        Op::LogicalAnd | Op::IMul => 1,
        // As OpenCL has it, though a sum of negative zeros alone becomes a positive one by that.
        Op::FAdd => 0,
        Op::FMul => convert::from_f64(scalar, 1.0, Rounding::RTE),
        Op::BitwiseAnd | Op::GroupUMin => ones,
        Op::GroupSMin => ones ^ sign,
        Op::GroupSMax => sign,
        Op::GroupFMin => infinity,
        Op::GroupFMax => infinity | sign,
        _ => return None,
    })
}

/// The same bytes as components of another type.
pub fn reinterpret(words: &[u64], from: Scalar, to: Scalar) -> Vec<u64> {
    let (from, to) = (scalar_size(from) as usize, scalar_size(to) as usize);
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|word| word.to_le_bytes().into_iter().take(from))
        .collect();
    let components = bytes.chunks(to).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    components.collect()
}

/// Whether the result is a boolean whatever the operands are.
pub fn is_predicate(op: Op) -> bool {
    use Op as O;
    matches!(
        op,
        O::IEqual
            | O::INotEqual
            | O::UGreaterThan
            | O::SGreaterThan
            | O::UGreaterThanEqual
            | O::SGreaterThanEqual
            | O::ULessThan
            | O::SLessThan
            | O::ULessThanEqual
            | O::SLessThanEqual
            | O::FOrdEqual
            | O::FUnordEqual
            | O::FOrdNotEqual
            | O::FUnordNotEqual
            | O::FOrdLessThan
            | O::FUnordLessThan
            | O::FOrdGreaterThan
            | O::FUnordGreaterThan
            | O::FOrdLessThanEqual
            | O::FUnordLessThanEqual
            | O::FOrdGreaterThanEqual
            | O::FUnordGreaterThanEqual
            | O::IsNan
            | O::IsInf
            | O::IsFinite
            | O::IsNormal
            | O::SignBitSet
            | O::LessOrGreater
            | O::Ordered
            | O::Unordered
            | O::LogicalEqual
            | O::LogicalNotEqual
            | O::LogicalOr
            | O::LogicalAnd
            | O::LogicalNot
            | O::PtrEqual
            | O::PtrNotEqual
    )
}

fn logical(op: Op) -> Option<Elementwise> {
    Some(match op {
        Op::LogicalEqual | Op::IEqual => Elementwise::Binary(|a, b| u64::from(a == b)),
        Op::LogicalNotEqual | Op::INotEqual => Elementwise::Binary(|a, b| u64::from(a != b)),
        Op::LogicalOr => Elementwise::Binary(|a, b| a | b),
        Op::LogicalAnd => Elementwise::Binary(|a, b| a & b),
        Op::LogicalNot => Elementwise::Unary(|a| a ^ 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(op: Op, scalar: Scalar, words: &[u64]) -> u64 {
        let function = resolve(op, scalar).unwrap();
        assert_eq!(function.arity(), words.len(), "{op:?}");
        function.apply(words)
    }

    fn float(value: f32) -> u64 {
        value.to_bits().into()
    }

    #[test]
    fn integers_wrap_at_their_width() {
        assert_eq!(eval(Op::IAdd, Scalar::I8, &[255, 2]), 1);
        assert_eq!(eval(Op::ISub, Scalar::I16, &[0, 1]), 0xffff);
        assert_eq!(eval(Op::IMul, Scalar::I32, &[0x1_0001, 0x1_0001]), 0x2_0001);
        assert_eq!(eval(Op::SNegate, Scalar::I64, &[1]), u64::MAX);
        assert_eq!(eval(Op::ShiftRightArithmetic, Scalar::I8, &[0x80, 3]), 0xf0);
        assert_eq!(eval(Op::ShiftLeftLogical, Scalar::I32, &[1, 32]), 0);
        assert_eq!(
            eval(Op::ShiftRightArithmetic, Scalar::I32, &[0x8000_0000, 99]),
            0xffff_ffff
        );
    }

    #[test]
    fn division_is_defined_everywhere() {
        assert_eq!(eval(Op::UDiv, Scalar::I8, &[7, 0]), 255);
        assert_eq!(eval(Op::UMod, Scalar::I8, &[7, 0]), 7);
        assert_eq!(eval(Op::SDiv, Scalar::I64, &[1 << 63, u64::MAX]), 1 << 63);
        assert_eq!(
            eval(Op::SRem, Scalar::I8, &[(-7i8) as u8 as u64, 3]),
            (-1i8) as u8 as u64
        );
        assert_eq!(eval(Op::SMod, Scalar::I8, &[(-7i8) as u8 as u64, 3]), 2);
        assert_eq!(eval(Op::SRem, Scalar::I32, &[5, 0]), 5);
    }

    #[test]
    fn wide_products_and_bit_fields() {
        assert_eq!(eval(Op::UMulExtended, Scalar::I64, &[u64::MAX, 2]), 1);
        assert_eq!(eval(Op::SMulExtended, Scalar::I8, &[0xff, 2]), 0xff);
        assert_eq!(eval(Op::IAddCarry, Scalar::I32, &[u32::MAX as u64, 1]), 1);
        assert_eq!(eval(Op::BitFieldUExtract, Scalar::I32, &[0xabcd, 4, 8]), 0xbc);
        assert_eq!(
            eval(Op::BitFieldSExtract, Scalar::I32, &[0xabcd, 4, 8]),
            0xffff_ffbc
        );
        assert_eq!(eval(Op::BitFieldInsert, Scalar::I32, &[0xffff, 0, 4, 8]), 0xf00f);
        assert_eq!(eval(Op::BitReverse, Scalar::I8, &[1]), 0x80);
    }

    #[test]
    fn comparisons_with_nan() {
        let nan = float(f32::NAN);
        assert_eq!(eval(Op::FOrdEqual, Scalar::F32, &[nan, nan]), 0);
        assert_eq!(eval(Op::FUnordNotEqual, Scalar::F32, &[nan, float(1.0)]), 1);
        assert_eq!(eval(Op::FOrdNotEqual, Scalar::F32, &[nan, float(1.0)]), 0);
        assert_eq!(eval(Op::FUnordLessThan, Scalar::F32, &[float(2.0), nan]), 1);
        assert_eq!(
            eval(Op::FUnordLessThan, Scalar::F32, &[float(2.0), float(1.0)]),
            0
        );
        assert_eq!(eval(Op::GroupFMin, Scalar::F32, &[nan, float(1.0)]), float(1.0));
    }

    #[test]
    fn half_arithmetic_rounds_to_half() {
        let half = |value: f32| u64::from(half::f16::from_f32(value).to_bits());
        assert_eq!(
            eval(Op::FAdd, Scalar::F16, &[half(2048.0), half(1.0)]),
            half(2048.0)
        );
        assert_eq!(
            eval(Op::FDiv, Scalar::F16, &[half(1.0), half(0.0)]),
            half(f32::INFINITY)
        );
        assert_eq!(eval(Op::FMod, Scalar::F16, &[half(-5.5), half(3.0)]), half(0.5));
        assert_eq!(
            eval(Op::FRem, Scalar::F32, &[float(-5.5), float(3.0)]),
            float(-2.5)
        );
    }

    #[test]
    fn identities_change_nothing() {
        for (op, scalar, word) in [
            (Op::GroupSMin, Scalar::I8, 0x7f),
            (Op::GroupSMax, Scalar::I8, 0x80),
            (Op::BitwiseAnd, Scalar::I32, 0x1234),
            (Op::FMul, Scalar::F32, float(3.5)),
            (Op::GroupFMax, Scalar::F64, (-1e300f64).to_bits()),
            (Op::GroupUMin, Scalar::I64, u64::MAX),
        ] {
            let start = identity(op, scalar).unwrap();
            assert_eq!(eval(op, scalar, &[start, word]), word, "{op:?}");
        }
    }
}
