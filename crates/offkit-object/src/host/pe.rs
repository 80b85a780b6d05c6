//! Linked programs of Windows whose device code became smaller.
//!
//! Addresses stay. The containers in a section have closed up at its beginning, and the pointers that lead to them
//! follow; base relocations say where these are. The section then has fewer bytes in the file than in memory, which the
//! loader fills with zeros, and what stands behind it in the file comes closer.

use offkit_image::{Error, ErrorKind};

use crate::edits::Edited;
use crate::source::Source;

/// Where things are in the header of a program of 64 bits, from its optional header on.
const OPTIONAL_MAGIC: u16 = 0x20b;
const INITIALIZED_SIZE: u64 = 8;
const IMAGE_BASE: u64 = 24;
const FILE_ALIGNMENT: u64 = 36;
const CHECKSUM: u64 = 64;
const DIRECTORY_COUNT: u64 = 108;
const DIRECTORIES: u64 = 112;
const DIRECTORY_SIZE: u64 = 8;
const BASE_RELOCATIONS: u64 = 5;
const DEBUG: u64 = 6;

/// In the header before it.
const FILE_HEADER: u64 = 20;
const SECTION_COUNT: u64 = 2;
const SYMBOLS: u64 = 8;
const SYMBOL_COUNT: u64 = 12;
const OPTIONAL_SIZE: u64 = 16;

const SYMBOL: u64 = 18;

const SECTION_HEADER: u64 = 40;
const SECTION_ADDRESS: u64 = 12;
const SECTION_SIZE: u64 = 16;
const SECTION_OFFSET: u64 = 20;

/// An entry of the directory of debug information, and where the place of that is in it.
const DEBUG_ENTRY: u64 = 28;
const DEBUG_OFFSET: u64 = 24;

/// A base relocation of an address of 64 bits.
const DIR64: u16 = 10;

fn damaged() -> Error {
    Error::new(ErrorKind::OutOfBounds, "a table of the program is cut off")
}

/// The bytes of a program, and numbers in it.
struct File(Vec<u8>);

impl File {
    fn number<const N: usize>(&self, at: u64) -> Result<[u8; N], Error> {
        let start = usize::try_from(at).map_err(|_| damaged())?;
        let bytes = self.0.get(start..).and_then(|bytes| bytes.first_chunk());
        bytes.copied().ok_or_else(damaged)
    }

    fn half(&self, at: u64) -> Result<u16, Error> {
        self.number(at).map(u16::from_le_bytes)
    }

    fn word(&self, at: u64) -> Result<u32, Error> {
        self.number(at).map(u32::from_le_bytes)
    }

    fn long(&self, at: u64) -> Result<u64, Error> {
        self.number(at).map(u64::from_le_bytes)
    }

    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let start = usize::try_from(at).map_err(|_| damaged())?;
        let end = start.saturating_add(bytes.len());
        self.0
            .get_mut(start..end)
            .ok_or_else(damaged)?
            .copy_from_slice(bytes);
        Ok(())
    }

    fn put_word(&mut self, at: u64, value: u64) -> Result<(), Error> {
        let value = u32::try_from(value).map_err(|_| damaged())?;
        self.put(at, &value.to_le_bytes())
    }
}

#[derive(Debug, Clone, Copy)]
struct Section {
    header: u64,
    address: u64,
    size: u64,
    offset: u64,
}

struct Program<'e> {
    file: File,
    file_header: u64,
    optional: u64,
    sections: Vec<Section>,
    changed: &'e [(usize, &'e Edited<'e>)],
}

