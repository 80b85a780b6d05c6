//! Offsets of what a writer is about to write.

/// A running offset: each part asks for its room and gets its place.
///
/// Sums saturate; the parts exist in memory, so that they never do.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    end: u64,
}

impl Layout {
    pub(crate) fn starting_at(offset: u64) -> Self {
        Self { end: offset }
    }

    /// Room for `count` parts of `size` bytes each; the offset of the first.
    pub(crate) fn add(&mut self, count: usize, size: usize) -> u64 {
        self.add_bytes((count as u64).saturating_mul(size as u64))
    }

    /// Room for so many bytes; where they begin.
    pub(crate) fn add_bytes(&mut self, size: u64) -> u64 {
        let start = self.end;
        self.end = self.end.saturating_add(size);
        start
    }

    /// Goes to the next multiple of 8.
    pub(crate) fn align(&mut self) {
        self.end = align_to_8(self.end);
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

/// The first multiple of 8 at or after `offset`; `u64::MAX` when there is none.
pub(crate) fn align_to_8(offset: u64) -> u64 {
    offset.checked_next_multiple_of(8).unwrap_or(u64::MAX)
}

/// Fills `out` with zeros up to the next multiple of 8.
pub(crate) fn pad_to_8(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Whether there is nothing but zeros, as in padding.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
