//! Swapping the image of one entry.

use offkit_image::{Error, Limits};
use zerocopy::IntoBytes;

use super::raw::{Entry, Header, StringV1, StringV2};
use super::sequence::{Binary, Sequence};
use super::{Found, OffloadEntry, read_one, write};
use crate::layout::{align_to_8, is_zero, pad_to_8};
use crate::reading::Reading;
use crate::source::Source;

/// The binaries with another image for the entry `id`, counted as [`parts`](super::parts()) counts; nothing but
/// the image, sizes, and offsets of what moves differs.
///
/// For a SYCLBIN of several entries and for a compressed binary, which count as one, `new` is the whole binary,
/// not compressed; it is compressed by the same method.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut reading = Reading::tolerant(limits);
    let mut sequence = Sequence::new(source);
    let mut number = 0_usize;
    let mut current = sequence.next(&mut reading)?;
    let mut is_first = true;
    while let Some(binary) = current {
        // One ahead, for whether a binary is alone decides how its parts are counted.
        let next = sequence.next(&mut reading)?;
        let is_alone = is_first && next.is_none();
        is_first = false;
        let (whole, found) = match &binary {
            Binary::Compressed(compressed) => (compressed.whole, None),
            Binary::Plain(outline) if outline.is_syclbin() && (is_alone || outline.version >= 2) => {
                (outline.source, None)
            }
            Binary::Plain(outline) => (outline.source, Some(outline.decode(&mut reading)?)),
        };
        let count = found.as_ref().map_or(1, |found| found.binary.entries.len());
        if let Some(index) = id.checked_sub(number).filter(|index| *index < count) {
            let replaced = match (&binary, found) {
                (Binary::Compressed(compressed), _) => {
                    let old = super::inflated(compressed.whole, compressed.inflated_size)?;
                    // Compressed anew, the same content may come to other bytes: other tools have
                    // other levels.
                    if *old == *new {
                        return Ok(source.bytes().to_vec());
                    }
                    write::compress(&[new], compressed.compression)?.into_bytes()
                }
                (_, None) => new.to_vec(),
                (_, Some(found)) => {
                    let entry = found.binary.entries.get(index);
                    if entry.is_some_and(|entry| *entry.image == *new && !entry.is_metadata_only()) {
                        return Ok(source.bytes().to_vec());
                    }
                    return replace_entry(source, whole, index, new, limits);
                }
            };
            return Ok(splice(source, whole, &replaced));
        }
        number = number.saturating_add(count);
        current = next;
    }
    Err(Error::unrepresentable("offload binary has no such entry").finding(id))
}

/// The binaries with another image for one entry of the binary `whole`, which must be faultless.
pub(crate) fn replace_entry(
    source: Source<'_>,
    whole: Source<'_>,
    index: usize,
    new: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    let found = read_one(whole, &mut Reading::strict(limits))?;
    let entry = found.binary.entries.get(index);
    if entry.is_none_or(OffloadEntry::is_metadata_only) {
        return Err(
            Error::unrepresentable("entry has no image that could be replaced")
                .at(whole.at(0))
                .field(format!("entry {index}")),
        );
    }
    Ok(splice(source, whole, &replace_in(&found, index, new)?))
}

/// The whole with one binary exchanged; what followed follows at a multiple of 8.
fn splice(source: Source<'_>, old: Source<'_>, new: &[u8]) -> Vec<u8> {
    let start = old.at(0).saturating_sub(source.at(0));
    let before = source.get(0, start).map(Source::bytes).unwrap_or_default();
    // Padding after a binary of odd size belongs to its old size.
    let padding = align_to_8(old.len()).saturating_sub(old.len());
    let after = source.from(start.saturating_add(old.len()));
    let is_padding = after.get(0, padding).is_some_and(|bytes| is_zero(bytes.bytes()));
    let after = if is_padding { after.from(padding) } else { after };
    let mut out = [before, new].concat();
    if after.len() > 0 || is_padding {
        let end = start.saturating_add(align_to_8(new.len() as u64));
        out.resize(usize::try_from(end).unwrap_or(out.len()).max(out.len()), 0);
    }
    out.extend_from_slice(after.bytes());
    out
}

