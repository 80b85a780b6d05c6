//! A file as pieces of another one that is nearly the same, and what is new in it.

use std::collections::HashMap;

/// Matches are found by blocks of this size.
const BLOCK: usize = 64;
/// A shorter match costs more than its bytes.
const LEAST: usize = 16;
/// So many changed bytes are taken for a changed number, behind which all is as before.
const CHANGED: usize = 64;

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'n> {
    /// So many bytes of the old file from an offset.
    Old { offset: u64, size: u64 },
    /// Bytes that the old file does not have there.
    New(&'n [u8]),
}

/// The old file, searchable.
pub(super) struct Old<'o> {
    bytes: &'o [u8],
    blocks: HashMap<u64, usize>,
    /// Where the next match is likely: what follows mostly follows there, too.
    next: usize,
}

impl<'o> Old<'o> {
    pub(super) fn new(bytes: &'o [u8]) -> Self {
        let mut blocks = HashMap::new();
        for (number, block) in bytes.chunks_exact(BLOCK).enumerate() {
            let at = number.saturating_mul(BLOCK);
            // The first place counts. Hashes may be the same by chance: `common` compares the bytes.
            blocks.entry(Rolling::over(block).hash).or_insert(at);
        }
        Self {
            bytes,
            blocks,
            next: 0,
        }
    }

    /// Hands over the parts of `new`, in order.
    pub(super) fn parts<'n>(&mut self, new: &'n [u8], add: &mut dyn FnMut(Part<'n>)) {
        let mut done = 0;
        let mut at = 0;
        while let Some((found, offset, size)) = self.next_match(new, at) {
            if let Some(fresh) = new.get(done..found).filter(|fresh| !fresh.is_empty()) {
                add(Part::New(fresh));
            }
            add(Part::Old {
                offset: offset as u64,
                size: size as u64,
            });
            at = found.saturating_add(size);
            done = at;
            self.next = offset.saturating_add(size);
        }
        if let Some(fresh) = new.get(done..).filter(|fresh| !fresh.is_empty()) {
            add(Part::New(fresh));
        }
    }

    /// The first match at or behind a place: where, where in the old file, and how long.
    fn next_match(&self, new: &[u8], at: usize) -> Option<(usize, usize, usize)> {
        // First where the last match would go on, as headers differ in a few numbers; only then everywhere, which is
        // slow.
        for skipped in 0..=CHANGED {
            let (place, offset) = (at.saturating_add(skipped), self.next.saturating_add(skipped));
            let size = self.common(new, place, offset);
            // The last bytes may be fewer than what makes a match worth its step.
            let is_rest = size > 0 && place.saturating_add(size) == new.len();
            if size >= LEAST || is_rest {
                return Some((place, offset, size));
            }
        }
        // As rsync does it: blocks of the old file at multiples of their size, and the same window of the new one at
        // every byte.
        // Of fewer bytes than a block nothing more is found: they are new.
        let mut rolling = Rolling::over(new.get(at..at.checked_add(BLOCK)?)?);
        let mut place = at;
        loop {
            if let Some(offset) = self.blocks.get(&rolling.hash) {
                let size = self.common(new, place, *offset);
                // With less than a block in common only the hashes were the same.
                if size >= BLOCK {
                    return Some((place, *offset, size));
                }
            }
            let leaves = *new.get(place)?;
            let comes = *new.get(place.checked_add(BLOCK)?)?;
            rolling.roll(leaves, comes);
            place = place.saturating_add(1);
        }
    }

    /// How many bytes are the same.
    fn common(&self, new: &[u8], place: usize, offset: usize) -> usize {
        let new = new.get(place..).unwrap_or_default();
        let old = self.bytes.get(offset..).unwrap_or_default();
        const STEP: usize = 64;
        let mut chunks = new.chunks_exact(STEP).zip(old.chunks_exact(STEP));
        let same = chunks.position(|(new, old)| new != old);
        let whole = new.len().min(old.len()).checked_div(STEP).unwrap_or_default();
        let start = same.unwrap_or(whole).saturating_mul(STEP);
        let rest = new.get(start..).unwrap_or_default().iter();
        let rest = rest.zip(old.get(start..).unwrap_or_default());
        start.saturating_add(rest.take_while(|(new, old)| new == old).count())
    }
}

/// A hash over [`BLOCK`] bytes that can move on by one byte.
struct Rolling {
    hash: u64,
}

impl Rolling {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    /// What the first byte of a block has been multiplied with when the block is past.
    const FACTOR_OF_FIRST: u64 = {
        let (mut factor, mut number) = (1_u64, 0);
        while number < BLOCK {
            factor = factor.wrapping_mul(Self::FACTOR);
            number += 1;
        }
        factor
    };

    fn over(block: &[u8]) -> Self {
        let hash = block.iter().fold(0_u64, |hash, byte| {
            hash.wrapping_mul(Self::FACTOR).wrapping_add(Self::value(*byte))
        });
        Self { hash }
    }

    /// A byte is never nothing, so that zeros count too.
    fn value(byte: u8) -> u64 {
        u64::from(byte).wrapping_add(1)
    }

    fn roll(&mut self, leaves: u8, comes: u8) {
        let gone = Self::value(leaves).wrapping_mul(Self::FACTOR_OF_FIRST);
        let next = self.hash.wrapping_mul(Self::FACTOR);
        self.hash = next.wrapping_sub(gone).wrapping_add(Self::value(comes));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rebuilt(old: &[u8], new: &[u8]) -> (Vec<u8>, usize) {
        let (mut out, mut fresh) = (Vec::new(), 0);
        Old::new(old).parts(new, &mut |part| match part {
            Part::Old { offset, size } => {
                out.extend_from_slice(&old[offset as usize..][..size as usize]);
            }
            Part::New(bytes) => {
                fresh += bytes.len();
                out.extend_from_slice(bytes);
            }
        });
        (out, fresh)
    }

    #[test]
    fn what_moved_is_found_again() {
        let old: Vec<u8> = (0..40_000_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
        let mut new = [&old[70_000..90_001], b"new", &old[..50_000]].concat();
        new[30_000] ^= 1;
        let (out, fresh) = rebuilt(&old, &new);
        assert!(out == new && fresh < 200, "{fresh}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parts_make_up_the_new_file(old in proptest::collection::vec(0..3_u8, 0..900), new in proptest::collection::vec(0..3_u8, 0..900)) {
            let (out, _) = rebuilt(&old, &new);
            prop_assert_eq!(out, new);
        }
    }
}
