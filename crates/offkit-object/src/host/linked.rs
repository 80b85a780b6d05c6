//! Linked ELF files whose device code became smaller.
//!
//! Addresses stay, as code refers to everything by its distance; only places in the file change. The containers in a
//! section have closed up at its beginning, and the pointers that lead to them follow. Then whole pages at the
//! section's end are free: the segment is split there, and the pages leave the file. Nothing needs to be mapped where
//! they were.

use std::collections::HashSet;
use std::ops::Range;

use offkit_image::{Error, ErrorKind};

use super::elf::Elf;
use super::section::name_at;
use crate::chunks::Chunks;
use crate::edits::{Edited, Room};
use crate::elf::{Header, SectionHeader, TYPE_EXECUTABLE};
use crate::patched::Patched;
use crate::source::Source;
use crate::sycl_wrapped::tables::{self, Action, Dynamic, Rela, Segment, Symbol};

/// Where the structures are by which programs register fatbins and bundles.
const WRAPPER_SECTIONS: [&[u8]; 2] = [b".nvFatBinSegment", b".hipFatBinSegment"];
/// What a wrapper begins with: 0x466243b1 of CUDA, 0x48495046 of HIP.
const WRAPPER_MAGICS: [u32; 2] = [0x4662_43b1, 0x4849_5046];
const WRAPPER_SIZE: u64 = 24;
/// Where a wrapper has its pointer to the fatbin or bundle, and that to the fatbins from which it was linked.
const WRAPPER_CONTENT: u64 = 8;
const WRAPPER_LINKED_FROM: u64 = 16;

const WORD: u64 = 8;
const FILE_HEADER_SEGMENTS: u64 = 32;
const FILE_HEADER_SECTIONS: u64 = 40;
const FILE_HEADER_SEGMENT_COUNT: u64 = 56;
const SEGMENT_SIZE: u64 = size_of::<Segment>() as u64;

const SEGMENT_INTERPRETER: u32 = 3;
const SEGMENT_NOTE: u32 = 4;
const SEGMENT_HEADERS: u32 = 6;
const SEGMENT_PROPERTY: u32 = 0x6474_e553;

const SECTION_STRINGS: u32 = 3;
const SECTION_HASH: u32 = 5;
const SECTION_GNU_HASH: u32 = 0x6fff_fff6;
const SECTION_VERSIONS: Range<u32> = 0x6fff_fffd..0x7000_0000;

/// Entries of the dynamic section that are addresses of tables that may stand behind the program headers: `DT_HASH`,
/// `DT_STRTAB`, `DT_SYMTAB`, `DT_GNU_HASH`, `DT_VERSYM`, `DT_VERDEF`, `DT_VERNEED`.
const MOVABLE_TABLES: [u64; 7] = [4, 5, 6, 0x6fff_fef5, 0x6fff_fff0, 0x6fff_fffc, 0x6fff_fffe];

/// The file with other contents of sections, which are not larger than the old ones.
pub(super) fn edit<'data>(
    source: Source<'data>,
    sections: &[(usize, &Edited<'data>)],
    room: Room,
) -> Result<Chunks<'data>, Error> {
    let elf = Elf::read(source)?;
    let mut changed = Vec::new();
    for (index, edited) in sections {
        let header = elf.sections.get(*index).copied().ok_or_else(no_section)?;
        changed.push(Changed {
            index: *index,
            header,
            edited,
        });
    }
    let file = with_sections(source, &changed)?;
    // Zeros fill the rest then, all that others point to is in its place, and no header changes.
    if room == Room::Fixed {
        return Ok(file);
    }
    if !elf.is_64 || elf.is_big_endian {
        return Err(Error::unrepresentable(
            "only programs of 64 bits and little endian are made smaller",
        ));
    }
    elf.check_header_size()?;
    let header = Header::read(source).ok_or_else(no_section)?;
    let mut program = Program {
        segments: segments(source, &header)?,
        header,
        source,
        elf,
        changed,
        file: File(Patched::new(file)),
    };
    // Everything up to the last line is written at the offsets of the old file, where all tables can still be found; the
    // pages leave at the very end, in one go.
    program.check_overlaps()?;
    program.move_pointers()?;
    program.resize_sections()?;
    let holes = program.cut()?;
    Ok(program.file.0.without(&holes))
}

/// The file with the new contents of sections, and zeros behind them up to where the old ones end.
fn with_sections<'data>(
    source: Source<'data>,
    changed: &[Changed<'_, 'data>],
) -> Result<Chunks<'data>, Error> {
    let mut changed: Vec<_> = changed.iter().collect();
    // By place in the file, which is built from front to back; headers may be in any order.
    changed.sort_by_key(|changed| changed.header.offset);
    let mut file = Chunks::new();
    for changed in changed {
        let range = changed.file_range();
        let before = range.start.checked_sub(file.len()).ok_or_else(overlapping)?;
        let before = source.get(file.len(), before).ok_or_else(cut_off)?;
        // For a section that is cut off, zeros would be written that the file never had.
        let _ = source.get(range.start, changed.header.size).ok_or_else(cut_off)?;
        file.push(before.bytes());
        file.append(changed.edited.bytes.clone());
        let rest = range.end.checked_sub(file.len()).ok_or_else(|| {
            Error::unrepresentable("the device code does not become smaller").at(range.start)
        })?;
        file.zeros(rest);
    }
    file.push(source.from(file.len()).bytes());
    Ok(file)
}

