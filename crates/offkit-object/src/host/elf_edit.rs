//! Changing the sections of relocatable ELF objects.
//!
//! Bytes keep their order, and everything but what is changed keeps its content; what lies behind a change
//! moves, and its offsets with it.

use std::borrow::Cow;
use std::ops::Range;

use object::elf;
use offkit_image::Error;

use super::elf::{Elf, is_in_file};
use super::output::Output;
use super::splice::{Edit, Spliced, splice};
use super::write::{Changes, NewSection};
use crate::elf::SectionHeader;
use crate::source::Source;

/// Alignments beyond this are not kept for what moves: no object needs them, damaged ones claim them.
const LARGEST_ALIGN: u64 = 1 << 12;

/// From this number on, section numbers have special meanings or do not fit in 16 bits.
const RESERVED: u32 = 0xff00;

/// The object with these changes.
pub(super) fn edit<'data>(bytes: &'data [u8], changes: &Changes<'_, 'data>) -> Result<Output<'data>, Error> {
    let source = Source::new(bytes);
    let elf = Elf::read(source)?;
    if !elf.is_relocatable {
        return Err(Error::unrepresentable(
            "sections of a linked program cannot change their size: its addresses are fixed",
        ));
    }
    if elf.sections.is_empty() {
        return Err(Error::unrepresentable("the object has no section headers"));
    }
    elf.check_header_size()?;
    let plan = Plan::new(bytes, &elf, changes)?;
    plan.write()
}

/// Where the size of a section is in its header, and the bytes of another one there.
pub(super) fn size_field(source: Source<'_>, index: usize, size: usize) -> Result<(u64, Vec<u8>), Error> {
    let elf = Elf::read(source)?;
    elf.check_header_size()?;
    let (header_size, field, word) = if elf.is_64 { (64_u64, 32, 8) } else { (40, 20, 4) };
    let header = elf
        .headers_offset
        .saturating_add((index as u64).saturating_mul(header_size));
    let mut number = Out {
        bytes: vec![0; word].into(),
        is_64: elf.is_64,
        is_big_endian: elf.is_big_endian,
    };
    number.put(0, word, size as u64)?;
    Ok((header.saturating_add(field), number.bytes.into_bytes()))
}

/// An object with nothing in it but a table for the names of sections.
pub(super) fn empty_object(
    is_64: bool,
    is_big_endian: bool,
    machine: u16,
    flags: u32,
) -> Result<Vec<u8>, Error> {
    const NAMES: &[u8] = b"\0.shstrtab\0";
    let (file_header, section_header) = if is_64 { (64_u16, 64_u16) } else { (52, 40) };
    let headers_offset = usize::from(file_header)
        .saturating_add(NAMES.len())
        .next_multiple_of(8);
    let size = headers_offset.saturating_add(usize::from(section_header).saturating_mul(2));
    let mut bytes = vec![0_u8; usize::from(file_header)];
    bytes.extend_from_slice(NAMES);
    bytes.resize(size, 0);
    let mut out = Out {
        bytes: bytes.into(),
        is_64,
        is_big_endian,
    };
    let class = if is_64 { 2 } else { 1 };
    let order = if is_big_endian { 2 } else { 1 };
    for (at, byte) in [0x7f, b'E', b'L', b'F', class, order, 1].into_iter().enumerate() {
        out.put(at, 1, u64::from(byte))?;
    }
    let flags_at: usize = if is_64 { 0x30 } else { 0x24 };
    let header = [
        (0x10, 2, elf::ET_REL.0.into()),
        (0x12, 2, machine.into()),
        (0x14, 4, 1),
        (flags_at, 4, u64::from(flags)),
        (flags_at.saturating_add(4), 2, u64::from(file_header)),
        (flags_at.saturating_add(10), 2, u64::from(section_header)),
    ];
    for (at, size, value) in header {
        out.put(at, size, value)?;
    }
    let names = SectionHeader {
        name: 1,
        kind: elf::SHT_STRTAB.0,
        offset: file_header.into(),
        size: NAMES.len() as u64,
        align: 1,
        ..SectionHeader::default()
    };
    out.write_table(headers_offset as u64, vec![SectionHeader::default(), names], 1)?;
    Ok(out.bytes.into_bytes())
}

