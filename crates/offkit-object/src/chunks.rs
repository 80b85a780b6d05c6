//! Files to be written, as pieces that need not be copied together.

use std::borrow::Cow;

use offkit_image::{Bytes, SharedBytes};

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

    /// All bytes in one piece, which are copied where they are not.
    pub(crate) fn joined(&self) -> Cow<'_, [u8]> {
        match (self.pieces.as_slice(), self.tail.as_slice()) {
            ([], tail) => Cow::Borrowed(tail),
            ([piece], []) => Cow::Borrowed(piece),
            _ => Cow::Owned(self.slices().concat()),
        }
    }

    /// Whether these are the same bytes. Pieces that are a part of the others at the same place are not read.
    pub(crate) fn are(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        self.length == bytes.len() as u64
            && self.slices().into_iter().all(|piece| {
                let (same, behind) = rest.split_at_checked(piece.len()).unwrap_or_default();
                rest = behind;
                std::ptr::eq(piece, same) || piece == same
            })
    }

    /// The same with a hold on `file` instead of what is borrowed from it.
    pub(crate) fn share(self, file: &SharedBytes) -> Chunks<'static> {
        Chunks {
            pieces: self.pieces.into_iter().map(|piece| piece.share(file)).collect(),
            tail: self.tail,
            length: self.length,
        }
    }

    /// The pieces by themselves.
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = Bytes<'data>> {
        let tail = (!self.tail.is_empty()).then(|| self.tail.into());
        self.pieces.into_iter().chain(tail)
    }

    /// Adds so many zeros.
    pub(crate) fn zeros(&mut self, count: u64) {
        // A static lives as long as any result: gigabytes of zeros are many borrows of these bytes.
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        let mut left = count;
        while left > 0 {
            let now = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
            self.push(ZEROS.get(..now).unwrap_or_default());
            left = left.saturating_sub(now as u64);
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
        // The lists cannot be joined: what the own tail holds by now comes before the other's
        // pieces, and `push` sees to that.
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

impl From<Vec<u8>> for Chunks<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            length: bytes.len() as u64,
            tail: bytes,
            pieces: Vec::new(),
        }
    }
}

impl<'data> From<&'data [u8]> for Chunks<'data> {
    fn from(bytes: &'data [u8]) -> Self {
        Bytes::from(bytes).into()
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
