//! Putting other bytes in the place of one part, and leaving all others alone.

use std::borrow::Cow;

use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use super::{Comment, CompressedBundle, binary, sequence, text};
use crate::error::Error;
use crate::limits::{Limits, Reading};
use crate::source::Source;

/// A sequence with another bundle `id`, which is given decompressed.
///
/// It is compressed again as it was, unless it did not change. The bundles after it stay where they are as
/// long as it fits before them, and move by a multiple of the alignment if not.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut reading = Reading::tolerant(limits).for_file_of(source.len());
    let all = sequence::find_all(source, &mut reading)?;
    let old = all.get(id).ok_or_else(|| no_such_part(id))?;
    let (is_same, new) = match &old.compressed {
        None => (old.source.bytes() == new, Cow::Borrowed(new)),
        Some(compressed) => {
            let is_same = compressed
                .inflate(&mut reading)
                .is_ok_and(|content| content == new);
            let header = compressed.header;
            let new = if is_same {
                Cow::Borrowed(new)
            } else {
                Cow::Owned(CompressedBundle::write(
                    new,
                    header.version,
                    header.compression,
                    None,
                )?)
            };
            (is_same, new)
        }
    };
    if is_same {
        return Ok(source.bytes().to_vec());
    }
    let place = |part: Source<'_>| part.at(0).saturating_sub(source.at(0));
    let start = place(old.source);
    let next = id.checked_add(1).and_then(|next| all.get(next));
    let slot = Slot {
        start,
        end: start.saturating_add(old.source.len()),
        next: next.map(|next| place(next.source)),
        alignment: alignment_of(all.iter().map(|found| place(found.source))),
    };
    Ok(slot.fill(source.bytes(), &new).0)
}

/// A bundle with another image in its entry `id`; the other images move only if they must.
pub(crate) fn replace_single(
    source: Source<'_>,
    id: usize,
    new: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    if !source.bytes().starts_with(&super::MAGIC) {
        // The only part of a compressed file that is no bundle is all of it.
        return Ok(new.to_vec());
    }
    let entries = binary::read(source, &mut Reading::tolerant(limits))?;
    let old = entries
        .iter()
        .find(|entry| entry.index == id && entry.image.is_some())
        .ok_or_else(|| no_such_part(id))?;
    if old.image.is_some_and(|image| image.bytes() == new) {
        return Ok(source.bytes().to_vec());
    }
    let others = || entries.iter().filter(|entry| entry.index != id && entry.size > 0);
    let alignment = alignment_of(entries.iter().map(|entry| entry.offset));
    let is_shared = others().any(|other| other.offset < old.end() && old.offset < other.end());
    let mut slot = Slot {
        start: old.offset,
        end: old.end(),
        next: others()
            .map(|other| other.offset)
            .filter(|offset| *offset >= old.end())
            .min(),
        alignment,
    };
    if is_shared {
        // Bytes that another entry uses too must stay: the new ones go to the end.
        let end = next_multiple(source.len(), alignment);
        slot = Slot {
            start: end,
            end,
            next: None,
            alignment,
        };
    }
    let (mut out, moved) = slot.fill(source.bytes(), new);
    for entry in &entries {
        if entry.index == id {
            put_u64(&mut out, entry.header, slot.start);
            put_u64(&mut out, entry.header.saturating_add(8), new.len() as u64);
        } else if slot.next.is_some_and(|next| entry.offset >= next) {
            put_u64(&mut out, entry.header, entry.offset.saturating_add(moved));
        }
    }
    Ok(out)
}

/// A bundle in text form with another text in its entry `id`.
pub(crate) fn replace_text(
    source: Source<'_>,
    id: usize,
    new: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    let entries = text::read(source, &mut Reading::tolerant(limits))?;
    let old = entries.get(id).ok_or_else(|| no_such_part(id))?;
    Comment::refuse_markers(source.bytes(), new)?;
    let start = old.bytes.at(0).saturating_sub(source.at(0));
    let end = start.saturating_add(old.bytes.len());
    let before = source.get(0, start).unwrap_or(source);
    Ok([before.bytes(), new, source.from(end).bytes()].concat())
}

/// The place of a part, from the start of what it is in.
struct Slot {
    start: u64,
    end: u64,
    /// Where the next part begins that must not be touched; `None` when nothing but padding follows.
    next: Option<u64>,
    alignment: u64,
}

impl Slot {
    /// `old` with `new` in the slot, and by how much all that begins at `next` moved.
    fn fill(&self, old: &[u8], new: &[u8]) -> (Vec<u8>, u64) {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(old.len());
        let mut out = old.get(..at(self.start)).unwrap_or_default().to_vec();
        out.resize(usize::try_from(self.start).unwrap_or(out.len()), 0);
        out.extend_from_slice(new);
        let end = out.len() as u64;
        let next = match self.next {
            Some(next) => next,
            None if self.end >= old.len() as u64 => return (out, 0),
            // Padding at the end is kept.
            None => old.len() as u64,
        };
        let moved = next_multiple(end.saturating_sub(next), self.alignment);
        out.resize(
            usize::try_from(next.saturating_add(moved)).unwrap_or(out.len()),
            0,
        );
        out.extend_from_slice(old.get(at(next)..).unwrap_or_default());
        (out, moved)
    }
}

/// The largest power of two, up to a page, that all offsets are multiples of.
fn alignment_of(offsets: impl Iterator<Item = u64>) -> u64 {
    const PAGE: u64 = 4096;
    let bits = offsets.fold(PAGE, |bits, offset| bits | offset);
    1_u64.checked_shl(bits.trailing_zeros()).unwrap_or(1)
}

fn next_multiple(offset: u64, alignment: u64) -> u64 {
    offset.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
}

fn put_u64(out: &mut [u8], offset: u64, value: u64) {
    let field = usize::try_from(offset)
        .ok()
        .and_then(|start| out.get_mut(start..start.checked_add(8)?));
    if let Some(field) = field {
        field.copy_from_slice(U64::new(value).as_bytes());
    }
}

fn no_such_part(id: usize) -> Error {
    Error::unrepresentable("offload bundle has no such part").finding(id)
}
