//! What operations do to the lanes of values, with the results that the interpreter defines.
//!
//! A component of a value is one LLVM value, a scalar or a vector of one lane for each work-item; all operands of an
//! operation have one form, and so has its result. Masks and control are not known here: whatever a lane holds, nothing
//! traps, and nothing is poison that was not poison before, so that lanes of work-items that take no part do no harm.
//! For that reason no instruction is told that its result is in range or its operands are numbers.
//!
//! | module | lowers |
//! |---|---|
//! | `integer` | integers and truths |
//! | `division` | division of integers |
//! | `float` | floating-point numbers |
//! | `half` | half precision, by single precision |
//! | `convert` | conversions, and bytes as other types |
//! | `extended` | the functions of OpenCL.std |
//! | `collective` | what a sub-group does together |
//! | `ballot` | questions about ballots |

mod ballot;
mod collective;
mod convert;
mod division;
mod extended;
mod float;
mod half;
mod integer;
mod options;
#[cfg(test)]
mod tests;

use llvm_sys::{
    LLVMFastMathAllowContract, LLVMFastMathAllowReassoc, LLVMFastMathAllowReciprocal, LLVMFastMathApproxFunc,
    LLVMFastMathFlags, LLVMFastMathNoSignedZeros, LLVMFastMathNone, LLVMIntPredicate as IntPredicate,
    LLVMOpcode as Opcode,
};
use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::{Attributes, Operation};
use offkit_spirv::grammar::Op;

use super::builder::{Builder, Type, Value};
pub(crate) use options::Options;

/// Lowers operations.
pub(crate) struct Lanes<'b, 'm> {
    builder: &'b Builder<'m>,
    options: Options,
}

/// The component of an operand that belongs to one of the result; a single one belongs to all.
fn component<'m>(operand: &[Value<'m>], index: usize) -> Option<Value<'m>> {
    match operand {
        [only] => Some(*only),
        _ => operand.get(index).copied(),
    }
}

impl<'b, 'm> Lanes<'b, 'm> {
    pub(crate) fn new(builder: &'b Builder<'m>, options: Options) -> Self {
        Self { builder, options }
    }

