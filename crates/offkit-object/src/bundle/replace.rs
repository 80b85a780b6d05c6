//! Putting other bytes in the place of one part, and leaving all others alone.

use std::borrow::Cow;

use offkit_image::{Error, Limits};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use super::{Comment, binary, compressed, sequence, text};
use crate::reading::Reading;
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
            // By content: compressed again, the same content need not be the same bytes.
            let is_same = compressed
                .inflate(&mut reading)
                .is_ok_and(|content| content == new);
            let header = compressed.header;
            let new = if is_same {
                Cow::Borrowed(new)
            } else {
                Cow::Owned(compressed::write(new, header.version, header.compression, None)?)
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
    let end = out.len() as u64;
    for entry in &entries {
        if entry.index == id {
            put_u64(&mut out, entry.header, slot.start);
            put_u64(&mut out, entry.header.saturating_add(8), new.len() as u64);
        } else if slot.next.is_some_and(|next| entry.offset >= next) {
            put_u64(&mut out, entry.header, entry.offset.saturating_add(moved));
        } else if entry.size == 0 && (end..=source.len()).contains(&entry.offset) {
            // An empty image is nowhere, and yet must not be outside of a file that became shorter.
            put_u64(&mut out, entry.header, end);
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
        // A slot behind the end, as for bytes that were shared, has padding before it.
        out.resize(usize::try_from(self.start).unwrap_or(out.len()), 0);
        out.extend_from_slice(new);
        let end = out.len() as u64;
        let next = match self.next {
            Some(next) => next,
            None if self.end >= old.len() as u64 => return (out, 0),
            // Padding at the end is kept.
            None => old.len() as u64,
        };
        // 0 where the new bytes fit; else by whole units, so that all that follows stays aligned.
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
pub(super) fn alignment_of(offsets: impl Iterator<Item = u64>) -> u64 {
    const PAGE: u64 = 4096;
    // The lowest bit that any of them has.
    // The page's own is always there, so that the shift is one by 12 at most, and offsets that are
    // all 0 count as aligned to a page.
    let bits = offsets.fold(PAGE, |bits, offset| bits | offset);
    1_u64.checked_shl(bits.trailing_zeros()).unwrap_or(1)
}

pub(super) fn next_multiple(offset: u64, alignment: u64) -> u64 {
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

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::super::{Bundle, BundleEntry, CompressedVersion};
    use super::*;
    use crate::Compression;
    use crate::bundle::CompressedBundle;

    const IDS: [&str; 3] = ["host-x86_64-unknown-linux-gnu-", "hip-gfx1", "hip-gfx2"];

    fn bundle(images: [&'static [u8]; 3]) -> Bundle<'static> {
        let entries = IDS.iter().zip(images);
        Bundle {
            entries: entries.map(|(id, image)| BundleEntry::new(*id, image)).collect(),
        }
    }

    fn replace_entry(file: &[u8], id: usize, new: &[u8]) -> Vec<u8> {
        replace_single(Source::new(file), id, new, &Limits::default()).unwrap()
    }

    fn images(file: &[u8]) -> Vec<Vec<u8>> {
        let bundle = Bundle::parse(file, &Limits::default()).unwrap();
        bundle
            .entries
            .into_iter()
            .map(|entry| entry.bytes.to_vec())
            .collect()
    }

    #[test]
    fn one_entry_changes_and_the_others_keep_content_and_alignment() {
        let olds: [&[u8]; 3] = [b"", b"the first", b"the second"];
        for alignment in [1, 8, 4096] {
            let file = bundle(olds).write(alignment).unwrap();
            assert_eq!(replace_entry(&file, 1, b"the first"), file);
            for id in 0..3 {
                for new in [b"".as_slice(), b"x", b"as long a", &[7; 5000]] {
                    let changed = replace_entry(&file, id, new);
                    let mut expected = olds.map(<[u8]>::to_vec);
                    expected[id] = new.to_vec();
                    assert_eq!(images(&changed), expected, "{id} aligned to {alignment}");
                    let entries =
                        binary::read(Source::new(&changed), &mut Reading::strict(&Limits::default()));
                    for entry in entries.unwrap() {
                        assert_eq!(entry.offset % alignment, 0);
                    }
                }
            }
        }
    }

    #[test]
    fn others_move_only_if_they_must() {
        let file = bundle([b"host", b"the first", b"the second"]).write(64).unwrap();
        let fits = replace_entry(&file, 1, &[7; 60]);
        assert_eq!(fits.len(), file.len());
        let moved = replace_entry(&file, 1, &[7; 65]);
        assert_eq!(moved.len(), file.len() + 64);
        assert_eq!(replace_entry(&moved, 1, &[8; 100]).len(), moved.len());
    }

    #[test]
    fn an_empty_image_behind_one_that_becomes_smaller_stays_within_the_file() {
        let file = bundle([b"host", b"a long image", b""]).write(1).unwrap();
        let changed = replace_entry(&file, 1, b"image");
        assert!(changed.len() < file.len());
        assert_eq!(
            images(&changed),
            [b"host".to_vec(), b"image".to_vec(), Vec::new()]
        );
    }

    #[test]
    fn bytes_that_two_entries_use_are_changed_for_one_only() {
        let mut file = bundle([b"host", b"shared", b"shared"]).write(1).unwrap();
        let entries = binary::read(Source::new(&file), &mut Reading::strict(&Limits::default())).unwrap();
        let (first, second) = (entries[1].offset, entries[2].header);
        drop(entries);
        put_u64(&mut file, second, first);
        let changed = replace_entry(&file, 2, b"new");
        assert_eq!(
            images(&changed),
            [b"host".to_vec(), b"shared".to_vec(), b"new".to_vec()]
        );
    }

    #[test]
    fn compressed_bundles_in_a_sequence_are_compressed_again_as_they_were() {
        const PAGE: usize = 4096;
        let old = bundle([b"", b"one", b"two"]).write(8).unwrap();
        let new = bundle([b"", b"another", b"two"]).write(8).unwrap();
        let limits = Limits::default();
        let mut file = Vec::new();
        for (version, compression) in [
            (CompressedVersion::V2, Compression::Zlib),
            (CompressedVersion::V3, Compression::Zstd),
        ] {
            file.extend(CompressedBundle::write(&old, version, compression, Some(9)).unwrap());
            file.resize(file.len().next_multiple_of(PAGE), 0);
        }
        for id in 0..2 {
            let same = replace(Source::new(&file), id, &old, &limits).unwrap();
            assert!(same == file, "nothing is compressed again");
            let changed = replace(Source::new(&file), id, &new, &limits).unwrap();
            assert_eq!(changed.len(), file.len());
            let header = CompressedBundle::parse(&changed[id * PAGE..]).unwrap();
            let before = CompressedBundle::parse(&file[id * PAGE..]).unwrap();
            assert_eq!(
                (header.version, header.compression),
                (before.version, before.compression)
            );
            assert_eq!(header.hash, CompressedBundle::hash_of(&new));
            let other = (1 - id) * PAGE;
            assert_eq!(changed[other..other + PAGE], file[other..other + PAGE]);
            let all = Bundle::parse_all(&changed, &limits).unwrap();
            assert_eq!(all[id], Bundle::parse(&new, &limits).unwrap());
        }
        let large: Vec<u8> = (0_u32..2000)
            .flat_map(|n| CompressedBundle::hash_of(&n.to_le_bytes()).to_le_bytes())
            .collect();
        let changed = replace(Source::new(&file), 0, &large, &limits).unwrap();
        assert_eq!(changed.len(), file.len() + 3 * PAGE);
        assert_eq!(
            changed[4 * PAGE..],
            file[PAGE..],
            "the second moved by whole pages"
        );
    }

    #[test]
    fn a_text_is_replaced_between_its_markers() {
        let file = bundle([b"a\n", b"b", b""]).write_text(Comment::Hash).unwrap();
        let changed = replace_text(Source::new(&file), 2, b"c\n\n", &Limits::default()).unwrap();
        let expected = bundle([b"a\n", b"b", b"c\n\n"])
            .write_text(Comment::Hash)
            .unwrap();
        assert_eq!(changed, expected);
        assert!(replace_text(Source::new(&file), 0, &file, &Limits::default()).is_err());
        assert!(replace_text(Source::new(&file), 3, b"", &Limits::default()).is_err());
    }
}
