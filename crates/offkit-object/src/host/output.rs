//! An edited file in the making.

use std::borrow::Cow;
use std::ops::Range;

use crate::chunks::Chunks;

/// New contents from this size on are not copied.
const WORTH_BORROWING: usize = 1 << 16;

/// Bytes that can still be changed, and among them large new contents that stay where they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Output<'data> {
    /// All but the borrowed contents.
    own: Vec<u8>,
    /// In order.
    borrowed: Vec<Borrowed<'data>>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Borrowed<'data> {
    start: usize,
    /// How many bytes of its own the file has before it.
    own_before: usize,
    bytes: &'data [u8],
}

impl<'data> Output<'data> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            own: Vec::with_capacity(capacity),
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds bytes by copying them.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.own.extend_from_slice(bytes);
        self.len = self.len.saturating_add(bytes.len());
    }

    /// Adds a new content.
    #[expect(clippy::ptr_arg, reason = "only what is borrowed can stay where it is")]
    pub(super) fn push(&mut self, content: &Cow<'data, [u8]>) {
        match *content {
            Cow::Borrowed(bytes) if bytes.len() >= WORTH_BORROWING => {
                self.borrowed.push(Borrowed {
                    start: self.len,
                    own_before: self.own.len(),
                    bytes,
                });
                self.len = self.len.saturating_add(bytes.len());
            }
            _ => self.copy(content),
        }
    }

    /// Adds zeros up to this length.
    pub(super) fn fill_up(&mut self, len: usize) {
        let missing = len.saturating_sub(self.len);
        self.own.resize(self.own.len().saturating_add(missing), 0);
        self.len = self.len.saturating_add(missing);
    }

    /// Bytes that lie next to each other among the file's own, or in one borrowed content.
    pub(super) fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        match self.place(&range) {
            Place::Own(range) => self.own.get(range),
            Place::Borrowed(bytes, range) => bytes.get(range),
        }
    }

    /// Bytes of the file's own; a new content that is borrowed cannot be changed.
    pub(super) fn get_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        match self.place(&range) {
            Place::Own(range) => self.own.get_mut(range),
            Place::Borrowed(..) => None,
        }
    }

    fn place(&self, range: &Range<usize>) -> Place<'data> {
        // Bytes are only ever added at the end, so that starts are in order.
        let before = self.borrowed.partition_point(|other| other.start <= range.start);
        let last = before.checked_sub(1).and_then(|last| self.borrowed.get(last));
        let own = |start: usize| {
            let size = range.end.saturating_sub(range.start);
            start..start.saturating_add(size)
        };
        let Some(last) = last else {
            return Place::Own(self.limited(range.clone(), before));
        };
        let within = range.start.saturating_sub(last.start);
        match within.checked_sub(last.bytes.len()) {
            Some(behind) => Place::Own(self.limited(own(last.own_before.saturating_add(behind)), before)),
            None => Place::Borrowed(last.bytes, own(within)),
        }
    }

    /// A range of the file's own bytes, none of which may be behind the borrowed content `next`.
    fn limited(&self, range: Range<usize>, next: usize) -> Range<usize> {
        match self.borrowed.get(next) {
            // A range that no bytes have: what spans a borrowed content is not next to each other in memory.
            Some(next) if range.end > next.own_before => usize::MAX..usize::MAX,
            _ => range,
        }
    }

    pub(super) fn into_chunks(self) -> Chunks<'data> {
        let mut chunks = Chunks::new();
        let mut done = 0;
        for borrowed in &self.borrowed {
            // A part of `own` cannot move out of it without a copy.
            chunks.copy(self.own.get(done..borrowed.own_before).unwrap_or_default());
            chunks.push(borrowed.bytes);
            done = borrowed.own_before;
        }
        // Nothing of its own comes before what is borrowed, so that all of it can move out without a copy.
        if done == 0 {
            chunks.push(self.own);
        } else {
            chunks.copy(self.own.get(done..).unwrap_or_default());
        }
        chunks
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self.borrowed.is_empty() {
            true => self.own,
            false => self.into_chunks().into_bytes(),
        }
    }
}

impl From<Vec<u8>> for Output<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            len: bytes.len(),
            own: bytes,
            borrowed: Vec::new(),
        }
    }
}

enum Place<'data> {
    Own(Range<usize>),
    Borrowed(&'data [u8], Range<usize>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_borrowed_is_read_in_its_place_and_never_changed() {
        let large = vec![7; WORTH_BORROWING];
        let end = 4 + large.len();
        let mut output = Output::with_capacity(8);
        output.copy(b"head");
        output.push(&Cow::Borrowed(&large));
        output.push(&Cow::Borrowed(b"tail"));
        output.fill_up(end + 6);
        assert_eq!(output.len(), end + 6);
        assert_eq!(output.get(0..4), Some(b"head".as_slice()));
        assert_eq!(output.get(4..6), Some([7, 7].as_slice()));
        assert_eq!(output.get(end..end + 6), Some(b"tail\0\0".as_slice()));
        for across in [3..5, end - 1..end + 1, end + 5..end + 7] {
            assert_eq!(output.get(across), None);
        }
        assert!(output.get_mut(5..6).is_none());
        output.get_mut(end..end + 1).unwrap()[0] = b'T';
        let bytes = output.clone().into_bytes();
        assert_eq!(bytes, [b"head".as_slice(), &large, b"Tail\0\0"].concat());
        let chunks = output.into_chunks();
        assert_eq!(chunks.slices()[1].as_ptr(), large.as_ptr());
        assert_eq!(chunks.into_bytes(), bytes);
    }
}
