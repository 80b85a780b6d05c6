//! Compressed parts: which methods there are, unpacking them within bounds, and packing.
//!
//! The one place that knows which methods this crate is built with. Each is a module, and [`missing`] has one of the
//! same functions for each that is left out: they fail with an error that names the feature, so that nobody else needs
//! to ask.

#[cfg(feature = "lz4")]
pub(crate) mod lz4;
#[cfg(not(all(feature = "lz4", feature = "xz", feature = "zlib", feature = "zstd")))]
mod missing;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zlib")]
pub(crate) mod zlib;
#[cfg(feature = "zstd")]
pub(crate) mod zstd;

#[cfg(not(feature = "lz4"))]
pub(crate) use missing::lz4;
#[cfg(not(feature = "xz"))]
use missing::xz;
#[cfg(not(feature = "zlib"))]
pub(crate) use missing::zlib;
#[cfg(not(feature = "zstd"))]
pub(crate) use missing::zstd;

use std::io;

use offkit_image::{Compression, Error, ErrorKind};

/// What begins each frame of zstd.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Unpacks `bytes`; no more than `limit` bytes come out, whatever the input claims.
///
/// `size` is what the container promises; another size is an error.
pub(crate) fn inflate(
    compression: Compression,
    bytes: &[u8],
    size: Option<u64>,
    limit: u64,
) -> Result<Vec<u8>, Error> {
    inflate_passing(compression, bytes, size, limit, &|_| {})
}

/// The same, and tells of the parts of `bytes` that were unpacked and are not looked at again.
pub(crate) fn inflate_passing(
    compression: Compression,
    bytes: &[u8],
    size: Option<u64>,
    limit: u64,
    passed: &dyn Fn(&[u8]),
) -> Result<Vec<u8>, Error> {
    // No work is done for a promise that would be refused in the end.
    if size.is_some_and(|size| size > limit) {
        return Err(too_large(limit).finding(format_args!("{}", size.unwrap_or_default())));
    }
    let mut out = Vec::new();
    if let Some(size) = size
        && let Some(result) = inflate_at_once(compression, bytes, size, &mut out)
    {
        passed(bytes);
        return result.map(|()| out);
    }
    let stream = Stream {
        bytes,
        taken: 0,
        passed,
    };
    let out = match compression {
        Compression::Zlib => zlib::inflate(stream, size, limit),
        Compression::Deflate => zlib::inflate_bare(stream, size, limit),
        Compression::Zstd => zstd::inflate(stream, size, limit),
        Compression::Lz4 => lz4::inflate(bytes, size, limit),
        Compression::Gzip | Compression::Xz | Compression::Bzip2 => reader(compression, stream)
            .and_then(|reader| drain(reader, size, limit).map_err(|error| damaged(compression, error))),
        // What is in a module is taken out by the container that the module is.
        Compression::Bitcode => Err(Error::unsupported("bitcode is no stream of compressed bytes")),
    }?;
    let length = out.len() as u64;
    // `drain` takes one byte more than it may, so that this shows.
    if length > limit {
        return Err(too_large(limit));
    }
    check_size(size, length)?;
    Ok(out)
}

/// The same into something else than memory: the inner error is that of writing.
pub(crate) fn inflate_into(
    out: &mut dyn io::Write,
    compression: Compression,
    bytes: &[u8],
    size: Option<u64>,
    limit: u64,
    passed: &dyn Fn(&[u8]),
) -> Result<io::Result<()>, Error> {
    use io::Read;
    const PIECE: usize = 1 << 18;
    let stream = Stream {
        bytes,
        taken: 0,
        passed,
    };
    let mut reader = reader(compression, stream)?;
    let mut piece = vec![0; PIECE];
    let mut length = 0_u64;
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(damaged(compression, error)),
        };
        length = length.saturating_add(count as u64);
        if length > limit {
            return Err(too_large(limit));
        }
        // Apart from faults of the stream: when a disk is full, the caller begins again in memory.
        if let Err(error) = out.write_all(piece.get(..count).unwrap_or_default()) {
            return Ok(Err(error));
        }
    }
    check_size(size, length).map(Ok)
}

