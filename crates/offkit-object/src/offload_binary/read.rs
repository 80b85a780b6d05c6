//! Reading offload binaries.

use std::ops::Range;

use offkit_image::{Error, ErrorKind, Strings};

use super::inflate::Compressed;
use super::raw::{Entry, Header, StringV1, StringV2};
use super::{ImageKind, MAGIC, OffloadBinary, OffloadEntry, OffloadKind};
use crate::layout::is_zero;
use crate::reading::Reading;
use crate::source::Source;

/// A binary and what only its bytes tell.
pub(crate) struct Found<'data> {
    pub(crate) binary: OffloadBinary<'data>,
    pub(crate) version: u32,
    /// All bytes of the binary.
    pub(crate) source: Source<'data>,
}

/// A binary of which no more than its header was read.
///
/// A file may have very many, and most who go through them want little of each.
#[derive(Clone, Copy)]
pub(crate) struct Outline<'data> {
    pub(crate) version: u32,
    /// All bytes of the binary.
    pub(crate) source: Source<'data>,
    /// Whether the file ends before the binary does.
    pub(crate) is_cut: bool,
    entries: &'data [Entry],
}

/// An entry as it is stored, whose image is known to be there.
pub(crate) struct StoredEntry<'data> {
    raw: &'data Entry,
    index: usize,
    pub(super) version: u32,
    /// All bytes of the binary.
    pub(super) source: Source<'data>,
    pub(super) image: Source<'data>,
}

impl<'data> Outline<'data> {
    /// The binary at the start of `source`, which has this header. A tolerant reading takes what is there of a
    /// binary that was cut off, and no entries where these cannot be read.
    #[inline]
    pub(super) fn of(source: Source<'data>, header: &Header, reading: &mut Reading) -> Result<Self, Error> {
        let size = header.size.get();
        if size < size_of::<Header>() as u64 {
            return Err(Error::malformed("Invalid Offload Binary size")
                .at(source.at(8))
                .field("size")
                .expecting(format!("at least {:#x} bytes", size_of::<Header>()))
                .finding(format_args!("{size:#x}")));
        }
        // A binary that was cut off still has its beginning.
        let whole = source.need(0, size, "Invalid Offload Binary size", "size");
        let whole = reading.accept(whole)?;
        let is_cut = whole.is_none();
        let source = whole.unwrap_or(source);
        let entries = match Compressed::at_start_of(source, header) {
            Ok(None) => read_entries(source, header),
            // Whoever can unpack one has looked for it before.
            Ok(Some(compressed)) => Err(compressed.refused()),
            Err(error) => Err(error),
        };
        Ok(Self {
            version: header.version.get(),
            source,
            is_cut,
            entries: reading.accept(entries)?.unwrap_or_default(),
        })
    }

    /// Whether one of the first entries has an image in exactly that part of the binary.
    pub(super) fn has_image_at(&self, place: &Range<usize>) -> bool {
        // Many places in the memory may look like a header, and each may name the same long table.
        const MOST: usize = 1 << 12;
        let (start, size) = (place.start as u64, place.len() as u64);
        let mut entries = self.entries.iter().take(MOST);
        entries.any(|entry| entry.image_offset.get() == start && entry.image_size.get() == size)
    }

    pub(super) fn has_entries(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Hands over the entries that can be read.
    #[inline]
    pub(crate) fn each_entry(
        &self,
        reading: &mut Reading,
        mut visit: impl FnMut(&mut Reading, StoredEntry<'data>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (index, raw) in self.entries.iter().enumerate() {
            let counted = reading.count_image();
            if reading.accept(counted)?.is_none() {
                break;
            }
            let image = read_image(self.source, index, raw, reading);
            if let Some(image) = reading.accept(image)? {
                let entry = StoredEntry {
                    raw,
                    index,
                    version: self.version,
                    source: self.source,
                    image,
                };
                visit(reading, entry)?;
            }
        }
        Ok(())
    }

    /// The binary with all that is in it. A tolerant reading leaves out what is wrong within.
    pub(crate) fn decode(&self, reading: &mut Reading) -> Result<Found<'data>, Error> {
        let mut binary = OffloadBinary::default();
        // Nearly all have one entry, and need no room for more.
        binary.entries.reserve_exact(self.entries.len().min(1));
        self.each_entry(reading, |reading, entry| {
            binary.entries.push(entry.decode(reading)?);
            Ok(())
        })?;
        Ok(Found {
            binary,
            version: self.version,
            source: self.source,
        })
    }

