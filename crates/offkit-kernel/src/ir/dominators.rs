//! Which blocks every path to a block goes through.

use super::{BlockId, Function};

/// The dominator tree of a function.
pub(super) struct Dominators {
    /// Position of each block in reverse post-order; `None` for unreachable ones.
    order: Vec<Option<usize>>,
    /// For each reachable block, by position, when a walk of the tree comes to it and when it has been
    /// through all below it.
    intervals: Vec<(usize, usize)>,
}

impl Dominators {
    pub(super) fn of(function: &Function) -> Dominators {
        let order = reverse_post_order(function);
        let mut position = vec![None; function.blocks.len()];
        for (index, block) in order.iter().enumerate() {
            position[*block] = Some(index);
        }
        let mut predecessors = vec![Vec::new(); order.len()];
        for (index, block) in order.iter().enumerate() {
            for BlockId(successor) in function.blocks[*block].terminator.successors() {
                if let Some(successor) = position[successor as usize] {
                    predecessors[successor].push(index);
                }
            }
        }
        // Cooper, Harvey and Kennedy: intersect what is known of the predecessors until nothing changes.
        let mut immediate: Vec<Option<usize>> = vec![None; order.len()];
        if let Some(entry) = immediate.first_mut() {
            *entry = Some(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for index in 1..order.len() {
                let mut found = None;
                // The last first: of a chain of blocks that all jump here, each is then a step from where the ones behind it
                // meet.
                for &predecessor in predecessors[index].iter().rev() {
                    if immediate[predecessor].is_some() {
                        found = Some(found.map_or(predecessor, |other| meet(&immediate, other, predecessor)));
                    }
                }
                if found != immediate[index] {
                    immediate[index] = found;
                    changed = true;
                }
            }
        }
        Dominators {
            order: position,
            intervals: intervals(&immediate),
        }
    }

    pub(super) fn is_reachable(&self, block: BlockId) -> bool {
        self.order.get(block.0 as usize).is_some_and(Option::is_some)
    }

    /// Whether every path from the entry to `block` goes through `dominator`. Both must be reachable.
    pub(super) fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        let position = |block: BlockId| self.order.get(block.0 as usize).copied().flatten();
        let (Some(above), Some(below)) = (position(dominator), position(block)) else {
            return false;
        };
        let ((start, end), (at, _)) = (self.intervals[above], self.intervals[below]);
        start <= at && at < end
    }
}

/// Numbers the tree of immediate dominators so that what is below a block has the numbers from its own
/// to its end.
fn intervals(immediate: &[Option<usize>]) -> Vec<(usize, usize)> {
    // Without the entry, which is noted as its own parent: it would be below itself for ever.
    let mut children = vec![Vec::new(); immediate.len()];
    for (block, parent) in immediate.iter().enumerate().skip(1) {
        children[parent.unwrap_or(0)].push(block);
    }
    let mut intervals = vec![(0, 0); immediate.len()];
    let mut next = 0;
    let mut stack = vec![(0, false)];
    while let Some((block, done)) = stack.pop() {
        let Some(interval) = intervals.get_mut(block) else {
            continue;
        };
        if done {
            interval.1 = next;
            continue;
        }
        interval.0 = next;
        next += 1;
        stack.push((block, true));
        stack.extend(children[block].iter().map(|child| (*child, false)));
    }
    intervals
}

impl Function {
    /// Which blocks can be reached.
    pub fn reachable(&self) -> Vec<bool> {
        let mut reachable = vec![false; self.blocks.len()];
        for block in reverse_post_order(self) {
            reachable[block] = true;
        }
        reachable
    }
}

fn meet(immediate: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    // By positions in the order, where a block comes behind all that dominate it: who is farther behind goes up.
    while a != b {
        if a > b {
            a = immediate[a].unwrap_or(0);
        } else {
            b = immediate[b].unwrap_or(0);
        }
    }
    a
}

fn reverse_post_order(function: &Function) -> Vec<usize> {
    // With a stack of its own: how many blocks follow each other is up to the module, and the
    // thread's stack would not hold a call for each.
    let mut seen = vec![false; function.blocks.len()];
    let mut post = Vec::new();
    let mut stack = Vec::new();
    if let Some(entry) = function.blocks.first() {
        seen[0] = true;
        stack.push((0, entry.terminator.successors()));
    }
    while let Some((block, left)) = stack.last_mut() {
        match left.pop() {
            Some(BlockId(next)) if !seen[next as usize] => {
                seen[next as usize] = true;
                stack.push((
                    next as usize,
                    function.blocks[next as usize].terminator.successors(),
                ));
            }
            Some(_) => {}
            None => {
                post.push(*block);
                stack.pop();
            }
        }
    }
    post.reverse();
    post
}
