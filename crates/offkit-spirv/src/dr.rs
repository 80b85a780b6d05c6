//! The instructions of a module, sorted into the sections that SPIR-V prescribes.

use crate::grammar::*;

/// Most words of an instruction: its first word has their number in 16 bits.
pub(crate) const LONGEST_INSTRUCTION: usize = 0xffff;

/// A module.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the sections are SPIR-V's")]
pub struct Module {
    pub header: Option<ModuleHeader>,
    pub capabilities: Vec<Instruction>,
    pub extensions: Vec<Instruction>,
    pub ext_inst_imports: Vec<Instruction>,
    pub memory_model: Option<Instruction>,
    pub entry_points: Vec<Instruction>,
    pub execution_modes: Vec<Instruction>,
    pub debug_string_source: Vec<Instruction>,
    pub debug_names: Vec<Instruction>,
    pub debug_module_processed: Vec<Instruction>,
    pub annotations: Vec<Instruction>,
    pub types_global_values: Vec<Instruction>,
    pub functions: Vec<Function>,
}

/// The first words of a module, behind the magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are SPIR-V's")]
pub struct ModuleHeader {
    pub version: u32,
    pub generator: u32,
    pub bound: u32,
    pub schema: u32,
}

/// A function; without blocks it is defined elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// `OpFunction`.
    pub def: Option<Instruction>,
    /// `OpFunctionEnd`.
    pub end: Option<Instruction>,
    /// `OpFunctionParameter` for each parameter.
    pub parameters: Vec<Instruction>,
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A block of a function.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// `OpLabel`.
    pub label: Option<Instruction>,
    /// All that comes behind it, the terminator last.
    pub instructions: Vec<Instruction>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it does.
    pub opcode: Op,
    /// The id of the type of its result.
    pub result_type: Option<u32>,
    /// The id of its result.
    pub result_id: Option<u32>,
    /// Its other operands.
    pub operands: Vec<Operand>,
}

/// Declares the operands, with those that are enumerations of these types.
macro_rules! operands {
    ($($enumeration:ident)*) => {
        /// An operand of an instruction.
        ///
        /// Enumerations that nobody asks for by name are literals.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are SPIR-V's")]
        pub enum Operand {
            /// The id of what another instruction defines.
            IdRef(u32),
            LiteralBit32(u32),
            LiteralBit64(u64),
            LiteralString(String),
            /// The number of an instruction of an imported set.
            LiteralExtInstInteger(u32),
            /// The opcode of a computation on constants.
            LiteralSpecConstantOpInteger(Op),
            /// A word of an instruction that is newer than the grammar: nobody knows whether it is an id, so it stays as
            /// it is, and so must all ids of the module.
            Unknown(u32),
            $($enumeration($enumeration),)*
        }

        impl Operand {
            /// An operand of one word.
            pub(crate) fn of_word(kind: Kind, word: u32) -> Self {
                match kind {
                    Kind::Id => Self::IdRef(word),
                    $(Kind::$enumeration => Self::$enumeration($enumeration(word)),)*
                    _ => Self::LiteralBit32(word),
                }
            }

            /// Its only word; that of a text or of a number of 64 bits is the last of several.
            fn last_word(&self) -> u32 {
                match self {
                    Self::LiteralBit64(value) => (*value >> 32) as u32,
                    Self::LiteralString(text) => {
                        // It has what whole words leave, and at least one zero.
                        let (_, rest) = text.as_bytes().as_chunks::<4>();
                        let mut last = [0; 4];
                        last.iter_mut().zip(rest).for_each(|(byte, left)| *byte = *left);
                        u32::from_le_bytes(last)
                    }
                    Self::IdRef(word)
                    | Self::LiteralBit32(word)
                    | Self::LiteralExtInstInteger(word)
                    | Self::LiteralSpecConstantOpInteger(Op(word))
                    | Self::Unknown(word)
                    $(| Self::$enumeration($enumeration(word)))* => *word,
                }
            }
        }
    };
}

operands! {
    AccessQualifier AddressingModel BuiltIn Capability Decoration Dim ExecutionMode ExecutionModel FPRoundingMode
    FunctionParameterAttribute GroupOperation LinkageType MemoryModel StorageClass
}

impl Module {
    /// Every instruction, in the order in which they are written.
    pub fn all_inst_iter(&self) -> impl Iterator<Item = &Instruction> {
        self.global_inst_iter()
            .chain(self.functions.iter().flat_map(Function::all_inst_iter))
    }

