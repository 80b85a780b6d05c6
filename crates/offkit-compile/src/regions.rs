//! Regions: what is executed between two barriers, for one vector of work-items after the other.
//!
//! A barrier ends its block. What follows a barrier, up to the next ones, is a region of its own; blocks that more than one
//! barrier leads to are in more than one region. So a work-group runs a region for all its vectors, sees at which
//! barrier they stand, and goes on with the region behind that one, whatever loops and branches the barriers are in.

use std::collections::{BTreeMap, BTreeSet};

use offkit_kernel::ir::{
    Block, BlockId, CollectiveKind, Function, GroupScope, Instruction, Operand, Operation, Terminator,
    ValueId,
};

use crate::Refusal;
use crate::definitions::{Definitions, reads as reads_of};
use crate::graph::{Graph, Loop, Rounds, successors};
use crate::shapes::Shapes;
use crate::split_block::split_block;

/// What is executed from the start of a kernel or from behind a barrier on.
#[derive(Clone, Debug)]
pub struct Region {
    /// Where it begins.
    pub entry: BlockId,
    /// Its blocks, each behind those that lead to it, and loops in one piece.
    pub order: Vec<BlockId>,
    /// How each block of the function is executed, if it is one of the region's.
    pub control: Vec<Option<Control>>,
    /// Its loops, outer ones first.
    pub loops: Vec<RegionLoop>,
    /// Whether work-items of a vector never part, so that its branches can be branches.
    pub is_plain: bool,
    /// Values that it needs as earlier regions left them: those that it reads, and those that it leaves to later ones
    /// where they are not made anew.
    pub reads: Vec<ValueId>,
    /// Those of `reads` that some work-items of a vector make anew while others keep what they have.
    pub renewed: Vec<ValueId>,
    /// Values that it defines and regions behind barriers read.
    pub writes: Vec<ValueId>,
}

/// A loop of a region.
#[derive(Clone, Debug)]
pub struct RegionLoop {
    /// Where it begins.
    pub header: BlockId,
    /// The first and the last of its blocks in the region's order.
    pub range: (usize, usize),
    /// Whether work-items leave it one by one.
    pub is_divergent: bool,
}

/// How a block is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The block whose work-items are this one's as well: itself where they are found out when it is reached.
    pub mask: BlockId,
    /// The block that is executed exactly when this one is: itself where that is found out when it is reached.
    pub guard: BlockId,
}

/// Whether an instruction is where all work-items of a group wait for each other.
pub(crate) fn is_barrier(instruction: &Instruction) -> bool {
    matches!(&instruction.operation, Operation::Collective(collective)
        if collective.kind == CollectiveKind::Barrier && collective.scope == GroupScope::WorkGroup)
}

/// Has every barrier be the last instruction of its block, and followed by a jump.
pub(crate) fn split_at_barriers(function: &mut Function) {
    let mut index = 0;
    while let Some(block) = function.blocks.get(index) {
        if let Some(at) = block.instructions.iter().position(is_barrier) {
            // A jump: the region behind a barrier has one entry, by which the barrier is known. A
            // branch right behind it belongs to that region.
            let is_last = at + 1 == block.instructions.len();
            if !(is_last && matches!(block.terminator, Terminator::Jump(_))) {
                split_block(function, index, at + 1);
            }
        }
        index += 1;
    }
}

/// Whether a block ends at a barrier.
pub fn ends_at_barrier(block: &Block) -> bool {
    block.instructions.last().is_some_and(is_barrier)
}

/// The regions of a function whose barriers end their blocks: the first is the one that the kernel begins with.
pub(crate) fn regions(
    function: &Function,
    graph: &Graph,
    shapes: &Shapes,
    definitions: &Definitions,
) -> Result<Vec<Region>, Refusal> {
    let mut entries = vec![0usize];
    for block in &graph.order {
        let found = &function.blocks[*block];
        if ends_at_barrier(found)
            && let Terminator::Jump(BlockId(next)) = found.terminator
            && !entries.contains(&(next as usize))
        {
            // Once: barriers that lead to one place share its region.
            entries.push(next as usize);
        }
    }
    let live = live_at(function, graph, (shapes, definitions), &entries);
    let mut regions = Vec::new();
    for (entry, live) in entries.iter().zip(&live) {
        regions.push(region(function, *entry, shapes, definitions, live)?);
    }
    // What one region reads another has to leave behind.
    let mut read = vec![false; function.values.len()];
    for region in &regions {
        for value in &region.reads {
            read[value.0 as usize] = true;
        }
    }
    for region in &mut regions {
        region.writes.retain(|value| read[value.0 as usize]);
    }
    Ok(regions)
}

