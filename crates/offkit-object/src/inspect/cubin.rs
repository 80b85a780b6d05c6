//! cubin: NVIDIA's machine code.

#[cfg(feature = "write")]
pub(crate) mod section_names;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use compact_str::{CompactString, ToCompactString};
use offkit_image::target::nvidia::{Processor, Scope};
use offkit_image::target::triples;
use offkit_image::{Error, Resources, Spills, Stack, Target};

use super::InspectedKernel;
use super::elf::{Elf, Symbol, read_name};
use super::findings::Findings;
use crate::elf::{Fields, Header, TYPE_RELOCATABLE};
use crate::source::Source;

/// The OS ABI up to CUDA 12; CUDA 13 writes 0x41 and lays out the flags anew.
const OS_ABI_OLD: u8 = 0x33;

/// In `st_other`: the function is a kernel.
const SYMBOL_KERNEL: u8 = 0x10;

/// Attributes in sections `.nv.info` and `.nv.info.KERNEL`.
const ATTRIBUTE_MAX_THREADS: u8 = 0x05;
const ATTRIBUTE_REQUIRED_THREADS: u8 = 0x10;
const ATTRIBUTE_FRAME_SIZE: u8 = 0x11;
const ATTRIBUTE_LEAST_STACK: u8 = 0x12;
const ATTRIBUTE_PARAMETER: u8 = 0x17;
const ATTRIBUTE_PARAMETER_SIZE: u8 = 0x19;
const ATTRIBUTE_REGISTERS: u8 = 0x2f;
const ATTRIBUTE_API_VERSION: u8 = 0x37;
const ATTRIBUTE_BARRIERS: u8 = 0x4c;
const ATTRIBUTE_ANNOTATIONS: u8 = 0x55;

/// The least stack of a kernel with recursion or calls through pointers.
const STACK_UNKNOWN: u32 = u32::MAX;

/// An annotation of an instruction that spills a register or loads it again.
const ANNOTATION_SPILL: u32 = 1;

/// The first CUDA whose ptxas annotates spills, times ten: 12.4 does not, 12.6 does.
const FIRST_WITH_ANNOTATIONS: u32 = 126;

/// An attribute in a section `.nv.compat`: 1 for code of one architecture only, such as `sm_90a`.
const COMPATIBILITY_CLASS: u8 = 0x09;

const NOTE_CUDA: u32 = 1000;
const NOTE_TOOLKIT: u32 = 2000;

/// The target of a file, from its header and, where that has no room for it, from the section that says whether the
/// code is for one architecture only.
pub(super) fn header_target(source: Source<'_>) -> Option<Target> {
    /// The section is before those of kernels, of which there are thousands, and has a few dozen bytes. Very many images
    /// may share the same ones.
    const SECTIONS: u64 = 1 << 10;
    const ATTRIBUTES: u64 = 1 << 12;
    let header = Header::read(source)?;
    let mut target = target(&header);
    // Files up to CUDA 12 have it in their flags, and their sections need no look.
    if header.os_abi != OS_ABI_OLD
        && let Some(section) = header
            .sections(source)
            .and_then(|sections| sections.named(b".nv.compat", SECTIONS))
    {
        let section = section.get(0, ATTRIBUTES).unwrap_or(section);
        add_class(&mut target, header.fields(section));
    }
    Some(target)
}

/// The target in a header.
fn target(header: &Header) -> Target {
    let [low, middle, ..] = header.flags.to_le_bytes();
    let (number, only_this) = if header.os_abi == OS_ABI_OLD {
        (low, header.flags & 0x800 != 0)
    } else {
        (middle, header.flags & 0x8 != 0)
    };
    let processor = Processor {
        number: number.into(),
        scope: if only_this { Scope::Only } else { Scope::Plain },
    };
    Target {
        triple: match header.is_64 {
            true => triples::NVPTX64.into(),
            false => triples::NVPTX32.into(),
        },
        // No number, no architecture.
        arch: match number {
            0 => CompactString::default(),
            _ => processor.to_compact_string(),
        },
        features: Vec::new(),
    }
}

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let elf = Elf::read(source, findings)?;
    findings.inspection.target = target(&elf.header);
    let mut cubin = Cubin::default();
    read_compatibility(&elf, findings);
    read_notes(&elf, findings);
    let relocatable = elf.header.kind == TYPE_RELOCATABLE;
    // Others see nothing that is defined in code that is linked. Most symbols are of sections.
    let is_wanted = |symbol: &Symbol<'_>| {
        is_kernel(symbol) || (symbol.is_shared() && (relocatable || !symbol.is_defined()))
    };
    for symbol in elf.symbols_that(false, findings, is_wanted) {
        cubin.add(symbol, relocatable, findings);
    }
    let result = cubin.read_attributes(&elf, findings);
    cubin.finish(findings);
    result
}

