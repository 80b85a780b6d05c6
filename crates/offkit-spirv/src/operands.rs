//! Operands that `rspirv`'s parser takes for something else.
//!
//! It reads one operand where the grammar of the operation inside an `OpSpecConstantOp` allows any number, and it
//! takes every operand of an extended instruction for an id, although some are literals: the length of the vector in
//! `vloadn`, the rounding mode in `vstore_half_r`. And it refuses the operands that LLVM 22 writes where there are none.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{self, Instruction, Operand};
use rspirv::grammar::{
    ExtInstOp, INSTRUCTION_TABLE, InstructionTable, LogicalOperand, OperandKind, ext_inst_table,
};
use spirv::{FPRoundingMode, Op};

/// The sets of extended instructions that a module imports, by the id of the import.
#[derive(Default)]
pub(crate) struct InstructionSets {
    sets: HashMap<u32, InstructionSet>,
}

enum InstructionSet {
    /// A set whose grammar is known.
    Known(&'static InstructionTable<ExtInstOp>),
    /// A set without effect on the meaning of the module: by rule all operands are ids.
    NonSemantic,
    /// A set of which only the name is known.
    Unknown(String),
}

impl InstructionSets {
    /// The sets that a module imports.
    pub(crate) fn of(module: &dr::Module) -> Self {
        let mut sets = Self::default();
        for import in &module.ext_inst_imports {
            sets.import(import);
        }
        sets
    }

    /// Takes note of an `OpExtInstImport`.
    pub(crate) fn import(&mut self, instruction: &Instruction) {
        if let (Some(id), Some(Operand::LiteralString(name))) =
            (instruction.result_id, instruction.operands.first())
        {
            let set = match ext_inst_table(name) {
                _ if name.starts_with("NonSemantic.") => InstructionSet::NonSemantic,
                Some(table) => InstructionSet::Known(table),
                None => InstructionSet::Unknown(name.clone()),
            };
            self.sets.insert(id, set);
        }
    }

    /// Makes literals of the operands of an `OpExtInst` that are literals. Of an instruction that is not known all become
    /// literals, so that nobody takes a number for an id.
    pub(crate) fn correct(&self, instruction: &mut Instruction) {
        let [
            Operand::IdRef(set),
            Operand::LiteralExtInstInteger(number),
            operands @ ..,
        ] = instruction.operands.as_mut_slice()
        else {
            return;
        };
        let grammar = match self.sets.get(set) {
            Some(InstructionSet::NonSemantic) => return,
            Some(InstructionSet::Known(table)) => table.lookup_opcode(*number).map(|known| known.operands),
            Some(InstructionSet::Unknown(_)) | None => None,
        };
        let mut kinds = Kinds::new(grammar.unwrap_or_default());
        for operand in operands {
            let kind = kinds.next();
            if let Operand::IdRef(word) = *operand {
                *operand = match kind {
                    Some(kind) if is_id(kind) => Operand::IdRef(word),
                    Some(OperandKind::FPRoundingMode) => match FPRoundingMode::from_u32(word) {
                        Some(mode) => Operand::FPRoundingMode(mode),
                        None => Operand::LiteralBit32(word),
                    },
                    _ => Operand::LiteralBit32(word),
                };
            }
        }
    }

    /// What an `OpExtInst` is called when its operands are not known, and so cannot be renumbered.
    pub(crate) fn unknown(&self, instruction: &Instruction) -> Option<String> {
        let [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), _, ..] =
            instruction.operands.as_slice()
        else {
            return None;
        };
        match self.sets.get(set) {
            Some(InstructionSet::NonSemantic) => None,
            Some(InstructionSet::Known(table)) if table.lookup_opcode(*number).is_some() => None,
            Some(InstructionSet::Known(_)) | None => Some(format!("{number} of instruction set %{set}")),
            Some(InstructionSet::Unknown(name)) => Some(format!("{number} of instruction set {name}")),
        }
    }
}

