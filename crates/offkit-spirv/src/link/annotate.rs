//! The names and decorations of the linked module.

use std::collections::HashMap;

use crate::dr::{Instruction, Operand};
use crate::grammar::{Decoration, Op};

use super::merge::Merger;
use super::resolve::{self, Global};
use super::{Input, LinkError, LinkOptions};
use crate::symbols::Linkage;

/// How many decorations the groups of one module may stand for. A group of many decorations that is given many targets
/// stands for the product: a file of some kilobytes would fill the memory.
const MAX_GROUPED: usize = 1 << 20;

/// Adds the names and decorations of everything that was not left out. Decoration groups are written out, for some targets
/// of a group may be left out, and linkage goes or stays target by target.
pub(super) fn merge_annotations(merger: &mut Merger<'_>, options: LinkOptions) -> Result<(), LinkError> {
    for (module, input) in merger.inputs.iter().enumerate() {
        let groups = Groups::new(input);
        // A group that is written out is gone, and a name of it would be one of nothing.
        for name in &input.module.debug_names {
            if target(name)
                .is_some_and(|id| !groups.contains(id) && !merger.is_dropped(Global { module, id }))
            {
                let renumbered = merger.renumber(module, name);
                merger.module.debug_names.push(renumbered);
            }
        }
        for annotation in groups.write_out(input)? {
            let keep = target(&annotation).is_some_and(|id| {
                !merger.is_dropped(Global { module, id }) && keeps_linkage(input, id, &annotation, options)
            });
            if keep {
                let renumbered = merger.renumber(module, &annotation);
                merger.module.annotations.push(renumbered);
            }
        }
    }
    Ok(())
}

/// The id that a name or decoration is given to.
fn target(annotation: &Instruction) -> Option<u32> {
    annotation.operands.first()?.id_ref_any()
}

/// Whether a decoration stays; only those that concern linking may go.
fn keeps_linkage(input: &Input<'_>, id: u32, annotation: &Instruction, options: LinkOptions) -> bool {
    if annotation.operands.get(1) != Some(&Operand::Decoration(Decoration::LinkageAttributes)) {
        return true;
    }
    match resolve::linkage(&input.index, id) {
        // An import that got its export is dropped with all its decorations: one that is still here has none.
        Some((_, Linkage::Import)) => true,
        Some((_, Linkage::Export | Linkage::LinkOnceOdr)) => options.keep_exports,
        None => false,
    }
}

/// The decoration groups of a module: each with its decorations, without the target.
struct Groups<'a> {
    decorations: HashMap<u32, Vec<&'a Instruction>>,
}

impl<'a> Groups<'a> {
    fn new(input: &Input<'a>) -> Self {
        let annotations = input.module.annotations.iter();
        let groups = annotations.filter(|i| i.opcode == Op::DecorationGroup);
        let mut decorations: HashMap<u32, Vec<&Instruction>> =
            groups.filter_map(|i| Some((i.result_id?, Vec::new()))).collect();
        for annotation in &input.module.annotations {
            let is_decoration = matches!(
                annotation.opcode,
                Op::Decorate | Op::DecorateId | Op::DecorateString
            );
            let group = target(annotation).filter(|_| is_decoration);
            if let Some(group) = group.and_then(|id| decorations.get_mut(&id)) {
                group.push(annotation);
            }
        }
        Self { decorations }
    }

    fn contains(&self, id: u32) -> bool {
        self.decorations.contains_key(&id)
    }

    fn get(&self, id: Option<u32>) -> &[&'a Instruction] {
        id.and_then(|id| self.decorations.get(&id))
            .map_or(&[], Vec::as_slice)
    }

    /// The annotations of the module without groups.
    fn write_out(&self, input: &Input<'_>) -> Result<Vec<Instruction>, LinkError> {
        let mut written = Vec::new();
        let mut grouped = 0usize;
        for annotation in &input.module.annotations {
            let id = target(annotation);
            let targets = annotation.operands.get(1..).unwrap_or_default();
            let group = self.get(id);
            match annotation.opcode {
                Op::DecorationGroup => {}
                Op::GroupDecorate => {
                    grouped = grouped.saturating_add(group.len().saturating_mul(targets.len()));
                    if grouped <= MAX_GROUPED {
                        written.extend(
                            targets
                                .iter()
                                .flat_map(|t| group.iter().map(|d| decorate(t, None, d))),
                        );
                    }
                }
                Op::GroupMemberDecorate => {
                    grouped = grouped.saturating_add(group.len().saturating_mul(targets.len()));
                    if grouped <= MAX_GROUPED {
                        let members = targets.chunks_exact(2);
                        written.extend(members.flat_map(|member| {
                            let [id, number] = member else { return Vec::new() };
                            group.iter().map(|d| decorate(id, Some(number), d)).collect()
                        }));
                    }
                }
                _ if id.is_some_and(|id| self.contains(id)) => {}
                _ => written.push(annotation.clone()),
            }
        }
        if grouped > MAX_GROUPED {
            return Err(LinkError::TooManyDecorations {
                module: input.label.to_owned(),
                limit: MAX_GROUPED,
            });
        }
        Ok(written)
    }
}

/// The decoration of a group as one of a target, or of a member of it.
fn decorate(target: &Operand, member: Option<&Operand>, decoration: &Instruction) -> Instruction {
    let op = match (decoration.opcode, member) {
        (op, None) => op,
        (Op::DecorateString, Some(_)) => Op::MemberDecorateString,
        (Op::DecorateId, Some(_)) => Op::MemberDecorateIdEXT,
        (_, Some(_)) => Op::MemberDecorate,
    };
    let operands = std::iter::once(target).chain(member);
    let operands = operands.chain(decoration.operands.iter().skip(1)).cloned();
    Instruction::new(op, None, None, operands.collect())
}
