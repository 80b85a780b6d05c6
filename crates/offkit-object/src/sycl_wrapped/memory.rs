//! A program as it is in memory once it is loaded: addresses, and what pointers there point to.

use offkit_image::Error;

use super::relocations::{Relocated, Relocations};
use super::tables::{self, Action, Dynamic, Rela, Segment, Symbol};
use super::windows::{Pointers, Program};
use crate::elf::{self, Header, SectionHeader, Sections};
use crate::reading::Reading;
use crate::source::Source;

/// Where the sections of a relocatable file are put, so that no address is null.
const FIRST_ADDRESS: u64 = 0x1_0000;

/// The memory of a running program, by address.
pub trait AddressSpace {
    /// So many bytes from an address on; `None` if they cannot be there: at a null pointer, say.
    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]>;

    /// The text at an address, with the zero byte that ends it.
    fn text(&self, address: u64) -> Option<&[u8]>;
}

/// The addresses of a program.
pub(super) struct Memory<'data> {
    /// The memory itself, if the program runs; the rest is empty then.
    running: Option<&'data dyn AddressSpace>,
    /// By address.
    regions: Vec<Region<'data>>,
    /// Words that are not what the file has there.
    relocated: Relocations<'data>,
    /// Addresses where the file has a pointer to itself, as `RELR` has them: the addend is in the word.
    packed: Option<Source<'data>>,
    /// The same of a Windows program.
    listed: Option<Pointers<'data>>,
    /// Whether pointers need no relocation.
    absolute: bool,
    file_size: u64,
    image_lists: Vec<(u64, u64)>,
}

/// The name of the sections that list images by address and size.
pub(super) const IMAGE_LIST: &[u8] = b".tgtimg";

/// Bytes of the file at an address.
#[derive(Clone, Copy)]
struct Region<'data> {
    address: u64,
    bytes: Source<'data>,
}

impl Region<'_> {
    /// The word at an address as it is in the file.
    fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes.get(address.checked_sub(self.address)?, 8)?;
        bytes.bytes().first_chunk().map(|word| u64::from_le_bytes(*word))
    }
}

impl<'data> Memory<'data> {
    /// The memory of an ELF or PE file; `None` for another kind of file.
    pub(super) fn of(source: Source<'data>, reading: &mut Reading) -> Result<Option<Self>, Error> {
        if let Some(program) = Program::read(source) {
            return Ok(Some(Self::of_windows(program, source)));
        }
        let header = Header::read(source).filter(|header| header.is_64 && !header.big_endian);
        let sections = header.and_then(|header| header.sections(source));
        let (Some(header), Some(sections)) = (header, sections) else {
            return Ok(None);
        };
        // Descriptors are full of pointers, and what a pointer holds is not in its bytes: in an object each is a relocation, in
        // a library or position-independent program a dynamic one, and only in a program with fixed addresses the value
        // itself. Each kind is brought into one form here, addresses and the words at them.
        let is_relocatable = header.kind == elf::TYPE_RELOCATABLE;
        if is_relocatable && !sections.has_kind(elf::SECTION_RELA) {
            // Most objects in archives; without relocations nothing is pointed to.
            return Ok(None);
        }
        let mut memory = Self {
            absolute: header.kind == elf::TYPE_EXECUTABLE,
            file_size: source.len(),
            ..Self::of_program(None)
        };
        if is_relocatable {
            memory.lay_out_sections(source, &header, sections, reading)?;
        } else {
            memory.load_segments(source, &header, sections, reading)?;
        }
        Ok(Some(memory))
    }

    fn of_windows(program: Program<'data>, source: Source<'data>) -> Self {
        let regions = program.sections.into_iter();
        Self {
            regions: regions
                .map(|(address, bytes)| Region { address, bytes })
                .collect(),
            listed: program.pointers,
            absolute: program.pointers.is_none(),
            file_size: source.len(),
            image_lists: program.image_lists,
            ..Self::of_program(None)
        }
    }

    /// The memory of a program that runs: pointers there are what they are.
    pub(super) fn of_program(running: Option<&'data dyn AddressSpace>) -> Self {
        Self {
            running,
            regions: Vec::new(),
            relocated: Relocations::default(),
            packed: None,
            listed: None,
            absolute: false,
            file_size: 0,
            image_lists: Vec::new(),
        }
    }

