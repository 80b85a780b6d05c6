//! The one light reader of ELF: file header and section headers of either class and byte order, wherever the bytes are.
//! What makes new objects has the crate `object` instead: see [`registration`](crate::registration).

use crate::source::Source;

pub(crate) const TYPE_RELOCATABLE: u16 = 1;
pub(crate) const TYPE_EXECUTABLE: u16 = 2;
pub(crate) const TYPE_SHARED: u16 = 3;

pub(crate) const SECTION_SYMBOLS: u32 = 2;
pub(crate) const SECTION_RELA: u32 = 4;
pub(crate) const SECTION_NOTES: u32 = 7;
const SECTION_NO_BITS: u32 = 8;
pub(crate) const SECTION_DYNAMIC_SYMBOLS: u32 = 11;
pub(crate) const SECTION_ALLOCATED: u64 = 2;

const MACHINE_CUDA: u16 = 190;
/// Sections of cubins that stand for global, local and shared memory, and take no room in the file.
const CUDA_NO_BITS: [u32; 3] = [0x7000_0007, 0x7000_0009, 0x7000_000a];

/// The number of the section with the names is in the first section's link when it is this.
const EXTENDED_INDEX: u16 = 0xffff;

/// The fields of the file header that say what a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) is_64: bool,
    pub(crate) big_endian: bool,
    pub(crate) os_abi: u8,
    pub(crate) abi_version: u8,
    pub(crate) kind: u16,
    pub(crate) machine: u16,
    pub(crate) flags: u32,
}

impl Header {
    /// The header, if it is all there.
    #[inline]
    pub(crate) fn read(source: Source<'_>) -> Option<Self> {
        /// The size of the smaller header; the fields are within it in both. From an array of known size they are read
        /// without a check for each, 100 instructions less for an image.
        const SIZE: usize = 52;
        let bytes = source.bytes().first_chunk::<SIZE>()?;
        let [class, order, _, os_abi, abi_version] = *bytes.strip_prefix(b"\x7fELF")?.first_chunk()?;
        // With other numbers here every offset below would be a guess.
        let (is_64, big_endian) = match (class, order) {
            (1 | 2, 1 | 2) => (class == 2, order == 2),
            _ => return None,
        };
        let fields = Fields {
            source: Source::new(bytes),
            big_endian,
        };
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

    pub(crate) fn fields<'data>(&self, source: Source<'data>) -> Fields<'data> {
        Fields {
            source,
            big_endian: self.big_endian,
        }
    }

    /// Where the program headers are: offset, size of each, and number.
    pub(crate) fn segments(&self, source: Source<'_>) -> Option<[u64; 3]> {
        let fields = self.fields(source);
        // A number of 0xffff, `PN_XNUM`, would stand for one in the first section header. Only core
        // files have so many segments, and no device code.
        let (place, counts) = if self.is_64 { (32, 54) } else { (28, 42) };
        Some([
            fields.address(place, self.is_64)?,
            fields.half(counts)?.into(),
            fields.half(counts.saturating_add(2))?.into(),
        ])
    }

    /// The table of section headers; `None` when the file header is cut off.
    pub(crate) fn sections<'data>(&self, source: Source<'data>) -> Option<Sections<'data>> {
        let fields = self.fields(source);
        let (place, counts) = if self.is_64 { (40, 58) } else { (32, 46) };
        let offset = fields.address(place, self.is_64)?;
        Some(Sections {
            header: *self,
            source,
            offset,
            table: source.from(offset),
            header_size: fields.half(counts)?.into(),
            stored_count: fields.half(counts.saturating_add(2))?,
            stored_names: fields.half(counts.saturating_add(4))?,
        })
    }
}

/// How many bytes the table of section headers takes, which [`extent`] goes through.
pub(crate) fn size_of_tables(source: Source<'_>) -> Option<u64> {
    let sections = Header::read(source)?.sections(source)?;
    let count = sections.count();
    (count <= sections.room()).then(|| sections.header_size.saturating_mul(count))
}

/// How many bytes the ELF file at the start of `source` takes: up to the end of its last section or table.
pub(crate) fn extent(source: Source<'_>) -> Option<u64> {
    let header = Header::read(source)?;
    let sections = header.sections(source)?;
    let count = sections.count();
    // A table that is cut off says nothing of where the rest of the file would end.
    if count > sections.room() {
        return None;
    }
    // Linkers and NVIDIA's tools differ in what they put last, so the furthest end counts.
    let tables = [
        [sections.offset, sections.header_size, count],
        header.segments(source)?,
    ]
    .map(|[offset, size, count]| offset.saturating_add(size.saturating_mul(count)));
    let contents = sections
        .iter()
        .filter(|section| section.is_in_file)
        .map(|section| section.offset.saturating_add(section.size));
    let end = contents.chain(tables).max()?;
    (end <= source.len()).then_some(end)
}

