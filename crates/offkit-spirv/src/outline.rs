//! What a module says of itself before its first function.
//!
//! The layout of modules puts capabilities, entry points, decorations, types and variables before all functions, so
//! that the code itself, nearly all of a module, is never touched. Nothing is copied but the facts: names stay where
//! they are until someone asks for one.

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

use offkit_image::target::triples;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use crate::grammar::{
    AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, LinkageType, MemoryModel, Op,
    SourceLanguage,
};

use crate::error::ReadError;
use crate::loader::{HEADER_WORDS, opcode_name};
use crate::module::{ByteOrder, Generator, Version};
use crate::symbols::{Linkage, SymbolKind, is_export, is_import};

const LINKAGE: u32 = Decoration::LinkageAttributes.0;
const BUILT_IN: u32 = Decoration::BuiltIn.0;

/// What a module says of itself before its first function: all that is needed to list, select and link it by name.
///
/// Reading one takes time and memory linear in the size of that part, whatever is in it, and never fails as a whole:
/// what could be read is there, and [`problem`](Self::problem) says what stopped the reader. To the questions that
/// [`reflect`](crate::reflect) answers as well (which kernels, imports and exports, what target), both give the same
/// answer for a well-formed module.
///
/// ```no_run
/// use offkit_spirv::Outline;
///
/// let bytes = std::fs::read("app.spv")?;
/// let outline = Outline::read(&bytes);
/// for kernel in outline.kernels() {
///     println!("{} for {}", kernel.name, outline.triple().unwrap_or("unknown"));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outline<'data> {
    /// The order of the bytes in each word; absent when there is no magic number.
    pub byte_order: Option<ByteOrder>,
    /// The version of SPIR-V it is written in; absent when the header is incomplete.
    pub version: Option<Version>,
    /// The tool that wrote it; absent when the header is incomplete.
    pub generator: Option<Generator>,
    /// The width of pointers.
    pub addressing_model: Option<AddressingModel>,
    /// The memory model; `OpenCL` for OpenCL-style devices.
    pub memory_model: Option<MemoryModel>,
    /// The languages it was written in, with their versions.
    pub sources: BTreeSet<(SourceLanguage, u32)>,
    /// What the device must be able to do, in module order.
    pub capabilities: Vec<Capability>,
    /// The extensions in use, in module order.
    pub extensions: Vec<Literal<'data>>,
    /// The sets of extended instructions in use, such as `OpenCL.std`.
    pub extended_instruction_sets: Vec<Literal<'data>>,
    /// The functions that can be launched, in module order.
    pub entry_points: Vec<EntryPoint<'data>>,
    /// Every function and variable with a linkage name, nothing left out: variables first, in module order, then
    /// functions, in the order of their decorations.
    pub symbols: Vec<OutlineSymbol<'data>>,
    /// Why it was not read to its first function.
    pub problem: Option<ReadError>,
}

/// A function that can be launched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EntryPoint<'data> {
    /// What it is launched as: a kernel, or a stage of graphics.
    pub model: ExecutionModel,
    /// The id of the function.
    pub function: u32,
    /// The name it is launched by.
    pub name: Literal<'data>,
    /// The execution modes of the function with their numbers. Of several entry points of one function, the first has
    /// them.
    pub modes: Vec<(ExecutionMode, Vec<u32>)>,
}

/// A function or variable with a linkage name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutlineSymbol<'data> {
    /// The linkage name, mangled if the language mangles.
    pub name: Literal<'data>,
    /// Function or variable.
    pub kind: SymbolKind,
    /// Whether it is defined here or elsewhere.
    pub linkage: Linkage,
    /// Whether it is a variable that the device fills in.
    pub is_built_in: bool,
    /// The id it has in the module.
    pub id: u32,
}

/// The triple of the target that an addressing model stands for, as LLVM names it; none for models that are not known.
pub(crate) fn triple(model: AddressingModel) -> Option<&'static str> {
    Some(match model {
        AddressingModel::Physical32 => triples::SPIRV32,
        AddressingModel::Physical64 => triples::SPIRV64,
        // Pointers have no width here: those of buffers alone are numbers in the last one.
        AddressingModel::Logical | AddressingModel::PhysicalStorageBuffer64 => triples::SPIRV_LOGICAL,
        _ => return None,
    })
}

