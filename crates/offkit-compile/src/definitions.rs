//! Where the values of a function are defined.

use offkit_kernel::ir::{BlockId, Function, Instruction, Operand, ValueId};

use crate::graph::Loop;

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    /// A parameter or a variable, or nothing that is left.
    Entry,
    /// A phi of a block.
    Phi(usize),
    /// An instruction, by its block and its place there.
    Instruction(usize, usize),
}

impl Definition {
    /// The block that it is in.
    pub(crate) fn block(self) -> Option<usize> {
        match self {
            Definition::Entry => None,
            Definition::Phi(block) | Definition::Instruction(block, _) => Some(block),
        }
    }
}

/// The definitions of all values.
#[derive(Clone, Debug)]
pub(crate) struct Definitions(Vec<Definition>);

impl Definitions {
    pub(crate) fn new(function: &Function) -> Definitions {
        let mut found = vec![Definition::Entry; function.values.len()];
        for (number, block) in function.blocks.iter().enumerate() {
            for phi in &block.phis {
                found[phi.result.0 as usize] = Definition::Phi(number);
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                if let Some(result) = instruction.result {
                    found[result.0 as usize] = Definition::Instruction(number, index);
                }
            }
        }
        Definitions(found)
    }

    pub(crate) fn of(&self, value: ValueId) -> Definition {
        self.0[value.0 as usize]
    }

    /// The instruction that gives a value of the function.
    pub(crate) fn instruction<'f>(&self, function: &'f Function, value: ValueId) -> Option<&'f Instruction> {
        match self.of(value) {
            Definition::Instruction(block, index) => Some(&function.blocks[block].instructions[index]),
            _ => None,
        }
    }
}

/// What a block reads: its instructions, its end, and the phis of what follows, which are set on the way there.
pub fn reads(function: &Function, block: BlockId) -> impl Iterator<Item = Operand> {
    let code = &function.blocks[block.0 as usize];
    let instructions = code
        .instructions
        .iter()
        .flat_map(|instruction| &instruction.operands);
    // A phi's operand is read here and not in the phi's block: it need not be there on other ways.
    let following = code.terminator.successors().into_iter();
    let phis = following.flat_map(|next| &function.blocks[next.0 as usize].phis);
    let given = phis
        .flat_map(|phi| &phi.incoming)
        .filter(move |(from, _)| *from == block);
    let given = given.map(|(_, operand)| *operand);
    instructions
        .copied()
        .chain(code.terminator.operand())
        .chain(given)
}

/// What the rounds of a loop make of a phi of its head for the next one; nothing for other values.
pub(crate) fn next_of<'f>(
    function: &'f Function,
    found: &'f Loop,
    value: ValueId,
) -> Option<impl Iterator<Item = Operand> + 'f> {
    let phis = &function.blocks[found.header].phis;
    let phi = phis.iter().find(|phi| phi.result == value)?;
    let back = phi.incoming.iter();
    let back = back.filter(|(from, _)| found.contains(from.0 as usize));
    Some(back.map(|(_, operand)| *operand))
}
