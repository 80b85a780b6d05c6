//! Compressed parts: which methods there are, unpacking them within bounds, and packing.
//!
//! The one place that knows which methods this crate is built with. Each is a module, and [`missing`] has one of the
//! same functions for each that is left out: they fail with an error that names the feature, so that nobody else needs
//! to ask.

#[cfg(feature = "lz4")]
pub(crate) mod lz4;
#[cfg(not(all(feature = "lz4", feature = "zlib", feature = "zstd")))]
mod missing;
#[cfg(feature = "zlib")]
pub(crate) mod zlib;
#[cfg(feature = "zstd")]
pub(crate) mod zstd;

#[cfg(not(feature = "lz4"))]
pub(crate) use missing::lz4;
#[cfg(not(feature = "zlib"))]
pub(crate) use missing::zlib;
#[cfg(not(feature = "zstd"))]
pub(crate) use missing::zstd;

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
        Compression::Zlib => zlib::inflate(bytes, size, limit),
        Compression::Deflate => zlib::inflate_bare(bytes, size, limit),
        Compression::Zstd => zstd::inflate(bytes, size, limit),
        Compression::Lz4 => lz4::inflate(bytes, size, limit),
    }?;
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

/// The error for bytes that are no stream of this kind.
#[cfg(any(feature = "lz4", feature = "zlib", feature = "zstd"))]
fn damaged(compression: Compression, error: impl std::fmt::Display) -> Error {
    Error::malformed("compressed data cannot be decompressed")
        .at(0)
        .expecting(format!("a whole {compression} stream"))
        .finding(error)
}

/// The error of a compressor.
#[cfg(any(feature = "zlib", feature = "zstd"))]
fn failed(error: std::io::Error) -> Error {
    Error::unrepresentable("data cannot be compressed").finding(error)
}

/// Reads to the end or to one byte more than is allowed. Memory is taken as data arrive, never on a mere
/// promise larger than a few pages.
#[cfg(any(feature = "zlib", feature = "zstd"))]
fn drain(reader: impl std::io::Read, size: Option<u64>, limit: u64) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    const TRUSTED: u64 = 1 << 16;
    let most = size.unwrap_or(limit).min(limit).saturating_add(1);
    let mut out = Vec::with_capacity(usize::try_from(most.min(TRUSTED)).unwrap_or_default());
    reader.take(most).read_to_end(&mut out)?;
    Ok(out)
}
