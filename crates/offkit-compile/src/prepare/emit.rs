//! New instructions.

use offkit_kernel::ir::{Attributes, Instruction, Line, Operand, Operation, TypeId, ValueId};

use super::body::Body;

/// Writes new instructions behind each other.
pub(super) struct Emit<'e> {
    pub(super) body: &'e mut Body,
    pub(super) code: &'e mut Vec<Instruction>,
    pub(super) line: Option<Line>,
}

impl Emit<'_> {
    pub(super) fn push(
        &mut self,
        result: Option<ValueId>,
        operation: Operation,
        operands: Vec<Operand>,
        attributes: Attributes,
    ) {
        self.code.push(Instruction {
            result,
            operation,
            operands,
            attributes,
            line: self.line,
        });
    }

    pub(super) fn value(&mut self, kind: TypeId, operation: Operation, operands: Vec<Operand>) -> Operand {
        let result = self.body.new_value(kind);
        self.push(Some(result), operation, operands, Attributes::default());
        Operand::Value(result)
    }

    pub(super) fn address(&mut self, base: Operand, offset: u64) -> Operand {
        // The address itself: a step of nothing would only be taken away again.
        if offset == 0 {
            return base;
        }
        let kind = self.body.kind(base);
        let strides = Vec::new();
        self.value(kind, Operation::Address { offset, strides }, vec![base])
    }

    pub(super) fn load(&mut self, address: Operand, kind: TypeId, attributes: Attributes) -> Operand {
        let result = self.body.new_value(kind);
        self.push(Some(result), Operation::Load, vec![address], attributes);
        Operand::Value(result)
    }

    pub(super) fn store(&mut self, address: Operand, value: Operand, attributes: Attributes) {
        self.push(None, Operation::Store, vec![address, value], attributes);
    }
}
