//! ELF, as far as looking into images needs it: header, sections, symbols and notes of either class and byte
//! order; and code for hosts.
//!
//! What is read here is counted, names above all: in a small file millions of symbols can share one long name.

use offkit_image::target::host::elf_machine_name;
use offkit_image::{Error, ErrorKind};

use super::findings::Findings;
use super::zebin;
use crate::source::Source;

pub(super) const TYPE_RELOCATABLE: u16 = 1;
const TYPE_EXECUTABLE: u16 = 2;
const TYPE_SHARED: u16 = 3;

const SECTION_SYMBOLS: u32 = 2;
const SECTION_NOTES: u32 = 7;
const SECTION_NO_BITS: u32 = 8;

const MACHINE_CUDA: u16 = 190;
/// Sections of cubins that stand for global, local and shared memory, and take no room in the file.
const CUDA_NO_BITS: [u32; 3] = [0x7000_0007, 0x7000_0009, 0x7000_000a];
const SECTION_DYNAMIC_SYMBOLS: u32 = 11;

const SYMBOL_OBJECT: u8 = 1;
const SYMBOL_FUNCTION: u8 = 2;
const BIND_GLOBAL: u8 = 1;
const BIND_WEAK: u8 = 2;
const VISIBILITY_INTERNAL: u8 = 1;
const VISIBILITY_HIDDEN: u8 = 2;

/// The fields of the file header that say what an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_64: bool,
    pub(super) big_endian: bool,
    pub(super) os_abi: u8,
    pub(super) abi_version: u8,
    pub(super) kind: u16,
    pub(super) machine: u16,
    pub(super) flags: u32,
}

impl Header {
    /// The header, if it is all there.
    pub(super) fn read(source: Source<'_>) -> Option<Self> {
        let bytes = source.bytes();
        let [class, order, _, os_abi, abi_version] = *bytes.strip_prefix(b"\x7fELF")?.first_chunk()?;
        let (is_64, big_endian) = match (class, order) {
            (1 | 2, 1 | 2) => (class == 2, order == 2),
            _ => return None,
        };
        let fields = Fields { source, big_endian };
        Some(Self {
            is_64,
            big_endian,
            os_abi,
            abi_version,
            kind: fields.half(16)?,
            machine: fields.half(18)?,
            flags: fields.word(if is_64 { 48 } else { 36 })?,
        })
    }
}

/// The data of the first section of a name, found without reading any other.
pub(super) fn section_named<'data>(
    source: Source<'data>,
    header: &Header,
    name: &[u8],
) -> Option<Source<'data>> {
    let is_64 = header.is_64;
    let fields = |source| Fields {
        source,
        big_endian: header.big_endian,
    };
    let file = fields(source);
    let (place, counts) = if is_64 { (40, 58) } else { (32, 46) };
    let (offset_at, size_at) = if is_64 { (24, 32) } else { (16, 20) };
    let table = source.from(file.address(place, is_64)?);
    let size = u64::from(file.half(counts)?);
    let count = u64::from(file.half(counts.saturating_add(2))?);
    let section = |number: u64| Some(fields(table.get(number.checked_mul(size)?, size)?));
    let data = |section: Fields<'data>| {
        let offset = section.address(offset_at, is_64)?;
        source.get(offset, section.address(size_at, is_64)?)
    };
    let names = data(section(file.half(counts.saturating_add(4))?.into())?)?;
    let is_named = |section: &Fields<'data>| {
        let start = section.word(0).map(|offset| names.from(offset.into()).bytes());
        let rest = start.and_then(|start| start.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    };
    data((0..count).map_while(section).find(is_named)?)
}

/// Numbers in either byte order.
#[derive(Clone, Copy)]
pub(super) struct Fields<'data> {
    pub(super) source: Source<'data>,
    pub(super) big_endian: bool,
}

