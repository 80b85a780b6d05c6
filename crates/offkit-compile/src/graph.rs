//! Control flow as a graph: who dominates whom, which loops there are.

use offkit_kernel::ir::{Block, BlockId, Function};

/// A control-flow graph of nodes that are numbers; those that the entry doesn't reach have no place in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) successors: Vec<Vec<usize>>,
    pub(crate) predecessors: Vec<Vec<usize>>,
    /// In reverse post-order, the entry first.
    pub(crate) order: Vec<usize>,
    /// Where each is in the order.
    pub(crate) position: Vec<Option<usize>>,
    /// The immediate dominator of each; the entry's is itself.
    dominator: Vec<Option<usize>>,
    /// The immediate post-dominator; none where the ways out of a node meet no more.
    post_dominator: Vec<Option<usize>>,
}

/// A loop that is entered at one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) header: usize,
    /// Its nodes in the graph's order, those of inner loops included.
    pub(crate) nodes: Vec<usize>,
}

impl Loop {
    pub(crate) fn contains(&self, node: usize) -> bool {
        self.nodes.contains(&node)
    }
}

impl Graph {
    /// The graph of what the entry reaches.
    pub(crate) fn new(entry: usize, successors: Vec<Vec<usize>>) -> Graph {
        let mut graph = Graph::forward(entry, successors);
        graph.find_post_dominators();
        graph
    }

    /// The graph of what the entry reaches, for whoever needs no post-dominators.
    pub(crate) fn forward(entry: usize, successors: Vec<Vec<usize>>) -> Graph {
        let count = successors.len();
        let order = reverse_post_order(count, entry, |node| &successors[node]);
        let mut position = vec![None; count];
        for (index, node) in order.iter().enumerate() {
            position[*node] = Some(index);
        }
        let mut predecessors = vec![Vec::new(); count];
        for node in &order {
            for successor in &successors[*node] {
                if !predecessors[*successor].contains(node) {
                    predecessors[*successor].push(*node);
                }
            }
        }
        let dominator = dominators(&order, &position, &predecessors);
        Graph {
            successors,
            predecessors,
            order,
            position,
            dominator,
            post_dominator: Vec::new(),
        }
    }

    /// Dominators backwards, from a node behind all that have no successor.
    fn find_post_dominators(&mut self) {
        let Graph {
            successors,
            predecessors,
            order,
            ..
        } = &*self;
        let count = successors.len();
        let exit = count;
        let mut backwards = predecessors.clone();
        // Nodes of a loop without an end lead to none of these: they get no post-dominator, and nobody meets behind
        // them.
        let leaves = order.iter().filter(|node| successors[**node].is_empty());
        backwards.push(leaves.copied().collect());
        let back_order = reverse_post_order(count + 1, exit, |node| &backwards[node]);
        let mut back_position = vec![None; count + 1];
        for (index, node) in back_order.iter().enumerate() {
            back_position[*node] = Some(index);
        }
        let mut onwards = successors.clone();
        for node in order {
            if onwards[*node].is_empty() {
                onwards[*node].push(exit);
            }
        }
        onwards.push(Vec::new());
        let mut post_dominator = dominators(&back_order, &back_position, &onwards);
        post_dominator.truncate(count);
        for found in &mut post_dominator {
            *found = found.filter(|node| *node != exit);
        }
        self.post_dominator = post_dominator;
    }

    pub(crate) fn is_reachable(&self, node: usize) -> bool {
        self.position[node].is_some()
    }

    /// The nearest node that every way to this one goes through.
    pub(crate) fn immediate_dominator(&self, node: usize) -> Option<usize> {
        self.dominator[node].filter(|above| *above != node)
    }

    /// The nearest node that every way from this one goes through.
    pub(crate) fn immediate_post_dominator(&self, node: usize) -> Option<usize> {
        self.post_dominator[node]
    }

    pub(crate) fn dominates(&self, above: usize, mut node: usize) -> bool {
        loop {
            if node == above {
                return true;
            }
            match self.immediate_dominator(node) {
                Some(next) => node = next,
                None => return false,
            }
        }
    }

    /// Whether an edge leads back to the header of a loop, or to where the order has been before.
    pub(crate) fn is_back(&self, from: usize, to: usize) -> bool {
        // A block may lead to itself.
        matches!((self.position[from], self.position[to]), (Some(from), Some(to)) if to <= from)
    }

