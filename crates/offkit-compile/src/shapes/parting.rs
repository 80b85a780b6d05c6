//! Where work-items of a vector part and meet again, and what differs between them there.

use offkit_kernel::ir::Operand;

use super::{Analysis, Shape};
use crate::graph::Loop;

impl Analysis<'_> {
    /// Marks the blocks where work-items meet that a varying branch has parted, and makes varying what leaves a loop
    /// that they leave one by one.
    pub(super) fn part(&mut self) {
        let function = self.function;
        for index in 0..self.graph.order.len() {
            let block = self.graph.order[index];
            if !self.shapes.parts(&function.blocks[block].terminator) {
                continue;
            }
            let end = self.rounds.meeting(self.graph, block);
            let mut starts = self.graph.successors[block].clone();
            let left_loops: Vec<usize> = (0..self.rounds.loops.len())
                .filter(|number| self.rounds.is_left_at(*number, block))
                .collect();
            for number in left_loops {
                let found = &self.rounds.loops[number];
                for node in &found.nodes {
                    for exit in self.graph.successors[*node]
                        .iter()
                        .filter(|exit| !found.contains(**exit))
                    {
                        starts.push(*exit);
                        // Who leaves by one way and who leaves by another meet here in different rounds.
                        let from_inside = self.graph.predecessors[*exit]
                            .iter()
                            .filter(|before| found.contains(**before));
                        if from_inside.count() > 1 {
                            self.join(*exit);
                        }
                    }
                }
                self.leave(number);
            }
            self.label(block, end, &starts);
        }
    }

    fn join(&mut self, block: usize) {
        if !std::mem::replace(&mut self.joins[block], true) {
            self.changed = true;
        }
    }

    /// Follows the ways from a branch: where two of them come together, work-items meet.
    // Each way has the label of the block that it began with. A block that two labels come to is a join, and what
    // goes on from there has a label of its own; LLVM's analysis of divergence finds joins in this way as well.
    fn label(&mut self, branch: usize, end: Option<usize>, starts: &[usize]) {
        let mut labels: Vec<Option<usize>> = vec![None; self.graph.successors.len()];
        for start in starts {
            if !self.graph.is_back(branch, *start) {
                labels[*start] = Some(*start);
            }
        }
        let mut back: Vec<Option<usize>> = vec![None; self.graph.successors.len()];
        for start in &self.graph.successors[branch] {
            if self.graph.is_back(branch, *start) {
                match back[*start] {
                    Some(other) if other != branch => self.join(*start),
                    _ => back[*start] = Some(branch),
                }
            }
        }
        for index in 0..self.graph.order.len() {
            let node = self.graph.order[index];
            let Some(label) = labels[node] else { continue };
            // Behind the place where all meet nobody is parted any more.
            if Some(node) == end {
                continue;
            }
            for next in 0..self.graph.successors[node].len() {
                let next = self.graph.successors[node][next];
                if self.graph.is_back(node, next) {
                    // The head of a loop around the branch: who gets there by two ways brings different values for
                    // the next round.
                    let around_branch = self
                        .rounds
                        .loops
                        .iter()
                        .any(|found| found.header == next && found.contains(branch));
                    if around_branch {
                        match back[next] {
                            Some(other) if other != label => self.join(next),
                            _ => back[next] = Some(label),
                        }
                    }
                    continue;
                }
                match labels[next] {
                    None => labels[next] = Some(label),
                    Some(other) if other == label => {}
                    Some(_) => {
                        labels[next] = Some(next);
                        self.join(next);
                    }
                }
            }
        }
    }

    /// What is defined in a loop that work-items leave one by one differs between them outside.
    fn leave(&mut self, number: usize) {
        let function = self.function;
        let found = self.rounds.loops[number].clone();
        for (index, block) in function.blocks.iter().enumerate() {
            if found.contains(index) || !self.graph.is_reachable(index) {
                continue;
            }
            let mut used: Vec<Operand> = Vec::new();
            used.extend(
                block
                    .instructions
                    .iter()
                    .flat_map(|instruction| &instruction.operands),
            );
            used.extend(block.terminator.operand());
            self.make_varying(&used, &found);
            for phi in &block.phis {
                let used: Vec<Operand> = phi.incoming.iter().map(|(_, operand)| *operand).collect();
                // The phi reads it on the way out, where work-items leave at different times, or still later.
                self.make_varying(&used, &found);
            }
        }
    }

    fn make_varying(&mut self, used: &[Operand], found: &Loop) {
        for operand in used {
            if let Operand::Value(value) = operand
                && self
                    .definitions
                    .of(*value)
                    .block()
                    .is_some_and(|block| found.contains(block))
            {
                self.set_all(*value, Shape::Varying);
            }
        }
    }
}
