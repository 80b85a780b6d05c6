//! ELF, as far as looking into images needs it: sections by name, symbols and notes; and code for hosts.
//!
//! What is read here is counted, names above all: in a small file millions of symbols can share one long name.

use std::borrow::Cow;

use offkit_image::target::host::elf_machine_name;
use offkit_image::{Error, ErrorKind};

use super::findings::Findings;
use super::zebin;
use crate::elf::{
    Fields, Header, SECTION_DYNAMIC_SYMBOLS, SECTION_NOTES, SECTION_SYMBOLS, SectionHeader, Sections,
    TYPE_EXECUTABLE, TYPE_RELOCATABLE, TYPE_SHARED,
};
use crate::source::Source;

const SYMBOL_OBJECT: u8 = 1;
const SYMBOL_FUNCTION: u8 = 2;
const BIND_GLOBAL: u8 = 1;
const BIND_WEAK: u8 = 2;
const VISIBILITY_INTERNAL: u8 = 1;
const VISIBILITY_HIDDEN: u8 = 2;

/// An ELF file and its sections.
pub(super) struct Elf<'data> {
    pub(super) header: Header,
    pub(super) source: Source<'data>,
    pub(super) sections: Vec<Section<'data>>,
}

/// A section; its data are empty where it has none in the file.
#[derive(Clone)]
pub(super) struct Section<'data> {
    pub(super) name: Cow<'data, str>,
    pub(super) kind: u32,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) data: Source<'data>,
}

impl Section<'_> {
    /// Its bytes in the file, which may be fewer than its header says.
    pub(super) fn stored_size(&self) -> u64 {
        self.size.min(self.data.len())
    }
}

/// A symbol with a name.
pub(super) struct Symbol<'data> {
    /// Its number in the table, as other sections refer to it.
    pub(super) index: u32,
    pub(super) name: Cow<'data, str>,
    pub(super) section: u16,
    pub(super) other: u8,
    /// In bytes.
    pub(super) size: u64,
    kind: u8,
    bind: u8,
}

