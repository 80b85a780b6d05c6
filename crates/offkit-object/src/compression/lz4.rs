//! LZ4, as bare blocks.

use offkit_image::{Compression, Error};

pub(crate) fn inflate(bytes: &[u8], size: Option<u64>, limit: u64) -> Result<Vec<u8>, Error> {
    // A block has no end of its own: without a size there is no telling how much room it needs.
    let most = (bytes.len() as u64).saturating_mul(255);
    let room = size.unwrap_or(limit).min(most);
    let room = usize::try_from(room).unwrap_or_default();
    lz4_flex::block::decompress(bytes, room).map_err(|error| super::damaged(Compression::Lz4, error))
}

pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(lz4_flex::block::compress(bytes))
}