/// The triple of the target that a module is for, from its first few instructions: what [`Outline::triple`] says, fast
/// enough to be asked for each of many modules.
///
/// ```
/// let words = [0x0723_0203, 0x0001_0400, 0, 1, 0, 0x0002_0011, 6, 0x0003_000e, 1, 2_u32];
/// let module: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
/// assert_eq!(offkit_spirv::triple_of(&module), Some("spirv32-unknown-unknown"));
/// ```
#[must_use]
pub fn triple_of(bytes: &[u8]) -> Option<&'static str> {
    let words = Words::of(bytes).ok()?;
    let model = Instructions::of(words)
        .map_while(Result::ok)
        // A memory model comes before all functions. One that is cut off counts as none, as it does
        // for `Outline::triple`.
        .take_while(|instruction| instruction.opcode != Op::Function)
        .find(|instruction| instruction.opcode == Op::MemoryModel && instruction.operands.get(1).is_some())?;
    triple(AddressingModel(model.operands.get(0)?))
}

impl<'data> Outline<'data> {
    /// Reads a module in either byte order up to its first function.
    #[must_use]
    pub fn read(bytes: &'data [u8]) -> Self {
        let mut outline = Self::default();
        outline.problem = outline.fill(bytes).err();
        outline
    }

    fn fill(&mut self, bytes: &'data [u8]) -> Result<(), ReadError> {
        let words = Words::of(bytes)?;
        self.byte_order = Some(words.order);
        let (Some(version), Some(generator), Some(_)) =
            (words.get(1), words.get(2), words.get(HEADER_WORDS - 1))
        else {
            return Err(ReadError::Header {
                words: words.words.len(),
            });
        };
        self.version = Some(Version::of_word(version));
        self.generator = Some(Generator::of_word(generator));
        let mut shared = Shared::default();
        let result = self.scan(words, &mut shared);
        // Before the problem is told: what stands before the damage is good to know.
        self.symbols = shared.symbols();
        result?;
        // Last, so that all that whole words tell is there.
        match bytes.len() % 4 {
            0 => Ok(()),
            _ => Err(ReadError::Length { length: bytes.len() }),
        }
    }

    fn scan(&mut self, words: Words<'data>, shared: &mut Shared<'data>) -> Result<(), ReadError> {
        // The first entry point of each function: with execution modes for many, each is found at once.
        let mut entry_point_of = HashMap::new();
        for instruction in Instructions::of(words) {
            let Instruction { opcode, operands } = instruction?;
            let word = |index| operands.get(index);
            match (opcode, word(0), word(1)) {
                (Op::Function, ..) => break,
                (Op::Capability, Some(capability), _) => {
                    self.capabilities.push(Capability(capability));
                }
                (Op::Extension, ..) => self.extensions.push(operands.literal().0),
                (Op::ExtInstImport, Some(_), _) => {
                    self.extended_instruction_sets.push(operands.skip(1).literal().0);
                }
                (Op::MemoryModel, Some(addressing), Some(memory)) if self.memory_model.is_none() => {
                    self.addressing_model = Some(AddressingModel(addressing));
                    self.memory_model = Some(MemoryModel(memory));
                }
                (Op::Source, Some(language), Some(version)) => {
                    let language = SourceLanguage(language);
                    self.sources.insert((language, version));
                }
                (Op::EntryPoint, Some(model), Some(function)) => {
                    entry_point_of.entry(function).or_insert(self.entry_points.len());
                    self.entry_points.push(EntryPoint {
                        model: ExecutionModel(model),
                        function,
                        name: operands.skip(2).literal().0,
                        modes: Vec::new(),
                    });
                }
                // Not `OpExecutionModeId`, whose operands are constants that nobody looks up here.
                (Op::ExecutionMode, Some(function), Some(mode)) => {
                    let place = entry_point_of.get(&function);
                    if let Some(entry_point) = place.and_then(|&place| self.entry_points.get_mut(place)) {
                        let mode = ExecutionMode(mode);
                        entry_point.modes.push((mode, operands.skip(2).iter().collect()));
                    }
                }
                (Op::Decorate, Some(id), Some(LINKAGE)) => {
                    let (name, length) = operands.skip(2).literal();
                    let linkage = word(length.saturating_add(2)).map(LinkageType);
                    shared.linkages.push(OutlineSymbol {
                        name,
                        kind: SymbolKind::Function,
                        // Types of linkage that are newer than the grammar are ways to define something.
                        linkage: linkage.map_or(Linkage::Export, Linkage::from),
                        is_built_in: false,
                        id,
                    });
                }
                (Op::Decorate, Some(id), Some(BUILT_IN)) => _ = shared.built_ins.insert(id),
                (Op::DecorationGroup, Some(id), _) => _ = shared.groups.insert(id),
                (Op::GroupDecorate, Some(group), _) => shared.grouped.push((group, operands.skip(1))),
                (Op::Variable | Op::UntypedVariableKHR, _, Some(id)) => shared.variables.push(id),
                _ => {}
            }
        }
        Ok(())
    }

