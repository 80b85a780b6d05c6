//! From the words of one instruction to its operands, by the grammar.
//!
//! What the grammar does not know is kept as words: an enumerant costs nothing, an instruction keeps its ids unknown
//! ([`Operand::Unknown`]).

use std::collections::{HashMap, HashSet};

use crate::dr::{Instruction, Operand};
use crate::grammar::{self, *};

/// What is wrong with an instruction.
pub(crate) type Problem = &'static str;

const MISSING: Problem = "operands are missing";

/// What earlier instructions say of later ones.
#[derive(Default)]
pub(crate) struct Parser {
    /// The type of each id that has one.
    types: HashMap<u32, u32>,
    /// The width of each numeric type.
    widths: HashMap<u32, u32>,
    events: HashSet<u32>,
    sets: HashMap<u32, InstructionSet>,
}

/// The words of an instruction that are left.
struct Words<'a>(&'a [u32]);

impl Words<'_> {
    fn next(&mut self) -> Result<u32, Problem> {
        let (first, rest) = self.0.split_first().ok_or(MISSING)?;
        self.0 = rest;
        Ok(*first)
    }

    fn all(&mut self, operand: fn(u32) -> Operand) -> impl Iterator<Item = Operand> {
        std::mem::take(&mut self.0).iter().map(move |word| operand(*word))
    }
}

impl Parser {
    /// With room for the types of so many ids.
    pub(crate) fn with_room(ids: usize) -> Self {
        Self {
            types: HashMap::with_capacity(ids),
            ..Self::default()
        }
    }

    /// Reads an instruction and takes note of what it says of those to come.
    pub(crate) fn instruction(&mut self, words: &[u32]) -> Result<Instruction, Problem> {
        let (first, rest) = words.split_first().ok_or(MISSING)?;
        let opcode = Op(first & 0xffff);
        let mut instruction = Instruction::new(opcode, None, None, Vec::new());
        let mut words = Words(rest);
        match opcode.operands() {
            Some(slots) => self.slots(slots, &mut words, &mut instruction)?,
            None => instruction.operands.extend(words.all(Operand::Unknown)),
        }
        // LLVM 22 writes operands behind a null event, where there are none.
        let is_null_event = opcode == Op::ConstantNull
            && instruction
                .result_type
                .is_some_and(|id| self.events.contains(&id));
        if !words.0.is_empty() && !is_null_event {
            return Err("there are more operands than the instruction takes");
        }
        self.note(&instruction);
        Ok(instruction)
    }

    fn note(&mut self, instruction: &Instruction) {
        let Some(id) = instruction.result_id else { return };
        self.types.extend(instruction.result_type.map(|kind| (id, kind)));
        match (instruction.opcode, instruction.operands.first()) {
            (Op::TypeInt | Op::TypeFloat, Some(Operand::LiteralBit32(width))) => {
                self.widths.insert(id, *width);
            }
            (Op::TypeEvent, _) => _ = self.events.insert(id),
            (Op::ExtInstImport, Some(Operand::LiteralString(name))) => {
                self.sets.extend(grammar::extended(name).map(|set| (id, set)));
            }
            _ => {}
        }
    }

