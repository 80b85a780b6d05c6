//! A block cut in two.

use offkit_kernel::ir::{Block, BlockId, Function, Terminator};

/// Cuts a block in two, the second of which is new; the first jumps there.
pub(crate) fn split_block(function: &mut Function, index: usize, at: usize) -> BlockId {
    let behind = BlockId(function.blocks.len() as u32);
    let block = &mut function.blocks[index];
    let rest = Block {
        phis: Vec::new(),
        instructions: block.instructions.split_off(at),
        merge: block.merge.take(),
        terminator: std::mem::replace(&mut block.terminator, Terminator::Jump(behind)),
        line: block.line,
    };
    // The way there comes from the new block now; phis would look for it under the old number. A
    // block that leads to itself is one of these.
    for BlockId(successor) in rest.terminator.successors() {
        let phis = function.blocks[successor as usize].phis.iter_mut();
        for (from, _) in phis.flat_map(|phi| &mut phi.incoming) {
            if from.0 as usize == index {
                *from = behind;
            }
        }
    }
    function.blocks.push(rest);
    behind
}
