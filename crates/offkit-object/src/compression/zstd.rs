//! Zstandard.

use std::cell::RefCell;
use std::io::{self, Read, Write};

use offkit_image::{Compression, Error};
use zstd::stream::read::Decoder;
use zstd::zstd_safe;

pub(crate) fn inflate(bytes: impl Read, size: Option<u64>, limit: u64) -> Result<Vec<u8>, Error> {
    Decoder::new(bytes)
        .and_then(|decoder| super::drain(decoder, size, limit))
        .map_err(|error| super::damaged(Compression::Zstd, error))
}

/// How many times the size of a stream is taken as what comes out of it on its mere word: CUDA's code often comes to more
/// than 30 times. Memory that nothing is written to is never there.
const BELIEVED: u64 = 256;

thread_local! {
    // Setting one up takes as long as some ten KiB.
    static CONTEXT: RefCell<zstd_safe::DCtx<'static>> = RefCell::new(zstd_safe::DCtx::create());
}

/// The same for bytes that are all there: in one call into memory of the right size, where the promise is no larger than
/// usual; `None` where it is. What comes out of a stream is copied once more, and moved as it grows.
pub(crate) fn inflate_at_once(bytes: &[u8], size: u64, out: &mut Vec<u8>) -> Option<Result<(), Error>> {
    if size > (bytes.len() as u64).saturating_mul(BELIEVED) {
        return None;
    }
    out.clear();
    // Where there is no memory, streams say so.
    out.try_reserve_exact(usize::try_from(size).ok()?).ok()?;
    // Into all of the capacity, which memory that was used before may have more of than `size`. So
    // more than that may come out, and callers compare.
    let result = CONTEXT.with_borrow_mut(|context| context.decompress(out, bytes));
    let result = result.map(drop);
    Some(result.map_err(|code| super::damaged(Compression::Zstd, zstd_safe::get_error_name(code))))
}

pub(crate) fn reader<'r>(stream: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
    match Decoder::new(stream) {
        Ok(decoder) => Ok(Box::new(decoder)),
        Err(error) => Err(super::damaged(Compression::Zstd, error)),
    }
}

/// What the stream begins with, no more than `most` bytes; `None` where it cannot be told.
pub(crate) fn head(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let decoder = Decoder::with_buffer(bytes).ok()?;
    decoder.take(most as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Unpacks the beginning of a stream, no more than `most` bytes, until `is_enough` says so of what came out.
#[cfg(all(feature = "inspect", feature = "write"))]
pub(crate) fn front(
    bytes: &[u8],
    most: u64,
    out: &mut Vec<u8>,
    is_enough: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    /// No block of a stream is larger.
    const PIECE: usize = 1 << 17;
    out.clear();
    CONTEXT.with_borrow_mut(|context| {
        // What another stream left in it, of which only the beginning was wanted.
        context
            .reset(zstd_safe::ResetDirective::SessionOnly)
            .map_err(|code| io::Error::other(zstd_safe::get_error_name(code)))?;
        let mut stream = Decoder::with_context(bytes, context).take(most);
        loop {
            let piece = (&mut stream).take(PIECE as u64).read_to_end(out)?;
            if is_enough(out) || piece < PIECE {
                return Ok(());
            }
        }
    })
}

/// The size of the frame at the start of `bytes`.
pub(crate) fn frame_size(bytes: &[u8]) -> Result<u64, Error> {
    zstd_safe::find_frame_compressed_size(bytes)
        .map(|size| size as u64)
        .map_err(|_| {
            Error::malformed("compressed data cannot be decompressed").expecting("a whole zstd stream")
        })
}

/// The size of what comes out of the frame at the start of `bytes`, if the frame tells it.
pub(crate) fn content_size(bytes: &[u8]) -> Option<u64> {
    zstd_safe::get_frame_content_size(bytes).ok().flatten()
}

/// Compresses the pieces as one stream that tells its size.
pub(crate) fn compress_pieces(pieces: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let total = pieces
        .iter()
        .fold(0_u64, |size, piece| size.saturating_add(piece.len() as u64));
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 0).map_err(super::failed)?;
    // As LLVM's one call does: readers may ask the stream for the size.
    encoder
        .set_pledged_src_size(Some(total))
        .and_then(|()| pieces.iter().try_for_each(|piece| encoder.write_all(piece)))
        .and_then(|()| encoder.finish())
        .map_err(super::failed)
}

/// Compresses with a level, or zstd's own; matches far away are searched for too where `far` says so.
pub(crate) fn compress(bytes: &[u8], level: Option<i32>, far: bool) -> Result<Vec<u8>, Error> {
    zstd::bulk::Compressor::new(level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL))
        .and_then(|mut compressor| {
            compressor.long_distance_matching(far)?;
            compressor.compress(bytes)
        })
        .map_err(super::failed)
}
