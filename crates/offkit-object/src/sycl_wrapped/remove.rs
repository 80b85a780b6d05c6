//! Linked programs without some of their SYCL images.
//!
//! A descriptor counts its images and points to an array of them. The images behind one that goes move up by one place:
//! with them the addends of the relocations of their pointers, as no relocation can be added or taken away. The code
//! becomes zeros. In a PE file pointers are where they are, and base relocations only say so.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use offkit_image::{Error, Limits};

use super::memory::{IMAGE_LIST, Memory};
use super::tables::{self, Action, Dynamic, Rela, Segment};
use super::{Descriptor, descriptors, parts, windows};
use crate::elf::Header;
use crate::reading::Reading;
use crate::source::Source;

const WORD: u64 = 8;

/// The program without the images with these identifiers.
pub(crate) fn remove(source: Source<'_>, ids: &[usize], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut reading = Reading::tolerant(limits).for_file_of(source.len());
    let memory = Memory::of(source, &mut reading)?;
    let memory =
        memory.ok_or_else(|| Error::unsupported("SYCL images of such a program are not left out"))?;
    let mut ranges = BTreeMap::new();
    // Apart from `reading`, whose limits this second pass would use up.
    let mut quiet = Reading::tolerant(limits).for_file_of(source.len());
    parts(source, &mut quiet, &mut |_, part| {
        let start = part.stored.at(0).saturating_sub(source.at(0));
        ranges.insert(part.id, start..start.saturating_add(part.stored.len()));
    })?;
    // `memory` has the file as it was, by which everything is found; what changes is in `program`.
    let mut program = Program::of(source, memory.packed_addresses())?;
    let ids: BTreeSet<usize> = ids.iter().copied().collect();
    let mut gone_codes = BTreeSet::new();
    let mut first = 0_usize;
    for descriptor in descriptors(&memory) {
        let count = usize::from(descriptor.image_count);
        let gone: BTreeSet<usize> = ids
            .range(first..first.saturating_add(count))
            .filter_map(|id| id.checked_sub(first))
            .collect();
        for number in &gone {
            let image = descriptor.image_address(*number as u64);
            // The list of images knows them by where their code is, not by number.
            let code = memory.pointer(image.saturating_add(descriptor.version.code()));
            gone_codes.insert(code.unwrap_or_default());
        }
        if !gone.is_empty() {
            program.remove_images(&descriptor, &gone)?;
        }
        first = first.saturating_add(count);
    }
    program.shorten_list(&memory, &gone_codes)?;
    let others = ranges.iter().filter(|(id, _)| !ids.contains(id));
    let stays = Ranges::of(others.map(|(_, range)| range.clone()).collect());
    for range in ids.iter().filter_map(|id| ranges.get(id)) {
        // Images may share their code.
        if !stays.overlap(range) {
            program.clear(range)?;
        }
    }
    Ok(program.bytes)
}

/// Ranges by where they begin, each up to where it and all before it end: libraries have thousands of images, and each
/// that goes is held against those that stay.
struct Ranges(Vec<Range<u64>>);

impl Ranges {
    fn of(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut end = 0;
        for range in &mut ranges {
            end = range.end.max(end);
            range.end = end;
        }
        Self(ranges)
    }

    fn overlap(&self, range: &Range<u64>) -> bool {
        let before = self.0.partition_point(|other| other.start < range.end);
        let last = before.checked_sub(1).and_then(|last| self.0.get(last));
        last.is_some_and(|last| range.start < last.end)
    }
}

/// A program whose words are being changed.
struct Program {
    bytes: Vec<u8>,
    regions: Vec<Region>,
    /// Of an ELF file.
    header: Option<Header>,
    /// Where in the file the addend is of the pointer at an address.
    addends: HashMap<u64, u64>,
    /// The addresses of pointers whose addend is in the word.
    packed: HashSet<u64>,
    /// The addresses of words that are made of symbols.
    symbolic: HashSet<u64>,
}

/// A part of the file by its address in memory.
#[derive(Debug)]
struct Region {
    address: u64,
    offset: u64,
    size: u64,
}

/// A word, as far as it can be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// What is in the file is what counts, or what the loader adds to.
    Plain(u64),
    /// A relocation makes it.
    Relocated(u64),
}

fn cut_off() -> Error {
    Error::malformed("a table of the program is cut off")
}

