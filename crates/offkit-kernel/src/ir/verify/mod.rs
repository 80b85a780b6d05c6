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
use std::fmt::{self, Display, Formatter};

use super::dominators::Dominators;
use super::text::{Reference, Text};
use super::types::LARGEST_VALUE;
use super::{
    Block, BlockId, Constant, Function, Home, Instruction, Module, Operand, Terminator, Type, TypeId,
    ValueId, check_built_in,
};
use crate::ReadError;
use crate::builtins::{Scalar, truncate};

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The function that breaks it, if one does.
    pub function: Option<String>,
    /// What is wrong.
    pub what: String,
    pub(super) place: Option<Place>,
}

impl Display for Problem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.function {
            write!(formatter, "in function `{name}`, ")?;
        }
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}

impl From<Problem> for ReadError {
    fn from(problem: Problem) -> ReadError {
        ReadError::Malformed(problem.to_string())
    }
}

/// A function, block or instruction; they are ordered as they are in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    function: usize,
    block: Option<usize>,
    instruction: Option<usize>,
}

impl Place {
    pub(super) fn function(function: usize) -> Place {
        Place {
            function,
            block: None,
            instruction: None,
        }
    }

    pub(super) fn block(self, block: usize) -> Place {
        Place {
            block: Some(block),
            ..self
        }
    }

    pub(super) fn instruction(self, instruction: usize) -> Place {
        Place {
            instruction: Some(instruction),
            ..self
        }
    }
}

type Check<T = ()> = Result<T, String>;

impl Module {
    /// Checks that the module keeps the rules of the form: every number is of something that is there, every value is
    /// defined once and before its uses, and every operation has operands and a result that it can have.
    ///
    /// # Errors
    /// [`Problem`], the first one found.
    pub fn verify(&self) -> Result<(), Problem> {
        self.outside_functions().map_err(|what| Problem {
            function: None,
            what,
            place: None,
        })?;
        for (index, function) in self.functions.iter().enumerate() {
            let mut checker = Checker {
                module: self,
                function,
                place: Place::function(index),
            };
            checker.function().map_err(|what| Problem {
                function: Some(function.name.clone()),
                what: match checker.place.block {
                    Some(block) => format!("block ^{block}: {what}"),
                    None => what,
                },
                place: Some(checker.place),
            })?;
        }
        Ok(())
    }

    /// What belongs to no function.
    fn outside_functions(&self) -> Check {
        self.types.iter().try_for_each(|kind| self.refers(None, kind))?;
        for (index, constant) in self.constants.iter().enumerate() {
            self.constant(constant)
                .map_err(|what| format!("${index}: {what}"))?;
        }
        for (index, global) in self.globals.iter().enumerate() {
            self.refers(None, global)?;
            ensure!(
                global.align.is_power_of_two(),
                "&{index}: its alignment is no power of two"
            );
            if let Some(initializer) = global.initializer {
                let kind = self.constants[initializer.0 as usize].kind;
                let fits = self.types.layout(kind).size <= self.types.layout(global.kind).size;
                ensure!(fits, "&{index} is initialized with another type");
            }
            if let Home::Input(built_in) = global.home {
                let checked = check_built_in(built_in, &self.types, global.kind);
                checked.map_err(|error| format!("&{index}: {error}"))?;
            }
        }
        self.kernels
            .iter()
            .try_for_each(|kernel| self.refers(None, kernel))
    }

    fn constant(&self, constant: &Constant) -> Check {
        self.refers(None, constant)?;
        let Constant {
            kind,
            words,
            relocations,
        } = constant;
        let lanes = self.types.layout(*kind).lanes;
        ensure!(
            words.is_empty() || words.len() as u64 == lanes,
            "has {} words, its type {lanes}",
            words.len()
        );
        let fits = |scalar: Scalar, word: &u64| truncate(scalar, *word) == *word;
        let fit = match self.types.scalar(*kind) {
            Some(scalar) => words.iter().all(|word| fits(scalar, word)),
            // Not listed for these: zeros may be of a type with more scalars than fit into memory.
            None if words.is_empty() => true,
            None => self
                .types
                .all_leaves(*kind)
                .iter()
                .zip(words)
                .all(|(leaf, word)| fits(leaf.scalar, word)),
        };
        ensure!(fit, "a word is too wide");
        let ascend = relocations.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let inside = relocations
            .last()
            .is_none_or(|(last, _)| (*last as usize) < words.len());
        ensure!(
            ascend && inside,
            "addresses of words that are not there, or not in order"
        );
        Ok(())
    }

