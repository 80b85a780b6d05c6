//! Host objects and programs with device code in sections: ELF, COFF and PE, Mach-O.
//!
//! | section | written by | holds |
//! |---|---|---|
//! | `.llvm.offloading` | clang for OpenMP, SYCL, CUDA and HIP | [offload binaries](crate::offload_binary) |
//! | `__CLANG_OFFLOAD_BUNDLE__` and an entry's ID | `clang-offload-bundler -type=o` | that entry |
//! | `.hip_fatbin` | clang and hipcc | [bundles](crate::bundle) |
//! | `.nv_fatbin`, `__nv_relfatbin`; in linked PE files `.nv_fatb`, `__nv_rel` | nvcc and clang | [fatbins](crate::fatbin) |
//!
//! `clang -flto` makes bitcode instead of objects, with the binaries as a constant of the module.
//!
//! Only headers are read. ELF may have any class and byte order; of a universal Mach-O file every part is read. A program
//! of ELF without section headers, as it is in memory once it is loaded, has code where its bytes show it, besides what
//! it registers for SYCL.
//! Objects of ELF and COFF can be [written](write_object), and [changed](add_sections); in linked programs a
//! section can be replaced by one that is not larger.

pub(crate) mod bitcode;
mod coff;
mod coff_edit;
#[cfg(feature = "write")]
mod edit;
mod elf;
mod elf_edit;
mod intel_openmp;
#[cfg(feature = "write")]
mod kpack;
#[cfg(feature = "write")]
mod linked;
mod macho;
mod needed;
mod output;
#[cfg(feature = "write")]
mod pe;
mod section;
mod splice;
mod write;

use offkit_image::PartName as Name;
use offkit_image::target::HostCpu;
use offkit_image::{ContainerKind, Error, ErrorKind, ImageFormat, Limits};

use crate::chunks::Chunks;
use crate::elf::{Header, TYPE_EXECUTABLE, TYPE_SHARED};
use crate::format::{ContainerFormat, Standing};
use crate::part::{Content, Facts, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;
use crate::sycl_wrapped::Registered;
use crate::{bundle, scan, sycl_wrapped};
use section::Found;

#[cfg(feature = "register")]
pub(crate) use elf::TYPE_OFFLOADING;
pub use intel_openmp::{intel_openmp_elf, intel_openmp_spirv};
#[cfg(feature = "write")]
pub(crate) use kpack::{Redirected, is_bundle_section, redirect};
pub use needed::{Needed, needed};
pub use section::SectionContent;
#[cfg(feature = "write")]
pub use write::{
    NewSection, ObjectFormat, add_sections, add_sections_chunks, remove_sections, replace_section,
    write_object,
};

/// The identifiers of parts from here on are those of [`sycl_wrapped`].
const WRAPPED: usize = 1 << (usize::BITS.saturating_sub(1));

/// Whether the bytes begin like an object, library or program for a host.
#[must_use]
pub fn is_host(bytes: &[u8]) -> bool {
    ImageFormat::detect(bytes) == ImageFormat::Elf || coff::is_coff(bytes) || macho::is_macho(bytes)
}

/// A section of an object or program that holds device code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceSection<'data> {
    /// The section's name.
    pub name: String,
    /// What is in it, as its name and type say.
    pub content: SectionContent,
    /// The content.
    pub bytes: &'data [u8],
    /// Where the content begins in the file.
    pub offset: u64,
    /// Whether the section is in memory when the program runs, as images are that something registers. Code that
    /// is still to be linked is in sections that are not.
    pub is_loaded: bool,
}

/// The sections with device code, in the order of the section headers.
///
/// # Errors
///
/// The first fault of the file's headers.
pub fn device_sections<'data>(
    bytes: &'data [u8],
    limits: &Limits,
) -> Result<Vec<DeviceSection<'data>>, Error> {
    let mut found = Vec::new();
    sections(
        Source::new(bytes),
        &mut Reading::strict(limits),
        &mut |reading, section| {
            reading.count_strings(1)?;
            found.push(DeviceSection {
                name: section.name,
                content: section.content,
                bytes: section.source.bytes(),
                offset: section.source.at(0),
                is_loaded: section.is_loaded,
            });
            Ok(())
        },
    )?;
    Ok(found)
}

/// Whether addresses are fixed: a program or library, and no object that is still to be linked.
pub(crate) fn is_linked(source: Source<'_>) -> bool {
    match Header::read(source) {
        Some(header) => header.kind != crate::elf::TYPE_RELOCATABLE,
        // What cannot be read counts as linked: there less may change.
        None => coff::Coff::read(source).map_or(true, |coff| coff.is_linked),
    }
}