fn is_kernel(symbol: &Symbol<'_>) -> bool {
    symbol.is_defined() && symbol.is_function() && symbol.other & SYMBOL_KERNEL != 0
}

/// The architecture-specific variants have flags of their own only in old files.
fn read_compatibility(elf: &Elf<'_>, findings: &mut Findings) {
    if let Some(section) = elf.named(".nv.compat") {
        add_class(&mut findings.inspection.target, elf.fields(section.data));
    }
}

/// Adds the letter of code for one architecture only, should the attributes say so.
fn add_class(target: &mut Target, compatibility: Fields<'_>) {
    let only_this = attributes(compatibility)
        .any(|(kind, value)| kind == COMPATIBILITY_CLASS && value.byte(0) == Some(1));
    if only_this && !target.arch.is_empty() && !target.arch.ends_with('a') {
        target.arch.push('a');
    }
}

fn read_notes(elf: &Elf<'_>, findings: &mut Findings) {
    for note in elf.notes(findings) {
        let fields = elf.fields(note.data);
        match (note.owner, note.kind) {
            (b"NVIDIA Corp", NOTE_CUDA) => {
                // u16 version of the note, u16 architecture, u16 version of the toolkit.
                if let Some(version) = fields.half(4) {
                    findings.detail("toolkit", cuda_version(version.into()));
                }
            }
            (b"NVIDIA Corp", NOTE_TOOLKIT) => {
                let result = read_tool(fields, findings);
                if let Err(error) = result {
                    return findings.problem(error);
                }
            }
            _ => {}
        }
    }
}

/// A tool that took part: u32 version of the note, five u32 offsets of strings (object, tool, version, build,
/// options) and the strings. The linker comes before the assemblers of its inputs.
fn read_tool(fields: Fields<'_>, findings: &mut Findings) -> Result<(), Error> {
    let strings = fields.source.from(24);
    let mut string = |at| match fields.word(at) {
        Some(offset) => read_name(strings, offset, findings),
        None => Ok(Cow::default()),
    };
    let (tool, version, options) = (string(8)?, string(12)?, string(20)?);
    if findings.inspection.producer.is_none() && !tool.is_empty() {
        findings.inspection.producer = Some(format!("{tool}, {version}"));
        if !options.trim().is_empty() {
            findings.detail("options", options.trim());
        }
    }
    Ok(())
}

/// 124 stands for 12.4.
fn cuda_version(number: u32) -> String {
    format!("{}.{}", number / 10, number % 10)
}

/// Kernels and what refers to them.
#[derive(Default)]
struct Cubin {
    kernels: Vec<InspectedKernel>,
    facts: Vec<Facts>,
    /// The places of kernels by the number of their section.
    by_section: HashMap<u32, usize>,
    supplied: Vec<String>,
    api_version: Option<u32>,
}

#[derive(Default)]
struct Facts {
    /// The number of its symbol.
    symbol: u32,
    registers: Option<u32>,
    frame: Option<u32>,
    least_stack: Option<u32>,
    shared: Option<u64>,
    /// The number of the section with its code.
    section: u32,
    code_size: Option<u64>,
    /// Bytes that are stored and loaded where registers are spilled.
    spilled: [u64; 2],
    parameter_bytes: Option<u32>,
    /// Number and size in bytes of each.
    parameters: Vec<(u16, u32)>,
    threads: Option<(&'static str, [u32; 3])>,
    barriers: Option<u8>,
}

impl Cubin {
    fn add(&mut self, symbol: Symbol<'_>, relocatable: bool, findings: &mut Findings) {
        if is_kernel(&symbol) {
            let place = self.kernels.len();
            self.by_section.insert(symbol.section.into(), place);
            self.kernels.push(InspectedKernel::new(symbol.name.into_owned()));
            self.facts.push(Facts {
                symbol: symbol.index,
                section: symbol.section.into(),
                ..Facts::default()
            });
        } else if !symbol.is_shared() || symbol.name.starts_with(".nv.") {
        } else if !symbol.is_defined() {
            // What is still open after linking is the driver's.
            if relocatable && symbol.is_weak() {
                findings.weak_import(symbol.name.into_owned());
            } else if relocatable {
                findings.import(symbol.name.into_owned());
            } else {
                self.supplied.push(symbol.name.into_owned());
            }
        } else if relocatable && (symbol.is_function() || symbol.is_object()) {
            findings.export(symbol.name.into_owned());
        }
    }

