//! SPIR-V: a scan up to the first function.
//!
//! The layout of modules puts capabilities, entry points, decorations, types and variables before all functions,
//! so that the code itself, nearly all of a module, is never touched.

use std::collections::HashMap;

use offkit_image::{Error, ErrorKind};

use super::InspectedKernel;
use super::findings::Findings;
use crate::source::Source;

const MAGIC: u32 = 0x0723_0203;
const HEADER_WORDS: usize = 5;

const OP_SOURCE: u32 = 3;
const OP_EXTENSION: u32 = 10;
const OP_EXT_INST_IMPORT: u32 = 11;
const OP_MEMORY_MODEL: u32 = 14;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
const OP_VARIABLE: u32 = 59;
const OP_DECORATE: u32 = 71;
const OP_UNTYPED_VARIABLE: u32 = 4418;

const DECORATION_LINKAGE: u32 = 41;
const LINKAGE_IMPORT: u32 = 1;
const EXECUTION_MODEL_KERNEL: u32 = 6;

/// The words of a module in either byte order.
struct Words<'data> {
    source: Source<'data>,
    big_endian: bool,
}

impl Words<'_> {
    fn get(&self, index: usize) -> Option<u32> {
        let start = index.checked_mul(4)?;
        let word = *self.source.bytes().get(start..)?.first_chunk::<4>()?;
        Some(if self.big_endian {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        })
    }

    /// All words of an instruction after the first.
    fn operands(&self, index: usize, length: usize) -> Vec<u32> {
        let end = index.saturating_add(length);
        (index.saturating_add(1)..end)
            .map_while(|index| self.get(index))
            .collect()
    }

    fn offset(&self, index: usize) -> u64 {
        self.source.at((index as u64).saturating_mul(4))
    }
}

/// A linkage decoration.
struct Linkage {
    id: u32,
    name: String,
    is_import: bool,
}

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let words = Words {
        source,
        big_endian: source.bytes().starts_with(&MAGIC.to_be_bytes()),
    };
    let (Some(version), Some(generator), Some(_)) = (words.get(1), words.get(2), words.get(4)) else {
        return Err(Error::new(ErrorKind::OutOfBounds, "SPIR-V module is cut off")
            .at(source.at(0))
            .field("header")
            .expecting("at least 0x14 bytes")
            .finding(format_args!("{:#x}", source.len())));
    };
    let [_, major, minor, _] = version.to_be_bytes();
    findings.inspection.version = Some(format!("{major}.{minor}"));
    findings.inspection.producer = Some(generator_name(generator));
    let mut scan = Scan::default();
    let result = scan.run(&words, findings);
    scan.finish(findings);
    result
}

/// What is seen on the way.
#[derive(Default)]
struct Scan {
    capabilities: Vec<u32>,
    extensions: Vec<String>,
    instruction_sets: Vec<String>,
    memory_model: Option<(u32, u32)>,
    source: Option<(u32, u32)>,
    /// Every kernel with the id of its function.
    kernels: Vec<(u32, InspectedKernel)>,
    other_entry_points: Vec<String>,
    linkage: Vec<Linkage>,
    /// The place of each variable among the variables.
    variables: HashMap<u32, usize>,
}

