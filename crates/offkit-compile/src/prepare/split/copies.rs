//! Copies to and from variables that may be split, as loads and stores.

use offkit_kernel::ir::{Attributes, Instruction, Operation, Type, TypeId};

use super::places::Places;
use super::{align_at, extent, integer};
use crate::prepare::body::{Body, MOST_PARTS};
use crate::prepare::emit::Emit;
use crate::prepare::evaluate::plain_word;

/// The size of a copy that may be done in parts.
pub(super) fn constant_copy(body: &Body, instruction: &Instruction) -> Option<u64> {
    let is_copy = matches!(instruction.operation, Operation::Copy) && !instruction.attributes.volatile;
    is_copy
        .then(|| plain_word(body, *instruction.operands.get(2)?))
        .flatten()
}

/// Makes loads and stores of copies to or from variables that may be split.
pub(super) fn expand_copies(body: &mut Body, places: &Places) -> bool {
    let mut changed = false;
    for index in 0..body.function.blocks.len() {
        let is_copy = |instruction: &Instruction| matches!(instruction.operation, Operation::Copy);
        if !body.function.blocks[index].instructions.iter().any(is_copy) {
            continue;
        }
        let instructions = std::mem::take(&mut body.function.blocks[index].instructions);
        let mut code = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let Some(pieces) = copied_pieces(body, places, &instruction) else {
                code.push(instruction);
                continue;
            };
            changed = true;
            let (target, source) = (instruction.operands[0], instruction.operands[1]);
            let aligned = |offset: u64| Attributes {
                align: Some(align_at(instruction.attributes.align.unwrap_or(1), offset)),
                ..instruction.attributes
            };
            let mut values = Vec::new();
            let mut emit = Emit {
                body,
                code: &mut code,
                line: instruction.line,
            };
            // All are loaded before any is stored: both sides may be of one variable.
            for (offset, kind) in &pieces {
                let address = emit.address(source, *offset);
                values.push(emit.load(address, *kind, aligned(*offset)));
            }
            for ((offset, _), value) in pieces.iter().zip(values) {
                let address = emit.address(target, *offset);
                emit.store(address, value, aligned(*offset));
            }
        }
        body.function.blocks[index].instructions = code;
    }
    changed
}

/// The parts of a copy, as the variable on one side of it has them. That is the side with fewer, as bytes don't tell what
/// they are of: the zeros for an array of vectors may come from an array of bytes.
fn copied_pieces(body: &mut Body, places: &Places, instruction: &Instruction) -> Option<Vec<(u64, TypeId)>> {
    let size = constant_copy(body, instruction)?;
    let sides = [instruction.operands[0], instruction.operands[1]];
    if sides.iter().all(|side| places.known(*side).is_none()) {
        return None;
    }
    let mut found: Vec<(bool, Vec<(u64, TypeId)>)> = Vec::new();
    for side in sides {
        let Some((variable, start)) = places.place(side) else {
            continue;
        };
        let kind = body.function.variables[variable].kind;
        let end = start.checked_add(size)?;
        // A copy that reaches beyond the variable is left as it is, for the device to find.
        if end > body.module.types.layout(kind).size {
            return None;
        }
        if let Some(pieces) = pieces_of_range(body, kind, start, end) {
            found.push((places.known(side).is_none(), pieces));
        }
    }
    // Of as many on both sides those of the one that may be split, and of the target if both may be.
    let found = found.into_iter();
    let (_, pieces) = found.min_by_key(|(is_unknown, pieces)| (pieces.len(), *is_unknown))?;
    Some(pieces)
}

/// The scalars and vectors in a range of a variable of this type, from its start, and bytes of the gaps between them.
fn pieces_of_range(body: &mut Body, kind: TypeId, start: u64, end: u64) -> Option<Vec<(u64, TypeId)>> {
    let mut members = Vec::new();
    let mut left = vec![(0, kind)];
    while let Some((offset, kind)) = left.pop() {
        let types = &body.module.types;
        let size = types.layout(kind).size;
        if size == 0 || offset >= end || offset + size <= start {
            continue;
        }
        match types.get(kind) {
            Type::Array { element, count } => {
                let step = types.layout(*element).size;
                let first = start.saturating_sub(offset) / step;
                let last = (end - offset).div_ceil(step).min(*count);
                if last.saturating_sub(first) > MOST_PARTS {
                    return None;
                }
                left.extend((first..last).rev().map(|index| (offset + index * step, *element)));
            }
            Type::Struct { members, .. } if members.len() as u64 <= MOST_PARTS => {
                for index in (0..members.len() as u64).rev() {
                    let (kind, inside, _) = types.part(kind, index)?;
                    left.push((offset + inside, kind));
                }
            }
            _ => {
                let size = extent(body, kind);
                if types.scalar(kind).is_none() || offset < start || offset + size > end {
                    return None;
                }
                members.push((offset, size, kind));
            }
        }
        // The walk is bounded as well: arrays in arrays have many parts before they have pieces.
        if (members.len() + left.len()) as u64 > 4 * MOST_PARTS {
            return None;
        }
    }
    members.sort_unstable_by_key(|(offset, ..)| *offset);
    // Bytes between the members belong to nobody, but the copy has them.
    let mut pieces = Vec::new();
    let mut at = start;
    for (offset, size, kind) in members {
        gap(body, at, offset, &mut pieces)?;
        pieces.push((offset, kind));
        at = offset + size;
    }
    gap(body, at, end, &mut pieces)?;
    pieces.iter_mut().for_each(|(offset, _)| *offset -= start);
    (pieces.len() as u64 <= MOST_PARTS).then_some(pieces)
}

/// Covers bytes with integers.
fn gap(body: &mut Body, mut at: u64, end: u64, pieces: &mut Vec<(u64, TypeId)>) -> Option<()> {
    while at < end && pieces.len() as u64 <= MOST_PARTS {
        let fits = |size: &u64| at.is_multiple_of(*size) && at + size <= end;
        let size = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
        pieces.push((at, body.scalar_kind(integer(size)?)?));
        at += size;
    }
    Some(())
}
