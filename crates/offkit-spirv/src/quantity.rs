//! How much a module stands for: a few instructions can mean the square of their number.

use std::collections::HashMap;

use crate::dr::{Instruction, Module, Operand};
use crate::grammar::Op;

use crate::error::ReadError;
use crate::limits::Limits;

/// Checks the limits on what instructions stand for together.
pub(crate) fn check(module: &Module, limits: &Limits) -> Result<(), ReadError> {
    let within = |what, found, limit| match found > limit {
        true => Err(ReadError::Limit { what, found, limit }),
        false => Ok(()),
    };
    within(
        "entry points of one function",
        entry_points_per_function(module),
        limits.max_entry_points_per_function,
    )?;
    within(
        "decorations in groups",
        grouped_decorations(module),
        limits.max_grouped_decorations,
    )
}

/// The largest number of entry points that one function has.
fn entry_points_per_function(module: &Module) -> usize {
    let mut counts = HashMap::new();
    for entry_point in &module.entry_points {
        *counts.entry(entry_point.operands.get(1)).or_insert(0) += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

/// The number of decorations that all decoration groups stand for.
fn grouped_decorations(module: &Module) -> usize {
    let target = |annotation: &Instruction| annotation.operands.first().and_then(Operand::id_ref_any);
    // Counted first and multiplied then: nothing has checked that a group is complete before it is
    // applied.
    let mut decorations: HashMap<Option<u32>, usize> = HashMap::new();
    for annotation in &module.annotations {
        if matches!(
            annotation.opcode,
            Op::Decorate | Op::DecorateId | Op::DecorateString
        ) {
            *decorations.entry(target(annotation)).or_default() += 1;
        }
    }
    let applied = module.annotations.iter().map(|annotation| {
        let operands = annotation.operands.len().saturating_sub(1);
        let targets = match annotation.opcode {
            Op::GroupDecorate => operands,
            Op::GroupMemberDecorate => operands / 2,
            _ => 0,
        };
        targets.saturating_mul(decorations.get(&target(annotation)).copied().unwrap_or(0))
    });
    applied.fold(0, usize::saturating_add)
}
