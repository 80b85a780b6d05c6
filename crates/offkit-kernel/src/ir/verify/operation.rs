//! What each operation asks of its operands and its result.

use offkit_spirv::grammar::Op;

use super::{Check, Checker};
use crate::builtins::Scalar;
use crate::ir::{
    AtomicOperation, CollectiveKind, Home, Instruction, MemoryFunction, Operand, Operation, Reduction,
    TypeId, arithmetic, scalar_size,
};

/// What an operand or a result is.
#[derive(Clone, Copy, Debug)]
enum Is {
    /// Anything that has words.
    Any,
    /// A scalar, vector or pointer.
    Plain,
    /// One word.
    One,
    /// An integer.
    Integer,
    /// A pointer.
    Pointer,
    /// One boolean, or one for each component of the result.
    Truths,
    /// Of the type of the result.
    Same,
}

/// The operands that are always there, what any others are, and the result.
type Signature = (&'static [Is], Option<Is>, Option<Is>);

fn signature(operation: &Operation) -> Signature {
    use Is::{Any, Integer, One, Plain, Pointer, Same, Truths};
    match operation {
        Operation::Elementwise(_) => (&[Plain], Some(Plain), Some(Plain)),
        Operation::Extended(_) => (&[Plain], Some(Plain), Some(Plain)),
        Operation::Fold(_) => (&[Plain], None, Some(One)),
        Operation::Select => (&[Truths, Same, Same], None, Some(Any)),
        Operation::Convert { .. } | Operation::Reinterpret => (&[Plain], None, Some(Plain)),
        Operation::Extract(_) => (&[Any], None, Some(Any)),
        Operation::Insert(_) => (&[Any, Any], None, Some(Any)),
        Operation::ExtractDynamic => (&[Plain, Integer], None, Some(One)),
        Operation::InsertDynamic => (&[Same, One, Integer], None, Some(Plain)),
        Operation::Construct => (&[], Some(Any), Some(Any)),
        Operation::Shuffle(_) => (&[Any, Any], None, Some(Any)),
        Operation::Address { .. } => (&[Pointer], Some(Integer), Some(Pointer)),
        Operation::Input(_) => (&[], None, Some(Any)),
        Operation::Load => (&[Pointer], None, Some(Any)),
        Operation::Store => (&[Pointer, Any], None, None),
        Operation::Copy => (&[Pointer, Pointer, Integer], None, None),
        Operation::Atomic { operation, .. } => match operation {
            AtomicOperation::Load | AtomicOperation::TestAndSet => (&[Pointer], None, Some(One)),
            AtomicOperation::Store => (&[Pointer, One], None, None),
            AtomicOperation::Clear => (&[Pointer], None, None),
            AtomicOperation::Exchange | AtomicOperation::Update(_) => (&[Pointer, One], None, Some(One)),
            AtomicOperation::CompareExchange => (&[Pointer, One, One], None, Some(One)),
        },
        Operation::Fence | Operation::Overflow | Operation::Nowhere | Operation::NoFunction => {
            (&[], None, None)
        }
        Operation::GenericCast(_) | Operation::PointerSemantics => (&[Pointer], None, Some(One)),
        // What a function takes and gives is its own business.
        Operation::Call(_) => (&[], Some(Any), None),
        Operation::Memory(function) => match function {
            MemoryFunction::LoadVector | MemoryFunction::LoadHalf { .. } => {
                (&[Integer, Pointer], None, Some(Plain))
            }
            MemoryFunction::StoreVector | MemoryFunction::StoreHalf { .. } => {
                (&[Plain, Integer, Pointer], None, None)
            }
        },
        Operation::Print => (&[Pointer], Some(Plain), Some(One)),
        Operation::Collective(collective) => together(collective.kind),
        Operation::Ballot(_) => (&[Plain], Some(One), Some(One)),
        Operation::Assume => (&[Truths], None, None),
        Operation::Expect => (&[Same, Same], None, Some(Any)),
    }
}

fn together(kind: CollectiveKind) -> Signature {
    use CollectiveKind as K;
    use Is::{Any, Integer, One, Plain, Pointer, Same};
    match kind {
        K::Barrier | K::WaitEvents => (&[], None, None),
        K::Elect => (&[], None, Some(One)),
        K::AllEqual => (&[Any], None, Some(One)),
        K::All | K::Any => (&[Same], None, Some(One)),
        K::Reduce(_) | K::ClusteredReduce(..) | K::InclusiveScan(_) | K::ExclusiveScan(_) => {
            (&[Same], None, Some(Plain))
        }
        K::Ballot => (&[One], None, Some(Plain)),
        K::Broadcast => (&[Same, Plain], None, Some(Any)),
        K::BroadcastFirst | K::QuadSwap(_) => (&[Same], None, Some(Any)),
        K::Shuffle | K::ShuffleXor | K::ShuffleUp | K::ShuffleDown | K::Rotate(_) | K::QuadBroadcast => {
            (&[Same, Integer], None, Some(Any))
        }
        K::ShuffleDownPair | K::ShuffleUpPair => (&[Same, Same, Integer], None, Some(Any)),
        K::BlockRead => (&[Pointer], None, Some(Plain)),
        K::BlockWrite => (&[Pointer, Plain], None, None),
        K::AsyncCopy { .. } => (&[Pointer, Pointer, Integer, Integer], None, Some(One)),
    }
}

impl Checker<'_> {
    pub(super) fn operation(&self, instruction: &Instruction) -> Check {
        let Instruction {
            operation, operands, ..
        } = instruction;
        let result = instruction
            .result
            .map(|value| self.function.values[value.0 as usize]);
        let (first, rest, gives) = signature(operation);
        ensure!(
            operands.len() == first.len() || operands.len() > first.len() && rest.is_some(),
            "has {} operands",
            operands.len()
        );
        let is_call = matches!(operation, Operation::Call(_));
        match (gives, result) {
            (Some(gives), Some(kind)) => self.is("the result", kind, gives, kind)?,
            (None, None) => {}
            (None, Some(_)) if is_call => {}
            (Some(_), None) => return Err("no result".to_owned()),
            (None, Some(_)) => return Err("has a result".to_owned()),
        }
        // Without a result no operand is like it.
        let result = result.unwrap_or(self.function.result);
        for (operand, is) in operands
            .iter()
            .zip(first.iter().copied().chain(rest.into_iter().cycle()))
        {
            self.is(operand, self.kind(*operand), is, result)?;
        }
        let attributes = &instruction.attributes;
        ensure!(
            attributes.align.is_none_or(u32::is_power_of_two),
            "its alignment is no power of two"
        );
        self.fits(operation, operands, instruction.result.map(|_| result))
    }

    fn is(&self, name: impl std::fmt::Display, kind: TypeId, is: Is, result: TypeId) -> Check {
        let types = &self.module.types;
        let (lanes, scalar) = (types.lanes(kind), types.scalar(kind));
        let (holds, wanted) = match is {
            Is::Any => (lanes > 0, "a value"),
            Is::Plain => (scalar.is_some(), "a scalar or vector"),
            Is::One => (lanes == 1 && scalar.is_some(), "a scalar"),
            // A pointer's scalar is one as well, and what computes with integers takes none.
            Is::Integer => (
                lanes == 1 && scalar.is_some_and(Scalar::is_integer) && !types.is_pointer(kind),
                "an integer",
            ),
            Is::Pointer => (types.is_pointer(kind), "a pointer"),
            Is::Truths => (
                scalar == Some(Scalar::Bool) && (lanes == 1 || lanes == types.lanes(result)),
                "a boolean, or one for each component",
            ),
            Is::Same => (
                lanes == types.lanes(result) && scalar == types.scalar(result),
                "of the type of the result",
            ),
        };
        ensure!(holds, "{name} is not {wanted}");
        Ok(())
    }

    /// What the operands and the result are to each other.
    fn fits(&self, operation: &Operation, operands: &[Operand], result: Option<TypeId>) -> Check {
        let types = &self.module.types;
        let kind = result.unwrap_or(self.function.result);
        let (lanes, scalar) = (types.lanes(kind), types.scalar(kind));
        let lanes_at = |index: usize| operands.get(index).map_or(0, |operand| self.lanes(*operand));
        let kind_at = |index: usize| operands.get(index).map_or(kind, |operand| self.kind(*operand));
        let scalar_at = |index: usize| self.scalar(kind_at(index));
        match operation {
            Operation::Elementwise(op) => return self.elementwise(*op, operands, kind),
            Operation::Fold(op) => {
                let known = arithmetic::resolve_binary(*op, scalar_at(0)?).is_some();
                ensure!(known, "folds by Op{op:?}");
                ensure!(scalar == Some(scalar_at(0)?), "gives another type");
            }
            Operation::Convert { kind: conversion, .. } => {
                let (from, to) = (scalar_at(0)?, self.scalar(kind)?);
                ensure!(conversion.accepts(from, to), "converts {from} to {to}");
                ensure!(lanes_at(0) == lanes, "{} has other lanes", operands[0]);
            }
            Operation::Reinterpret => {
                let size =
                    |kind| Ok::<_, String>(scalar_size(self.scalar(kind)?) * u64::from(types.lanes(kind)));
                ensure!(
                    size(kind_at(0))? == size(kind)?,
                    "{} has another size",
                    operands[0]
                );
            }
            Operation::Extract(first) => {
                let end = first.checked_add(lanes);
                ensure!(
                    end.is_some_and(|end| end <= lanes_at(0)),
                    "is beyond its composite"
                );
            }
            Operation::Insert(first) => {
                let end = first.checked_add(lanes_at(1));
                ensure!(
                    end.is_some_and(|end| end <= lanes_at(0)),
                    "is beyond its composite"
                );
                ensure!(lanes_at(0) == lanes, "changes the shape of a composite");
            }
            Operation::Construct => {
                let total: u64 = operands.iter().map(|part| u64::from(self.lanes(*part))).sum();
                ensure!(total == u64::from(lanes), "is made of {total} components");
            }
            Operation::Shuffle(picked) => {
                let available = lanes_at(0).saturating_add(lanes_at(1));
                ensure!(
                    picked.len() as u64 == u64::from(lanes),
                    "picks {} components",
                    picked.len()
                );
                let inside = picked.iter().flatten().all(|lane| *lane < available);
                ensure!(inside, "picks a component that is not there");
            }
            Operation::Address { strides, .. } => {
                ensure!(
                    strides.len() + 1 == operands.len(),
                    "has {} strides",
                    strides.len()
                );
            }
            Operation::Input(global) => {
                let global = &self.module.globals[global.0 as usize];
                let reads = matches!(global.home, Home::Input(_)) && global.kind == kind;
                ensure!(reads, "`{}` is no built-in variable of that type", global.name);
            }
            Operation::Atomic {
                operation, scalar, ..
            } => {
                for operand in operands.iter().skip(1) {
                    let found = self.scalar(self.kind(*operand))?;
                    ensure!(found == *scalar, "{operand} is {found}");
                }
                if let AtomicOperation::Update(op) = operation {
                    let known = arithmetic::resolve_binary(*op, *scalar).is_some();
                    ensure!(known, "atomic Op{op:?} of {scalar}");
                }
            }
            Operation::Call(function) => {
                let callee = &self.module.functions[function.0 as usize];
                let (found, name) = (operands.len(), &callee.name);
                ensure!(
                    callee.parameters.len() == found,
                    "calls `{name}` with {found} arguments"
                );
                for (argument, parameter) in operands.iter().zip(&callee.parameters) {
                    self.same(*argument, parameter.kind)?;
                }
                let given = result.map_or(0, |kind| types.lanes(kind));
                ensure!(
                    given == types.lanes(callee.result),
                    "`{name}` returns another type"
                );
            }
            Operation::Memory(function) => {
                let (value, half) = match function {
                    MemoryFunction::LoadVector | MemoryFunction::StoreVector => (kind, false),
                    MemoryFunction::LoadHalf { .. } => (kind, true),
                    MemoryFunction::StoreHalf { .. } => (kind_at(0), true),
                };
                ensure!(
                    !half || self.scalar(value)?.is_float(),
                    "half precision of no floating-point number"
                );
            }
            Operation::Collective(collective) => match collective.kind {
                CollectiveKind::Reduce(reduction)
                | CollectiveKind::ClusteredReduce(reduction, _)
                | CollectiveKind::InclusiveScan(reduction)
                | CollectiveKind::ExclusiveScan(reduction) => {
                    let Reduction { op, scalar } = reduction;
                    let known = arithmetic::identity(op, scalar).is_some()
                        && arithmetic::resolve_binary(op, scalar).is_some();
                    ensure!(known && scalar_at(0)? == scalar, "combines {scalar} by Op{op:?}");
                }
                CollectiveKind::Ballot => ensure!(lanes == 4, "is not four words"),
                CollectiveKind::Broadcast => {
                    ensure!(lanes_at(1) <= 3, "the index has other lanes");
                }
                _ => {}
            },
            Operation::Ballot(_) => {
                ensure!(lanes_at(0) == 4 && operands.len() <= 2, "is not about a ballot");
            }
            _ => {}
        }
        Ok(())
    }

    fn elementwise(&self, op: Op, operands: &[Operand], kind: TypeId) -> Check {
        let scalar = self.scalar(self.kind(operands[0]))?;
        let lanes = self.module.types.lanes(kind);
        let arity = arithmetic::resolve(op, scalar).map(arithmetic::Elementwise::arity);
        ensure!(
            arity == Some(operands.len()),
            "Op{op:?} of {} {scalar}",
            operands.len()
        );
        for (index, operand) in operands.iter().enumerate() {
            let found = self.scalar(self.kind(*operand))?;
            // SPIR-V lets the amount of a shift, and the place of a bit field, be of another width
            // than the value.
            let free = index > 0 && (is_shift(op) || is_bit_field(op));
            ensure!(
                found == scalar || free && found.is_integer(),
                "{operand} is {found}"
            );
            // Offset and count are one number each, also for the fields of a whole vector.
            let broadcast = is_bit_field(op) && self.lanes(*operand) == 1;
            ensure!(
                self.lanes(*operand) == lanes || broadcast,
                "{operand} has other lanes"
            );
        }
        let found = self.scalar(kind)?;
        let predicate = arithmetic::is_predicate(op);
        let agrees = found == if predicate { Scalar::Bool } else { scalar };
        // A count of bits may be of any width that holds it.
        ensure!(
            agrees || op == Op::BitCount && found.is_integer(),
            "Op{op:?} of {scalar} gives {found}"
        );
        Ok(())
    }
}

fn is_shift(op: Op) -> bool {
    matches!(
        op,
        Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic
    )
}

fn is_bit_field(op: Op) -> bool {
    matches!(
        op,
        Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract
    )
}
