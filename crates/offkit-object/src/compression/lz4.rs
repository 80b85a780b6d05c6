//! LZ4, as bare blocks.

#[cfg(all(feature = "inspect", feature = "write"))]
mod front;

use offkit_image::{Compression, Error};

#[cfg(all(feature = "inspect", feature = "write"))]
pub(crate) use front::front;

pub(crate) fn inflate(bytes: &[u8], size: Option<u64>, limit: u64) -> Result<Vec<u8>, Error> {
    // A block has no end of its own: without a size there is no telling how much room it needs.
    // No byte of a block stands for more than 255 that come out: lengths go on in bytes of at most that.
    let most = (bytes.len() as u64).saturating_mul(255);
    let room = size.unwrap_or(limit).min(most);
    let room = usize::try_from(room).unwrap_or_default();
    lz4_flex::block::decompress(bytes, room).map_err(|error| super::damaged(Compression::Lz4, error))
}

/// The same for the size that must come out, into memory that was used before; `None` where no block of this size has so
/// much in it.
pub(crate) fn inflate_at_once(bytes: &[u8], size: u64, out: &mut Vec<u8>) -> Option<Result<(), Error>> {
    if size > (bytes.len() as u64).saturating_mul(255) {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    // Where there is no memory, others say so.
    out.try_reserve_exact(size.saturating_sub(out.len())).ok()?;
    // What the last image left here is not cleared: the decoder overwrites it, and nothing behind
    // what came out is kept.
    out.resize(size, 0);
    let result = lz4_flex::block::decompress_into(bytes, out);
    Some(match result {
        Ok(length) => {
            out.truncate(length);
            Ok(())
        }
        Err(error) => Err(super::damaged(Compression::Lz4, error)),
    })
}

pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(lz4_flex::block::compress(bytes))
}
