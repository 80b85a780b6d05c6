//! Checks that a module keeps the rules of the SSA form. What executes it relies on them: after this no
//! operand is out of its function's registers and no shape is a surprise.

/// Returns an error with this text unless something holds.
macro_rules! ensure {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}

mod operation;

use std::collections::BTreeSet;

use super::dominators::Dominators;
use super::{Block, BlockId, Function, Module, Operand, Terminator, Type, TypeId, ValueId};
use crate::builtins::Scalar;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub function: String,
    pub what: String,
}

type Check<T = ()> = Result<T, String>;

/// Checks every function.
pub fn verify(module: &Module) -> Result<(), Problem> {
    for function in &module.functions {
        let checker = Checker { module, function };
        checker.function().map_err(|what| Problem {
            function: function.name.clone(),
            what,
        })?;
    }
    Ok(())
}

struct Checker<'m> {
    module: &'m Module,
    function: &'m Function,
}

impl Checker<'_> {
    fn function(&self) -> Check {
        for variable in &self.function.variables {
            let lanes = |kind| self.module.types.layout(kind).lanes;
            if let Some(initializer) = variable.initializer {
                let found = self.module.constants[initializer.0 as usize].kind;
                ensure!(
                    lanes(found) == lanes(variable.kind),
                    "variable %{} is initialized with another type",
                    variable.address.0
                );
            }
        }
        let homes = self.definitions()?;
        let dominators = Dominators::of(self.function);
        let predecessors = self.predecessors();
        for (index, block) in self.function.blocks.iter().enumerate() {
            let id = BlockId(index as u32);
            let reachable = dominators.is_reachable(id);
            let available = |operand: Operand, block: BlockId, before: usize| match operand {
                Operand::Constant(_) => true,
                Operand::Value(value) => match homes[value.0 as usize] {
                    Some((home, at)) if home == block => at < before,
                    Some((home, _)) => dominators.dominates(home, block),
                    None => false,
                },
            };
            for phi in &block.phis {
                let sources: BTreeSet<u32> = phi.incoming.iter().map(|(from, _)| from.0).collect();
                ensure!(
                    sources.len() == phi.incoming.len() && sources.is_superset(&predecessors[index]),
                    "phi %{} does not name each predecessor once",
                    phi.result.0
                );
                for (from, operand) in &phi.incoming {
                    self.same(*operand, self.function.values[phi.result.0 as usize])?;
                    ensure!(
                        !dominators.is_reachable(*from) || available(*operand, *from, usize::MAX),
                        "phi %{} uses a value that is not there",
                        phi.result.0
                    );
                }
            }
            for (at, instruction) in block.instructions.iter().enumerate() {
                let result = instruction.result;
                let context = |what| match result {
                    Some(result) => format!("%{}: {what}", result.0),
                    None => format!("block {index}, instruction {at}: {what}"),
                };
                self.operation(&instruction.operation, result).map_err(context)?;
                for operand in instruction.operation.operands() {
                    if reachable && !available(operand, id, at + 1) {
                        return Err(context(format!("uses {operand:?} before it is there")));
                    }
                }
            }
            self.terminator(block)
                .map_err(|what| format!("the end of block {index}: {what}"))?;
            if let Some(operand) = block.terminator.operand() {
                ensure!(
                    !reachable || available(operand, id, usize::MAX),
                    "the end of block {index} uses {operand:?} before it is there"
                );
            }
        }
        Ok(())
    }

    /// Where each value is defined: the block, and one more than the index of the instruction.
    fn definitions(&self) -> Check<Vec<Option<(BlockId, usize)>>> {
        let mut homes = vec![None; self.function.values.len()];
        let mut define = |value: ValueId, home: (BlockId, usize)| {
            let slot = homes
                .get_mut(value.0 as usize)
                .ok_or_else(|| format!("no value %{}", value.0))?;
            ensure!(slot.replace(home).is_none(), "%{} is defined twice", value.0);
            Ok(())
        };
        let entry = BlockId(0);
        for index in 0..self.function.parameters.len() {
            define(ValueId(index as u32), (entry, 0))?;
        }
        for variable in &self.function.variables {
            define(variable.address, (entry, 0))?;
        }
        for (index, block) in self.function.blocks.iter().enumerate() {
            let id = BlockId(index as u32);
            ensure!(index > 0 || block.phis.is_empty(), "the entry block has phis");
            for phi in &block.phis {
                define(phi.result, (id, 0))?;
            }
            for (at, instruction) in block.instructions.iter().enumerate() {
                if let Some(result) = instruction.result {
                    define(result, (id, at + 1))?;
                }
            }
        }
        Ok(homes)
    }

    fn predecessors(&self) -> Vec<BTreeSet<u32>> {
        let mut predecessors = vec![BTreeSet::new(); self.function.blocks.len()];
        for (index, block) in self.function.blocks.iter().enumerate() {
            for BlockId(successor) in block.terminator.successors() {
                predecessors[successor as usize].insert(index as u32);
            }
        }
        predecessors
    }

    fn kind(&self, operand: Operand) -> TypeId {
        self.module.operand_type(self.function, operand)
    }

    fn lanes(&self, operand: Operand) -> u32 {
        self.module.operand_lanes(self.function, operand)
    }

    fn scalar(&self, kind: TypeId) -> Check<Scalar> {
        self.module
            .types
            .scalar(kind)
            .ok_or_else(|| "a composite where a scalar or vector is needed".to_owned())
    }

    /// The operand has a value's words, as many as another type.
    fn same(&self, operand: Operand, kind: TypeId) -> Check {
        let (found, wanted) = (self.lanes(operand), self.module.types.lanes(kind));
        let agree =
            found == wanted && self.module.types.scalar(self.kind(operand)) == self.module.types.scalar(kind);
        ensure!(agree, "{operand:?} has another type than the result");
        Ok(())
    }

    fn one(&self, operand: Operand) -> Check {
        ensure!(self.lanes(operand) == 1, "{operand:?} is not a scalar");
        Ok(())
    }

    fn integer(&self, operand: Operand) -> Check {
        self.one(operand)?;
        ensure!(
            self.scalar(self.kind(operand))?.is_integer(),
            "{operand:?} is not an integer"
        );
        Ok(())
    }

    fn pointer(&self, operand: Operand) -> Check {
        let is_pointer = self.module.types.is_pointer(self.kind(operand));
        ensure!(is_pointer, "{operand:?} is not a pointer");
        Ok(())
    }

    fn memory_type(&self, kind: TypeId) -> Check {
        ensure!(
            self.module.types.layout(kind).lanes > 0,
            "a type without values is accessed"
        );
        Ok(())
    }

    fn terminator(&self, block: &Block) -> Check {
        match &block.terminator {
            Terminator::Branch { condition, .. } => {
                self.one(*condition)?;
                let is_bool = self.scalar(self.kind(*condition))? == Scalar::Bool;
                ensure!(is_bool, "the condition is not a boolean");
                Ok(())
            }
            Terminator::Switch { selector, .. } => self.integer(*selector),
            Terminator::Return(Some(value)) => self.same(*value, self.function.result),
            Terminator::Return(None) => {
                let is_void = matches!(self.module.types.get(self.function.result), Type::Void);
                ensure!(is_void, "returns no value");
                Ok(())
            }
            Terminator::Jump(_) | Terminator::Unreachable => Ok(()),
        }
    }
}
