//! Accesses of variables that are split, as accesses of their parts.

use offkit_kernel::ir::{Attributes, Instruction, Operand, Operation, TypeId};

use super::places::{Places, What};
use super::plan::{Part, Plan, Split, pieces_of};
use super::{Atom, align_at, atoms, integer};
use crate::prepare::body::Body;
use crate::prepare::emit::Emit;

impl Emit<'_> {
    /// A part of a value.
    fn part(&mut self, value: Operand, word: u32, kind: TypeId) -> Operand {
        if word == 0 && self.body.is_like(self.body.kind(value), kind) {
            return value;
        }
        self.value(kind, Operation::Extract(word), vec![value])
    }

    fn whole(&mut self, mut values: Vec<Operand>, kind: TypeId) -> Operand {
        match values.pop() {
            Some(only) if values.is_empty() && self.body.is_like(self.body.kind(only), kind) => only,
            last => {
                values.extend(last);
                self.value(kind, Operation::Construct, values)
            }
        }
    }

    /// Loads a scalar from the parts that it has.
    fn load_parts(&mut self, parts: &[Part], kind: TypeId) -> Option<Operand> {
        if let [part] = parts {
            return Some(self.load(Operand::Value(part.address), kind, Attributes::default()));
        }
        let (count, scalar) = (parts.len() as u32, integer(parts.first()?.size)?);
        let (small, vector) = (
            self.body.scalar_kind(scalar)?,
            self.body.vector_kind(scalar, count)?,
        );
        let loads = parts.iter().map(|part| {
            let address = Operand::Value(part.address);
            self.load(address, small, Attributes::default())
        });
        let loads = loads.collect();
        let vector = self.value(vector, Operation::Construct, loads);
        Some(self.value(kind, Operation::Reinterpret, vec![vector]))
    }

    /// Stores a scalar to the parts that it has.
    fn store_parts(&mut self, parts: &[Part], value: Operand) -> Option<()> {
        if let [part] = parts {
            self.store(Operand::Value(part.address), value, Attributes::default());
            return Some(());
        }
        let (count, scalar) = (parts.len() as u32, integer(parts.first()?.size)?);
        let (small, vector) = (
            self.body.scalar_kind(scalar)?,
            self.body.vector_kind(scalar, count)?,
        );
        let vector = self.value(vector, Operation::Reinterpret, vec![value]);
        for (part, word) in parts.iter().zip(0..) {
            let value = self.value(small, Operation::Extract(word), vec![vector]);
            self.store(Operand::Value(part.address), value, Attributes::default());
        }
        Some(())
    }
}

/// Makes accesses of parts of the accesses of variables that are split.
pub(super) fn rewrite(body: &mut Body, places: &Places, plans: &[Option<Plan>]) {
    for index in 0..body.function.blocks.len() {
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut code = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            if rewrite_access(body, places, plans, &instruction, &mut code).is_none() {
                code.push(instruction);
            }
        }
        body.function.blocks[index].instructions = code;
    }
}

/// Writes what an access becomes; nothing where it stays.
fn rewrite_access(
    body: &mut Body,
    places: &Places,
    plans: &[Option<Plan>],
    instruction: &Instruction,
    code: &mut Vec<Instruction>,
) -> Option<()> {
    let used = places.used(body, instruction)?;
    let plan = plans.get(used.variable)?.as_ref()?;
    let What::Value(kind) = used.access.what else {
        return None;
    };
    let start = used.access.offset;
    let atoms = atoms(body, kind)?;
    let range_of = |atom: &Atom| {
        let at = start + atom.offset;
        plan.ranges
            .iter()
            .find(|range| range.start <= at && at < range.end)
    };
    let stays = |atom: &Atom| range_of(atom).is_none_or(|range| matches!(range.split, Split::Not));
    if atoms.iter().all(stays) {
        return None;
    }
    let stored = match instruction.operation {
        Operation::Store => Some(instruction.operands[1]),
        _ => None,
    };
    let base = instruction.attributes.align;
    let base = base.unwrap_or(u32::try_from(body.module.types.layout(kind).align).unwrap_or(1));
    let mut emit = Emit {
        body,
        code,
        line: instruction.line,
    };
    let mut values = Vec::new();
    for atom in &atoms {
        let at = start + atom.offset;
        let value = stored.map(|stored| emit.part(stored, atom.word, atom.kind));
        match range_of(atom).map(|range| &range.split) {
            Some(Split::Whole { address }) => match value {
                Some(value) => emit.store(Operand::Value(*address), value, Attributes::default()),
                None => values.push(emit.load(Operand::Value(*address), atom.kind, Attributes::default())),
            },
            Some(Split::Scalars(parts)) => {
                let mut words = Vec::new();
                for (piece, word) in pieces_of(emit.body, at, atom.kind).into_iter().zip(0..) {
                    let kind = match piece.kind {
                        Some(kind) => kind,
                        None => emit.body.scalar_kind(piece.scalar)?,
                    };
                    let first = parts.partition_point(|part| part.offset < piece.offset);
                    let end = parts.partition_point(|part| part.offset < piece.offset + piece.size);
                    match value {
                        Some(value) => {
                            let value = emit.part(value, word, kind);
                            emit.store_parts(&parts[first..end], value)?;
                        }
                        None => words.push(emit.load_parts(&parts[first..end], kind)?),
                    }
                }
                if value.is_none() {
                    values.push(emit.whole(words, atom.kind));
                }
            }
            _ => {
                let variable = Operand::Value(emit.body.function.variables[used.variable].address);
                let address = emit.address(variable, at);
                // What was known of the whole value's place says less of a part in its middle.
                let attributes = Attributes {
                    align: Some(align_at(base, atom.offset)),
                    ..instruction.attributes
                };
                match value {
                    Some(value) => emit.store(address, value, attributes),
                    None => values.push(emit.load(address, atom.kind, attributes)),
                }
            }
        }
    }
    if let Some(result) = instruction.result {
        // The value keeps its number; a copy of it is forwarded later.
        let operation = Operation::Construct;
        emit.push(Some(result), operation, values, Attributes::default());
    }
    Some(())
}