    /// The bytes from an address on, all of one part of the file.
    pub(super) fn get(&self, address: u64, size: u64) -> Option<Source<'data>> {
        if let Some(running) = self.running {
            return Some(Source::at_address(running.bytes(address, size)?, address));
        }
        let region = self.region(address)?;
        region.bytes.get(address.checked_sub(region.address)?, size)
    }

    /// What a pointer at an address points to.
    pub(super) fn pointer(&self, address: u64) -> Option<u64> {
        if let Some(running) = self.running {
            let word = running.bytes(address, 8)?.first_chunk();
            return word.map(|word| u64::from_le_bytes(*word));
        }
        // The relocation wins: what linkers leave in the word below it is often 0.
        self.relocated.value(address).or_else(|| self.word(address))
    }

    /// The bytes from an address on, for a text: `most` of them, or as many as there are.
    pub(super) fn up_to(&self, address: u64, most: u64) -> Option<Source<'data>> {
        if let Some(running) = self.running {
            return Some(Source::at_address(running.text(address)?, address));
        }
        let region = self.region(address)?;
        let rest = region.bytes.from(address.checked_sub(region.address)?);
        rest.get(0, most.min(rest.len()))
    }

    /// Where in the file an address is; 0 for one that is not in it.
    pub(super) fn offset(&self, address: u64) -> u64 {
        self.get(address, 0).map_or(0, |bytes| bytes.at(0))
    }

    /// The addresses and the sizes of the sections [`IMAGE_LIST`]; compilers make one for each image, linkers
    /// make one of them.
    pub(super) fn image_lists(&self) -> &[(u64, u64)] {
        &self.image_lists
    }

    pub(super) fn file_size(&self) -> u64 {
        self.file_size
    }

    /// Addresses, ascending, of words for which `is_wanted` says so and that have a pointer behind them.
    pub(super) fn before_pointers(&self, is_wanted: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut found = Vec::new();
        // Nearly all pointers are in one region.
        let mut last: Option<Region<'_>> = None;
        let mut consider = |pointer: u64| {
            // A descriptor is a word and then the pointer to its images, and is aligned to a word.
            let Some(address) = pointer.checked_sub(8).filter(|address| address.is_multiple_of(8)) else {
                return;
            };
            let word = last.and_then(|region| region.word(address));
            let word = word.or_else(|| {
                last = self.region(address).copied();
                last.and_then(|region| region.word(address))
            });
            if word.is_some_and(&is_wanted) {
                found.push(address);
            }
        };
        self.relocated.addresses().for_each(&mut consider);
        if let Some(packed) = self.packed {
            self.unpack(packed, &mut consider);
        }
        if let Some(listed) = self.listed {
            listed.each(&mut consider);
        }
        if self.absolute {
            // Segments that share bytes would make for more work than the file is large.
            let mut left = self.file_size;
            for region in &self.regions {
                let Some(rest) = left.checked_sub(region.bytes.len()) else {
                    break;
                };
                left = rest;
                let Some(first) = region.address.checked_next_multiple_of(8) else {
                    continue;
                };
                let words = region.bytes.from(first.saturating_sub(region.address)).bytes();
                let (words, _) = words.as_chunks::<8>();
                for (index, word) in words.iter().enumerate() {
                    if is_wanted(u64::from_le_bytes(*word)) {
                        found.push(first.saturating_add((index as u64).saturating_mul(8)));
                    }
                }
            }
        }
        // Two tables may name the same word.
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The word at an address as it is in the file.
    fn word(&self, address: u64) -> Option<u64> {
        self.region(address)?.word(address)
    }

    fn region(&self, address: u64) -> Option<&Region<'data>> {
        // Sorted when they were loaded. Of regions that overlap the last one counts; real programs have none.
        let after = self.regions.partition_point(|region| region.address <= address);
        self.regions.get(after.checked_sub(1)?)
    }

    /// The addresses of pointers whose addend is in the word.
    #[cfg(feature = "write")]
    pub(super) fn packed_addresses(&self) -> std::collections::HashSet<u64> {
        let mut found = std::collections::HashSet::new();
        let mut add = |address: u64| {
            found.insert(address);
        };
        if let Some(packed) = self.packed {
            self.unpack(packed, &mut add);
        }
        if let Some(listed) = self.listed {
            listed.each(&mut add);
        }
        found
    }

    /// Hands over the addresses in a table `RELR`: an even word is an address, an odd one a bit map of the 63
    /// words that follow the last.
    fn unpack(&self, table: Source<'_>, visit: &mut dyn FnMut(u64)) {
        let (words, _) = table.bytes().as_chunks::<8>();
        let mut next = 0_u64;
        for word in words {
            let word = u64::from_le_bytes(*word);
            if word & 1 == 0 {
                // Tables are sorted; one that goes back would make for more work than the file is large.
                if word < next {
                    return;
                }
                visit(word);
                next = word.saturating_add(8);
            } else {
                // Few of the words of an address space are in the file.
                let last = self.region(next.saturating_add(63 * 8));
                if last.is_some_and(|region| region.address.saturating_add(region.bytes.len()) > next) {
                    for bit in 1..64_u64 {
                        if word >> bit & 1 == 1 {
                            visit(next.saturating_add(bit.saturating_sub(1).saturating_mul(8)));
                        }
                    }
                }
                next = next.saturating_add(63 * 8);
            }
        }
    }

    /// Maps the segments of a linked file and reads its dynamic relocations.
    fn load_segments(
        &mut self,
        source: Source<'data>,
        header: &Header,
        sections: Sections<'data>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let [offset, _, count] = header.segments(source).unwrap_or_default();
        let size = count.saturating_mul(size_of::<Segment>() as u64);
        let table = source.need(offset, size, "program headers are cut off", "program headers");
        let segments = reading
            .accept(table)?
            .and_then(|table| table.records::<Segment>(0, count));
        let segments = segments.unwrap_or_default();
        for segment in segments
            .iter()
            .filter(|segment| segment.segment_type == tables::SEGMENT_LOAD)
        {
            let (offset, size) = (segment.offset.get(), segment.file_size.get());
            let rest = source.from(offset);
            if size > rest.len() && sections.offset == 0 {
                // Nothing else shows that the file is cut off: section headers would be at its end.
                let whole = source.need(
                    offset,
                    size,
                    "segment reaches past the end of the file",
                    "p_offset, p_filesz",
                );
                reading.accept(whole)?;
            }
            // Of a file that is cut off, what is there may still have whole images.
            let size = size.min(rest.len());
            if let Some(bytes) = rest.get(0, size) {
                let address = segment.address.get();
                self.regions.push(Region { address, bytes });
            }
        }
        self.regions.sort_by_key(|region| region.address);
        self.find_image_lists(sections, |_, section| Some(section.address));
        let dynamic = segments
            .iter()
            .find(|segment| segment.segment_type == tables::SEGMENT_DYNAMIC);
        if let Some(dynamic) = dynamic {
            let rest = source.from(dynamic.offset.get());
            let size = dynamic.file_size.get().min(rest.len());
            if let Some(dynamic) = rest.get(0, size) {
                self.relocate(dynamic, header.machine, reading)?;
            }
        }
        Ok(())
    }

    /// Reads the relocations that a dynamic section names.
    fn relocate(&mut self, dynamic: Source<'data>, machine: u16, reading: &mut Reading) -> Result<(), Error> {
        let entries = records_of::<Dynamic>(dynamic)
            .iter()
            // Linkers leave spare entries behind the end, for tools that add some later.
            .take_while(|entry| entry.tag != tables::DYNAMIC_END);
        let value = |tag: u64| {
            let found = entries.clone().find(|entry| entry.tag == tag);
            found.map(|entry| entry.value.get())
        };
        let table = |this: &Self, address: u64, size: u64| {
            let address = value(address)?;
            let size = value(size).unwrap_or_default();
            let table = this.get(address, size).ok_or_else(|| {
                Error::malformed("relocations are outside of the file")
                    .at(dynamic.at(0))
                    .field("dynamic section")
                    .finding(format_args!("{size:#x} bytes at address {address:#x}"))
            });
            Some(table)
        };
        // Packed ones first: a program may have no others, and then there is nothing more to do.
        let packed = table(self, tables::DYNAMIC_RELR, tables::DYNAMIC_RELR_SIZE);
        self.packed = reading.accept(packed.transpose())?.flatten();
        let relocations = table(self, tables::DYNAMIC_RELA, tables::DYNAMIC_RELA_SIZE);
        let Some(relocations) = reading.accept(relocations.transpose())?.flatten() else {
            return Ok(());
        };
        let symbols = value(tables::DYNAMIC_SYMBOLS);
        let (in_order, others) = Relocations::in_order(records_of::<Rela>(relocations), machine);
        let mut relocated = Vec::new();
        for relocation in others {
            let base = match relocation.action(machine) {
                Some(Action::Relative) => Some(0),
                Some(Action::Symbol) => symbols.and_then(|table| {
                    let size = size_of::<Symbol>() as u64;
                    let at = table.checked_add(u64::from(relocation.symbol.get()).checked_mul(size)?)?;
                    let symbol = self.get(at, size)?.record::<Symbol>(0)?;
                    // Another library's symbol cannot be known here. One of this file counts, though another might take
                    // its place.
                    (symbol.section != tables::SECTION_UNDEFINED).then_some(symbol.value.get())
                }),
                None => None,
            };
            if let Some(base) = base {
                relocated.push(Relocated {
                    address: relocation.offset.get(),
                    value: base.wrapping_add_signed(relocation.addend.get()),
                });
            }
        }
        self.relocated = Relocations::new(in_order, relocated);
        Ok(())
    }

    /// Puts the sections of a relocatable file one behind the other and reads their relocations.
    fn lay_out_sections(
        &mut self,
        source: Source<'data>,
        header: &Header,
        sections: Sections<'data>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        // An object has no addresses yet. Any will do, as long as no two sections share one: pointers are told by
        // relocations, which name sections.
        let mut addresses = Vec::new();
        let mut next = FIRST_ADDRESS;
        for section in sections.iter() {
            let is_loaded = section.flags & elf::SECTION_ALLOCATED != 0 && section.is_in_file;
            let bytes = sections.data(&section).filter(|_| is_loaded);
            addresses.push(bytes.map(|_| next));
            if let Some(bytes) = bytes {
                self.regions.push(Region { address: next, bytes });
                // One byte more, so that the end of a section is not the beginning of another.
                let end = next.saturating_add(bytes.len()).saturating_add(1);
                next = end.checked_next_multiple_of(16).unwrap_or(u64::MAX);
            }
        }
        let address = |index: usize| addresses.get(index).copied().flatten();
        self.find_image_lists(sections, |index, _| address(index));
        let mut relocated = Vec::new();
        // Sections that share bytes would make for more relocations than the file has room for.
        let mut left = source.len();
        for section in sections
            .iter()
            .filter(|section| section.kind == elf::SECTION_RELA)
        {
            let Some(target) = address(section.info as usize) else {
                continue;
            };
            let Some(table) = sections.data(&section) else {
                continue;
            };
            let Some(rest) = left.checked_sub(table.len()) else {
                return reading
                    .fault(Error::malformed("relocations of several sections overlap").at(table.at(0)));
            };
            left = rest;
            let symbols = sections
                .in_file(section.link.into())
                .filter(|symbols| symbols.kind == elf::SECTION_SYMBOLS)
                .and_then(|symbols| sections.data(&symbols))
                .map(records_of::<Symbol>)
                .unwrap_or_default();
            for relocation in records_of::<Rela>(table) {
                if relocation.action(header.machine) != Some(Action::Symbol) {
                    continue;
                }
                let value = symbols
                    .get(relocation.symbol.get() as usize)
                    .filter(|symbol| (1..tables::SECTION_RESERVED).contains(&symbol.section.get()))
                    .and_then(|symbol| {
                        let section = address(symbol.section.get().into())?;
                        Some(section.wrapping_add(symbol.value.get()))
                    });
                if let Some(value) = value {
                    relocated.push(Relocated {
                        address: target.wrapping_add(relocation.offset.get()),
                        value: value.wrapping_add_signed(relocation.addend.get()),
                    });
                }
            }
        }
        self.relocated = Relocations::new(&[], relocated);
        Ok(())
    }

    /// Finds the lists of images; without section headers, or with damaged ones, all else still works.
    fn find_image_lists(
        &mut self,
        sections: Sections<'data>,
        address: impl Fn(usize, &SectionHeader) -> Option<u64>,
    ) {
        let names = sections.in_file(sections.names().into());
        let Some(names) = names.and_then(|names| sections.data(&names)) else {
            return;
        };
        let lists = sections.iter().enumerate();
        let lists = lists.filter(|(_, section)| section.is_named(names, IMAGE_LIST));
        self.image_lists = lists
            .filter_map(|(index, section)| Some((address(index, &section)?, section.size)))
            .collect();
    }
}

/// As many records as fit.
fn records_of<T: zerocopy::FromBytes + zerocopy::Immutable + zerocopy::Unaligned>(table: Source<'_>) -> &[T] {
    let count = table.len().checked_div(size_of::<T>() as u64).unwrap_or_default();
    table.records(0, count).unwrap_or_default()
}
