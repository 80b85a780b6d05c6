//! Source lines for modules of a code generator that writes none.
//!
//! LLVM 22's SPIR-V back end drops all source locations. So that they get through, whoever runs it puts a mark before
//! each instruction that comes from another line than the one before: a call of a function that is declared for that
//! line. [`put_lines`] makes `OpLine` of the calls, and leaves nothing of the functions.

#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::grammar::{Capability, Decoration, Op};

use crate::error::ReadError;
use crate::loader::HEADER_WORDS;
use crate::outline::{Instruction, Instructions, Words};

const LINKAGE: u32 = Decoration::LinkageAttributes.0;
const LINKAGE_CAPABILITY: u32 = Capability::Linkage.0;

/// The most bytes of a file's name: longer ones do not fit into an instruction.
const LONGEST_NAME: usize = 0xfff0 * 4;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The file's path.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, or 0 for the whole line.
    pub column: u32,
}

/// Replaces calls of marks by the source lines they stand for.
///
/// `marks` has the linkage names of the functions; each takes and returns nothing, and one without a place ends the
/// line before. The rest of the module stays as it is, byte for byte, but for the functions and what only they needed.
///
/// # Errors
///
/// [`ReadError`] when the bytes are not instructions of SPIR-V.
pub fn put_lines(module: &[u8], marks: &HashMap<String, Option<SourceLine>>) -> Result<Vec<u8>, ReadError> {
    let words = Words::of(module)?;
    let marked = Marked::find(words, marks)?;
    let mut writer = Writer::new(words);
    let mut in_mark = false;
    for instruction in Instructions::of(words) {
        let instruction = instruction?;
        if instruction.opcode == Op::Function {
            in_mark = instruction
                .operands
                .get(1)
                .is_some_and(|id| marked.functions.contains_key(&id));
        }
        if !in_mark {
            match marked.line_of(&instruction) {
                // Not written yet: where the code between two marks is gone, the second one alone
                // is of use.
                Some(line) => writer.pending = Some(line),
                None if marked.is_for_marks_only(&instruction) => {}
                None => writer.take(&instruction),
            }
        }
        in_mark &= instruction.opcode != Op::FunctionEnd;
    }
    Ok(writer.finish())
}

/// What a module has of marks.
#[derive(Default)]
struct Marked<'a> {
    /// What each mark stands for.
    functions: HashMap<u32, Option<&'a SourceLine>>,
    /// The results of calls, which have no value.
    calls: HashSet<u32>,
    /// The types of marks that are no other function's.
    types: HashSet<u32>,
    /// Whether something else has a linkage name.
    has_other_symbols: bool,
}

impl<'a> Marked<'a> {
    fn find(words: Words<'_>, marks: &'a HashMap<String, Option<SourceLine>>) -> Result<Self, ReadError> {
        let mut marked = Self::default();
        let mut used_types = HashSet::new();
        for instruction in Instructions::of(words) {
            let instruction = instruction?;
            let id = |index| instruction.operands.get(index).unwrap_or_default();
            match instruction.opcode {
                Op::Decorate if instruction.operands.get(1) == Some(LINKAGE) => {
                    let (name, _) = instruction.operands.skip(2).literal();
                    match marks.get(&*name.to_str()) {
                        Some(line) => {
                            marked.functions.insert(id(0), line.as_ref());
                        }
                        None => marked.has_other_symbols = true,
                    }
                }
                // Decorations come before functions, so that all marks are known by now.
                Op::Function if marked.functions.contains_key(&id(1)) => {
                    marked.types.insert(id(3));
                }
                Op::Function => {
                    used_types.insert(id(3));
                }
                Op::TypePointer => {
                    // A pointer to a function has its type, too.
                    used_types.insert(id(2));
                }
                Op::FunctionCall if marked.functions.contains_key(&id(2)) => {
                    marked.calls.insert(id(1));
                }
                _ => {}
            }
        }
        marked.types.retain(|id| !used_types.contains(id));
        Ok(marked)
    }

