//! From words to `rspirv`'s instructions.
//!
//! `rspirv`'s parser knows the grammar, but cannot be called directly: it panics on a string that reaches beyond the
//! end of the module and on some `OpSpecConstantOp`, so the lengths of all instructions are checked before it starts;
//! it misreads some operands, which are put right here; and its loader refuses instructions that are allowed outside
//! functions but not in its list, so there is another one here.

use std::collections::HashSet;

use rspirv::binary::{Consumer, ParseAction, ParseState, Parser};
use rspirv::dr::{self, Instruction, Operand};
use rspirv::grammar::reflect;
use spirv::Op;

use crate::error::ReadError;
use crate::limits::Limits;
use crate::operands::{InstructionSets, is_extended, is_spec_constant_op, parser_input, spec_constant_op};

/// Words of the module header.
pub(crate) const HEADER_WORDS: usize = 5;

/// Parses `words`, of which the first is known to be the magic number.
pub(crate) fn load(words: &[u32], limits: &Limits) -> Result<dr::Module, ReadError> {
    let &[magic, version, generator, bound, schema, ..] = words else {
        return Err(ReadError::Header { words: words.len() });
    };
    if !(0..=6).any(|minor| version == 0x0001_0000 | minor << 8) {
        return Err(ReadError::Version { found: version });
    }
    if bound > limits.max_id_bound {
        return Err(ReadError::Limit {
            what: "ids",
            found: bound as usize,
            limit: limits.max_id_bound as usize,
        });
    }
    let offsets = instruction_offsets(words)?;
    let mut loader = Loader::new(words, &offsets, bound);
    match Parser::new(&parser_input(words, &offsets), &mut loader).parse() {
        Ok(()) => {}
        // The loader has recorded its own error; everything else is the parser's.
        Err(ParseState::ConsumerStopRequested) => {}
        Err(error) => loader.fail(parser_problem(error)),
    }
    let mut module = loader.finish()?;
    module.header = Some(dr::ModuleHeader {
        magic_number: magic,
        version,
        generator,
        bound,
        reserved_word: schema,
    });
    Ok(module)
}

/// The offset in words of every instruction, with all lengths known to lie within the module.
fn instruction_offsets(words: &[u32]) -> Result<Vec<usize>, ReadError> {
    let mut offsets = Vec::new();
    let mut offset = HEADER_WORDS;
    while let Some(&word) = words.get(offset) {
        let length = (word >> 16) as usize;
        let remaining = words.len() - offset;
        if length == 0 || length > remaining {
            return Err(ReadError::InstructionLength {
                word: offset,
                instruction: opcode_name(word),
                length,
                remaining,
            });
        }
        offsets.push(offset);
        offset += length;
    }
    Ok(offsets)
}

/// The name of the opcode in the first word of an instruction, or its number when it has none.
pub(crate) fn opcode_name(first_word: u32) -> String {
    let opcode = first_word & 0xffff;
    match Op::from_u32(opcode) {
        Some(op) => format!("Op{op:?}"),
        None => format!("opcode {opcode}"),
    }
}

fn opcode(words: &[u32], offset: usize) -> u32 {
    words.get(offset).map_or(0, |word| word & 0xffff)
}

