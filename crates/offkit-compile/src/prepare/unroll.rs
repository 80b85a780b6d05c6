//! Short loops whose number of iterations is known, where they walk through private arrays: without the loop each place
//! is known, so that the array can become values.

use std::collections::HashMap;

use offkit_kernel::ir::{Block, BlockId, Instruction, Operand, Operation, Phi, Terminator, Type, ValueId};
use offkit_spirv::grammar::StorageClass;

use super::body::{Body, visit_end, visit_operands, visit_targets};
use super::evaluate::{evaluate, plain_word};
use crate::graph::{Graph, Loop};

/// Loops with more iterations stay.
// Of the head, which sixteen rounds come to once more, to leave.
const MOST_ITERATIONS: usize = 17;
/// And those that would become more instructions.
const MOST_INSTRUCTIONS: usize = 1024;
/// Loops are unrolled as long as the kernel has no more blocks.
const MOST_BLOCKS: usize = 10_000;

/// Unrolls an innermost loop; whether there was one.
pub(super) fn unroll(body: &mut Body) -> bool {
    if body.function.variables.is_empty() || body.function.blocks.len() > MOST_BLOCKS {
        return false;
    }
    let graph = body.graph();
    let Some(loops) = graph.loops() else {
        return false;
    };
    for (index, candidate) in loops.iter().enumerate() {
        let is_outer = loops[index + 1..]
            .iter()
            .any(|inner| candidate.contains(inner.header));
        if is_outer || !walks_through_arrays(body, candidate) {
            continue;
        }
        if let Some(shape) = Shape::of(body, &graph, candidate)
            && let Some(iterations) = iterations(body, candidate, &shape)
        {
            // One at a time: block numbers and loops are others now, and what is known inside may have simplified the
            // outer loop.
            copy(body, candidate, &shape, iterations);
            return true;
        }
    }
    false
}

/// Whether places in private memory are computed in a loop that may be copied.
fn walks_through_arrays(body: &Body, candidate: &Loop) -> bool {
    let instructions = || {
        let blocks = candidate.nodes.iter().map(|block| &body.function.blocks[*block]);
        blocks.flat_map(|block| &block.instructions)
    };
    let is_private = |operand: Operand| {
        let kind = body.module.types.get(body.kind(operand));
        matches!(
            kind,
            Type::Pointer {
                class: StorageClass::Function,
                ..
            }
        )
    };
    let is_walk = |instruction: &Instruction| {
        let computed =
            matches!(instruction.operation, Operation::Address { .. }) && instruction.operands.len() > 1;
        computed && instruction.operands.first().is_some_and(|base| is_private(*base))
    };
    // An address may also be what goes from place to place.
    let phis = &body.function.blocks[candidate.header].phis;
    let is_walked = phis.iter().any(|phi| is_private(Operand::Value(phi.result)));
    let is_together = |instruction: &Instruction| matches!(instruction.operation, Operation::Collective(_));
    // Each copy of a barrier would begin a region of its own.
    (is_walked || instructions().any(is_walk)) && !instructions().any(is_together)
}

/// A loop that is left at one place, which it comes to in every iteration.
struct Shape {
    latch: usize,
    exit: usize,
    /// Where it goes on from there.
    inside: BlockId,
    outside: BlockId,
    condition: Operand,
    /// What the condition is when the loop is left.
    leaves_if: bool,
}

