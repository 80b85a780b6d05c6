//! The functions of integers.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::Lanes;
use crate::compile::builder::Value;

/// The intrinsic of a function of two integers.
fn intrinsic(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::s_max => "llvm.smax",
        Op::u_max => "llvm.umax",
        Op::s_min => "llvm.smin",
        Op::u_min => "llvm.umin",
        Op::s_add_sat => "llvm.sadd.sat",
        Op::u_add_sat => "llvm.uadd.sat",
        Op::s_sub_sat => "llvm.ssub.sat",
        Op::u_sub_sat => "llvm.usub.sat",
        _ => return None,
    })
}

impl<'m> Lanes<'_, 'm> {
    pub(super) fn function_of_integers(
        &self,
        op: Op,
        words: &[Value<'m>],
        result: Scalar,
    ) -> Option<Value<'m>> {
        let b = self.builder;
        let ty = words.first()?.ty();
        let call = |name, words: &[Value<'m>]| b.intrinsic(name, &[ty], words);
        // The intrinsics that are told whether zero, or the least integer, is without a result.
        let defined = |name, x: Value<'m>| b.intrinsic(name, &[ty], &[x, b.truth(None, false)]);
        let is_signed = matches!(
            op,
            Op::s_abs_diff
                | Op::s_hadd
                | Op::s_rhadd
                | Op::s_clamp
                | Op::s_mul_hi
                | Op::s_mad_hi
                | Op::s_mad_sat
                | Op::s_mul24
                | Op::s_mad24
        );
        if let (Some(name), [_, _]) = (intrinsic(op), words) {
            return Some(call(name, words));
        }
        Some(match (op, words) {
            (Op::s_abs, [x]) => defined("llvm.abs", *x),
            (Op::u_abs, [x]) => *x,
            (Op::s_abs_diff | Op::u_abs_diff, [x, y]) => {
                let less = match is_signed {
                    true => IntPredicate::LLVMIntSLT,
                    false => IntPredicate::LLVMIntULT,
                };
                b.select(b.icmp(less, *x, *y), b.sub(*y, *x), b.sub(*x, *y))
            }
            // Half the sum is what both have and half of what one has, rounded down, or, of what either has, up.
            (Op::s_hadd | Op::u_hadd, [x, y]) => b.add(b.and(*x, *y), self.half_of(b.xor(*x, *y), is_signed)),
            (Op::s_rhadd | Op::u_rhadd, [x, y]) => {
                b.sub(b.or(*x, *y), self.half_of(b.xor(*x, *y), is_signed))
            }
            (Op::s_clamp, [x, low, high]) => call("llvm.smin", &[call("llvm.smax", &[*x, *low]), *high]),
            (Op::u_clamp, [x, low, high]) => call("llvm.umin", &[call("llvm.umax", &[*x, *low]), *high]),
            (Op::s_mul_hi | Op::u_mul_hi, [x, y]) => self.high_product(*x, *y, is_signed),
            (Op::s_mad_hi | Op::u_mad_hi, [x, y, z]) => b.add(self.high_product(*x, *y, is_signed), *z),
            (Op::s_mad_sat | Op::u_mad_sat, [x, y, z]) => self.saturated(*x, *y, *z, is_signed),
            (Op::s_mul24 | Op::u_mul24, [x, y]) => {
                b.mul(self.low24(*x, is_signed), self.low24(*y, is_signed))
            }
            (Op::s_mad24 | Op::u_mad24, [x, y, z]) => {
                b.add(b.mul(self.low24(*x, is_signed), self.low24(*y, is_signed)), *z)
            }
            (Op::clz, [x]) => defined("llvm.ctlz", *x),
            (Op::ctz, [x]) => defined("llvm.cttz", *x),
            (Op::popcount, [_]) => call("llvm.ctpop", words),
            // It takes the amount modulo the width, as OpenCL does, where a shift would be poison.
            (Op::rotate, [x, y]) => call("llvm.fshl", &[*x, *x, *y]),
            (Op::s_upsample | Op::u_upsample, [high, low]) => {
                let wide = self.like(*low, result);
                let place = b.integer(wide, low.ty().bits().into());
                b.or(
                    b.shl(b.zext_or_trunc(*high, wide), place),
                    b.zext_or_trunc(*low, wide),
                )
            }
            _ => return None,
        })
    }

    fn half_of(&self, x: Value<'m>, signed: bool) -> Value<'m> {
        let opcode = if signed {
            Opcode::LLVMAShr
        } else {
            Opcode::LLVMLShr
        };
        self.builder.binary(opcode, x, self.builder.integer(x.ty(), 1))
    }

    /// The low 24 bits as a number.
    fn low24(&self, x: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let bits = x.ty().bits();
        if bits <= 24 {
            return x;
        }
        let unused = b.integer(x.ty(), u64::from(bits) - 24);
        match signed {
            true => b.ashr(b.shl(x, unused), unused),
            false => b.and(x, b.integer(x.ty(), 0xff_ffff)),
        }
    }

    /// A product and sum, or the nearest integer.
    fn saturated(&self, x: Value<'m>, y: Value<'m>, z: Value<'m>, signed: bool) -> Value<'m> {
        let b = self.builder;
        let (ty, bits) = (x.ty(), x.ty().bits());
        let wide = b.int(2 * bits).vector(ty.width());
        let extend = |word| match signed {
            true => b.sext_or_trunc(word, wide),
            false => b.zext_or_trunc(word, wide),
        };
        // Twice the bits hold the greatest product of two such numbers and one more number.
        let exact = b.add(b.mul(extend(x), extend(y)), extend(z));
        let call = |name, value, bound| b.intrinsic(name, &[wide], &[value, bound]);
        let inside = match signed {
            true => {
                let greatest = i64::MAX >> (64 - bits);
                let below = call("llvm.smin", exact, b.signed(wide, greatest));
                call("llvm.smax", below, b.signed(wide, !greatest))
            }
            false => call("llvm.umin", exact, b.integer(wide, u64::MAX >> (64 - bits))),
        };
        b.zext_or_trunc(inside, ty)
    }
}
