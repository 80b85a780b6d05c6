//! Changing the sections of COFF objects, in the same way as [`elf_edit`](super::elf_edit).

use std::borrow::Cow;
use std::ops::Range;

use offkit_image::Error;

use super::coff::{Coff, Section};
use super::output::Output;
use super::splice::{Edit, Spliced, splice};
use super::write::Changes;
use crate::source::Source;

const HEADER_SIZE: usize = 40;

/// Section numbers from here on have special meanings.
const RESERVED: usize = 0xff00;

/// The number of a section that symbols have when they are of no concern to linkers.
const DEBUG_SECTION: i32 = -2;

/// The storage class of a symbol that is not seen outside of the object.
const CLASS_STATIC: u8 = 3;

/// The object with these changes.
pub(super) fn edit<'data>(bytes: &'data [u8], changes: &Changes<'_, 'data>) -> Result<Output<'data>, Error> {
    let source = Source::new(bytes);
    let coff = Coff::read(source)?;
    if coff.is_linked {
        return Err(Error::unrepresentable(
            "sections of a linked program cannot change their size: its addresses are fixed",
        ));
    }
    let strings = Strings::new(&coff, source);
    Plan::new(bytes, &coff, changes, strings)?.write()
}

/// Sets the size of the content of a section in a program, where the size in the file stays.
pub(super) fn size_field(source: Source<'_>, index: usize, size: usize) -> Result<(u64, Vec<u8>), Error> {
    let coff = Coff::read(source)?;
    let header = to_usize(coff.headers_offset)?.saturating_add(index.saturating_mul(HEADER_SIZE));
    let mut number = Out {
        bytes: vec![0; 4].into(),
    };
    number.put_u32(0, size as u64)?;
    // `VirtualSize`. `SizeOfRawData` stays, as it is a multiple of the file's alignment and what
    // follows in the file does not move.
    Ok((header.saturating_add(8) as u64, number.bytes.into_bytes()))
}

/// An object without sections.
pub(super) fn empty_object(machine: u16) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    if let Some(place) = bytes.first_chunk_mut::<2>() {
        *place = machine.to_le_bytes();
    }
    bytes
}

/// The table of long names.
struct Strings {
    bytes: Vec<u8>,
    old_size: usize,
}

impl Strings {
    fn new(coff: &Coff, source: Source<'_>) -> Self {
        let old = coff.strings(source).bytes();
        let mut bytes = old.to_vec();
        // The table begins with its own size, which an empty one has, too.
        bytes.resize(bytes.len().max(4), 0);
        Self {
            bytes,
            old_size: old.len(),
        }
    }

    /// The name as it is in a section header, after its addition to the table if it is long.
    fn add(&mut self, name: &str) -> Result<[u8; 8], Error> {
        let mut field = [0; 8];
        // Readers would take a short name with a slash in front for a place in the table.
        let short = if name.len() <= field.len() && !name.starts_with('/') {
            name.to_owned()
        } else {
            let offset = self.bytes.len();
            self.bytes.extend_from_slice(name.as_bytes());
            self.bytes.push(0);
            reference(offset)
        };
        if name.contains('\0') || short.len() > field.len() {
            return Err(
                Error::unrepresentable("a section name cannot be stored").finding(name.escape_default())
            );
        }
        for (place, byte) in field.iter_mut().zip(short.bytes()) {
            *place = byte;
        }
        Ok(field)
    }
}

/// How a section header refers to a name in the table: in decimal digits, or where these have no room in
/// digits of base 64.
fn reference(offset: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // A name has eight bytes: seven digits behind one slash, or six behind two, as LLVM writes them.
    if offset <= 9_999_999 {
        return format!("/{offset}");
    }
    let digit = |shift: u32| DIGITS.get(offset >> shift & 63).copied().unwrap_or(b'A');
    let digits = [30, 24, 18, 12, 6, 0].map(|shift| char::from(digit(shift)));
    format!("//{}", digits.iter().collect::<String>())
}

struct Plan<'p, 'data> {
    bytes: &'data [u8],
    coff: &'p Coff,
    changes: &'p Changes<'p, 'data>,
    edits: Vec<Edit<'data>>,
    /// The edit of each section of the new file, and the size of its content; `None` for one that moves only.
    origins: Vec<Option<(usize, usize)>>,
    /// The names of the sections that are added.
    names: Vec<[u8; 8]>,
    /// The size of the string table as it is.
    strings_size: u64,
    /// The edit that is the string table, when the object has no symbols.
    new_strings: Option<usize>,
}