    /// The components of an operation's result, by those of its operands: `None` when it has no lowering here.
    ///
    /// The result's shape is that of its type; of a struct only the number of words counts. Results that are pointers
    /// may come as such or as integers. Of an instruction of OpenCL.std with two results the operands are those
    /// without the pointer, and the second result's components follow the first's.
    pub(crate) fn operation(
        &self,
        operation: &Operation,
        attributes: &Attributes,
        operands: &[&[Value<'m>]],
        result: Shape,
    ) -> Option<Vec<Value<'m>>> {
        let count = result.lanes as usize;
        match (operation, operands) {
            (Operation::Elementwise(op), _) => self.each(operands, count, |words| {
                self.elementwise(*op, attributes, words, result.scalar)
            }),
            (Operation::Fold(op), [vector]) => {
                let (first, rest) = vector.split_first()?;
                let mut rest = rest.iter();
                let folded = rest.try_fold(*first, |folded, word| {
                    self.elementwise(*op, attributes, &[folded, *word], result.scalar)
                });
                Some(vec![folded?])
            }
            (Operation::Select, _) => self.each(operands, count, |words| match *words {
                [condition, accept, reject] => Some(self.builder.select(condition, accept, reject)),
                _ => None,
            }),
            (
                Operation::Convert {
                    kind,
                    saturate,
                    rounding,
                },
                _,
            ) => self.each(operands, count, |words| {
                Some(self.convert(*kind, *saturate, *rounding, *words.first()?, result.scalar))
            }),
            (Operation::Reinterpret, [value]) => Some(self.reinterpret(value, result.scalar)),
            (Operation::Extract(first), [value]) => {
                let first = *first as usize;
                Some(value.get(first..first.checked_add(count)?)?.to_vec())
            }
            (Operation::Insert(first), [whole, part]) => {
                let mut whole = whole.to_vec();
                let first = *first as usize;
                whole
                    .get_mut(first..first.checked_add(part.len())?)?
                    .copy_from_slice(part);
                Some(whole)
            }
            (Operation::ExtractDynamic, [vector, [index]]) => Some(vec![self.pick(vector, *index)?]),
            (Operation::InsertDynamic, [vector, [component], [index]]) => {
                // By comparison, and not through memory: there an index beyond the last, which
                // changes nothing here, would lead somewhere else.
                let places = (0..).zip(*vector);
                let put = places.map(|(place, word)| {
                    let holds = self.is(*index, place);
                    self.builder.select(holds, *component, *word)
                });
                Some(put.collect())
            }
            (Operation::Construct, _) => Some(operands.concat()),
            (Operation::Shuffle(lanes), [left, right]) => {
                let of = left.first().or(right.first())?.ty();
                let lane = |lane: &Option<u32>| match lane {
                    // Any would do, if it were not poison.
                    None => Some(self.builder.zero(of)),
                    Some(lane) => left.iter().chain(*right).nth(*lane as usize).copied(),
                };
                lanes.iter().map(lane).collect()
            }
            (Operation::Extended(op), _) => self.extended(*op, attributes, operands, result),
            (Operation::Assume, _) => Some(Vec::new()),
            (Operation::Expect, [value, ..]) => Some(value.to_vec()),
            _ => None,
        }
    }

    /// Each component of a result, by those of the operands that belong to it.
    fn each(
        &self,
        operands: &[&[Value<'m>]],
        count: usize,
        lower: impl Fn(&[Value<'m>]) -> Option<Value<'m>>,
    ) -> Option<Vec<Value<'m>>> {
        let components = (0..count).map(|index| {
            let words = operands.iter().map(|operand| component(operand, index));
            lower(&words.collect::<Option<Vec<_>>>()?)
        });
        components.collect()
    }

    /// One component.
    fn elementwise(
        &self,
        op: Op,
        attributes: &Attributes,
        words: &[Value<'m>],
        result: Scalar,
    ) -> Option<Value<'m>> {
        let kind = words.first()?.ty();
        if kind.is_float() {
            // The flags of fast arithmetic would let LLVM multiply with a reciprocal instead.
            let flags = match self.options.arithmetic.exact_quotients
                && op == Op::FDiv
                && kind.scalar() == Scalar::F32
            {
                true => LLVMFastMathNone,
                false => self.flags(attributes),
            };
            return self.float(op, words, flags);
        }
        let words: Vec<_> = words.iter().map(|word| self.plain(*word)).collect();
        if kind.scalar() == Scalar::Bool {
            return self.logical(op, &words);
        }
        let lowered = self.integer(op, &words)?;
        // Of a count of bits, SPIR-V lets the result have another width than the operand.
        let is_resized = result.is_integer() && result != lowered.ty().scalar();
        Some(match is_resized && lowered.ty().scalar() != Scalar::Bool {
            true => self.builder.zext_or_trunc(lowered, self.like(lowered, result)),
            false => lowered,
        })
    }

    /// What may be done to floating-point arithmetic. That nothing is infinite or no number is promised of work-items
    /// that take part only.
    fn flags(&self, attributes: &Attributes) -> LLVMFastMathFlags {
        let (math, given) = (&attributes.math, self.options.arithmetic);
        let fast = math.fast || given.relaxed;
        let contract = math.allow_contract || math.fast || self.options.contract;
        let flags = [
            // What an instruction forbids is forbidden, whoever builds the program.
            (contract && !attributes.no_contraction, LLVMFastMathAllowContract),
            (
                fast || math.no_signed_zero || given.no_signed_zeros,
                LLVMFastMathNoSignedZeros,
            ),
            (fast || math.allow_reciprocal, LLVMFastMathAllowReciprocal),
            (fast || math.allow_reassociation, LLVMFastMathAllowReassoc),
            (fast || math.allow_transform, LLVMFastMathApproxFunc),
        ];
        let set = flags.iter().filter(|(holds, _)| *holds);
        set.fold(LLVMFastMathNone, |flags, (_, flag)| flags | flag)
    }

    /// A type of this scalar in the form of a value.
    fn like(&self, value: Value<'m>, scalar: Scalar) -> Type<'m> {
        self.builder.scalar(scalar).vector(value.ty().width())
    }

    /// The integer type of the bits of a value, in its form.
    fn bits_type(&self, value: Value<'m>) -> Type<'m> {
        self.builder.int(value.ty().bits()).vector(value.ty().width())
    }

    /// The bits of a number, or an address, as an integer; integers as they are.
    fn bits(&self, value: Value<'m>) -> Value<'m> {
        match value.ty().is_pointer() {
            true => self.plain(value),
            false => self.builder.bit_cast(value, self.bits_type(value)),
        }
    }

    /// An address as an integer; anything else as it is.
    fn plain(&self, value: Value<'m>) -> Value<'m> {
        match value.ty().is_pointer() {
            true => {
                let address = self.like(value, Scalar::I64);
                self.builder.cast(Opcode::LLVMPtrToInt, value, address)
            }
            false => value,
        }
    }

    /// Whether an integer is this one.
    fn is(&self, value: Value<'m>, number: u64) -> Value<'m> {
        let number = self.builder.integer(value.ty(), number);
        self.builder.icmp(IntPredicate::LLVMIntEQ, value, number)
    }

    /// A component of a list by its number; beyond the last, that.
    fn pick(&self, list: &[Value<'m>], index: Value<'m>) -> Option<Value<'m>> {
        let (last, others) = list.split_last()?;
        let others = (0..).zip(others);
        Some(others.fold(*last, |picked, (place, word)| {
            self.builder.select(self.is(index, place), *word, picked)
        }))
    }
}