impl Fields<'_> {
    fn bytes<const N: usize>(self, offset: u64) -> Option<[u8; N]> {
        let mut bytes = *self.source.get(offset, N as u64)?.bytes().first_chunk::<N>()?;
        if self.big_endian {
            bytes.reverse();
        }
        Some(bytes)
    }

    pub(super) fn byte(self, offset: u64) -> Option<u8> {
        self.bytes::<1>(offset).map(|[byte]| byte)
    }

    pub(super) fn half(self, offset: u64) -> Option<u16> {
        self.bytes(offset).map(u16::from_le_bytes)
    }

    pub(super) fn word(self, offset: u64) -> Option<u32> {
        self.bytes(offset).map(u32::from_le_bytes)
    }

    fn double(self, offset: u64) -> Option<u64> {
        self.bytes(offset).map(u64::from_le_bytes)
    }

    /// Four or eight bytes, by the class of the file.
    fn address(self, offset: u64, is_64: bool) -> Option<u64> {
        if is_64 {
            self.double(offset)
        } else {
            self.word(offset).map(u64::from)
        }
    }
}

/// An ELF file and its sections.
pub(super) struct Elf<'data> {
    pub(super) header: Header,
    pub(super) source: Source<'data>,
    pub(super) sections: Vec<Section<'data>>,
}

/// A section; its data are empty where it has none in the file.
#[derive(Clone)]
pub(super) struct Section<'data> {
    pub(super) name: String,
    pub(super) kind: u32,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) data: Source<'data>,
}

/// A symbol with a name.
pub(super) struct Symbol {
    /// Its number in the table, as other sections refer to it.
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) section: u16,
    pub(super) other: u8,
    kind: u8,
    bind: u8,
}

impl Symbol {
    pub(super) fn is_defined(&self) -> bool {
        self.section != 0
    }

    pub(super) fn is_function(&self) -> bool {
        self.kind == SYMBOL_FUNCTION
    }

    pub(super) fn is_object(&self) -> bool {
        self.kind == SYMBOL_OBJECT
    }

    /// Whether other files may refer to it, or it refers to another file.
    pub(super) fn is_shared(&self) -> bool {
        self.is_global() && !matches!(self.other & 3, VISIBILITY_INTERNAL | VISIBILITY_HIDDEN)
    }

    /// Whether it needs no definition.
    pub(super) fn is_weak(&self) -> bool {
        self.bind == BIND_WEAK
    }

    /// Whether files that are linked with this one may refer to it, hidden from all others or not.
    fn is_global(&self) -> bool {
        matches!(self.bind, BIND_GLOBAL | BIND_WEAK)
    }
}

/// A note.
pub(super) struct Note<'data> {
    pub(super) owner: &'data [u8],
    pub(super) kind: u32,
    pub(super) data: Source<'data>,
}