impl<'p, 'data> Plan<'p, 'data> {
    fn new(
        bytes: &'data [u8],
        coff: &'p Coff,
        changes: &'p Changes<'p, 'data>,
        mut strings: Strings,
    ) -> Result<Self, Error> {
        // All edits in the order of the file: headers, contents that change, new contents behind all others, and the
        // strings behind the symbols. Headers come first in COFF, so that one more of them moves everything.
        let removed = changes.removed.len();
        let count = coff
            .sections
            .len()
            .saturating_sub(removed)
            .saturating_add(changes.added.len());
        if count >= RESERVED && !coff.is_big_object {
            return Err(Error::unrepresentable("too many sections for a COFF object"));
        }
        let mut plan = Self {
            bytes,
            coff,
            changes,
            edits: Vec::new(),
            origins: vec![None; coff.sections.len()],
            names: Vec::new(),
            strings_size: strings.old_size as u64,
            new_strings: None,
        };
        let table = to_usize(coff.headers_offset)?;
        let old_table = coff.sections.len().saturating_mul(HEADER_SIZE);
        // The headers come before all contents in an object, so this edit is the first in the order of the file.
        plan.edits.push(Edit {
            start: table,
            end: table.saturating_add(old_table),
            align: 1,
            new: Cow::Owned(vec![0; count.saturating_mul(HEADER_SIZE)]),
        });
        plan.change_contents()?;
        let end = match coff.symbols_offset {
            0 => bytes.len(),
            symbols => to_usize(symbols)?,
        };
        // Objects have their symbols after all contents; one that has not must not get its edits out of order.
        if plan.edits.last().is_some_and(|last| last.start > end) {
            return Err(Error::unrepresentable(
                "the object has its symbols before its sections",
            ));
        }
        for section in changes.added {
            plan.names.push(strings.add(&section.name)?);
            plan.origins.push(Some((plan.edits.len(), section.bytes.len())));
            plan.edits.push(Edit {
                start: end,
                end,
                align: to_usize(section.alignment.min(1 << 12))?,
                new: Cow::Borrowed(section.bytes),
            });
        }
        // More than its size in front, or more than before: nothing else makes the table change.
        if strings.bytes.len() > strings.old_size.max(4) {
            plan.place_strings(strings, end)?;
        }
        Ok(plan)
    }

    fn change_contents(&mut self) -> Result<(), Error> {
        let is_in_file = |index: usize| self.coff.sections.get(index).is_some_and(Section::is_in_file);
        let replaced = self.changes.replaced.iter().copied();
        let mut placeless = replaced.clone().filter(|(index, _)| !is_in_file(*index));
        if let Some((index, _)) = placeless.find(|(_, new)| !new.is_empty()) {
            return Err(Error::unrepresentable("the section has no place in the file").finding(index));
        }
        let removed = self.changes.removed.iter().map(|index| (*index, [].as_slice()));
        let mut contents: Vec<(usize, &'data [u8])> = replaced.chain(removed).collect();
        let offset = |index: usize| self.coff.sections.get(index).map_or(0, |section| section.offset);
        contents.retain(|(index, _)| is_in_file(*index));
        contents.sort_by_key(|(index, _)| offset(*index));
        for (index, new) in contents {
            let Some(old) = self.coff.sections.get(index) else {
                continue;
            };
            let start = old.offset as usize;
            if let Some(origin) = self.origins.get_mut(index) {
                *origin = Some((self.edits.len(), new.len()));
            }
            self.edits.push(Edit {
                start,
                end: start.saturating_add(old.size as usize),
                align: 1,
                new: Cow::Borrowed(new),
            });
        }
        Ok(())
    }

    /// Puts the longer string table after the symbols, or at the end where there are none.
    fn place_strings(&mut self, strings: Strings, end: usize) -> Result<(), Error> {
        let size = u32::try_from(strings.bytes.len()).map_err(|_| too_large())?;
        let mut bytes = strings.bytes;
        if let Some(place) = bytes.first_chunk_mut::<4>() {
            *place = size.to_le_bytes();
        }
        let start = match self.coff.strings_offset() {
            Some(offset) => to_usize(offset)?,
            None => end,
        };
        // Without symbols the pointer to them is one to the strings.
        if self.coff.symbols_offset == 0 || self.coff.symbol_count == 0 {
            self.new_strings = Some(self.edits.len());
        }
        self.edits.push(Edit {
            start,
            end: start.saturating_add(strings.old_size),
            align: 1,
            new: Cow::Owned(bytes),
        });
        Ok(())
    }

    fn write(self) -> Result<Output<'data>, Error> {
        let spliced = splice(self.bytes, &self.edits, &self.used(), 1)?;
        // A copy, as `spliced` is still asked for new places while headers are written.
        let mut out = Out {
            bytes: spliced.bytes.clone(),
        };
        self.write_headers(&spliced, &mut out)?;
        let symbols = match (self.coff.symbols_offset, self.new_strings) {
            (_, Some(number)) => spliced.placed.get(number).copied().unwrap_or_default(),
            (0, None) => 0,
            (symbols, None) => spliced.moved(symbols),
        };
        let count = self.origins.len().saturating_sub(self.changes.removed.len());
        let pointer_at = if self.coff.is_big_object {
            out.put_u32(44, count as u64)?;
            48
        } else {
            out.put_u16(2, count)?;
            8_usize
        };
        out.put_u32(pointer_at, symbols)?;
        if self.coff.symbols_offset == 0 {
            // Without a table the number of symbols may be anything; names are found behind that many.
            out.put_u32(pointer_at.saturating_add(4), 0)?;
            return Ok(out.bytes);
        }
        // Sections that are added come behind all others: no symbol changes for these.
        if !self.changes.removed.is_empty() || !self.changes.replaced.is_empty() {
            self.change_symbols(to_usize(symbols)?, &mut out)?;
        }
        Ok(out.bytes)
    }

