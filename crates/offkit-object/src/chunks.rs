//! Files to be written, as pieces that need not be copied together.

use offkit_image::Bytes;

/// What a writer makes: pieces that follow each other.
///
/// Headers are owned, large images borrowed, so that a file of any size can be written without a copy of it
/// in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunks<'data> {
    pieces: Vec<Bytes<'data>>,
    /// What comes after the pieces, still growing.
    tail: Vec<u8>,
    length: u64,
}

/// Smaller pieces are gathered: a piece of its own costs more than copying. Pieces are best written many with one
/// call.
const WORTH_BORROWING: usize = 1 << 12;

impl<'data> Chunks<'data> {
    /// No bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces, in order.
    #[must_use]
    pub fn slices(&self) -> Vec<&[u8]> {
        let pieces = self.pieces.iter().map(|piece| &**piece);
        pieces.chain([self.tail.as_slice()]).collect()
    }

    /// All bytes in one piece.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        if self.pieces.is_empty() {
            self.tail
        } else {
            self.slices().concat()
        }
    }

    /// Adds bytes that live as long as the result.
    pub(crate) fn push(&mut self, bytes: impl Into<Bytes<'data>>) {
        let bytes = bytes.into();
        if bytes.len() < WORTH_BORROWING {
            return self.copy(&bytes);
        }
        self.length = self.length.saturating_add(bytes.len() as u64);
        if !self.tail.is_empty() {
            self.pieces.push(std::mem::take(&mut self.tail).into());
        }
        self.pieces.push(bytes);
    }

    /// Adds bytes by copying them.
    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        self.length = self.length.saturating_add(bytes.len() as u64);
        self.tail.extend_from_slice(bytes);
    }

    /// Adds all of another.
    pub(crate) fn append(&mut self, other: Chunks<'data>) {
        for piece in other.pieces {
            self.push(piece);
        }
        self.push(other.tail);
    }

    /// Adds zeros up to the next multiple of 8.
    pub(crate) fn pad_to_8(&mut self) {
        while !self.length.is_multiple_of(8) {
            self.copy(&[0]);
        }
    }
}

impl<'data> From<Bytes<'data>> for Chunks<'data> {
    fn from(bytes: Bytes<'data>) -> Self {
        let mut chunks = Self::new();
        chunks.push(bytes);
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pieces_are_borrowed_and_small_ones_gathered() {
        let large = vec![1; WORTH_BORROWING];
        let mut chunks = Chunks::new();
        chunks.copy(b"head");
        chunks.push(b"small".as_slice());
        chunks.pad_to_8();
        chunks.push(large.as_slice());
        chunks.push(b"end".as_slice());
        let slices = chunks.slices();
        assert_eq!(slices[0], b"headsmall\0\0\0\0\0\0\0");
        assert_eq!(slices[1].as_ptr(), large.as_ptr());
        assert_eq!(slices[2], b"end");
        assert_eq!(chunks.len(), 16 + large.len() as u64 + 3);
        assert_eq!(chunks.clone().into_bytes(), slices.concat());
        assert!(Chunks::new().into_bytes().is_empty());
    }
}
