//! Where the values of a function are defined.

use offkit_kernel::ir::{Function, ValueId};

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
}
