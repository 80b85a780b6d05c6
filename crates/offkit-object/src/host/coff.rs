//! COFF objects, those for many sections among them, and the PE programs linked from them.

use object::LittleEndian as LE;
use object::pe::{self, AnonObjectHeaderBigobj, ImageFileHeader};
use object::read::coff::CoffHeader;
use offkit_image::target::HostCpu;
use offkit_image::{ContainerKind, Error, ErrorKind};

use super::section::{Found, SectionContent, bytes_of, content_of, name_at};
use crate::reading::Reading;
use crate::source::Source;
use crate::{bundle, kpack, offload_binary};

/// Where a PE file says where its signature is.
const SIGNATURE_POINTER: u64 = 0x3c;
const SIGNATURE: &[u8] = b"PE\0\0";

/// Machines that hosts of device code have; object files begin with the number of one.
// x86 with 64 and 32 bits, ARM with 64 and 32 bits, and Windows' two mixtures of ARM and x86, ARM64EC and ARM64X.
const MACHINES: &[u16] = &[0x8664, 0x014c, 0xaa64, 0x01c4, 0xa641, 0xa64e];

/// What the class of an object for many sections is called.
const BIG_OBJECT_CLASS: [u8; 16] = [
    0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b, 0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8,
];

/// What a COFF or PE file consists of.
#[derive(Debug)]
pub(super) struct Coff {
    /// Whether numbers of sections have 32 bits.
    pub(super) is_big_object: bool,
    /// Whether it is a program or library.
    pub(super) is_linked: bool,
    /// Where the section headers are.
    pub(super) headers_offset: u64,
    /// 0 where there is no symbol table, and then no string table either.
    pub(super) symbols_offset: u64,
    pub(super) symbol_count: u32,
    pub(super) sections: Vec<Section>,
}

/// The fields of a section header that matter here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    pub(super) name: [u8; 8],
    pub(super) virtual_size: u32,
    pub(super) size: u32,
    pub(super) offset: u32,
    pub(super) relocations: u32,
    pub(super) line_numbers: u32,
    pub(super) flags: u32,
}

impl Section {
    /// Whether the section has bytes in the file.
    pub(super) fn is_in_file(&self) -> bool {
        self.flags & pe::IMAGE_SCN_CNT_UNINITIALIZED_DATA.0 == 0 && self.offset != 0 && self.size != 0
    }
}

/// Whether the bytes begin like a COFF object or a PE program.
pub(super) fn is_coff(bytes: &[u8]) -> bool {
    is_object(bytes) || is_big_object(bytes) || program_header(Source::new(bytes)).is_some()
}

/// Whether the bytes begin with a file header of an object. It has no magic, but more than the machine's
/// number can be told from it.
fn is_object(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<20>() else {
        return false;
    };
    let [a, b, c, d, .., e, f, _, _] = *header;
    let sections = u16::from_le_bytes([c, d]);
    let optional_header = u16::from_le_bytes([e, f]);
    // Objects have no optional header, and from 0xff00 on numbers of sections mean other things in symbols.
    MACHINES.contains(&u16::from_le_bytes([a, b]))
        && sections != 0
        && sections < 0xff00
        && optional_header == 0
}

fn is_big_object(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0, 0, 0xff, 0xff]) && bytes.get(12..28) == Some(&BIG_OBJECT_CLASS)
}

/// The processor that the code is for.
pub(super) fn cpu(source: Source<'_>) -> Option<HostCpu> {
    // Of an object for many sections the number stands behind its magic.
    let at = match is_big_object(source.bytes()) {
        true => 6,
        false => program_header(source).unwrap_or_default(),
    };
    let machine = source.get(at, 2)?.bytes().first_chunk::<2>()?;
    match u16::from_le_bytes(*machine) {
        0x8664 => Some(HostCpu::X86_64),
        0x014c => Some(HostCpu::X86),
        0xaa64 | 0xa641 | 0xa64e => Some(HostCpu::Aarch64),
        0x01c4 => Some(HostCpu::Arm),
        _ => None,
    }
}