/// Where a new section header gets its content from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// Moved from the old file.
    Old,
    /// The edit of this number, with so many bytes.
    Edit(usize, usize),
}

struct Plan<'p, 'data> {
    bytes: &'data [u8],
    elf: &'p Elf,
    /// The headers of the new file but for their offsets, with the places of their contents.
    headers: Vec<(SectionHeader, Origin)>,
    /// The new number of each old section, `None` for one that goes.
    numbers: Vec<Option<u32>>,
    edits: Vec<Edit<'data>>,
    /// The edit that is the new table of headers.
    table: Option<usize>,
}

impl<'p, 'data> Plan<'p, 'data> {
    fn new(bytes: &'data [u8], elf: &'p Elf, changes: &Changes<'_, 'data>) -> Result<Self, Error> {
        // A section of relocations for a section that goes would point into nothing: it goes with it.
        let removed = with_relocations(elf, &changes.removed);
        let mut numbers = Vec::with_capacity(elf.sections.len());
        let mut next = 0_u32;
        for index in 0..elf.sections.len() {
            let stays = removed.binary_search(&index).is_err();
            numbers.push(stays.then_some(next));
            next = next.saturating_add(u32::from(stays));
        }
        let mut plan = Self {
            bytes,
            elf,
            headers: Vec::new(),
            numbers,
            edits: Vec::new(),
            table: None,
        };
        // By old number: the content that an edit puts in its place.
        let mut contents: Vec<(usize, Cow<'data, [u8]>)> = changes
            .replaced
            .iter()
            .map(|(index, new)| (*index, Cow::Borrowed(*new)))
            .chain(removed.iter().map(|index| (*index, Cow::Borrowed([].as_slice()))))
            .collect();
        let mut names = Cow::Borrowed(elf.names(Source::new(bytes)));
        let added_names: Vec<u32> = add_names(names.to_mut(), changes.added)?;
        if !added_names.is_empty() {
            if !elf.sections.get(elf.names_index).is_some_and(is_in_file) {
                return Err(Error::unrepresentable("the object has no names of sections"));
            }
            // Names are appended, never sorted in: old headers keep their offsets into the table.
            contents.push((elf.names_index, names));
        }
        let mut origins = vec![Origin::Old; elf.sections.len()];
        // A section without bytes that goes leaves nothing to be cut out.
        contents.retain(|(index, new)| {
            elf.sections
                .get(*index)
                .is_some_and(|old| is_in_file(old) || !new.is_empty())
        });
        // By place in the file, not by number: the splice below goes through the file once, from the front.
        contents.sort_by_key(|(index, _)| elf.sections.get(*index).map_or(0, |old| old.offset));
        for (index, new) in contents {
            let old = elf.sections.get(index).copied().unwrap_or_default();
            let start = to_usize(old.offset)?;
            let length = new.len();
            let has_no_bytes = old.kind == elf::SHT_NOBITS.0 || old.kind == elf::SHT_NULL.0;
            // A section without bytes may have any offset, 0 as well: an edit there would go into
            // what is not its own.
            if has_no_bytes || start < plan.file_header_size() {
                return Err(Error::unrepresentable("the section has no place in the file").finding(index));
            }
            if let Some(origin) = origins.get_mut(index) {
                *origin = Origin::Edit(plan.edits.len(), length);
            }
            plan.edits.push(Edit {
                start,
                end: if is_in_file(&old) {
                    start.saturating_add(to_usize(old.size)?)
                } else {
                    start
                },
                align: 1,
                new,
            });
        }
        for (old, origin) in elf.sections.iter().zip(&origins) {
            plan.headers.push((*old, *origin));
        }
        let stays: Vec<bool> = plan.numbers.iter().map(Option::is_some).collect();
        let mut stays = stays.into_iter();
        plan.headers.retain(|_| stays.next().unwrap_or_default());
        if !removed.is_empty() {
            plan.renumber_headers();
        }
        if !changes.added.is_empty() || !removed.is_empty() {
            plan.place_table(changes.added, &added_names)?;
        }
        Ok(plan)
    }

    /// Puts the contents of new sections and a new table of headers where the old table is.
    fn place_table(&mut self, added: &[NewSection<'data>], names: &[u32]) -> Result<(), Error> {
        let start = to_usize(self.elf.headers_offset)?;
        let old_size = self.elf.sections.len().saturating_mul(self.header_size());
        // The old table of headers is cut out, and what is new takes its place: most compilers write it last, so that nothing
        // behind has to move.
        // Edits are in the order of the file; those before the table stay before it.
        let position = self.edits.partition_point(|edit| edit.start < start);
        let new_count = added.len().saturating_add(1);
        // Origins are numbers of edits, and what is inserted at `position` shifts those behind it.
        for (_, origin) in &mut self.headers {
            if let Origin::Edit(number, _) = origin
                && *number >= position
            {
                *number = number.saturating_add(new_count);
            }
        }
        let mut inserted = Vec::with_capacity(new_count);
        for (section, name) in added.iter().zip(names) {
            let mut header = section.elf_header();
            header.name = *name;
            let number = position.saturating_add(inserted.len());
            self.headers
                .push((header, Origin::Edit(number, section.bytes.len())));
            inserted.push(Edit {
                start,
                end: start,
                align: to_usize(header.align.clamp(1, LARGEST_ALIGN))?,
                new: Cow::Borrowed(section.bytes),
            });
        }
        self.table = Some(position.saturating_add(inserted.len()));
        inserted.push(Edit {
            start,
            end: start.saturating_add(old_size),
            align: 8,
            new: Cow::Owned(vec![0; self.headers.len().saturating_mul(self.header_size())]),
        });
        self.edits.splice(position..position, inserted);
        Ok(())
    }

    fn header_size(&self) -> usize {
        if self.elf.is_64 { 64 } else { 40 }
    }

    fn file_header_size(&self) -> usize {
        if self.elf.is_64 { 64 } else { 52 }
    }

    /// Lets headers refer to sections by their new numbers.
    fn renumber_headers(&mut self) {
        let numbers = &self.numbers;
        let renumber = |old: u32| {
            let new = numbers.get(old as usize).copied().flatten();
            // 0 stands for no section: what the header was linked with is gone.
            new.unwrap_or_default()
        };
        for (header, _) in &mut self.headers {
            // `sh_link` is always a section; `sh_info` is one only for some kinds, and a count or a symbol for the rest.
            header.link = renumber(header.link);
            if has_section_in_info(header) {
                header.info = renumber(header.info);
            }
        }
    }

    fn write(self) -> Result<Output<'data>, Error> {
        let used = self.used();
        let align = self.alignment();
        let spliced = splice(self.bytes, &self.edits, &used, align)?;
        let table_offset = match self.table {
            Some(number) => spliced.placed.get(number).copied().unwrap_or_default(),
            None => spliced.moved(self.elf.headers_offset),
        };
        let headers = self.new_headers(&spliced);
        let names_index = self.numbers.get(self.elf.names_index).copied().flatten();
        let names_index = names_index.ok_or_else(|| {
            Error::unrepresentable("the section with the names of sections cannot be removed")
        })?;
        let mut out = Out {
            bytes: spliced.bytes,
            is_64: self.elf.is_64,
            is_big_endian: self.elf.is_big_endian,
        };
        // New sections come behind all others, so that only removal changes numbers.
        if self.numbers.iter().any(Option::is_none) {
            self.renumber_contents(&headers, &mut out)?;
        }
        out.write_table(table_offset, headers, names_index)?;
        Ok(out.bytes)
    }

    fn new_headers(&self, spliced: &Spliced<'_>) -> Vec<SectionHeader> {
        let headers = self.headers.iter().map(|(header, origin)| {
            let mut header = *header;
            match origin {
                Origin::Old => header.offset = spliced.moved(header.offset),
                Origin::Edit(number, size) => {
                    header.offset = spliced.placed.get(*number).copied().unwrap_or_default();
                    header.size = *size as u64;
                }
            }
            header
        });
        headers.collect()
    }

    /// What is where in the file.
    fn used(&self) -> Vec<Range<usize>> {
        let headers = self.elf.sections.len().saturating_mul(self.header_size());
        let sections = self.elf.sections.iter().filter(|section| is_in_file(section));
        let mut used: Vec<Range<usize>> = sections
            .map(|section| (section.offset, section.size))
            .chain([
                (self.elf.headers_offset, headers as u64),
                (0, self.file_header_size() as u64),
            ])
            .map(|(start, size)| {
                let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
                place(start)..place(start.saturating_add(size))
            })
            .collect();
        used.sort_unstable_by_key(|range| range.start);
        used
    }

    /// What the offsets of moved sections are to be kept a multiple of.
    fn alignment(&self) -> usize {
        let first = self.edits.first().map_or(usize::MAX, |edit| edit.start) as u64;
        let moving = self
            .elf
            .sections
            .iter()
            .filter(|section| is_in_file(section) && section.offset > first);
        // 8 at least, for the table of headers moves, too, and is read in place.
        let largest = moving
            .map(|section| section.align)
            .filter(|align| align.is_power_of_two() && *align <= LARGEST_ALIGN)
            .fold(8, u64::max);
        usize::try_from(largest).unwrap_or(8)
    }

    /// Lets symbols and groups refer to sections by their new numbers.
    fn renumber_contents(&self, headers: &[SectionHeader], out: &mut Out<'_>) -> Result<(), Error> {
        // Relocations name symbols by number: with two tables, a number that is gone from one would be gone from both.
        let is_symbols = |header: &&SectionHeader| header.kind == elf::SHT_SYMTAB.0;
        if headers.iter().filter(is_symbols).count() > 1 {
            return Err(Error::malformed("the object has more than one table of symbols"));
        }
        let mut gone = Vec::new();
        for header in headers.iter().filter(|header| is_in_file(header)) {
            let range = range_of(header, out)?;
            if header.kind == elf::SHT_SYMTAB.0 {
                for (index, symbol) in range.step_by(self.symbol_size()).enumerate() {
                    if !self.renumber_symbol(symbol, out)? {
                        // Ascending, as this is the only table.
                        gone.push(index as u64);
                    }
                }
            } else if header.kind == elf::SHT_SYMTAB_SHNDX.0 {
                for word in range.step_by(4) {
                    let new = self.number_of(out.get(word, 4))?;
                    out.put(word, 4, new.into())?;
                }
            } else if header.kind == elf::SHT_GROUP.0 {
                // The first word is flags.
                for word in range.step_by(4).skip(1) {
                    let new = self.number_of(out.get(word, 4))?;
                    out.put(word, 4, new.into())?;
                }
            }
        }
        if gone.is_empty() {
            Ok(())
        } else {
            self.check_relocations(headers, &gone, out)
        }
    }

    fn symbol_size(&self) -> usize {
        if self.elf.is_64 { 24 } else { 16 }
    }

    /// Gives a symbol the new number of its section. Local symbols of a section that goes are blanked: removing
    /// them would change the numbers of all symbols after them. Returns whether the symbol stays.
    fn renumber_symbol(&self, symbol: usize, out: &mut Out<'_>) -> Result<bool, Error> {
        let (info_at, number_at) = if self.elf.is_64 { (4, 6) } else { (12, 14) };
        let number_at = symbol.saturating_add(number_at);
        let old = out.get(number_at, 2);
        if old == 0 || old >= u64::from(RESERVED) {
            return Ok(true);
        }
        let binding = out.get(symbol.saturating_add(info_at), 1) >> 4;
        match self.number_of(old) {
            Ok(new) => {
                out.put(number_at, 2, new.into())?;
                Ok(true)
            }
            Err(_) if binding == u64::from(elf::STB_LOCAL.0) => {
                for byte in symbol..symbol.saturating_add(self.symbol_size()) {
                    out.put(byte, 1, 0)?;
                }
                out.put(number_at, 2, elf::SHN_ABS.0.into())?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes sure that no relocation needs a symbol that is gone.
    fn check_relocations(&self, headers: &[SectionHeader], gone: &[u64], out: &Out<'_>) -> Result<(), Error> {
        const MACHINE_MIPS: u64 = 8;
        // Of 64-bit MIPS, the symbol is a field of its own whatever the byte order.
        // `r_info` is one number of which the symbol is the upper half, wherever the byte order puts that.
        let is_own_field = !self.elf.is_64 || self.elf.is_big_endian || out.get(0x12, 2) == MACHINE_MIPS;
        let (offset, size, shift) = match (self.elf.is_64, is_own_field) {
            (false, _) => (4, 4, 8),
            (true, true) => (8, 4, 0),
            (true, false) => (12, 4, 0),
        };
        for header in headers.iter().filter(|header| is_in_file(header)) {
            let step = match (header.kind == elf::SHT_REL.0, header.kind == elf::SHT_RELA.0) {
                (true, _) => {
                    if self.elf.is_64 {
                        16
                    } else {
                        8
                    }
                }
                (_, true) => {
                    if self.elf.is_64 {
                        24
                    } else {
                        12
                    }
                }
                _ => continue,
            };
            for relocation in range_of(header, out)?.step_by(step) {
                let symbol = out.get(relocation.saturating_add(offset), size) >> shift;
                if gone.binary_search(&symbol).is_ok() {
                    return Err(Error::unrepresentable(
                        "a section cannot be removed: relocations of others need it",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The new number of a section that symbols or groups refer to.
    fn number_of(&self, old: u64) -> Result<u32, Error> {
        let index = usize::try_from(old).unwrap_or(usize::MAX);
        match self.numbers.get(index) {
            Some(Some(new)) => Ok(*new),
            Some(None) => Err(Error::unrepresentable(format!(
                "section {old} cannot be removed: symbols or groups need it"
            ))),
            // A number of no section; not for us to judge.
            None => Ok(u32::try_from(old).unwrap_or_default()),
        }
    }
}

/// Appends the names of new sections to the table of names; where each is.
fn add_names(table: &mut Vec<u8>, added: &[NewSection<'_>]) -> Result<Vec<u32>, Error> {
    let mut places = Vec::with_capacity(added.len());
    // In a table that was cut off, the last name would run into the first new one.
    if table.last().is_some_and(|last| *last != 0) {
        table.push(0);
    }
    for section in added {
        if section.name.contains('\0') {
            return Err(Error::unrepresentable("a section name holds a zero byte")
                .finding(section.name.escape_default()));
        }
        let place =
            u32::try_from(table.len()).map_err(|_| Error::unrepresentable("too many section names"))?;
        places.push(place);
        table.extend_from_slice(section.name.as_bytes());
        table.push(0);
    }
    Ok(places)
}

/// The sections to be removed and those with their relocations, in order.
fn with_relocations(elf: &Elf, removed: &[usize]) -> Vec<usize> {
    let mut all = removed.to_vec();
    all.sort_unstable();
    let relocations = elf.sections.iter().enumerate().filter(|(_, section)| {
        let is_relocations = section.kind == elf::SHT_REL.0 || section.kind == elf::SHT_RELA.0;
        is_relocations && all.binary_search(&(section.info as usize)).is_ok()
    });
    let relocations: Vec<usize> = relocations.map(|(index, _)| index).collect();
    all.extend(relocations);
    all.sort_unstable();
    all.dedup();
    all
}

/// The bytes of a section in the new file.
fn range_of(header: &SectionHeader, out: &Out<'_>) -> Result<Range<usize>, Error> {
    let (start, size) = (to_usize(header.offset)?, to_usize(header.size)?);
    // Whoever goes through it takes a step for each entry, and a damaged size claims any number.
    Ok(start..start.saturating_add(size).min(out.bytes.len()))
}

/// Whether `sh_info` is the number of a section.
fn has_section_in_info(header: &SectionHeader) -> bool {
    header.kind == elf::SHT_REL.0
        || header.kind == elf::SHT_RELA.0
        || header.flags & elf::SHF_INFO_LINK.0 != 0
}

/// The new file, and how numbers are stored in it.
struct Out<'data> {
    bytes: Output<'data>,
    is_64: bool,
    is_big_endian: bool,
}

impl Out<'_> {
    /// The number of `size` bytes at `offset`; 0 past the end.
    fn get(&self, offset: usize, size: usize) -> u64 {
        let end = offset.saturating_add(size);
        let bytes = self.bytes.get(offset..end).unwrap_or_default();
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.is_big_endian {
            bytes.iter().fold(0, fold)
        } else {
            bytes.iter().rev().fold(0, fold)
        }
    }

    fn put(&mut self, offset: usize, size: usize, value: u64) -> Result<(), Error> {
        let too_large = || Error::unrepresentable("the object becomes too large for its format");
        let little = value.to_le_bytes();
        let (low, high) = little.split_at_checked(size).ok_or_else(too_large)?;
        if high.iter().any(|byte| *byte != 0) {
            return Err(too_large());
        }
        let end = offset.saturating_add(size);
        let place = self
            .bytes
            .get_mut(offset..end)
            .ok_or_else(|| Error::malformed("symbol table or header is cut off").at(offset as u64))?;
        place.copy_from_slice(low);
        if self.is_big_endian {
            place.reverse();
        }
        Ok(())
    }

    /// Writes the section headers, and the fields of the file header that belong to them.
    fn write_table(
        &mut self,
        offset: u64,
        mut headers: Vec<SectionHeader>,
        names_index: u32,
    ) -> Result<(), Error> {
        let count = u32::try_from(headers.len()).map_err(|_| Error::unrepresentable("too many sections"))?;
        // Numbers that are too large for the file header are in the first section header.
        if let Some(first) = headers.first_mut() {
            first.size = if count >= RESERVED { count.into() } else { 0 };
            first.link = if names_index >= RESERVED { names_index } else { 0 };
        }
        let (offset_at, counts_at, word) = if self.is_64 {
            (0x28, 0x3c, 8)
        } else {
            (0x20, 0x30, 4)
        };
        self.put(offset_at, word, offset)?;
        self.put(counts_at, 2, if count >= RESERVED { 0 } else { count.into() })?;
        let names_index = if names_index >= RESERVED {
            0xffff
        } else {
            names_index
        };
        self.put(counts_at.saturating_add(2), 2, names_index.into())?;
        let mut at = to_usize(offset)?;
        for header in headers {
            let fields = [
                (4, u64::from(header.name)),
                (4, header.kind.into()),
                (word, header.flags),
                (word, header.address),
                (word, header.offset),
                (word, header.size),
                (4, header.link.into()),
                (4, header.info.into()),
                (word, header.align),
                (word, header.entry_size),
            ];
            for (size, value) in fields {
                self.put(at, size, value)?;
                at = at.saturating_add(size);
            }
        }
        Ok(())
    }
}

fn to_usize(value: u64) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::unrepresentable("the object is too large for this machine"))
}