/// What the parser found wrong, without the offset, which is reported in words with the instruction.
fn parser_problem(error: ParseState) -> String {
    match error {
        ParseState::OpcodeUnknown(..) => "the opcode is not known".into(),
        ParseState::OperandExpected(..) => "operands are missing".into(),
        ParseState::OperandExceeded(..) => "there are more operands than the instruction takes".into(),
        ParseState::TypeUnsupported(..) => "the literal has a type of unsupported width".into(),
        ParseState::OperandError(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Sorts parsed instructions into the sections of a module.
struct Loader<'a> {
    words: &'a [u32],
    offsets: &'a [usize],
    bound: u32,
    /// Number of instructions that were taken without error.
    taken: usize,
    defined: HashSet<u32>,
    instruction_sets: InstructionSets,
    module: dr::Module,
    function: Option<dr::Function>,
    block: Option<dr::Block>,
    /// The last line mark inside a function but outside a block, to be put into the next block: `rspirv`'s functions
    /// have no place for it.
    line: Option<Instruction>,
    error: Option<ReadError>,
}

impl<'a> Loader<'a> {
    fn new(words: &'a [u32], offsets: &'a [usize], bound: u32) -> Self {
        Self {
            words,
            offsets,
            bound,
            taken: 0,
            defined: HashSet::new(),
            instruction_sets: InstructionSets::default(),
            module: dr::Module::new(),
            function: None,
            block: None,
            line: None,
            error: None,
        }
    }

    /// Offset and opcode name of the instruction at hand.
    fn position(&self) -> (usize, String) {
        let word = self.offsets.get(self.taken).copied().unwrap_or(self.words.len());
        (word, opcode_name(opcode(self.words, word)))
    }

    fn fail(&mut self, problem: impl Into<String>) {
        let (word, instruction) = self.position();
        self.error = Some(ReadError::Instruction {
            word,
            instruction,
            problem: problem.into(),
        });
    }

    fn finish(self) -> Result<dr::Module, ReadError> {
        match self.error {
            Some(error) => Err(error),
            None if self.function.is_some() => Err(ReadError::UnfinishedFunction),
            None => Ok(self.module),
        }
    }

    /// The instruction as it is in the module, where the parser misread it.
    fn put_right(&mut self, mut instruction: Instruction) -> Option<Instruction> {
        let offset = self.offsets.get(self.taken).copied().unwrap_or(self.words.len());
        if is_spec_constant_op(self.words, offset) {
            return spec_constant_op(&instruction);
        }
        if instruction.class.opcode == Op::ExtInstImport {
            self.instruction_sets.import(&instruction);
        } else if is_extended(&instruction) {
            self.instruction_sets.correct(&mut instruction);
        }
        Some(instruction)
    }

    fn check_ids(&mut self, instruction: &Instruction) -> Result<(), ReadError> {
        let operands = instruction.operands.iter().filter_map(Operand::id_ref_any);
        let mut ids = operands
            .chain(instruction.result_type)
            .chain(instruction.result_id);
        if let Some(id) = ids.find(|&id| id == 0 || id >= self.bound) {
            let (word, instruction) = self.position();
            return Err(ReadError::IdOutOfBounds {
                word,
                instruction,
                id,
                bound: self.bound,
            });
        }
        if let Some(id) = instruction.result_id
            && !self.defined.insert(id)
        {
            let (word, instruction) = self.position();
            return Err(ReadError::IdDefinedTwice {
                word,
                instruction,
                id,
            });
        }
        Ok(())
    }

    /// Puts an instruction into its section.
    fn place(&mut self, instruction: Instruction) -> Result<(), &'static str> {
        let module = &mut self.module;
        let op = instruction.class.opcode;
        match op {
            Op::Capability => module.capabilities.push(instruction),
            Op::Extension => module.extensions.push(instruction),
            Op::ExtInstImport => module.ext_inst_imports.push(instruction),
            Op::MemoryModel if module.memory_model.is_some() => return Err("there is a second memory model"),
            Op::MemoryModel => module.memory_model = Some(instruction),
            Op::EntryPoint => module.entry_points.push(instruction),
            Op::ExecutionMode | Op::ExecutionModeId => module.execution_modes.push(instruction),
            Op::String | Op::SourceExtension | Op::Source | Op::SourceContinued => {
                module.debug_string_source.push(instruction)
            }
            Op::Name | Op::MemberName => module.debug_names.push(instruction),
            Op::ModuleProcessed => module.debug_module_processed.push(instruction),
            _ if op.is_annotation() => module.annotations.push(instruction),
            Op::Function => {
                let function = dr::Function {
                    def: Some(instruction),
                    ..dr::Function::new()
                };
                if self.function.replace(function).is_some() {
                    return Err("a function starts inside another");
                }
            }
            _ => return self.place_in_function(instruction),
        }
        Ok(())
    }

    fn place_in_function(&mut self, instruction: Instruction) -> Result<(), &'static str> {
        let op = instruction.class.opcode;
        let Some(function) = &mut self.function else {
            if matches!(op, Op::FunctionParameter | Op::FunctionEnd | Op::Label)
                || reflect::is_block_terminator(op)
            {
                return Err("the instruction is not inside a function");
            }
            self.module.types_global_values.push(instruction);
            return Ok(());
        };
        match (&mut self.block, op) {
            (Some(_), Op::Label | Op::FunctionEnd | Op::FunctionParameter) => {
                return Err("the block before has no terminator");
            }
            (Some(block), _) => {
                block.instructions.push(instruction);
                if reflect::is_block_terminator(op) {
                    function.blocks.extend(self.block.take());
                }
            }
            (None, Op::FunctionParameter) => function.parameters.push(instruction),
            (None, Op::Label) => {
                self.block = Some(dr::Block {
                    label: Some(instruction),
                    instructions: self.line.take().into_iter().collect(),
                });
            }
            (None, Op::FunctionEnd) => {
                function.end = Some(instruction);
                self.module.functions.extend(self.function.take());
                self.line = None;
            }
            (None, Op::Line) => self.line = Some(instruction),
            (None, Op::NoLine) => self.line = None,
            (None, _) => return Err("the instruction is not inside a block"),
        }
        Ok(())
    }
}

impl Consumer for Loader<'_> {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, instruction: Instruction) -> ParseAction {
        let Some(instruction) = self.put_right(instruction) else {
            self.fail("the operation is not one that works on constants");
            return ParseAction::Stop;
        };
        if let Err(error) = self.check_ids(&instruction) {
            self.error = Some(error);
            return ParseAction::Stop;
        }
        if let Err(problem) = self.place(instruction) {
            self.fail(problem);
            return ParseAction::Stop;
        }
        self.taken += 1;
        ParseAction::Continue
    }
}