/// Where the COFF header of a PE program is.
pub(super) fn program_header(source: Source<'_>) -> Option<u64> {
    if !source.bytes().starts_with(b"MZ") {
        return None;
    }
    let pointer = source.get(SIGNATURE_POINTER, 4)?.bytes().first_chunk::<4>()?;
    let signature = u64::from(u32::from_le_bytes(*pointer));
    // A program whose beginning is all there is counts too.
    let found = source
        .get(signature, 4)
        .is_none_or(|found| found.bytes() == SIGNATURE);
    found.then(|| signature.saturating_add(4))
}

/// Whether a PE program has an Authenticode signature: whether its table of certificates, the fifth data directory of
/// the optional header, has a size.
pub(super) fn is_signed(source: Source<'_>) -> bool {
    const FILE_HEADER: u64 = size_of::<ImageFileHeader>() as u64;
    /// In the optional header of 64 bits: where the number of directories is.
    const COUNT: u64 = 108;
    const CERTIFICATES: u64 = 4;
    let number = |at: u64| {
        let bytes = source.get(at, 4)?.bytes().first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let size = || {
        let header = program_header(source)?.checked_add(FILE_HEADER)?;
        let is_64 = source.get(header, 2)?.bytes() == pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC.to_le_bytes();
        // That of 32 bits has 16 bytes less.
        let count_at = header.checked_add(if is_64 { COUNT } else { COUNT - 16 })?;
        let has_one = u64::from(number(count_at)?) > CERTIFICATES;
        number(count_at.checked_add(4 + CERTIFICATES * 8 + 4)?).filter(|_| has_one)
    };
    size().is_some_and(|size| size != 0)
}

impl Coff {
    /// Reads the headers, and only these.
    pub(super) fn read(source: Source<'_>) -> Result<Self, Error> {
        if is_big_object(source.bytes()) {
            Self::read_header::<AnonObjectHeaderBigobj>(source, 0, false)
        } else {
            let program = program_header(source);
            Self::read_header::<ImageFileHeader>(source, program.unwrap_or(0), program.is_some())
        }
    }

    fn read_header<Header: CoffHeader>(
        source: Source<'_>,
        header_offset: u64,
        is_linked: bool,
    ) -> Result<Self, Error> {
        let mut headers_offset = header_offset;
        let wrong = |message, offset, error| {
            Error::new(ErrorKind::OutOfBounds, message)
                .at(source.at(offset))
                .expecting(format!("to end within {:#x} bytes", source.len()))
                .finding(error)
        };
        let header = Header::parse(source.bytes(), &mut headers_offset)
            .map_err(|error| wrong("Invalid COFF header", header_offset, error))?;
        let sections = header
            .sections(source.bytes(), headers_offset)
            .map_err(|error| wrong("Invalid COFF section headers", headers_offset, error))?;
        let sections = sections.iter().map(|section| Section {
            name: section.name,
            virtual_size: section.virtual_size.get(LE),
            size: section.size_of_raw_data.get(LE),
            offset: section.pointer_to_raw_data.get(LE),
            relocations: section.pointer_to_relocations.get(LE),
            line_numbers: section.pointer_to_linenumbers.get(LE),
            flags: section.characteristics.get(LE).0,
        });
        Ok(Self {
            is_big_object: Header::is_type_bigobj(),
            is_linked,
            headers_offset,
            symbols_offset: header.pointer_to_symbol_table().into(),
            symbol_count: header.number_of_symbols(),
            sections: sections.collect(),
        })
    }

    pub(super) fn symbol_size(&self) -> u64 {
        let size = if self.is_big_object {
            size_of::<pe::ImageSymbolEx>()
        } else {
            size_of::<pe::ImageSymbol>()
        };
        size as u64
    }

    /// The size of a section's content, without the padding that it has in the file of a program.
    pub(super) fn size_of(&self, section: &Section) -> u32 {
        if self.is_linked && section.virtual_size != 0 {
            section.size.min(section.virtual_size)
        } else {
            section.size
        }
    }

    /// Where the string table is: directly after the symbols.
    pub(super) fn strings_offset(&self) -> Option<u64> {
        let symbols = u64::from(self.symbol_count).saturating_mul(self.symbol_size());
        (self.symbols_offset != 0).then(|| self.symbols_offset.saturating_add(symbols))
    }

    /// The string table with its size in the first 4 bytes; what is there of it.
    pub(super) fn strings<'data>(&self, source: Source<'data>) -> Source<'data> {
        let Some(offset) = self.strings_offset() else {
            return source.from(u64::MAX);
        };
        let rest = source.from(offset);
        let size = rest
            .bytes()
            .first_chunk::<4>()
            .map_or(0, |size| u32::from_le_bytes(*size));
        // Of a table that is cut off, the names that are there still count.
        rest.get(0, size.into()).unwrap_or(rest)
    }
}

