//! xz.

use std::io::{self, Read};

use lzma_rust2::XzReader;
use offkit_image::Error;

pub(super) fn reader<'r>(stream: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
    /// In KiB; `xz -9` needs 65 MiB.
    const MOST_MEMORY: u32 = 1 << 18;
    Ok(Box::new(Failing {
        // `true`: several streams may follow each other, as when files of xz are put together.
        inner: XzReader::new_mem_limit(stream, true, MOST_MEMORY),
        failed: None,
    }))
}

/// A stream that has failed, and fails from then on: the decoder goes round in circles if it is read on behind an error.
struct Failing<R> {
    inner: R,
    failed: Option<io::ErrorKind>,
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(kind) = self.failed {
            return Err(kind.into());
        }
        let result = self.inner.read(buffer);
        self.failed = result.as_ref().err().map(io::Error::kind);
        result
    }
}
