//! Blocks and the ways between them: branches that all work-items of a vector take together stay branches, others become
//! masks.
//!
//! Blocks are laid out in the region's order. Each is skipped unless somebody has come to it: a *guard*, a mask or a
//! truth that those who lead to it set. Who leads to the head of a loop again is remembered until the loop's last block
//! is behind, and then goes back.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_compile::{Region, RegionLoop, Shape, ends_at_barrier, reads};
use offkit_kernel::ir::{BlockId, Operand, Terminator, ValueId};

use super::builder::{Block, Type, Value};
use super::kernel::{Emitter, Result};
use super::values::alignment_of;

/// The ways through a region that is being emitted.
struct Ways<'m> {
    /// The guard of each block that has one: a mask if that is its own, else a truth.
    guards: HashMap<BlockId, Value<'m>>,
    /// Who goes back to the head of each loop.
    back: Vec<Value<'m>>,
    /// What phis of a loop's head are in the next round.
    next: HashMap<ValueId, Vec<Value<'m>>>,
    /// Where each place of the order begins, and what is behind the last.
    places: Vec<Block<'m>>,
    /// Where each loop ends, behind its last block.
    ends: Vec<Block<'m>>,
    /// Blocks that work-items come to by different ways.
    meeting: HashSet<BlockId>,
    /// Values that work-items keep where others make them anew.
    outliving: HashSet<ValueId>,
}