    fn read_attributes(&mut self, elf: &Elf<'_>, findings: &mut Findings) -> Result<(), Error> {
        // The padding and the copies of functions behind a kernel are in its section.
        for facts in &mut self.facts {
            if let Some(section) = elf.section(facts.section) {
                facts.code_size = Some(section.stored_size());
            }
        }
        for section in &elf.sections {
            // What is about one kernel has the number of the section with its code in `sh_info`.
            let place = || self.by_section.get(&section.info).copied();
            if section.name == ".nv.info" {
                findings.count(section.data.len())?;
                for (kind, value) in attributes(elf.fields(section.data)) {
                    self.add_of_symbol(kind, value);
                }
            } else if section.name.starts_with(".nv.info.") {
                let place = place();
                findings.count(section.data.len())?;
                for (kind, value) in attributes(elf.fields(section.data)) {
                    // There is one for each argument, and resources have nothing of them.
                    if kind == ATTRIBUTE_PARAMETER && !findings.has_details {
                        continue;
                    }
                    self.add_of_kernel(place, kind, value);
                    if let Some(facts) = place.and_then(|place| self.facts.get_mut(place))
                        && kind == ATTRIBUTE_ANNOTATIONS
                        && let Some(code) = elf.section(facts.section)
                    {
                        add_spills(value, elf.fields(code.data), &mut facts.spilled);
                    }
                }
            } else if section.name.starts_with(".nv.shared.")
                && let Some(facts) = place().and_then(|place| self.facts.get_mut(place))
            {
                facts.shared = Some(section.size);
            }
        }
        Ok(())
    }

    /// Attributes of all functions: the number of a symbol, and a value.
    fn add_of_symbol(&mut self, kind: u8, value: Fields<'_>) {
        let Some(symbol) = value.word(0) else { return };
        // They are in the order of the symbols.
        let place = self.facts.binary_search_by_key(&symbol, |facts| facts.symbol);
        let Some(facts) = place.ok().and_then(|place| self.facts.get_mut(place)) else {
            return;
        };
        match kind {
            ATTRIBUTE_REGISTERS => facts.registers = value.word(4),
            ATTRIBUTE_FRAME_SIZE => facts.frame = value.word(4),
            ATTRIBUTE_LEAST_STACK => facts.least_stack = value.word(4),
            _ => {}
        }
    }

    /// Attributes of one kernel.
    fn add_of_kernel(&mut self, place: Option<usize>, kind: u8, value: Fields<'_>) {
        // It says nothing of the kernel, and so counts from the section of any function.
        if kind == ATTRIBUTE_API_VERSION {
            self.api_version = value.word(0);
        }
        let Some(facts) = place.and_then(|place| self.facts.get_mut(place)) else {
            return;
        };
        let three = || Some([value.word(0)?, value.word(4)?, value.word(8)?]);
        match kind {
            ATTRIBUTE_PARAMETER_SIZE => facts.parameter_bytes = value.half(0).map(u32::from),
            ATTRIBUTE_PARAMETER => {
                // u32 index, u16 number, u16 offset, u32 with the size from bit 18 on.
                if let (Some(number), Some(packed)) = (value.half(4), value.word(8)) {
                    facts.parameters.push((number, packed >> 18));
                }
            }
            ATTRIBUTE_MAX_THREADS => facts.threads = three().map(|size| ("maximum block size", size)),
            ATTRIBUTE_REQUIRED_THREADS => facts.threads = three().map(|size| ("required block size", size)),
            ATTRIBUTE_BARRIERS => facts.barriers = value.byte(0),
            _ => {}
        }
    }

