//! AMDGPU code objects, versions 2 to 6.

use std::collections::HashMap;

use compact_str::CompactString;
use offkit_image::target::{amd, triples};
use offkit_image::{CodeVersion, Error, ErrorKind, Resources, Spills, Stack, Target};
use rmpv::ValueRef;

use super::elf::{Elf, Section};
use super::findings::Findings;
use super::{InspectedKernel, yaml};
use crate::elf::{Fields, Header, TYPE_RELOCATABLE};
use crate::message_pack::{field, list, text};
use crate::source::Source;

const OS_ABI_HSA: u8 = 64;
const OS_ABI_PAL: u8 = 65;
const OS_ABI_MESA: u8 = 66;

/// Notes of the owner `AMD`, up to version 2.
const NOTE_ISA_VERSION: u32 = 3;
const NOTE_METADATA_V2: u32 = 10;
const NOTE_ISA_NAME: u32 = 11;
/// The note of the owner `AMDGPU`, since version 3.
const NOTE_METADATA: u32 = 32;

/// The version of the code object: `e_ident[EI_ABIVERSION]` counts from 0 for version 2.
fn version(header: &Header) -> Option<u8> {
    // LLVM gives the number this meaning for HSA only.
    (header.os_abi == OS_ABI_HSA).then(|| header.abi_version.saturating_add(2))
}

/// The version of the code object.
pub(super) fn header_version(header: &Header) -> Option<CodeVersion> {
    version(header).map(|version| CodeVersion {
        major: version.into(),
        minor: 0,
    })
}

/// The target in a header.
pub(super) fn target(header: &Header) -> Target {
    let signed = signs(header)
        .into_iter()
        .filter_map(|(name, sign)| Some((name, sign?)));
    Target {
        triple: CompactString::const_new(triple(header)),
        arch: CompactString::const_new(processor(header)),
        features: signed.map(|(name, sign)| format!("{name}{sign}")).collect(),
    }
}

/// Whether a header says nothing of the target that is not in `told`, in the same words.
pub(super) fn is_told(header: &Header, told: &Target) -> bool {
    told.triple == triple(header)
        && told.arch == processor(header)
        && signs(header).iter().all(|(_, sign)| sign.is_none())
}

fn triple(header: &Header) -> &'static str {
    match header.os_abi {
        OS_ABI_HSA => triples::AMDHSA,
        OS_ABI_PAL => triples::AMDPAL,
        OS_ABI_MESA => triples::MESA3D,
        _ => triples::AMDGCN,
    }
}

fn processor(header: &Header) -> &'static str {
    let [machine, ..] = header.flags.to_le_bytes();
    amd::processor_of_machine(machine).unwrap_or_default()
}

/// The features that can be demanded, in the order of target ids, and how they are.
fn signs(header: &Header) -> [(&'static str, Option<char>); 2] {
    let flags = header.flags;
    let on = |set: bool| set.then_some('+');
    // Since version 4 there are two bits: 0 not supported, 1 either, 2 off, 3 on.
    let choice = |shift: u32| match (flags >> shift) & 3 {
        2 => Some('-'),
        3 => Some('+'),
        _ => None,
    };
    let (sramecc, xnack) = match version(header) {
        // Some writers of version 2 have the flags of version 3, with the machine in the lowest byte.
        Some(2) if flags & 0xff < 0x20 => (None, on(flags & 1 != 0)),
        Some(2 | 3) => (on(flags & 0x200 != 0), on(flags & 0x100 != 0)),
        Some(_) => (choice(10), choice(8)),
        None => (None, None),
    };
    [("sramecc", sramecc), ("xnack", xnack)]
}

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let elf = Elf::read(source, findings)?;
    let version = version(&elf.header);
    findings.inspection.target = target(&elf.header);
    findings.inspection.version = version.map(|version| version.to_string());
    findings.inspection.producer = elf.comment(findings)?;
    // `EF_AMDGPU_GENERIC_VERSION`, which is there since version 6.
    let generic = elf.header.flags >> 24;
    if version >= Some(6) && generic != 0 {
        findings.detail("generic version", generic);
    }
    let result = read_notes(&elf, findings);
    // Behind the notes, which name kernels first, and whatever is wrong with these.
    read_symbols(&elf, findings);
    result
}

