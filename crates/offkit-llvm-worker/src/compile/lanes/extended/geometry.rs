//! The functions of whole vectors of numbers. Single precision computes in double, which neither overflows nor rounds on
//! the way, half precision in single; double precision is scaled, and `fast` functions compute as they are.

use llvm_sys::{LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::float::DOUBLE;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::Lanes;
use crate::compile::builder::{Type, Value};

impl<'m> Lanes<'_, 'm> {
    pub(super) fn geometric(&self, op: Op, operands: &[&[Value<'m>]]) -> Option<Vec<Value<'m>>> {
        let is_fast = matches!(op, Op::fast_distance | Op::fast_length | Op::fast_normalize);
        let is_known = matches!(op, Op::cross | Op::distance | Op::length | Op::normalize);
        if !is_fast && !is_known {
            return None;
        }
        let b = self.builder;
        let ty = operands.first()?.first()?.ty();
        let wide = match (ty.scalar(), is_fast) {
            (Scalar::F32, true) | (Scalar::F16, _) => Scalar::F32,
            _ => Scalar::F64,
        };
        let is_scaled = ty.scalar() == Scalar::F64 && !is_fast;
        let extend = |value: &Value<'m>| self.extended_to(*value, wide);
        let vectors: Vec<Vec<_>> = (operands.iter())
            .map(|operand| operand.iter().map(extend).collect())
            .collect();
        let round = |value| self.rounded_from(value, ty);
        Some(match (op, &vectors[..]) {
            (Op::cross, [x, y]) => {
                let coordinate = |index: usize| {
                    let (next, after) = ((index + 1) % 3, (index + 2) % 3);
                    let product = b.fmul(*x.get(after)?, *y.get(next)?);
                    let (left, right) = (*x.get(next)?, *y.get(after)?);
                    // Those of double precision are the ones that are not exact.
                    Some(match ty.scalar() {
                        Scalar::F64 => self.fused(left, right, b.fneg(product))?,
                        _ => round(b.fsub(b.fmul(left, right), product)),
                    })
                };
                // Of vectors with four components the fourth is zero.
                let mut cross = (0..3).map(coordinate).collect::<Option<Vec<_>>>()?;
                cross.resize(x.len(), b.zero(ty));
                cross
            }
            (Op::length | Op::fast_length, [x]) if is_scaled => vec![self.scaled_norm(x)?],
            (Op::length | Op::fast_length, [x]) => vec![round(self.norm(x)?)],
            (Op::distance | Op::fast_distance, [x, y]) => {
                let differences: Vec<_> = x.iter().zip(y).map(|(x, y)| b.fsub(*x, *y)).collect();
                vec![match is_scaled {
                    true => self.scaled_norm(&differences)?,
                    false => round(self.norm(&differences)?),
                }]
            }
            (Op::normalize, [x]) if is_scaled => self.normalized(&self.scaled_down(x)?.0)?,
            (Op::normalize | Op::fast_normalize, [x]) => self.normalized(x)?.into_iter().map(round).collect(),
            _ => return None,
        })
    }

    fn extended_to(&self, value: Value<'m>, wide: Scalar) -> Value<'m> {
        let single = self.single(value);
        let wide = self.like(single, wide);
        self.builder.cast(Opcode::LLVMFPExt, single, wide)
    }

    fn rounded_from(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        match to.scalar() {
            Scalar::F16 => self.narrow_to_half(value),
            _ => self.builder.cast(Opcode::LLVMFPTrunc, value, to),
        }
    }

    fn sum_of_squares(&self, vector: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        let squares = vector.iter().map(|value| b.fmul(*value, *value));
        squares.reduce(|sum, square| b.fadd(sum, square))
    }

    fn norm(&self, vector: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        let infinity = b.float(vector.first()?.ty(), f64::INFINITY);
        let sum = self.sum_of_squares(vector)?;
        let root = b.intrinsic("llvm.sqrt", &[sum.ty()], &[sum]);
        let is_infinite = |value: &Value<'m>| {
            let size = b.intrinsic("llvm.fabs", &[sum.ty()], &[*value]);
            b.fcmp(RealPredicate::LLVMRealOEQ, size, infinity)
        };
        // An infinite coordinate prevails over one that is no number.
        let any = vector.iter().map(is_infinite).reduce(|any, is| b.or(any, is))?;
        Some(b.select(any, infinity, root))
    }

    /// A vector of double precision whose greatest coordinate is near one, and the exponent that it had.
    fn scaled_down(&self, vector: &[Value<'m>]) -> Option<(Vec<Value<'m>>, Value<'m>)> {
        let b = self.builder;
        let sizes = vector
            .iter()
            .map(|value| b.bit_cast(self.magnitude(*value), value.ty()));
        let largest = sizes.reduce(|largest, size| self.greatest(largest, size))?;
        let (_, exponent) = self.split(largest, DOUBLE);
        // By a power of two, which loses nothing. Squares of what is near one don't overflow.
        let down = b.neg(exponent);
        let scaled = vector.iter().map(|value| self.times_power(*value, down));
        Some((scaled.collect(), exponent))
    }

    fn scaled_norm(&self, vector: &[Value<'m>]) -> Option<Value<'m>> {
        let (scaled, exponent) = self.scaled_down(vector)?;
        Some(self.times_power(self.norm(&scaled)?, exponent))
    }

    /// By halves, which are in the range of exponents.
    fn times_power(&self, value: Value<'m>, exponent: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let half = b.ashr(exponent, b.integer(exponent.ty(), 1));
        let scaled = b.fmul(value, self.power_of_two(half));
        b.fmul(scaled, self.power_of_two(b.sub(exponent, half)))
    }

    /// With infinite coordinates only these count; a vector of zeros stays one.
    fn normalized(&self, vector: &[Value<'m>]) -> Option<Vec<Value<'m>>> {
        let b = self.builder;
        let sum = self.sum_of_squares(vector)?;
        let ty = sum.ty();
        let number = |value| b.float(ty, value);
        let equal = |x, y| b.fcmp(RealPredicate::LLVMRealOEQ, x, y);
        let is_infinite = equal(sum, number(f64::INFINITY));
        let direction = |value: &Value<'m>| {
            let size = b.intrinsic("llvm.fabs", &[ty], &[*value]);
            let counts = b.select(equal(size, number(f64::INFINITY)), number(1.0), number(0.0));
            b.select(is_infinite, self.copy_sign(counts, *value), *value)
        };
        let directions: Vec<_> = vector.iter().map(direction).collect();
        let sum = self.sum_of_squares(&directions)?;
        let inverse = b.fdiv(number(1.0), b.intrinsic("llvm.sqrt", &[ty], &[sum]));
        let inverse = b.select(equal(sum, number(0.0)), number(1.0), inverse);
        Some(directions.iter().map(|value| b.fmul(*value, inverse)).collect())
    }
}
