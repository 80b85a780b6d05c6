//! Fatbins without some of their entries.

use std::borrow::Cow;

use offkit_image::{Compression, Error, Limits};
use zerocopy::IntoBytes;

use super::{Entry, after, entries_of_one, next_fatbin, raw};
use crate::chunks::Chunks;
use crate::compression::{inflate_whole, zstd};
use crate::edits::{Edited, Edits, Room};
use crate::layout::pad_to_8;
use crate::parallel;
use crate::part::Coding;
use crate::reading::Reading;
use crate::source::Source;

/// The fatbins without the entries that go, counted as `parts` counts. One without any entry left is a header, as
/// `nvprune` leaves it: the program still registers it.
pub(super) fn edit<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    // Strict: bytes between fatbins that are no padding would be lost, as only what is known here is written again.
    let mut reading = Reading::strict(limits).for_file_of(source.len());
    let mut out = Edited::default();
    let (mut offset, mut number, mut id) = (0, 0, 0_usize);
    while let Some(start) = next_fatbin(source, offset, &mut reading)? {
        let mut kept: Vec<Kept<'_>> = Vec::new();
        let mut goes = edits.recompress.is_some();
        let end = entries_of_one(source, start, number, &mut reading, &mut |_, entry| {
            match edits.removes(id) {
                true => goes = true,
                false => kept.push(Kept::of(source, &entry)),
            }
            id = id.saturating_add(1);
            Ok(())
        })?;
        match edits.room {
            // Linkers put each fatbin at a multiple of 8.
            Room::Free => out.bytes.pad_to_8(),
            Room::Fixed => out.bytes.push(slice(source, offset, start)),
        }
        let place = out.bytes.len();
        // Of empty ones, too: the program's wrappers still point to them.
        out.moves.push((start, place));
        if let Some(progress) = edits.recompress {
            // Before any is unpacked, as several are at once.
            for entry in &mut kept {
                entry.count_inflated(&mut reading);
            }
            kept = parallel::map(kept, 1, |entry| {
                let size = entry.payload.len() as u64;
                let entry = entry.smallest();
                progress(size);
                entry
            });
        }
        if goes {
            write_one(source, start, kept, &mut out.bytes)?;
        } else {
            out.bytes.push(slice(source, start, end));
        }
        if edits.room == Room::Fixed {
            // Up to where the old one ended, so that the next stands where it stood and no pointer to it changes.
            let full = end.saturating_sub(start).saturating_add(place);
            out.bytes.zeros(full.saturating_sub(out.bytes.len()));
        }
        offset = end;
        number = number.saturating_add(1);
    }
    if edits.room == Room::Fixed {
        out.bytes.push(source.from(offset).bytes());
    }
    Ok(out)
}

/// An entry that stays.
struct Kept<'data> {
    header: raw::Entry,
    /// What stands between the header and the payload.
    texts: &'data [u8],
    payload: Cow<'data, [u8]>,
    /// The payload without padding, and how it is compressed; `None` where it is not known how to read it.
    stored: Option<(&'data [u8], Option<Coding>)>,
}

impl<'data> Kept<'data> {
    fn of(source: Source<'data>, entry: &Entry<'data>) -> Self {
        // For other kinds nothing says where the padding of a payload begins; see `Entry::plain`.
        let is_known = matches!(entry.header.kind.get(), raw::KIND_PTX | raw::KIND_ELF);
        let coding = entry.coding();
        let stored = match coding {
            Some(_) => {
                let size = u64::from(entry.header.compressed_size.get());
                entry.payload.get(0, size).filter(|_| size > 0)
            }
            None => Some(entry.plain()),
        };
        Self {
            header: entry.header.clone(),
            texts: slice(source, after::<raw::Entry>(entry.offset), entry.payload_offset()),
            payload: Cow::Borrowed(entry.payload.bytes()),
            stored: stored.filter(|_| is_known).map(|stored| (stored.bytes(), coding)),
        }
    }

    /// Counts what comes out of decompression. One that claims more than is allowed stays as it is.
    fn count_inflated(&mut self, reading: &mut Reading) {
        let Some((_, Some(coding))) = self.stored else {
            return;
        };
        match coding.size.filter(|size| *size <= reading.inflation_left()) {
            Some(size) => reading.count_inflated(size),
            None => self.stored = None,
        }
    }

    /// The entry as zstd makes it smallest, or as it is where that is no smaller.
    fn smallest(self) -> Self {
        self.recompressed().unwrap_or(self)
    }

    fn recompressed(&self) -> Option<Self> {
        /// The best that does not take more memory to read.
        const LEVEL: i32 = 19;
        let (stored, coding) = self.stored?;
        let inflated;
        let content = match coding {
            None => stored,
            Some(coding) => {
                inflated = inflate_whole(coding.compression, stored, coding.size?).ok()?;
                &inflated
            }
        };
        let mut compressed = zstd::compress(content, Some(LEVEL), false).ok()?;
        let size = u32::try_from(compressed.len()).ok()?;
        // This is the only comparison: `ThinDraft::check` leaves out images that were compressed anew.
        let read_back = inflate_whole(Compression::Zstd, &compressed, content.len() as u64).ok()?;
        pad_to_8(&mut compressed);
        // With padding on both sides: without a smaller file it only asks for a newer driver.
        if compressed.len() >= self.payload.len() || read_back != content {
            return None;
        }
        let mut header = self.header.clone();
        header.flags = (header.flags.get() & !raw::FLAG_LZ4 | raw::FLAG_ZSTD).into();
        header.compressed_size = size.into();
        header.decompressed_size = (content.len() as u64).into();
        header.payload_size = (compressed.len() as u64).into();
        Some(Self {
            header,
            texts: self.texts,
            payload: Cow::Owned(compressed),
            stored: None,
        })
    }

    fn len(&self) -> u64 {
        let header = (size_of::<raw::Entry>() as u64).saturating_add(self.texts.len() as u64);
        header.saturating_add(self.payload.len() as u64)
    }
}

fn slice<'data>(source: Source<'data>, start: u64, end: u64) -> &'data [u8] {
    let part = source.get(start, end.saturating_sub(start));
    part.map(Source::bytes).unwrap_or_default()
}

/// The fatbin at `start` with these of its entries.
fn write_one<'data>(
    source: Source<'data>,
    start: u64,
    kept: Vec<Kept<'data>>,
    out: &mut Chunks<'data>,
) -> Result<(), Error> {
    let header = source.record::<raw::Header>(start);
    let mut header = header
        .ok_or_else(|| Error::malformed("fatbin is cut off").at(source.at(start)))?
        .clone();
    let sizes = kept.iter().map(Kept::len);
    header.size = sizes.fold(0, u64::saturating_add).into();
    let first = start.saturating_add(header.header_size.get().into());
    out.copy(header.as_bytes());
    out.push(slice(source, after::<raw::Header>(start), first));
    for entry in kept {
        out.copy(entry.header.as_bytes());
        out.push(entry.texts);
        out.push(entry.payload);
    }
    Ok(())
}
