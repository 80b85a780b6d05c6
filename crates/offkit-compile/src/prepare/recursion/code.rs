//! A block that is being written.

use std::collections::HashMap;

use offkit_kernel::ir::{Attributes, Instruction, Line, Operand, Operation, ValueId};

/// A block that is being written.
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    pub(super) line: Option<Line>,
    /// Values of a member that are there.
    pub(super) known: HashMap<ValueId, Operand>,
    /// Where the frame begins.
    pub(super) frame: Option<Operand>,
}

impl Code {
    pub(super) fn new(line: Option<Line>) -> Code {
        Code {
            instructions: Vec::new(),
            line,
            known: HashMap::new(),
            frame: None,
        }
    }

    /// Adds an instruction; its result is the first value where it has none.
    pub(super) fn push(
        &mut self,
        result: Option<ValueId>,
        operation: Operation,
        operands: Vec<Operand>,
    ) -> Operand {
        self.instructions.push(Instruction {
            result,
            operation,
            operands,
            attributes: Attributes::default(),
            line: self.line,
        });
        Operand::Value(result.unwrap_or(ValueId(0)))
    }

    pub(super) fn store(&mut self, address: Operand, value: Operand) {
        self.push(None, Operation::Store, vec![address, value]);
    }
}