/// One binary with another image for an entry.
fn replace_in(found: &Found<'_>, index: usize, new: &[u8]) -> Result<Vec<u8>, Error> {
    let whole = found.source;
    let header: &Header = whole.record(0).ok_or_else(|| damaged(whole))?;
    let version = header.version.get();
    let count = if version == 1 {
        1
    } else {
        header.entries_size_or_count.get()
    };
    let entries_offset = header.entries_offset.get();
    let entries: &[Entry] = whole
        .records(entries_offset, count)
        .ok_or_else(|| damaged(whole))?;
    let entry = entries.get(index).ok_or_else(|| damaged(whole))?;
    let start = entry.image_offset.get();

    // Where everything else begins that an offset names.
    let string_size = if version == 1 { 16 } else { 24 };
    let strings = entries.iter().map(|entry| entry.string_count.get());
    if strings.fold(0, u64::saturating_add) > whole.len() {
        // Entries that share their strings would make for more work than the file is large.
        return Err(damaged(whole));
    }
    let mut others = vec![(entries_offset, count.saturating_mul(size_of::<Entry>() as u64))];
    for (number, other) in entries.iter().enumerate() {
        if number != index {
            others.push((other.image_offset.get(), other.image_size.get()));
        }
        let strings = other.string_count.get().saturating_mul(string_size);
        others.push((other.strings_offset.get(), strings));
    }
    let change = Change::new(whole, start, entry.image_size.get(), new.len() as u64, &others)?;

    let mut out = change.apply(whole, new);
    // Zeros at the end that only fill up are counted anew.
    let end = end_of_content(found, &others, start.saturating_add(entry.image_size.get()))?;
    if whole.len().saturating_sub(end) < 8 && is_zero(whole.from(end).bytes()) {
        let new_end = change.moved(end).max(start.saturating_add(new.len() as u64));
        out.truncate(usize::try_from(new_end).unwrap_or(out.len()));
    }
    pad_to_8(&mut out);
    let size = out.len() as u64;
    patch(&mut out, 8, size);
    patch(&mut out, 16, change.moved(entries_offset));
    for (number, other) in entries.iter().enumerate() {
        let mut raw = other.clone();
        raw.strings_offset = change.moved(other.strings_offset.get()).into();
        if number == index {
            raw.image_size = (new.len() as u64).into();
        } else if number > index || other.image_size.get() > 0 || other.image_offset.get() != start {
            // An empty image before an empty one is where that is, and stays there.
            raw.image_offset = change.moved(other.image_offset.get()).into();
        }
        let at = (number as u64).saturating_mul(size_of::<Entry>() as u64);
        put(
            &mut out,
            change.moved(entries_offset).saturating_add(at),
            raw.as_bytes(),
        );
        // Keys and values may be anywhere, also behind the image.
        for string in 0..other.string_count.get() {
            let strings = other.strings_offset.get();
            let from = strings.saturating_add(string.saturating_mul(string_size));
            for field in [0, 8] {
                let from = from.saturating_add(field);
                let old = read_u64(whole, from).ok_or_else(|| damaged(whole))?;
                patch(&mut out, change.moved(from), change.moved(old));
            }
        }
    }
    Ok(out)
}

/// Where the last thing ends that an offset names.
fn end_of_content(found: &Found<'_>, others: &[(u64, u64)], image_end: u64) -> Result<u64, Error> {
    let whole = found.source;
    let mut end = image_end;
    for (offset, size) in others {
        end = end.max(offset.saturating_add(*size));
    }
    let header: &Header = whole.record(0).ok_or_else(|| damaged(whole))?;
    let (string_size, has_sizes) = match header.version.get() {
        1 => (size_of::<StringV1>(), false),
        _ => (size_of::<StringV2>(), true),
    };
    let entries = found.binary.entries.iter().enumerate();
    for (number, entry) in entries {
        let at = (number as u64).saturating_mul(size_of::<Entry>() as u64);
        let raw: &Entry = whole
            .record(header.entries_offset.get().saturating_add(at))
            .ok_or_else(|| damaged(whole))?;
        for (number, (key, value)) in entry.strings.iter().enumerate() {
            let at = number.saturating_mul(string_size) as u64;
            let string: &StringV1 = whole
                .record(raw.strings_offset.get().saturating_add(at))
                .ok_or_else(|| damaged(whole))?;
            let key_end = string.key_offset.get().saturating_add(key.len() as u64);
            let value_end = string.value_offset.get().saturating_add(value.len() as u64);
            // A value with a size needs no zero byte at its end.
            end = end
                .max(key_end.saturating_add(1))
                .max(value_end.saturating_add(u64::from(!has_sizes)));
        }
    }
    Ok(end)
}

