//! Bundles in binary form: a header with all IDs, then the images.

use std::borrow::Cow;

use offkit_image::{Error, ErrorKind};
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Bundle, BundleEntry, MAGIC};
use crate::chunks::Chunks;
use crate::reading::Reading;
use crate::source::Source;

/// What a bundle begins with.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 24],
    count: U64,
}

/// An entry of the header; the ID follows it.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct RawEntry {
    pub(super) offset: U64,
    pub(super) size: U64,
    id_size: U64,
}

/// An entry as it was read.
pub(super) struct Entry<'data> {
    /// The number in the header.
    pub(super) index: usize,
    /// Where its [`RawEntry`] is.
    pub(super) header: u64,
    pub(super) id: Cow<'data, str>,
    /// The ID as it is in the header, where it need not be text.
    pub(super) raw_id: &'data [u8],
    /// Where its image is, from the start of the bundle.
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Its image; `None` when it lies outside of the bundle, which was noted as a fault.
    pub(super) image: Option<Source<'data>>,
}

impl<'data> Entry<'data> {
    /// The entry, if its image could be read.
    pub(super) fn into_whole(self) -> Option<BundleEntry<'data>> {
        Some(BundleEntry::new(self.id, self.image?.bytes()))
    }

    /// Where its image ends, from the start of the bundle.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// Reads the header of the bundle at the start of `source`.
pub(super) fn read<'data>(source: Source<'data>, reading: &mut Reading) -> Result<Vec<Entry<'data>>, Error> {
    let mut entries = Vec::new();
    let mut headers = Headers::new(source)?;
    // The count is not believed: reading ends where the next entry does not fit.
    for index in 0_usize.. {
        let next = headers.next().transpose();
        let Some(Some((header, raw, id))) = reading.accept(next)? else {
            break;
        };
        // An ID may be as long as the file, and becomes a part of a location.
        let counted = reading
            .count_image()
            .and_then(|()| reading.count_metadata(id.len()));
        if reading.accept(counted)?.is_none() {
            break;
        }
        let (offset, size) = (raw.offset.get(), raw.size.get());
        let image = source.need(
            offset,
            size,
            "offload bundle has an image outside of the file",
            "image",
        );
        let id_text = match std::str::from_utf8(id.bytes()) {
            Ok(text) => Cow::Borrowed(text),
            Err(error) => {
                let fault = Error::malformed("offload bundle has an entry ID that is not text")
                    .at(id.at(error.valid_up_to() as u64))
                    .field(format!("entry {index}, ID"))
                    .expecting("UTF-8 text");
                reading.fault(fault)?;
                String::from_utf8_lossy(id.bytes())
            }
        };
        let image = reading.accept(image.map_err(|error| error.within(format!("entry {index}"))))?;
        entries.push(Entry {
            index,
            header,
            id: id_text,
            raw_id: id.bytes(),
            offset,
            size,
            image,
        });
    }
    Ok(entries)
}

/// Whether what looks like the magic begins a bundle indeed, by its first entry alone so that the answer is
/// cheap.
pub(super) fn is_plausible(source: Source<'_>) -> bool {
    /// The longest that is known has less than 100 bytes.
    const LONGEST_ID: u64 = 4096;
    let first = Headers::new(source).ok().and_then(|mut headers| headers.next());
    first.and_then(Result::ok).is_some_and(|(_, raw, id)| {
        (1..=LONGEST_ID).contains(&id.len())
            && std::str::from_utf8(id.bytes()).is_ok()
            && source.get(raw.offset.get(), raw.size.get()).is_some()
    })
}

/// How many bytes at the start of `source` belong to the bundle that begins there: its header and every image
/// that lies inside of `source`.
pub(super) fn extent(source: Source<'_>) -> u64 {
    let Ok(mut headers) = Headers::new(source) else {
        // Never 0: the search for the next bundle goes on behind this.
        return (MAGIC.len() as u64).min(source.len());
    };
    let mut end = headers.position;
    while let Some(Ok((_, raw, _))) = headers.next() {
        let (offset, size) = (raw.offset.get(), raw.size.get());
        // One that lies outside would make everything behind, other bundles too, part of this one.
        if source.get(offset, size).is_some() {
            end = end.max(offset.saturating_add(size));
        }
    }
    // Images may all be empty, or said to be within the header.
    end.max(headers.position)
}