/// The values that a block reads; of addresses that may wrap also what they are computed from, for they are computed again
/// where they are used.
fn read_in(function: &Function, block: usize, shapes: &Shapes, definitions: &Definitions) -> Vec<ValueId> {
    let value = |operand: Operand| match operand {
        Operand::Value(value) => Some(value),
        Operand::Constant(_) => None,
    };
    let mut found: Vec<ValueId> = reads_of(function, BlockId(block as u32))
        .filter_map(value)
        .collect();
    let mut seen: BTreeSet<ValueId> = found.iter().copied().collect();
    let mut at = 0;
    while let Some(read) = found.get(at).copied() {
        at += 1;
        let again = shapes
            .may_wrap(read)
            .then(|| definitions.instruction(function, read));
        for operand in again
            .flatten()
            .into_iter()
            .flat_map(|definition| &definition.operands)
        {
            found.extend(value(*operand).filter(|value| seen.insert(*value)));
        }
    }
    found
}

/// The values, made in other blocks, that are read behind each of the entries before they are made anew. Nothing is live
/// where there is one region alone.
fn live_at(
    function: &Function,
    graph: &Graph,
    (shapes, definitions): (&Shapes, &Definitions),
    entries: &[usize],
) -> Vec<BTreeSet<ValueId>> {
    let mut live = vec![BTreeSet::new(); entries.len()];
    if entries.len() == 1 {
        return live;
    }
    let mut number = vec![None; function.blocks.len()];
    for (index, entry) in entries.iter().enumerate() {
        number[*entry] = Some(index);
    }
    let mut readers: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
    for block in &graph.order {
        for value in read_in(function, *block, shapes, definitions) {
            if definitions.of(value).block().is_some_and(|home| home != *block) {
                readers.entry(value).or_default().push(*block);
            }
        }
    }
    // From its readers upwards, as far as where it is made.
    // With the value's name as the mark, it need not be cleared for the next.
    let mut seen_for = vec![None; function.blocks.len()];
    for (value, mut stack) in readers {
        let home = definitions.of(value).block();
        while let Some(block) = stack.pop() {
            if Some(block) == home || seen_for[block].replace(value) == Some(value) {
                continue;
            }
            if let Some(index) = number[block] {
                live[index].insert(value);
            }
            stack.extend(&graph.predecessors[block]);
        }
    }
    live
}

fn region(
    function: &Function,
    entry: usize,
    shapes: &Shapes,
    definitions: &Definitions,
    live: &BTreeSet<ValueId>,
) -> Result<Region, Refusal> {
    let graph = Graph::new(entry, successors(function, ends_at_barrier));
    let loops = graph.loops();
    let parts = |block: usize| shapes.parts(&function.blocks[block].terminator);
    let is_plain = !graph.order.iter().any(|block| parts(*block));
    // Where nobody parts, branches are branches, and it doesn't matter what loops there are.
    let Some(loops) = loops.or_else(|| is_plain.then(Vec::new)) else {
        return Err(Refusal(
            "a loop that is entered at two places has a branch that work-items part at".to_owned(),
        ));
    };
    let rounds = Rounds::of(&graph, loops);
    let loops = &rounds.loops;
    let order = in_one_piece(&graph, loops);
    let place: Vec<Option<usize>> = {
        let mut place = vec![None; function.blocks.len()];
        for (index, block) in order.iter().enumerate() {
            place[*block] = Some(index);
        }
        place
    };
    let region_loops: Vec<RegionLoop> = loops
        .iter()
        .enumerate()
        .map(|(number, found)| RegionLoop {
            header: BlockId(found.header as u32),
            range: (
                place[found.header].unwrap_or(0),
                found
                    .nodes
                    .iter()
                    .filter_map(|node| place[*node])
                    .max()
                    .unwrap_or(0),
            ),
            is_divergent: found
                .nodes
                .iter()
                .any(|node| parts(*node) && rounds.is_left_at(number, *node)),
        })
        .collect();
    let control = control(function, &graph, &rounds, &region_loops, &order, &parts);

    let mut reads = Vec::new();
    let mut writes = Vec::new();
    for block in &order {
        let found = &function.blocks[*block];
        reads.extend(read_in(function, *block, shapes, definitions));
        // Phis of the region behind a barrier are set here.
        if let (true, Terminator::Jump(BlockId(next))) = (ends_at_barrier(found), &found.terminator) {
            writes.extend(function.blocks[*next as usize].phis.iter().map(|phi| phi.result));
        }
        writes.extend(found.phis.iter().map(|phi| phi.result));
        writes.extend(
            found
                .instructions
                .iter()
                .filter_map(|instruction| instruction.result),
        );
    }
    // A value that is left to later regions, and made on some ways only, is what it was on the others.
    reads.extend(&writes);
    reads.retain(|value| live.contains(value));
    // The entry's own phis come from the region before.
    if entry != 0 {
        reads.extend(function.blocks[entry].phis.iter().map(|phi| phi.result));
    }
    reads.sort_unstable();
    reads.dedup();
    let is_renewed = |value: &ValueId| {
        let home = definitions.of(*value).block().filter(|home| *home != entry);
        let mask = home.and_then(|home| control[home]).map(|control| control.mask);
        mask.is_some_and(|mask| mask.0 as usize != entry)
    };
    let renewed = reads.iter().copied().filter(is_renewed).collect();
    writes.sort_unstable();
    writes.dedup();
    Ok(Region {
        entry: BlockId(entry as u32),
        order: order.iter().map(|block| BlockId(*block as u32)).collect(),
        control,
        loops: region_loops,
        is_plain,
        reads,
        renewed,
        writes,
    })
}

