//! ELF files: their sections, in one form for both classes and byte orders.

use object::elf;
use offkit_image::{ContainerKind, Error, ErrorKind};

use super::section::{BUNDLE_PREFIX, Found, SectionContent, bytes_of, content_of, name_at};
use crate::elf::{Header, SectionHeader, TYPE_RELOCATABLE};
use crate::reading::Reading;
use crate::source::Source;
use crate::{kpack, offload_binary};

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
    /// How many bytes each takes.
    header_size: u64,
    /// The number of the section with the names of the sections.
    pub(super) names_index: usize,
    pub(super) sections: Vec<SectionHeader>,
}

/// Whether the section has bytes in the file.
pub(super) fn is_in_file(section: &SectionHeader) -> bool {
    section.is_in_file && section.size > 0
}

impl Elf {
    /// Where a section's header is in a file of 64 bits.
    pub(super) fn header_of_64(&self, index: usize) -> u64 {
        let size = 64_u64.saturating_mul(index as u64);
        self.headers_offset.saturating_add(size)
    }

    /// Reads the headers, and only these.
    pub(super) fn read(source: Source<'_>) -> Result<Self, Error> {
        let header = Header::read(source);
        let parts = header.and_then(|header| {
            let [_, _, segments] = header.segments(source)?;
            Some((header, segments, header.sections(source)?))
        });
        let (header, segments, sections) = parts.ok_or_else(|| {
            Error::malformed("Invalid ELF header")
                .at(source.at(0))
                .expecting("a whole header of 32 or 64 bits in either byte order")
        })?;
        if sections.count() > sections.room() {
            return Err(
                Error::new(ErrorKind::OutOfBounds, "Invalid ELF section header table")
                    .at(source.at(sections.offset))
                    .field("e_shoff, e_shnum")
                    .expecting(format!("a table within {:#x} bytes", source.len()))
                    .finding(format_args!("{} headers", sections.count())),
            );
        }
        Ok(Self {
            is_64: header.is_64,
            is_big_endian: header.big_endian,
            // Program headers would not follow what `elf_edit` moves.
            is_relocatable: header.kind == TYPE_RELOCATABLE && segments == 0,
            headers_offset: sections.offset,
            header_size: sections.header_size,
            names_index: sections.names() as usize,
            sections: sections.all(),
        })
    }

    /// Refuses section headers of an unusual size, before any is written: all writers know the usual one only.
    pub(super) fn check_header_size(&self) -> Result<(), Error> {
        let usual = if self.is_64 { 64 } else { 40 };
        if self.sections.is_empty() || self.header_size == usual {
            return Ok(());
        }
        Err(Error::unrepresentable("section headers have an unusual size")
            .field("e_shentsize")
            .expecting(usual.to_string())
            .finding(self.header_size))
    }

    /// Notes what is wrong with the table of sections and that of their names: sections with device code would be passed
    /// over then.
    fn check_tables(&self, source: Source<'_>, names: &[u8], reading: &mut Reading) -> Result<(), Error> {
        let Some(first) = self.sections.first() else {
            return Ok(());
        };
        if first.kind != 0 {
            reading.fault(
                Error::malformed("Invalid ELF section header table")
                    .at(source.at(self.headers_offset))
                    .field("sh_type of the first section")
                    .expecting("0")
                    .finding(first.kind),
            )?;
        }
        // Without a table no section may have a name.
        if self.names_index == 0 && self.sections.iter().all(|section| section.name == 0) {
            return Ok(());
        }
        let table = self.sections.get(self.names_index);
        let is_table = table.is_some_and(|table| table.kind == elf::SHT_STRTAB.0);
        let is_whole = table.is_none_or(|table| {
            let size = usize::try_from(table.size).unwrap_or(usize::MAX);
            names.first() == Some(&0) && names.last() == Some(&0) && names.len() == size
        });
        if !is_table || !is_whole {
            let place = table.map_or(self.headers_offset, |table| table.offset);
            reading.fault(
                Error::malformed("Invalid ELF table of the names of sections")
                    .at(source.at(place))
                    .field("e_shstrndx")
                    .expecting("a table of strings within the file")
                    .finding(format_args!("section {}", self.names_index)),
            )?;
            return Ok(());
        }
        let mut sections = self.sections.iter().enumerate();
        if let Some((number, _)) = sections.find(|(_, section)| section.name as usize >= names.len()) {
            reading.fault(
                Error::malformed("Invalid ELF section name")
                    .at(source.at(self.headers_offset))
                    .field(format!("sh_name of section {number}"))
                    .expecting(format!("a place within {:#x} bytes of names", names.len())),
            )?;
        }
        Ok(())
    }

    /// The names of all sections, one after the other; empty when they are not in the file.
    pub(super) fn names<'data>(&self, source: Source<'data>) -> &'data [u8] {
        let table = self
            .sections
            .get(self.names_index)
            .filter(|section| is_in_file(section));
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
    elf.check_tables(source, names, reading)?;
    let mut is_moved = false;
    for (id, section) in elf.sections.iter().enumerate() {
        let name = name_at(names, section.name.into()).unwrap_or_default();
        // Once: very many sections may share one long reference.
        if !is_moved && kpack::is_reference(name) {
            is_moved = true;
            let found = source
                .get(section.offset, section.size)
                .unwrap_or_else(|| source.from(u64::MAX));
            reading.fault(kpack::moved(found))?;
        }
        // LLVM's linker wrapper goes by the type alone, whatever the section is called.
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
        // An entry without code is still one of the bundle's; an empty container says nothing.
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
