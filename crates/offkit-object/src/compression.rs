//! Compressed parts: which methods there are, and unpacking them within bounds.

use std::io::Read;

use offkit_image::{Compression, Error, ErrorKind};

/// Unpacks `bytes`; no more than `limit` bytes come out, whatever the input claims.
///
/// `size` is what the container promises; another size is an error.
pub(crate) fn inflate(
    compression: Compression,
    bytes: &[u8],
    size: Option<u64>,
    limit: u64,
) -> Result<Vec<u8>, Error> {
    if size.is_some_and(|size| size > limit) {
        return Err(too_large(limit).finding(format_args!("{}", size.unwrap_or_default())));
    }
    let out = match compression {
        Compression::Zlib => drain(flate2::read::ZlibDecoder::new(bytes), size, limit),
        Compression::Deflate => drain(flate2::read::DeflateDecoder::new(bytes), size, limit),
        Compression::Zstd => {
            zstd::stream::read::Decoder::with_buffer(bytes).and_then(|decoder| drain(decoder, size, limit))
        }
        Compression::Lz4 => {
            // A block has no end of its own: without a size there is no telling how much room it needs.
            let room = size.unwrap_or_else(|| (bytes.len() as u64).saturating_mul(255).min(limit));
            let room =
                usize::try_from(room.min((bytes.len() as u64).saturating_mul(255))).unwrap_or_default();
            lz4_flex::block::decompress(bytes, room).map_err(std::io::Error::other)
        }
    };
    let out = out.map_err(|error| {
        Error::malformed("compressed data cannot be decompressed")
            .at(0)
            .expecting(format!("a whole {compression} stream"))
            .finding(error)
    })?;
    let length = out.len() as u64;
    if length > limit {
        return Err(too_large(limit));
    }
    match size {
        Some(size) if size != length => Err(Error::malformed(
            "decompressed size differs from what is promised",
        )
        .expecting(format!("{size:#x} bytes"))
        .finding(format_args!("{length:#x}"))),
        _ => Ok(out),
    }
}

/// Unpacks `bytes`, of which exactly `size` must come out.
pub(crate) fn inflate_whole(compression: Compression, bytes: &[u8], size: u64) -> Result<Vec<u8>, Error> {
    inflate(compression, bytes, Some(size), size)
}

fn too_large(limit: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, "too much compressed data")
        .expecting(format!("at most {limit} bytes"))
}

/// Reads to the end or to one byte more than is allowed. Memory is taken as data arrive, never on a mere
/// promise larger than a few pages.
fn drain(reader: impl Read, size: Option<u64>, limit: u64) -> std::io::Result<Vec<u8>> {
    const TRUSTED: u64 = 1 << 16;
    let most = size.unwrap_or(limit).min(limit).saturating_add(1);
    let mut out = Vec::with_capacity(usize::try_from(most.min(TRUSTED)).unwrap_or_default());
    reader.take(most).read_to_end(&mut out)?;
    Ok(out)
}