impl Section {
    /// The section's name; long ones are in the string table.
    pub(super) fn name<'a>(&'a self, strings: &'a [u8]) -> &'a [u8] {
        // A name of eight bytes fills the field and has no zero byte.
        let short = name_at(&self.name, 0).unwrap_or_default();
        let Some(place) = short.strip_prefix(b"/") else {
            return short;
        };
        let offset = match place.strip_prefix(b"/") {
            Some(digits) => digits.iter().try_fold(0_u64, |value, digit| {
                const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                let digit = memchr::memchr(*digit, DIGITS)?;
                value.checked_mul(64)?.checked_add(digit as u64)
            }),
            None => std::str::from_utf8(place)
                .ok()
                .and_then(|digits| digits.parse().ok()),
        };
        offset
            .and_then(|offset| name_at(strings, offset))
            // Where it leads nowhere, the reference is all the name there is.
            .unwrap_or(short)
    }
}

/// Finds the sections with device code.
pub(super) fn sections<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&mut Reading, Found<'data>) -> Result<(), Error>,
) -> Result<(), Error> {
    let coff = Coff::read(source)?;
    let strings = coff.strings(source).bytes();
    // Before the loop, for the section with the reference may come behind that of the bundles.
    let mut sections = coff.sections.iter();
    let reference = sections.position(|section| kpack::is_reference(section.name(strings)));
    for (id, section) in coff.sections.iter().enumerate() {
        let name = section.name(strings);
        // Linkers cut names after 8 bytes or before the second dot; the content tells whether it is this section.
        let is_cut_name = coff.is_linked && (name == b".llvm.of" || name == b".llvm");
        // The first only: very many sections may share one long reference.
        if reference == Some(id) {
            let (offset, size) = (section.offset.into(), coff.size_of(section).into());
            let found = source.get(offset, size).unwrap_or_else(|| source.from(u64::MAX));
            reading.fault(kpack::moved(found))?;
        }
        let content = if is_cut_name {
            Some(SectionContent::Container(ContainerKind::OffloadBinary))
        } else {
            content_of(name)
        };
        let Some(content) = content else {
            continue;
        };
        if !section.is_in_file() {
            continue;
        }
        let size = coff.size_of(section);
        let name = String::from_utf8_lossy(name).into_owned();
        let (offset, size) = (section.offset.into(), size.into());
        let fields = "PointerToRawData, SizeOfRawData";
        let found = bytes_of(source, reading, offset, size, fields, &name)?;
        if content.is_offloading() && coff.is_linked && !found.bytes().starts_with(&offload_binary::MAGIC) {
            continue;
        }
        // `rocm-kpack` takes whole pages out of the section of bundles, and leaves the rest of the last one.
        if reference.is_some()
            && content == SectionContent::Container(ContainerKind::Bundle)
            && !bundle::has_magic(found.bytes())
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
                is_loaded: section.flags & pe::IMAGE_SCN_LNK_REMOVE.0 == 0,
            },
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_certificates_is_a_signature() {
        for (magic, count_at) in [(0x20b_u16, 108), (0x10b, 92)] {
            let mut program = vec![0; 0x200];
            program[..2].copy_from_slice(b"MZ");
            program[0x3c] = 0x40;
            program[0x40..0x44].copy_from_slice(SIGNATURE);
            let header = 0x44 + 20;
            program[header..header + 2].copy_from_slice(&magic.to_le_bytes());
            program[header + count_at] = 16;
            assert!(!is_signed(Source::new(&program)));
            // The size of the fifth of the directories, which are of 8 bytes.
            program[header + count_at + 4 + 4 * 8 + 4] = 8;
            assert!(is_signed(Source::new(&program)));
            program[header + count_at] = 4;
            assert!(!is_signed(Source::new(&program)));
        }
    }
}