fn read_notes(elf: &Elf<'_>, findings: &mut Findings) -> Result<(), Error> {
    let mut isa = None;
    for note in elf.notes(findings) {
        match (note.owner, note.kind) {
            (b"AMDGPU", NOTE_METADATA) => read_metadata(note.data, findings)?,
            (b"AMD", NOTE_METADATA_V2) => read_metadata_v2(note.data, findings)?,
            (b"AMD", NOTE_ISA_VERSION) => isa = isa_version(elf.fields(note.data)),
            (b"AMD", NOTE_ISA_NAME) => {
                let name = note.data.bytes().split(|byte| *byte == 0).next();
                let name = findings.text(name.unwrap_or_default())?;
                findings.detail("target id", name);
            }
            _ => {}
        }
    }
    let target = &mut findings.inspection.target;
    // Most headers of version 2 have no processor.
    if target.arch.is_empty() {
        target.arch = isa.unwrap_or_default().into();
    }
    Ok(())
}

/// Two u16 sizes of names, then u32 major, minor and stepping: 9, 0, 10 for gfx90a.
fn isa_version(fields: Fields<'_>) -> Option<String> {
    let (major, minor, stepping) = (fields.word(4)?, fields.word(8)?, fields.word(12)?);
    Some(amd::processor_of_version(major, minor, stepping))
}

/// `MessagePack`: a map with `amdhsa.kernels`, an array of maps.
fn read_metadata(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    const MOST_BYTES: u64 = 1 << 25;
    const DEPTH: usize = 16;
    // A tree of values takes many times the memory that the bytes take.
    if source.len() > MOST_BYTES {
        return Err(
            Error::new(ErrorKind::LimitExceeded, "too much metadata in an AMDGPU note")
                .at(source.at(0))
                .expecting(format!("at most {MOST_BYTES:#x} bytes"))
                .finding(format_args!("{:#x}", source.len())),
        );
    }
    findings.count(source.len())?;
    let mut rest = source.bytes();
    let metadata = rmpv::decode::read_value_ref_with_max_depth(&mut rest, DEPTH).map_err(|error| {
        let read = source.len().saturating_sub(rest.len() as u64);
        Error::malformed("AMDGPU metadata is not MessagePack")
            .at(source.at(read))
            .finding(error)
    })?;
    if let Some(target) = field(&metadata, "amdhsa.target").and_then(text) {
        let target = findings.text(target.as_bytes())?;
        findings.detail("target id", target);
    }
    for kernel in list(&metadata, "amdhsa.kernels") {
        let Some(name) = field(kernel, ".name").and_then(text) else {
            findings.problem(Error::malformed("kernel without a name in AMDGPU metadata").at(source.at(0)));
            continue;
        };
        let mut found = InspectedKernel::new(findings.text(name.as_bytes())?);
        add_arguments(kernel, &mut found, findings)?;
        for (name, key) in NUMBERS {
            if let Some(number) = field(kernel, key).and_then(ValueRef::as_u64) {
                found.add(*name, number);
            }
        }
        found.resources = resources(|key| field(kernel, key).and_then(ValueRef::as_u64));
        if matches!(
            field(kernel, ".uses_dynamic_stack"),
            Some(ValueRef::Boolean(true))
        ) {
            // The fixed size is no bound then.
            found.resources.stack = Some(Stack::Unknown);
        }
        let size = list(kernel, ".reqd_workgroup_size");
        if !size.is_empty() {
            let size: Vec<_> = size.iter().take(3).map(ToString::to_string).collect();
            found.add("required work-group size", size.join(" x "));
        }
        if let Some(language) = field(kernel, ".language").and_then(text) {
            found.add("language", findings.text(language.as_bytes())?);
        }
        findings.inspection.kernels.push(found);
    }
    Ok(())
}

/// What the metadata say of a kernel's resources; the size of its code is that of its symbol.
fn resources(number: impl Fn(&str) -> Option<u64>) -> Resources {
    let stack = number(".private_segment_fixed_size").map(Stack::Bytes);
    let vector = number(".vgpr_spill_count");
    Resources {
        code_size: None,
        registers: number(".vgpr_count"),
        scalar_registers: number(".sgpr_count"),
        shared_memory: number(".group_segment_fixed_size"),
        stack,
        spills: vector.map(|vector| Spills::Registers {
            vector,
            scalar: number(".sgpr_spill_count").unwrap_or(0),
        }),
    }
}

/// Facts of a kernel, and their keys in the metadata.
const NUMBERS: &[(&str, &str)] = &[
    ("argument bytes", ".kernarg_segment_size"),
    ("local memory", ".group_segment_fixed_size"),
    ("private memory", ".private_segment_fixed_size"),
    ("vector registers", ".vgpr_count"),
    ("accumulation registers", ".agpr_count"),
    ("scalar registers", ".sgpr_count"),
    ("spilled vector registers", ".vgpr_spill_count"),
    ("spilled scalar registers", ".sgpr_spill_count"),
    ("wavefront size", ".wavefront_size"),
    ("maximum work-group size", ".max_flat_workgroup_size"),
];