/// Goes through the entries of a header.
struct Headers<'data> {
    source: Source<'data>,
    index: u64,
    count: u64,
    position: u64,
}

impl<'data> Headers<'data> {
    fn new(source: Source<'data>) -> Result<Self, Error> {
        let bytes = source.bytes();
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::new(ErrorKind::NotRecognized, "not an offload bundle")
                .at(source.at(0))
                .field("magic")
                .expecting("__CLANG_OFFLOAD_BUNDLE__"));
        }
        let size = size_of::<Header>() as u64;
        source.need(0, size, "offload bundle is cut off", "header")?;
        let count = source.record::<Header>(0).map_or(0, |header| header.count.get());
        Ok(Self {
            source,
            index: 0,
            count,
            position: size,
        })
    }
}

impl<'data> Iterator for Headers<'data> {
    /// Where the entry is in the header, the entry, and its ID.
    type Item = Result<(u64, &'data RawEntry, Source<'data>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.count {
            return None;
        }
        let (source, index, header) = (self.source, self.index, self.position);
        let size = size_of::<RawEntry>() as u64;
        let entry = || format!("entry {index} of {}", self.count);
        let message = "offload bundle has a header that does not fit";
        let Some(raw) = source.record::<RawEntry>(header) else {
            let fault = source
                .need(header, size, message, "offset, size and ID length")
                .err();
            // Where the next entry begins is not known, so that this one ends the header.
            self.index = self.count;
            return fault.map(|error| Err(error.within(entry())));
        };
        let id_at = header.saturating_add(size);
        match source.need(id_at, raw.id_size.get(), message, "ID") {
            Ok(id) => {
                self.index = index.saturating_add(1);
                self.position = id_at.saturating_add(id.len());
                Some(Ok((header, raw, id)))
            }
            Err(error) => {
                let error = error.within(entry());
                self.index = self.count;
                Some(Err(error))
            }
        }
    }
}

pub(super) fn write<'data>(bundle: Bundle<'data>, alignment: u64) -> Result<Chunks<'data>, Error> {
    let unrepresentable = || {
        Error::unrepresentable("offload bundle cannot be aligned like this")
            .expecting("a multiple of 1 or more that offsets can reach")
            .finding(alignment)
    };
    let entries = &bundle.entries;
    // All IDs come before the first image: no offset is known before the size of the whole header is.
    let header_size = entries.iter().fold(size_of::<Header>(), |size, entry| {
        size.saturating_add(size_of::<RawEntry>())
            .saturating_add(entry.id.len())
    });
    let header = Header {
        magic: MAGIC,
        count: (entries.len() as u64).into(),
    };
    let mut out = Chunks::new();
    out.copy(header.as_bytes());
    let mut end = header_size as u64;
    let mut offsets = Vec::with_capacity(entries.len());
    for entry in entries {
        let offset = end
            .checked_next_multiple_of(alignment)
            .ok_or_else(unrepresentable)?;
        let size = entry.bytes.len() as u64;
        let raw = RawEntry {
            offset: offset.into(),
            size: size.into(),
            id_size: (entry.id.len() as u64).into(),
        };
        out.copy(raw.as_bytes());
        out.copy(entry.id.as_bytes());
        end = offset.checked_add(size).ok_or_else(unrepresentable)?;
        offsets.push(offset);
    }
    for (entry, offset) in bundle.entries.into_iter().zip(offsets) {
        // The padding is as large as the alignment asks for: the one thing here that was not in memory before.
        let size = usize::try_from(offset.saturating_sub(out.len())).map_err(|_| unrepresentable())?;
        let mut padding = Vec::new();
        padding.try_reserve_exact(size).map_err(|_| unrepresentable())?;
        padding.resize(size, 0);
        out.push(padding);
        out.push(entry.bytes);
    }
    Ok(out)
}
