//! Remainders of numbers: exact, by a function of the module whose loop takes off as many multiples of the divisor at once
//! as a product has bits for. Half and single precision compute in double.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::float::DOUBLE;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::{Lanes, Results};
use crate::compile::builder::Value;

impl<'m> Lanes<'_, 'm> {
    /// `fmod`, `remainder` and `remquo`. Without an instruction for a product and sum double precision has none.
    pub(super) fn remainders(&self, op: Op, words: &[Value<'m>]) -> Option<Results<'m>> {
        let [x, y] = *words else { return None };
        match op {
            Op::fmod => Some((self.float_remainder(x, y)?, None)),
            Op::remainder => Some((self.nearest_remainder(x, y)?.0, None)),
            Op::remquo => {
                let (remainder, quotient) = self.nearest_remainder(x, y)?;
                Some((remainder, Some(quotient)))
            }
            _ => None,
        }
    }

    /// With the sign of the dividend.
    pub(in crate::compile::lanes) fn float_remainder(&self, x: Value<'m>, y: Value<'m>) -> Option<Value<'m>> {
        let (left, right) = (self.double(x), self.double(y));
        let (remainder, _) = self.reduced(left, right, self.multiples(x)?, false);
        Some(self.narrow_double(self.copy_sign(remainder, left), x))
    }

    /// The remainder with the sign of the divisor.
    pub(in crate::compile::lanes) fn float_modulo(&self, x: Value<'m>, y: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        let remainder = self.single(self.float_remainder(x, y)?);
        let divisor = self.single(y);
        let zero = b.zero(remainder.ty());
        let is_negative = |value| b.fcmp(RealPredicate::LLVMRealOLT, value, zero);
        let other_sign = b.xor(is_negative(remainder), is_negative(divisor));
        let is_zero = b.fcmp(RealPredicate::LLVMRealOEQ, remainder, zero);
        let adjust = b.and(other_sign, b.not(is_zero));
        let modulo = b.select(adjust, b.fadd(remainder, divisor), remainder);
        Some(self.narrow_to(modulo, x.ty()))
    }

    /// The remainder of the nearest quotient, and the low seven bits of that with its sign.
    fn nearest_remainder(&self, x: Value<'m>, y: Value<'m>) -> Option<(Value<'m>, Value<'m>)> {
        let b = self.builder;
        let (left, right) = (self.double(x), self.double(y));
        let (remainder, quotient) = self.reduced(left, right, self.multiples(x)?, true);
        let one = b.integer(quotient.ty(), 1);
        let divisor = b.bit_cast(self.magnitude(right), right.ty());
        // Less than half the divisor, or half and even.
        let rest = b.fsub(divisor, remainder);
        let above = b.fcmp(RealPredicate::LLVMRealOGT, remainder, rest);
        let half = b.fcmp(RealPredicate::LLVMRealOEQ, remainder, rest);
        let odd = b.icmp(
            IntPredicate::LLVMIntNE,
            b.and(quotient, one),
            b.zero(quotient.ty()),
        );
        let up = b.or(above, b.and(half, odd));
        let remainder = b.select(up, b.fneg(rest), remainder);
        let quotient = b.add(quotient, b.zext_or_trunc(up, quotient.ty()));
        let is_negative = |bits: Value<'m>| b.icmp(IntPredicate::LLVMIntSLT, bits, b.zero(bits.ty()));
        let sign = b.and(self.bits(left), b.integer(self.bits_type(left), DOUBLE.sign()));
        let signed = b.bit_cast(b.xor(self.bits(remainder), sign), remainder.ty());
        let low = b.and(quotient, b.integer(quotient.ty(), 0x7f));
        let differs = is_negative(b.xor(self.bits(left), self.bits(right)));
        let low = b.select(differs, b.neg(low), low);
        let undefined = self.is_nan(remainder);
        let low = b.select(undefined, b.zero(low.ty()), low);
        let low = b.zext_or_trunc(low, self.like(low, Scalar::I32));
        Some((self.narrow_double(signed, x), low))
    }

    fn double(&self, value: Value<'m>) -> Value<'m> {
        let single = self.single(value);
        let double = self.like(single, Scalar::F64);
        self.builder.cast(Opcode::LLVMFPExt, single, double)
    }

    /// A result in the type of an operand that [`Lanes::double`] widened; exact.
    fn narrow_double(&self, value: Value<'m>, like: Value<'m>) -> Value<'m> {
        let b = self.builder;
        match like.ty().scalar() {
            Scalar::F64 => value,
            _ => {
                let single = b.cast(Opcode::LLVMFPTrunc, value, self.like(value, Scalar::F32));
                self.narrow_to(single, like.ty())
            }
        }
    }

    /// The remainder of the magnitudes, and the low bits of their whole quotient, of 64 bits.
    fn reduced(
        &self,
        x: Value<'m>,
        y: Value<'m>,
        multiples: i64,
        with_quotient: bool,
    ) -> (Value<'m>, Value<'m>) {
        let b = self.builder;
        let infinity = DOUBLE.infinity();
        let (left, right) = (self.magnitude(x), self.magnitude(y));
        let number = |bits: Value<'m>| b.bit_cast(bits, x.ty());
        // Where the quotient has an end, and where it is zero whatever the divisor.
        let is_defined = b.and(self.below(left, infinity), b.not(self.is(right, 0)));
        let is_finite = b.and(is_defined, self.below(right, infinity));
        // Others divide zero by one: the loop goes round for all lanes as long as one has something
        // to take off, and for those it would never end.
        let dividend = b.select(is_finite, number(left), b.zero(x.ty()));
        let divisor = b.select(is_finite, number(right), b.float(x.ty(), 1.0));
        let long = self.like(x, Scalar::I64);
        let name = match with_quotient {
            true => "quotient",
            false => "remainder",
        };
        // For each type: `multiples` is the same for all that come here on one processor.
        let name = format!("offkit.{name}.{}", x.ty().width().unwrap_or(1));
        let types = [x.ty(), x.ty()];
        let (ty, function) = b.own_function(&name, &[x.ty(), long], &types, |operands| {
            let results = self.take_off(operands[0], operands[1], multiples, with_quotient);
            b.return_all(&results);
        });
        let results = b.call(ty, function, &[dividend, divisor]);
        let (remainder, quotient) = (b.member(results, 0), b.member(results, 1));
        let of_infinity = b.and(is_defined, self.is(right, infinity));
        let remainder = b.select(of_infinity, number(left), remainder);
        let nan = b.word(x.ty(), DOUBLE.quiet_nan());
        let is_number = b.or(is_finite, of_infinity);
        (b.select(is_number, remainder, nan), quotient)
    }

    /// So many bits of a quotient can be multiplied with an operand's significand exactly.
    fn multiples(&self, of: Value<'m>) -> Option<i64> {
        match (self.options.processor.fma, of.ty().scalar()) {
            (true, _) => Some(50),
            (false, Scalar::F64) => None,
            // With the 24 bits of single precision they fit into the 53 of double.
            (false, _) => Some(28),
        }
    }

    /// Takes the greatest multiples off a number until it is less than the divisor; gives what is left, and the quotient's
    /// low bits.
    fn take_off(
        &self,
        dividend: Value<'m>,
        divisor: Value<'m>,
        multiples: i64,
        with_quotient: bool,
    ) -> [Value<'m>; 2] {
        let b = self.builder;
        let ty = dividend.ty();
        let long = self.like(dividend, Scalar::I64);
        let function = b.current_function();
        let (again, done) = (b.block(function, "again"), b.block(function, "done"));
        let before = b.current();
        let smallest = self.split(divisor, DOUBLE).1;
        b.jump(again);
        b.at_end(again);
        let (rest, quotient) = (b.phi(ty), b.phi(long));
        b.incoming(rest, dividend, before);
        b.incoming(quotient, b.zero(long), before);
        // The divisor times the power of two that leaves as many bits of the quotient.
        let exponent = self.split(rest, DOUBLE).1;
        let excess = b.sub(b.sub(exponent, smallest), b.signed(exponent.ty(), multiples));
        let power = b.intrinsic("llvm.smax", &[excess.ty()], &[excess, b.zero(excess.ty())]);
        // Two factors have no more: of the largest by the smallest number, one bit of the quotient more has to do.
        let most = b.integer(power.ty(), 2 * 1023);
        let power = b.intrinsic("llvm.smin", &[power.ty()], &[power, most]);
        let half = b.lshr(power, b.integer(power.ty(), 1));
        let scaled = b.fmul(divisor, self.power_of_two(half));
        let scaled = b.fmul(scaled, self.power_of_two(b.sub(power, half)));
        let factor = b.intrinsic("llvm.trunc", &[ty], &[b.fdiv(rest, scaled)]);
        let left = match self.options.processor.fma {
            true => b.intrinsic("llvm.fma", &[ty], &[b.fneg(factor), scaled, rest]),
            false => b.fsub(rest, b.fmul(factor, scaled)),
        };
        // The quotient may have been rounded up.
        let is_one_too_many = b.fcmp(RealPredicate::LLVMRealOLT, left, b.zero(ty));
        let left = b.select(is_one_too_many, b.fadd(left, scaled), left);
        let next = match with_quotient {
            true => {
                let factor = b.cast(Opcode::LLVMFPToSI, factor, long);
                let less = b.zext_or_trunc(is_one_too_many, long);
                let part = self.shift(Opcode::LLVMShl, b.sub(factor, less), power);
                b.add(quotient, part)
            }
            false => quotient,
        };
        b.incoming(rest, left, again);
        b.incoming(quotient, next, again);
        let more = b.mask_bits(b.fcmp(RealPredicate::LLVMRealOGE, left, divisor));
        b.branch(
            b.icmp(IntPredicate::LLVMIntNE, more, b.zero(more.ty())),
            again,
            done,
        );
        b.at_end(done);
        [left, next]
    }
}