    /// Where the last of the parts that were found ends, from the start of the binary.
    pub(super) fn extent(&self) -> u64 {
        // Of a binary that is cut off the size says nothing about where the next one may be.
        let ends = self.entries.iter().filter_map(|entry| {
            let end = entry.image_offset.get().checked_add(entry.image_size.get())?;
            (end <= self.source.len()).then_some(end)
        });
        ends.max().unwrap_or_default().max(size_of::<Header>() as u64)
    }

    /// Whether the binary as a whole is a SYCLBIN.
    pub(crate) fn is_syclbin(&self) -> bool {
        self.entries.first().is_some_and(|entry| {
            let image = self.source.from(entry.image_offset.get());
            entry.image_kind.get() == ImageKind::SYCLBIN.0 || begins_syclbin(image.bytes())
        })
    }
}

impl<'data> StoredEntry<'data> {
    pub(super) fn image_kind(&self) -> ImageKind {
        ImageKind(self.raw.image_kind.get())
    }

    pub(super) fn offload_kind(&self) -> OffloadKind {
        OffloadKind(self.raw.offload_kind.get())
    }

    pub(super) fn strings_offset(&self) -> u64 {
        self.raw.strings_offset.get()
    }

    pub(super) fn string_count(&self) -> u64 {
        self.raw.string_count.get()
    }

    pub(super) fn image_offset(&self) -> u64 {
        self.raw.image_offset.get()
    }

    /// What messages call it.
    pub(super) fn title(&self) -> String {
        format!("entry {}", self.index)
    }

    pub(super) fn is_metadata_only(&self) -> bool {
        self.raw.flags.get() & OffloadEntry::METADATA_ONLY != 0
    }

    /// Hands over the keys and values of the entry, up to the first that is wrong.
    pub(super) fn each_string(
        &self,
        reading: &mut Reading,
        mut visit: impl FnMut(&'data str, &'data [u8]),
    ) -> Result<(), Error> {
        let result = read_strings(self.source, self.version, self.raw, reading, &mut visit);
        let result = result.map_err(|error| error.within(self.title()));
        reading.accept(result).map(|_| ())
    }

    pub(crate) fn decode(&self, reading: &mut Reading) -> Result<OffloadEntry<'data>, Error> {
        let mut strings = Strings::default();
        self.each_string(reading, |key, value| strings.push(key, value))?;
        Ok(OffloadEntry {
            image_kind: self.image_kind(),
            offload_kind: self.offload_kind(),
            flags: self.raw.flags.get(),
            strings,
            image: self.image.bytes().into(),
        })
    }
}

/// The number that a SYCLBIN of version 1 begins with, by itself or as an image of an offload binary; written little
/// endian it reads "IBYS".
pub(crate) const SYCLBIN_MAGIC: u32 = 0x5359_4249;

/// Whether a bare SYCLBIN of version 1 starts here.
pub(crate) fn begins_syclbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&SYCLBIN_MAGIC.to_le_bytes())
}