/// The blocks in an order that has each behind those that lead to it, and every loop in one piece.
fn in_one_piece(graph: &Graph, loops: &[Loop]) -> Vec<usize> {
    // Reverse post-order has that but for what is left by way of an inner loop: outer loops' blocks may lie between
    // those of inner ones. Blocks are moved behind the loop that they split, the outermost loops first.
    let mut order = graph.order.clone();
    for found in loops {
        let Some(start) = order.iter().position(|node| *node == found.header) else {
            continue;
        };
        let mut inside = Vec::new();
        let mut outside = Vec::new();
        for node in order.drain(start..) {
            if found.contains(node) {
                inside.push(node);
            } else {
                outside.push(node);
            }
        }
        order.extend(inside);
        order.extend(outside);
    }
    order
}

fn control(
    function: &Function,
    graph: &Graph,
    rounds: &Rounds,
    region_loops: &[RegionLoop],
    order: &[usize],
    parts: &impl Fn(usize) -> bool,
) -> Vec<Option<Control>> {
    let mut control: Vec<Option<Control>> = vec![None; function.blocks.len()];
    let loops = &rounds.loops;
    let innermost = |node: usize| rounds.innermost(node);
    for (index, block) in order.iter().copied().enumerate() {
        let inside = innermost(block);
        let own = BlockId(block as u32);
        let header = inside.filter(|number| loops[*number].header == block);
        let (mut mask, mut guard) = (own, own);
        if index == 0 {
            // All come here.
        } else if let Some(number) = header {
            // Who enters a loop that all leave together stays in it.
            if !region_loops[number].is_divergent {
                let outside = graph.predecessors[block]
                    .iter()
                    .filter(|before| !loops[number].contains(**before));
                if let Some(shared) = shared_mask(outside, &control, parts) {
                    mask = shared;
                }
            }
        } else {
            // Who comes to a dominator that this block post-dominates, in the same round of a loop, comes here.
            let mut above = graph.immediate_dominator(block);
            while let Some(node) = above {
                if innermost(node) == inside && rounds.leads_to(graph, node, block) {
                    if let Some(control) = control[node] {
                        (mask, guard) = (control.mask, control.guard);
                    }
                    break;
                }
                above = graph.immediate_dominator(node);
            }
            if mask == own
                && let Some(shared) = shared_mask(graph.predecessors[block].iter(), &control, parts)
                && graph.predecessors[block]
                    .iter()
                    .all(|before| innermost(*before) == inside)
            {
                mask = shared;
            }
        }
        control[block] = Some(Control { mask, guard });
    }
    control
}

/// The mask that all these have, if none of them ends with work-items parting.
fn shared_mask<'b>(
    blocks: impl Iterator<Item = &'b usize>,
    control: &[Option<Control>],
    parts: &impl Fn(usize) -> bool,
) -> Option<BlockId> {
    let mut shared = None;
    for block in blocks {
        // Behind such a branch a block has only some of those that its mask tells of.
        if parts(*block) {
            return None;
        }
        let mask = control[*block]?.mask;
        if shared.is_some_and(|other| other != mask) {
            return None;
        }
        shared = Some(mask);
    }
    shared
}
