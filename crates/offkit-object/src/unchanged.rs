//! Whether a new file has the bytes of an old one: what it took over from there as it is need not be read.

use std::ops::Range;

use offkit_image::{DeviceImage, range_within};
use twox_hash::XxHash3_64;

use crate::chunks::Chunks;

/// Where bytes of a new file come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins(Vec<Taken>);

/// Bytes that were taken over.
#[derive(Debug, Clone)]
struct Taken {
    new: Range<usize>,
    old_start: usize,
}

impl Origins {
    /// Those of a file that was made of these pieces, some of which are of the old file.
    pub(crate) fn of(chunks: &Chunks<'_>, old: &[u8]) -> Self {
        let mut taken: Vec<Taken> = Vec::new();
        let mut start = 0_usize;
        for piece in chunks.slices() {
            let new = start..start.saturating_add(piece.len());
            start = new.end;
            // By address: a piece that was borrowed from the old file lies in it, and a copy does not.
            let Some(from) = range_within(old, piece).filter(|from| !from.is_empty()) else {
                continue;
            };
            match taken.last_mut() {
                // Both go on where the last one ends.
                Some(last) if last.new.end == new.start && last.old_end() == from.start => {
                    last.new.end = new.end
                }
                _ => taken.push(Taken {
                    new,
                    old_start: from.start,
                }),
            }
        }
        Self(taken)
    }

    /// Whether the new bytes were taken over from the old place, as one.
    fn has(&self, old: &Range<usize>, new: &Range<usize>) -> bool {
        let behind = self.0.partition_point(|taken| taken.new.start <= new.start);
        let taken = behind.checked_sub(1).and_then(|index| self.0.get(index));
        taken.is_some_and(|taken| {
            let within = new.start.checked_sub(taken.new.start);
            let from = within.and_then(|within| taken.old_start.checked_add(within));
            new.end <= taken.new.end && from == Some(old.start) && old.len() == new.len()
        })
    }
}

impl Taken {
    fn old_end(&self) -> usize {
        self.old_start.saturating_add(self.new.len())
    }
}

/// The bytes of an image as they are stored, to be compared with those of the same image in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Where they are in the file.
    At(Range<usize>),
    /// Of those that came out of something compressed, which are gone.
    Digest(u64),
}

impl Stored {
    pub(crate) fn of(image: &DeviceImage<'_>, file: &[u8]) -> Self {
        let bytes = image.stored_bytes();
        range_within(file, bytes).map_or_else(|| Self::Digest(digest(bytes)), Self::At)
    }
}

/// Two files, and what is known of how the new one was made.
pub(crate) struct Files<'f> {
    pub(crate) old: &'f [u8],
    pub(crate) new: &'f [u8],
    pub(crate) origins: &'f Origins,
}

impl Files<'_> {
    /// Whether the new image has the bytes of the old one.
    pub(crate) fn have_same(&self, old: &Stored, new: &Stored) -> bool {
        let digest_at = |file: &[u8], range: &Range<usize>| file.get(range.clone()).map(digest);
        match (old, new) {
            (Stored::At(old), Stored::At(new)) => {
                // Without a look at the bytes, which of a large file would all have to come from
                // the disk again.
                self.origins.has(old, new)
                    || matches!(
                        (self.old.get(old.clone()), self.new.get(new.clone())),
                        (Some(old), Some(new)) if old == new
                    )
            }
            (Stored::Digest(old), Stored::Digest(new)) => old == new,
            (Stored::At(old), Stored::Digest(new)) => digest_at(self.old, old) == Some(*new),
            (Stored::Digest(old), Stored::At(new)) => digest_at(self.new, new) == Some(*old),
        }
    }
}

pub(crate) fn digest(bytes: &[u8]) -> u64 {
    // To find this program's own mistakes in what it has written, so that 64 bits without a secret
    // do: nobody gains by making two images the same.
    XxHash3_64::oneshot(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was taken over is the same without a look at it, and nothing else is.
    #[test]
    fn only_what_was_taken_over_as_one_is_not_compared() {
        let old: Vec<u8> = (0..40_000_u32).flat_map(u32::to_le_bytes).collect();
        let (one, two) = (&old[..50_000], &old[50_000..90_000]);
        let mut chunks = Chunks::new();
        chunks.copy(b"head");
        chunks.push(one);
        chunks.push(two);
        chunks.push(vec![7; 5000]);
        chunks.push(&old[100_000..110_000]);
        let origins = Origins::of(&chunks, &old);
        assert!(
            origins.has(&(40_000..60_000), &(40_004..60_004)),
            "in two pieces that belong together"
        );
        assert!(origins.has(&(100_000..110_000), &(95_004..105_004)));
        for (from, to) in [
            (40_001..60_001, 40_004..60_004),
            (0..8, 0..8),
            (89_999..90_001, 90_003..90_005),
            (40_000..60_000, 40_004..60_003),
            (109_999..110_001, 105_003..105_005),
        ] {
            assert!(!origins.has(&from, &to), "{from:?} {to:?}");
        }
        let mut new = chunks.into_bytes();
        new[3] = b'D';
        let files = Files {
            old: &old,
            new: &new,
            origins: &origins,
        };
        // Compared where nothing is known of where they come from.
        assert!(files.have_same(&Stored::At(7..8), &Stored::At(90_004..90_005)) == (old[7] == 7));
        assert!(files.have_same(&Stored::At(0..9), &Stored::Digest(digest(&old[..9]))));
        assert!(!files.have_same(&Stored::Digest(digest(&old[..9])), &Stored::At(5..14)));
        assert!(!files.have_same(&Stored::At(0..4), &Stored::At(0..4)));
        assert!(!files.have_same(&Stored::At(usize::MAX - 1..usize::MAX), &Stored::At(0..1)));
    }
}
