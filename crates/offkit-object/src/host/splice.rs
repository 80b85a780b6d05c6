//! Changing ranges of a file while everything else keeps its bytes.
//!
//! An object file has no unused room between its parts, so that all behind an edit moves. Sections and tables of ELF are
//! aligned in the file, for readers map it and use them in place. What moves keeps its place within a unit of the largest
//! of these alignments: then all of them still hold, and the parts need not be known one by one. COFF aligns nothing in
//! objects.

use std::borrow::Cow;
use std::ops::Range;

use offkit_image::Error;

use super::output::Output;
use crate::layout::is_zero;

/// The bytes from `start` to `end` become `new`; an empty range inserts.
#[derive(Debug)]
pub(super) struct Edit<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    /// What `new` has to begin at a multiple of. With 1, it stays where the old bytes were, as far as earlier
    /// edits let it.
    pub(super) align: usize,
    pub(super) new: Cow<'a, [u8]>,
}

/// An edited file, and where everything went.
#[derive(Debug)]
pub(super) struct Spliced<'a> {
    pub(super) bytes: Output<'a>,
    /// Where the new bytes of each edit are, in the order of the edits.
    pub(super) placed: Vec<u64>,
    /// From which old offset on things are elsewhere, and the new offset of it.
    moves: Vec<(u64, u64)>,
}

impl Spliced<'_> {
    /// Where the unchanged byte at `offset` of the old file is now.
    pub(super) fn moved(&self, offset: u64) -> u64 {
        let index = self.moves.partition_point(|(old, _)| *old <= offset);
        match index.checked_sub(1).and_then(|last| self.moves.get(last)) {
            Some((old, new)) => new.saturating_add(offset.saturating_sub(*old)),
            None => offset,
        }
    }
}

/// Applies edits, which are in the order of the file and do not overlap.
///
/// `used` are the ranges of everything in the file, by their starts. Between an edited range and the next of them
/// zeros are padding, and given up or added so that everything behind keeps its offset modulo `align`. Where one
/// range reaches into another, an edit of either would be one of both, and is refused.
pub(super) fn splice<'a>(
    bytes: &[u8],
    edits: &[Edit<'a>],
    used: &[Range<usize>],
    align: usize,
) -> Result<Spliced<'a>, Error> {
    let occupied = Occupied::new(used);
    if edits.iter().any(|edit| occupied.forbids(edit)) {
        return Err(overlapping());
    }
    let mut out = Output::with_capacity(bytes.len());
    let mut placed = Vec::with_capacity(edits.len());
    let mut moves = Vec::with_capacity(edits.len());
    // Up to where the old file is done with: everything before is copied, replaced, or padding that is given up.
    let mut kept = 0_usize;
    let mut next_edit = edits.iter().peekable();
    while let Some(edit) = next_edit.next() {
        // Edits over each other or out of order show here, where one begins before `kept`.
        let unchanged = bytes.get(kept..edit.start).ok_or_else(overlapping)?;
        append(&mut out, unchanged, kept, align);
        out.fill_up(out.len().next_multiple_of(edit.align.max(1)));
        placed.push(out.len() as u64);
        out.push(&edit.new);
        kept = after(bytes, edit, used).ok_or_else(overlapping)?;
        // Where the next edit begins here too, nothing unchanged lies between the two, and so nothing that could be asked for.
        if next_edit.peek().is_none_or(|next| next.start > kept) {
            let rest = bytes.get(kept..).unwrap_or_default();
            // Where `append` will put it when it is copied.
            let place = if rest.is_empty() {
                out.len()
            } else {
                congruent(out.len(), kept, align)
            };
            moves.push((kept as u64, place as u64));
        }
    }
    append(&mut out, bytes.get(kept..).unwrap_or_default(), kept, align);
    Ok(Spliced {
        bytes: out,
        placed,
        moves,
    })
}

/// What must not be edited, found in one pass over the ranges.
struct Occupied {
    /// Where ranges reach into each other.
    shared: Vec<Range<usize>>,
    /// Where anything is; ranges that only touch are apart.
    taken: Vec<Range<usize>>,
}

impl Occupied {
    fn new(used: &[Range<usize>]) -> Self {
        let mut occupied = Self {
            shared: Vec::new(),
            taken: Vec::new(),
        };
        for range in used.iter().filter(|range| !range.is_empty()) {
            let end = occupied.taken.last().map_or(0, |last| last.end);
            if range.start < end {
                add(&mut occupied.shared, range.start..range.end.min(end));
            }
            add(&mut occupied.taken, range.clone());
        }
        occupied
    }