/// The arguments that a caller passes, each as its size and kind; the runtime's own stay out.
fn add_arguments(
    kernel: &ValueRef<'_>,
    found: &mut InspectedKernel,
    findings: &mut Findings,
) -> Result<(), Error> {
    let mut shown = Vec::new();
    for argument in list(kernel, ".args") {
        let kind = field(argument, ".value_kind").and_then(text).unwrap_or_default();
        if !kind.starts_with("hidden_") {
            let size = field(argument, ".size").and_then(ValueRef::as_u64);
            shown.push(findings.text(format!("{kind} {}", size.unwrap_or_default()).as_bytes())?);
        }
    }
    if !shown.is_empty() {
        found.add("arguments", shown.join(", "));
    }
    Ok(())
}

/// YAML with other names for the same things.
fn read_metadata_v2(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    const NUMBERS: &[(&str, &str)] = &[
        ("argument bytes", "KernargSegmentSize"),
        ("local memory", "GroupSegmentFixedSize"),
        ("private memory", "PrivateSegmentFixedSize"),
        ("vector registers", "NumVGPRs"),
        ("scalar registers", "NumSGPRs"),
        ("spilled vector registers", "NumSpilledVGPRs"),
        ("spilled scalar registers", "NumSpilledSGPRs"),
        ("wavefront size", "WavefrontSize"),
        ("maximum work-group size", "MaxFlatWorkGroupSize"),
    ];
    findings.count(source.len())?;
    let mut kernel: Option<InspectedKernel> = None;
    for line in yaml::section(source.bytes(), "Kernels") {
        // Arguments have a `Name`, too, one list deeper.
        if line.starts_item(1) && line.key == "Name" {
            let next = InspectedKernel::new(findings.text(line.value.as_bytes())?);
            findings.inspection.kernels.extend(kernel.replace(next));
        } else if let Some(kernel) = &mut kernel
            && let Some((name, _)) = NUMBERS.iter().find(|(_, key)| *key == line.key)
            && let Ok(number) = line.value.parse::<u64>()
        {
            kernel.add(*name, number);
            let resources = &mut kernel.resources;
            match line.key {
                "NumVGPRs" => resources.registers = Some(number),
                "NumSGPRs" => resources.scalar_registers = Some(number),
                "GroupSegmentFixedSize" => resources.shared_memory = Some(number),
                "PrivateSegmentFixedSize" => resources.stack = Some(Stack::Bytes(number)),
                _ => {}
            }
        }
    }
    findings.inspection.kernels.extend(kernel);
    Ok(())
}

/// Kernels have a function and a descriptor, `NAME.kd`, which is what is launched.
fn read_symbols(elf: &Elf<'_>, findings: &mut Findings) {
    const DESCRIPTOR: &str = ".kd";
    let relocatable = elf.header.kind == TYPE_RELOCATABLE;
    let symbols = elf.symbols(true, findings);
    let described = symbols
        .iter()
        .filter(|symbol| symbol.is_object() && symbol.is_defined())
        .filter_map(|symbol| symbol.name.strip_suffix(DESCRIPTOR));
    // Metadata that could be read has them all, and knows more of each than its name.
    if findings.inspection.kernels.is_empty() {
        for name in described {
            findings.kernel(name.to_owned());
        }
    }
    let kernels = &mut findings.inspection.kernels;
    let places = kernels.iter().enumerate();
    let places: HashMap<String, usize> = places
        .map(|(place, kernel)| (kernel.name.clone(), place))
        .collect();
    for symbol in symbols
        .iter()
        .filter(|symbol| symbol.is_function() && symbol.is_defined())
    {
        let place = places.get(&*symbol.name);
        if let Some(kernel) = place.and_then(|place| kernels.get_mut(*place)) {
            // No function is larger than its section.
            let section = elf.section(symbol.section.into());
            let size = symbol.size.min(section.map_or(0, Section::stored_size));
            kernel.resources.code_size = Some(size);
            kernel.add("code size", size);
        }
    }
    for symbol in symbols {
        if !symbol.is_shared() {
            continue;
        }
        if !symbol.is_defined() && symbol.is_weak() {
            findings.weak_import(symbol.name.into_owned());
        } else if !symbol.is_defined() {
            findings.import(symbol.name.into_owned());
        } else if symbol.is_function() || symbol.is_object() {
            let is_kernel = places.contains_key(&*symbol.name) || symbol.name.ends_with(DESCRIPTOR);
            // Variables of a linked image are for its host program to find, not for other images.
            if !is_kernel && (symbol.is_function() || relocatable) {
                findings.export(symbol.name.into_owned());
            }
        }
    }
}
