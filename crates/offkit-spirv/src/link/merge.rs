//! The module that is being put together: new ids, and types and constants that are written once.

use std::collections::{HashMap, HashSet};

use crate::dr::{self, Instruction, Operand};
use crate::grammar::Op;

use super::Input;
use super::resolve::{Global, Resolution};

/// Puts the instructions of all modules into one.
///
/// An id is renumbered when it is first seen, by definition or use. A definition that is equal to one already there,
/// and whose id was not used before, takes over the id of the other and is not written again.
pub(super) struct Merger<'a> {
    pub(super) inputs: &'a [Input<'a>],
    /// The new ids of each module.
    ids: Vec<HashMap<u32, u32>>,
    next_id: u32,
    /// Ids of each module whose definition is not written, so that their names and decorations are not either.
    dropped: Vec<HashSet<u32>>,
    known: HashMap<Key, u32>,
    pub(super) module: dr::Module,
    /// Types, constants and variables. Instructions that continue the one before stay with it.
    pub(super) globals: Vec<Vec<Instruction>>,
    /// The type of each variable and constant, and the definition of each type, by new id.
    definitions: HashMap<u32, Instruction>,
}

/// What makes two definitions the same: the instruction without its id, and what is said about it elsewhere.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    instruction: Instruction,
    said: Vec<Operand>,
}

impl<'a> Merger<'a> {
    pub(super) fn new(inputs: &'a [Input<'a>], resolution: &Resolution) -> Self {
        let mut merger = Self {
            inputs,
            ids: vec![HashMap::new(); inputs.len()],
            next_id: 1,
            dropped: vec![HashSet::new(); inputs.len()],
            known: HashMap::new(),
            module: dr::Module::default(),
            globals: Vec::new(),
            definitions: HashMap::new(),
        };
        for replacement in &resolution.replaced {
            merger.drop_id(replacement.from);
        }
        merger
    }

    /// An id that is not in use.
    pub(super) fn fresh_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        id
    }

    /// The new id of `old`.
    pub(super) fn id(&mut self, old: Global) -> u32 {
        if let Some(new) = self.ids.get(old.module).and_then(|ids| ids.get(&old.id)) {
            return *new;
        }
        let new = self.fresh_id();
        self.set_id(old, new);
        new
    }

    /// Makes every mention of `old` from here on one of `new`.
    pub(super) fn set_id(&mut self, old: Global, new: u32) {
        if let Some(ids) = self.ids.get_mut(old.module) {
            ids.insert(old.id, new);
        }
    }

    /// Leaves out the names and decorations of an id, since its definition is left out.
    pub(super) fn drop_id(&mut self, old: Global) {
        if let Some(dropped) = self.dropped.get_mut(old.module) {
            dropped.insert(old.id);
        }
    }

    /// Whether the definition of an id is left out.
    pub(super) fn is_dropped(&self, old: Global) -> bool {
        self.dropped
            .get(old.module)
            .is_some_and(|dropped| dropped.contains(&old.id))
    }

    /// The definition of a type, constant or variable by its new id.
    pub(super) fn definition(&self, id: u32) -> Option<&Instruction> {
        self.definitions.get(&id)
    }

    /// An instruction of a module with its ids renumbered.
    pub(super) fn renumber(&mut self, module: usize, instruction: &Instruction) -> Instruction {
        let mut renumbered = instruction.clone();
        for id in renumbered.operands.iter_mut().filter_map(Operand::id_ref_any_mut) {
            *id = self.id(Global { module, id: *id });
        }
        renumbered.result_type = renumbered.result_type.map(|id| self.id(Global { module, id }));
        renumbered.result_id = renumbered.result_id.map(|id| self.id(Global { module, id }));
        renumbered
    }

    /// Renumbers a definition, or, if there is one like it already, lets its id be that one's.
    fn define(
        &mut self,
        module: usize,
        instruction: &Instruction,
        said: Vec<Operand>,
    ) -> Option<Instruction> {
        let mut renumbered = Instruction {
            result_id: None,
            ..instruction.clone()
        };
        renumbered = self.renumber(module, &renumbered);
        let Some(id) = instruction.result_id else {
            return Some(renumbered);
        };
        let old = Global { module, id };
        let key = Key {
            instruction: renumbered.clone(),
            said,
        };
        // An id that was mentioned before has its number in what was written already, and keeps it: such a definition
        // stays a second one.
        let is_new = !self.ids.get(module).is_some_and(|ids| ids.contains_key(&id));
        if let Some(&known) = self.known.get(&key).filter(|_| is_new) {
            self.set_id(old, known);
            self.drop_id(old);
            return None;
        }
        let new = self.id(old);
        self.known.entry(key).or_insert(new);
        renumbered.result_id = Some(new);
        Some(renumbered)
    }

    /// Adds an instruction to the types, constants and variables.
    pub(super) fn push_global(&mut self, unit: Vec<Instruction>) {
        if let Some((id, first)) = unit.first().and_then(|first| Some((first.result_id?, first))) {
            self.definitions.insert(id, first.clone());
        }
        self.globals.push(unit);
    }

    /// Everything before the debug names: capabilities, extensions, instruction sets, memory model, strings.
    pub(super) fn merge_preamble(&mut self) {
        let mut seen = HashSet::new();
        for (module, input) in self.inputs.iter().enumerate() {
            let source = input.module;
            let new = |instruction: &&Instruction| seen.insert((*instruction).clone());
            let parts = source
                .capabilities
                .iter()
                .chain(&source.extensions)
                .chain(&source.debug_module_processed);
            for instruction in parts.filter(new) {
                let section = match instruction.opcode {
                    Op::Capability => &mut self.module.capabilities,
                    Op::Extension => &mut self.module.extensions,
                    _ => &mut self.module.debug_module_processed,
                };
                section.push(instruction.clone());
            }
            // These have ids that instructions name, and go through `define` for that.
            for instruction in &source.ext_inst_imports {
                let defined = self.define(module, instruction, Vec::new());
                self.module.ext_inst_imports.extend(defined);
            }
            self.merge_strings(module, source);
        }
        // All modules have the same, which was checked before.
        self.module.memory_model = self
            .inputs
            .first()
            .and_then(|input| input.module.memory_model.clone());
    }

    fn merge_strings(&mut self, module: usize, source: &dr::Module) {
        for instruction in &source.debug_string_source {
            let merged = match instruction.opcode {
                Op::String => self.define(module, instruction, Vec::new()),
                _ => Some(self.renumber(module, instruction)),
            };
            // Every module compiled by the same compiler says the same of its source language. A text is kept with
            // the instructions that continue it.
            let has_text = instruction
                .operands
                .iter()
                .any(|operand| matches!(operand, Operand::LiteralString(_)));
            let repeats = !has_text && self.module.debug_string_source.last() == merged.as_ref();
            self.module
                .debug_string_source
                .extend(merged.filter(|_| !repeats));
        }
    }

    /// The types, and the constants that lengths of arrays are made of.
    pub(super) fn merge_types(&mut self) {
        self.merge_globals(true);
    }

    /// The variables, and the constants that may refer to them.
    pub(super) fn merge_values(&mut self) {
        self.merge_globals(false);
    }

    fn merge_globals(&mut self, types: bool) {
        for (module, input) in self.inputs.iter().enumerate() {
            let mut instructions = input.module.types_global_values.iter().peekable();
            while let Some(instruction) = instructions.next() {
                let mut continued = Vec::new();
                while let Some(next) = instructions.next_if(|next| is_continuation(next.opcode)) {
                    continued.push(next);
                }
                let id = instruction.result_id.map(|id| Global { module, id });
                if is_type_or_scalar(instruction.opcode) != types || id.is_some_and(|id| self.is_dropped(id))
                {
                    continue;
                }
                let unit = match input.identity(instruction).filter(|_| continued.is_empty()) {
                    Some(said) => match self.define(module, instruction, said) {
                        Some(defined) => vec![defined],
                        None => continue,
                    },
                    None => {
                        let unit = std::iter::once(instruction).chain(continued);
                        unit.map(|instruction| self.renumber(module, instruction))
                            .collect()
                    }
                };
                self.push_global(unit);
            }
        }
    }

    /// The entry points and their execution modes.
    pub(super) fn merge_entry_points(&mut self) {
        for (module, input) in self.inputs.iter().enumerate() {
            for instruction in &input.module.entry_points {
                let renumbered = self.renumber(module, instruction);
                self.module.entry_points.push(renumbered);
            }
            for instruction in &input.module.execution_modes {
                let renumbered = self.renumber(module, instruction);
                self.module.execution_modes.push(renumbered);
            }
        }
    }

    /// The merged module without its header, and the first id that is not in use.
    pub(super) fn into_parts(self) -> (dr::Module, Vec<Vec<Instruction>>, u32) {
        (self.module, self.globals, self.next_id)
    }
}