    /// The triple of the target that the module is for: `spirv32-unknown-unknown` or `spirv64-unknown-unknown`, by the
    /// width of pointers, and `spirv-unknown-unknown` where they have none (`Logical`).
    #[must_use]
    pub fn triple(&self) -> Option<&'static str> {
        triple(self.addressing_model?)
    }

    /// The entry points for OpenCL-style devices.
    pub fn kernels(&self) -> impl Iterator<Item = &EntryPoint<'data>> {
        self.entry_points
            .iter()
            .filter(|entry_point| entry_point.is_kernel())
    }

    /// What other modules must supply; see [`Reflection::imports`](crate::Reflection::imports).
    pub fn imports(&self) -> impl Iterator<Item = &OutlineSymbol<'data>> {
        self.symbols.iter().filter(|symbol| symbol.is_import())
    }

    /// What other modules may use; see [`Reflection::exports`](crate::Reflection::exports).
    pub fn exports(&self) -> impl Iterator<Item = &OutlineSymbol<'data>> {
        self.symbols.iter().filter(|symbol| symbol.is_export())
    }
}

impl EntryPoint<'_> {
    /// Whether it is for OpenCL-style devices.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.model == ExecutionModel::Kernel
    }
}

impl OutlineSymbol<'_> {
    /// Whether another module has to supply it; see [`Symbol::is_import`](crate::Symbol::is_import).
    #[must_use]
    pub fn is_import(&self) -> bool {
        self.linkage == Linkage::Import && is_import(&self.name.to_str(), self.linkage, self.is_built_in)
    }

    /// Whether other modules may use it; see [`Symbol::is_export`](crate::Symbol::is_export).
    #[must_use]
    pub fn is_export(&self) -> bool {
        self.linkage != Linkage::Import && is_export(&self.name.to_str(), self.linkage, self.is_built_in)
    }
}

/// What is known about shared functions and variables, in the order of the module.
#[derive(Default)]
struct Shared<'data> {
    /// Linkage decorations, of functions for all that is known so far.
    linkages: Vec<OutlineSymbol<'data>>,
    built_ins: HashSet<u32>,
    variables: Vec<u32>,
    groups: HashSet<u32>,
    /// Decoration groups, each with the ids that it is applied to.
    grouped: Vec<(u32, Words<'data>)>,
}

impl<'data> Shared<'data> {
    /// One symbol for each id that has a linkage, from its own decorations before those of its groups.
    fn symbols(self) -> Vec<OutlineSymbol<'data>> {
        if self.linkages.is_empty() {
            return Vec::new();
        }
        // A decoration names a group by an id like any other: only now are all groups known.
        let mut seen = HashSet::new();
        let mut of_group = HashMap::new();
        let mut symbols = Vec::new();
        for symbol in self.linkages {
            if self.groups.contains(&symbol.id) {
                of_group.entry(symbol.id).or_insert(symbol);
            } else if seen.insert(symbol.id) {
                symbols.push(symbol);
            }
        }
        let mut built_ins = HashSet::new();
        for (group, targets) in self.grouped {
            if self.built_ins.contains(&group) {
                built_ins.extend(targets.iter());
            }
            let Some(symbol) = of_group.get(&group) else {
                continue;
            };
            let targets = targets.iter().filter(|id| seen.insert(*id));
            symbols.extend(targets.map(|id| OutlineSymbol { id, ..*symbol }));
        }
        let places: HashMap<u32, usize> = self.variables.into_iter().zip(0..).collect();
        for symbol in &mut symbols {
            symbol.is_built_in = self.built_ins.contains(&symbol.id) || built_ins.contains(&symbol.id);
            if places.contains_key(&symbol.id) {
                symbol.kind = SymbolKind::Variable;
            }
        }
        // The sort is stable: functions, which have no places, stay in the order of their decorations.
        symbols.sort_by_key(|symbol| places.get(&symbol.id).copied().unwrap_or(usize::MAX));
        symbols
    }
}