/// What an image of another size does to the offsets behind it.
pub(crate) struct Change {
    start: u64,
    /// Where the old image and its padding end.
    old_end: u64,
    /// Where the new image and its padding end.
    new_end: u64,
}

impl Change {
    /// Puts `new_size` bytes in the place of the `size` bytes from `start`; `others` are the offsets and sizes of
    /// what else there is.
    ///
    /// What lies behind moves by the difference; where there is padding, by a multiple of 8, so that what was
    /// aligned stays so. Without padding images are packed, as LLVM packs those of versions 2 and 3.
    pub(crate) fn new(
        whole: Source<'_>,
        start: u64,
        size: u64,
        new_size: u64,
        others: &[(u64, u64)],
    ) -> Result<Self, Error> {
        let end = start.saturating_add(size);
        let overlaps =
            |&(offset, size): &(u64, u64)| size > 0 && offset < end && start < offset.saturating_add(size);
        if others.iter().any(overlaps) {
            return Err(Error::unrepresentable(
                "image shares bytes with other parts, so that it cannot be replaced",
            )
            .at(whole.at(start)));
        }
        // Empty parts too, though they overlap nothing: one within the padding would count as a
        // part of it, and keep its place in the midst of a larger image.
        let behind = others
            .iter()
            .map(|(offset, _)| *offset)
            .filter(|offset| *offset >= end);
        let next = behind.min().unwrap_or(whole.len());
        let gap = whole
            .get(end, next.saturating_sub(end))
            .ok_or_else(|| damaged(whole))?;
        let is_padding = gap.len() < 8 && is_zero(gap.bytes());
        let padding = if is_padding { gap.len() } else { 0 };
        let new_end = start.saturating_add(new_size);
        Ok(Self {
            start,
            old_end: end.saturating_add(padding),
            new_end: if padding > 0 { align_to_8(new_end) } else { new_end },
        })
    }

    /// Where something is now.
    pub(crate) fn moved(&self, offset: u64) -> u64 {
        if offset >= self.old_end {
            offset.saturating_sub(self.old_end).saturating_add(self.new_end)
        } else {
            offset
        }
    }

    /// The bytes with the new image, offsets not yet put right.
    pub(crate) fn apply(&self, whole: Source<'_>, new: &[u8]) -> Vec<u8> {
        let before = whole.get(0, self.start).map(Source::bytes).unwrap_or_default();
        let mut out = [before, new].concat();
        let end = usize::try_from(self.new_end).unwrap_or(out.len());
        out.resize(end.max(out.len()), 0);
        out.extend_from_slice(whole.from(self.old_end).bytes());
        out
    }
}

fn damaged(whole: Source<'_>) -> Error {
    Error::malformed("Invalid Offload Binary").at(whole.at(0))
}

fn read_u64(source: Source<'_>, offset: u64) -> Option<u64> {
    let bytes = source.get(offset, 8)?.bytes();
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

pub(crate) fn patch(out: &mut [u8], offset: u64, value: u64) {
    put(out, offset, &value.to_le_bytes());
}

pub(crate) fn put(out: &mut [u8], offset: u64, bytes: &[u8]) {
    let range = || {
        let start = usize::try_from(offset).ok()?;
        Some(start..start.checked_add(bytes.len())?)
    };
    if let Some(slot) = range().and_then(|range| out.get_mut(range)) {
        slot.copy_from_slice(bytes);
    }
}