/// The program with other contents of sections, which are not larger than the old ones: the first begins at `header`,
/// where its COFF header is.
pub(super) fn cut(
    source: Source<'_>,
    header: u64,
    changed: &[(usize, &Edited<'_>)],
) -> Result<Vec<u8>, Error> {
    let file = File(source.bytes().to_vec());
    let optional = header.saturating_add(FILE_HEADER);
    // Programs of 32 bits have their base and their directories at other places, and pointers of
    // four bytes with base relocations of another type.
    if file.half(optional)? != OPTIONAL_MAGIC {
        return Err(Error::unrepresentable(
            "only programs of 64 bits are made smaller",
        ));
    }
    let table = optional.saturating_add(file.half(header.saturating_add(OPTIONAL_SIZE))?.into());
    let mut sections = Vec::new();
    for number in 0..u64::from(file.half(header.saturating_add(SECTION_COUNT))?) {
        let at = table.saturating_add(number.saturating_mul(SECTION_HEADER));
        let word = |field: u64| file.word(at.saturating_add(field)).map(u64::from);
        sections.push(Section {
            header: at,
            address: word(SECTION_ADDRESS)?,
            size: word(SECTION_SIZE)?,
            offset: word(SECTION_OFFSET)?,
        });
    }
    let mut program = Program {
        file,
        file_header: header,
        optional,
        sections,
        changed,
    };
    program.check_end()?;
    // Before anything moves in the file, as section headers say where base relocations are.
    program.move_pointers(source)?;
    program.close_up()
}

/// The program with the sum of its bytes in its header, where it has one.
pub(super) fn summed_up(bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    let Some(header) = super::coff::program_header(Source::new(&bytes)) else {
        return Ok(bytes);
    };
    let mut file = File(bytes);
    file.sum_up(header.saturating_add(FILE_HEADER))?;
    Ok(file.0)
}

impl Program<'_> {
    /// Refuses bytes behind all sections: installers and the like look for them at a place of their own choice.
    fn check_end(&self) -> Result<(), Error> {
        let ends = self
            .sections
            .iter()
            .map(|section| section.offset.saturating_add(section.size));
        let end = ends.max().unwrap_or_default().max(self.symbols_end()?);
        match self.file.0.len() as u64 > end {
            true => {
                Err(Error::unrepresentable("bytes behind the sections of the program cannot move").at(end))
            }
            false => Ok(()),
        }
    }

    /// Where MinGW's tables of symbols and of strings end, which stand behind all sections and may move: the file header
    /// says where they are. 0 where there are none.
    fn symbols_end(&self) -> Result<u64, Error> {
        let word = |field: u64| self.file.word(self.file_header.saturating_add(field));
        let (symbols, count) = (word(SYMBOLS)?, word(SYMBOL_COUNT)?);
        if symbols == 0 {
            return Ok(0);
        }
        let strings = u64::from(symbols).saturating_add(u64::from(count).saturating_mul(SYMBOL));
        // Their size is the first of the strings' own bytes.
        let size = self.file.word(strings).unwrap_or_default();
        Ok(strings.saturating_add(size.into()))
    }

    /// The place and the size of a table that the header names.
    fn directory(&self, number: u64) -> Result<Option<[u64; 2]>, Error> {
        // A header may have fewer than the usual 16 directories: section headers follow then.
        if u64::from(self.file.word(self.optional.saturating_add(DIRECTORY_COUNT))?) <= number {
            return Ok(None);
        }
        let at = self
            .optional
            .saturating_add(DIRECTORIES)
            .saturating_add(number.saturating_mul(DIRECTORY_SIZE));
        let (address, size) = (self.file.word(at)?, self.file.word(at.saturating_add(4))?);
        if size == 0 {
            return Ok(None);
        }
        let offset = self.offset_of(address.into()).ok_or_else(damaged)?;
        Ok(Some([offset, size.into()]))
    }

    /// Where in the file the byte at an address is, which is counted from where the program begins.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.sections.iter().find_map(|section| {
            let within = address.checked_sub(section.address)?;
            (within < section.size).then(|| section.offset.saturating_add(within))
        })
    }

    /// Lets every pointer to a container lead to where it is, by the table of all pointers.
    fn move_pointers(&mut self, source: Source<'_>) -> Result<(), Error> {
        let base = self.file.long(self.optional.saturating_add(IMAGE_BASE))?;
        let mut found = Vec::new();
        let [mut at, size] = self.directory(BASE_RELOCATIONS)?.unwrap_or_default();
        let end = at.saturating_add(size);
        while at < end {
            let page = u64::from(self.file.word(at)?);
            // The size includes the eight bytes of its own header; a damaged 0 would keep the loop where it is.
            let block = u64::from(self.file.word(at.saturating_add(4))?).max(DIRECTORY_SIZE);
            let block_end = at.saturating_add(block).min(end);
            let mut entry = at.saturating_add(DIRECTORY_SIZE);
            while entry.saturating_add(2) <= block_end {
                let word = self.file.half(entry)?;
                entry = entry.saturating_add(2);
                // The upper four bits are the type. Others, such as the padding of a block, are no pointers of 64 bits.
                if word >> 12 == DIR64 {
                    let place = self.offset_of(page.saturating_add(u64::from(word & 0xfff)));
                    self.move_pointer(source, place.ok_or_else(damaged)?, base, &mut found)?;
                }
            }
            at = block_end;
        }
        // As in ELF: what nothing points to is registered in a way that is not known here, and must not move.
        found.sort_unstable();
        for (index, edited) in self.changed {
            let section = self.sections.get(*index).ok_or_else(damaged)?;
            for (old, _) in &edited.moves {
                if found
                    .binary_search(&section.address.saturating_add(*old))
                    .is_err()
                {
                    return Err(
                        Error::unrepresentable("nothing was found that points to the device code")
                            .at(section.offset.saturating_add(*old)),
                    );
                }
            }
        }
        Ok(())
    }

    fn move_pointer(
        &mut self,
        source: Source<'_>,
        place: u64,
        base: u64,
        found: &mut Vec<u64>,
    ) -> Result<(), Error> {
        // As it was: a pointer that is named twice moves once.
        let old = source
            .get(place, 8)
            .and_then(|word| word.bytes().first_chunk().copied());
        let address = u64::from_le_bytes(old.ok_or_else(damaged)?).wrapping_sub(base);
        for (index, edited) in self.changed {
            let section = self.sections.get(*index).ok_or_else(damaged)?;
            let within = address.checked_sub(section.address);
            let Some(within) = within.filter(|within| *within < section.size) else {
                continue;
            };
            let new = edited.moved(within).ok_or_else(|| {
                Error::unrepresentable(
                    "something points into the device code, and not to where a container begins",
                )
                .finding(format_args!("a pointer to address {address:#x}"))
            })?;
            found.push(address);
            let new = base.wrapping_add(section.address).wrapping_add(new);
            self.file.put(place, &new.to_le_bytes())?;
        }
        Ok(())
    }

    /// Writes the new contents, takes out what became free, and has headers say so.
    fn close_up(mut self) -> Result<Vec<u8>, Error> {
        let alignment = u64::from(self.file.word(self.optional.saturating_add(FILE_ALIGNMENT))?).max(1);
        let mut holes: Vec<(u64, u64)> = Vec::new();
        for (index, edited) in self.changed {
            let section = *self.sections.get(*index).ok_or_else(damaged)?;
            let length = edited.bytes.len();
            let kept = length
                .max(1)
                .checked_next_multiple_of(alignment)
                .ok_or_else(damaged)?;
            if length > section.size {
                return Err(
                    Error::unrepresentable("the device code does not become smaller").at(section.offset)
                );
            }
            let rest = usize::try_from(section.size.saturating_sub(length)).map_err(|_| damaged())?;
            let content = [&edited.bytes.joined(), vec![0; rest].as_slice()].concat();
            self.file.put(section.offset, &content)?;
            if kept < section.size {
                holes.push((
                    section.offset.saturating_add(kept),
                    section.offset.saturating_add(section.size),
                ));
                self.file
                    .put_word(section.header.saturating_add(SECTION_SIZE), kept)?;
            }
        }
        holes.sort_unstable();
        for (start, end) in &holes {
            // A hole is cut out for all sections that have it, so it must be one section's alone.
            let shares = |section: &&Section| {
                section.offset < *end && *start < section.offset.saturating_add(section.size)
            };
            if self.sections.iter().filter(shares).count() != 1 {
                return Err(
                    Error::unrepresentable("sections overlap, so that none can be changed alone").at(*start),
                );
            }
        }
        let closer = |offset: u64| {
            let gone = holes.iter().filter(|(start, _)| *start < offset);
            let gone = gone.map(|(start, end)| end.saturating_sub(*start));
            offset.saturating_sub(gone.fold(0, u64::saturating_add))
        };
        for section in &self.sections {
            self.file.put_word(
                section.header.saturating_add(SECTION_OFFSET),
                closer(section.offset),
            )?;
        }
        let symbols = self.file_header.saturating_add(SYMBOLS);
        let place = self.file.word(symbols)?;
        self.file.put_word(symbols, closer(place.into()))?;
        // All other directories name addresses, which stay. That of certificates names a place too, but signed programs
        // are refused before.
        if let Some([start, size]) = self.directory(DEBUG)? {
            for number in 0..size.checked_div(DEBUG_ENTRY).unwrap_or_default() {
                let at = start
                    .saturating_add(number.saturating_mul(DEBUG_ENTRY))
                    .saturating_add(DEBUG_OFFSET);
                let place = self.file.word(at)?;
                self.file.put_word(at, closer(place.into()))?;
            }
        }
        let removed = holes.iter().map(|(start, end)| end.saturating_sub(*start));
        let removed = removed.fold(0, u64::saturating_add);
        let initialized = self.optional.saturating_add(INITIALIZED_SIZE);
        let size = u64::from(self.file.word(initialized)?);
        self.file.put_word(initialized, size.saturating_sub(removed))?;
        // From the last one on, and only now: everything above finds its fields at the old places.
        for (start, end) in holes.iter().rev() {
            let range = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
            let (start, end) = range
                .filter(|(_, end)| *end <= self.file.0.len())
                .ok_or_else(damaged)?;
            self.file.0.drain(start..end);
        }
        // Last, as the sum counts the size of the file as well.
        self.file.sum_up(self.optional)?;
        Ok(self.file.0)
    }
}