impl Shape {
    fn of(body: &Body, graph: &Graph, candidate: &Loop) -> Option<Shape> {
        let header = candidate.header;
        let mut latches = graph.predecessors[header]
            .iter()
            .filter(|block| candidate.contains(**block));
        let (latch, None) = (*latches.next()?, latches.next()) else {
            return None;
        };
        let mut found: Option<Shape> = None;
        for block in &candidate.nodes {
            let terminator = &body.function.blocks[*block].terminator;
            let successors = terminator.successors();
            if !successors.is_empty() && successors.iter().all(|next| candidate.contains(next.0 as usize)) {
                continue;
            }
            let Terminator::Branch {
                condition,
                accept,
                reject,
                ..
            } = *terminator
            else {
                return None;
            };
            let leaves_if = !candidate.contains(accept.0 as usize);
            let (outside, inside) = if leaves_if {
                (accept, reject)
            } else {
                (reject, accept)
            };
            if found.is_some() || !candidate.contains(inside.0 as usize) {
                return None;
            }
            found = Some(Shape {
                latch,
                exit: *block,
                inside,
                outside,
                condition,
                leaves_if,
            });
        }
        found.filter(|shape| graph.dominates(shape.exit, latch))
    }
}

/// How often the header is executed, if that is known and the copies are not too long.
fn iterations(body: &mut Body, candidate: &Loop, shape: &Shape) -> Option<usize> {
    let blocks = candidate.nodes.iter().map(|block| &body.function.blocks[*block]);
    let length: usize = blocks.map(|block| 1 + block.instructions.len()).sum();
    // What is constant in an iteration.
    let mut known: HashMap<ValueId, Operand> = HashMap::new();
    let look = |known: &HashMap<ValueId, Operand>, operand: Operand| match operand {
        Operand::Value(value) => known.get(&value).copied().unwrap_or(operand),
        Operand::Constant(_) => operand,
    };
    let is_constant = |operand: Operand| matches!(operand, Operand::Constant(_));
    let phis = body.function.blocks[candidate.header].phis.clone();
    for phi in &phis {
        let mut before = phi
            .incoming
            .iter()
            .filter(|(from, _)| from.0 as usize != shape.latch);
        if let (Some((_, operand)), None) = (before.next(), before.next())
            && is_constant(*operand)
        {
            known.insert(phi.result, *operand);
        }
    }
    for iteration in 1..=MOST_ITERATIONS {
        if iteration * length > MOST_INSTRUCTIONS {
            return None;
        }
        for block in &candidate.nodes {
            let instructions = std::mem::take(&mut body.function.blocks[*block].instructions);
            for instruction in &instructions {
                let Some(result) = instruction.result else {
                    continue;
                };
                // What it was in the round before need not be known in this one.
                known.remove(&result);
                let operands: Vec<Operand> = instruction
                    .operands
                    .iter()
                    .map(|operand| look(&known, *operand))
                    .collect();
                if !operands.is_empty() && operands.iter().all(|operand| is_constant(*operand)) {
                    let kind = body.value_kind(result);
                    if let Some(constant) = evaluate(body, &instruction.operation, &operands, kind) {
                        known.insert(result, constant);
                    }
                }
            }
            body.function.blocks[*block].instructions = instructions;
        }
        // One round of which it isn't known whether it is the last is enough to give up.
        let holds = plain_word(body, look(&known, shape.condition))? != 0;
        if holds == shape.leaves_if {
            return Some(iteration);
        }
        // All of them first, as phis change at once: one may be given what another was.
        let next: Vec<(ValueId, Operand)> = phis
            .iter()
            .filter_map(|phi| {
                let mut incoming = phi.incoming.iter();
                let (_, operand) = incoming.find(|(from, _)| from.0 as usize == shape.latch)?;
                Some((phi.result, look(&known, *operand)))
            })
            .collect();
        for (value, operand) in next {
            known.remove(&value);
            if is_constant(operand) {
                known.insert(value, operand);
            }
        }
    }
    None
}

