//! A module in memory: reading it from bytes and writing it back.

use crate::dr;

use crate::error::ReadError;
use crate::grammar::MAGIC_NUMBER;
use crate::limits::Limits;
use crate::loader;
use crate::outline;
use crate::quantity;

/// The order of the bytes in each word of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first; what every known compiler writes.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The byte order of a module, by its first word.
    pub(crate) fn of_magic(word: [u8; 4]) -> Result<Self, ReadError> {
        match u32::from_le_bytes(word) {
            MAGIC_NUMBER => Ok(Self::Little),
            found if found.swap_bytes() == MAGIC_NUMBER => Ok(Self::Big),
            found => Err(ReadError::Magic { found }),
        }
    }
}

/// The version of SPIR-V a module is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Major version; always 1 so far.
    pub major: u8,
    /// Minor version, 0 to 6.
    pub minor: u8,
}

impl Version {
    /// The version in the second word of a module.
    pub(crate) fn of_word(word: u32) -> Self {
        let [_, major, minor, _] = word.to_be_bytes();
        Self { major, minor }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The tool that wrote a module, from the third word of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generator {
    /// The number the tool is registered under (high 16 bits).
    pub tool: u16,
    /// The version of the tool, in the tool's own numbering (low 16 bits).
    pub version: u16,
}

impl Generator {
    /// The tool in the third word of a module.
    pub(crate) fn of_word(word: u32) -> Self {
        Self {
            tool: (word >> 16) as u16,
            version: (word & 0xffff) as u16,
        }
    }

    /// The registered name of the tool, for those that write modules for OpenCL-style devices.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.tool {
            6 => "Khronos LLVM/SPIR-V Translator",
            7 => "Khronos SPIR-V Tools Assembler",
            8 => "Khronos Glslang Reference Front End",
            14 => "Google Spiregg",
            15 => "Google rspirv",
            17 => "Khronos SPIR-V Tools Linker",
            21 => "Google Clspv",
            22 => "Google MLIR SPIR-V Serializer",
            30 => "Mesa-IR/SPIR-V Translator",
            43 => "LLVM SPIR-V Backend",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} {}", self.version),
            None => write!(f, "tool {} {}", self.tool, self.version),
        }
    }
}

/// A SPIR-V module, parsed.
///
/// Its instructions are [`Module::dr`]; the reader takes hostile bytes, and the writer gives back the bytes that were
/// read when nothing was changed in between.
#[derive(Clone, Debug)]
pub struct Module {
    dr: dr::Module,
    byte_order: ByteOrder,
    /// The words as read, until something is changed. Assembling the parsed module need not give them again: it groups
    /// instructions by section, and drops the padding of strings and line marks between functions.
    original: Option<Vec<u32>>,
}

impl Module {
    /// Reads a module in either byte order, within the default [`Limits`].
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the bytes are not a well-formed module; see [`Module::from_bytes_with`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        Self::from_bytes_with(bytes, &Limits::default())
    }

    /// Reads a module in either byte order.
    ///
    /// Checked are: the header, the limits, the length of every instruction, the operands of every instruction that
    /// the grammar of SPIR-V 1.6 with its registered extensions knows, the nesting of functions and blocks, that ids
    /// are below the bound of the header and that none is defined twice. What is newer than the grammar passes: an
    /// enumerant as its number, an instruction as words. One thing that LLVM 22 writes against the grammar is
    /// accepted: operands behind a null event, which [`Module::dr`] does not have. Not checked is what the instructions
    /// mean; that is the work of [`validate`](crate::validate).
    ///
    /// # Errors
    ///
    /// [`ReadError`], which names the word offset and the opcode of the first instruction that is wrong.
    pub fn from_bytes_with(bytes: &[u8], limits: &Limits) -> Result<Self, ReadError> {
        let (words, byte_order) = words_of(bytes, limits)?;
        let dr = loader::load(&words, limits)?;
        quantity::check(&dr, limits)?;
        Ok(Self {
            dr,
            byte_order,
            original: Some(words),
        })
    }