    fn slots(
        &self,
        slots: &[Slot],
        words: &mut Words<'_>,
        instruction: &mut Instruction,
    ) -> Result<(), Problem> {
        for slot in slots {
            match slot {
                // What an unknown enumerant takes, it takes from all that is behind it.
                Slot::One(_) if words.0.is_empty() && instruction.has_unknown() => {}
                Slot::One(kind) => self.operand(*kind, words, instruction)?,
                Slot::Maybe(kind) => {
                    if !words.0.is_empty() {
                        self.operand(*kind, words, instruction)?;
                    }
                }
                Slot::Many(kind) => {
                    while !words.0.is_empty() {
                        self.operand(*kind, words, instruction)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn operand(
        &self,
        kind: Kind,
        words: &mut Words<'_>,
        instruction: &mut Instruction,
    ) -> Result<(), Problem> {
        let operand = match kind {
            Kind::Text => text(words)?,
            Kind::Number => self.number(instruction.result_type, words)?,
            Kind::Case => {
                let selector = instruction.operands.first().and_then(Operand::id_ref_any);
                let kind = selector.and_then(|id| self.types.get(&id)).copied();
                instruction.operands.push(self.number(kind, words)?);
                Operand::IdRef(words.next()?)
            }
            Kind::IdAndWord => {
                instruction.operands.push(Operand::IdRef(words.next()?));
                Operand::LiteralBit32(words.next()?)
            }
            Kind::IdAndId => {
                instruction.operands.push(Operand::IdRef(words.next()?));
                Operand::IdRef(words.next()?)
            }
            Kind::ResultType | Kind::Result => {
                let id = Some(words.next()?);
                match kind {
                    Kind::ResultType => instruction.result_type = id,
                    _ => instruction.result_id = id,
                }
                return Ok(());
            }
            Kind::Extended => return self.extended(words, instruction),
            Kind::Operation => return self.operation(words, instruction),
            _ => {
                let word = words.next()?;
                instruction.operands.push(Operand::of_word(kind, word));
                return self.parameters(kind, word, words, instruction);
            }
        };
        instruction.operands.push(operand);
        Ok(())
    }

    /// The operands that follow an enumerant, or the bits of a mask from the lowest on.
    fn parameters(
        &self,
        kind: Kind,
        word: u32,
        words: &mut Words<'_>,
        instruction: &mut Instruction,
    ) -> Result<(), Problem> {
        if !kind.is_mask() {
            return self.parameters_of(kind, word, words, instruction);
        }
        let mut bits = (0..u32::BITS).map(|bit| word & 1 << bit).filter(|bit| *bit != 0);
        bits.try_for_each(|bit| self.parameters_of(kind, bit, words, instruction))
    }

    fn parameters_of(
        &self,
        kind: Kind,
        enumerant: u32,
        words: &mut Words<'_>,
        instruction: &mut Instruction,
    ) -> Result<(), Problem> {
        if let Some(slots) = grammar::parameters(kind, enumerant) {
            return self.slots(slots, words, instruction);
        }
        // What a newer enumerant takes is not known, but whether it is ids: these have opcodes of their own.
        instruction.operands.extend(words.all(match instruction.opcode {
            Op::Decorate | Op::DecorateString | Op::MemberDecorate | Op::MemberDecorateString => {
                Operand::LiteralBit32
            }
            Op::ExecutionMode => Operand::LiteralBit32,
            Op::DecorateId | Op::ExecutionModeId => Operand::IdRef,
            _ => Operand::Unknown,
        }));
        Ok(())
    }

    /// An instruction of a set. The validator knows which operands may be missing or repeated.
    fn extended(&self, words: &mut Words<'_>, instruction: &mut Instruction) -> Result<(), Problem> {
        let set = match instruction.operands.last() {
            Some(Operand::IdRef(set)) => self.sets.get(set),
            _ => None,
        };
        let number = words.next()?;
        instruction.operands.push(Operand::LiteralExtInstInteger(number));
        let Some(slots) = set.and_then(|set| set(number)) else {
            instruction.operands.extend(words.all(Operand::Unknown));
            return Ok(());
        };
        let mut kinds = slots.iter().map(|slot| slot.kind());
        let mut kind = Kind::Word;
        while !words.0.is_empty() {
            // The last kind goes on: it is the one that may be repeated.
            kind = kinds.next().unwrap_or(kind);
            self.operand(kind, words, instruction)?;
        }
        Ok(())
    }

    /// A computation on constants.
    fn operation(&self, words: &mut Words<'_>, instruction: &mut Instruction) -> Result<(), Problem> {
        let operation = Op(words.next()?);
        instruction
            .operands
            .push(Operand::LiteralSpecConstantOpInteger(operation));
        let Some(slots) = operation.operands() else {
            instruction.operands.extend(words.all(Operand::Unknown));
            return Ok(());
        };
        match slots {
            // Not the computation itself once more: each word of a file could nest it one deeper.
            [Slot::One(Kind::ResultType), Slot::One(Kind::Result), slots @ ..]
                if operation != Op::SpecConstantOp =>
            {
                self.slots(slots, words, instruction)
            }
            _ => Err("the operation is not one that works on constants"),
        }
    }

    /// A number of type `kind`.
    fn number(&self, kind: Option<u32>, words: &mut Words<'_>) -> Result<Operand, Problem> {
        match kind.and_then(|id| self.widths.get(&id)) {
            Some(0..=32) => Ok(Operand::LiteralBit32(words.next()?)),
            Some(33..=64) => {
                // SPIR-V has the low word first, in either byte order.
                let low = words.next()?;
                Ok(Operand::LiteralBit64(
                    u64::from(low) | u64::from(words.next()?) << 32,
                ))
            }
            _ => Err("the literal has a type of unsupported width"),
        }
    }
}

fn text(words: &mut Words<'_>) -> Result<Operand, Problem> {
    // A zero byte ends the text, and zeros fill up its last word.
    let last = words.0.iter().position(|word| word.to_le_bytes().contains(&0));
    let (text, rest) = last
        .and_then(|last| words.0.split_at_checked(last.saturating_add(1)))
        .ok_or("the string has no end")?;
    words.0 = rest;
    let mut bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Operand::LiteralString(text)),
        Err(_) => Err("the string is not UTF-8"),
    }
}