impl Scan {
    fn run(&mut self, words: &Words<'_>, findings: &mut Findings) -> Result<(), Error> {
        // The first kernel of each function: with execution modes for many, each is found at once.
        let mut kernel_of = HashMap::new();
        let mut index = HEADER_WORDS;
        while let Some(first) = words.get(index) {
            let length = usize::try_from(first >> 16).unwrap_or(usize::MAX);
            let end = index.saturating_add(length);
            if length == 0 || (end > index && words.get(end.saturating_sub(1)).is_none()) {
                return Err(Error::malformed("SPIR-V instruction has an impossible length")
                    .at(words.offset(index))
                    .field("word count")
                    .expecting("1 or more words within the module")
                    .finding(length));
            }
            let opcode = first & 0xffff;
            if opcode == OP_FUNCTION {
                break;
            }
            let operands = match opcode {
                OP_SOURCE | OP_EXTENSION | OP_EXT_INST_IMPORT | OP_MEMORY_MODEL | OP_ENTRY_POINT
                | OP_EXECUTION_MODE | OP_CAPABILITY | OP_DECORATE | OP_VARIABLE | OP_UNTYPED_VARIABLE => {
                    words.operands(index, length)
                }
                _ => Vec::new(),
            };
            match (opcode, operands.as_slice()) {
                (OP_CAPABILITY, [capability, ..]) => self.capabilities.push(*capability),
                (OP_EXTENSION, name) => self.extensions.push(findings.text(&literal(name).0)?),
                (OP_EXT_INST_IMPORT, [_, name @ ..]) => {
                    self.instruction_sets.push(findings.text(&literal(name).0)?);
                }
                (OP_MEMORY_MODEL, [addressing, memory, ..]) => {
                    self.memory_model = Some((*addressing, *memory));
                }
                (OP_SOURCE, [language, version, ..]) => self.source = Some((*language, *version)),
                (OP_ENTRY_POINT, [model, id, name @ ..]) => {
                    let name = findings.text(&literal(name).0)?;
                    if *model == EXECUTION_MODEL_KERNEL {
                        kernel_of.entry(*id).or_insert(self.kernels.len());
                        self.kernels.push((*id, InspectedKernel::new(name)));
                    } else {
                        let model = named(EXECUTION_MODELS, *model);
                        self.other_entry_points.push(format!("{name} ({model})"));
                    }
                }
                (OP_EXECUTION_MODE, [id, mode, values @ ..]) => {
                    let kernel = kernel_of.get(id).and_then(|&place| self.kernels.get_mut(place));
                    if let (Some((_, kernel)), Some(name)) = (kernel, execution_mode(*mode)) {
                        let values: Vec<_> = values.iter().take(3).map(u32::to_string).collect();
                        kernel.add(name, values.join(" x "));
                    }
                }
                (OP_DECORATE, [id, DECORATION_LINKAGE, rest @ ..]) => {
                    let (name, length) = literal(rest);
                    self.linkage.push(Linkage {
                        id: *id,
                        name: findings.text(&name)?,
                        is_import: rest.get(length) == Some(&LINKAGE_IMPORT),
                    });
                }
                (OP_VARIABLE | OP_UNTYPED_VARIABLE, [_, id, ..]) => {
                    let place = self.variables.len();
                    self.variables.entry(*id).or_insert(place);
                }
                _ => {}
            }
            index = end;
        }
        Ok(())
    }

    /// Puts together what was seen: variables before functions, as in the module.
    fn finish(mut self, findings: &mut Findings) {
        if let Some((addressing, memory)) = self.memory_model {
            findings.detail("addressing model", named(ADDRESSING_MODELS, addressing));
            findings.detail("memory model", named(MEMORY_MODELS, memory));
        }
        if let Some((language, version)) = self.source {
            let language = named(SOURCE_LANGUAGES, language);
            findings.detail("source language", format!("{language} {version}"));
        }
        let capabilities: Vec<_> = self
            .capabilities
            .iter()
            .map(|capability| named(CAPABILITIES, *capability))
            .collect();
        for (name, values) in [
            ("capabilities", capabilities),
            ("extensions", self.extensions),
            ("instruction sets", self.instruction_sets),
            ("other entry points", self.other_entry_points),
        ] {
            if !values.is_empty() {
                findings.detail(name, values.join(", "));
            }
        }
        let kernels = self.kernels.into_iter().map(|(_, kernel)| kernel);
        findings.inspection.kernels.extend(kernels);
        let place = |linkage: &Linkage| self.variables.get(&linkage.id).copied();
        self.linkage
            .sort_by_key(|linkage| place(linkage).unwrap_or(usize::MAX));
        for linkage in self.linkage {
            if linkage.is_import {
                findings.import(linkage.name);
            } else {
                findings.export(linkage.name);
            }
        }
    }
}

/// The bytes of a string at the start of the operands, and the number of words it takes.
fn literal(words: &[u32]) -> (Vec<u8>, usize) {
    let last = words
        .iter()
        .position(|word| word.to_le_bytes().contains(&0))
        .map_or(words.len(), |last| last.saturating_add(1));
    let bytes = words.iter().take(last).flat_map(|word| word.to_le_bytes());
    (bytes.take_while(|byte| *byte != 0).collect(), last)
}

/// The generator's registered name and its own version, as `offkit-spirv` writes it.
fn generator_name(word: u32) -> String {
    let (tool, version) = (word >> 16, word & 0xffff);
    match GENERATORS.iter().find(|(number, _)| *number == tool) {
        Some((_, name)) => format!("{name} {version}"),
        None => format!("tool {tool} {version}"),
    }
}

fn named(names: &[(u32, &str)], number: u32) -> String {
    match names.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).to_owned(),
        None => number.to_string(),
    }
}

