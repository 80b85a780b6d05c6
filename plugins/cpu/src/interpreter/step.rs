//! What the interpreter executes: functions with every decision taken that does not depend on values.

use super::machine::Machine;
use super::space::View;
use crate::launch::Fault;
use offkit_kernel::builtins::Shape;
use offkit_kernel::ir::{Collective, Line};

/// The first register of a value, counted from the start of its function's frame.
pub(super) type Slot = u32;

/// The number of a memory access, under which it remembers the allocation it last went to.
pub(super) type Site = u32;

/// Moves words between registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) from: Slot,
    pub(super) to: Slot,
    pub(super) lanes: u32,
}

impl Move {
    #[inline]
    pub(super) fn apply(&self, r: &mut [u64]) {
        // Most values are one word, for which a copy of a length that isn't known is a detour.
        if self.lanes == 1 {
            r[self.to as usize] = r[self.from as usize];
        } else {
            let from = self.from as usize;
            r.copy_within(from..from + self.lanes as usize, self.to as usize);
        }
    }
}

/// A way to another block.
pub(super) struct Edge {
    /// Index of the step to go on with.
    pub(super) target: u32,
    /// The phis of the block.
    pub(super) moves: Box<[Move]>,
    /// Some move reads what an earlier one writes, so that all must be read first.
    pub(super) parallel: bool,
}

/// An operand and its shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typed {
    pub(super) slot: Slot,
    pub(super) shape: Shape,
}

/// What a step does to the registers of its frame.
pub(super) type Computation = Box<dyn Fn(&mut [u64]) + Send + Sync>;

/// What a step does to registers, memory and the world outside.
pub(super) type Effect =
    Box<dyn Fn(&mut [u64], &Machine<'_>, &mut View<'_>) -> Result<(), Fault> + Send + Sync>;

/// One step of a function. The most frequent effects are told by name, which saves a call.
pub(super) enum Step {
    Binary {
        function: fn(u64, u64) -> u64,
        to: Slot,
        a: Slot,
        b: Slot,
    },
    /// `base + offset + index · stride`, the index sign-extended.
    Address {
        to: Slot,
        base: Slot,
        index: Slot,
        unused: u32,
        stride: u64,
        offset: u64,
    },
    Load {
        to: Slot,
        pointer: Slot,
        size: u32,
        site: Site,
    },
    Store {
        pointer: Slot,
        value: Slot,
        size: u32,
        site: Site,
    },
    /// Needs nothing but registers.
    Compute(Computation),
    Other(Effect),
    Call {
        function: u32,
        arguments: Box<[Slot]>,
        to: Slot,
        cost: u32,
    },
    Collective(Box<CollectiveStep>),
    Jump {
        edge: Edge,
        cost: u32,
    },
    Branch {
        condition: Slot,
        edges: Box<[Edge; 2]>,
        cost: u32,
    },
    Switch {
        selector: Slot,
        cases: Box<[(u64, Edge)]>,
        default: Box<Edge>,
        cost: u32,
    },
    Return {
        from: Slot,
        lanes: u32,
        cost: u32,
    },
}

impl Step {
    /// A step that has any effect.
    pub(super) fn other(
        effect: impl Fn(&mut [u64], &Machine<'_>, &mut View<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    ) -> Step {
        Step::Other(Box::new(effect))
    }

    /// A step that needs nothing but registers.
    pub(super) fn compute(effect: impl Fn(&mut [u64]) + Send + Sync + 'static) -> Step {
        Step::Compute(Box::new(effect))
    }
}

/// Something that work-items do together.
#[derive(Clone, Debug)]
pub(super) struct CollectiveStep {
    pub(super) collective: Collective,
    pub(super) operands: Box<[Typed]>,
    pub(super) to: Slot,
    pub(super) lanes: u32,
    /// Bytes of one element, for copies and block accesses.
    pub(super) element: u64,
}

/// A private variable.
#[derive(Clone, Debug)]
pub(super) struct PrivateVariable {
    pub(super) address: Slot,
    pub(super) size: u32,
    pub(super) initializer: Option<Box<[u8]>>,
}

/// A function in executable form. Its frame starts with its constants.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    pub(super) lines: Vec<Option<Line>>,
    /// The first step of each block; unreachable blocks have none.
    pub(super) starts: Vec<u32>,
    pub(super) successors: Vec<Vec<u32>>,
    pub(super) constants: Vec<u64>,
    /// Words of a frame.
    pub(super) registers: u32,
    /// First register and number of words.
    pub(super) parameters: Vec<(Slot, u32)>,
    /// Parameters that point to a copy of the callee's own, and the copy's size.
    pub(super) copies: Vec<(Slot, u32)>,
    pub(super) variables: Vec<PrivateVariable>,
    pub(super) calls: Vec<u32>,
    pub(super) has_collectives: bool,
    /// Program-scope variables in local memory that it names.
    pub(super) locals: Vec<u32>,
    /// It is declared and not defined.
    pub(super) imported: bool,
}

impl Function {
    /// The block that a step is in.
    pub(super) fn block_of(&self, step: u32) -> u32 {
        let starts = self.starts.iter().zip(0..).filter(|(start, _)| **start <= step);
        starts
            // Blocks that are not reachable have 0, and so does the first one, which has the lowest number.
            .max_by_key(|(start, block)| (**start, u32::MAX - *block))
            .map_or(0, |(_, block)| block)
    }

    /// Whether a work-item may execute a step twice.
    pub(super) fn has_loops(&self) -> bool {
        let mut seen = vec![false; self.successors.len()];
        let mut is_on_way = vec![false; self.successors.len()];
        // One walk from the entry. Each block on the way has the number of its successor that is next.
        let mut way = Vec::new();
        let mut next = (!seen.is_empty()).then_some(0);
        loop {
            if let Some(block) = next.take() {
                (seen[block], is_on_way[block]) = (true, true);
                way.push((block, 0));
            }
            let Some((block, at)) = way.last_mut() else {
                return false;
            };
            match self.successors[*block].get(*at) {
                // A loop leads back to a block on the way to where it does.
                Some(successor) if is_on_way[*successor as usize] => return true,
                Some(successor) => {
                    *at += 1;
                    next = (!seen[*successor as usize]).then_some(*successor as usize);
                }
                None => {
                    is_on_way[*block] = false;
                    way.pop();
                }
            }
        }
    }

    /// Whether there is a way of at least one edge between two blocks.
    pub(super) fn reaches(&self, from: u32, to: u32) -> bool {
        let mut seen = vec![false; self.successors.len()];
        let mut left = vec![from];
        while let Some(block) = left.pop() {
            for successor in &self.successors[block as usize] {
                if *successor == to {
                    return true;
                }
                if !std::mem::replace(&mut seen[*successor as usize], true) {
                    left.push(*successor);
                }
            }
        }
        false
    }
}