    /// What a call of a mark stands for.
    fn line_of(&self, instruction: &Instruction<'_>) -> Option<Option<&'a SourceLine>> {
        if instruction.opcode != Op::FunctionCall {
            return None;
        }
        self.functions.get(&instruction.operands.get(2)?).copied()
    }

    /// Whether an instruction outside functions is there for marks alone.
    fn is_for_marks_only(&self, instruction: &Instruction<'_>) -> bool {
        let first = instruction.operands.get(0).unwrap_or_default();
        match instruction.opcode {
            Op::Capability => {
                first == LINKAGE_CAPABILITY && !self.functions.is_empty() && !self.has_other_symbols
            }
            Op::Name | Op::Decorate => self.functions.contains_key(&first) || self.calls.contains(&first),
            Op::TypeFunction => self.types.contains(&first),
            _ => false,
        }
    }
}

/// A module as it is put together.
struct Writer<'data, 'line> {
    words: Words<'data>,
    /// What comes before the files' names.
    head: Vec<u32>,
    files: Vec<u32>,
    rest: Vec<u32>,
    ids: HashMap<&'line str, u32>,
    next_id: u32,
    /// The line that applies where the next instruction goes.
    current: Option<&'line SourceLine>,
    /// The line of the next instruction, where a mark told it.
    pending: Option<Option<&'line SourceLine>>,
}

impl<'data, 'line> Writer<'data, 'line> {
    fn new(words: Words<'data>) -> Self {
        Self {
            words,
            head: words.iter().take(HEADER_WORDS).collect(),
            files: Vec::new(),
            rest: Vec::new(),
            ids: HashMap::new(),
            next_id: words.get(3).unwrap_or_default(),
            current: None,
            pending: None,
        }
    }

    /// Takes an instruction over, with its line before it if that is another one.
    fn take(&mut self, instruction: &Instruction<'_>) {
        match instruction.opcode {
            Op::Capability
            | Op::Extension
            | Op::ExtInstImport
            | Op::MemoryModel
            | Op::EntryPoint
            | Op::ExecutionMode
            | Op::ExecutionModeId => {
                // Names of files go behind these, where SPIR-V has its strings, and are known only when all lines
                // are.
                return push(&mut self.head, instruction.opcode, instruction.operands.iter());
            }
            // Lines reach to the ends of their blocks.
            Op::Label => (self.current, self.pending) = (None, None),
            _ => {}
        }
        if let Some(line) = self.pending.take()
            && line != self.current
        {
            self.current = line;
            self.write_line();
        }
        push(&mut self.rest, instruction.opcode, instruction.operands.iter());
    }

    fn write_line(&mut self) {
        match self.current.and_then(|line| Some((line, self.file(&line.file)?))) {
            Some((line, file)) => push(
                &mut self.rest,
                Op::Line,
                [file, line.line, line.column].into_iter(),
            ),
            None => push(&mut self.rest, Op::NoLine, [].into_iter()),
        }
    }

    /// The id of a file's name.
    fn file(&mut self, name: &'line str) -> Option<u32> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        if name.len() > LONGEST_NAME {
            return None;
        }
        let id = self.next_id;
        self.next_id = id.checked_add(1)?;
        self.ids.insert(name, id);
        let mut bytes = name.as_bytes().to_vec();
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let (words, _) = bytes.as_chunks::<4>();
        let words = words.iter().map(|word| u32::from_le_bytes(*word));
        push(&mut self.files, Op::String, [id].into_iter().chain(words));
        Some(id)
    }

    fn finish(mut self) -> Vec<u8> {
        if let Some(bound) = self.head.get_mut(3) {
            *bound = self.next_id;
        }
        let words = [self.head, self.files, self.rest];
        let words = words.iter().flatten();
        words.flat_map(|word| self.words.bytes_of(*word)).collect()
    }
}

/// Writes an instruction.
fn push(code: &mut Vec<u32>, opcode: Op, operands: impl Iterator<Item = u32>) {
    let start = code.len();
    code.push(opcode.0);
    code.extend(operands);
    let length = code.len().saturating_sub(start);
    if let Some(first) = code.get_mut(start) {
        *first |= (length as u32) << 16;
    }
}