    fn write_headers(&self, spliced: &Spliced<'_>, out: &mut Out<'_>) -> Result<(), Error> {
        let table = to_usize(self.coff.headers_offset)?;
        let mut at = table;
        for (index, origin) in self.origins.iter().enumerate() {
            if self.changes.removed.binary_search(&index).is_ok() {
                continue;
            }
            if let Some(old) = self.coff.sections.get(index) {
                let start = table.saturating_add(index.saturating_mul(HEADER_SIZE));
                let header = self.bytes.get(start..start.saturating_add(HEADER_SIZE));
                out.put(at, header.unwrap_or_default())?;
                for (field, offset) in [(20, old.offset), (24, old.relocations), (28, old.line_numbers)] {
                    if offset != 0 {
                        out.put_u32(at.saturating_add(field), spliced.moved(offset.into()))?;
                    }
                }
            } else {
                let added = index.saturating_sub(self.coff.sections.len());
                let flags = self
                    .changes
                    .added
                    .get(added)
                    .map_or(Ok(0), super::write::NewSection::coff_flags)?;
                out.put(at, self.names.get(added).map_or(&[], |name| name))?;
                out.put_u32(at.saturating_add(36), flags.into())?;
            }
            if let Some((number, size)) = origin {
                let place = spliced.placed.get(*number).copied().unwrap_or_default();
                out.put_u32(at.saturating_add(16), *size as u64)?;
                out.put_u32(at.saturating_add(20), place)?;
            }
            at = at.saturating_add(HEADER_SIZE);
        }
        Ok(())
    }

    /// What is where in the file. Of relocations and line numbers only the start is known here.
    fn used(&self) -> Vec<Range<usize>> {
        let coff = self.coff;
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let contents = coff.sections.iter().filter(|section| section.is_in_file());
        let contents = contents.map(|section| (section.offset.into(), section.size.into()));
        let starts = coff
            .sections
            .iter()
            .flat_map(|section| [section.relocations, section.line_numbers]);
        let headers = coff.sections.len().saturating_mul(HEADER_SIZE) as u64;
        let symbols = coff
            .strings_offset()
            .map(|end| (coff.symbols_offset, end.saturating_sub(coff.symbols_offset)));
        let mut used: Vec<Range<usize>> = contents
            // Without a size they still end what `splice` takes for padding before them.
            .chain(starts.filter(|start| *start != 0).map(|start| (start.into(), 0)))
            .chain(symbols)
            .chain(coff.strings_offset().map(|offset| (offset, self.strings_size)))
            .chain([(0, coff.headers_offset), (coff.headers_offset, headers)])
            .map(|(start, size)| place(start)..place(start.saturating_add(size)))
            .collect();
        used.sort_unstable_by_key(|range| range.start);
        used
    }

    /// Lets symbols refer to sections by their new numbers and sizes.
    fn change_symbols(&self, symbols: usize, out: &mut Out<'_>) -> Result<(), Error> {
        let size = to_usize(self.coff.symbol_size())?;
        let mut skip = 0_u8;
        for index in 0..self.coff.symbol_count {
            let at = symbols.saturating_add((index as usize).saturating_mul(size));
            let symbol = out.bytes.get(at..at.saturating_add(size)).ok_or_else(cut_off)?;
            if skip > 0 {
                skip = skip.saturating_sub(1);
                continue;
            }
            let Some([class, auxiliary]) = symbol.last_chunk::<2>().copied() else {
                return Err(cut_off());
            };
            // Records behind a symbol that belong to it have the size of one, and no section number.
            skip = auxiliary;
            let is_section_symbol =
                class == CLASS_STATIC && auxiliary > 0 && symbol.get(8..12) == Some(&[0; 4]);
            let old = self.section_of(symbol);
            // Numbers count from 1; 0 and below are undefined, absolute and debugging symbols.
            let Ok(section) = usize::try_from(old.saturating_sub(1)) else {
                continue;
            };
            let new = self.number_of(section, is_section_symbol)?;
            if new != old {
                out.put_number(at.saturating_add(12), new, self.coff.is_big_object)?;
            }
            if is_section_symbol {
                self.change_section_definition(section, at.saturating_add(size), out)?;
            }
        }
        Ok(())
    }