impl Symbol<'_> {
    pub(super) fn is_defined(&self) -> bool {
        // Absolute and common symbols have reserved numbers, and are defined, too.
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
        // Others see a protected symbol as well; they only cannot put another in its place.
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
        // Noted only: the header by itself still says what the code is for.
        let result = elf.read_sections(findings);
        if let Err(error) = result {
            findings.problem(error);
        }
        Ok(elf)
    }

    pub(super) fn fields(&self, source: Source<'data>) -> Fields<'data> {
        self.header.fields(source)
    }

    fn read_sections(&mut self, findings: &mut Findings) -> Result<(), Error> {
        let sections = self.header.sections(self.source);
        let sections =
            sections.ok_or_else(|| Error::malformed("ELF header is cut off").at(self.source.at(0)))?;
        if sections.offset == 0 {
            return Ok(());
        }
        let (size, least) = (sections.header_size, sections.least_header_size());
        if size < least {
            return Err(Error::malformed("ELF section headers are too small")
                .at(self.source.at(sections.header_size_at()))
                .field("e_shentsize")
                .expecting(format!("at least {least:#x}"))
                .finding(format_args!("{size:#x}")));
        }
        let (count, room) = (sections.count(), sections.room());
        if count > room {
            findings.problem(
                Error::new(ErrorKind::OutOfBounds, "ELF section headers are cut off")
                    .at(self.source.at(sections.offset))
                    .expecting(format!("{count} headers of {size:#x} bytes"))
                    .finding(room),
            );
        }
        let headers = sections.all();
        self.sections.reserve_exact(headers.len());
        for header in &headers {
            let section = self.section_of(&sections, header, findings);
            self.sections.push(section);
        }
        let strings = self.section(sections.names()).map(|section| section.data);
        let Some(strings) = strings else { return Ok(()) };
        // Only when all are read: the one with the names may be any of them.
        for (section, header) in self.sections.iter_mut().zip(headers) {
            section.name = read_name(strings, header.name, findings)?;
        }
        Ok(())
    }

    fn section_of(
        &self,
        sections: &Sections<'data>,
        header: &SectionHeader,
        findings: &mut Findings,
    ) -> Section<'data> {
        let nowhere = self.source.from(u64::MAX);
        let data = match header.is_in_file && header.size > 0 {
            true => sections.data(header).unwrap_or_else(|| {
                let (offset, size) = (header.offset, header.size);
                findings.problem(
                    Error::new(ErrorKind::OutOfBounds, "ELF section lies outside of the file")
                        .at(header.offset_at)
                        .expecting(format!("an end at or before {:#x}", self.source.len()))
                        .finding(format_args!("{size:#x} bytes at {offset:#x}")),
                );
                nowhere
            }),
            false => nowhere,
        };
        Section {
            name: Cow::default(),
            kind: header.kind,
            size: header.size,
            link: header.link,
            info: header.info,
            data,
        }
    }

    pub(super) fn section(&self, index: u32) -> Option<&Section<'data>> {
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
    pub(super) fn symbols(&self, dynamic: bool, findings: &mut Findings) -> Vec<Symbol<'data>> {
        self.symbols_that(dynamic, findings, |_| true)
    }

    /// Those of the symbols that are wanted by what else than the name there is of them: reading names takes longest.
    pub(super) fn symbols_that(
        &self,
        dynamic: bool,
        findings: &mut Findings,
        is_wanted: impl Fn(&Symbol<'data>) -> bool,
    ) -> Vec<Symbol<'data>> {
        let of_kind = |kind| self.sections.iter().find(|section| section.kind == kind);
        let table = of_kind(SECTION_DYNAMIC_SYMBOLS)
            .filter(|_| dynamic)
            .or_else(|| of_kind(SECTION_SYMBOLS));
        let mut symbols = Vec::new();
        if let Some(table) = table
            && let Err(error) = self.read_symbols(table, &mut symbols, findings, is_wanted)
        {
            findings.problem(error);
        }
        symbols
    }

    fn read_symbols(
        &self,
        table: &Section<'data>,
        symbols: &mut Vec<Symbol<'data>>,
        findings: &mut Findings,
        is_wanted: impl Fn(&Symbol<'data>) -> bool,
    ) -> Result<(), Error> {
        // The two classes have the same fields in another order: with 64 bits the value and the size come last, so that
        // they are aligned.
        let (size, info_at, section_at, size_at) = if self.header.is_64 {
            (24, 4, 6, 16)
        } else {
            (16, 12, 14, 8)
        };
        let strings = self
            .section(table.link)
            .map_or(self.source.from(u64::MAX), |section| section.data);
        let mut index = 0_u32;
        let mut at = 0_u64;
        while at < table.data.len() {
            let fields = self.fields(table.data.from(at));
            let (Some(name), Some(info), Some(other), Some(section), Some(symbol_size)) = (
                fields.word(0),
                fields.byte(info_at),
                fields.byte(info_at.saturating_add(1)),
                fields.half(section_at),
                fields.address(size_at, self.header.is_64),
            ) else {
                return Err(Error::new(ErrorKind::OutOfBounds, "ELF symbol is cut off")
                    .at(table.data.at(at))
                    .expecting(format!("{size:#x} bytes")));
            };
            let mut symbol = Symbol {
                index,
                name: Cow::default(),
                section,
                other,
                size: symbol_size,
                kind: info & 0xf,
                bind: info >> 4,
            };
            // Offset 0 is no name: that of sections' own symbols, and of the first, which stands for none.
            if name != 0 && is_wanted(&symbol) {
                symbol.name = read_name(strings, name, findings)?;
                symbols.push(symbol);
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
            // Sections may share their bytes: each is paid for by itself.
            if let Err(error) = findings.count(section.data.len()) {
                findings.problem(error);
                break;
            }
            let mut rest = section.data;
            // A note takes at least the 12 bytes of its header, so that this ends.
            while let Some((note, length)) = self.read_note(rest) {
                notes.push(note);
                rest = rest.from(length);
            }
        }
        notes
    }

    /// The note at the start, and how many bytes it takes with its padding to a multiple of four.
    fn read_note(&self, source: Source<'data>) -> Option<(Note<'data>, u64)> {
        // The gABI asks for 8 in files of 64 bits, but compilers for devices pad to 4 there as well.
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
pub(super) fn read_name<'data>(
    strings: Source<'data>,
    offset: u32,
    findings: &mut Findings,
) -> Result<Cow<'data, str>, Error> {
    let bytes = strings.from(offset.into()).bytes();
    match memchr::memchr(0, bytes).and_then(|length| bytes.get(..length)) {
        Some(name) => findings.name(name),
        None => {
            // What was searched counts, too.
            findings.count(bytes.len() as u64)?;
            Ok(Cow::default())
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
        // A hidden symbol can still be linked with as long as the object is.
        let is_visible = symbol.is_shared() || (is_relocatable && symbol.is_global());
        if !is_visible {
            continue;
        }
        if !symbol.is_defined() && symbol.is_weak() {
            findings.weak_import(symbol.name.into_owned());
        } else if !symbol.is_defined() {
            findings.import(symbol.name.into_owned());
        } else if symbol.is_function() && symbol.name.starts_with(OPENMP_KERNEL) {
            findings.kernel(symbol.name.into_owned());
        } else if symbol.is_function() || is_relocatable {
            findings.export(symbol.name.into_owned());
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
