//! From words to the sections of a module.

use std::collections::HashSet;

use crate::dr::{self, Instruction};
use crate::error::ReadError;
use crate::grammar::Op;
use crate::limits::Limits;
use crate::parse::Parser;

/// Words of the module header.
pub(crate) const HEADER_WORDS: usize = 5;

/// Parses `words`, of which the first is known to be the magic number.
pub(crate) fn load(words: &[u32], limits: &Limits) -> Result<dr::Module, ReadError> {
    let &[_, version, generator, bound, schema, ..] = words else {
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
    // Ids take two words at least each to be defined.
    let mut loader = Loader::new(bound, words.len() / 2);
    let mut at = HEADER_WORDS;
    while let Some(&first) = words.get(at) {
        let length = (first >> 16) as usize;
        let instruction = words
            .get(at..at.saturating_add(length))
            // A length of zero would keep the loader at one place for ever.
            .filter(|words| !words.is_empty());
        let Some(instruction) = instruction else {
            return Err(ReadError::InstructionLength {
                word: at,
                instruction: opcode_name(first),
                length,
                remaining: words.len().saturating_sub(at),
            });
        };
        loader.take(at, instruction)?;
        at = at.saturating_add(length);
    }
    let mut module = loader.finish()?;
    module.header = Some(dr::ModuleHeader {
        version,
        generator,
        bound,
        schema,
    });
    Ok(module)
}

/// The name of the opcode in the first word of an instruction, or its number when it has none.
pub(crate) fn opcode_name(first_word: u32) -> String {
    match Op(first_word & 0xffff) {
        op if op.name().is_some() => format!("Op{op}"),
        op => format!("opcode {op}"),
    }
}

/// Sorts parsed instructions into the sections of a module.
struct Loader {
    parser: Parser,
    bound: u32,
    defined: HashSet<u32>,
    module: dr::Module,
    function: Option<dr::Function>,
    block: Option<dr::Block>,
    /// The last line mark inside a function but outside a block, to be put into the next block: functions have no
    /// place for it.
    line: Option<Instruction>,
    /// Where the last instruction went.
    section: fn(&mut dr::Module) -> &mut Vec<Instruction>,
}

impl Loader {
    /// With room for as many ids as there can be.
    fn new(bound: u32, most_ids: usize) -> Self {
        // Both numbers are the file's own: a small file with a large bound must not reserve for
        // all of it.
        let ids = most_ids.min(bound as usize);
        Self {
            parser: Parser::with_room(ids),
            bound,
            defined: HashSet::with_capacity(ids),
            module: dr::Module::default(),
            function: None,
            block: None,
            line: None,
            section: |module| &mut module.capabilities,
        }
    }

    /// Takes the instruction that is at word `at`.
    fn take(&mut self, at: usize, words: &[u32]) -> Result<(), ReadError> {
        let name = || {
            words
                .first()
                .map_or_else(String::new, |first| opcode_name(*first))
        };
        let wrong = |problem: &str| ReadError::Instruction {
            word: at,
            instruction: name(),
            problem: problem.to_owned(),
        };
        let instruction = self.parser.instruction(words).map_err(wrong)?;
        // Whoever adds instructions numbers them from the bound on, and would give such an id out
        // again.
        if let Some(id) = instruction.ids().find(|&id| id == 0 || id >= self.bound) {
            return Err(ReadError::IdOutOfBounds {
                word: at,
                instruction: name(),
                id,
                bound: self.bound,
            });
        }
        if let Some(id) = instruction.result_id
            && !self.defined.insert(id)
        {
            return Err(ReadError::IdDefinedTwice {
                word: at,
                instruction: name(),
                id,
            });
        }
        self.place(instruction).map_err(wrong)
    }

    fn finish(self) -> Result<dr::Module, ReadError> {
        match self.function {
            Some(_) => Err(ReadError::UnfinishedFunction),
            None => Ok(self.module),
        }
    }

    /// Puts an instruction into its section.
    fn place(&mut self, instruction: Instruction) -> Result<(), &'static str> {
        let op = instruction.opcode;
        // By what it is, and not by where it stands: writing puts all into the prescribed order.
        self.section = match op {
            Op::Capability => |module| &mut module.capabilities,
            Op::Extension => |module| &mut module.extensions,
            Op::ExtInstImport => |module| &mut module.ext_inst_imports,
            Op::MemoryModel if self.module.memory_model.is_some() => {
                return Err("there is a second memory model");
            }
            Op::MemoryModel => {
                self.module.memory_model = Some(instruction);
                return Ok(());
            }
            Op::EntryPoint => |module| &mut module.entry_points,
            Op::ExecutionMode | Op::ExecutionModeId => |module| &mut module.execution_modes,
            Op::String | Op::SourceExtension | Op::Source | Op::SourceContinued => {
                |module| &mut module.debug_string_source
            }
            Op::Name | Op::MemberName => |module| &mut module.debug_names,
            Op::ModuleProcessed => |module| &mut module.debug_module_processed,
            _ if op.is_annotation() => |module| &mut module.annotations,
            // What is newer than the grammar stays with its neighbours.
            _ if op.name().is_none() && self.function.is_none() => self.section,
            Op::Function => {
                let function = dr::Function {
                    def: Some(instruction),
                    ..dr::Function::default()
                };
                return match self.function.replace(function) {
                    Some(_) => Err("a function starts inside another"),
                    None => Ok(()),
                };
            }
            _ => {
                self.section = |module| &mut module.types_global_values;
                return self.place_in_function(instruction);
            }
        };
        (self.section)(&mut self.module).push(instruction);
        Ok(())
    }

    fn place_in_function(&mut self, instruction: Instruction) -> Result<(), &'static str> {
        let op = instruction.opcode;
        let Some(function) = &mut self.function else {
            // Anything else may stand between types and constants: debug information and alias
            // scopes do, and so will what is newer.
            if matches!(op, Op::FunctionParameter | Op::FunctionEnd | Op::Label) || op.is_terminator() {
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
                if op.is_terminator() {
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