/// Unpacks the beginning of what comes out of `bytes`, until `is_enough` says so of it, and no more than `most` bytes. It is
/// not made sure that the rest can be unpacked.
#[cfg(all(feature = "inspect", feature = "write"))]
pub(crate) fn inflate_front(
    compression: Compression,
    bytes: &[u8],
    most: u64,
    out: &mut Vec<u8>,
    is_enough: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    match compression {
        Compression::Zstd => zstd::front(bytes, most, out, is_enough),
        Compression::Lz4 => lz4::front(bytes, most, out, is_enough),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Refuses another size than what the container promises.
fn check_size(size: Option<u64>, length: u64) -> Result<(), Error> {
    match size {
        Some(size) if size != length => Err(Error::malformed(
            "decompressed size differs from what is promised",
        )
        .expecting(format!("{size:#x} bytes"))
        .finding(format_args!("{length:#x}"))),
        _ => Ok(()),
    }
}

/// Unpacks a stream that is too large to be in memory.
pub(crate) fn reader<'r>(
    compression: Compression,
    stream: impl io::Read + 'r,
) -> Result<Box<dyn io::Read + 'r>, Error> {
    match compression {
        Compression::Gzip => zlib::gzip_reader(stream),
        Compression::Deflate => zlib::bare_reader(stream),
        Compression::Xz => xz::reader(stream),
        Compression::Zstd => zstd::reader(stream),
        other => Err(
            Error::unsupported("content is compressed in a way that is not read")
                .expecting("gzip, xz or zstd")
                .finding(other),
        ),
    }
}

/// Compressed bytes on their way into a decompressor.
struct Stream<'a> {
    /// Those that nobody was told of.
    bytes: &'a [u8],
    /// How many of these the decompressor has.
    taken: usize,
    passed: &'a dyn Fn(&[u8]),
}

impl io::Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const TOLD_TOGETHER: usize = 1 << 22;
        let count = self.bytes.get(self.taken..).unwrap_or_default().read(buffer)?;
        self.taken = self.taken.saturating_add(count);
        // Few large ranges, as `Memory::passed` asks, and the rest at the end.
        if (self.taken >= TOLD_TOGETHER || count == 0)
            && let Some((told, rest)) = self.bytes.split_at_checked(self.taken)
        {
            (self.passed)(told);
            (self.bytes, self.taken) = (rest, 0);
        }
        Ok(count)
    }
}

/// Unpacks `bytes`, of which exactly `size` must come out.
pub fn inflate_whole(compression: Compression, bytes: &[u8], size: u64) -> Result<Vec<u8>, Error> {
    inflate(compression, bytes, Some(size), size)
}

/// The same into memory that was used before.
pub(crate) fn inflate_whole_into(
    out: &mut Vec<u8>,
    compression: Compression,
    bytes: &[u8],
    size: u64,
) -> Result<(), Error> {
    let at_once = match compression {
        Compression::Lz4 => lz4::inflate_at_once(bytes, size, out)
            .map(|result| result.and_then(|()| check_size(Some(size), out.len() as u64))),
        _ => inflate_at_once(compression, bytes, size, out),
    };
    match at_once {
        Some(result) => result,
        None => inflate_whole(compression, bytes, size).map(|bytes| *out = bytes),
    }
}

/// The same where it can be done by one call; `None` where it cannot.
fn inflate_at_once(
    compression: Compression,
    bytes: &[u8],
    size: u64,
    out: &mut Vec<u8>,
) -> Option<Result<(), Error>> {
    if compression != Compression::Zstd {
        return None;
    }
    let result = zstd::inflate_at_once(bytes, size, out)?;
    Some(result.and_then(|()| check_size(Some(size), out.len() as u64)))
}

pub(crate) fn too_large(limit: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, "too much compressed data")
        .expecting(format!("at most {limit} bytes"))
}

/// The error for bytes that are no stream of this kind.
pub(crate) fn damaged(compression: Compression, error: impl std::fmt::Display) -> Error {
    Error::malformed("compressed data cannot be decompressed")
        .at(0)
        .expecting(format!("a whole {compression} stream"))
        .finding(error)
}

/// The error of a compressor.
#[cfg(any(feature = "zlib", feature = "zstd"))]
fn failed(error: io::Error) -> Error {
    Error::unrepresentable("data cannot be compressed").finding(error)
}

/// Reads to the end or to one byte more than is allowed. Memory is taken as data arrive, never on a mere
/// promise larger than a few pages.
fn drain(reader: impl io::Read, size: Option<u64>, limit: u64) -> io::Result<Vec<u8>> {
    use io::Read;
    const TRUSTED: u64 = 1 << 16;
    // The byte too many tells the caller that there is more: without it the beginning of a stream
    // that is too long would pass for all of it.
    let most = size.unwrap_or(limit).min(limit).saturating_add(1);
    let mut out = Vec::with_capacity(usize::try_from(most.min(TRUSTED)).unwrap_or_default());
    reader.take(most).read_to_end(&mut out)?;
    Ok(out)
}
