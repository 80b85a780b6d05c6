//! What a variable is split into.

use std::collections::BTreeSet;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Type, TypeId, ValueId, Variable, scalar_size};

use super::places::{Access, Places, What};
use super::{atoms, extent, integer};
use crate::prepare::body::Body;

/// What a variable is split into: for each range of it that is accessed as one.
pub(super) struct Plan {
    pub(super) ranges: Vec<Range>,
}

pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) split: Split,
}

pub(super) enum Split {
    /// It stays in memory.
    Not,
    /// All accesses are of all of it.
    Whole { address: ValueId },
    /// One variable for each of its scalars, with their first bytes and sizes.
    Scalars(Vec<Part>),
}

pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) address: ValueId,
}

/// What is accessed as one scalar or vector: the first byte, the byte behind it, and the type; none where it must stay.
type Bytes = (u64, u64, Option<TypeId>);

/// A scalar that is accessed.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Its own type, where it isn't a component of a vector.
    pub(super) kind: Option<TypeId>,
    pub(super) scalar: Scalar,
}

/// How to split a variable, if that changes anything.
pub(super) fn plan(body: &mut Body, places: &Places, variable: usize) -> Option<Plan> {
    if places.escaped[variable] || places.accesses[variable].is_empty() {
        return None;
    }
    // All accesses, taken apart into scalars and vectors and sorted, fall into ranges that don't overlap. Each range
    // is split by itself, so that one odd access keeps only what it touches in memory.
    let mut atoms_of: Vec<Bytes> = Vec::new();
    for access in &places.accesses[variable] {
        match access.what {
            What::Bytes(size) => atoms_of.push((access.offset, access.offset + size, None)),
            What::Value(kind) => {
                for atom in atoms(body, kind)? {
                    let start = access.offset + atom.offset;
                    atoms_of.push((start, start + extent(body, atom.kind), Some(atom.kind)));
                }
            }
        }
    }
    atoms_of.sort_unstable_by_key(|(start, end, kind)| (*start, *end, *kind));
    atoms_of.dedup();
    let mut ranges: Vec<(u64, u64, Vec<Bytes>)> = Vec::new();
    for atom in atoms_of {
        match ranges.last_mut() {
            Some((_, end, atoms)) if atom.0 < *end => {
                *end = (*end).max(atom.1);
                atoms.push(atom);
            }
            _ => ranges.push((atom.0, atom.1, vec![atom])),
        }
    }
    let is_whole = |access: &Access| matches!(access.what, What::Value(kind) if body.module.types.scalar(kind).is_some());
    if let [(0, _, atoms)] = ranges.as_slice()
        && places.accesses[variable].iter().all(is_whole)
        && atoms
            .iter()
            .all(|atom| (atom.0, atom.1) == (atoms[0].0, atoms[0].1))
    {
        // It is one value already.
        return None;
    }
    let pointer = body.value_kind(body.function.variables[variable].address);
    let ranges: Vec<Range> = ranges
        .into_iter()
        .map(|(start, end, atoms)| Range {
            start,
            end,
            split: split_range(body, pointer, start, end, &atoms),
        })
        .collect();
    let useful = ranges.iter().any(|range| !matches!(range.split, Split::Not));
    useful.then_some(Plan { ranges })
}

fn split_range(body: &mut Body, pointer: TypeId, start: u64, end: u64, atoms: &[Bytes]) -> Split {
    let kinds: Option<Vec<TypeId>> = atoms.iter().map(|(.., kind)| *kind).collect();
    let Some(kinds) = kinds else {
        return Split::Not;
    };
    let is_whole = |(index, atom): (usize, &(u64, u64, _))| {
        let alike = body.is_like(kinds[index], kinds[0]);
        (atom.0, atom.1) == (start, end) && (alike || bits(body, kinds[index]) && bits(body, kinds[0]))
    };
    if atoms.iter().enumerate().all(is_whole) {
        return Split::Whole {
            address: part_variable(body, pointer, kinds[0]),
        };
    }
    let mut pieces = Vec::new();
    for ((offset, ..), kind) in atoms.iter().zip(&kinds) {
        pieces.extend(pieces_of(body, *offset, *kind));
    }
    let bounds: BTreeSet<u64> = pieces
        .iter()
        .flat_map(|piece| [piece.offset, piece.offset + piece.size])
        .collect();
    for piece in &pieces {
        let inside: Vec<u64> = bounds
            .range(piece.offset..=piece.offset + piece.size)
            .copied()
            .collect();
        // A scalar that has several parts is put together from a vector of them (see `load_parts`): they must be of
        // one size. Truths have no bytes that others could share.
        let mut sizes = inside.windows(2).map(|pair| pair[1] - pair[0]);
        let first = sizes.next().unwrap_or(0);
        let truths = pieces.iter().filter(|other| other.offset == piece.offset);
        let mixed = truths
            .into_iter()
            .any(|other| (other.scalar == Scalar::Bool) != (piece.scalar == Scalar::Bool));
        if integer(first).is_none() || sizes.any(|size| size != first) || mixed {
            return Split::Not;
        }
    }
    let bounds: Vec<u64> = bounds.into_iter().collect();
    let mut parts = Vec::new();
    for pair in bounds.windows(2) {
        let (offset, size) = (pair[0], pair[1] - pair[0]);
        let exact = pieces
            .iter()
            .find(|piece| (piece.offset, piece.size) == (offset, size));
        let kind = match exact {
            Some(Piece { kind: Some(kind), .. }) => Some(*kind),
            Some(piece) => body.scalar_kind(piece.scalar),
            None => integer(size).and_then(|scalar| body.scalar_kind(scalar)),
        };
        let Some(kind) = kind else {
            return Split::Not;
        };
        parts.push(Part {
            offset,
            size,
            address: part_variable(body, pointer, kind),
        });
    }
    Split::Scalars(parts)
}

/// Whether any bytes are a value of the type.
fn bits(body: &Body, kind: TypeId) -> bool {
    body.bits_size(kind).is_some()
}

/// The scalars of a scalar, vector or pointer.
pub(super) fn pieces_of(body: &Body, offset: u64, kind: TypeId) -> Vec<Piece> {
    let types = &body.module.types;
    let is_vector = matches!(types.get(kind), Type::Vector { .. });
    let leaves = types.leaves(kind).into_iter();
    leaves
        .map(|leaf| Piece {
            offset: offset + leaf.offset,
            size: scalar_size(leaf.scalar),
            kind: (!is_vector).then_some(kind),
            scalar: leaf.scalar,
        })
        .collect()
}

/// A variable for a part. It is promoted right away, so that the type of its address says little.
fn part_variable(body: &mut Body, pointer: TypeId, kind: TypeId) -> ValueId {
    let address = body.new_value(pointer);
    body.function.variables.push(Variable {
        address,
        kind,
        align: None,
        initializer: None,
    });
    address
}