/// A string where it is in a module. It is decoded when asked for: an outline takes no more memory for names than the
/// module has words, however often one of them counts.
#[derive(Clone, Copy)]
pub struct Literal<'data> {
    /// The words up to the one with the zero byte at the end.
    words: Words<'data>,
}

impl<'data> Literal<'data> {
    /// The bytes of the string, which should be UTF-8.
    #[must_use]
    pub fn bytes(self) -> Cow<'data, [u8]> {
        let Some((last, rest)) = self.words.words.split_last() else {
            return Cow::default();
        };
        let last = self.words.value(*last).to_le_bytes();
        let end = last.iter().position(|byte| *byte == 0).unwrap_or(last.len());
        match self.words.order {
            ByteOrder::Little => {
                let bytes = self.words.words.as_flattened();
                let length = rest.as_flattened().len().saturating_add(end);
                Cow::Borrowed(bytes.get(..length).unwrap_or_default())
            }
            ByteOrder::Big => {
                let rest = rest.iter().flat_map(|word| self.words.value(*word).to_le_bytes());
                Cow::Owned(rest.chain(last.into_iter().take(end)).collect())
            }
        }
    }

    /// The string, with `U+FFFD` for what is not UTF-8.
    #[must_use]
    pub fn to_str(self) -> Cow<'data, str> {
        match self.bytes() {
            // Looking for what is not text takes far longer than seeing that all is.
            Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(bytes),
            },
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl fmt::Debug for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

/// Words of a module as they are in it.
#[derive(Clone, Copy)]
pub(crate) struct Words<'data> {
    words: &'data [[u8; 4]],
    order: ByteOrder,
}

impl<'data> Words<'data> {
    /// The whole words of a module, which tells its byte order by the first.
    pub(crate) fn of(bytes: &'data [u8]) -> Result<Self, ReadError> {
        let (words, _) = bytes.as_chunks::<4>();
        let &first = words.first().ok_or(ReadError::Header { words: 0 })?;
        let order = ByteOrder::of_magic(first)?;
        Ok(Self { words, order })
    }

    fn value(self, word: [u8; 4]) -> u32 {
        match self.order {
            ByteOrder::Little => u32::from_le_bytes(word),
            ByteOrder::Big => u32::from_be_bytes(word),
        }
    }

    /// A word as it is written in the module.
    pub(crate) fn bytes_of(self, word: u32) -> [u8; 4] {
        match self.order {
            ByteOrder::Little => word.to_le_bytes(),
            ByteOrder::Big => word.to_be_bytes(),
        }
    }

    pub(crate) fn get(self, index: usize) -> Option<u32> {
        self.words.get(index).map(|word| self.value(*word))
    }

    pub(crate) fn skip(self, count: usize) -> Self {
        let words = self.words.get(count..).unwrap_or_default();
        Self { words, ..self }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        self.words.iter().map(move |word| self.value(*word))
    }

    /// The string at the start, and the number of words it takes.
    pub(crate) fn literal(self) -> (Literal<'data>, usize) {
        let end = self.words.iter().position(|word| word.contains(&0));
        let length = end.map_or(self.words.len(), |last| last.saturating_add(1));
        let words = self.words.get(..length).unwrap_or_default();
        let words = Self { words, ..self };
        (Literal { words }, length)
    }
}

/// An instruction: all words but the first.
pub(crate) struct Instruction<'data> {
    pub(crate) opcode: Op,
    pub(crate) operands: Words<'data>,
}

/// The instructions of a module, up to the first with an impossible length.
pub(crate) struct Instructions<'data> {
    words: Words<'data>,
    at: usize,
}

impl<'data> Instructions<'data> {
    pub(crate) fn of(words: Words<'data>) -> Self {
        Self {
            words,
            at: HEADER_WORDS,
        }
    }
}

impl<'data> Iterator for Instructions<'data> {
    type Item = Result<Instruction<'data>, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.words.words.get(self.at..)?;
        let first = self.words.value(*rest.first()?);
        let length = (first >> 16) as usize;
        // Not for a length of zero either, which counts the first word.
        let Some(operands) = rest.get(1..length) else {
            // Where the next one begins nobody can tell.
            let word = std::mem::replace(&mut self.at, usize::MAX);
            return Some(Err(ReadError::InstructionLength {
                word,
                instruction: opcode_name(first),
                length,
                remaining: rest.len(),
            }));
        };
        self.at = self.at.saturating_add(length);
        let operands = Words {
            words: operands,
            ..self.words
        };
        Some(Ok(Instruction {
            opcode: Op(first & 0xffff),
            operands,
        }))
    }
}