impl<'m> Emitter<'_, 'm> {
    /// Emits the blocks of a region, from where the builder is to `end`.
    pub(super) fn blocks(&mut self, region: &Region, end: Block<'m>) -> Result<()> {
        match region.is_plain {
            true => self.plain(region, end)?,
            false => self.masked(region, end)?,
        }
        self.come_from(None);
        Ok(())
    }

    /// The control flow as it stands: nobody parts.
    fn plain(&mut self, region: &Region, end: Block<'m>) -> Result<()> {
        let b = self.b;
        let name = |block: BlockId| format!("b{}", block.0);
        let blocks: HashMap<BlockId, Block<'m>> = region
            .order
            .iter()
            .map(|block| (*block, b.block(self.function, &name(*block))))
            .collect();
        let mask = self.current.as_ref().and_then(|current| current.mask);
        if let Some(mask) = mask.filter(|_| !self.partial.is_empty()) {
            // Perhaps nobody has come to this region.
            b.branch(self.any(mask), blocks[&region.entry], end);
        } else {
            b.jump(blocks[&region.entry]);
        }
        for block in &region.order {
            b.at_end(blocks[block]);
            // Words are values of the block that read them, and need not dominate this one: others come from slots.
            self.words.clear();
            let code = &self.code.blocks[block.0 as usize];
            for instruction in &code.instructions {
                self.instruction(instruction, mask, false)?;
            }
            self.come_from(code.line);
            if ends_at_barrier(code) {
                self.arrive(*block, mask);
                b.jump(end);
                continue;
            }
            // A block of its own for each way, since phis are set on the way.
            let mut ways: HashMap<BlockId, Block<'m>> = HashMap::new();
            let mut made = Vec::new();
            let mut way = |emitter: &Self, to: BlockId| {
                *ways.entry(to).or_insert_with(|| {
                    let way = emitter.b.block(emitter.function, "way");
                    made.push((to, way));
                    way
                })
            };
            match &code.terminator {
                Terminator::Return(_) | Terminator::Unreachable => b.jump(end),
                Terminator::Jump(to) => {
                    let to = way(self, *to);
                    b.jump(to);
                }
                Terminator::Branch {
                    condition,
                    accept,
                    reject,
                    ..
                } => {
                    let condition = self.operand(*condition)[0];
                    let (accept, reject) = (way(self, *accept), way(self, *reject));
                    b.branch(condition, accept, reject);
                }
                Terminator::Switch {
                    selector,
                    cases,
                    default,
                } => {
                    let selector = self.operand(*selector)[0];
                    let default = way(self, *default);
                    let cases: Vec<_> = cases
                        .iter()
                        .map(|(value, to)| (b.integer(selector.ty(), *value), way(self, *to)))
                        .collect();
                    b.switch(selector, default, &cases);
                }
            }
            for (to, way) in made {
                b.at_end(way);
                // What is read on one way is no value on the others.
                let words = self.words.clone();
                self.move_phis(*block, to, |_, slots| (slots, None));
                self.words = words;
                // In the region's order only a loop leads back to what came before.
                let place = |block: BlockId| region.order.iter().position(|other| *other == block);
                if place(to) <= place(*block) {
                    self.look_before(to, region);
                }
                b.jump(blocks[&to]);
            }
        }
        Ok(())
    }

    /// Sets the phis of a block on the way to it. The target of a phi by its slots: the slots to set, and where
    /// only those of a mask are to get the new value, that mask and the slots with what the others keep.
    fn move_phis(
        &mut self,
        from: BlockId,
        to: BlockId,
        target: impl Fn(ValueId, Vec<Value<'m>>) -> (Vec<Value<'m>>, Option<(Value<'m>, Vec<Value<'m>>)>),
    ) {
        let b = self.b;
        let code = self.code;
        // All are read before one is set: phis change at once, and one may be another's operand.
        let mut moves = Vec::new();
        for phi in &code.blocks[to.0 as usize].phis {
            let Some((_, operand)) = phi.incoming.iter().find(|(before, _)| *before == from) else {
                continue;
            };
            let shapes: Vec<Shape> = self.plan.shapes.of(phi.result).collect();
            let own = self.shapes(*operand);
            let types = self.types_of(phi.result);
            let words = self.operand(*operand);
            let words =
                words
                    .into_iter()
                    .zip(own)
                    .zip(&shapes)
                    .zip(&types)
                    .map(|(((word, own), shape), ty)| {
                        let word = if *shape == Shape::Varying {
                            self.spread(word, own)
                        } else {
                            word
                        };
                        self.coerce(word, *ty)
                    });
            let words: Vec<_> = words.collect();
            let (slots, kept) = target(phi.result, self.slots_of(phi.result));
            let words: Vec<_> = words
                .into_iter()
                .zip(&shapes)
                .enumerate()
                .map(|(index, (word, shape))| match &kept {
                    Some((mask, kept)) if *shape == Shape::Varying => b.select(
                        *mask,
                        word,
                        b.load(word.ty(), kept[index], alignment_of(word.ty())),
                    ),
                    _ => word,
                })
                .collect();
            moves.push((slots, words));
        }
        for (slots, words) in moves {
            for (slot, word) in slots.into_iter().zip(words) {
                b.store(word, slot, alignment_of(word.ty()));
            }
        }
    }

    /// Notes who stands at a barrier.
    fn arrive(&mut self, block: BlockId, mask: Option<Value<'m>>) {
        let b = self.b;
        let Some(behind) = self.plan.behind(block) else {
            return;
        };
        // Into slots of this region: what the region behind reads of them is kept when the vector
        // ends.
        if let Terminator::Jump(to) = self.code.blocks[block.0 as usize].terminator {
            self.move_phis(block, to, |_, slots| (slots, None));
        }
        // A barrier is met by all of a group or by none, so what one vector notes holds for all of them. One
        // whose work-items are all done notes nothing.
        if let Some(next) = self.next {
            b.store(b.integer(b.int(32), behind as u64), next, 4);
        }
        if let Some(slot) = self.arrived.get(&behind) {
            let bits = match (mask, self.width) {
                (Some(mask), Some(_)) => b.zext_or_trunc(b.mask_bits(mask), b.int(64)),
                (_, width) => {
                    let all = width.map_or(1, |width| if width >= 64 { u64::MAX } else { (1 << width) - 1 });
                    self.word(all)
                }
            };
            b.store(
                b.binary(llvm_sys::LLVMOpcode::LLVMOr, b.load(b.int(64), *slot, 8), bits),
                *slot,
                8,
            );
        }
    }

    fn masked(&mut self, region: &Region, end: Block<'m>) -> Result<()> {
        let b = self.b;
        let count = region.order.len();
        let mut places: Vec<_> = region
            .order
            .iter()
            .map(|block| b.block(self.function, &format!("b{}", block.0)))
            .collect();
        places.push(end);
        let ends = region
            .loops
            .iter()
            .map(|_| b.block(self.function, "loop.end"))
            .collect();
        let mut ways = Ways {
            guards: HashMap::new(),
            back: Vec::new(),
            next: HashMap::new(),
            places,
            ends,
            meeting: self.meeting(region),
            outliving: self.outliving(region),
        };
        for block in &region.order {
            // Fresh slots are zero: when a vector begins, nobody has come anywhere yet.
            if region.control[block.0 as usize].is_some_and(|control| control.guard == *block) {
                let slot = self.fresh_slot(self.guard_type(region, *block));
                ways.guards.insert(*block, slot);
            }
        }
        for found in &region.loops {
            ways.back
                .push(self.fresh_slot(self.guard_type(region, found.header)));
            let code = self.code;
            for phi in &code.blocks[found.header.0 as usize].phis {
                let slots = self
                    .types_of(phi.result)
                    .into_iter()
                    .map(|ty| self.fresh_slot(ty))
                    .collect();
                ways.next.insert(phi.result, slots);
            }
        }
        // All begin at the entry.
        let mask = self.current.as_ref().and_then(|current| current.mask);
        let everybody = mask.unwrap_or_else(|| b.truth(self.width, true));
        b.store(
            everybody,
            ways.guards[&region.entry],
            alignment_of(everybody.ty()),
        );
        b.jump(ways.places[0]);

        for index in 0..count {
            let block = region.order[index];
            b.at_end(ways.places[index]);
            self.come_from(None);
            self.words.clear();
            if let Some(header) = region.loops.iter().position(|found| found.header == block) {
                self.begin_round(region, &ways, header);
            }
            // Outer loops come first, so this is the innermost of those that end here.
            let ending = region.loops.iter().rposition(|found| found.range.1 == index);
            let behind = ending.map_or(ways.places[index + 1], |number| ways.ends[number]);
            self.masked_block(region, &ways, block, mask, behind)?;
            // Loops that end with this block, inner ones first.
            for (number, found) in region.loops.iter().enumerate().rev() {
                if found.range.1 == index {
                    let outer = region.loops[..number]
                        .iter()
                        .rposition(|outer| outer.range.1 == index && outer.range.0 <= found.range.0);
                    let after = outer.map_or(ways.places[index + 1], |outer| ways.ends[outer]);
                    self.end_round(region, &ways, number, after);
                }
            }
        }
        Ok(())
    }

    /// At the head of a loop: nobody has come to the blocks of this round yet.
    fn begin_round(&mut self, region: &Region, ways: &Ways<'m>, number: usize) {
        let b = self.b;
        let found = &region.loops[number];
        let clear = |slot: Value<'m>, block: BlockId| {
            let nobody = b.zero(self.guard_type(region, block));
            b.store(nobody, slot, alignment_of(nobody.ty()));
        };
        // Not of the head, whose guard whoever led here has just set.
        for block in &region.order[found.range.0 + 1..=found.range.1] {
            if let Some(slot) = ways.guards.get(block) {
                clear(*slot, *block);
            }
        }
        clear(ways.back[number], found.header);
        // Who doesn't go on has in the next round what it has in this one.
        let code = self.code;
        for phi in &code.blocks[found.header.0 as usize].phis {
            let slots = self.slots_of(phi.result);
            let types = self.types_of(phi.result);
            for ((slot, next), ty) in slots.into_iter().zip(&ways.next[&phi.result]).zip(types) {
                b.store(b.load(ty, slot, alignment_of(ty)), *next, alignment_of(ty));
            }
        }
    }

    /// Behind the last block of a loop: who goes back does.
    fn end_round(&mut self, region: &Region, ways: &Ways<'m>, number: usize, after: Block<'m>) {
        let b = self.b;
        let found = &region.loops[number];
        b.at_end(ways.ends[number]);
        let ty = self.guard_type(region, found.header);
        let back = b.load(ty, ways.back[number], alignment_of(ty));
        let again = b.block(self.function, "loop.again");
        b.branch(self.any(back), again, after);
        b.at_end(again);
        self.look_before(found.header, region);
        // Not joined with who was there: those who have left the loop take part no more.
        b.store(back, ways.guards[&found.header], alignment_of(ty));
        let code = self.code;
        for phi in &code.blocks[found.header.0 as usize].phis {
            let slots = self.slots_of(phi.result);
            let types = self.types_of(phi.result);
            for ((slot, next), ty) in slots.into_iter().zip(&ways.next[&phi.result]).zip(types) {
                b.store(b.load(ty, *next, alignment_of(ty)), slot, alignment_of(ty));
            }
        }
        b.jump(ways.places[found.range.0]);
    }

    /// The type of a block's guard: a mask if it has one of its own, else a truth.
    fn guard_type(&self, region: &Region, block: BlockId) -> Type<'m> {
        let has_mask = region.control[block.0 as usize].is_some_and(|control| control.mask == block);
        self.b.int(1).vector(self.width.filter(|_| has_mask))
    }

    /// Whether somebody is in a mask; a truth is that itself.
    pub(super) fn any(&self, mask: Value<'m>) -> Value<'m> {
        if mask.ty().width().is_none() {
            return mask;
        }
        let bits = self.b.mask_bits(mask);
        self.b.icmp(IntPredicate::LLVMIntNE, bits, self.b.zero(bits.ty()))
    }

    fn masked_block(
        &mut self,
        region: &Region,
        ways: &Ways<'m>,
        block: BlockId,
        everybody: Option<Value<'m>>,
        behind: Block<'m>,
    ) -> Result<()> {
        let b = self.b;
        let Some(control) = region.control[block.0 as usize] else {
            return Ok(());
        };
        let code = &self.code.blocks[block.0 as usize];
        let load = |of: BlockId| {
            let ty = self.guard_type(region, of);
            b.load(ty, ways.guards[&of], alignment_of(ty))
        };

        // All of the region's are in its entry's mask, unless it is a loop's head, where fewer come round by round.
        let is_everybody = |of: BlockId| of == region.entry && !self.heads_loop(region, of);
        if !(is_everybody(control.guard) && everybody.is_none()) {
            // Nobody may have come.
            let somebody = self.any(load(control.guard));
            let body = b.block(self.function, &format!("b{}.body", block.0));
            b.branch(somebody, body, behind);
            b.at_end(body);
        }
        let mask = match is_everybody(control.mask) {
            true => everybody,
            false => Some(load(control.mask)),
        };
        for instruction in &code.instructions {
            let outlives = instruction
                .result
                .is_some_and(|result| ways.outliving.contains(&result));
            self.instruction(instruction, mask, outlives)?;
        }
        self.come_from(code.line);
        if ends_at_barrier(code) {
            self.arrive(block, mask);
            b.jump(behind);
            return Ok(());
        }
        match &code.terminator {
            Terminator::Return(_) | Terminator::Unreachable => b.jump(behind),
            Terminator::Jump(to) => {
                self.way(region, ways, block, *to, mask);
                b.jump(behind);
            }
            // As one way: the phis there have one operand for both.
            Terminator::Branch { accept, reject, .. } if accept == reject => {
                self.way(region, ways, block, *accept, mask);
                b.jump(behind);
            }
            Terminator::Branch {
                condition,
                accept,
                reject,
                ..
            } => {
                if self.plan.shapes.is_uniform(*condition) {
                    let condition = self.operand(*condition)[0];
                    let (yes, no) = (b.block(self.function, "way"), b.block(self.function, "way"));
                    b.branch(condition, yes, no);
                    for (way, to) in [(yes, *accept), (no, *reject)] {
                        b.at_end(way);
                        let words = self.words.clone();
                        self.way(region, ways, block, to, mask);
                        self.words = words;
                        b.jump(behind);
                    }
                } else {
                    let condition = self.vectors(*condition)[0];
                    let (yes, no) = match mask {
                        Some(mask) => (b.and(mask, condition), b.and(mask, b.not(condition))),
                        None => (condition, b.not(condition)),
                    };
                    self.way(region, ways, block, *accept, Some(yes));
                    self.way(region, ways, block, *reject, Some(no));
                    b.jump(behind);
                }
            }
            Terminator::Switch {
                selector,
                cases,
                default,
            } => {
                self.switch(region, ways, block, (selector, cases, *default), mask, behind);
            }
        }
        Ok(())
    }

    fn switch(
        &mut self,
        region: &Region,
        ways: &Ways<'m>,
        block: BlockId,
        (selector, cases, default): (&Operand, &[(u64, BlockId)], BlockId),
        mask: Option<Value<'m>>,
        behind: Block<'m>,
    ) {
        let b = self.b;
        // Each once, though several cases lead there: its phis are set for all of them together.
        let mut targets: Vec<BlockId> = cases.iter().map(|(_, to)| *to).chain([default]).collect();
        targets.sort_unstable_by_key(|block| block.0);
        targets.dedup();
        if self.plan.shapes.is_uniform(*selector) {
            let selector = self.operand(*selector)[0];
            let blocks: HashMap<BlockId, Block<'m>> = targets
                .iter()
                .map(|to| (*to, b.block(self.function, "way")))
                .collect();
            let cases: Vec<_> = cases
                .iter()
                .map(|(value, to)| (b.integer(selector.ty(), *value), blocks[to]))
                .collect();
            b.switch(selector, blocks[&default], &cases);
            for to in targets {
                b.at_end(blocks[&to]);
                let words = self.words.clone();
                self.way(region, ways, block, to, mask);
                self.words = words;
                b.jump(behind);
            }
            return;
        }
        let selector = self.vectors(*selector)[0];
        let everybody = mask.unwrap_or_else(|| b.truth(self.width, true));
        let mut rest = everybody;
        let mut taken: HashMap<BlockId, Value<'m>> = HashMap::new();
        for (value, to) in cases {
            // SPIR-V has no two cases of one value, so that who takes one takes no other.
            let is_case = b.icmp(
                IntPredicate::LLVMIntEQ,
                selector,
                b.integer(selector.ty(), *value),
            );
            let mine = b.and(everybody, is_case);
            rest = b.and(rest, b.not(is_case));
            let joined = match taken.get(to) {
                Some(other) => b.or(*other, mine),
                None => mine,
            };
            taken.insert(*to, joined);
        }
        let joined = match taken.get(&default) {
            Some(other) => b.or(*other, rest),
            None => rest,
        };
        taken.insert(default, joined);
        for to in targets {
            self.way(region, ways, block, to, Some(taken[&to]));
        }
        b.jump(behind);
    }

    fn heads_loop(&self, region: &Region, block: BlockId) -> bool {
        region.loops.iter().any(|found| found.header == block)
    }

    /// Notes that those of a mask go from a block to another.
    fn way(&mut self, region: &Region, ways: &Ways<'m>, from: BlockId, to: BlockId, mask: Option<Value<'m>>) {
        let b = self.b;
        let Some(control) = region.control[to.0 as usize] else {
            return;
        };
        let back = back_to(region, from, to);
        let is_own = control.mask == to;
        let everybody = mask.unwrap_or_else(|| b.truth(self.width, true));
        // Where only one way leads there, who doesn't come by it has no value of the phi to keep.
        let leads_there = |other: &&BlockId| {
            let code = &self.code.blocks[other.0 as usize];
            !ends_at_barrier(code)
                && code.terminator.successors().contains(&to)
                && back_to(region, **other, to) == back
        };
        let ways_there = region.order.iter().filter(leads_there).count();
        self.move_phis(from, to, |phi, slots| {
            // On a way back they are for the next round: others may still read this round's.
            let next = back.and_then(|_| ways.next.get(&phi).cloned());
            let set = next.unwrap_or(slots);
            // Others keep what they have if it is read once they are gone, or was given to them on another way.
            let meets = (is_own || ways.meeting.contains(&to)) && ways_there > 1;
            let keeps = meets || ways.outliving.contains(&phi);
            let kept = keeps.then(|| (everybody, set.clone()));
            (set, kept)
        });
        let slot = match back {
            Some(number) => Some(ways.back[number]),
            None if control.guard == to => ways.guards.get(&to).copied(),
            None => None,
        };
        let Some(slot) = slot else { return };
        if is_own {
            let ty = everybody.ty();
            let joined = b.or(b.load(ty, slot, alignment_of(ty)), everybody);
            b.store(joined, slot, alignment_of(ty));
        } else {
            // Another block's mask says who it is that comes: only that somebody does is noted.
            b.store(b.truth(None, true), slot, 1);
        }
    }

    /// The blocks that work-items of a vector come to by different ways.
    fn meeting(&self, region: &Region) -> HashSet<BlockId> {
        let mask = |block: BlockId| region.control[block.0 as usize].map(|control| control.mask);
        let mut meeting = HashSet::new();
        for block in &region.order {
            let code = &self.code.blocks[block.0 as usize];
            if ends_at_barrier(code) {
                continue;
            }
            let parts = self.plan.shapes.parts(&code.terminator);
            for to in code.terminator.successors() {
                if parts || mask(to) != mask(*block) {
                    meeting.insert(to);
                }
            }
        }
        meeting
    }

    /// The values that work-items keep where others go on to make them anew: those that are made in a loop which work-items
    /// leave one by one, and read outside of it; and those of earlier regions that some make anew.
    fn outliving(&self, region: &Region) -> HashSet<ValueId> {
        let divergent = region.loops.iter().filter(|found| found.is_divergent);
        let divergent: Vec<RangeInclusive<usize>> =
            divergent.map(|found| found.range.0..=found.range.1).collect();
        let mut outliving: HashSet<ValueId> = region.renewed.iter().copied().collect();
        if divergent.is_empty() {
            return outliving;
        }
        let places: HashMap<BlockId, usize> = region.order.iter().copied().zip(0..).collect();
        // Readers behind the region have no place in it.
        let mut read = |value: ValueId, reader: Option<usize>| {
            let home = self.plan.home(value).and_then(|home| places.get(&home));
            if let Some(home) = home
                && divergent.iter().any(|range| {
                    range.contains(home) && !reader.is_some_and(|reader| range.contains(&reader))
                })
            {
                outliving.insert(value);
            }
        };
        for (place, block) in region.order.iter().enumerate() {
            for operand in reads(self.code, *block) {
                if let Operand::Value(value) = operand {
                    read(value, Some(place));
                }
            }
        }
        for value in &region.writes {
            read(*value, None);
        }
        outliving
    }
}

/// The loop that the way from a block to another goes back to the head of.
fn back_to(region: &Region, from: BlockId, to: BlockId) -> Option<usize> {
    let place = region.order.iter().position(|block| *block == from)?;
    let goes_back =
        |found: &RegionLoop| found.header == to && (found.range.0..=found.range.1).contains(&place);
    region.loops.iter().position(goes_back)
}
