//! Values that are nothing but addresses, and numbers that become some where they are used as others as well.
//!
//! What is nothing but an address keeps its stride where its 32-bit index may wrap; see [`Shapes::may_wrap`]. Of
//! `long j = y * width + x; if (j < n) out[j] = 0;` the comparison needs the number itself, of each work-item. So that the
//! address keeps its stride, it gets a conversion of its own.
//!
//! [`Shapes::may_wrap`]: crate::Shapes::may_wrap

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Function, Module, Operand, Operation, ValueId};
use offkit_spirv::grammar::Op;

use crate::definitions::{Definition, Definitions};

/// The values that are used as addresses of loads and stores, and for nothing else: pointers, and the indices that
/// they are computed from.
pub(crate) fn addresses(function: &Function) -> Vec<bool> {
    let mut found = vec![true; function.values.len()];
    // Everything is taken for an address until a use tells otherwise, so that addresses which go round in loops stay
    // some.
    let mut spoil = |operand: &Operand| {
        if let Operand::Value(value) = operand {
            found[value.0 as usize] = false;
        }
    };
    let mut uses: Vec<(Operand, Option<ValueId>)> = Vec::new();
    for block in &function.blocks {
        block
            .phis
            .iter()
            .flat_map(|phi| &phi.incoming)
            .for_each(|(_, operand)| spoil(operand));
        block.terminator.operand().iter().for_each(&mut spoil);
        for instruction in &block.instructions {
            let operands = &instruction.operands;
            match &instruction.operation {
                Operation::Load => {}
                Operation::Store => spoil(&operands[1]),
                operation if makes_addresses(operation) => {
                    uses.extend(operands.iter().map(|operand| (*operand, instruction.result)));
                }
                _ => operands.iter().for_each(&mut spoil),
            }
        }
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        // Backwards, so that one walk follows a chain from its end to its beginning, however long it is.
        for (operand, result) in uses.iter().rev() {
            if result.is_some_and(|result| !found[result.0 as usize])
                && let Operand::Value(value) = operand
                && std::mem::replace(&mut found[value.0 as usize], false)
            {
                changed = true;
            }
        }
    }
    found
}

/// Whether an operation is among those that addresses are computed with.
fn makes_addresses(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Address { .. }
            | Operation::Reinterpret
            | Operation::Elementwise(Op::IAdd | Op::ISub | Op::IMul | Op::ShiftLeftLogical)
            | Operation::Convert {
                kind: Conversion::Signed | Conversion::Unsigned,
                saturate: false,
                ..
            }
    )
}

/// Computes apart what is an address, or a part of one, and something else as well, from where a 32-bit index is extended.
/// The values that this makes are addresses too.
pub(crate) fn separate(module: &Module, function: &mut Function, is_address: &mut Vec<bool>) {
    let mut separation = Separation {
        is_address,
        is_extended: extended(module, function),
        definitions: Definitions::new(function),
        own: HashMap::new(),
    };
    // Backwards, so that all who want a value have been seen when the instruction comes that makes it.
    for block in (0..function.blocks.len()).rev() {
        let mut instructions = std::mem::take(&mut function.blocks[block].instructions);
        let mut reversed = Vec::with_capacity(instructions.len());
        while let Some(mut instruction) = instructions.pop() {
            let place = (block, instructions.len());
            let own = instruction.result.and_then(|result| separation.own.get(&result));
            if let Some(own) = own {
                let mut instruction = instruction.clone();
                instruction.result = Some(*own);
                separation.take_own(function, &mut instruction.operands, place);
                reversed.push(instruction);
            }
            let is_address = |result: ValueId| separation.is_address[result.0 as usize];
            let addresses = match &instruction.operation {
                Operation::Load | Operation::Store => 1,
                operation if makes_addresses(operation) && instruction.result.is_some_and(is_address) => {
                    instruction.operands.len()
                }
                _ => 0,
            };
            separation.take_own(function, &mut instruction.operands[..addresses], place);
            reversed.push(instruction);
        }
        reversed.reverse();
        function.blocks[block].instructions = reversed;
    }
}

struct Separation<'a> {
    /// Whether values are nothing but addresses.
    is_address: &'a mut Vec<bool>,
    /// Of the values that were there at first: whether they are made of 32-bit indices that are extended.
    is_extended: Vec<bool>,
    definitions: Definitions,
    /// The addresses' own of values that are something else as well.
    own: HashMap<ValueId, ValueId>,
}

impl Separation<'_> {
    /// Replaces what addresses at some place are made of by what is theirs alone.
    fn take_own(&mut self, function: &mut Function, operands: &mut [Operand], place: (usize, usize)) {
        for operand in operands {
            let Operand::Value(value) = operand else { continue };
            let index = value.0 as usize;
            // The instruction that makes it is still to come, and then makes it twice.
            let is_before = match self.definitions.of(*value) {
                Definition::Instruction(block, index) => (block, index) < place,
                _ => false,
            };
            if is_before && self.is_extended[index] && !self.is_address[index] {
                *value = *self.own.entry(*value).or_insert_with(|| {
                    let own = ValueId(function.values.len() as u32);
                    function.values.push(function.values[index]);
                    self.is_address.push(true);
                    own
                });
            }
        }
    }
}

/// The values that are made, by what makes addresses, of 32-bit indices that are extended.
fn extended(module: &Module, function: &Function) -> Vec<bool> {
    let bits = |kind| {
        let scalar = module.types.scalar(kind).filter(|scalar| scalar.is_integer());
        scalar.map(Scalar::bits)
    };
    let is_narrow = |operand: &Operand| bits(module.operand_type(function, *operand)) == Some(32);
    let mut found = vec![false; function.values.len()];
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        let (Some(result), true) = (instruction.result, makes_addresses(&instruction.operation)) else {
            continue;
        };
        let operands = &instruction.operands;
        let extends = match &instruction.operation {
            Operation::Convert { .. } => {
                is_narrow(&operands[0]) && bits(function.values[result.0 as usize]) == Some(64)
            }
            Operation::Address { .. } => operands[1..].iter().any(is_narrow),
            _ => false,
        };
        let from_extended = |operand: &Operand| match operand {
            Operand::Value(value) => found[value.0 as usize],
            Operand::Constant(_) => false,
        };
        found[result.0 as usize] = extends || operands.iter().any(from_extended);
    }
    found
}