/// The section headers of a file, each read when it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'data> {
    header: Header,
    source: Source<'data>,
    /// 0 for a file without sections.
    pub(crate) offset: u64,
    table: Source<'data>,
    pub(crate) header_size: u64,
    stored_count: u16,
    stored_names: u16,
}

impl<'data> Sections<'data> {
    /// Where the file header has the size of a section header.
    pub(crate) fn header_size_at(&self) -> u64 {
        if self.header.is_64 { 58 } else { 46 }
    }

    /// The least size of a section header.
    pub(crate) fn least_header_size(&self) -> u64 {
        if self.header.is_64 { 64 } else { 40 }
    }

    /// How many there are, as the file says.
    pub(crate) fn count(&self) -> u64 {
        match (self.offset, self.stored_count) {
            (0, _) => 0,
            // A larger number than fits the header is in the first section's header.
            // Not by `in_file`, which needs this number itself.
            (_, 0) => self.get(0).map_or(0, |first| first.size),
            (_, count) => count.into(),
        }
    }

    /// How many the file has room for; none of headers that are too small, which would overlap.
    pub(crate) fn room(&self) -> u64 {
        match self.header_size >= self.least_header_size() {
            true => self.table.len().checked_div(self.header_size).unwrap_or_default(),
            false => 0,
        }
    }

    /// The number of the section with the names of all.
    pub(crate) fn names(&self) -> u32 {
        match self.stored_names {
            EXTENDED_INDEX => self.get(0).map_or(0, |first| first.link),
            names => names.into(),
        }
    }

    /// The header of a section that there is.
    pub(crate) fn in_file(&self, number: u64) -> Option<SectionHeader> {
        self.get(number).filter(|_| number < self.count())
    }

    fn get(&self, number: u64) -> Option<SectionHeader> {
        // Apart by the size that the file states, which may be larger than that of the fields known here.
        let header = self.table.from(number.checked_mul(self.header_size)?);
        SectionHeader::read(&self.header, header)
    }

    /// The headers of all that are in the file, of which nothing is read yet.
    fn fields(&self) -> impl Iterator<Item = Fields<'data>> {
        (0..self.count().min(self.room())).map(|number| {
            let header = self.table.from(number.saturating_mul(self.header_size));
            self.header.fields(header)
        })
    }

    /// All that are in the file.
    pub(crate) fn iter(self) -> impl Iterator<Item = SectionHeader> {
        let count = self.count().min(self.room());
        (0..count).map_while(move |number| self.get(number))
    }

    /// The headers of all that are in the file.
    pub(crate) fn all(self) -> Vec<SectionHeader> {
        // No more than the file has bytes for.
        let count = self.count().min(self.room());
        let mut headers = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
        headers.extend(self.iter());
        headers
    }

    /// Whether one of them is of this kind; nothing else of them is read.
    pub(crate) fn has_kind(&self, kind: u32) -> bool {
        self.fields().any(|header| header.word(4) == Some(kind))
    }

    /// The bytes of a section, if they are in the file.
    pub(crate) fn data(&self, section: &SectionHeader) -> Option<Source<'data>> {
        self.source.get(section.offset, section.size)
    }

    /// The data of the first section of a name among the first `most`. Of all others only the names are read.
    pub(crate) fn named(&self, name: &[u8], most: u64) -> Option<Source<'data>> {
        // A number behind the table would read whatever follows the table as a header.
        let names = self.data(&self.in_file(self.names().into())?)?;
        let is_it = |header: Fields<'_>| header.word(0).is_some_and(|place| is_name(names, place, name));
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let number = self.fields().take(most).position(is_it)?;
        self.data(&self.get(number as u64)?)
    }
}

/// Whether this name, and no longer one, is at a place of a table of names.
fn is_name(names: Source<'_>, place: u32, name: &[u8]) -> bool {
    let rest = names.from(place.into()).bytes().strip_prefix(name);
    rest.is_some_and(|rest| rest.first() == Some(&0))
}

/// A section header.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SectionHeader {
    /// Where in the table of names its name is.
    pub(crate) name: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
    /// Where in the file the offset is said.
    pub(crate) offset_at: u64,
    /// Whether it has its size in bytes in the file.
    pub(crate) is_in_file: bool,
}

