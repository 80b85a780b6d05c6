//! How those who go through large files keep them out of memory.

use std::io;
use std::ops::Range;

/// What a walk through a large file may do so that it takes little memory. `()` does nothing of it.
pub trait Memory: Sync {
    /// These bytes of the file were passed, so that the pages of a mapped file need not stay: not many small ranges but
    /// few large ones, and those of a compressed member while it is decompressed. They may be looked at again.
    fn passed(&self, _range: Range<usize>) {}

    /// Whether [`outside`](Self::outside) has a place.
    fn has_outside(&self) -> bool {
        false
    }

    /// A place outside of memory, such as a temporary file, for what comes out of one large compressed member; `None`
    /// where there is none, and memory has to do.
    fn outside(&self) -> Option<Box<dyn Outside>> {
        None
    }
}

impl Memory for () {}

/// A place outside of memory that bytes are written to.
pub trait Outside: io::Write {
    /// All that was written, to be read.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn finish(self: Box<Self>) -> io::Result<Box<dyn Kept>>;
}

/// What was put outside of memory.
pub trait Kept: Memory + Send {
    /// All of its bytes.
    fn bytes(&self) -> &[u8];
}
