//! Which addresses are of which place in which variable, and what is accessed there.

use std::collections::HashMap;

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Instruction, Operand, Operation, TypeId, ValueId, scalar_size};
use offkit_spirv::grammar::OpenclStd100Op;

use super::copies::constant_copy;
use super::{atoms, extent};
use crate::prepare::body::Body;

/// Which addresses are of which place in which variable.
pub(super) struct Places {
    of: HashMap<ValueId, (usize, u64)>,
    /// Variables that something else may be done with than is understood here.
    pub(super) escaped: Vec<bool>,
    /// What is accessed of each variable.
    pub(super) accesses: Vec<Vec<Access>>,
}

/// An access of a variable.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) offset: u64,
    pub(super) what: What,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    /// A load or store of a value of a type.
    Value(TypeId),
    /// Something that needs these bytes in memory.
    Bytes(u64),
}

/// What an instruction does with a variable.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) variable: usize,
    /// Which operand has the address.
    operand: usize,
    pub(super) access: Access,
}

impl Places {
    /// The copies that are left are understood only if they are yet to be expanded.
    pub(super) fn of(body: &Body, has_copies: bool) -> Places {
        let variables = &body.function.variables;
        let mut places = Places {
            of: HashMap::new(),
            escaped: variables
                .iter()
                // Only long tables still have one: `inline` has made stores of the others.
                .map(|variable| variable.initializer.is_some())
                .collect(),
            accesses: vec![Vec::new(); variables.len()],
        };
        for (index, variable) in variables.iter().enumerate() {
            places.of.insert(variable.address, (index, 0));
        }
        // Blocks are in reverse post-order, so that addresses are made before they are used.
        for instruction in body.function.blocks.iter().flat_map(|block| &block.instructions) {
            if let (Some(result), Operation::Address { offset, strides }) =
                (instruction.result, &instruction.operation)
                && let Some((variable, start)) = places.place(instruction.operands[0])
                && strides.is_empty()
            {
                // With an index that isn't known yet, the address leads anywhere: it escapes below.
                places.of.insert(result, (variable, start.wrapping_add(*offset)));
            }
        }
        for block in &body.function.blocks {
            for phi in &block.phis {
                phi.incoming
                    .iter()
                    .for_each(|(_, operand)| places.escape(*operand));
            }
            for instruction in &block.instructions {
                if instruction
                    .result
                    .is_some_and(|result| places.of.contains_key(&result))
                {
                    continue;
                }
                let used = places.used(body, instruction);
                let is_copy = has_copies && constant_copy(body, instruction).is_some();
                for (at, operand) in instruction.operands.iter().enumerate() {
                    if used.is_none_or(|used| used.operand != at) && !is_copy {
                        places.escape(*operand);
                    }
                }
                if let Some(used) = used {
                    places.accesses[used.variable].push(used.access);
                }
            }
            if let Some(operand) = block.terminator.operand() {
                places.escape(operand);
            }
        }
        places
    }

    pub(super) fn place(&self, operand: Operand) -> Option<(usize, u64)> {
        match operand {
            Operand::Value(value) => self.of.get(&value).copied(),
            Operand::Constant(_) => None,
        }
    }

    /// The place, if all is known of the variable.
    pub(super) fn known(&self, operand: Operand) -> Option<(usize, u64)> {
        self.place(operand)
            .filter(|(variable, _)| !self.escaped[*variable])
    }

    fn escape(&mut self, operand: Operand) {
        if let Some((variable, _)) = self.place(operand) {
            self.escaped[variable] = true;
        }
    }

    /// What an instruction accesses, where that is understood.
    pub(super) fn used(&self, body: &Body, instruction: &Instruction) -> Option<Use> {
        let Instruction {
            operation, operands, ..
        } = instruction;
        let types = &body.module.types;
        let result = instruction.result.map(|result| body.value_kind(result));
        let volatile = instruction.attributes.volatile;
        let (operand, what) = match operation {
            Operation::Load => (0, What::Value(result?)),
            Operation::Store => (0, What::Value(body.kind(*operands.get(1)?))),
            // It keeps its bytes in memory, and no others.
            Operation::Atomic { scalar, .. } => (0, What::Bytes(scalar_size(*scalar))),
            Operation::Extended(op) => {
                let scalar = match *op {
                    // What these store through their pointer is an exponent, a quotient or a sign; of others the
                    // second result is like the first.
                    OpenclStd100Op::frexp | OpenclStd100Op::remquo | OpenclStd100Op::lgamma_r => Scalar::I32,
                    _ => types.scalar(result?)?,
                };
                let size = scalar_size(scalar) * u64::from(types.lanes(result?));
                (operands.len().checked_sub(1)?, What::Bytes(size))
            }
            _ => return None,
        };
        let (variable, offset) = self.place(*operands.get(operand)?)?;
        let what = match what {
            What::Value(kind) if volatile || atoms(body, kind).is_none() => {
                What::Bytes(types.layout(kind).size)
            }
            what => what,
        };
        let size = match what {
            // Without padding at the end, as of a vector of three: nobody reads or writes that.
            What::Value(kind) => types.layout(kind).size.min(extent(body, kind)),
            What::Bytes(size) => size,
        };
        // What reaches beyond the variable is an error that the device may find.
        let room = types.layout(body.function.variables[variable].kind).size;
        let inside = offset.checked_add(size).is_some_and(|end| end <= room);
        inside.then_some(Use {
            variable,
            operand,
            access: Access { offset, what },
        })
    }
}
