//! Integers and truths.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::Op;

use super::Lanes;
use crate::compile::builder::Value;

/// The predicate of a comparison of integers.
fn predicate(op: Op) -> Option<IntPredicate> {
    Some(match op {
        Op::IEqual | Op::PtrEqual => IntPredicate::LLVMIntEQ,
        Op::INotEqual | Op::PtrNotEqual => IntPredicate::LLVMIntNE,
        Op::UGreaterThan => IntPredicate::LLVMIntUGT,
        Op::UGreaterThanEqual => IntPredicate::LLVMIntUGE,
        Op::ULessThan => IntPredicate::LLVMIntULT,
        Op::ULessThanEqual => IntPredicate::LLVMIntULE,
        Op::SGreaterThan => IntPredicate::LLVMIntSGT,
        Op::SGreaterThanEqual => IntPredicate::LLVMIntSGE,
        Op::SLessThan => IntPredicate::LLVMIntSLT,
        Op::SLessThanEqual => IntPredicate::LLVMIntSLE,
        _ => return None,
    })
}

/// The intrinsic of an operation whose operands and result have one type.
fn intrinsic(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::GroupUMin => "llvm.umin",
        Op::GroupUMax => "llvm.umax",
        Op::GroupSMin => "llvm.smin",
        Op::GroupSMax => "llvm.smax",
        Op::BitReverse => "llvm.bitreverse",
        Op::BitCount => "llvm.ctpop",
        _ => return None,
    })
}

/// The instruction of an operation whose operands and result have one type.
fn instruction(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::IAdd => Opcode::LLVMAdd,
        Op::ISub => Opcode::LLVMSub,
        Op::IMul => Opcode::LLVMMul,
        Op::BitwiseAnd => Opcode::LLVMAnd,
        Op::BitwiseOr => Opcode::LLVMOr,
        Op::BitwiseXor => Opcode::LLVMXor,
        _ => return None,
    })
}