/// Whether `bytes` are one SYCLBIN in an offload binary, or one made of the entries of an offload binary, and
/// nothing else.
pub(crate) fn is_syclbin(bytes: &[u8]) -> bool {
    let source = Source::new(bytes);
    let check = || {
        let header = read_header(source).ok()?;
        if Compressed::at_start_of(source, header).ok()?.is_some() {
            return None;
        }
        let entry: &Entry = source.record(header.entries_offset.get())?;
        let image = source.from(entry.image_offset.get());
        let is_one = entry.image_kind.get() == ImageKind::SYCLBIN.0 || begins_syclbin(image.bytes());
        // Without entries the record above was made of whatever lies there. In version 1 the number
        // is the size of the only one.
        let has_entry = header.version.get() == 1 || header.entries_size_or_count.get() > 0;
        let rest = source.from(header.size.get()).bytes();
        Some(is_one && has_entry && is_zero(rest))
    };
    check().unwrap_or(false)
}

/// Reads the binary at the start of `source`. A tolerant reading leaves out what is wrong within it.
pub(crate) fn read_one<'data>(source: Source<'data>, reading: &mut Reading) -> Result<Found<'data>, Error> {
    Outline::of(source, read_header(source)?, reading)?.decode(reading)
}

impl Compressed<'_> {
    /// What is said where only binaries that are not compressed are read.
    pub(super) fn refused(&self) -> Error {
        Error::unsupported("offload binary is compressed and must be inflated first")
            .at(self.whole.at(size_of::<Header>() as u64))
            .field("inflated size")
            .expecting("0 for an uncompressed binary")
            .finding(format_args!("{:#x}", self.inflated_size))
    }
}

#[inline]
pub(super) fn read_header<'data>(source: Source<'data>) -> Result<&'data Header, Error> {
    let too_small = || {
        Error::new(ErrorKind::OutOfBounds, "Invalid Offload Binary size")
            .at(source.at(0))
            .field("header")
            .expecting(format!("at least {:#x} bytes", size_of::<Header>()))
            .finding(format_args!("{:#x}", source.len()))
    };
    let magic = source.get(0, MAGIC.len() as u64).ok_or_else(too_small)?;
    if magic.bytes() != MAGIC {
        return Err(
            Error::new(ErrorKind::NotRecognized, "Incorrect Offload Binary magic number")
                .at(source.at(0))
                .expecting("10 ff 10 ad")
                .finding(hex(magic.bytes())),
        );
    }
    let header: &Header = source.record(0).ok_or_else(too_small)?;
    match header.version.get() {
        1..=3 => Ok(header),
        version => Err(Error::unsupported("Unsupported Offload Binary version number")
            .at(source.at(4))
            .expecting("1, 2 or 3")
            .finding(version)),
    }
}

#[inline]
fn read_entries<'data>(source: Source<'data>, header: &Header) -> Result<&'data [Entry], Error> {
    let offset = header.entries_offset.get();
    let entry_size = size_of::<Entry>() as u64;
    let (count, message) = if header.version.get() == 1 {
        let size = header.entries_size_or_count.get();
        // Nobody writes a larger entry, but readers accept one: there might be fields after those known.
        if size < entry_size {
            return Err(Error::malformed("Unexpected entry size for v1 format")
                .at(source.at(24))
                .expecting(format!("{entry_size:#x}"))
                .finding(format_args!("{size:#x}")));
        }
        source.need(offset, size, "Invalid entry offset", "entry")?;
        (1, "Invalid entry offset")
    } else {
        (header.entries_size_or_count.get(), "Invalid entries offset")
    };
    let size = count.saturating_mul(entry_size);
    source.need(offset, size, message, "entries")?;
    Ok(source.records(offset, count).unwrap_or_default())
}

#[inline]
fn read_image<'data>(
    source: Source<'data>,
    index: usize,
    entry: &Entry,
    reading: &mut Reading,
) -> Result<Source<'data>, Error> {
    let image_offset = entry.image_offset.get();
    let image = source.need(
        image_offset,
        entry.image_size.get(),
        "Invalid image offset and size",
        "image",
    );
    match image.map_err(|error| error.within(format!("entry {index}"))) {
        // Half an image is of no use; a container that was cut off may still have whole images.
        Err(error) if begins_syclbin(source.from(image_offset).bytes()) => {
            reading.fault(error)?;
            Ok(source.from(image_offset))
        }
        image => image,
    }
}

