//! The functions of OpenCL.std: those of mathematics are [`math`]'s.
//!
//! | module | lowers |
//! |---|---|
//! | `integer` | functions of integers |
//! | `real` | functions of numbers that arithmetic and rounding suffice for |
//! | `parts` | those that take numbers apart, or put them together |
//! | `remainder` | exact remainders |
//! | `approximate` | functions that NVIDIA's GPUs have approximate instructions for |
//! | `root` | reciprocal square roots |
//! | `geometry` | those of whole vectors |

mod approximate;
mod geometry;
mod integer;
mod parts;
mod real;
mod remainder;
mod root;

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_kernel::builtins::Shape;
use offkit_kernel::ir::Attributes;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::{Lanes, component};
use crate::compile::builder::Value;
use crate::compile::math;

/// A component of a result, and of the second one where there is one.
type Results<'m> = (Value<'m>, Option<Value<'m>>);

impl<'m> Lanes<'_, 'm> {
    pub(super) fn extended(
        &self,
        op: Op,
        attributes: &Attributes,
        operands: &[&[Value<'m>]],
        result: Shape,
    ) -> Option<Vec<Value<'m>>> {
        if let Some(components) = self.geometric(op, operands) {
            return Some(components);
        }
        let b = self.builder;
        match (op, operands) {
            (Op::shuffle, [vector, mask]) => return self.shuffled(&[vector], mask),
            (Op::shuffle2, [left, right, mask]) => return self.shuffled(&[left, right], mask),
            (Op::select, _) => {
                // Of a vector's conditions the highest bits count.
                let predicate = match result.lanes {
                    1 => IntPredicate::LLVMIntNE,
                    _ => IntPredicate::LLVMIntSLT,
                };
                return self.each(operands, result.lanes as usize, |words| match *words {
                    [reject, accept, condition] => {
                        let holds = b.icmp(predicate, condition, b.zero(condition.ty()));
                        Some(b.select(holds, accept, reject))
                    }
                    _ => None,
                });
            }
            _ => {}
        }
        let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
        for index in 0..result.lanes as usize {
            let words = operands.iter().map(|operand| component(operand, index));
            let words = words.collect::<Option<Vec<_>>>()?;
            let (first, second) = self.function(op, attributes, &words, result)?;
            firsts.push(first);
            seconds.extend(second);
        }
        firsts.append(&mut seconds);
        Some(firsts)
    }

    /// A function that works component by component.
    fn function(
        &self,
        op: Op,
        attributes: &Attributes,
        words: &[Value<'m>],
        result: Shape,
    ) -> Option<Results<'m>> {
        let first = words.first()?;
        let b = self.builder;
        if op == Op::bitselect {
            let [x, y, mask] = *words else { return None };
            let [left, right, bits] = [x, y, mask].map(|word| self.bits(word));
            let chosen = b.or(b.and(left, b.not(bits)), b.and(right, bits));
            return Some((b.bit_cast(chosen, x.ty()), None));
        }
        if op == Op::nan {
            return Some((self.quiet_nan(*first, result.scalar)?, None));
        }
        // Behind the two above, which take integers and give numbers, or take either.
        if !first.ty().is_float() {
            return Some((self.function_of_integers(op, words, result.scalar)?, None));
        }
        if let Some(results) = self.remainders(op, words) {
            return Some(results);
        }
        if let Some(results) = self.parts(op, words, result.scalar) {
            return Some(results);
        }
        if let Some(result) = self.function_of_reals(op, attributes, words) {
            return Some((result, None));
        }
        let singles: Vec<_> = words.iter().map(|word| self.single(*word)).collect();
        if op == Op::lgamma_r {
            let results = math::extended(b, self.options.processor, Op::lgamma, &singles)?;
            let logarithm = self.narrow_to(*results.first()?, first.ty());
            return Some((logarithm, Some(self.sign_of_gamma(*singles.first()?))));
        }
        let results = math::extended(b, self.options.processor, op, &singles)?;
        let mut results = results
            .into_iter()
            .map(|result| self.narrow_to(result, first.ty()));
        Some((results.next()?, results.next()))
    }

    /// Components of one or two vectors, by the low bits of a mask.
    fn shuffled(&self, vectors: &[&[Value<'m>]], mask: &[Value<'m>]) -> Option<Vec<Value<'m>>> {
        let b = self.builder;
        let mut list = vectors.concat();
        let choices = list.len().checked_next_power_of_two()?;
        // Beyond the components of three, as of none, is zero.
        list.resize(choices, b.zero(list.first()?.ty()));
        let pick = |index: &Value<'m>| {
            let bits = b.integer(index.ty(), choices as u64 - 1);
            self.pick(&list, b.and(*index, bits))
        };
        mask.iter().map(pick).collect()
    }
}