impl<'m> Lanes<'_, 'm> {
    pub(super) fn logical(&self, op: Op, words: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        Some(match (op, words) {
            (Op::LogicalEqual | Op::IEqual, [x, y]) => b.not(b.xor(*x, *y)),
            (Op::LogicalNotEqual | Op::INotEqual, [x, y]) => b.xor(*x, *y),
            (Op::LogicalOr, [x, y]) => b.or(*x, *y),
            (Op::LogicalAnd, [x, y]) => b.and(*x, *y),
            (Op::LogicalNot, [x]) => b.not(*x),
            _ => return None,
        })
    }

    /// Operands and result have one type, but for amounts of shifts, whose type may be any, and truths.
    pub(super) fn integer(&self, op: Op, words: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        if let (Some(predicate), [x, y]) = (predicate(op), words) {
            return Some(b.icmp(predicate, *x, *y));
        }
        if let (Some(opcode), [x, y]) = (instruction(op), words) {
            return Some(b.binary(opcode, *x, *y));
        }
        if let (Some(name), [x, ..]) = (intrinsic(op), words) {
            return Some(b.intrinsic(name, &[x.ty()], words));
        }
        let less = IntPredicate::LLVMIntULT;
        Some(match (op, words) {
            (Op::UDiv, [x, y]) => self.quotient(*x, *y, false),
            (Op::SDiv, [x, y]) => self.quotient(*x, *y, true),
            (Op::UMod, [x, y]) => self.remainder(*x, *y, false),
            (Op::SRem, [x, y]) => self.remainder(*x, *y, true),
            (Op::SMod, [x, y]) => self.modulo(*x, *y),
            (Op::SNegate, [x]) => b.neg(*x),
            (Op::Not, [x]) => b.not(*x),
            (Op::ShiftLeftLogical, [x, amount]) => self.shift(Opcode::LLVMShl, *x, *amount),
            (Op::ShiftRightLogical, [x, amount]) => self.shift(Opcode::LLVMLShr, *x, *amount),
            (Op::ShiftRightArithmetic, [x, amount]) => {
                b.ashr(*x, self.bounded(*amount, *x, u64::from(x.ty().bits()) - 1))
            }
            (Op::BitFieldInsert, [base, insert, offset, count]) => {
                // Of an offset 32 bits count.
                let offset = match offset.ty().bits() > 32 {
                    true => b.zext_or_trunc(*offset, self.like(*offset, Scalar::I32)),
                    false => *offset,
                };
                let mask = self.shift(Opcode::LLVMShl, self.low_bits(*base, *count), offset);
                let insert = self.shift(Opcode::LLVMShl, *insert, offset);
                b.or(b.and(*base, b.not(mask)), b.and(insert, mask))
            }
            (Op::BitFieldUExtract, [base, offset, count]) => self.field(*base, *offset, *count),
            (Op::BitFieldSExtract, [base, offset, count]) => {
                let bits = u64::from(base.ty().bits());
                let count_in_range = self.bounded(*count, *base, bits);
                let unused = b.sub(b.integer(base.ty(), bits), count_in_range);
                // A field without bits is zero, wherever its sign is taken from.
                let unused = self.bounded(unused, *base, bits - 1);
                b.ashr(b.shl(self.field(*base, *offset, *count), unused), unused)
            }
            // A sum that has wrapped is less than either number.
            (Op::IAddCarry, [x, y]) => b.zext_or_trunc(b.icmp(less, b.add(*x, *y), *x), x.ty()),
            (Op::ISubBorrow, [x, y]) => b.zext_or_trunc(b.icmp(less, *x, *y), x.ty()),
            (Op::UMulExtended, [x, y]) => self.high_product(*x, *y, false),
            (Op::SMulExtended, [x, y]) => self.high_product(*x, *y, true),
            _ => return None,
        })
    }

    /// A logical shift; by the width or more it shifts everything out.
    pub(super) fn shift(&self, opcode: Opcode, value: Value<'m>, amount: Value<'m>) -> Value<'m> {
        let b = self.builder;
        // Compared in the amount's own type: cut to the value's, a large one may look small.
        let bits = b.integer(amount.ty(), value.ty().bits().into());
        let inside = b.icmp(IntPredicate::LLVMIntULT, amount, bits);
        let shifted = b.binary(opcode, value, b.zext_or_trunc(amount, value.ty()));
        b.select(inside, shifted, b.zero(value.ty()))
    }

    /// An unsigned integer, or the bound if it is greater, in the type of another value.
    fn bounded(&self, value: Value<'m>, like: Value<'m>, bound: u64) -> Value<'m> {
        let b = self.builder;
        let bound = b.integer(value.ty(), bound);
        let least = b.intrinsic("llvm.umin", &[value.ty()], &[value, bound]);
        b.zext_or_trunc(least, like.ty())
    }

    /// So many of the lowest bits set, in the type of another value.
    fn low_bits(&self, like: Value<'m>, count: Value<'m>) -> Value<'m> {
        let ones = self.builder.signed(like.ty(), -1);
        self.builder.not(self.shift(Opcode::LLVMShl, ones, count))
    }

    fn field(&self, base: Value<'m>, offset: Value<'m>, count: Value<'m>) -> Value<'m> {
        let field = self.shift(Opcode::LLVMLShr, base, offset);
        self.builder.and(field, self.low_bits(base, count))
    }

    /// The upper half of a product.
    pub(super) fn high_product(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let (ty, bits) = (x.ty(), x.ty().bits());
        if bits == 64 && ty.width().is_some() {
            return self.high_product_of_parts(x, y, signed);
        }
        let wide = b.int(2 * bits).vector(ty.width());
        let opcode = if signed {
            Opcode::LLVMSExt
        } else {
            Opcode::LLVMZExt
        };
        let product = b.mul(b.cast(opcode, x, wide), b.cast(opcode, y, wide));
        let high = b.lshr(product, b.integer(wide, bits.into()));
        b.zext_or_trunc(high, ty)
    }

    /// The same for vectors of 64 bits, whose halves processors multiply.
    fn high_product_of_parts(&self, x: Value<'m>, y: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let half = b.integer(x.ty(), 32);
        let low = |value| b.and(value, b.integer(x.ty(), u32::MAX.into()));
        let high = |value| b.lshr(value, half);
        let (x_low, x_high, y_low, y_high) = (low(x), high(x), low(y), high(y));
        // None of the sums overflows.
        let middle = b.add(b.mul(x_high, y_low), high(b.mul(x_low, y_low)));
        let other = b.add(b.mul(x_low, y_high), low(middle));
        let product = b.add(b.mul(x_high, y_high), b.add(high(middle), high(other)));
        if !signed {
            return product;
        }
        // A negative factor counts 2^64 too much.
        let excess = |factor, other| {
            let sign = b.ashr(factor, b.integer(x.ty(), 63));
            b.and(sign, other)
        };
        b.sub(b.sub(product, excess(x, y)), excess(y, x))
    }
}
