//! zlib, and deflate, which is zlib without its header.

use std::io::{Read, Write};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, ZlibEncoder};
use flate2::{Decompress, FlushDecompress};
use offkit_image::{Compression, Error};

pub(crate) fn inflate(bytes: impl Read, size: Option<u64>, limit: u64) -> Result<Vec<u8>, Error> {
    super::drain(ZlibDecoder::new(bytes), size, limit)
        .map_err(|error| super::damaged(Compression::Zlib, error))
}

pub(crate) fn inflate_bare(bytes: impl Read, size: Option<u64>, limit: u64) -> Result<Vec<u8>, Error> {
    super::drain(DeflateDecoder::new(bytes), size, limit)
        .map_err(|error| super::damaged(Compression::Deflate, error))
}

/// Unpacks deflate without a header.
pub(crate) fn bare_reader<'r>(stream: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
    Ok(Box::new(DeflateDecoder::new(stream)))
}

/// Unpacks gzip's members, one behind the other.
pub(crate) fn gzip_reader<'r>(stream: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
    Ok(Box::new(MultiGzDecoder::new(stream)))
}

/// The beginnings of many deflate streams, with one decompressor for all.
pub(crate) struct Heads {
    inflater: Decompress,
    head: Vec<u8>,
}

impl Heads {
    /// For beginnings of no more than `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            inflater: Decompress::new(false),
            head: vec![0; most],
        }
    }

    /// What the stream that begins with `bytes` begins with; `None` where it cannot be told.
    pub(crate) fn of(&mut self, bytes: &[u8]) -> Option<&[u8]> {
        self.inflater.reset(false);
        // Not `Finish`, which promises that there is room for all that comes out: here the room is
        // small and the stream cut off, and neither is an error.
        self.inflater
            .decompress(bytes, &mut self.head, FlushDecompress::Sync)
            .ok()?;
        let length = usize::try_from(self.inflater.total_out()).unwrap_or(usize::MAX);
        Some(self.head.get(..length).unwrap_or(&self.head))
    }
}

/// Compresses without a header; without a level by zlib's own.
pub(crate) fn compress_bare(bytes: &[u8], level: Option<u32>) -> Result<Vec<u8>, Error> {
    let mut encoder = DeflateEncoder::new(Vec::new(), level_of(level));
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .map_err(super::failed)
}

/// Compresses the pieces as one; without a level by zlib's own.
pub(crate) fn compress(pieces: &[&[u8]], level: Option<u32>) -> Result<Vec<u8>, Error> {
    let mut encoder = ZlibEncoder::new(Vec::new(), level_of(level));
    pieces
        .iter()
        .try_for_each(|piece| encoder.write_all(piece))
        .and_then(|()| encoder.finish())
        .map_err(super::failed)
}

fn level_of(level: Option<u32>) -> flate2::Compression {
    level.map_or_else(flate2::Compression::default, |level| {
        flate2::Compression::new(level.min(9))
    })
}