/// Writes the iterations one after the other; nothing leads to the loop itself any more.
fn copy(body: &mut Body, candidate: &Loop, shape: &Shape, iterations: usize) {
    let header = candidate.header;
    let first = body.function.blocks.len();
    let count = candidate.nodes.len();
    let positions: HashMap<usize, usize> = candidate.nodes.iter().copied().zip(0..).collect();
    let place = |iteration: usize, block: usize| {
        let position = positions.get(&block)?;
        Some(BlockId((first + iteration * count + position) as u32))
    };
    // What each value of the loop is in the iteration that was written last.
    let mut values: HashMap<ValueId, Operand> = HashMap::new();
    let look = |values: &HashMap<ValueId, Operand>, operand: Operand| match operand {
        Operand::Value(value) => values.get(&value).copied().unwrap_or(operand),
        Operand::Constant(_) => operand,
    };
    let sources: Vec<Block> = candidate
        .nodes
        .iter()
        .map(|block| body.function.blocks[*block].clone())
        .collect();
    for iteration in 0..iterations {
        let is_last = iteration + 1 == iterations;
        let mut now: HashMap<ValueId, Operand> = HashMap::new();
        for (source, index) in sources.iter().zip(&candidate.nodes) {
            for phi in &source.phis {
                let again = phi
                    .incoming
                    .iter()
                    .find(|(from, _)| from.0 as usize == shape.latch);
                let operand = match again {
                    Some((_, operand)) if *index == header && iteration > 0 => look(&values, *operand),
                    _ => Operand::Value(body.new_value(body.value_kind(phi.result))),
                };
                now.insert(phi.result, operand);
            }
            for result in source
                .instructions
                .iter()
                .filter_map(|instruction| instruction.result)
            {
                now.insert(result, Operand::Value(body.new_value(body.value_kind(result))));
            }
        }
        for (source, index) in sources.iter().zip(&candidate.nodes) {
            let mut block = source.clone();
            // It names blocks of the loop, and there is none any more.
            block.merge = None;
            if *index == header {
                if iteration > 0 {
                    block.phis.clear();
                }
                for phi in &mut block.phis {
                    phi.incoming.retain(|(from, _)| from.0 as usize != shape.latch);
                }
            } else {
                for (from, operand) in block.phis.iter_mut().flat_map(|phi: &mut Phi| &mut phi.incoming) {
                    *from = place(iteration, from.0 as usize).unwrap_or(*from);
                    *operand = look(&now, *operand);
                }
            }
            for Phi { result, .. } in &mut block.phis {
                if let Some(Operand::Value(new)) = now.get(result) {
                    *result = *new;
                }
            }
            for instruction in &mut block.instructions {
                instruction
                    .operands
                    .iter_mut()
                    .for_each(|operand| *operand = look(&now, *operand));
                if let Some(result) = &mut instruction.result
                    && let Some(Operand::Value(new)) = now.get(result)
                {
                    *result = *new;
                }
            }
            if *index == shape.exit {
                let target = if is_last { shape.outside } else { shape.inside };
                block.terminator = Terminator::Jump(target);
            }
            visit_end(&mut block.terminator, |operand| *operand = look(&now, *operand));
            visit_targets(&mut block.terminator, |target| {
                let iteration = if target.0 as usize == header {
                    iteration + 1
                } else {
                    iteration
                };
                // Behind the last iteration's way out comes nothing that is ever reached.
                let iteration = iteration.min(iterations - 1);
                *target = place(iteration, target.0 as usize).unwrap_or(*target);
            });
            body.function.blocks.push(block);
        }
        values = now;
    }
    let entry = place(0, header);
    let last_exit = place(iterations - 1, shape.exit);
    for (index, block) in body.function.blocks.iter_mut().enumerate() {
        // The copies have their own values, and the loop itself is not reached any more.
        if index >= first || positions.contains_key(&index) {
            continue;
        }
        visit_operands(block, |operand| *operand = look(&values, *operand));
        if index == shape.outside.0 as usize {
            for (from, _) in block.phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
                if from.0 as usize == shape.exit {
                    *from = last_exit.unwrap_or(*from);
                }
            }
        }
        visit_targets(&mut block.terminator, |target| {
            if target.0 as usize == header {
                *target = entry.unwrap_or(*target);
            }
        });
    }
}
