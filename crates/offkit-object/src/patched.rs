//! A file in pieces with numbers changed in it: pieces stay where they are, and only pages that change are copied.

use std::collections::BTreeMap;
use std::ops::Range;

use offkit_image::Bytes;

use crate::chunks::Chunks;

/// What is copied at once when a byte changes.
const PAGE: u64 = 1 << 12;

/// A file of several hundred megabytes, of which a few thousand bytes are changed.
#[derive(Debug)]
pub(crate) struct Patched<'data> {
    /// The pieces by where they begin.
    pieces: BTreeMap<u64, Bytes<'data>>,
    len: u64,
    /// Changed pages by their number.
    pages: BTreeMap<u64, Vec<u8>>,
}

impl<'data> Patched<'data> {
    pub(crate) fn new(chunks: Chunks<'data>) -> Self {
        let mut pieces = BTreeMap::new();
        let mut len = 0_u64;
        for piece in chunks.into_pieces() {
            let start = len;
            len = len.saturating_add(piece.len() as u64);
            pieces.insert(start, piece);
        }
        Self {
            pieces,
            len,
            pages: BTreeMap::new(),
        }
    }

    /// The bytes at a place; `None` where the file has no such place.
    pub(crate) fn get(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let range = self.range(offset, size)?;
        let mut out = Vec::new();
        for (within, bytes) in self.slices(range) {
            out.extend_from_slice(bytes.get(within)?);
        }
        Some(out)
    }

    /// Writes bytes at a place; `None` where the file has no such place.
    pub(crate) fn put(&mut self, offset: u64, bytes: &[u8]) -> Option<()> {
        let mut place = self.range(offset, bytes.len() as u64)?.start;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let (number, within) = (
                place.checked_div(PAGE)?,
                usize::try_from(place.checked_rem(PAGE)?).ok()?,
            );
            if !self.pages.contains_key(&number) {
                let start = number.saturating_mul(PAGE);
                // The last page is as long as the file has bytes for it: it must not grow.
                let page = self.get(start, self.len.saturating_sub(start).min(PAGE))?;
                self.pages.insert(number, page);
            }
            let room = self.pages.get_mut(&number)?.get_mut(within..)?;
            let (now, rest) = bytes.split_at_checked(room.len()).unwrap_or((bytes, &[]));
            room.get_mut(..now.len())?.copy_from_slice(now);
            place = place.saturating_add(now.len() as u64);
            bytes = rest;
        }
        Some(())
    }

    /// The file without these parts of it, which are in order.
    pub(crate) fn without(&self, holes: &[Range<u64>]) -> Chunks<'data> {
        let mut chunks = Chunks::new();
        let mut from = 0;
        let ends = holes.iter().map(|hole| (hole.start, hole.end));
        for (end, next) in ends.chain([(self.len, self.len)]) {
            for (within, bytes) in self.slices(from..end.min(self.len)) {
                match bytes {
                    Held::Piece(piece) => chunks.push(piece.part(within)),
                    Held::Page(page) => chunks.copy(page.get(within).unwrap_or_default()),
                }
            }
            from = next;
        }
        chunks
    }

    fn range(&self, offset: u64, size: u64) -> Option<Range<u64>> {
        let end = offset.checked_add(size)?;
        (end <= self.len).then_some(offset..end)
    }

    /// What lies in a range, one after the other: each with the part of it that does.
    fn slices(&self, range: Range<u64>) -> impl Iterator<Item = (Range<usize>, Held<'_, 'data>)> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let number = at.checked_div(PAGE)?;
            let (start, held, end) = match self.pages.get(&number) {
                Some(page) => {
                    let start = number.saturating_mul(PAGE);
                    (start, Held::Page(page), start.saturating_add(page.len() as u64))
                }
                None => {
                    // Pieces have no gaps between them: the last to begin here or before has it.
                    let (start, piece) = self.pieces.range(..=at).next_back()?;
                    let end = start.saturating_add(piece.len() as u64);
                    // A piece counts up to the next page that was changed.
                    let changed = self.pages.range(number..).next();
                    let changed = changed.map_or(end, |(number, _)| number.saturating_mul(PAGE));
                    (*start, Held::Piece(piece), end.min(changed))
                }
            };
            let end = end.min(range.end);
            let within = |offset: u64| usize::try_from(offset.saturating_sub(start)).ok();
            let part = within(at)?..within(end)?;
            at = end;
            (!part.is_empty()).then_some((part, held))
        })
    }
}

/// What has some of the bytes.
enum Held<'a, 'data> {
    Piece(&'a Bytes<'data>),
    Page(&'a [u8]),
}

impl Held<'_, '_> {
    fn get(&self, part: Range<usize>) -> Option<&[u8]> {
        match self {
            Self::Piece(piece) => piece.get(part),
            Self::Page(page) => page.get(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_all_else_stays_in_its_place() {
        let (one, other) = (vec![1; 10_000], vec![2; 20_000]);
        let mut chunks = Chunks::new();
        chunks.push(one.as_slice());
        chunks.push(other.as_slice());
        let mut plain = [one.as_slice(), &other].concat();
        let mut file = Patched::new(chunks);
        // Within a page, across two, across pieces, at both ends, and over what was written before.
        for (at, size) in [(5, 3), (4094, 4), (9_990, 20), (0, 1), (29_999, 1), (4095, 9000)] {
            let new: Vec<u8> = (0..size).map(|number| number as u8 ^ 0x5a).collect();
            file.put(at, &new).unwrap();
            plain[at as usize..][..new.len()].copy_from_slice(&new);
            assert_eq!(file.get(at, size).unwrap(), new);
            assert_eq!(file.without(&[]).into_bytes(), plain);
        }
        assert!(file.get(29_999, 2).is_none() && file.put(29_999, b"ab").is_none());
        assert!(file.get(u64::MAX, 2).is_none());
        let last = file.without(&[]);
        let last = last
            .slices()
            .into_iter()
            .rev()
            .find(|slice| slice.len() > 4096)
            .unwrap();
        assert_eq!(last.as_ptr(), other[16384 - 10_000..].as_ptr(), "not copied");
        let cut = file
            .without(&[3..4097, 12_000..12_000, 29_000..30_000])
            .into_bytes();
        assert_eq!(cut, [&plain[..3], &plain[4097..29_000]].concat());
    }
}
