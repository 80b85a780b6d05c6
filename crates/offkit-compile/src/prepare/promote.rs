//! Private variables that are values: the places where values of different ways meet get phis.

use std::collections::HashMap;

use offkit_kernel::ir::{Attributes, BlockId, Instruction, Operand, Operation, Phi, TypeId, ValueId};

use super::body::{Body, Replaced};

/// A variable that is only loaded and stored as a whole.
struct Slot {
    kind: TypeId,
    /// Blocks that store it.
    stores: Vec<usize>,
    /// Whether a block loads what another stored.
    is_shared: bool,
}

/// Makes values of variables that are only loaded and stored as a whole; whether there were any.
// As Cytron and others do: phis at the iterated dominance frontiers of stores, then one walk down the tree of
// dominators.
pub(super) fn promote(body: &mut Body) -> bool {
    let (slots, of) = candidates(body);
    if slots.is_empty() {
        return false;
    }
    let graph = body.graph();
    let blocks = body.function.blocks.len();

    // Where a store meets what other ways bring.
    let mut frontier = vec![Vec::new(); blocks];
    for block in &graph.order {
        if graph.predecessors[*block].len() < 2 {
            continue;
        }
        let above = graph.immediate_dominator(*block);
        for predecessor in &graph.predecessors[*block] {
            let mut at = Some(*predecessor);
            while let Some(here) = at
                && at != above
            {
                // Blocks come one after the other, so that only the last may be there already.
                if frontier[here].last() != Some(block) {
                    frontier[here].push(*block);
                }
                at = graph.immediate_dominator(here);
            }
        }
    }
    // The variables that each block has new phis of, and where these are.
    let mut meetings: Vec<Vec<(usize, usize)>> = vec![Vec::new(); blocks];
    // A variable that each block stores before it loads it is in no phi: as most temporaries are.
    for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.is_shared) {
        let mut left = slot.stores.clone();
        while let Some(block) = left.pop() {
            for meeting in &frontier[block] {
                if meetings[*meeting].last().is_none_or(|(last, _)| *last != index) {
                    let result = body.new_value(slot.kind);
                    let phis = &mut body.function.blocks[*meeting].phis;
                    meetings[*meeting].push((index, phis.len()));
                    phis.push(Phi {
                        result,
                        incoming: Vec::new(),
                    });
                    left.push(*meeting);
                }
            }
        }
    }

    // What was never stored may be anything: zero is the same for all work-items.
    let zeros: Vec<Operand> = slots.iter().map(|slot| body.zero(slot.kind)).collect();
    let mut children = vec![Vec::new(); blocks];
    for block in &graph.order {
        if let Some(above) = graph.immediate_dominator(*block) {
            children[above].push(*block);
        }
    }
    let mut renaming = Renaming {
        body,
        of: &of,
        slots: &slots,
        now: zeros,
        before: Vec::new(),
        replaced: Replaced::new(),
        meetings,
    };
    // Down the tree of dominators; on the way up what a block stored is forgotten.
    let mut stack = vec![(0, None)];
    while let Some((block, leave)) = stack.pop() {
        if let Some(length) = leave {
            renaming.forget(length);
            continue;
        }
        stack.push((block, Some(renaming.before.len())));
        renaming.block(block, &graph.successors[block]);
        stack.extend(children[block].iter().map(|child| (*child, None)));
    }
    let replaced = renaming.replaced;
    body.substitute(&replaced);
    body.function
        .variables
        .retain(|variable| !of.contains_key(&variable.address));
    true
}

/// The variables that can be values, and which variable each address is of.
fn candidates(body: &Body) -> (Vec<Slot>, HashMap<ValueId, usize>) {
    let variables = &body.function.variables;
    // The type of the first access; none as long as there is no access. Of pointers a load tells more than a store,
    // which may be of one into a certain memory where others are stored as well.
    let mut kinds: HashMap<ValueId, Option<(TypeId, bool)>> = variables
        .iter()
        .filter(|variable| variable.initializer.is_none())
        .map(|variable| (variable.address, None))
        .collect();
    let refuse = |operand: &Operand, kinds: &mut HashMap<ValueId, Option<(TypeId, bool)>>| {
        if let Operand::Value(value) = operand {
            kinds.remove(value);
        }
    };
    for block in &body.function.blocks {
        for phi in &block.phis {
            phi.incoming
                .iter()
                .for_each(|(_, operand)| refuse(operand, &mut kinds));
        }
        for instruction in &block.instructions {
            let Some((address, kind, others)) = access(body, instruction) else {
                instruction
                    .operands
                    .iter()
                    .for_each(|operand| refuse(operand, &mut kinds));
                continue;
            };
            others.iter().for_each(|operand| refuse(operand, &mut kinds));
            if let Some(found) = kinds.get_mut(&address) {
                let is_load = matches!(instruction.operation, Operation::Load);
                let fits = found.is_none_or(|(found, _)| {
                    let sizes = (body.bits_size(found), body.bits_size(kind));
                    body.is_like(found, kind) || sizes.0.is_some() && sizes.0 == sizes.1
                });
                if fits {
                    let (_, was_load) = *found.get_or_insert((kind, is_load));
                    if is_load && !was_load {
                        *found = Some((kind, true));
                    }
                } else {
                    kinds.remove(&address);
                }
            }
        }
        if let Some(operand) = block.terminator.operand() {
            refuse(&operand, &mut kinds);
        }
    }
    let mut slots = Vec::new();
    let mut of = HashMap::new();
    for variable in variables {
        if let Some(Some((kind, _))) = kinds.get(&variable.address) {
            of.insert(variable.address, slots.len());
            slots.push(Slot {
                kind: *kind,
                stores: Vec::new(),
                is_shared: false,
            });
        }
    }
    for (index, block) in body.function.blocks.iter().enumerate() {
        for instruction in &block.instructions {
            let Some((address, ..)) = access(body, instruction) else {
                continue;
            };
            let Some(slot) = of.get(&address).and_then(|slot| slots.get_mut(*slot)) else {
                continue;
            };
            let stored_here = slot.stores.last() == Some(&index);
            match instruction.operation {
                Operation::Store if !stored_here => slot.stores.push(index),
                Operation::Load => slot.is_shared |= !stored_here,
                _ => {}
            }
        }
    }
    (slots, of)
}