impl<'data> Elf<'data> {
    /// Reads header and sections. What lies outside of the file is noted and left out.
    pub(super) fn read(source: Source<'data>, findings: &mut Findings) -> Result<Self, Error> {
        let header = Header::read(source).ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfBounds,
                "ELF header is cut off or of no known class",
            )
            .at(source.at(0))
            .field("header")
        })?;
        let mut elf = Self {
            header,
            source,
            sections: Vec::new(),
        };
        let result = elf.read_sections(findings);
        if let Err(error) = result {
            findings.problem(error);
        }
        Ok(elf)
    }

    pub(super) fn fields(&self, source: Source<'data>) -> Fields<'data> {
        Fields {
            source,
            big_endian: self.header.big_endian,
        }
    }

    fn read_sections(&mut self, findings: &mut Findings) -> Result<(), Error> {
        let is_64 = self.header.is_64;
        let fields = self.fields(self.source);
        let cut_off = || Error::malformed("ELF header is cut off").at(self.source.at(0));
        let (place, counts, least) = if is_64 { (40, 58, 64) } else { (32, 46, 40) };
        let start = fields.address(place, is_64).ok_or_else(cut_off)?;
        let size = u64::from(fields.half(counts).ok_or_else(cut_off)?);
        let count = u64::from(fields.half(counts.saturating_add(2)).ok_or_else(cut_off)?);
        let names = u32::from(fields.half(counts.saturating_add(4)).ok_or_else(cut_off)?);
        if start == 0 {
            return Ok(());
        }
        if size < least {
            return Err(Error::malformed("ELF section headers are too small")
                .at(self.source.at(counts))
                .field("e_shentsize")
                .expecting(format!("at least {least:#x}"))
                .finding(format_args!("{size:#x}")));
        }
        let table = self.source.from(start);
        // Larger numbers than fit the header are in the first section's header.
        let first = self.fields(table);
        let (size_at, link_at) = if is_64 { (32, 40) } else { (20, 24) };
        let count = match count {
            0 => first.address(size_at, is_64).unwrap_or_default(),
            count => count,
        };
        let names = match names {
            0xffff => first.word(link_at).unwrap_or_default(),
            names => names,
        };
        let whole = table.len().checked_div(size).unwrap_or_default();
        if count > whole {
            findings.problem(
                Error::new(ErrorKind::OutOfBounds, "ELF section headers are cut off")
                    .at(self.source.at(start))
                    .expecting(format!("{count} headers of {size:#x} bytes"))
                    .finding(whole),
            );
        }
        let mut name_offsets = Vec::new();
        for number in 0..count.min(whole) {
            let header = self.fields(table.from(number.saturating_mul(size)));
            let Some((name, section)) = self.read_section(header, findings) else {
                break;
            };
            name_offsets.push(name);
            self.sections.push(section);
        }
        let strings = self.section(names).map(|section| section.data);
        let Some(strings) = strings else { return Ok(()) };
        for (section, name) in self.sections.iter_mut().zip(name_offsets) {
            section.name = read_name(strings, name, findings)?;
        }
        Ok(())
    }

    fn read_section(&self, header: Fields<'data>, findings: &mut Findings) -> Option<(u32, Section<'data>)> {
        let is_64 = self.header.is_64;
        let (offset_at, size_at, link_at) = if is_64 { (24, 32, 40) } else { (16, 20, 24) };
        let kind = header.word(4)?;
        let offset = header.address(offset_at, is_64)?;
        let size = header.address(size_at, is_64)?;
        let is_empty = matches!(kind, 0 | SECTION_NO_BITS)
            || (self.header.machine == MACHINE_CUDA && CUDA_NO_BITS.contains(&kind));
        let in_file = if is_empty { 0 } else { size };
        let data = self.source.get(offset, in_file).unwrap_or_else(|| {
            let error = Error::new(ErrorKind::OutOfBounds, "ELF section lies outside of the file")
                .at(header.source.at(offset_at))
                .expecting(format!("an end at or before {:#x}", self.source.len()))
                .finding(format_args!("{size:#x} bytes at {offset:#x}"));
            if in_file > 0 {
                findings.problem(error);
            }
            self.source.from(u64::MAX)
        });
        let section = Section {
            name: String::new(),
            kind,
            size,
            link: header.word(link_at)?,
            info: header.word(link_at.saturating_add(4))?,
            data,
        };
        Some((header.word(0)?, section))
    }

    fn section(&self, index: u32) -> Option<&Section<'data>> {
        self.sections.get(usize::try_from(index).ok()?)
    }

    /// The first section of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Section<'data>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The compiler that left its name in `.comment`, among the strings there; the linker's is one of them.
    pub(super) fn comment(&self, findings: &mut Findings) -> Result<Option<String>, Error> {
        let bytes = self
            .named(".comment")
            .map_or(&[][..], |section| section.data.bytes());
        let mut strings = bytes.split(|byte| *byte == 0);
        let compiler = strings.find(|text| !text.is_empty() && !text.starts_with(b"Linker: "));
        compiler.map(|text| findings.text(text)).transpose()
    }

    /// The symbols with names, of the dynamic table if there is one that counts, else of the full one.
    ///
    /// `dynamic` asks for what the loader sees, which is all that a linked image shows to others.
    pub(super) fn symbols(&self, dynamic: bool, findings: &mut Findings) -> Vec<Symbol> {
        let of_kind = |kind| self.sections.iter().find(|section| section.kind == kind);
        let table = of_kind(SECTION_DYNAMIC_SYMBOLS)
            .filter(|_| dynamic)
            .or_else(|| of_kind(SECTION_SYMBOLS));
        let mut symbols = Vec::new();
        if let Some(table) = table
            && let Err(error) = self.read_symbols(table, &mut symbols, findings)
        {
            findings.problem(error);
        }
        symbols
    }

    fn read_symbols(
        &self,
        table: &Section<'data>,
        symbols: &mut Vec<Symbol>,
        findings: &mut Findings,
    ) -> Result<(), Error> {
        let (size, info_at, section_at) = if self.header.is_64 {
            (24, 4, 6)
        } else {
            (16, 12, 14)
        };
        let strings = self
            .section(table.link)
            .map_or(self.source.from(u64::MAX), |section| section.data);
        let mut index = 0_u32;
        let mut at = 0_u64;
        while at < table.data.len() {
            let fields = self.fields(table.data.from(at));
            let (Some(name), Some(info), Some(other), Some(section)) = (
                fields.word(0),
                fields.byte(info_at),
                fields.byte(info_at.saturating_add(1)),
                fields.half(section_at),
            ) else {
                return Err(Error::new(ErrorKind::OutOfBounds, "ELF symbol is cut off")
                    .at(table.data.at(at))
                    .expecting(format!("{size:#x} bytes")));
            };
            if name != 0 {
                symbols.push(Symbol {
                    index,
                    name: read_name(strings, name, findings)?,
                    section,
                    other,
                    kind: info & 0xf,
                    bind: info >> 4,
                });
            }
            index = index.saturating_add(1);
            at = at.saturating_add(size);
        }
        Ok(())
    }

    /// The notes of all sections of notes, in order. A section that is not what it claims ends its notes.
    pub(super) fn notes(&self, findings: &mut Findings) -> Vec<Note<'data>> {
        let mut notes = Vec::new();
        for section in &self.sections {
            if section.kind != SECTION_NOTES {
                continue;
            }
            if let Err(error) = findings.count(section.data.len()) {
                findings.problem(error);
                break;
            }
            let mut rest = section.data;
            while let Some((note, length)) = self.read_note(rest) {
                notes.push(note);
                rest = rest.from(length);
            }
        }
        notes
    }

    /// The note at the start, and how many bytes it takes with its padding to a multiple of four.
    fn read_note(&self, source: Source<'data>) -> Option<(Note<'data>, u64)> {
        let padded = |size: u64| size.checked_next_multiple_of(4);
        let fields = self.fields(source);
        let name_size = u64::from(fields.word(0)?);
        let size = u64::from(fields.word(4)?);
        let data_at = padded(name_size)?.checked_add(12)?;
        let owner = source.get(12, name_size)?.bytes();
        let data = source.get(data_at, size)?;
        let note = Note {
            owner: owner.strip_suffix(b"\0").unwrap_or(owner),
            kind: fields.word(8)?,
            data,
        };
        Some((note, padded(size)?.checked_add(data_at)?))
    }
}

