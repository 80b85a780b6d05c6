//! Why a module could not be read.

use thiserror::Error;

/// Why bytes were not accepted as a SPIR-V module.
///
/// Offsets count 32-bit words from the start of the module, so the first instruction is at word 5.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The length is not a whole number of 32-bit words.
    #[error("SPIR-V is made of 32-bit words, but this has {length} bytes")]
    Length {
        /// Number of bytes given.
        length: usize,
    },
    /// There are fewer words than the five of the header.
    #[error("the SPIR-V header has 5 words, but there are only {words}")]
    Header {
        /// Number of words given.
        words: usize,
    },
    /// The first word is not the magic number in either byte order.
    #[error("word 0: expected the SPIR-V magic number 0x07230203, found {found:#010x}")]
    Magic {
        /// The first word, read little-endian.
        found: u32,
    },
    /// The version is none that this crate knows (1.0 to 1.6).
    #[error("word 1: expected SPIR-V version 1.0 to 1.6, found {found:#010x}")]
    Version {
        /// The version word.
        found: u32,
    },
    /// The module is larger than the limits allow.
    #[error("the module has {found} {what}, more than the limit of {limit}")]
    Limit {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// An instruction has a word count of zero or reaches beyond the end of the module.
    #[error(
        "word {word}: {instruction} has a length of {length} words, with {remaining} words left in the module"
    )]
    InstructionLength {
        /// Offset of the instruction.
        word: usize,
        /// Name or number of the opcode.
        instruction: String,
        /// The word count written in the instruction.
        length: usize,
        /// Words from the instruction to the end of the module.
        remaining: usize,
    },
    /// An instruction does not follow the SPIR-V grammar, or stands where it must not.
    #[error("word {word}: {instruction}: {problem}")]
    Instruction {
        /// Offset of the instruction.
        word: usize,
        /// Name or number of the opcode.
        instruction: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An id is zero or not below the bound given in the header.
    #[error("word {word}: {instruction} uses id {id}, outside 1..{bound}")]
    IdOutOfBounds {
        /// Offset of the instruction.
        word: usize,
        /// Name of the opcode.
        instruction: String,
        /// The id found.
        id: u32,
        /// The bound in the header.
        bound: u32,
    },
    /// Two instructions define the same id.
    #[error("word {word}: {instruction} defines id {id}, which is already defined")]
    IdDefinedTwice {
        /// Offset of the second definition.
        word: usize,
        /// Name of the opcode.
        instruction: String,
        /// The id found.
        id: u32,
    },
    /// The module ends inside a function.
    #[error("the module ends inside a function")]
    UnfinishedFunction,
}