fn overlapping() -> Error {
    Error::unrepresentable("sections overlap, so that none can be changed alone")
}

/// What the pointers at these addresses lead to, in their order; 0 for one that leads nowhere.
pub(super) fn pointers_at(source: Source<'_>, addresses: &[u64]) -> Result<Vec<u64>, Error> {
    let header = Header::read(source).ok_or_else(no_section)?;
    let program = Program {
        segments: segments(source, &header)?,
        header,
        source,
        elf: Elf::read(source)?,
        changed: Vec::new(),
        file: File(Patched::new(Chunks::new())),
    };
    let mut addends = std::collections::HashMap::new();
    // Packed relocations need not be asked: what they add to is in the word itself.
    if let Some(table) = program.dynamic(tables::DYNAMIC_RELA) {
        let size = program.dynamic(tables::DYNAMIC_RELA_SIZE).unwrap_or_default();
        let count = size.checked_div(size_of::<Rela>() as u64).unwrap_or_default();
        let offset = program.offset_of(table).ok_or_else(cut_off)?;
        let relocations = source.records::<Rela>(offset, count).ok_or_else(cut_off)?;
        let relative = relocations
            .iter()
            .filter(|relocation| relocation.action(program.header.machine) == Some(Action::Relative));
        addends.extend(
            relative.map(|relocation| (relocation.offset.get(), relocation.addend.get().cast_unsigned())),
        );
    }
    let lead_to = addresses.iter().map(|address| {
        let word = || {
            source
                .get(program.offset_of(*address)?, WORD)?
                .bytes()
                .first_chunk()
                .copied()
        };
        // The relocation counts before the word, in which many linkers leave 0.
        let found = addends.get(address).copied();
        found
            .or_else(|| word().map(u64::from_le_bytes))
            .unwrap_or_default()
    });
    Ok(lead_to.collect())
}

fn no_section() -> Error {
    Error::malformed("there is no such section")
}

fn cut_off() -> Error {
    Error::new(ErrorKind::OutOfBounds, "a table of the program is cut off")
}

fn segments(source: Source<'_>, header: &Header) -> Result<Vec<Segment>, Error> {
    let [offset, size, count] = header.segments(source).unwrap_or_default();
    // The table is read as one slice, and written back by this size.
    if size != SEGMENT_SIZE {
        return Err(Error::malformed("program headers have an unknown size").finding(size));
    }
    let table = source.records::<Segment>(offset, count);
    table.map(<[Segment]>::to_vec).ok_or_else(cut_off)
}

/// The new file, and numbers in it.
struct File<'data>(Patched<'data>);

impl File<'_> {
    fn word(&self, offset: u64) -> Option<u64> {
        let bytes = self.0.get(offset, WORD)?;
        bytes.first_chunk().map(|word| u64::from_le_bytes(*word))
    }

    fn half(&self, offset: u64) -> Option<u32> {
        let bytes = self.0.get(offset, 4)?;
        bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.0.put(offset, bytes).ok_or_else(cut_off)
    }

    fn put_word(&mut self, offset: u64, value: u64) -> Result<(), Error> {
        self.put(offset, &value.to_le_bytes())
    }
}

/// A section whose content changed.
struct Changed<'e, 'data> {
    index: usize,
    header: SectionHeader,
    edited: &'e Edited<'data>,
}

impl Changed<'_, '_> {
    fn file_range(&self) -> Range<u64> {
        self.header.offset..self.header.offset.saturating_add(self.header.size)
    }

    /// Where in the file what is left ends.
    fn kept_end(&self) -> u64 {
        self.header.offset.saturating_add(self.edited.bytes.len())
    }

    /// Where what was at this address is; `None` for an address elsewhere.
    fn moved(&self, address: u64) -> Option<Result<u64, Error>> {
        let offset = address.checked_sub(self.header.address)?;
        if offset >= self.header.size {
            return None;
        }
        let new = self
            .edited
            .moved(offset)
            .map(|new| self.header.address.saturating_add(new));
        Some(new.ok_or_else(|| {
            Error::unrepresentable(
                "something points into the device code, and not to where a container begins",
            )
            .finding(format_args!("a pointer to address {address:#x}"))
        }))
    }
}

/// Pages that leave the file, and the segment that was mapped there.
struct Hole {
    start: u64,
    end: u64,
    segment: usize,
    /// Where what the segment has before the hole ends.
    kept_end: u64,
}

struct Program<'e, 'data> {
    source: Source<'data>,
    header: Header,
    elf: Elf,
    segments: Vec<Segment>,
    changed: Vec<Changed<'e, 'data>>,
    file: File<'data>,
}

