//! Branches whose way is known, blocks that nothing leads to, and blocks that are one.

use std::collections::HashSet;

use offkit_kernel::ir::{BlockId, Merge, Operand, Terminator};

use super::body::{Body, Replaced, rename_blocks};
use crate::graph::Graph;

/// Makes the control flow as plain as it is; whether anything changed.
pub(super) fn straighten(body: &mut Body) -> bool {
    let mut changed = false;
    for index in 0..body.function.blocks.len() {
        if let Some(target) = only_target(body, &body.function.blocks[index].terminator) {
            body.function.blocks[index].terminator = Terminator::Jump(target);
            changed = true;
        }
        let block = &mut body.function.blocks[index];
        if matches!(block.merge, Some(Merge::Selection { .. }))
            && !matches!(
                block.terminator,
                Terminator::Branch { .. } | Terminator::Switch { .. }
            )
        {
            block.merge = None;
        }
    }
    let blocks = body.function.blocks.len();
    let graph = remove_unreachable(body);
    join(body, &graph);
    changed || body.function.blocks.len() != blocks
}

/// The one block that a branch leads to.
fn only_target(body: &Body, terminator: &Terminator) -> Option<BlockId> {
    let word = |operand: &Operand| match operand {
        Operand::Constant(id) => {
            let constant = &body.module.constants[id.0 as usize];
            // What an address is, is only known when the program is loaded.
            let plain = constant.relocations.is_empty();
            plain.then(|| constant.words.first().copied().unwrap_or(0))
        }
        Operand::Value(_) => None,
    };
    match terminator {
        Terminator::Branch {
            condition,
            accept,
            reject,
            ..
        } => match word(condition) {
            Some(0) => Some(*reject),
            Some(_) => Some(*accept),
            None => (accept == reject).then_some(*accept),
        },
        Terminator::Switch {
            selector,
            cases,
            default,
        } => match word(selector) {
            Some(word) => {
                let found = cases.iter().find(|(value, _)| *value == word);
                Some(found.map_or(*default, |(_, target)| *target))
            }
            None => cases
                .iter()
                .all(|(_, target)| target == default)
                .then_some(*default),
        },
        _ => None,
    }
}

/// Keeps what can be reached, in reverse post-order, and of phis what comes from a predecessor.
fn remove_unreachable(body: &mut Body) -> Graph {
    let mut graph = body.graph();
    if graph.order.len() < body.function.blocks.len() || !graph.order.is_sorted() {
        body.retain_blocks(&graph.order);
        graph = body.graph();
    }
    for (block, predecessors) in body.function.blocks.iter_mut().zip(&graph.predecessors) {
        if block.phis.is_empty() {
            continue;
        }
        // A set, as a block may have many of both.
        let predecessors: HashSet<usize> = predecessors.iter().copied().collect();
        for phi in &mut block.phis {
            phi.incoming
                .retain(|(from, _)| predecessors.contains(&(from.0 as usize)));
        }
    }
    graph
}

/// Joins blocks of which one always follows the other.
fn join(body: &mut Body, graph: &Graph) {
    let blocks = body.function.blocks.len();
    // What each block has become part of; that block comes earlier in the order.
    let mut part_of: Vec<u32> = (0..blocks as u32).collect();
    let mut replaced = Replaced::new();
    let mut order = Vec::new();
    for index in 0..blocks {
        if part_of[index] != index as u32 {
            continue;
        }
        order.push(index);
        while let Terminator::Jump(BlockId(next)) = body.function.blocks[index].terminator {
            let next = next as usize;
            // Control comes to the first block from outside, too, which is no predecessor.
            if next == index || next == 0 || graph.predecessors[next].len() != 1 {
                break;
            }
            part_of[next] = index as u32;
            let behind = &mut body.function.blocks[next];
            let (phis, instructions) = (
                std::mem::take(&mut behind.phis),
                std::mem::take(&mut behind.instructions),
            );
            let (merge, line) = (behind.merge.take(), behind.line);
            let terminator = std::mem::replace(&mut behind.terminator, Terminator::Unreachable);
            for phi in phis {
                if let Some((_, operand)) = phi.incoming.first() {
                    let operand = replaced.resolve(*operand);
                    body.stand_in(index, phi.result, operand, &mut replaced);
                }
            }
            let block = &mut body.function.blocks[index];
            block.instructions.extend(instructions);
            block.merge = block.merge.or(merge);
            block.terminator = terminator;
            block.line = line;
        }
    }
    if order.len() == blocks {
        return;
    }
    for block in &mut body.function.blocks {
        rename_blocks(block, |BlockId(old)| Some(BlockId(part_of[old as usize])));
    }
    body.retain_blocks(&order);
    body.substitute(&replaced);
}
