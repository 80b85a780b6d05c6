//! Fatbins without some of their entries.

use offkit_image::{Error, Limits};
use zerocopy::IntoBytes;

use super::{Entry, after, entries_of_one, next_fatbin, raw};
use crate::edits::{Edited, Edits, Room};
use crate::layout::pad_to_8;
use crate::reading::Reading;
use crate::source::Source;

/// The fatbins without the entries that go, counted as `parts` counts. One without any entry left is a header, as
/// `nvprune` leaves it: the program still registers it.
pub(super) fn edit(source: Source<'_>, edits: &Edits, limits: &Limits) -> Result<Edited, Error> {
    let mut reading = Reading::strict(limits).for_file_of(source.len());
    let mut out = Edited::default();
    let (mut offset, mut number, mut id) = (0, 0, 0_usize);
    while let Some(start) = next_fatbin(source, offset, &mut reading)? {
        let mut kept = Vec::new();
        let mut goes = false;
        let end = entries_of_one(source, start, number, &mut reading, &mut |_, entry| {
            match edits.removes(id) {
                true => goes = true,
                false => kept.push(range_of(&entry)),
            }
            id = id.saturating_add(1);
            Ok(())
        })?;
        match edits.room {
            Room::Free => pad_to_8(&mut out.bytes),
            Room::Fixed => out.bytes.extend_from_slice(slice(source, offset, start)),
        }
        let place = out.bytes.len() as u64;
        out.moves.push((start, place));
        if goes {
            write_one(source, start, &kept, &mut out.bytes)?;
        } else {
            out.bytes.extend_from_slice(slice(source, start, end));
        }
        if edits.room == Room::Fixed {
            let full = end.saturating_sub(start).saturating_add(place);
            out.bytes.resize(usize::try_from(full).unwrap_or_default(), 0);
        }
        offset = end;
        number = number.saturating_add(1);
    }
    if edits.room == Room::Fixed {
        out.bytes.extend_from_slice(source.from(offset).bytes());
    }
    Ok(out)
}

/// Where the bytes of an entry are.
fn range_of(entry: &Entry<'_>) -> (u64, u64) {
    let end = entry.payload_offset().saturating_add(entry.payload.len());
    (entry.offset, end)
}

fn slice<'data>(source: Source<'data>, start: u64, end: u64) -> &'data [u8] {
    let part = source.get(start, end.saturating_sub(start));
    part.map(Source::bytes).unwrap_or_default()
}

/// The fatbin at `start` with these of its entries.
fn write_one(source: Source<'_>, start: u64, kept: &[(u64, u64)], out: &mut Vec<u8>) -> Result<(), Error> {
    let header = source.record::<raw::Header>(start);
    let mut header = header
        .ok_or_else(|| Error::malformed("fatbin is cut off").at(source.at(start)))?
        .clone();
    let sizes = kept.iter().map(|(start, end)| end.saturating_sub(*start));
    header.size = sizes.fold(0, u64::saturating_add).into();
    let first = start.saturating_add(header.header_size.get().into());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(slice(source, after::<raw::Header>(start), first));
    for (start, end) in kept {
        out.extend_from_slice(slice(source, *start, *end));
    }
    Ok(())
}