    fn global_inst_iter(&self) -> impl Iterator<Item = &Instruction> {
        self.capabilities
            .iter()
            .chain(&self.extensions)
            .chain(&self.ext_inst_imports)
            .chain(&self.memory_model)
            .chain(&self.entry_points)
            .chain(&self.execution_modes)
            .chain(&self.debug_string_source)
            .chain(&self.debug_names)
            .chain(&self.debug_module_processed)
            .chain(&self.annotations)
            .chain(&self.types_global_values)
    }

    /// The words of the module. Its instructions must have room: each has at most 65,535 words.
    #[must_use]
    pub fn assemble(&self) -> Vec<u32> {
        let mut words = Vec::new();
        if let Some(header) = self.header {
            let ModuleHeader {
                version,
                generator,
                bound,
                schema,
            } = header;
            words.extend([MAGIC_NUMBER, version, generator, bound, schema]);
        }
        for instruction in self.all_inst_iter() {
            instruction.assemble_into(&mut words);
        }
        words
    }
}

impl Function {
    /// The id of the function.
    #[must_use]
    pub fn def_id(&self) -> Option<u32> {
        self.def.as_ref()?.result_id
    }

    /// Every instruction of the function, in order.
    pub fn all_inst_iter(&self) -> impl Iterator<Item = &Instruction> {
        let blocks = self.blocks.iter();
        let blocks = blocks.flat_map(|block| block.label.iter().chain(&block.instructions));
        let start = self.def.iter().chain(&self.parameters);
        start.chain(blocks).chain(&self.end)
    }
}

impl Instruction {
    /// An instruction of these parts.
    #[must_use]
    pub fn new(opcode: Op, result_type: Option<u32>, result_id: Option<u32>, operands: Vec<Operand>) -> Self {
        Self {
            opcode,
            result_type,
            result_id,
            operands,
        }
    }

    /// Every id that it mentions, the one it defines last.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        let operands = self.operands.iter().filter_map(Operand::id_ref_any);
        operands.chain(self.result_type).chain(self.result_id)
    }

    /// Whether nobody knows where in it ids are.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        // What is unknown takes all words that are left, so that nothing comes behind it.
        matches!(self.operands.last(), Some(Operand::Unknown(_)))
    }

    /// How many words it has.
    pub(crate) fn words(&self) -> usize {
        let ids = usize::from(self.result_type.is_some()) + usize::from(self.result_id.is_some());
        let operands = self.operands.iter().map(Operand::words);
        operands.fold(1 + ids, usize::saturating_add)
    }

    fn assemble_into(&self, words: &mut Vec<u32>) {
        let start = words.len();
        words.push(self.opcode.0);
        words.extend(self.result_type.into_iter().chain(self.result_id));
        for operand in &self.operands {
            operand.assemble_into(words);
        }
        let length = words.len().saturating_sub(start) as u32;
        if let Some(first) = words.get_mut(start) {
            *first |= length << 16;
        }
    }
}

impl Operand {
    /// The id, if it is one.
    #[must_use]
    pub fn id_ref_any(&self) -> Option<u32> {
        match self {
            Self::IdRef(id) => Some(*id),
            _ => None,
        }
    }

    /// The id, if it is one, to be changed.
    pub fn id_ref_any_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::IdRef(id) => Some(id),
            _ => None,
        }
    }

    /// How many words it has.
    fn words(&self) -> usize {
        match self {
            Self::LiteralBit64(_) => 2,
            // With the zero at its end.
            Self::LiteralString(text) => text.len() / 4 + 1,
            _ => 1,
        }
    }

    fn assemble_into(&self, words: &mut Vec<u32>) {
        match self {
            // SPIR-V has the low half of a number first.
            Self::LiteralBit64(value) => words.push(*value as u32),
            Self::LiteralString(text) => {
                let (whole, _) = text.as_bytes().as_chunks::<4>();
                words.extend(whole.iter().map(|bytes| u32::from_le_bytes(*bytes)));
            }
            _ => {}
        }
        words.push(self.last_word());
    }
}

impl ModuleHeader {
    /// The header of a module of SPIR-V 1.0 by an unknown tool.
    #[must_use]
    pub fn new(bound: u32) -> Self {
        Self {
            version: 0x0001_0000,
            generator: 0,
            bound,
            schema: 0,
        }
    }
}