impl Program<'_, '_> {
    /// Refuses sections that share their bytes with others.
    fn check_overlaps(&self) -> Result<(), Error> {
        for changed in &self.changed {
            let range = changed.file_range();
            let overlaps = self.elf.sections.iter().enumerate().any(|(index, other)| {
                let end = other.offset.saturating_add(other.size);
                let has_bytes = other.is_in_file && other.size > 0;
                index != changed.index && has_bytes && other.offset < range.end && range.start < end
            });
            let headers = self.section_headers();
            if overlaps || headers.start < range.end && range.start < headers.end {
                return Err(overlapping().at(range.start));
            }
        }
        Ok(())
    }

    /// Where in the file the byte at an address is.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = address.checked_sub(segment.address.get())?;
            let is_there = segment.segment_type == tables::SEGMENT_LOAD && within < segment.file_size.get();
            is_there.then(|| segment.offset.get().saturating_add(within))
        })
    }

    /// Where what was at an address of device code is; `None` for an address elsewhere.
    fn moved(&self, address: u64) -> Option<Result<u64, Error>> {
        self.changed.iter().find_map(|changed| changed.moved(address))
    }

    /// Lets every pointer to a container lead to where it is.
    fn move_pointers(&mut self) -> Result<(), Error> {
        let mut found = Vec::new();
        for (tag, size) in [
            (tables::DYNAMIC_RELA, tables::DYNAMIC_RELA_SIZE),
            (tables::DYNAMIC_RELR, tables::DYNAMIC_RELR_SIZE),
        ] {
            let Some(table) = self.dynamic(tag) else { continue };
            let size = self.dynamic(size).unwrap_or_default();
            let offset = self.offset_of(table).ok_or_else(cut_off)?;
            match tag {
                tables::DYNAMIC_RELA => self.move_relocated(offset, size, &mut found)?,
                _ => self.move_packed(offset, size, &mut found)?,
            }
        }
        // A program that may lie anywhere has type `ET_DYN`, like a library, and relocations for
        // all of its pointers.
        if self.header.kind == TYPE_EXECUTABLE {
            self.move_fixed(&mut found)?;
        }
        // A container to which nothing leads is none that the program registers as it is known here: it may compute the
        // address, and would find the old place. So that is an error, and the caller keeps the file's size.
        found.sort_unstable();
        for changed in &self.changed {
            for (old, _) in &changed.edited.moves {
                let address = changed.header.address.saturating_add(*old);
                if found.binary_search(&address).is_err() {
                    return Err(
                        Error::unrepresentable("nothing was found that points to the device code")
                            .at(changed.header.offset.saturating_add(*old)),
                    );
                }
            }
        }
        self.move_symbols()
    }

    /// What the dynamic section says under a tag.
    fn dynamic(&self, tag: u64) -> Option<u64> {
        let mut entries = self.dynamic_entries().into_iter();
        entries.find_map(|(_, found, value)| (found == tag).then_some(value))
    }

    /// Where each entry of the dynamic section is, its tag and its value.
    fn dynamic_entries(&self) -> Vec<(u64, u64, u64)> {
        let is_dynamic = |segment: &&Segment| segment.segment_type == tables::SEGMENT_DYNAMIC;
        let Some(segment) = self.segments.iter().find(is_dynamic) else {
            return Vec::new();
        };
        let size = size_of::<Dynamic>() as u64;
        let count = segment.file_size.get().checked_div(size).unwrap_or_default();
        let start = segment.offset.get();
        let table = self.source.records::<Dynamic>(start, count).unwrap_or_default();
        let entries = table.iter().take_while(|entry| entry.tag != tables::DYNAMIC_END);
        // Gathered, as `move_block` writes to the file while it goes through them.
        let entries = (0_u64..).zip(entries).map(|(number, entry)| {
            let at = start.saturating_add(number.saturating_mul(size));
            (at, entry.tag.get(), entry.value.get())
        });
        entries.collect()
    }

    /// Pointers whose addend is in a relocation.
    fn move_relocated(&mut self, table: u64, size: u64, found: &mut Vec<u64>) -> Result<(), Error> {
        let count = size.checked_div(size_of::<Rela>() as u64).unwrap_or_default();
        let relocations = self.source.records::<Rela>(table, count).ok_or_else(cut_off)?;
        for (number, relocation) in (0_u64..).zip(relocations) {
            // Relocations by a symbol follow the symbol, which `move_symbols` moves.
            if relocation.action(self.header.machine) != Some(Action::Relative) {
                continue;
            }
            let old = relocation.addend.get().cast_unsigned();
            let Some(new) = self.moved(old).transpose()? else {
                continue;
            };
            found.push(old);
            let at = table.saturating_add(number.saturating_mul(size_of::<Rela>() as u64));
            self.file.put_word(at.saturating_add(2 * WORD), new)?;
            // Some linkers leave the addend in the word, too.
            if let Some(word) = self.offset_of(relocation.offset.get())
                && self.file.word(word) == Some(old)
            {
                self.file.put_word(word, new)?;
            }
        }
        Ok(())
    }

    /// Pointers whose addend is in the word, by a table as `RELR` has it: an even word is an address, an odd one a bit
    /// map of the 63 words that follow the last.
    fn move_packed(&mut self, table: u64, size: u64, found: &mut Vec<u64>) -> Result<(), Error> {
        let words = self.source.get(table, size).ok_or_else(cut_off)?.bytes();
        let (words, _) = words.as_chunks::<8>();
        // A bit map says nothing of where it begins: behind the last address, or behind the bit map before it.
        let mut next = 0_u64;
        for word in words {
            let word = u64::from_le_bytes(*word);
            if word & 1 == 0 {
                self.move_word(word, found)?;
                next = word.saturating_add(WORD);
                continue;
            }
            for bit in (1..64_u64).filter(|bit| word >> bit & 1 == 1) {
                let place = bit.saturating_sub(1).saturating_mul(WORD);
                self.move_word(next.saturating_add(place), found)?;
            }
            next = next.saturating_add(63 * WORD);
        }
        Ok(())
    }

    /// A pointer that is at this address as it is; whether it was one to device code.
    fn move_word(&mut self, address: u64, found: &mut Vec<u64>) -> Result<bool, Error> {
        let Some(at) = self.offset_of(address) else {
            return Ok(false);
        };
        // As it was: a word that two tables name moves once.
        let old = self
            .source
            .get(at, WORD)
            .and_then(|word| word.bytes().first_chunk::<8>().copied());
        let old = old.map(u64::from_le_bytes).unwrap_or_default();
        let Some(new) = self.moved(old).transpose()? else {
            return Ok(false);
        };
        found.push(old);
        self.file.put_word(at, new)?;
        Ok(true)
    }

    /// Pointers of a program with fixed addresses, which has no relocations: those in wrappers, and in the lists that
    /// these lead to.
    fn move_fixed(&mut self, found: &mut Vec<u64>) -> Result<(), Error> {
        let names = self.elf.names(self.source);
        let is_wrapper = |section: &&SectionHeader| {
            let name = name_at(names, section.name.into()).unwrap_or_default();
            WRAPPER_SECTIONS.contains(&name)
        };
        let sections: Vec<SectionHeader> = self.elf.sections.iter().filter(is_wrapper).copied().collect();
        // The words of lists that were gone through: many wrappers may lead into one long list.
        let mut listed = HashSet::new();
        for section in sections {
            let count = section.size.checked_div(WRAPPER_SIZE).unwrap_or_default();
            for number in 0..count {
                let within = number.saturating_mul(WRAPPER_SIZE);
                // A section may claim to be larger than the file.
                let Some(magic) = self.file.half(section.offset.saturating_add(within)) else {
                    break;
                };
                if !WRAPPER_MAGICS.contains(&magic) {
                    continue;
                }
                let wrapper = section.address.saturating_add(within);
                self.move_word(wrapper.saturating_add(WRAPPER_CONTENT), found)?;
                let list = section
                    .offset
                    .saturating_add(within)
                    .saturating_add(WRAPPER_LINKED_FROM);
                // The list has no length: it ends with what is no pointer to device code, a null or the data that follows.
                let mut list = self.file.word(list).unwrap_or_default();
                while listed.insert(list) && self.move_word(list, found)? {
                    list = list.saturating_add(WORD);
                }
            }
        }
        Ok(())
    }

    /// Symbols of containers follow them.
    fn move_symbols(&mut self) -> Result<(), Error> {
        use crate::elf::{SECTION_DYNAMIC_SYMBOLS, SECTION_SYMBOLS};
        const VALUE: u64 = 8;
        let is_table = |section: &&SectionHeader| {
            matches!(section.kind, SECTION_SYMBOLS | SECTION_DYNAMIC_SYMBOLS) && section.is_in_file
        };
        let size = size_of::<Symbol>() as u64;
        for section in self.elf.sections.iter().filter(is_table) {
            let count = section.size.checked_div(size).unwrap_or_default();
            let symbols = self.source.records::<Symbol>(section.offset, count);
            for (number, symbol) in (0_u64..).zip(symbols.unwrap_or_default()) {
                let index = usize::from(symbol.section.get());
                let Some(changed) = self.changed.iter().find(|changed| changed.index == index) else {
                    continue;
                };
                // One inside of a container, or behind the last, is of no meaning to programs that run.
                if let Some(Ok(new)) = changed.moved(symbol.value.get()) {
                    let at = section.offset.saturating_add(number.saturating_mul(size));
                    self.file.put_word(at.saturating_add(VALUE), new)?;
                }
            }
        }
        Ok(())
    }

    /// Where the table of section headers is in the file.
    fn section_headers(&self) -> Range<u64> {
        self.elf.headers_offset..self.elf.header_of_64(self.elf.sections.len())
    }

    fn resize_sections(&mut self) -> Result<(), Error> {
        const SIZE: u64 = 32;
        for number in 0..self.changed.len() {
            let Some(changed) = self.changed.get(number) else {
                break;
            };
            let at = self.elf.header_of_64(changed.index).saturating_add(SIZE);
            let size = changed.edited.bytes.len();
            self.file.put_word(at, size)?;
        }
        Ok(())
    }

    /// Writes headers as they are without the pages that became free, which are returned in order.
    fn cut(&mut self) -> Result<Vec<Range<u64>>, Error> {
        let mut holes = Vec::new();
        for changed in &self.changed {
            holes.extend(self.hole_behind(changed)?);
        }
        if holes.is_empty() {
            return Ok(Vec::new());
        }
        holes.sort_by_key(|hole: &Hole| hole.start);
        // A hole in the middle of a segment makes two of one, and the second needs a header; one at the end only shortens it.
        let more = holes.iter().filter(|hole| !self.is_last_of_segment(hole)).count() as u64;
        self.make_room_for_headers(more, &mut holes)?;
        self.split_segments(&holes);
        self.write_headers(&holes, more)?;
        Ok(holes.iter().map(|hole| hole.start..hole.end).collect())
    }

    /// The size of pages, by which segments are mapped.
    ///
    /// The segment's own alignment says more than that: linkers write 2 MiB or 64 KiB, so that the file also loads where
    /// pages are as large. To cut by such units would leave most of what is gained in the file.
    fn page(&self) -> u64 {
        const X86_64: u16 = 62;
        match self.header.machine {
            X86_64 => 1 << 12,
            _ => 1 << 16,
        }
    }

    /// The whole pages that became free at the end of a section.
    fn hole_behind(&self, changed: &Changed<'_, '_>) -> Result<Option<Hole>, Error> {
        let page = self.page();
        let range = changed.file_range();
        let up = |offset: u64| offset.checked_next_multiple_of(page).unwrap_or(u64::MAX);
        let down = |offset: u64| offset.saturating_sub(offset.checked_rem(page).unwrap_or_default());
        // Only pages that have nothing else on them: the page on which the kept code ends, and the one on which the next
        // section begins, stay, for the loader maps whole pages and offsets stay congruent to addresses only so.
        let (start, end) = (up(changed.kept_end()), down(range.end));
        if start >= end {
            return Ok(None);
        }
        let mut around = None;
        for (number, segment) in self.segments.iter().enumerate() {
            let from = segment.offset.get();
            let to = from.saturating_add(segment.file_size.get());
            if from >= range.end || to <= range.start {
                continue;
            }
            // Two segments over one section, or one of another kind such as RELRO, would both have to be split, and the loader
            // changes protections by these: better not to touch that.
            let is_whole = from <= range.start && range.end <= to;
            let is_congruent = segment.address.get().wrapping_sub(from).is_multiple_of(page);
            let is_load = segment.segment_type == tables::SEGMENT_LOAD;
            if !is_load || !is_whole || !is_congruent || around.is_some() {
                return Err(
                    Error::unrepresentable("the device code is not in one segment of its own kind")
                        .at(range.start),
                );
            }
            around = Some(number);
        }
        let segment = around.ok_or_else(|| {
            Error::unrepresentable("the device code is in no segment that is loaded").at(range.start)
        })?;
        Ok(Some(Hole {
            start,
            end,
            segment,
            kept_end: changed.kept_end(),
        }))
    }

    /// Whether the segment has nothing but the rest of the section behind the hole.
    fn is_last_of_segment(&self, hole: &Hole) -> bool {
        let Some(segment) = self.segments.get(hole.segment) else {
            return false;
        };
        let end = segment.offset.get().saturating_add(segment.file_size.get());
        let ends_with_section = self.changed.iter().any(|changed| changed.file_range().end == end);
        // Where more is in memory than in the file, as for `.bss`, a segment that ends sooner would
        // take that memory away.
        ends_with_section
            && end.saturating_sub(hole.end) < self.page()
            && segment.memory_size == segment.file_size
    }

    /// Room for `more` program headers behind the others. What stands there moves to where device code was, if only
    /// the dynamic section and other program headers say where it is.
    fn make_room_for_headers(&mut self, more: u64, holes: &mut [Hole]) -> Result<(), Error> {
        let no_room = |reason: &'static str| Error::unrepresentable(reason);
        let [table, _, count] = self.header.segments(self.source).unwrap_or_default();
        let end = table.saturating_add(count.saturating_mul(SEGMENT_SIZE));
        let needed = end.saturating_add(more.saturating_mul(SEGMENT_SIZE));
        let Some(block) = self.block_within(end, needed) else {
            return Ok(());
        };
        let headers = self.section_headers();
        if headers.start < block.end && block.start < headers.end {
            return Err(no_room(
                "there is no room for another program header, as section headers stand there",
            ));
        }
        let names = self.elf.names(self.source);
        let mut align = 16;
        for section in &self.elf.sections {
            let is_inside = section.is_in_file
                && section.offset < block.end
                && block.start < section.offset.saturating_add(section.size);
            if !is_inside {
                continue;
            }
            let name = name_at(names, section.name.into()).unwrap_or_default();
            let is_movable = matches!(
                section.kind,
                crate::elf::SECTION_NOTES
                    | crate::elf::SECTION_DYNAMIC_SYMBOLS
                    | SECTION_HASH
                    | SECTION_GNU_HASH
            ) || SECTION_VERSIONS.contains(&section.kind)
                || section.kind == SECTION_STRINGS && section.flags & crate::elf::SECTION_ALLOCATED != 0
                || name == b".interp";
            if !is_movable {
                return Err(no_room(
                    "there is no room for another program header, and what is behind them cannot move",
                ));
            }
            align = align.max(section.align);
        }
        let size = block.end.saturating_sub(block.start);
        let page = self.page();
        let place = holes.iter_mut().find_map(|hole| {
            // At the same place within the largest unit of alignment.
            let unit = align.checked_next_power_of_two()?;
            let within = block.start.checked_rem(unit)?;
            let start = hole
                .kept_end
                .checked_next_multiple_of(unit)?
                .checked_add(within)?;
            let end = start.checked_add(size)?;
            let new_start = end.checked_next_multiple_of(page)?;
            (new_start < hole.end).then_some((hole, start, end))
        });
        let (hole, start, new_end) = place.ok_or_else(|| {
            no_room("there is no room for another program header, nor for what is behind them")
        })?;
        let segment_of = |segments: &[Segment], number: usize| {
            segments
                .get(number)
                .map(|segment| segment.address.get().wrapping_sub(segment.offset.get()))
        };
        let hole_bias = segment_of(&self.segments, hole.segment).unwrap_or_default();
        // The block counts as kept from here on: `split_segments` maps it with what is before it,
        // and its pages stay.
        hole.kept_end = new_end;
        hole.start = new_end
            .checked_next_multiple_of(self.page())
            .unwrap_or(hole.end)
            .min(hole.end);
        self.move_block(block, start, hole_bias)
    }

    /// What stands between the table of program headers and where it will end, in whole sections, whole segments of notes
    /// and the whole table of section headers; `None` where nothing does.
    fn block_within(&self, end: u64, needed: u64) -> Option<Range<u64>> {
        let sections = self
            .elf
            .sections
            .iter()
            .filter(|section| section.is_in_file && section.size > 0);
        let sections = sections.map(|section| (section.offset, section.size));
        let small = self.segments.iter().filter(|segment| {
            segment.segment_type != tables::SEGMENT_LOAD && segment.segment_type != SEGMENT_HEADERS
        });
        let small = small.map(|segment| (segment.offset.get(), segment.file_size.get()));
        let headers = self.section_headers();
        let headers = (headers.start, headers.end.saturating_sub(headers.start));
        let parts = sections.chain(small).chain([headers]);
        let parts: Vec<(u64, u64)> = parts.filter(|(_, size)| *size > 0).collect();
        // What is cut in two cannot move, so the block grows to the end of everything that reaches into it, which may reach
        // into more in turn.
        let mut block = end..needed;
        loop {
            let mut to = block.end;
            let mut is_used = false;
            for (start, size) in &parts {
                let part_end = start.saturating_add(*size);
                if *start < block.end && part_end > block.start {
                    to = to.max(part_end);
                    is_used = true;
                }
            }
            if !is_used {
                return None;
            }
            if to == block.end {
                let first = parts.iter().map(|(start, _)| *start);
                let first = first.filter(|start| *start >= end).min().unwrap_or(end);
                return Some(first..block.end);
            }
            block.end = to;
        }
    }

    /// Moves what is in a block of the file to `start`, where addresses are `bias` more than offsets.
    fn move_block(&mut self, block: Range<u64>, start: u64, bias: u64) -> Result<(), Error> {
        const ADDRESS: u64 = 16;
        const OFFSET: u64 = 24;
        let moved = |offset: u64| offset.saturating_sub(block.start).saturating_add(start);
        let size = block.end.saturating_sub(block.start);
        let old_address = self.address_of(block.start).ok_or_else(cut_off)?;
        let old_addresses = old_address..old_address.saturating_add(size);
        let new_address = start.wrapping_add(bias);
        let readdressed = |address: u64| address.saturating_sub(old_address).saturating_add(new_address);
        // The interpreter's path, notes and symbol tables are found by program headers and the dynamic section, which follow
        // below. A relocation that leads there means that the program's code reads it too, by an address that is nowhere else.
        self.refuse_pointers_to(&old_addresses)?;

        // From the new file, as a symbol table in the block has been changed in it already. Program
        // headers take only the beginning of the old place, so that zeros go over all of it.
        let content = self.file.0.get(block.start, size).ok_or_else(cut_off)?;
        self.file.put(block.start, &vec![0; content.len()])?;
        self.file.put(start, &content)?;
        for index in 0..self.elf.sections.len() {
            let at = self.elf.header_of_64(index);
            let Some(section) = self.elf.sections.get_mut(index) else {
                break;
            };
            if section.is_in_file && section.size > 0 && block.contains(&section.offset) {
                section.offset = moved(section.offset);
                section.address = readdressed(section.address);
                let (offset, address) = (section.offset, section.address);
                self.file.put_word(at.saturating_add(ADDRESS), address)?;
                self.file.put_word(at.saturating_add(OFFSET), offset)?;
                self.readdress_symbols(index, &readdressed)?;
            }
        }
        for segment in &mut self.segments {
            let is_small = matches!(
                segment.segment_type.get(),
                SEGMENT_INTERPRETER | SEGMENT_NOTE | SEGMENT_PROPERTY
            );
            if is_small && block.contains(&segment.offset.get()) {
                segment.offset = moved(segment.offset.get()).into();
                segment.address = readdressed(segment.address.get()).into();
                segment.physical = segment.address;
            }
        }
        for (at, tag, value) in self.dynamic_entries() {
            // Under other tags a value may be a size or flags that only look like an address there.
            if MOVABLE_TABLES.contains(&tag) && old_addresses.contains(&value) {
                self.file.put_word(at.saturating_add(WORD), readdressed(value))?;
            }
        }
        Ok(())
    }

    /// Refuses to move what relocations refer to.
    fn refuse_pointers_to(&self, addresses: &Range<u64>) -> Result<(), Error> {
        let Some(table) = self.dynamic(tables::DYNAMIC_RELA) else {
            return Ok(());
        };
        let size = self.dynamic(tables::DYNAMIC_RELA_SIZE).unwrap_or_default();
        let count = size.checked_div(size_of::<Rela>() as u64).unwrap_or_default();
        let offset = self.offset_of(table).ok_or_else(cut_off)?;
        let relocations = self.source.records::<Rela>(offset, count).ok_or_else(cut_off)?;
        let leads_there = |relocation: &Rela| {
            relocation.action(self.header.machine) == Some(Action::Relative)
                && addresses.contains(&relocation.addend.get().cast_unsigned())
        };
        match relocations.iter().any(leads_there) {
            true => Err(Error::unrepresentable(
                "there is no room for another program header, and something points to what is behind them",
            )),
            false => Ok(()),
        }
    }

    /// Symbols of a section follow it.
    fn readdress_symbols(&mut self, index: usize, readdressed: &dyn Fn(u64) -> u64) -> Result<(), Error> {
        use crate::elf::{SECTION_DYNAMIC_SYMBOLS, SECTION_SYMBOLS};
        const VALUE: u64 = 8;
        let size = size_of::<Symbol>() as u64;
        // Where they were read first, for the tables themselves may have moved.
        let tables = Elf::read(self.source)?.sections;
        for (number, table) in tables.iter().enumerate() {
            if !matches!(table.kind, SECTION_SYMBOLS | SECTION_DYNAMIC_SYMBOLS) || !table.is_in_file {
                continue;
            }
            let place = self
                .elf
                .sections
                .get(number)
                .map_or(table.offset, |table| table.offset);
            let count = table.size.checked_div(size).unwrap_or_default();
            let symbols = self.source.records::<Symbol>(table.offset, count);
            for (symbol_number, symbol) in (0_u64..).zip(symbols.unwrap_or_default()) {
                if usize::from(symbol.section.get()) == index {
                    let at = place.saturating_add(symbol_number.saturating_mul(size));
                    let value = readdressed(symbol.value.get());
                    self.file.put_word(at.saturating_add(VALUE), value)?;
                }
            }
        }
        Ok(())
    }

    fn address_of(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = offset.checked_sub(segment.offset.get())?;
            let is_there = segment.segment_type == tables::SEGMENT_LOAD && within < segment.file_size.get();
            is_there.then(|| segment.address.get().saturating_add(within))
        })
    }

    /// Splits every segment with a hole in it. Offsets stay as they are before the cut.
    fn split_segments(&mut self, holes: &[Hole]) {
        // From the last on, so that numbers of segments and what is behind a hole stay right.
        for hole in holes.iter().rev() {
            let is_last = self.is_last_of_segment(hole);
            let Some(segment) = self.segments.get_mut(hole.segment) else {
                continue;
            };
            let start = segment.offset.get();
            let (file_end, memory_end) = (
                start.saturating_add(segment.file_size.get()),
                start.saturating_add(segment.memory_size.get()),
            );
            let mut rest = segment.clone();
            let before = hole.kept_end.saturating_sub(start);
            segment.file_size = before.into();
            segment.memory_size = before.into();
            if is_last {
                continue;
            }
            let skipped = hole.end.saturating_sub(start);
            rest.offset = hole.end.into();
            rest.address = rest.address.get().saturating_add(skipped).into();
            rest.physical = rest.physical.get().saturating_add(skipped).into();
            rest.file_size = file_end.saturating_sub(hole.end).into();
            rest.memory_size = memory_end.saturating_sub(hole.end).into();
            self.segments.insert(hole.segment.saturating_add(1), rest);
        }
    }

    /// Writes program headers, and every offset, as they are after the cut.
    fn write_headers(&mut self, holes: &[Hole], more: u64) -> Result<(), Error> {
        const OFFSET: u64 = 24;
        let after_cut = |offset: u64| {
            let before = holes.iter().filter(|hole| hole.start <= offset);
            let gone = before.map(|hole| offset.min(hole.end).saturating_sub(hole.start));
            offset.saturating_sub(gone.fold(0, u64::saturating_add))
        };
        let page = self.page();
        for segment in &mut self.segments {
            segment.offset = after_cut(segment.offset.get()).into();
            if segment.segment_type == SEGMENT_HEADERS {
                let grown = more.saturating_mul(SEGMENT_SIZE);
                segment.file_size = segment.file_size.get().saturating_add(grown).into();
                segment.memory_size = segment.memory_size.get().saturating_add(grown).into();
            }
            // Loaders demand that offset and address are congruent modulo the alignment. Behind a hole they are so by pages only.
            if segment.segment_type == tables::SEGMENT_LOAD && segment.alignment.get() > page {
                segment.alignment = page.into();
            }
        }
        for index in 0..self.elf.sections.len() {
            let at = self.elf.header_of_64(index).saturating_add(OFFSET);
            let Some(section) = self.elf.sections.get(index) else {
                break;
            };
            self.file.put_word(at, after_cut(section.offset))?;
        }
        let table = self.file.word(FILE_HEADER_SEGMENTS).unwrap_or_default();
        for (number, segment) in (0_u64..).zip(&self.segments) {
            let at = table.saturating_add(number.saturating_mul(SEGMENT_SIZE));
            self.file.put(at, zerocopy::IntoBytes::as_bytes(segment))?;
        }
        let count = u16::try_from(self.segments.len())
            .map_err(|_| Error::unrepresentable("there are too many program headers"))?;
        self.file.put(FILE_HEADER_SEGMENT_COUNT, &count.to_le_bytes())?;
        self.file.put_word(FILE_HEADER_SEGMENTS, after_cut(table))?;
        self.file
            .put_word(FILE_HEADER_SECTIONS, after_cut(self.elf.headers_offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{NewSection, ObjectFormat, write_object};

    const WRAPPERS: u64 = 3;
    const LISTED: u64 = 5;

    /// How many pointers are found in a program with wrappers that share one list, whose section says that it has
    /// `size` bytes.
    fn pointers_found(size: u64) -> usize {
        let contents = [
            (".hipFatBinSegment", WRAPPERS * WRAPPER_SIZE),
            ("list", (LISTED + 1) * WORD),
            (".hip_fatbin", 100),
        ];
        let contents = contents.map(|(name, size)| (name, vec![0; size as usize]));
        let sections = contents.each_ref();
        let sections = sections.map(|(name, bytes)| NewSection::excluded(*name, bytes));
        let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
        let mut file = write_object(format, &sections).unwrap();
        let mut elf = Elf::read(Source::new(&file)).unwrap();
        for section in &mut elf.sections {
            section.address = section.offset;
        }
        let [.., wrappers, list, bundle] = elf.sections.as_mut_slice() else {
            panic!("no sections");
        };
        wrappers.size = size;
        let (index, bundle) = (4, *bundle);
        let mut put = |at: u64, value: u64| {
            file[at as usize..][..8].copy_from_slice(&value.to_le_bytes());
        };
        for number in 0..WRAPPERS {
            let at = wrappers.offset + number * WRAPPER_SIZE;
            put(at, WRAPPER_MAGICS[1].into());
            put(at + WRAPPER_CONTENT, bundle.address);
            put(at + WRAPPER_LINKED_FROM, list.address);
        }
        for number in 0..LISTED {
            put(list.offset + number * WORD, bundle.address);
        }
        let source = Source::new(&file);
        let edited = Edited {
            bytes: Chunks::new(),
            moves: vec![(0, 0)],
        };
        let whole = Segment {
            segment_type: tables::SEGMENT_LOAD.into(),
            flags: 0.into(),
            offset: 0.into(),
            address: 0.into(),
            physical: 0.into(),
            file_size: source.len().into(),
            memory_size: source.len().into(),
            alignment: 1.into(),
        };
        let mut program = Program {
            source,
            header: Header::read(source).unwrap(),
            elf,
            segments: vec![whole],
            changed: vec![Changed {
                index,
                header: bundle,
                edited: &edited,
            }],
            file: File(Patched::new(source.bytes().into())),
        };
        let mut found = Vec::new();
        program.move_fixed(&mut found).unwrap();
        found.len()
    }

    #[test]
    fn a_list_that_wrappers_share_is_gone_through_once() {
        assert_eq!(
            pointers_found(WRAPPERS * WRAPPER_SIZE),
            (WRAPPERS + LISTED) as usize
        );
    }

    #[test]
    fn wrappers_end_where_the_file_ends_whatever_their_section_says() {
        assert_eq!(pointers_found(u64::MAX), (WRAPPERS + LISTED) as usize);
    }
}