fn read_strings<'data>(
    source: Source<'data>,
    version: u32,
    entry: &Entry,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&'data str, &'data [u8]),
) -> Result<(), Error> {
    let offset = entry.strings_offset.get();
    let count = entry.string_count.get();
    let size_of_one = if version == 1 {
        size_of::<StringV1>()
    } else {
        size_of::<StringV2>()
    };
    let size = count.saturating_mul(size_of_one as u64);
    source.need(offset, size, "Invalid string entries", "string entries")?;
    // All at once before any is read: entries may share one long table, whose bytes the file has only once.
    reading.count_strings(usize::try_from(count).unwrap_or(usize::MAX))?;
    if version == 1 {
        for string in source.records::<StringV1>(offset, count).unwrap_or_default() {
            let key = read_key(source, string, reading)?;
            let value = until_zero(source, string.value_offset.get(), "value", reading)?;
            visit(key, value);
        }
    } else {
        for string in source.records::<StringV2>(offset, count).unwrap_or_default() {
            let key = read_key(source, &string.base, reading)?;
            let value_size = string.value_size.get();
            let value = source.need(
                string.base.value_offset.get(),
                value_size,
                "Invalid string offset",
                "value",
            )?;
            reading.count_metadata(value_size)?;
            visit(key, value.bytes());
        }
    }
    Ok(())
}

fn read_key<'data>(
    source: Source<'data>,
    string: &StringV1,
    reading: &mut Reading,
) -> Result<&'data str, Error> {
    let offset = string.key_offset.get();
    let key = until_zero(source, offset, "key", reading)?;
    // Nearly all keys are one of two: seeing that is faster than checking that they are text.
    match key {
        b"triple" => return Ok("triple"),
        b"arch" => return Ok("arch"),
        _ => {}
    }
    std::str::from_utf8(key).map_err(|error| {
        Error::malformed("Invalid string")
            .at(source.at(offset).saturating_add(error.valid_up_to() as u64))
            .field("key")
            .expecting("UTF-8 text")
    })
}

/// The bytes from `offset` up to a zero byte.
fn until_zero<'data>(
    source: Source<'data>,
    offset: u64,
    field: &'static str,
    reading: &mut Reading,
) -> Result<&'data [u8], Error> {
    // `from` takes a place behind the end for the end, and the fault would be that of a string
    // without a zero byte.
    source.need(offset, 0, "Invalid string offset", field)?;
    let rest = source.from(offset).bytes();
    let length = find_zero(rest);
    // What was searched counts, so that many references to one long string are not free.
    reading.count_metadata(length.unwrap_or(rest.len()) as u64)?;
    length.and_then(|length| rest.get(..length)).ok_or_else(|| {
        Error::malformed("Invalid string")
            .at(source.at(offset))
            .field(field)
            .expecting("a zero byte at its end")
    })
}

/// Where the first zero byte is. Nearly all strings are shorter than what it takes to get faster ways going.
fn find_zero(bytes: &[u8]) -> Option<usize> {
    const SHORT: usize = 32;
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, _) = bytes.get(..SHORT).unwrap_or_default().as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit that is set is that of the first zero byte.
        let zeros = word.wrapping_sub(ONES) & !word & HIGH_BITS;
        if zeros != 0 {
            let within = usize::try_from(zeros.trailing_zeros() / 8).unwrap_or_default();
            return Some(index.saturating_mul(8).saturating_add(within));
        }
    }
    memchr::memchr(0, bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_found_wherever_they_are() {
        for size in 0..70 {
            let mut bytes = vec![0x80; size];
            assert_eq!(find_zero(&bytes), None);
            for position in (0..size).rev() {
                bytes[position] = 0;
                assert_eq!(find_zero(&bytes), Some(position), "{size}");
            }
        }
        assert_eq!(find_zero(b"\x01\x01\x00\xff\x00\x00\x00\x00"), Some(2));
    }
}