    /// Whether everything that is referred to is there.
    fn refers(&self, function: Option<&Function>, what: &impl Text) -> Check {
        let mut missing = None;
        what.visit(&mut |reference| {
            let (number, count, name) = match reference {
                Reference::Type(id) => (id, self.types.len(), "type #"),
                Reference::Constant(id) => (id, self.constants.len(), "constant $"),
                Reference::Global(id) => (id, self.globals.len(), "variable &"),
                Reference::Function(id) => (id, self.functions.len(), "function @"),
                Reference::File(id) => (id, self.files.len(), "file !"),
                Reference::ScopeList(id) => (id, self.scope_lists.len(), "list of scopes *"),
                Reference::Value(id) => (
                    id,
                    function.map_or(0, |function| function.values.len()),
                    "value %",
                ),
                Reference::Block(id) => (
                    id,
                    function.map_or(0, |function| function.blocks.len()),
                    "block ^",
                ),
            };
            if number as usize >= count {
                missing = Some(format!("there is no {name}{number}"));
            }
        });
        missing.map_or(Ok(()), Err)
    }
}

struct Checker<'m> {
    module: &'m Module,
    function: &'m Function,
    /// What is being checked.
    place: Place,
}

impl Checker<'_> {
    fn function(&mut self) -> Check {
        // First of all: everything behind this takes numbers for indices.
        self.references()?;
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
            self.place = Place::function(self.place.function).block(index);
            let reachable = dominators.is_reachable(id);
            let available = |operand: Operand, block: BlockId, before: usize| match operand {
                Operand::Constant(_) => true,
                Operand::Value(value) => match homes[value.0 as usize] {
                    // What an instruction gives is at one more than its place, phis and parameters are at zero: with
                    // one more than the place of who reads, an instruction does not see its own result.
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
                self.place.instruction = Some(at);
                let context = |what| match instruction.result {
                    Some(result) => format!("%{}: {what}", result.0),
                    None => format!("instruction {at}: {what}"),
                };
                self.operation(instruction).map_err(context)?;
                for operand in &instruction.operands {
                    // In what nothing leads to, every block comes before every other.
                    if reachable && !available(*operand, id, at + 1) {
                        return Err(context(format!("uses {operand} before it is there")));
                    }
                }
            }
            self.place.instruction = None;
            self.terminator(block)
                .map_err(|what| format!("its end: {what}"))?;
            if let Some(operand) = block.terminator.operand() {
                ensure!(
                    !reachable || available(operand, id, usize::MAX),
                    "its end uses {operand} before it is there"
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
            // Control comes into it from no block that a phi could name.
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
        if let Some(missing) = homes.iter().position(Option::is_none) {
            return Err(format!("%{missing} is not defined"));
        }
        Ok(homes)
    }

    /// Everything that the function refers to is there, and its values are small enough to be handled whole.
    fn references(&mut self) -> Check {
        let (module, function) = (self.module, self.function);
        module.refers(None, &function.result)?;
        module.refers(None, &function.values)?;
        for (index, parameter) in function.parameters.iter().enumerate() {
            let agree = function.values.get(index) == Some(&parameter.kind);
            ensure!(agree, "parameter %{index} is a value of another type");
        }
        for kind in &function.values {
            let lanes = module.types.layout(*kind).lanes;
            ensure!(
                lanes > 0 && lanes <= LARGEST_VALUE,
                "values of {lanes} components"
            );
        }
        let check = |what: &_| module.refers(Some(function), what);
        function.variables.iter().try_for_each(check)?;
        for (index, block) in function.blocks.iter().enumerate() {
            self.place = Place::function(self.place.function).block(index);
            for phi in &block.phis {
                module.refers(Some(function), &phi.incoming)?;
            }
            for (at, instruction) in block.instructions.iter().enumerate() {
                self.place.instruction = Some(at);
                let Instruction {
                    operation,
                    operands,
                    attributes,
                    line,
                    ..
                } = instruction;
                module.refers(Some(function), operation)?;
                module.refers(Some(function), operands)?;
                module.refers(Some(function), attributes)?;
                module.refers(Some(function), line)?;
            }
            self.place.instruction = None;
            module.refers(Some(function), &block.terminator)?;
            module.refers(Some(function), &block.merge)?;
            module.refers(Some(function), &block.line)?;
        }
        self.place = Place::function(self.place.function);
        Ok(())
    }

    fn predecessors(&self) -> Vec<BTreeSet<u32>> {
        // Sets, as a switch leads to one block for many values, and a phi names that block once.
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
        ensure!(agree, "{operand} has another type");
        Ok(())
    }

    fn one(&self, operand: Operand) -> Check {
        ensure!(self.lanes(operand) == 1, "{operand} is not a scalar");
        Ok(())
    }

    fn integer(&self, operand: Operand) -> Check {
        self.one(operand)?;
        ensure!(
            self.scalar(self.kind(operand))?.is_integer(),
            "{operand} is not an integer"
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
