//! Compressed offload binaries: version 3 with all but its header in one stream.

use std::borrow::Cow;

use offkit_image::{Compression, Error, Limits};

use super::MAGIC;
use super::raw::{Header, HeaderV3};
use super::read::read_header;
use super::sequence::{Binary, Sequence};
use crate::compression::{ZSTD_MAGIC, inflate, too_large};
use crate::layout::{align_to_8, is_zero, pad_to_8};
use crate::reading::Reading;
use crate::source::Source;

const HEADER_SIZE: u64 = size_of::<HeaderV3>() as u64;

/// A compressed binary, found but not decompressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compressed<'data> {
    /// All bytes of the binary.
    pub(crate) whole: Source<'data>,
    /// The compressed stream in it.
    pub(crate) stream: Source<'data>,
    /// Decided from the stream, as LLVM does: what is not zstd is zlib.
    pub(crate) compression: Compression,
    /// The size of the whole binary, header included, once decompressed.
    pub(crate) inflated_size: u64,
}

impl<'data> Compressed<'data> {
    /// The compressed binary at the start of `source`; `None` for one that is not compressed.
    #[inline]
    pub(super) fn at_start_of(source: Source<'data>, header: &Header) -> Result<Option<Self>, Error> {
        match header.version.get() {
            ..3 => Ok(None),
            _ => Self::of_version_3(source, header),
        }
    }

    fn of_version_3(source: Source<'data>, header: &Header) -> Result<Option<Self>, Error> {
        let larger: &HeaderV3 = source.record(0).ok_or_else(|| {
            Error::malformed("Invalid Offload Binary size")
                .at(source.at(8))
                .field("size of version 3")
                .expecting(format!("at least {HEADER_SIZE:#x} bytes"))
                .finding(format_args!("{:#x}", source.len()))
        })?;
        let inflated_size = larger.inflated_size.get();
        if inflated_size == 0 {
            return Ok(None);
        }
        let invalid = |field: &'static str, at: u64, expected: String, found: u64| {
            Error::malformed("Invalid compressed Offload Binary")
                .at(source.at(at))
                .field(field)
                .expecting(expected)
                .finding(format_args!("{found:#x}"))
        };
        let start = header.entries_offset.get();
        if start != HEADER_SIZE {
            return Err(invalid("entries offset", 16, format!("{HEADER_SIZE:#x}"), start));
        }
        let size = header.size.get();
        if size < HEADER_SIZE {
            return Err(invalid("size", 8, format!("at least {HEADER_SIZE:#x}"), size));
        }
        if inflated_size < HEADER_SIZE {
            let expected = format!("at least {HEADER_SIZE:#x}");
            return Err(invalid("inflated size", 32, expected, inflated_size));
        }
        let whole = source.need(0, size, "Invalid Offload Binary size", "size")?;
        let stream = whole.from(HEADER_SIZE);
        Ok(Some(Self {
            whole,
            stream,
            compression: if stream.bytes().starts_with(&ZSTD_MAGIC) {
                Compression::Zstd
            } else {
                Compression::Zlib
            },
            inflated_size,
        }))
    }

    /// The equivalent binary that is not compressed.
    fn inflate(&self, limit: u64) -> Result<Vec<u8>, Error> {
        if self.inflated_size > limit {
            return Err(too_large(limit).at(self.whole.at(0)).finding(self.inflated_size));
        }
        let body_size = self.inflated_size.saturating_sub(HEADER_SIZE);
        let body = inflate(self.compression, self.stream.bytes(), Some(body_size), limit)
            .map_err(|error| error.at(self.stream.at(0)))?;
        Ok(self.with_header(&body))
    }

    /// The same with what comes out of the stream.
    fn with_header(&self, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(body.len().saturating_add(size_of::<HeaderV3>()));
        // The header as it was before compression: the inflated size is the size, and 0 is in the place of the former.
        out.extend_from_slice(self.whole.bytes().get(..8).unwrap_or_default());
        out.extend_from_slice(&self.inflated_size.to_le_bytes());
        out.extend_from_slice(self.whole.bytes().get(16..32).unwrap_or_default());
        out.extend_from_slice(&0_u64.to_le_bytes());
        out.extend_from_slice(body);
        out
    }
}

/// The stream of the compressed binary at the start of `source`.
pub(crate) fn stream(source: Source<'_>) -> Result<Source<'_>, Error> {
    compressed(source).map(|compressed| compressed.stream)
}

/// The equivalent of the compressed binary at the start of `source` that is not compressed, from what comes out of its
/// stream.
pub(crate) fn of_stream(source: Source<'_>, body: &[u8]) -> Result<Vec<u8>, Error> {
    compressed(source).map(|compressed| compressed.with_header(body))
}

fn compressed(source: Source<'_>) -> Result<Compressed<'_>, Error> {
    let compressed = Compressed::at_start_of(source, read_header(source)?)?;
    compressed.ok_or_else(|| Error::malformed("the offload binary is not compressed").at(source.at(0)))
}

/// The equivalent of the binary at the start of `source` that is not compressed: offsets in it count from its
/// start, its header included. A binary that is not compressed is given back as it is.
pub(crate) fn inflated(source: Source<'_>, limit: u64) -> Result<Cow<'_, [u8]>, Error> {
    let header = read_header(source)?;
    match Compressed::at_start_of(source, header)? {
        None => Ok(Cow::Borrowed(source.bytes())),
        Some(compressed) => compressed.inflate(limit).map(Cow::Owned),
    }
}

/// All binaries of a sequence without compression.
pub(super) fn inflated_all(source: Source<'_>, limit: u64) -> Result<Cow<'_, [u8]>, Error> {
    if !source.bytes().starts_with(&MAGIC) {
        return Ok(Cow::Borrowed(source.bytes()));
    }
    // Tolerant, and what it notes is dropped: the caller reads what comes out of here, and finds
    // the same damage in there.
    let mut reading = Reading::tolerant(&Limits::default());
    let mut sequence = Sequence::new(source);
    let mut out = Vec::new();
    let mut copied = 0_u64;
    let mut left = limit;
    while let Some(binary) = sequence.next(&mut reading)? {
        let Binary::Compressed(compressed) = binary else {
            continue;
        };
        let start = compressed.whole.at(0).saturating_sub(source.at(0));
        let whole = compressed.inflate(left)?;
        // All of them are held together in the end, so that the limit is one for all.
        left = left.saturating_sub(whole.len() as u64);
        let before = source.get(copied, start.saturating_sub(copied));
        out.extend_from_slice(before.map(Source::bytes).unwrap_or_default());
        out.extend_from_slice(&whole);
        // A compressed binary is filled up with zeros; what comes out has a size that needs none.
        copied = start.saturating_add(compressed.whole.len());
        let padding = align_to_8(compressed.whole.len()).saturating_sub(compressed.whole.len());
        let is_zero = |padding: Source<'_>| is_zero(padding.bytes());
        if source.get(copied, padding).is_some_and(is_zero) {
            copied = copied.saturating_add(padding);
        }
        pad_to_8(&mut out);
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(source.bytes()));
    }
    out.extend_from_slice(source.from(copied).bytes());
    Ok(Cow::Owned(out))
}
