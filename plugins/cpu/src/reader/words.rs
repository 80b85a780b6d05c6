//! The binary form: checks that come before the grammar, and the way into rspirv.

use std::collections::{HashMap, HashSet};

use rspirv::binary::{Consumer, ParseAction, ParseState};
use rspirv::dr;
use spirv::Op;

use crate::error::BuildError;

/// A module as rspirv sees it.
pub(super) struct Parsed {
    pub(super) module: dr::Module,
    /// The opcodes of `OpSpecConstantOp`, by result id. rspirv 0.13 reads exactly one of each variable
    /// operand there, so the instructions are handed to it as `OpSpecConstantComposite` whose first
    /// constituent is the opcode.
    pub(super) constant_operations: HashMap<u32, Op>,
}

const HEADER_WORDS: usize = 5;

/// Reads the binary form.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, BuildError> {
    let mut words = words_of(bytes)?;
    let mut constant_operations = HashMap::new();
    let mut debug_sets = HashSet::new();
    let mut at = HEADER_WORDS;
    while let Some(&first) = words.get(at) {
        let count = (first >> 16) as usize;
        let opcode = first & 0xffff;
        let offset = at * 4;
        let Some(instruction) = at
            .checked_add(count)
            .filter(|_| count > 0)
            .and_then(|end| words.get_mut(at..end))
        else {
            return Err(BuildError::malformed(format!(
                "the instruction at byte {offset} has {count} words, {} are left",
                words.len() - at
            )));
        };
        if Op::from_u32(opcode).is_none() {
            return Err(BuildError::unsupported(format!(
                "opcode {opcode} (at byte {offset})"
            )));
        }
        if opcode == Op::SpecConstantOp as u32 {
            if let [_, _, result, operation, ..] = *instruction {
                let operation = Op::from_u32(operation).ok_or_else(|| {
                    BuildError::malformed(format!(
                        "OpSpecConstantOp with opcode {operation} at byte {offset}"
                    ))
                })?;
                constant_operations.insert(result, operation);
                instruction[0] = (first & 0xffff_0000) | Op::SpecConstantComposite as u32;
            }
        } else if opcode == Op::ConstantNull as u32 && count > 3 {
            // LLVM 22 repeats the type behind a null event.
            instruction[0] = 3 << 16 | opcode;
            erase(&mut instruction[3..]);
        } else if opcode == Op::ExtInstImport as u32 {
            if let [_, result, name @ ..] = &*instruction
                && is_debug_set(name)
            {
                debug_sets.insert(*result);
                erase(instruction);
            }
        } else if opcode == Op::ExtInst as u32
            && let [_, _, _, set, ..] = &*instruction
            && debug_sets.contains(set)
        {
            erase(instruction);
        }
        at += count;
    }
    let mut loader = Loader(dr::Loader::new());
    rspirv::binary::parse_words(&words, &mut loader).map_err(|state| match state {
        ParseState::TypeUnsupported(offset, _) => BuildError::unsupported(format!(
            "integers and floats of such a width (a constant at byte {offset})"
        )),
        state => BuildError::malformed(state.to_string()),
    })?;
    Ok(Parsed {
        module: loader.0.module(),
        constant_operations,
    })
}

fn words_of(bytes: &[u8]) -> Result<Vec<u32>, BuildError> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    if chunks.len() < HEADER_WORDS {
        return Err(BuildError::malformed(format!(
            "{} bytes, a header alone has 20",
            bytes.len()
        )));
    }
    if !rest.is_empty() {
        return Err(BuildError::malformed(format!(
            "{} bytes, not a whole number of words",
            bytes.len()
        )));
    }
    let big_endian = match chunks[0] {
        [0x03, 0x02, 0x23, 0x07] => false,
        [0x07, 0x23, 0x02, 0x03] => true,
        found => {
            let found = u32::from_le_bytes(found);
            return Err(BuildError::malformed(format!(
                "magic number {found:#010x}, expected 0x07230203"
            )));
        }
    };
    let read = if big_endian {
        u32::from_be_bytes
    } else {
        u32::from_le_bytes
    };
    let words: Vec<u32> = chunks.iter().map(|chunk| read(*chunk)).collect();
    match words[1] {
        0x1_0000 | 0x1_0100 | 0x1_0200 | 0x1_0300 | 0x1_0400 | 0x1_0500 | 0x1_0600 => Ok(words),
        version => {
            let (major, minor) = (version >> 16, version >> 8 & 0xff);
            Err(BuildError::unsupported(format!("SPIR-V version {major}.{minor}")))
        }
    }
}

/// Instruction sets that only describe the source. They may stand where rspirv expects no instruction.
fn is_debug_set(name: &[u32]) -> bool {
    let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
    [
        &b"NonSemantic."[..],
        b"OpenCL.DebugInfo.",
        b"SPIRV.debug",
        b"DebugInfo",
    ]
    .iter()
    .any(|prefix| bytes.starts_with(prefix))
}

/// Leaves the byte offsets of what follows as they are.
fn erase(instruction: &mut [u32]) {
    instruction.fill(0x1_0000 | Op::Nop as u32);
}

/// rspirv's loader, without the instructions erased above and those that only describe aliasing.
struct Loader(dr::Loader);

impl Consumer for Loader {
    fn initialize(&mut self) -> ParseAction {
        self.0.initialize()
    }

    fn finalize(&mut self) -> ParseAction {
        self.0.finalize()
    }

    fn consume_header(&mut self, header: dr::ModuleHeader) -> ParseAction {
        self.0.consume_header(header)
    }

    fn consume_instruction(&mut self, instruction: dr::Instruction) -> ParseAction {
        match instruction.class.opcode {
            Op::Nop => ParseAction::Continue,
            // They stand among the annotations, where rspirv 0.13 expects no such instructions.
            Op::AliasDomainDeclINTEL | Op::AliasScopeDeclINTEL | Op::AliasScopeListDeclINTEL => {
                ParseAction::Continue
            }
            _ => self.0.consume_instruction(instruction),
        }
    }
}