fn execution_mode(mode: u32) -> Option<&'static str> {
    Some(match mode {
        17 => "required work-group size",
        18 => "work-group size hint",
        35 => "required sub-group size",
        5893 => "maximum work-group size",
        _ => return None,
    })
}

/// Tools that write modules for OpenCL-style devices.
const GENERATORS: &[(u32, &str)] = &[
    (6, "Khronos LLVM/SPIR-V Translator"),
    (7, "Khronos SPIR-V Tools Assembler"),
    (8, "Khronos Glslang Reference Front End"),
    (14, "Google Spiregg"),
    (15, "Google rspirv"),
    (17, "Khronos SPIR-V Tools Linker"),
    (21, "Google Clspv"),
    (22, "Google MLIR SPIR-V Serializer"),
    (30, "Mesa-IR/SPIR-V Translator"),
    (43, "LLVM SPIR-V Backend"),
];

const ADDRESSING_MODELS: &[(u32, &str)] = &[
    (0, "Logical"),
    (1, "Physical32"),
    (2, "Physical64"),
    (5348, "PhysicalStorageBuffer64"),
];

const MEMORY_MODELS: &[(u32, &str)] = &[(0, "Simple"), (1, "GLSL450"), (2, "OpenCL"), (3, "Vulkan")];

const EXECUTION_MODELS: &[(u32, &str)] = &[
    (0, "Vertex"),
    (1, "TessellationControl"),
    (2, "TessellationEvaluation"),
    (3, "Geometry"),
    (4, "Fragment"),
    (5, "GLCompute"),
];

const SOURCE_LANGUAGES: &[(u32, &str)] = &[
    (0, "unknown"),
    (1, "ESSL"),
    (2, "GLSL"),
    (3, "OpenCL C"),
    (4, "OpenCL C++"),
    (5, "HLSL"),
    (6, "C++ for OpenCL"),
    (7, "SYCL"),
];

/// Capabilities of OpenCL-style modules; others show as numbers.
const CAPABILITIES: &[(u32, &str)] = &[
    (0, "Matrix"),
    (1, "Shader"),
    (4, "Addresses"),
    (5, "Linkage"),
    (6, "Kernel"),
    (7, "Vector16"),
    (8, "Float16Buffer"),
    (9, "Float16"),
    (10, "Float64"),
    (11, "Int64"),
    (12, "Int64Atomics"),
    (13, "ImageBasic"),
    (14, "ImageReadWrite"),
    (15, "ImageMipmap"),
    (17, "Pipes"),
    (18, "Groups"),
    (19, "DeviceEnqueue"),
    (20, "LiteralSampler"),
    (22, "Int16"),
    (38, "GenericPointer"),
    (39, "Int8"),
    (43, "Sampled1D"),
    (44, "Image1D"),
    (46, "SampledBuffer"),
    (47, "ImageBuffer"),
    (58, "SubgroupDispatch"),
    (59, "NamedBarrier"),
    (60, "PipeStorage"),
    (61, "GroupNonUniform"),
    (62, "GroupNonUniformVote"),
    (63, "GroupNonUniformArithmetic"),
    (64, "GroupNonUniformBallot"),
    (65, "GroupNonUniformShuffle"),
    (66, "GroupNonUniformShuffleRelative"),
    (67, "GroupNonUniformClustered"),
    (4423, "SubgroupBallotKHR"),
    (4431, "SubgroupVoteKHR"),
    (5568, "SubgroupShuffleINTEL"),
    (5569, "SubgroupBufferBlockIOINTEL"),
    (5570, "SubgroupImageBlockIOINTEL"),
    (5603, "FunctionPointersINTEL"),
    (5604, "IndirectReferencesINTEL"),
    (5606, "AsmINTEL"),
    (5612, "AtomicFloat32MinMaxEXT"),
    (5613, "AtomicFloat64MinMaxEXT"),
    (5616, "AtomicFloat16MinMaxEXT"),
    (5619, "VectorAnyINTEL"),
    (5629, "ExpectAssumeKHR"),
    (5837, "FPFastMathModeINTEL"),
    (5910, "MemoryAccessAliasingINTEL"),
    (6033, "AtomicFloat32AddEXT"),
    (6034, "AtomicFloat64AddEXT"),
    (6089, "LongCompositesINTEL"),
    (6094, "OptNoneEXT"),
    (6115, "BFloat16ConversionINTEL"),
];
