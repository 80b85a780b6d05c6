//! What each operation asks of its operands and its result.

use offkit_spirv::grammar::Op;

use super::{Check, Checker};
use crate::builtins::Scalar;
use crate::ir::{
    AtomicOperation, Collective, CollectiveKind, MemoryFunction, Operand, Operation, TypeId, ValueId,
    arithmetic, scalar_size,
};

impl Checker<'_> {
    pub(super) fn operation(&self, operation: &Operation, result: Option<ValueId>) -> Check {
        let types = &self.module.types;
        let result = result.map(|value| self.function.values[value.0 as usize]);
        let kind = || result.ok_or_else(|| "no result".to_owned());
        let lanes = || kind().map(|kind| types.lanes(kind));
        match operation {
            Operation::Elementwise { op, scalar, operands } => {
                let lanes = lanes()?;
                let arity = arithmetic::resolve(*op, *scalar).map(arithmetic::Elementwise::arity);
                ensure!(
                    arity == Some(operands.len()),
                    "Op{op:?} with {} operands",
                    operands.len()
                );
                for (index, operand) in operands.iter().enumerate() {
                    let found = self.scalar(self.kind(*operand))?;
                    let free = index > 0 && (is_shift(*op) || is_bit_field(*op));
                    ensure!(
                        found == *scalar || free && found.is_integer(),
                        "{operand:?} is {found:?}"
                    );
                    let broadcast = is_bit_field(*op) && self.lanes(*operand) == 1;
                    ensure!(
                        self.lanes(*operand) == lanes || broadcast,
                        "{operand:?} has other lanes"
                    );
                }
                let found = self.scalar(kind()?)?;
                let wanted = if arithmetic::is_predicate(*op) {
                    Scalar::Bool
                } else {
                    *scalar
                };
                let counts = *op == Op::BitCount && found.is_integer();
                ensure!(
                    found == wanted || counts,
                    "Op{op:?} of {scalar:?} gives {found:?}"
                );
            }
            Operation::Fold { op, scalar, operand } => {
                ensure!(
                    arithmetic::resolve_binary(*op, *scalar).is_some(),
                    "folds by Op{op:?}"
                );
                ensure!(
                    self.scalar(self.kind(*operand))? == *scalar,
                    "{operand:?} is not {scalar:?}"
                );
                ensure!(
                    self.scalar(kind()?)? == *scalar && lanes()? == 1,
                    "is not one {scalar:?}"
                );
            }
            Operation::Select {
                condition,
                accept,
                reject,
            } => {
                let condition_lanes = self.lanes(*condition);
                let is_bool = self.scalar(self.kind(*condition))? == Scalar::Bool;
                ensure!(
                    is_bool && (condition_lanes == 1 || condition_lanes == lanes()?),
                    "the condition of a selection does not fit"
                );
                self.same(*accept, kind()?)?;
                self.same(*reject, kind()?)?;
            }
            Operation::Convert {
                kind: conversion,
                operand,
                ..
            } => {
                let (from, to) = (self.scalar(self.kind(*operand))?, self.scalar(kind()?)?);
                ensure!(conversion.accepts(from, to), "converts {from:?} to {to:?}");
                ensure!(self.lanes(*operand) == lanes()?, "{operand:?} has other lanes");
            }
            Operation::Reinterpret(operand) => {
                let size =
                    |kind| Ok::<_, String>(scalar_size(self.scalar(kind)?) * u64::from(types.lanes(kind)));
                ensure!(
                    size(self.kind(*operand))? == size(kind()?)?,
                    "{operand:?} has another size"
                );
            }
            Operation::Extract { composite, first } => {
                let end = first.checked_add(lanes()?);
                ensure!(
                    end.is_some_and(|end| end <= self.lanes(*composite)),
                    "is beyond its composite"
                );
            }
            Operation::Insert {
                composite,
                object,
                first,
            } => {
                let end = first.checked_add(self.lanes(*object));
                ensure!(
                    end.is_some_and(|end| end <= self.lanes(*composite)),
                    "is beyond its composite"
                );
                ensure!(
                    self.lanes(*composite) == lanes()?,
                    "changes the shape of a composite"
                );
            }
            Operation::ExtractDynamic { vector, index } => {
                self.integer(*index)?;
                ensure!(lanes()? == 1 && self.lanes(*vector) > 0, "is not one component");
            }
            Operation::InsertDynamic {
                vector,
                component,
                index,
            } => {
                self.integer(*index)?;
                self.one(*component)?;
                self.same(*vector, kind()?)?;
            }
            Operation::Construct(parts) => {
                let total: u64 = parts.iter().map(|part| u64::from(self.lanes(*part))).sum();
                ensure!(total == u64::from(lanes()?), "is made of {total} components");
            }
            Operation::Shuffle {
                first,
                second,
                lanes: picked,
            } => {
                let available = self.lanes(*first).saturating_add(self.lanes(*second));
                ensure!(
                    picked.len() as u64 == u64::from(lanes()?),
                    "picks {} components",
                    picked.len()
                );
                let inside = picked.iter().flatten().all(|lane| *lane < available);
                ensure!(inside, "picks a component that is not there");
            }
            Operation::Address { base, terms, .. } => {
                self.pointer(*base)?;
                self.one(*base)?;
                terms.iter().try_for_each(|(index, _)| self.integer(*index))?;
                ensure!(types.is_pointer(kind()?), "is not a pointer");
            }
            Operation::Input(_) => _ = kind()?,
            Operation::Load { pointer } => {
                self.pointer(*pointer)?;
                self.memory_type(kind()?)?;
            }
            Operation::Store { pointer, value } => {
                self.pointer(*pointer)?;
                self.memory_type(self.kind(*value))?;
            }
            Operation::Copy {
                destination,
                source,
                size,
            } => {
                self.pointer(*destination)?;
                self.pointer(*source)?;
                self.integer(*size)?;
            }
            Operation::Atomic {
                operation,
                scalar,
                pointer,
                operands,
            } => {
                self.pointer(*pointer)?;
                for operand in operands {
                    self.one(*operand)?;
                    let found = self.scalar(self.kind(*operand))?;
                    ensure!(found == *scalar, "{operand:?} is {found:?}");
                }
                if let AtomicOperation::Update(op) = operation {
                    let known = arithmetic::resolve_binary(*op, *scalar).is_some();
                    ensure!(known, "atomic Op{op:?} of {scalar:?}");
                }
                if !matches!(operation, AtomicOperation::Store | AtomicOperation::Clear) {
                    ensure!(lanes()? == 1, "an atomic access to a vector");
                }
            }
            Operation::Fence => {}
            Operation::GenericCast { pointer, .. } | Operation::PointerSemantics(pointer) => {
                self.pointer(*pointer)?;
                ensure!(lanes()? == 1, "is not one word");
            }
            Operation::Call { function, arguments } => {
                let callee = &self.module.functions[function.0 as usize];
                ensure!(
                    callee.parameters.len() == arguments.len(),
                    "calls `{}` with {} arguments",
                    callee.name,
                    arguments.len()
                );
                for (argument, parameter) in arguments.iter().zip(&callee.parameters) {
                    self.same(*argument, parameter.kind)?;
                }
                if let Some(kind) = result {
                    let agree = types.lanes(kind) == types.lanes(callee.result);
                    ensure!(agree, "`{}` returns another type", callee.name);
                }
            }
            Operation::Extended { operands, out, .. } => {
                operands
                    .iter()
                    .try_for_each(|operand| self.scalar(self.kind(*operand)).map(|_| ()))?;
                if let Some(out) = out {
                    self.pointer(*out)?;
                }
                self.scalar(kind()?)?;
            }
            Operation::Memory { function, operands } => self.memory_function(*function, operands, result)?,
            Operation::Print { operands } => {
                ensure!(!operands.is_empty(), "prints without a format");
                self.pointer(operands[0])?;
                operands
                    .iter()
                    .try_for_each(|operand| self.scalar(self.kind(*operand)).map(|_| ()))?;
            }
            Operation::Collective(collective) => self.collective(collective, result)?,
            Operation::Ballot { operands, .. } => {
                ensure!(lanes()? == 1, "is not one word");
                let shape = matches!(operands.as_slice(), [ballot, rest @ ..]
                    if self.lanes(*ballot) == 4 && rest.iter().all(|index| self.lanes(*index) == 1) && rest.len() < 2);
                ensure!(shape, "is not about a ballot");
            }
        }
        Ok(())
    }

    fn memory_function(
        &self,
        function: MemoryFunction,
        operands: &[Operand],
        result: Option<TypeId>,
    ) -> Check {
        let count = if matches!(
            function,
            MemoryFunction::LoadVector | MemoryFunction::LoadHalf { .. }
        ) {
            2
        } else {
            3
        };
        ensure!(operands.len() == count, "has {} operands", operands.len());
        self.integer(operands[count - 2])?;
        self.pointer(operands[count - 1])?;
        let value = match (result, count) {
            (Some(kind), 2) => kind,
            (_, 3) => self.kind(operands[0]),
            _ => return Err("no result".to_owned()),
        };
        let scalar = self.scalar(value)?;
        let half = matches!(
            function,
            MemoryFunction::LoadHalf { .. } | MemoryFunction::StoreHalf { .. }
        );
        ensure!(!half || scalar.is_float(), "half precision as {scalar:?}");
        Ok(())
    }

    fn collective(&self, collective: &Collective, result: Option<TypeId>) -> Check {
        use CollectiveKind as K;
        let operands = &collective.operands;
        let kind = || result.ok_or_else(|| "no result".to_owned());
        let arity = match collective.kind {
            K::Barrier | K::WaitEvents | K::Elect => 0,
            K::Broadcast | K::Shuffle | K::ShuffleXor | K::ShuffleUp | K::ShuffleDown | K::Rotate(_) => 2,
            K::QuadBroadcast | K::BlockWrite => 2,
            K::ShuffleDownPair | K::ShuffleUpPair => 3,
            K::AsyncCopy { .. } => 4,
            _ => 1,
        };
        ensure!(operands.len() == arity, "has {} operands", operands.len());
        match collective.kind {
            K::Barrier | K::WaitEvents => {}
            K::Elect | K::AllEqual => ensure!(self.module.types.lanes(kind()?) == 1, "is not one word"),
            K::Reduce(reduction)
            | K::ClusteredReduce(reduction, _)
            | K::InclusiveScan(reduction)
            | K::ExclusiveScan(reduction) => {
                let known = arithmetic::identity(reduction.op, reduction.scalar).is_some()
                    && arithmetic::resolve_binary(reduction.op, reduction.scalar).is_some();
                ensure!(known, "combines {:?} by Op{:?}", reduction.scalar, reduction.op);
                self.same(operands[0], kind()?)?;
            }
            K::All | K::Any => {
                self.one(operands[0])?;
                self.same(operands[0], kind()?)?;
            }
            K::Ballot => {
                self.one(operands[0])?;
                ensure!(self.module.types.lanes(kind()?) == 4, "is not four words");
            }
            K::Broadcast => {
                ensure!(
                    (1..=3).contains(&self.lanes(operands[1])),
                    "the index has other lanes"
                );
                self.same(operands[0], kind()?)?;
            }
            K::BroadcastFirst | K::QuadSwap(_) => self.same(operands[0], kind()?)?,
            K::Shuffle | K::ShuffleXor | K::ShuffleUp | K::ShuffleDown | K::Rotate(_) | K::QuadBroadcast => {
                self.integer(operands[1])?;
                self.same(operands[0], kind()?)?;
            }
            K::ShuffleDownPair | K::ShuffleUpPair => {
                self.integer(operands[2])?;
                self.same(operands[0], kind()?)?;
                self.same(operands[1], kind()?)?;
            }
            K::BlockRead => {
                self.pointer(operands[0])?;
                self.scalar(kind()?)?;
            }
            K::BlockWrite => {
                self.pointer(operands[0])?;
                self.scalar(self.kind(operands[1]))?;
            }
            K::AsyncCopy { .. } => {
                self.pointer(operands[0])?;
                self.pointer(operands[1])?;
                self.integer(operands[2])?;
                self.integer(operands[3])?;
                ensure!(self.module.types.lanes(kind()?) == 1, "is not an event");
            }
        }
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