    /// The loops, outer ones first. None where a cycle can be entered at two places.
    pub(crate) fn loops(&self) -> Option<Vec<Loop>> {
        let mut loops: Vec<Loop> = Vec::new();
        // In reverse post-order the head of an outer loop comes before those inside.
        for header in &self.order {
            let mut inside = vec![false; self.successors.len()];
            inside[*header] = true;
            let mut stack: Vec<usize> = Vec::new();
            for latch in &self.predecessors[*header] {
                if self.is_back(*latch, *header) {
                    // Some way leads into the cycle past its head.
                    if !self.dominates(*header, *latch) {
                        return None;
                    }
                    if !inside[*latch] {
                        inside[*latch] = true;
                        stack.push(*latch);
                    }
                }
            }
            let is_loop = self.predecessors[*header]
                .iter()
                .any(|latch| self.is_back(*latch, *header));
            if !is_loop {
                continue;
            }
            while let Some(node) = stack.pop() {
                for before in &self.predecessors[node] {
                    if !inside[*before] {
                        inside[*before] = true;
                        stack.push(*before);
                    }
                }
            }
            let nodes = self.order.iter().copied().filter(|node| inside[*node]).collect();
            loops.push(Loop {
                header: *header,
                nodes,
            });
        }
        Some(loops)
    }
}

/// The loops of a graph, and what happens in one round of each.
///
/// Which node every way from another goes through is asked within a round: who goes back to the head of the loop first
/// comes there later than others do.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    pub(crate) loops: Vec<Loop>,
    /// For each loop its nodes, with a last one that all lead to who begin another round or leave the loop.
    rounds: Vec<Graph>,
    /// The nodes that each is left from.
    exits: Vec<Vec<usize>>,
}

impl Rounds {
    /// None where a cycle can be entered at two places.
    pub(crate) fn new(graph: &Graph) -> Option<Rounds> {
        Some(Rounds::of(graph, graph.loops()?))
    }

    /// With these loops.
    pub(crate) fn of(graph: &Graph, loops: Vec<Loop>) -> Rounds {
        let end = graph.successors.len();
        let rounds = loops.iter().map(|found| {
            let mut successors = vec![Vec::new(); end + 1];
            for node in &found.nodes {
                let all = &graph.successors[*node];
                let stays = |next: &usize| found.contains(*next) && *next != found.header;
                successors[*node] = all.iter().copied().filter(stays).collect();
                if successors[*node].len() < all.len() || all.is_empty() {
                    successors[*node].push(end);
                }
            }
            Graph::new(found.header, successors)
        });
        let rounds = rounds.collect();
        let leaves = |found: &Loop, node: &usize| {
            let all = &graph.successors[*node];
            all.is_empty() || all.iter().any(|next| !found.contains(*next))
        };
        let exits = loops.iter().map(|found| {
            let nodes = found.nodes.iter().copied();
            nodes.filter(|node| leaves(found, node)).collect()
        });
        let exits = exits.collect();
        Rounds { loops, rounds, exits }
    }

    /// The innermost loop around a node.
    pub(crate) fn innermost(&self, node: usize) -> Option<usize> {
        // Inner loops come behind those that they are in.
        self.loops.iter().rposition(|found| found.contains(node))
    }

    /// Where all meet who leave a node by different ways, in the same round of the innermost loop; none if they don't.
    pub(crate) fn meeting(&self, graph: &Graph, node: usize) -> Option<usize> {
        match self.innermost(node) {
            None => graph.immediate_post_dominator(node),
            Some(number) => self.meeting_in(number, node),
        }
    }

    /// The same in a round of a loop around the node.
    fn meeting_in(&self, number: usize, node: usize) -> Option<usize> {
        let round = &self.rounds[number];
        let end = round.successors.len() - 1;
        round.immediate_post_dominator(node).filter(|found| *found != end)
    }

    /// Whether all who come to a node come to another in the same round of the node's innermost loop.
    pub(crate) fn leads_to(&self, graph: &Graph, mut node: usize, below: usize) -> bool {
        let around = self.innermost(node);
        while node != below {
            let next = match around {
                None => graph.immediate_post_dominator(node),
                Some(number) => self.meeting_in(number, node),
            };
            let Some(next) = next else { return false };
            node = next;
        }
        true
    }