/// What types are made of: types and constants that refer to nothing but types.
fn is_type_or_scalar(op: Op) -> bool {
    op.is_type()
        || matches!(
            op,
            Op::ConstantTrue
                | Op::ConstantFalse
                | Op::Constant
                | Op::ConstantNull
                | Op::SpecConstantTrue
                | Op::SpecConstantFalse
                | Op::SpecConstant
        )
}

/// Whether an instruction continues the list of operands of the one before.
fn is_continuation(op: Op) -> bool {
    matches!(
        op,
        Op::TypeStructContinuedINTEL
            | Op::ConstantCompositeContinuedINTEL
            | Op::SpecConstantCompositeContinuedINTEL
    )
}

impl Input<'_> {
    /// What is said elsewhere about a definition that may be merged with an equal one: its decorations, and for a
    /// struct its name, which keeps two structs of the source apart that have the same members. None when the
    /// definition has to stay its own.
    fn identity(&self, instruction: &Instruction) -> Option<Vec<Operand>> {
        let op = instruction.opcode;
        let id = instruction.result_id?;
        if op == Op::Variable {
            // The built-in variables of all modules are one; the first module says how it is aligned.
            return Some(vec![Operand::BuiltIn(self.index.built_in(id)?)]);
        }
        let mergeable = op.is_type()
            || matches!(
                op,
                Op::ConstantTrue
                    | Op::ConstantFalse
                    | Op::Constant
                    | Op::ConstantNull
                    | Op::ConstantComposite
                    | Op::ConstantSampler
                    | Op::Undef
            );
        if !mergeable {
            return None;
        }
        let mut said: Vec<Operand> = self.index.decorations(id).flatten().cloned().collect();
        if op == Op::TypeStruct {
            said.extend(
                self.index
                    .name(id)
                    .map(|name| Operand::LiteralString(name.to_owned())),
            );
            said.extend(self.index.member_decorations(id).flatten().cloned());
        }
        // Ids mean something else in every module.
        said.iter()
            .all(|operand| operand.id_ref_any().is_none())
            .then_some(said)
    }
}