/// The kinds of the operands of an instruction, of which the last may repeat; the validator knows which do.
struct Kinds {
    grammar: &'static [LogicalOperand],
    last: Option<OperandKind>,
}

impl Kinds {
    fn new(grammar: &'static [LogicalOperand]) -> Self {
        Self { grammar, last: None }
    }

    fn next(&mut self) -> Option<OperandKind> {
        while let Some((first, rest)) = self.grammar.split_first() {
            self.grammar = rest;
            if !matches!(first.kind, OperandKind::IdResultType | OperandKind::IdResult) {
                self.last = Some(first.kind);
                break;
            }
        }
        self.last
    }
}

/// Whether an instruction is one of a set that was imported.
pub(crate) fn is_extended(instruction: &Instruction) -> bool {
    matches!(
        instruction.class.opcode,
        Op::ExtInst | Op::ExtInstWithForwardRefsKHR
    )
}

fn is_id(kind: OperandKind) -> bool {
    matches!(
        kind,
        OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics
    )
}

/// Words of an `OpConstantNull`: its opcode, type and result.
const CONSTANT_NULL_WORDS: usize = 3;

/// The bytes shown to `rspirv`'s parser: the module with each `OpSpecConstantOp` called `OpConstantComposite`,
/// which has the same form as far as ids go and takes any number of operands ([`spec_constant_op`] undoes it), and
/// without the operands that LLVM 22 writes behind a null event, where the instruction takes none.
pub(crate) fn parser_input(words: &[u32], offsets: &[usize]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(words.len());
    let mut events = HashSet::new();
    let mut ends = offsets.iter().copied().skip(1);
    shown.extend_from_slice(
        words
            .get(..offsets.first().copied().unwrap_or(words.len()))
            .unwrap_or_default(),
    );
    for &offset in offsets {
        let end = ends.next().unwrap_or(words.len());
        let instruction = words.get(offset..end).unwrap_or_default();
        let Some((&first, operands)) = instruction.split_first() else {
            continue;
        };
        let op = Op::from_u32(first & 0xffff);
        match (op, operands) {
            (Some(Op::SpecConstantOp), _) => {
                shown.push(first & 0xffff_0000 | Op::ConstantComposite as u32);
                shown.extend_from_slice(operands);
            }
            (Some(Op::ConstantNull), &[event, result, _, ..]) if events.contains(&event) => {
                let length = (CONSTANT_NULL_WORDS as u32) << 16;
                shown.extend([length | Op::ConstantNull as u32, event, result]);
            }
            _ => {
                if let (Some(Op::TypeEvent), &[event]) = (op, operands) {
                    events.insert(event);
                }
                shown.extend_from_slice(instruction);
            }
        }
    }
    shown.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Whether an `OpSpecConstantOp` starts at `offset`.
pub(crate) fn is_spec_constant_op(words: &[u32], offset: usize) -> bool {
    words
        .get(offset)
        .is_some_and(|word| word & 0xffff == Op::SpecConstantOp as u32)
}

/// Undoes what [`parser_input`] did to one `OpSpecConstantOp`. None when the operation inside is unknown or takes
/// operands that are neither ids nor literal integers, as none does that is allowed there.
pub(crate) fn spec_constant_op(composite: &Instruction) -> Option<Instruction> {
    let mut words = composite.operands.iter().filter_map(Operand::id_ref_any);
    let operation = Op::from_u32(words.next()?)?;
    let mut operands = vec![Operand::LiteralSpecConstantOpInteger(operation)];
    let mut kinds = Kinds::new(INSTRUCTION_TABLE.get(operation).operands);
    for word in words {
        operands.push(match kinds.next()? {
            kind if is_id(kind) => Operand::IdRef(word),
            OperandKind::LiteralInteger => Operand::LiteralBit32(word),
            _ => return None,
        });
    }
    let Instruction {
        result_type,
        result_id,
        ..
    } = *composite;
    Some(Instruction::new(
        Op::SpecConstantOp,
        result_type,
        result_id,
        operands,
    ))
}