    /// The number of the section in which a symbol is defined.
    fn section_of(&self, symbol: &[u8]) -> i32 {
        match symbol.get(12..).and_then(<[u8]>::first_chunk::<4>) {
            Some(bytes) if self.coff.is_big_object => i32::from_le_bytes(*bytes),
            Some([low, high, ..]) => i16::from_le_bytes([*low, *high]).into(),
            None => 0,
        }
    }

    /// The new number of the section with an old index.
    fn number_of(&self, section: usize, may_go: bool) -> Result<i32, Error> {
        let removed = &self.changes.removed;
        if removed.binary_search(&section).is_err() {
            let before = removed.partition_point(|other| *other < section);
            let number = section.saturating_sub(before).saturating_add(1);
            return i32::try_from(number).map_err(|_| too_large());
        }
        if may_go {
            return Ok(DEBUG_SECTION);
        }
        Err(Error::unrepresentable(format!(
            "section {} cannot be removed: symbols are defined in it",
            section.saturating_add(1)
        )))
    }

    /// Brings the record after the symbol of a section up to date: size, checksum, and the number of the section
    /// that this one comes and goes with.
    fn change_section_definition(&self, section: usize, at: usize, out: &mut Out<'_>) -> Result<(), Error> {
        if let Some((_, new)) = self.changes.replaced.iter().find(|(index, _)| *index == section) {
            out.put_u32(at, new.len() as u64)?;
            out.put_u32(at.saturating_add(8), checksum(new).into())?;
        }
        const ASSOCIATIVE: u8 = 5;
        if out.byte(at.saturating_add(14)) != Some(ASSOCIATIVE) {
            return Ok(());
        }
        // In two halves, of which an object for few sections has the lower one only. Without a sign, unlike the number in a
        // symbol: no special numbers stand here.
        let (low_at, high_at) = (at.saturating_add(12), at.saturating_add(16));
        let high = match self.coff.is_big_object {
            true => usize::from(out.u16(high_at)),
            false => 0,
        };
        let old = high << 16 | usize::from(out.u16(low_at));
        if let Some(other) = old.checked_sub(1) {
            let new = usize::try_from(self.number_of(other, false)?).unwrap_or_default();
            if self.coff.is_big_object {
                out.put_u16(high_at, new >> 16)?;
                out.put_u16(low_at, new & 0xffff)?;
            } else {
                out.put_u16(low_at, new)?;
            }
        }
        Ok(())
    }
}

/// The checksum of a section: the usual polynomial, starting from 0 and not inverted at the end.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = rawzip::Crc32::new();
    // These four bytes bring the register from where the usual checksum starts to 0.
    crc.update(&[0xff; 4]);
    crc.update(bytes);
    !crc.checksum()
}

/// The new file.
struct Out<'data> {
    bytes: Output<'data>,
}

impl Out<'_> {
    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), Error> {
        let end = at.saturating_add(bytes.len());
        let place = self.bytes.get_mut(at..end).ok_or_else(cut_off)?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at..at.saturating_add(1))?.first().copied()
    }

    fn u16(&self, at: usize) -> u16 {
        let bytes = self.bytes.get(at..at.saturating_add(2));
        let bytes = bytes.and_then(<[u8]>::first_chunk::<2>);
        bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn put_u16(&mut self, at: usize, value: usize) -> Result<(), Error> {
        let value = u16::try_from(value).map_err(|_| too_large())?;
        self.put(at, &value.to_le_bytes())
    }

    fn put_u32(&mut self, at: usize, value: u64) -> Result<(), Error> {
        let value = u32::try_from(value).map_err(|_| too_large())?;
        self.put(at, &value.to_le_bytes())
    }

    /// A section number in a symbol.
    fn put_number(&mut self, at: usize, number: i32, is_big_object: bool) -> Result<(), Error> {
        if is_big_object {
            return self.put(at, &number.to_le_bytes());
        }
        // Numbers of sections go up to 0xfeff, and what is above stands for negative numbers.
        let [low, high, ..] = number.to_le_bytes();
        self.put(at, &[low, high])
    }
}

fn too_large() -> Error {
    Error::unrepresentable("the object becomes too large for its format")
}

fn cut_off() -> Error {
    Error::malformed("symbol table or header is cut off")
}

fn to_usize(value: u64) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| too_large())
}
