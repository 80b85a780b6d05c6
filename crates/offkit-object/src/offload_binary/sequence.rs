//! Binaries that follow each other, and what may lie between them.

use offkit_image::{Error, ErrorKind};

use super::inflate::Compressed;
use super::raw::{Entry, Header, HeaderV3};
use super::read::{Found, Outline, read_header};
use super::{MAGIC, MAGIC_FINDER};
use crate::reading::Reading;
use crate::source::Source;

/// A binary of a sequence.
pub(crate) enum Binary<'data> {
    Plain(Outline<'data>),
    Compressed(Compressed<'data>),
}

/// Goes from binary to binary.
///
/// Zeros between them are of no meaning: linkers leave them, and tools pad to various sizes. From anything else,
/// and from a binary whose size cannot be trusted, a tolerant reading goes on at the next bytes that have a
/// whole valid header: the magic number alone may be ordinary data.
pub(crate) struct Sequence<'data> {
    source: Source<'data>,
    position: u64,
    /// Whether what was found last has a fault that was noted already, so that skipping bytes is no news.
    is_lost: bool,
    is_first: bool,
}

impl<'data> Sequence<'data> {
    pub(crate) fn new(source: Source<'data>) -> Self {
        Self {
            source,
            position: 0,
            is_lost: false,
            is_first: true,
        }
    }

    /// Where the next binary is looked for, from the start of the source.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next binary; `None` after the last.
    pub(crate) fn next(&mut self, reading: &mut Reading) -> Result<Option<Binary<'data>>, Error> {
        loop {
            let is_first = std::mem::replace(&mut self.is_first, false);
            let rest = self.source.from(self.position);
            if !is_first && reading.is_exhausted() {
                return Ok(None);
            }
            let zeros = leading_zeros(rest.bytes());
            let here = rest.from(zeros);
            if here.len() == 0 {
                // Zeros are padding behind a binary, but by themselves no sequence of binaries.
                if is_first {
                    let header = read_header(rest).map(|_| ());
                    reading.accept(header)?;
                }
                return Ok(None);
            }
            self.position = self.position.saturating_add(zeros);
            if self.is_lost || !here.bytes().starts_with(&MAGIC) {
                if !self.skip(here, is_first, reading)? {
                    return Ok(None);
                }
                continue;
            }
            let result = read_any(here, reading);
            match reading.accept(result)? {
                Some(binary) => {
                    self.advance(&binary);
                    let counted = match &binary {
                        Binary::Plain(outline) if outline.has_entries() => Ok(()),
                        // Entries are counted one by one; a binary without any must not be free either.
                        _ => reading.count_image(),
                    };
                    reading.accept(counted)?;
                    return Ok(Some(binary));
                }
                None => {
                    self.is_lost = true;
                    // Behind the magic, or the search for the next would find this one.
                    self.position = self.position.saturating_add(MAGIC.len() as u64);
                }
            }
        }
    }

    /// Skips to the next valid binary; whether there is one.
    fn skip(&mut self, here: Source<'data>, is_first: bool, reading: &mut Reading) -> Result<bool, Error> {
        let next = find_valid(here);
        if !std::mem::replace(&mut self.is_lost, false) {
            let error = Error::new(ErrorKind::NotRecognized, "Incorrect Offload Binary magic number")
                .at(here.at(0))
                .expecting(if is_first {
                    "10 ff 10 ad"
                } else {
                    "another binary, or zeros"
                })
                .finding(format_args!("{} other bytes", next.unwrap_or(here.len())));
            reading.fault(error)?;
        }
        match next {
            Some(distance) => {
                self.position = self.position.saturating_add(distance);
                Ok(true)
            }
            None => {
                self.position = self.source.len();
                Ok(false)
            }
        }
    }

    fn advance(&mut self, binary: &Binary<'data>) {
        let size = match binary {
            Binary::Compressed(compressed) => compressed.whole.len(),
            Binary::Plain(outline) if outline.is_cut => {
                self.is_lost = true;
                outline.extent()
            }
            Binary::Plain(outline) => outline.source.len(),
        };
        self.position = self.position.saturating_add(size);
    }
}

#[inline]
fn read_any<'data>(here: Source<'data>, reading: &mut Reading) -> Result<Binary<'data>, Error> {
    let header = read_header(here)?;
    // First, as the number of entries in the header is that of the binary before it was compressed:
    // there is no table here that has so many.
    match Compressed::at_start_of(here, header)? {
        Some(compressed) => Ok(Binary::Compressed(compressed)),
        None => Outline::of(here, header, reading).map(Binary::Plain),
    }
}

/// Reads the binaries that follow each other, none of them compressed.
pub(crate) fn read_all<'data>(
    source: Source<'data>,
    reading: &mut Reading,
) -> Result<Vec<Found<'data>>, Error> {
    let mut all = Vec::new();
    let mut sequence = Sequence::new(source);
    while let Some(binary) = sequence.next(reading)? {
        match binary {
            Binary::Plain(outline) => all.push(outline.decode(reading)?),
            Binary::Compressed(compressed) => reading.fault(compressed.refused())?,
        }
    }
    Ok(all)
}

fn leading_zeros(bytes: &[u8]) -> u64 {
    const BLOCK: usize = 256;
    // As a rule there are none, and looking at a whole block would bring all of it into the cache.
    if bytes.first().is_none_or(|byte| *byte != 0) {
        return 0;
    }
    let blocks = bytes
        .chunks(BLOCK)
        .take_while(|block| block.iter().fold(0, |all, byte| all | byte) == 0);
    let zeros = blocks.map(<[u8]>::len).fold(0_usize, usize::saturating_add);
    let rest = bytes.get(zeros..).unwrap_or_default();
    let more = rest.iter().take_while(|byte| **byte == 0).count();
    zeros.saturating_add(more) as u64
}

/// How far the next valid binary is.
fn find_valid(source: Source<'_>) -> Option<u64> {
    MAGIC_FINDER
        .find_iter(source.bytes())
        .map(|position| position as u64)
        .find(|position| is_valid(source.from(*position)))
}

/// Whether a binary begins here, judged by its header and its first entry: in time that does not depend on
/// what the header says.
fn is_valid(source: Source<'_>) -> bool {
    let check = || {
        let header = read_header(source).ok()?;
        if let Some(compressed) = Compressed::at_start_of(source, header).ok()? {
            let is_stream = match compressed.stream.bytes() {
                [0x28, 0xb5, 0x2f, 0xfd, ..] => true,
                // zlib's two bytes are a multiple of 31.
                [first, second, ..] => {
                    first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
                }
                _ => false,
            };
            return Some(is_stream);
        }
        let whole = source.get(0, header.size.get())?;
        let version = header.version.get();
        let header_size = if version < 3 {
            size_of::<Header>()
        } else {
            size_of::<HeaderV3>()
        } as u64;
        let offset = header.entries_offset.get();
        let count = header.entries_size_or_count.get();
        let entries_size = if version == 1 {
            count
        } else {
            count.checked_mul(size_of::<Entry>() as u64)?
        };
        whole.get(offset, entries_size)?;
        if offset < header_size || whole.len() < header_size {
            return Some(false);
        }
        if count == 0 {
            return Some(true);
        }
        let entry: &Entry = whole.record(offset)?;
        whole.get(entry.image_offset.get(), entry.image_size.get())?;
        let string_size = if version == 1 { 16 } else { 24 };
        whole.get(
            entry.strings_offset.get(),
            entry.string_count.get().checked_mul(string_size)?,
        )?;
        Some(true)
    };
    check().unwrap_or(false)
}