    /// Whether who leaves a node by different ways may leave a loop around it in one round, and go on in it by
    /// another.
    pub(crate) fn is_left_at(&self, number: usize, node: usize) -> bool {
        let found = &self.loops[number];
        if !found.contains(node) || self.meeting_in(number, node).is_some() {
            return false;
        }
        // Whether the loop can be left in this round.
        let round = &self.rounds[number];
        let mut seen = vec![false; round.successors.len()];
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            if self.exits[number].contains(&node) {
                return true;
            }
            stack.extend(&round.successors[node]);
        }
        false
    }
}

/// The blocks behind each block of a function, each once; none behind those that end something.
pub(crate) fn successors(function: &Function, ends: impl Fn(&Block) -> bool) -> Vec<Vec<usize>> {
    let blocks = function.blocks.iter().map(|block| {
        let mut behind: Vec<usize> = Vec::new();
        for BlockId(next) in block.terminator.successors() {
            if !ends(block) && !behind.contains(&(next as usize)) {
                behind.push(next as usize);
            }
        }
        behind
    });
    blocks.collect()
}

fn reverse_post_order<'s>(
    count: usize,
    entry: usize,
    successors: impl Fn(usize) -> &'s Vec<usize>,
) -> Vec<usize> {
    // With a stack of its own: how long a chain of blocks is, is for a file to choose.
    let mut seen = vec![false; count];
    let mut order = Vec::new();
    seen[entry] = true;
    // The first successor is visited last, so that it comes right behind.
    let mut stack = vec![(entry, successors(entry).len())];
    while let Some((node, left)) = stack.last_mut() {
        if *left == 0 {
            order.push(*node);
            stack.pop();
            continue;
        }
        *left -= 1;
        let next = successors(*node)[*left];
        if !seen[next] {
            seen[next] = true;
            stack.push((next, successors(next).len()));
        }
    }
    order.reverse();
    order
}

/// Cooper, Harvey and Kennedy: intersect what is known of the predecessors until nothing changes.
fn dominators(
    order: &[usize],
    position: &[Option<usize>],
    predecessors: &[Vec<usize>],
) -> Vec<Option<usize>> {
    let mut found: Vec<Option<usize>> = vec![None; predecessors.len()];
    if let Some(entry) = order.first() {
        found[*entry] = Some(*entry);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for node in order.iter().skip(1) {
            let mut meeting: Option<usize> = None;
            for before in &predecessors[*node] {
                // At first nothing is known of those that lead back; and of those that the entry does not reach,
                // nothing ever is.
                if found[*before].is_none() || position[*before].is_none() {
                    continue;
                }
                meeting = Some(match meeting {
                    None => *before,
                    Some(mut other) => {
                        let mut this = *before;
                        while this != other {
                            // What is later in the order goes up, for what dominates a node comes before it.
                            if position[this] > position[other] {
                                this = found[this].unwrap_or(other);
                            } else {
                                other = found[other].unwrap_or(this);
                            }
                        }
                        this
                    }
                });
            }
            if meeting != found[*node] {
                found[*node] = meeting;
                changed = true;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_with_a_branch_inside() {
        // 0 → 1 ⇄ (2 | 3) → 4 → 1, 1 → 5
        let graph = Graph::new(0, vec![vec![1], vec![2, 5], vec![3, 4], vec![4], vec![1], vec![]]);
        assert_eq!(graph.immediate_dominator(4), Some(2));
        assert_eq!(graph.immediate_post_dominator(2), Some(4));
        assert_eq!(graph.immediate_post_dominator(5), None);
        let loops = graph.loops().unwrap();
        assert_eq!(loops.len(), 1);
        assert_eq!(loops[0].header, 1);
        let mut nodes = loops[0].nodes.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, [1, 2, 3, 4]);
    }

    #[test]
    fn a_cycle_with_two_entries_has_no_loops() {
        let graph = Graph::new(0, vec![vec![1, 2], vec![2], vec![1, 3], vec![]]);
        assert_eq!(graph.loops(), None);
    }

    #[test]
    fn what_never_ends_has_no_end_to_meet_at() {
        let graph = Graph::new(0, vec![vec![1], vec![1]]);
        assert_eq!(graph.immediate_post_dominator(1), None);
        assert_eq!(graph.loops().unwrap()[0].nodes, [1]);
    }
}