    /// Takes a module made of instructions. A missing header is added: version 1.0, no generator. The id bound is
    /// raised to cover every id in use.
    pub fn from_dr(mut dr: dr::Module) -> Self {
        let ids = dr.all_inst_iter().flat_map(dr::Instruction::ids);
        let bound = ids.max().unwrap_or(0).saturating_add(1);
        let header = dr.header.get_or_insert_with(|| dr::ModuleHeader::new(0));
        // Never lower than it was: whoever made the instructions may have given out ids that none
        // has yet.
        header.bound = header.bound.max(bound);
        Self {
            dr,
            byte_order: ByteOrder::Little,
            original: None,
        }
    }

    /// The instructions of the module.
    ///
    /// Instructions outside functions that belong to no other section (global debug information, aliasing scopes)
    /// are among `types_global_values`, and `OpExecutionModeId` is among `execution_modes`. An instruction that is
    /// newer than the grammar is where the one before it is.
    pub fn dr(&self) -> &dr::Module {
        &self.dr
    }

    /// The instructions of the module, to be changed. From here on the module is written from its instructions,
    /// in the order of sections that SPIR-V prescribes.
    pub fn dr_mut(&mut self) -> &mut dr::Module {
        self.original = None;
        &mut self.dr
    }

    /// The version of SPIR-V the module is written in.
    pub fn version(&self) -> Version {
        Version::of_word(self.dr.header.map_or(0x0001_0000, |header| header.version))
    }

    /// The tool that wrote the module.
    pub fn generator(&self) -> Generator {
        Generator::of_word(self.dr.header.as_ref().map_or(0, |header| header.generator))
    }

    /// The triple of the target that the module is for: `spirv32-unknown-unknown` or `spirv64-unknown-unknown`, by the
    /// width of pointers, and `spirv-unknown-unknown` where they have none (`Logical`).
    pub fn triple(&self) -> Option<&'static str> {
        match self.dr.memory_model.as_ref()?.operands.first() {
            Some(dr::Operand::AddressingModel(model)) => outline::triple(*model),
            _ => None,
        }
    }

    /// The first id that is not in use; every id is below it.
    pub fn id_bound(&self) -> u32 {
        self.dr.header.as_ref().map_or(1, |header| header.bound)
    }

    /// The byte order the module was read in, and that [`Module::to_bytes`] writes.
    pub fn byte_order(&self) -> ByteOrder {
        self.byte_order
    }

    /// The module as 32-bit words, header included.
    pub fn to_words(&self) -> Vec<u32> {
        self.original.clone().unwrap_or_else(|| self.dr.assemble())
    }

    /// The module as bytes, in the byte order it was read in. A module that was not changed gives the bytes it was
    /// read from.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = match self.byte_order {
            ByteOrder::Little => u32::to_le_bytes,
            ByteOrder::Big => u32::to_be_bytes,
        };
        match &self.original {
            Some(words) => words.iter().copied().flat_map(bytes).collect(),
            None => self.dr.assemble().into_iter().flat_map(bytes).collect(),
        }
    }
}

/// The words of the module with the byte order undone, and the header checked as far as it needs no parsing.
fn words_of(bytes: &[u8], limits: &Limits) -> Result<(Vec<u32>, ByteOrder), ReadError> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(ReadError::Length { length: bytes.len() });
    }
    let Some(&first) = chunks.first() else {
        return Err(ReadError::Header { words: 0 });
    };
    let byte_order = ByteOrder::of_magic(first)?;
    // Before the words are copied: how large a file is must not decide how much memory is taken.
    if chunks.len() > limits.max_words {
        return Err(ReadError::Limit {
            what: "words",
            found: chunks.len(),
            limit: limits.max_words,
        });
    }
    let word = match byte_order {
        ByteOrder::Little => u32::from_le_bytes,
        ByteOrder::Big => u32::from_be_bytes,
    };
    Ok((chunks.iter().map(|chunk| word(*chunk)).collect(), byte_order))
}
