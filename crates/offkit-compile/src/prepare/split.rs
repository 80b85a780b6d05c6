//! Private structs and arrays of which every part is accessed at a known place: each part becomes a variable of its own.

mod copies;
mod places;
mod plan;
mod rewrite;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Type, TypeId, scalar_size};

use self::copies::expand_copies;
use self::places::Places;
use self::plan::{Plan, plan};
use self::rewrite::rewrite;
use super::body::{Body, MOST_PARTS};

/// Splits the variables that it can; whether there were any.
pub(super) fn split(body: &mut Body) -> bool {
    if body.function.variables.is_empty() {
        return false;
    }
    // First copies become loads and stores, which is only worth it for variables that are understood with the copies
    // in them; then all is looked at anew, as only what the copies became tells which parts are accessed.
    let places = Places::of(body, true);
    let copied = expand_copies(body, &places);
    let places = Places::of(body, false);
    let plans: Vec<Option<Plan>> = (0..body.function.variables.len())
        .map(|variable| plan(body, &places, variable))
        .collect();
    if plans.iter().all(Option::is_none) {
        return copied;
    }
    rewrite(body, &places, &plans);
    true
}

/// Bytes from the first to behind the last scalar of a value.
fn extent(body: &Body, kind: TypeId) -> u64 {
    let leaves = body.module.types.leaves(kind);
    leaves
        .last()
        .map_or(0, |leaf| leaf.offset + scalar_size(leaf.scalar))
}

/// A scalar or vector inside a value.
#[derive(Clone, Copy)]
struct Atom {
    /// Bytes from the start of the value.
    offset: u64,
    kind: TypeId,
    /// The first of its words.
    word: u32,
}

/// The scalars, vectors and pointers of a value; none where there are too many.
fn atoms(body: &Body, kind: TypeId) -> Option<Vec<Atom>> {
    let types = &body.module.types;
    if types.layout(kind).lanes > MOST_PARTS {
        return None;
    }
    let mut atoms = Vec::new();
    let mut left = vec![Atom {
        offset: 0,
        kind,
        word: 0,
    }];
    while let Some(atom) = left.pop() {
        let parts = match types.get(atom.kind) {
            // Of nothing there may be any number: longer arrays, and twice as many parts at each level of structs.
            _ if types.layout(atom.kind).lanes == 0 => continue,
            Type::Array { count, .. } => *count,
            Type::Struct { members, .. } if members.len() as u64 > MOST_PARTS => return None,
            Type::Struct { members, .. } => members.len() as u64,
            _ if types.scalar(atom.kind).is_some() => {
                atoms.push(atom);
                continue;
            }
            _ => continue,
        };
        // The last one first, so that they come off the stack in the order of their words.
        for index in (0..parts).rev() {
            let (kind, offset, word) = types.part(atom.kind, index)?;
            left.push(Atom {
                offset: atom.offset + offset,
                kind,
                word: atom.word + word as u32,
            });
        }
    }
    Some(atoms)
}

fn align_at(align: u32, offset: u64) -> u32 {
    match offset {
        0 => align,
        // 4096 is more than any alignment, and the shift stays within 32 bits.
        _ => align.min(1 << offset.trailing_zeros().min(12)),
    }
}

fn integer(size: u64) -> Option<Scalar> {
    Some(match size {
        1 => Scalar::I8,
        2 => Scalar::I16,
        4 => Scalar::I32,
        8 => Scalar::I64,
        _ => return None,
    })
}