    fn finish(self, findings: &mut Findings) {
        let spills_are_noted = self.api_version >= Some(FIRST_WITH_ANNOTATIONS);
        if let Some(version) = self.api_version {
            findings.detail("CUDA API version", cuda_version(version));
        }
        if !self.supplied.is_empty() {
            findings.detail("supplied by the driver", self.supplied.join(", "));
        }
        for (mut kernel, mut facts) in self.kernels.into_iter().zip(self.facts) {
            kernel.resources = facts.resources(spills_are_noted);
            if !findings.has_details {
                findings.inspection.kernels.push(kernel);
                continue;
            }
            let Resources {
                code_size,
                registers,
                shared_memory,
                spills,
                ..
            } = kernel.resources;
            // ptxas writes the last parameter first.
            facts.parameters.sort_unstable();
            if !facts.parameters.is_empty() {
                let mut sizes = String::new();
                for (_, size) in &facts.parameters {
                    let comma = if sizes.is_empty() { "" } else { ", " };
                    // A string takes everything.
                    let _ = write!(sizes, "{comma}{size}");
                }
                kernel.add("argument sizes", sizes);
            }
            let numbers = [
                ("argument bytes", facts.parameter_bytes.map(u64::from)),
                ("code size", code_size),
                ("registers", registers),
                ("spilled bytes", spills.map(Spills::amount)),
                ("shared memory", shared_memory),
                ("stack", facts.frame.map(u64::from)),
                ("barriers", facts.barriers.map(u64::from)),
            ];
            for (name, value) in numbers {
                if let Some(value) = value {
                    kernel.add(name, value);
                }
            }
            if let Some((name, [x, y, z])) = facts.threads {
                kernel.add(name, format!("{x} x {y} x {z}"));
            }
            findings.inspection.kernels.push(kernel);
        }
    }
}

impl Facts {
    fn resources(&self, spills_are_noted: bool) -> Resources {
        let [stores, loads] = self.spilled;
        Resources {
            code_size: self.code_size,
            registers: self.registers.map(u64::from),
            scalar_registers: None,
            // Kernels without shared memory have no section for it.
            shared_memory: Some(self.shared.unwrap_or(0)),
            stack: self.least_stack.map(|bytes| match bytes {
                STACK_UNKNOWN => Stack::Unknown,
                bytes => Stack::Bytes(bytes.into()),
            }),
            // That an older ptxas notes none means nothing; those that are there count anyway.
            spills: (spills_are_noted || self.spilled != [0, 0]).then_some(Spills::Bytes { stores, loads }),
        }
    }
}

/// Adds the bytes of the instructions that spill registers: pairs of a u32 kind and the u32 offset of an instruction of
/// 16 bytes.
fn add_spills(annotations: Fields<'_>, code: Fields<'_>, [stores, loads]: &mut [u64; 2]) {
    /// The lowest twelve bits of the instructions STL and LDL.
    const STORE_LOCAL: u32 = 0x387;
    const LOAD_LOCAL: u32 = 0x983;
    let mut at = 0_u64;
    while let (Some(kind), Some(offset)) = (annotations.word(at), annotations.word(at.saturating_add(4))) {
        at = at.saturating_add(8);
        let (Some(low), Some(third)) = (
            code.word(offset.into()),
            code.word(u64::from(offset).saturating_add(8)),
        ) else {
            continue;
        };
        // Bits 73 to 75 of the instruction.
        let bytes = match (third >> 9) & 7 {
            4 => 4,
            5 => 8,
            6 => 16,
            _ => 0,
        };
        match low & 0xfff {
            STORE_LOCAL if kind == ANNOTATION_SPILL => *stores = stores.saturating_add(bytes),
            LOAD_LOCAL if kind == ANNOTATION_SPILL => *loads = loads.saturating_add(bytes),
            _ => {}
        }
    }
}

/// The attributes of a section, each with its value.
///
/// Each has a byte for its format and one for its number. Format 4 has a u16 size and that many bytes behind;
/// with the others the value is in the two bytes that follow, if there is one.
fn attributes(fields: Fields<'_>) -> impl Iterator<Item = (u8, Fields<'_>)> {
    let mut rest = fields.source;
    std::iter::from_fn(move || {
        let fields = Fields {
            source: rest,
            ..fields
        };
        let (format, kind, short) = (fields.byte(0)?, fields.byte(1)?, fields.half(2)?);
        let (at, size) = if format == 4 {
            (4, u64::from(short))
        } else {
            (2, 2)
        };
        let source = rest.get(at, size)?;
        rest = rest.from(at.saturating_add(size));
        Some((kind, Fields { source, ..fields }))
    })
}