/// The address that a load or store goes to, the type of what it moves, and its other operands.
fn access<'i>(body: &Body, instruction: &'i Instruction) -> Option<(ValueId, TypeId, &'i [Operand])> {
    let (Operand::Value(address), others) = instruction.operands.split_first()? else {
        return None;
    };
    let kind = match instruction.operation {
        // Each such access is to be made: the variable stays in memory.
        _ if instruction.attributes.volatile => return None,
        Operation::Load => body.value_kind(instruction.result?),
        Operation::Store => body.kind(*others.first()?),
        _ => return None,
    };
    Some((*address, kind, others))
}

struct Renaming<'b> {
    body: &'b mut Body,
    of: &'b HashMap<ValueId, usize>,
    slots: &'b [Slot],
    /// What each variable is, where the walk is.
    now: Vec<Operand>,
    /// What they were before, to go back.
    before: Vec<(usize, Operand)>,
    replaced: Replaced,
    meetings: Vec<Vec<(usize, usize)>>,
}

impl Renaming<'_> {
    fn set(&mut self, slot: usize, operand: Operand) {
        let old = std::mem::replace(&mut self.now[slot], operand);
        self.before.push((slot, old));
    }

    fn forget(&mut self, length: usize) {
        for (slot, old) in self.before.drain(length..).rev() {
            self.now[slot] = old;
        }
    }

    fn block(&mut self, index: usize, successors: &[usize]) {
        for at in 0..self.meetings[index].len() {
            let (slot, phi) = self.meetings[index][at];
            let result = self.body.function.blocks[index].phis[phi].result;
            self.set(slot, Operand::Value(result));
        }
        let instructions = std::mem::take(&mut self.body.function.blocks[index].instructions);
        let mut kept = Vec::with_capacity(instructions.len());
        for mut instruction in instructions {
            for operand in &mut instruction.operands {
                *operand = self.replaced.resolve(*operand);
            }
            let slot =
                access(self.body, &instruction).and_then(|(address, ..)| self.of.get(&address).copied());
            let Some(slot) = slot else {
                kept.push(instruction);
                continue;
            };
            let kind = self.slots[slot].kind;
            match instruction.result {
                Some(result) => {
                    let now = self.now[slot];
                    if self
                        .body
                        .is_like(self.body.kind(now), self.body.value_kind(result))
                    {
                        self.replaced.insert(result, now);
                    } else {
                        kept.push(reinterpret(result, now, &instruction));
                    }
                }
                None => {
                    let mut stored = instruction.operands[1];
                    if !self.body.is_like(self.body.kind(stored), kind) {
                        let result = self.body.new_value(kind);
                        kept.push(reinterpret(result, stored, &instruction));
                        stored = Operand::Value(result);
                    }
                    self.set(slot, stored);
                }
            }
        }
        self.body.function.blocks[index].instructions = kept;
        for (at, successor) in successors.iter().enumerate() {
            if successors[..at].contains(successor) {
                continue;
            }
            for meeting in 0..self.meetings[*successor].len() {
                let (slot, phi) = self.meetings[*successor][meeting];
                let phi = &mut self.body.function.blocks[*successor].phis[phi];
                phi.incoming.push((BlockId(index as u32), self.now[slot]));
            }
        }
    }
}

/// The bytes of a value as another type.
fn reinterpret(result: ValueId, from: Operand, access: &Instruction) -> Instruction {
    Instruction {
        result: Some(result),
        operation: Operation::Reinterpret,
        operands: vec![from],
        attributes: Attributes::default(),
        line: access.line,
    }
}