impl File {
    /// Writes the sum of the file, where it has one: of all halves but those of the sum, and the file's size. The optional
    /// header begins at `optional`.
    fn sum_up(&mut self, optional: u64) -> Result<(), Error> {
        let at = optional.saturating_add(CHECKSUM);
        // Microsoft's linker leaves 0 unless it is asked for a sum, and the loader checks that of drivers only.
        if self.word(at)? == 0 {
            return Ok(());
        }
        // The field counts as 0 in its own sum.
        self.put_word(at, 0)?;
        let (halves, rest) = self.0.as_chunks::<2>();
        let last = rest.first().map(|byte| u64::from(*byte));
        let halves = halves.iter().map(|half| u64::from(u16::from_le_bytes(*half)));
        let mut sum = halves.chain(last).fold(0, u64::saturating_add);
        while sum > 0xffff {
            sum = (sum & 0xffff).saturating_add(sum >> 16);
        }
        self.put_word(at, sum.saturating_add(self.0.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with one section and MinGW's two tables behind it.
    fn program(bytes: Vec<u8>) -> Program<'static> {
        Program {
            file: File(bytes),
            file_header: 0,
            optional: FILE_HEADER,
            sections: vec![Section {
                header: 0,
                address: 0x1000,
                size: 0x100,
                offset: 0x100,
            }],
            changed: &[],
        }
    }

    #[test]
    fn bytes_behind_the_tables_of_symbols_and_strings_cannot_move() {
        const TABLES: usize = 0x200;
        let mut bytes = vec![0; TABLES];
        assert!(program(bytes.clone()).check_end().is_ok());
        bytes[SYMBOLS as usize + 1] = 2;
        bytes[SYMBOL_COUNT as usize] = 3;
        bytes.resize(TABLES + 3 * SYMBOL as usize, 0);
        bytes.extend(*b"\x09\0\0\0name\0");
        assert!(program(bytes.clone()).check_end().is_ok());
        bytes.extend(*b"payload");
        let error = program(bytes.clone()).check_end().unwrap_err();
        assert_eq!(error.offset(), Some(bytes.len() as u64 - 7));
        bytes[SYMBOLS as usize + 1] = 0;
        assert!(program(bytes).check_end().is_err());
    }
}