impl SectionHeader {
    fn read(file: &Header, source: Source<'_>) -> Option<Self> {
        let bytes = source.bytes();
        let (numbers, offset_at) = match file.is_64 {
            true => (
                Numbers::<true>::of(file, bytes.first_chunk::<64>()?).section()?,
                24,
            ),
            false => (
                Numbers::<false>::of(file, bytes.first_chunk::<40>()?).section()?,
                16,
            ),
        };
        // The first header has type 0, and its size may be the number of sections instead.
        let is_empty = matches!(numbers.kind, 0 | SECTION_NO_BITS)
            || (file.machine == MACHINE_CUDA && CUDA_NO_BITS.contains(&numbers.kind));
        Some(Self {
            offset_at: source.at(offset_at),
            is_in_file: !is_empty,
            ..numbers
        })
    }

    /// Whether the section has this name, in a table of names.
    pub(crate) fn is_named(&self, names: Source<'_>, name: &[u8]) -> bool {
        is_name(names, self.name, name)
    }
}

/// The numbers of a header, one after the other: both classes have them in the same order.
///
/// Of a whole header, so that no number's place needs a check of its own.
struct Numbers<'data, const IS_64: bool> {
    rest: &'data [u8],
    big_endian: bool,
}

impl<'data, const IS_64: bool> Numbers<'data, IS_64> {
    #[inline(always)]
    fn of<const N: usize>(file: &Header, header: &'data [u8; N]) -> Self {
        Self {
            rest: header,
            big_endian: file.big_endian,
        }
    }

    #[inline(always)]
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }

    #[inline(always)]
    fn word(&mut self) -> Option<u32> {
        self.bytes().map(|bytes| word_of(bytes, self.big_endian))
    }

    #[inline(always)]
    fn address(&mut self) -> Option<u64> {
        match IS_64 {
            true => self.bytes().map(|bytes| double_of(bytes, self.big_endian)),
            false => self.word().map(u64::from),
        }
    }

    /// The header of a section, but for what its numbers don't say.
    #[inline(always)]
    fn section(mut self) -> Option<SectionHeader> {
        // In the order of the file.
        Some(SectionHeader {
            name: self.word()?,
            kind: self.word()?,
            flags: self.address()?,
            address: self.address()?,
            offset: self.address()?,
            size: self.address()?,
            link: self.word()?,
            info: self.word()?,
            align: self.address()?,
            entry_size: self.address()?,
            ..SectionHeader::default()
        })
    }
}

// Not by turning the bytes round in their array: the compiler makes a loop over single bytes of that, and listing an archive
// of small objects takes 1.2 times the instructions.
#[inline(always)]
fn word_of(bytes: [u8; 4], big_endian: bool) -> u32 {
    match big_endian {
        true => u32::from_be_bytes(bytes),
        false => u32::from_le_bytes(bytes),
    }
}

#[inline(always)]
fn double_of(bytes: [u8; 8], big_endian: bool) -> u64 {
    match big_endian {
        true => u64::from_be_bytes(bytes),
        false => u64::from_le_bytes(bytes),
    }
}

/// Numbers in either byte order.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'data> {
    pub(crate) source: Source<'data>,
    pub(crate) big_endian: bool,
}

impl Fields<'_> {
    #[inline]
    fn bytes<const N: usize>(self, offset: u64) -> Option<[u8; N]> {
        self.source.from(offset).bytes().first_chunk::<N>().copied()
    }

    pub(crate) fn byte(self, offset: u64) -> Option<u8> {
        self.bytes::<1>(offset).map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn half(self, offset: u64) -> Option<u16> {
        let bytes = self.bytes(offset)?;
        Some(match self.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn word(self, offset: u64) -> Option<u32> {
        self.bytes(offset).map(|bytes| word_of(bytes, self.big_endian))
    }

    fn double(self, offset: u64) -> Option<u64> {
        self.bytes(offset).map(|bytes| double_of(bytes, self.big_endian))
    }

    /// Four or eight bytes, by the class of the file.
    pub(crate) fn address(self, offset: u64, is_64: bool) -> Option<u64> {
        if is_64 {
            self.double(offset)
        } else {
            self.word(offset).map(u64::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_headers_that_overlap_are_not_read() {
        let mut file = [0; 64 + 3 * 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[40] = 64;
        file[60] = 3;
        for (size, expected) in [(64, 3), (63, 0), (1, 0), (0, 0)] {
            file[58] = size;
            let source = Source::new(&file);
            let sections = Header::read(source).and_then(|header| header.sections(source));
            assert_eq!(sections.unwrap().iter().count(), expected, "of {size} bytes");
        }
    }
}