/// The processor that the code is for, as triples have it; of a universal Mach-O file none.
pub(crate) fn architecture(source: Source<'_>) -> Option<&'static str> {
    if let Some(header) = Header::read(source) {
        return HostCpu::of_elf(header.machine, header.is_64, header.big_endian).map(HostCpu::name);
    }
    let bytes = source.bytes();
    if ImageFormat::detect(bytes) == ImageFormat::Bitcode {
        return bitcode::architecture(bytes);
    }
    let cpu = if macho::is_macho(bytes) {
        macho::cpu(bytes)
    } else {
        coff::cpu(source)
    };
    cpu.map(HostCpu::name)
}

pub(crate) fn sections<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&mut Reading, Found<'data>) -> Result<(), Error>,
) -> Result<(), Error> {
    let bytes = source.bytes();
    if bytes.starts_with(b"\x7fELF") {
        elf::sections(source, reading, visit)
    } else if coff::is_coff(bytes) {
        coff::sections(source, reading, visit)
    } else if macho::is_macho(bytes) {
        macho::sections(source, reading, visit)
    } else {
        Err(Error::new(ErrorKind::NotRecognized, "not an object or program")
            .at(source.at(0))
            .expecting("ELF, COFF, PE or Mach-O"))
    }
}

/// An object, library or program for a host.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Host,
    standing: Standing::File,
    is: is_host,
    parts,
    replace,
    #[cfg(feature = "write")]
    edit: edit::edit,
    ..ContainerFormat::USUAL
};

/// Hands over every part.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    if !reading.limits().scan && !is_without_sections(source) {
        return known_parts(source, reading, visit);
    }
    let mut known = Vec::new();
    known_parts(source, reading, &mut |reading, part| {
        // Parts know their place in the whole file; the scan counts from the beginning of this one.
        let start = part.stored.at(0).saturating_sub(source.at(0));
        known.push(start..start.saturating_add(part.stored.len()));
        visit(reading, part);
    })?;
    scan::parts(source, known, reading, visit)
}

/// Whether no section says where code is kept, in a program or library that may have some: section headers were stripped,
/// or it is what a loader has made of the file.
fn is_without_sections(source: Source<'_>) -> bool {
    Header::read(source).is_some_and(|header| {
        let sections = header.sections(source);
        matches!(header.kind, TYPE_EXECUTABLE | TYPE_SHARED)
            && sections.is_some_and(|sections| sections.count() == 0)
    })
}

/// Hands over what is where device code is kept.
fn known_parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let mut names = PartNames::default();
    let mut entries = Vec::new();
    let mut registered = None;
    let result = sections(source, reading, &mut |reading, found| {
        // The headers of one object may all have the same long name.
        let counted = reading
            .count_strings(1)
            .and_then(|()| reading.count_metadata(found.name.len() as u64));
        if reading.accept(counted)?.is_none() {
            return Ok(());
        }
        match &found.content {
            SectionContent::BundleEntry(id) => entries.push((id.clone(), found)),
            SectionContent::Container(kind) => {
                let is_redundant = found.content.is_offloading()
                    && found.is_loaded
                    // Looked for only now, and once: finding descriptors goes through all relocations.
                    && registered
                        .get_or_insert_with(|| Registered::of(source, reading))
                        .has_all_of(found.source, reading);
                let mut path = found.path;
                path.push(or_number(found.name, found.id));
                let name = names.name(path);
                let part = Part::new(found.id, name, found.source, Content::Container(*kind));
                visit(reading, Part { is_redundant, ..part });
            }
        }
        Ok(())
    });
    // Images of a linked program are found without section headers.
    reading.accept(result)?;
    // Behind all sections, as a name is short only where no other ID has the same processor.
    visit_entries(entries, reading, visit);
    let bytes = source.bytes();
    if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"MZ") {
        sycl_wrapped::parts(source, reading, &mut |reading, mut part| {
            part.id = part.id.saturating_add(WRAPPED);
            visit(reading, part);
        })?;
    }
    Ok(())
}

/// The name, or the section's number where a damaged file has none: parts of locations are not empty.
fn or_number(name: String, id: usize) -> String {
    if name.is_empty() { format!("#{id}") } else { name }
}

/// Hands over the sections that together are a bundle.
fn visit_entries<'data>(
    entries: Vec<(String, Found<'data>)>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) {
    let ids: Vec<&str> = entries.iter().map(|(id, _)| id.as_str()).collect();
    let names = bundle::short_names(&ids);
    for ((id, found), name) in entries.iter().zip(names) {
        let facts: Facts<'data> = bundle::entry_facts(id);
        let name = Name::Path(vec!["bundle".to_owned(), or_number(name, found.id)]);
        let part = Part {
            facts,
            ..Part::new(found.id, name, found.source, Content::Entry)
        };
        visit(reading, part);
    }
}

/// The container with the bytes of the part `id` replaced by `new`, and nothing else changed.
///
/// In an object the section takes the size that it needs. In a linked program it can only become smaller: what
/// is left of it is filled with zeros.
fn replace<'data>(
    source: Source<'data>,
    id: usize,
    new: &Chunks<'data>,
    limits: &Limits,
) -> Result<Chunks<'data>, Error> {
    // First, as this number is above `WRAPPED`, too.
    if id == scan::FOUND {
        return Err(Error::unsupported(
            "code that was found by its bytes alone cannot be replaced",
        ));
    }
    if id >= WRAPPED {
        let id = id.saturating_sub(WRAPPED);
        return sycl_wrapped::replace(source, id, &new.joined(), limits).map(Chunks::from);
    }
    write::replace_section_at(source, id, new)
}
