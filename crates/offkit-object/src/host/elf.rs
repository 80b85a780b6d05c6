//! ELF files: their sections, in one form for both classes and byte orders.

use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use offkit_image::{ContainerKind, Error, ErrorKind};

use super::section::{BUNDLE_PREFIX, Found, SectionContent, bytes_of, content_of, name_at};
use crate::offload_binary;
use crate::reading::Reading;
use crate::source::Source;

/// The type of sections with offload binaries: `SHT_LLVM_OFFLOADING`.
pub(crate) const TYPE_OFFLOADING: u32 = 0x6fff_4c0b;

/// What an ELF file consists of.
#[derive(Debug)]
pub(super) struct Elf {
    pub(super) is_64: bool,
    pub(super) is_big_endian: bool,
    /// Whether it is an object that is still to be linked, and has no addresses yet.
    pub(super) is_relocatable: bool,
    /// Where the section headers are.
    pub(super) headers_offset: u64,
    /// The number of the section with the names of the sections.
    pub(super) names_index: usize,
    pub(super) sections: Vec<Section>,
}

/// A section header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Section {
    pub(super) name: u32,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
}

impl Section {
    /// Whether the section has bytes in the file.
    pub(super) fn is_in_file(&self) -> bool {
        self.kind != elf::SHT_NOBITS.0 && self.kind != elf::SHT_NULL.0 && self.size > 0
    }
}

impl Elf {
    /// Reads the headers, and only these.
    pub(super) fn read(source: Source<'_>) -> Result<Self, Error> {
        match source.bytes().get(4) {
            Some(1) => Self::read_class::<FileHeader32<Endianness>>(source),
            Some(2) => Self::read_class::<FileHeader64<Endianness>>(source),
            other => Err(Error::malformed("Invalid ELF class")
                .at(source.at(4))
                .expecting("1 or 2")
                .finding(other.map_or("the end of the file".to_owned(), u8::to_string))),
        }
    }

    fn read_class<Header: FileHeader<Endian = Endianness>>(source: Source<'_>) -> Result<Self, Error> {
        let bytes = source.bytes();
        let wrong = |field, error| {
            Error::malformed("Invalid ELF header")
                .at(source.at(0))
                .field(field)
                .finding(error)
        };
        let header = Header::parse(bytes).map_err(|error| wrong("header", error))?;
        let endian = header.endian().map_err(|error| wrong("byte order", error))?;
        let headers_offset: u64 = header.e_shoff(endian).into();
        let sections = header.section_headers(endian, bytes).map_err(|error| {
            Error::new(ErrorKind::OutOfBounds, "Invalid ELF section header table")
                .at(source.at(headers_offset))
                .field("e_shoff, e_shnum")
                .expecting(format!("a table within {:#x} bytes", source.len()))
                .finding(error)
        })?;
        let names_index = if sections.is_empty() {
            0
        } else {
            let index = header
                .section_strings_index(endian, bytes)
                .map_err(|error| wrong("e_shstrndx", error))?;
            index.0
        };
        let sections = sections.iter().map(|section| Section {
            name: section.sh_name(endian),
            kind: section.sh_type(endian).0,
            flags: section.sh_flags(endian).0,
            address: section.sh_addr(endian).into(),
            offset: section.sh_offset(endian).into(),
            size: section.sh_size(endian).into(),
            link: section.sh_link(endian),
            info: section.sh_info(endian),
            align: section.sh_addralign(endian).into(),
            entry_size: section.sh_entsize(endian).into(),
        });
        Ok(Self {
            is_64: header.is_type_64(),
            is_big_endian: header.is_big_endian(),
            is_relocatable: header.e_type(endian) == elf::ET_REL && header.e_phnum(endian) == 0,
            headers_offset,
            names_index,
            sections: sections.collect(),
        })
    }

    /// The names of all sections, one after the other; empty when they are not in the file.
    pub(super) fn names<'data>(&self, source: Source<'data>) -> &'data [u8] {
        let table = self
            .sections
            .get(self.names_index)
            .filter(|section| section.is_in_file());
        // A table that was cut off still has its beginning.
        table.map_or(&[], |table| {
            let rest = source.from(table.offset);
            rest.get(0, table.size).unwrap_or(rest).bytes()
        })
    }
}

/// Finds the sections with device code.
pub(super) fn sections<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&mut Reading, Found<'data>) -> Result<(), Error>,
) -> Result<(), Error> {
    let elf = Elf::read(source)?;
    let names = elf.names(source);
    for (id, section) in elf.sections.iter().enumerate() {
        let name = name_at(names, section.name.into()).unwrap_or_default();
        let content = if section.kind == TYPE_OFFLOADING {
            Some(SectionContent::Container(ContainerKind::OffloadBinary))
        } else {
            content_of(name)
        };
        let Some(content) = content else {
            continue;
        };
        // In programs these belong to the images that are registered when the program starts.
        let is_registered = !elf.is_relocatable && name.starts_with(BUNDLE_PREFIX);
        let is_empty = section.size == 0 && !matches!(content, SectionContent::BundleEntry(_));
        if section.kind == elf::SHT_NOBITS.0 || is_registered || is_empty {
            continue;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        let (offset, size) = (section.offset, section.size);
        let found = bytes_of(source, reading, offset, size, "sh_offset, sh_size", &name)?;
        if section.flags & elf::SHF_COMPRESSED.0 != 0 {
            reading.fault(
                Error::unsupported("section is compressed")
                    .at(found.at(0))
                    .field(name),
            )?;
            continue;
        }
        // LLVM 22 puts the raw image of a SYCL program into a section of this name and type that is loaded.
        let is_loaded = section.flags & elf::SHF_ALLOC.0 != 0;
        if content.is_offloading() && (is_loaded || !elf.is_relocatable) && !begins_with_magic(found.bytes())
        {
            continue;
        }
        visit(
            reading,
            Found {
                id,
                path: Vec::new(),
                name,
                content,
                source: found,
                is_loaded,
            },
        )?;
    }
    Ok(())
}

/// Whether an offload binary is the first thing that is not padding.
fn begins_with_magic(bytes: &[u8]) -> bool {
    // Bounded, so that many headers that share one long run of zeros are not costly.
    const LONGEST_PADDING: usize = 1 << 12;
    let head = bytes.get(..LONGEST_PADDING).unwrap_or(bytes);
    let padding = head.iter().take_while(|byte| **byte == 0).count();
    bytes
        .get(padding..)
        .is_some_and(|rest| rest.starts_with(&offload_binary::MAGIC))
}
