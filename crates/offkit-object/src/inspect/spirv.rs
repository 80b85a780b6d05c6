//! SPIR-V: the outline of a module, by the one reader of SPIR-V there is.

use offkit_spirv::grammar::{ExecutionMode, SourceLanguage};
use offkit_spirv::{EntryPoint, Outline, ReadError};

use offkit_image::target::{ASPECTS, Aspect};
use offkit_image::{CodeVersion, Error, ErrorKind, Target};

use super::InspectedKernel;
use super::findings::Findings;
use crate::source::Source;

/// The target by the memory model, which is among the first instructions.
pub(super) fn header_target(bytes: &[u8]) -> Option<Target> {
    offkit_spirv::triple_of(bytes).map(target)
}

/// The version in the module's header, of either byte order: the second word, its bytes 0, major, minor, 0.
pub(super) fn header_version(bytes: &[u8]) -> Option<CodeVersion> {
    let [one, two, three, four] = *bytes.get(4..8)?.first_chunk()?;
    // The first byte of the magic tells the byte order.
    let (major, minor) = match (one, four) {
        (0, 0) if bytes.first() == Some(&0x03) => (three, two),
        _ => (two, three),
    };
    Some(CodeVersion {
        major: major.into(),
        minor: minor.into(),
    })
}

fn target(triple: &'static str) -> Target {
    Target {
        triple: triple.into(),
        ..Target::default()
    }
}

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let outline = Outline::read(source.bytes());
    if let Some(problem) = &outline.problem {
        findings.problem(damage(source, problem));
    }
    let inspection = &mut findings.inspection;
    inspection.version = outline.version.map(|version| version.to_string());
    inspection.producer = outline.generator.map(|generator| generator.to_string());
    inspection.target = outline.triple().map(target).unwrap_or_default();
    // What the module itself declares, as some images are nowhere recorded to need anything.
    let declares = |aspect: &&Aspect| {
        let mut declared = outline.capabilities.iter();
        declared.any(|capability| capability.0 == aspect.capability)
    };
    let needed = ASPECTS.iter().filter(declares).map(|aspect| aspect.number);
    inspection.aspects = needed.collect();
    for entry_point in outline.kernels() {
        let kernel = kernel(entry_point, findings)?;
        findings.inspection.kernels.push(kernel);
    }
    for symbol in outline.imports() {
        let name = findings.text(&symbol.name.bytes())?;
        findings.inspection.imports.push(name);
    }
    for symbol in outline.exports() {
        let name = findings.text(&symbol.name.bytes())?;
        findings.inspection.exports.push(name);
    }
    // Last, so that a limit which is reached costs details rather than names.
    describe(&outline, findings)
}

fn kernel(entry_point: &EntryPoint<'_>, findings: &mut Findings) -> Result<InspectedKernel, Error> {
    let mut kernel = InspectedKernel::new(findings.text(&entry_point.name.bytes())?);
    for (mode, values) in &entry_point.modes {
        let name = match *mode {
            ExecutionMode::LocalSize => "required work-group size",
            ExecutionMode::LocalSizeHint => "work-group size hint",
            ExecutionMode::SubgroupSize => "required sub-group size",
            ExecutionMode::MaxWorkgroupSizeINTEL => "maximum work-group size",
            _ => continue,
        };
        // A size has three dimensions; a damaged mode may have thousands of values.
        let values: Vec<_> = values.iter().take(3).map(u32::to_string).collect();
        kernel.add(name, values.join(" x "));
    }
    Ok(kernel)
}

/// Adds what there is to read besides names.
fn describe(outline: &Outline<'_>, findings: &mut Findings) -> Result<(), Error> {
    if let Some(model) = outline.addressing_model {
        findings.detail("addressing model", model.to_string());
    }
    if let Some(model) = outline.memory_model {
        findings.detail("memory model", model.to_string());
    }
    let sources = outline.sources.iter();
    let sources = sources.map(|(language, version)| format!("{} {version}", language_name(*language)));
    let capabilities = outline.capabilities.iter().map(ToString::to_string);
    let mut extensions = Vec::new();
    for name in &outline.extensions {
        extensions.push(findings.text(&name.bytes())?);
    }
    let mut instruction_sets = Vec::new();
    for name in &outline.extended_instruction_sets {
        instruction_sets.push(findings.text(&name.bytes())?);
    }
    let mut other_entry_points = Vec::new();
    for entry_point in outline.entry_points.iter().filter(|entry| !entry.is_kernel()) {
        let name = findings.text(&entry_point.name.bytes())?;
        other_entry_points.push(format!("{name} ({})", entry_point.model));
    }
    for (name, values) in [
        ("source language", sources.collect()),
        ("capabilities", capabilities.collect()),
        ("extensions", extensions),
        ("instruction sets", instruction_sets),
        ("other entry points", other_entry_points),
    ] {
        if !values.is_empty() {
            findings.detail(name, values.join(", "));
        }
    }
    Ok(())
}

/// The language as people write it.
fn language_name(language: SourceLanguage) -> String {
    let name = match language {
        SourceLanguage::Unknown => "unknown",
        SourceLanguage::OpenCL_C => "OpenCL C",
        SourceLanguage::OpenCL_CPP => "OpenCL C++",
        SourceLanguage::CPP_for_OpenCL => "C++ for OpenCL",
        other => return other.to_string(),
    };
    name.to_owned()
}

/// What stopped the reader, as all errors of images say it.
fn damage(source: Source<'_>, problem: &ReadError) -> Error {
    let cut_off = |expected: &str| {
        Error::new(ErrorKind::OutOfBounds, "SPIR-V module is cut off")
            .at(source.at(0))
            .expecting(expected)
            .finding(format_args!("{:#x}", source.len()))
    };
    match problem {
        ReadError::Header { .. } => cut_off("at least 0x14 bytes").field("header"),
        ReadError::Length { .. } => cut_off("whole words of 4 bytes").field("size"),
        ReadError::InstructionLength { word, length, .. } => {
            Error::malformed("SPIR-V instruction has an impossible length")
                .at(source.at((*word as u64).saturating_mul(4)))
                .field("word count")
                .expecting("1 or more words within the module")
                .finding(length)
        }
        ReadError::Magic { found } => Error::malformed("SPIR-V module has no magic number")
            .at(source.at(0))
            .expecting("0x07230203 in either byte order")
            .finding(format_args!("{found:#010x}")),
        other => Error::malformed(other.to_string()).at(source.at(0)),
    }
}