    /// Whether an edit changes what is not only its own: bytes that ranges share, or the inside of a range
    /// into which it inserts.
    fn forbids(&self, edit: &Edit<'_>) -> bool {
        let (ranges, end) = if edit.start == edit.end {
            (&self.taken, edit.start)
        } else {
            (&self.shared, edit.end)
        };
        // Both lists are in order and without overlaps, so that of all ranges that begin before
        // `end` the last one ends last.
        let before = ranges.partition_point(|range| range.start < end);
        let last = before.checked_sub(1).and_then(|last| ranges.get(last));
        last.is_some_and(|range| range.end > edit.start)
    }
}

/// Adds a range to sorted ones, joining it with the last if they overlap.
fn add(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if range.start < last.end => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

/// Where the bytes begin that have to be kept after an edited range.
///
/// Padding behind it is not among them: it was put there for the old size, and keeping it would let a file grow each time
/// that an image in it changes to another size and back.
fn after(bytes: &[u8], edit: &Edit<'_>, used: &[Range<usize>]) -> Option<usize> {
    // An insertion replaces nothing, so that no padding behind it was for an old size.
    if edit.start == edit.end {
        return Some(edit.end);
    }
    let index = used.partition_point(|range| range.start < edit.end);
    let next = used
        .get(index)
        .map_or(bytes.len(), |range| range.start)
        .min(bytes.len());
    let gap = bytes.get(edit.end..next)?;
    let is_padding = is_zero(gap);
    // Bytes that no table mentions and that are not zero may still be somebody's, such as a signature.
    Some(if is_padding { next } else { edit.end })
}

fn append(out: &mut Output<'_>, unchanged: &[u8], from: usize, align: usize) {
    if !unchanged.is_empty() {
        out.fill_up(congruent(out.len(), from, align));
        out.copy(unchanged);
    }
}

/// The first offset at or after `least` that lies in its unit of `align` bytes where `old` lies in its own.
fn congruent(least: usize, old: usize, align: usize) -> usize {
    let place = |offset: usize| offset.checked_rem(align).unwrap_or_default();
    let missing = place(old).saturating_add(align).saturating_sub(place(least));
    least.saturating_add(place(missing))
}

fn overlapping() -> Error {
    Error::unrepresentable("parts of the object overlap, so that none can be changed alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, new: &[u8]) -> Edit<'_> {
        Edit {
            start,
            end,
            align: 1,
            new: new.into(),
        }
    }

    #[test]
    fn what_follows_keeps_its_alignment_and_comes_back() {
        let old = b"head.AAA....tail";
        let old: Vec<u8> = old
            .iter()
            .map(|byte| if *byte == b'.' { 0 } else { *byte })
            .collect();
        let used = [0..4, 5..8, 12..16];
        let grown = splice(&old, &[edit(5, 8, b"12345678")], &used, 4).unwrap();
        assert_eq!((grown.moved(4), grown.moved(12), grown.placed[0]), (4, 16, 5));
        let grown = grown.bytes.into_bytes();
        assert_eq!(grown, b"head\x0012345678\0\0\0tail");
        let back = splice(&grown, &[edit(5, 13, b"AAA")], &[0..4, 5..13, 16..20], 4).unwrap();
        let back = back.bytes.into_bytes();
        assert_eq!(back, b"head\0AAAtail", "no more padding than is needed");
        let again = splice(&back, &[edit(5, 8, b"12345678")], &[0..4, 5..8, 8..12], 4).unwrap();
        assert_eq!(again.bytes.into_bytes(), b"head\x0012345678\0\0\0tail");
    }

    #[test]
    fn padding_that_is_not_zero_is_kept() {
        let spliced = splice(b"ab..cd", &[edit(0, 2, b"")], &[0..2, 4..6], 1).unwrap();
        assert_eq!(spliced.bytes.into_bytes(), b"..cd");
    }

    #[test]
    fn overlapping_edits_are_refused() {
        assert!(splice(b"abcdef", &[edit(0, 4, b""), edit(2, 5, b"")], &[], 1).is_err());
        assert!(splice(b"abcdef", &[edit(4, 9, b"")], &[], 1).is_err());
        assert!(splice(b"abcdef", &[edit(0, 4, b"")], &[0..4, 3..5], 1).is_err());
        assert!(splice(b"abcdef", &[edit(2, 2, b"x")], std::slice::from_ref(&(0..4)), 1).is_err());
    }

    #[test]
    fn insertions_follow_each_other_where_they_are_aligned() {
        let mut second = edit(3, 3, b"22");
        second.align = 4;
        let spliced = splice(b"abcdef", &[edit(3, 3, b"1"), second], &[], 1).unwrap();
        assert_eq!((spliced.placed, spliced.moves), (vec![3, 4], vec![(3, 6)]));
        assert_eq!(spliced.bytes.into_bytes(), b"abc122def");
    }
}
