//! The plan of a kernel: everything that is decided before code is generated.

use std::collections::{BTreeSet, HashSet};

use offkit_kernel::ir::{BlockId, Function, Instruction, Module, Terminator, ValueId};

use crate::addresses;
use crate::counted::is_counted;
use crate::definitions::Definitions;
use crate::graph::{Graph, Rounds, successors};
use crate::interleave::{Interleaved, interleave};
use crate::regions::{self, Region, ends_at_barrier};
use crate::rows::reads_rows;
use crate::shapes::{self, Shapes};
use crate::{Refusal, Variant};

/// How a kernel is executed by vectors of work-items.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is made for.
    pub variant: Variant,
    /// The kernel's function; barriers end their blocks.
    pub function: Function,
    /// Which private memory is interleaved: offsets and strides of its addresses are for that already.
    pub interleaved: Interleaved,
    /// What the work-items of a vector agree on.
    pub shapes: Shapes,
    /// What is executed between barriers; the kernel begins with the first.
    pub regions: Vec<Region>,
    /// Whether reading rows is nearly all that its loops do, each work-item those of its own: one after the other does that
    /// better than a vector of them.
    pub reads_rows: bool,
    definitions: Definitions,
    /// The heads of loops that come to an end, as far as can be seen.
    counted: HashSet<BlockId>,
    /// The blocks of other loops.
    endless: HashSet<BlockId>,
}

impl Plan {
    /// Plans a kernel that [prepare](crate::prepare()) has made one function.
    ///
    /// # Errors
    /// Something that there is no plan for: a back end may try a width of 1.
    pub fn new(module: &Module, kernel: usize, variant: Variant) -> Result<Plan, Refusal> {
        let kernel = &module.kernels[kernel];
        let mut function = module.functions[kernel.function.0 as usize].clone();
        if function.blocks.is_empty() {
            return Err(Refusal(format!("kernel {} has no code", kernel.name)));
        }
        // First of all: graphs and definitions name blocks by their numbers.
        regions::split_at_barriers(&mut function);
        // A check has to tell how far an access is from the start of a variable.
        let interleaved = match variant.check_bounds {
            true => Interleaved::default(),
            false => interleave(module, &mut function, variant.width),
        };
        let mut addresses = addresses::addresses(&function);
        if variant.width > 1 && variant.narrow_ids {
            addresses::separate(module, &mut function, &mut addresses);
        }
        let graph = Graph::new(0, successors(&function, |_| false));
        let found = Rounds::new(&graph);
        let has_loops = found.is_some();
        let rounds = match found {
            Some(rounds) => rounds,
            // A single work-item parts from nobody, whatever loops there are.
            None if variant.width == 1 => Rounds::of(&graph, Vec::new()),
            None => return Err(Refusal("it has a loop that is entered at two places".to_owned())),
        };
        let definitions = Definitions::new(&function);
        // Values that differ since some work-items make them anew between two barriers, where others keep theirs.
        let mut renewed = BTreeSet::new();
        // What is renewed depends on the masks of regions, these on shapes, and shapes on what is renewed. The set
        // only grows, so this ends.
        let (shapes, regions) = loop {
            let shapes = shapes::shapes(
                module,
                &function,
                variant,
                (&graph, &rounds),
                (&definitions, &addresses),
                (&renewed, &interleaved),
            )?;
            let regions = regions::regions(&function, &graph, &shapes, &definitions)?;
            let known = renewed.len();
            if variant.width > 1 {
                renewed.extend(regions.iter().flat_map(|region| &region.renewed));
            }
            if renewed.len() == known {
                break (shapes, regions);
            }
        };
        let reads_rows = variant.width > 1 && reads_rows(module, &function, &rounds, &definitions, &shapes);
        let counted = rounds.loops.iter();
        let counted = counted.filter(|found| is_counted(module, &function, &graph, &definitions, found));
        let counted: HashSet<_> = counted.map(|found| BlockId(found.header as u32)).collect();
        let others = rounds.loops.iter();
        let others = others.filter(|found| !counted.contains(&BlockId(found.header as u32)));
        let endless: Vec<usize> = match has_loops {
            true => others.flat_map(|found| found.nodes.iter().copied()).collect(),
            // There may be loops, which nobody can tell.
            false => graph.order.clone(),
        };
        let endless = endless.into_iter().map(|block| BlockId(block as u32)).collect();
        Ok(Plan {
            variant,
            function,
            interleaved,
            shapes,
            regions,
            reads_rows,
            definitions,
            counted,
            endless,
        })
    }

    /// The instruction that gives a value; parameters, variables and phis have none.
    pub fn definition(&self, value: ValueId) -> Option<&Instruction> {
        self.definitions.instruction(&self.function, value)
    }

    /// The block that a value is made in; parameters and variables are there before.
    pub fn home(&self, value: ValueId) -> Option<BlockId> {
        self.definitions
            .of(value)
            .block()
            .map(|block| BlockId(block as u32))
    }

    /// Whether the loop with this head counts to a bound: it comes to an end, as far as can be seen.
    pub fn is_counted(&self, head: BlockId) -> bool {
        self.counted.contains(&head)
    }

    /// Whether a block is in a loop that doesn't count to a bound, or may be.
    pub fn may_repeat_forever(&self, block: BlockId) -> bool {
        self.endless.contains(&block)
    }

    /// The region behind a block that ends at a barrier.
    pub fn behind(&self, barrier: BlockId) -> Option<usize> {
        let block = &self.function.blocks[barrier.0 as usize];
        let Terminator::Jump(next) = block.terminator else {
            return None;
        };
        ends_at_barrier(block).then(|| self.regions.iter().position(|region| region.entry == next))?
    }
}