impl Program {
    fn of(source: Source<'_>, packed: HashSet<u64>) -> Result<Self, Error> {
        let mut program = Self {
            bytes: source.bytes().to_vec(),
            regions: Vec::new(),
            header: None,
            addends: HashMap::new(),
            packed,
            symbolic: HashSet::new(),
        };
        if let Some(windows) = windows::Program::read(source) {
            let sections = windows.sections.iter();
            let regions = sections.map(|(address, content)| Region {
                address: *address,
                offset: content.at(0).saturating_sub(source.at(0)),
                size: content.len(),
            });
            program.regions = regions.collect();
            return Ok(program);
        }
        let header = Header::read(source).ok_or_else(cut_off)?;
        let [offset, _, count] = header.segments(source).unwrap_or_default();
        let segments = source.records::<Segment>(offset, count).ok_or_else(cut_off)?;
        let loaded = segments
            .iter()
            .filter(|segment| segment.segment_type == tables::SEGMENT_LOAD);
        let regions = loaded.map(|segment| Region {
            address: segment.address.get(),
            offset: segment.offset.get(),
            size: segment.file_size.get(),
        });
        program.regions = regions.collect();
        program.index(source, segments, header.machine)?;
        program.header = Some(header);
        Ok(program)
    }

    /// Notes where the addends are.
    fn index(&mut self, source: Source<'_>, segments: &[Segment], machine: u16) -> Result<(), Error> {
        const ADDEND: u64 = 16;
        let is_dynamic = |segment: &&Segment| segment.segment_type == tables::SEGMENT_DYNAMIC;
        let Some(segment) = segments.iter().find(is_dynamic) else {
            return Ok(());
        };
        let count = segment
            .file_size
            .get()
            .checked_div(size_of::<Dynamic>() as u64)
            .unwrap_or_default();
        let entries = source
            .records::<Dynamic>(segment.offset.get(), count)
            .ok_or_else(cut_off)?;
        let value = |tag: u64| {
            entries
                .iter()
                .find(|entry| entry.tag == tag)
                .map(|entry| entry.value.get())
        };
        let (Some(table), Some(size)) = (value(tables::DYNAMIC_RELA), value(tables::DYNAMIC_RELA_SIZE))
        else {
            return Ok(());
        };
        let table = self.offset_of(table).ok_or_else(cut_off)?;
        let size_of_one = size_of::<Rela>() as u64;
        let count = size.checked_div(size_of_one).unwrap_or_default();
        let relocations = source.records::<Rela>(table, count).ok_or_else(cut_off)?;
        for (number, relocation) in (0_u64..).zip(relocations) {
            let address = relocation.offset.get();
            // Of any other kind the word depends on a symbol, or on what is not known here: `copy`
            // refuses to move it.
            if relocation.action(machine) == Some(Action::Relative) {
                let at = table
                    .saturating_add(number.saturating_mul(size_of_one))
                    .saturating_add(ADDEND);
                self.addends.insert(address, at);
            } else {
                self.symbolic.insert(address);
            }
        }
        Ok(())
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.regions.iter().find_map(|region| {
            let within = address.checked_sub(region.address)?;
            (within < region.size).then(|| region.offset.saturating_add(within))
        })
    }

