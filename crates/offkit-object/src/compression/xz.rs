//! xz.

use std::io::Read;

use lzma_rust2::XzReader;
use offkit_image::Error;

pub(super) fn reader<'r>(stream: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
    /// In KiB; `xz -9` needs 65 MiB.
    const MOST_MEMORY: u32 = 1 << 18;
    Ok(Box::new(XzReader::new_mem_limit(stream, true, MOST_MEMORY)))
}