/// A string of a table of strings, up to its zero byte.
pub(super) fn read_name(strings: Source<'_>, offset: u32, findings: &mut Findings) -> Result<String, Error> {
    let bytes = strings.from(offset.into()).bytes();
    match memchr::memchr(0, bytes).and_then(|length| bytes.get(..length)) {
        Some(name) => findings.text(name),
        None => {
            // What was searched counts, too.
            findings.count(bytes.len() as u64)?;
            Ok(String::new())
        }
    }
}

/// Code for a host, as OpenMP has it for offloading to the CPU.
pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let elf = Elf::read(source, findings)?;
    if zebin::inspect_generic(&elf, findings) {
        return Ok(());
    }
    findings.inspection.producer = elf.comment(findings)?;
    findings.detail("machine", machine_name(elf.header.machine));
    findings.detail("type", type_name(elf.header.kind));
    let is_relocatable = elf.header.kind == TYPE_RELOCATABLE;
    for symbol in elf.symbols(true, findings) {
        let is_visible = symbol.is_shared() || (is_relocatable && symbol.is_global());
        if !is_visible {
            continue;
        }
        if !symbol.is_defined() && symbol.is_weak() {
            findings.weak_import(symbol.name);
        } else if !symbol.is_defined() {
            findings.import(symbol.name);
        } else if symbol.is_function() && symbol.name.starts_with(OPENMP_KERNEL) {
            findings.kernel(symbol.name);
        } else if symbol.is_function() || (is_relocatable && symbol.is_object()) {
            findings.export(symbol.name);
        }
    }
    Ok(())
}

/// What the names of OpenMP's target regions start with in every LLVM.
const OPENMP_KERNEL: &str = "__omp_offloading_";

fn type_name(kind: u16) -> String {
    match kind {
        TYPE_RELOCATABLE => "relocatable".to_owned(),
        TYPE_EXECUTABLE => "executable".to_owned(),
        TYPE_SHARED => "shared".to_owned(),
        other => format!("{other:#x}"),
    }
}

fn machine_name(machine: u16) -> String {
    match elf_machine_name(machine) {
        Some(name) => name.to_owned(),
        None => format!("machine {machine}"),
    }
}