    fn place(&mut self, offset: u64, size: u64) -> Result<&mut [u8], Error> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(usize::try_from(size).ok()?)?));
        range
            .and_then(|range| self.bytes.get_mut(range))
            .ok_or_else(cut_off)
    }

    fn word_at(&mut self, offset: u64) -> Result<u64, Error> {
        let bytes = self
            .place(offset, WORD)?
            .first_chunk()
            .copied()
            .unwrap_or_default();
        Ok(u64::from_le_bytes(bytes))
    }

    fn put_at(&mut self, offset: u64, value: u64) -> Result<(), Error> {
        self.place(offset, WORD)?.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn get(&mut self, address: u64) -> Result<Word, Error> {
        if let Some(addend) = self.addends.get(&address).copied() {
            return self.word_at(addend).map(Word::Relocated);
        }
        let at = self.offset_of(address).ok_or_else(cut_off)?;
        self.word_at(at).map(Word::Plain)
    }

    /// Copies a word; both must be made alike.
    ///
    /// The tables of relocations keep their size and order, since other code has its relocations between these. So whether
    /// the loader writes to a word depends on the place, not on what moves there: a number under a relocation would be lost,
    /// and a pointer without one would miss the address at which the program is loaded.
    fn copy(&mut self, from: u64, to: u64) -> Result<(), Error> {
        let at = self.offset_of(to).ok_or_else(cut_off)?;
        let refused = |message| Err(Error::unrepresentable(message).at(at));
        if self.symbolic.contains(&from) || self.symbolic.contains(&to) {
            return refused("the pointers of SYCL images are made of symbols");
        }
        let is_packed = [from, to].map(|address| self.packed.contains(&address));
        match (self.get(from)?, self.addends.get(&to).copied()) {
            // Of a null pointer that a loader adds to, only the end of an empty range is left, as its begin is the same.
            (Word::Relocated(value) | Word::Plain(value @ 0), Some(addend)) => {
                let old = self.word_at(addend)?;
                // Some linkers leave the addend in the word, too.
                if self.word_at(at)? == old {
                    self.put_at(at, value)?;
                }
                self.put_at(addend, value)
            }
            (Word::Plain(value), None) if value == 0 || is_packed != [true, false] => self.put_at(at, value),
            _ => refused("SYCL images of one descriptor differ in which of their pointers are null"),
        }
    }

    /// Lets the images that stay close up. A descriptor without any is passed over by whoever registers it.
    ///
    /// The code itself stays where it is, and so do the lists that images point to (entries, properties): pointers to them
    /// come from anywhere, those in an image's own record from one place. Word by word from the front, each is read before it
    /// is overwritten.
    fn remove_images(&mut self, descriptor: &Descriptor, gone: &BTreeSet<usize>) -> Result<(), Error> {
        const COUNT: u64 = 2;
        let count = usize::from(descriptor.image_count);
        let stays: Vec<usize> = (0..count).filter(|number| !gone.contains(number)).collect();
        for (to, from) in stays.iter().enumerate().filter(|(to, from)| to != *from) {
            let (to, from) = (
                descriptor.image_address(to as u64),
                descriptor.image_address(*from as u64),
            );
            let mut within = 0;
            while within < descriptor.version.size() {
                self.copy(from.saturating_add(within), to.saturating_add(within))?;
                within = within.saturating_add(WORD);
            }
        }
        let at = self
            .offset_of(descriptor.address)
            .ok_or_else(cut_off)?
            .saturating_add(COUNT);
        let number = u16::try_from(stays.len()).map_err(|_| cut_off())?;
        self.place(at, 2)?.copy_from_slice(&number.to_le_bytes());
        Ok(())
    }

    /// Takes the images out of the section that lists address and size of all.
    fn shorten_list(&mut self, memory: &Memory<'_>, gone: &BTreeSet<u64>) -> Result<(), Error> {
        const ROW: u64 = 16;
        const SIZE: u64 = 32;
        let headers = self.list_headers(memory)?;
        // No two lists share bytes, unless the program is damaged.
        let mut left = self.bytes.len() as u64;
        for &(list, size) in memory.image_lists() {
            left = left.checked_sub(size).ok_or_else(cut_off)?;
            let mut to = list;
            let rows = size.checked_div(ROW).unwrap_or_default();
            for row in 0..rows {
                let from = list.saturating_add(row.saturating_mul(ROW));
                if gone.contains(&memory.pointer(from).unwrap_or_default()) {
                    continue;
                }
                if from != to {
                    self.copy(from, to)?;
                    self.copy(from.saturating_add(WORD), to.saturating_add(WORD))?;
                }
                to = to.saturating_add(ROW);
            }
            if self.header.is_none() {
                // The loader adds to the pointers all the same, so that the section keeps its size: these rows are none.
                while to < list.saturating_add(rows.saturating_mul(ROW)) {
                    let at = self.offset_of(to).ok_or_else(cut_off)?;
                    self.place(at, ROW)?.fill(0);
                    to = to.saturating_add(ROW);
                }
                continue;
            }
            // The bytes stay where they are, and only the header says less: no loader reads it, but
            // who holds the list against the descriptors does.
            for header in headers.get(&list).into_iter().flatten() {
                self.put_at(header.saturating_add(SIZE), to.saturating_sub(list))?;
            }
        }
        Ok(())
    }

    /// Where in an ELF file the headers are of the sections that list images, by the address of each.
    fn list_headers(&self, memory: &Memory<'_>) -> Result<BTreeMap<u64, Vec<u64>>, Error> {
        let mut found: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let Some(header) = self.header.as_ref().filter(|_| !memory.image_lists().is_empty()) else {
            return Ok(found);
        };
        let sections = header.sections(Source::new(&self.bytes)).ok_or_else(cut_off)?;
        let names = sections.in_file(sections.names().into());
        let Some(names) = names.and_then(|names| sections.data(&names)) else {
            return Ok(found);
        };
        for (number, section) in (0_u64..).zip(sections.iter()) {
            if section.is_named(names, IMAGE_LIST) {
                let header = number.saturating_mul(sections.header_size);
                let headers = found.entry(section.address).or_default();
                headers.push(sections.offset.saturating_add(header));
            }
        }
        Ok(found)
    }

    fn clear(&mut self, range: &Range<u64>) -> Result<(), Error> {
        let size = range.end.saturating_sub(range.start);
        self.place(range.start, size)?.fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_an_image_that_stays_shares_is_found() {
        let stays = [40..50, 0..30, 10..20, 60..60];
        let ranges = Ranges::of(stays.to_vec());
        for start in 0..70 {
            for end in start..70 {
                let is_shared = stays.iter().any(|other| other.start < end && start < other.end);
                assert_eq!(ranges.overlap(&(start..end)), is_shared, "{start} to {end}");
            }
        }
        assert!(!Ranges::of(Vec::new()).overlap(&(0..10)));
    }
}
