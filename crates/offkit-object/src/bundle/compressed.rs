//! Compressed bundles: a small header, then a zlib or zstd stream.

use std::fmt;

use md5::{Digest, Md5};
use offkit_image::{Compression, Error, ErrorKind, Limits};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::COMPRESSED_MAGIC;
use crate::compression::{inflate, zlib, zstd};
use crate::reading::Reading;
use crate::source::Source;

/// What all versions begin with.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U16,
    method: U16,
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SizesV1 {
    content_size: U32,
    hash: U64,
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SizesV2 {
    file_size: U32,
    content_size: U32,
    hash: U64,
}

#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SizesV3 {
    file_size: U64,
    content_size: U64,
    hash: U64,
}

/// The versions of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CompressedVersion {
    /// Without the size of the file; LLVM 18.
    V1,
    /// Sizes of 32 bits; LLVM 19 to 21, ROCm 6 and 7.0.
    V2,
    /// Sizes of 64 bits; LLVM 22, ROCm 7.1.
    V3,
}

impl CompressedVersion {
    /// The number in the file.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// The size of the header in bytes.
    #[must_use]
    pub fn header_size(self) -> u64 {
        let sizes = match self {
            Self::V1 => size_of::<SizesV1>(),
            Self::V2 => size_of::<SizesV2>(),
            Self::V3 => size_of::<SizesV3>(),
        };
        size_of::<Header>().saturating_add(sizes) as u64
    }
}

impl fmt::Display for CompressedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// A compressed bundle as it is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressedBundle<'data> {
    /// The version of the header.
    pub version: CompressedVersion,
    /// How it is compressed.
    pub compression: Compression,
    /// The size in bytes of header and compressed data; version 1 does not have it.
    pub file_size: Option<u64>,
    /// The size in bytes of what comes out of decompression.
    pub content_size: u64,
    /// The first 8 bytes of the MD5 of what comes out of decompression, as a number.
    pub hash: u64,
    /// The compressed data: as much as the file size says, in version 1 everything.
    pub data: &'data [u8],
}

impl<'data> CompressedBundle<'data> {
    /// Reads the header of the compressed bundle at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// What is wrong with the header, and a bundle that is cut off.
    pub fn parse(bytes: &'data [u8]) -> Result<Self, Error> {
        let source = Source::new(bytes);
        let header = CompressedHeader::read(source)?;
        let data = header.data(source)?;
        Ok(Self {
            version: header.version,
            compression: header.compression,
            file_size: header.file_size,
            content_size: header.content_size,
            hash: header.hash,
            data: data.bytes(),
        })
    }

    /// What was compressed: nearly always a bundle in binary form.
    ///
    /// # Errors
    ///
    /// Data that cannot be decompressed, a size other than promised, and a content that is larger than
    /// `limits` allow for so much data. The hash is not compared: see [`hash_of`](Self::hash_of).
    pub fn decompress(&self, limits: &Limits) -> Result<Vec<u8>, Error> {
        // The header's size is a promise of the same file; what is allowed follows from the data.
        let limit = Reading::strict(limits)
            .for_file_of(self.data.len() as u64)
            .inflation_left();
        inflate(self.compression, self.data, Some(self.content_size), limit)
            .map_err(|error| error.at(self.version.header_size()))
    }

    /// The hash that the header of a bundle with this content has.
    #[must_use]
    pub fn hash_of(content: &[u8]) -> u64 {
        // LLVM takes `MD5Result::low`, which reads the first half as little endian.
        let digest: [u8; 16] = Md5::digest(content).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

#[cfg(feature = "write")]
impl CompressedBundle<'_> {
    /// Compresses a bundle, with zlib or zstd.
    ///
    /// Without a `level` it is clang's: 6 for zlib and 3 for zstd, which searches for distant matches too.
    ///
    /// # Errors
    ///
    /// Another method, and a content too large for the sizes of the version.
    pub fn write(
        content: &[u8],
        version: CompressedVersion,
        compression: Compression,
        level: Option<i32>,
    ) -> Result<Vec<u8>, Error> {
        write(content, version, compression, level)
    }
}

/// As [`CompressedBundle::write`].
pub(super) fn write(
    content: &[u8],
    version: CompressedVersion,
    compression: Compression,
    level: Option<i32>,
) -> Result<Vec<u8>, Error> {
    let data = compress(content, compression, level)?;
    let file_size = version.header_size().saturating_add(data.len() as u64);
    let content_size = content.len() as u64;
    let hash = U64::new(CompressedBundle::hash_of(content));
    let narrow = |size: u64| {
        u32::try_from(size).map(U32::new).map_err(|_| {
            Error::unrepresentable(format!(
                "compressed offload bundle version {version} cannot hold so much"
            ))
            .expecting("at most 0xffffffff bytes")
            .finding(format_args!("{size:#x}"))
        })
    };
    let header = Header {
        magic: COMPRESSED_MAGIC,
        version: version.number().into(),
        // `compress` has refused all other methods.
        method: method(compression).unwrap_or_default().into(),
    };
    let mut out = Vec::with_capacity(usize::try_from(file_size).unwrap_or_default());
    out.extend_from_slice(header.as_bytes());
    match version {
        CompressedVersion::V1 => {
            let content_size = narrow(content_size)?;
            out.extend_from_slice(SizesV1 { content_size, hash }.as_bytes());
        }
        CompressedVersion::V2 => {
            let sizes = SizesV2 {
                file_size: narrow(file_size)?,
                content_size: narrow(content_size)?,
                hash,
            };
            out.extend_from_slice(sizes.as_bytes());
        }
        CompressedVersion::V3 => {
            let sizes = SizesV3 {
                file_size: file_size.into(),
                content_size: content_size.into(),
                hash,
            };
            out.extend_from_slice(sizes.as_bytes());
        }
    }
    out.extend_from_slice(&data);
    Ok(out)
}

/// The header of a compressed bundle.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompressedHeader {
    pub(super) version: CompressedVersion,
    pub(super) compression: Compression,
    pub(super) file_size: Option<u64>,
    pub(super) content_size: u64,
    pub(super) hash: u64,
}

impl CompressedHeader {
    pub(super) fn read(source: Source<'_>) -> Result<Self, Error> {
        let header = source.need(0, size_of::<Header>() as u64, CUT_OFF, "header")?;
        let header: &Header = header.record(0).ok_or_else(|| Error::malformed(CUT_OFF))?;
        if header.magic != COMPRESSED_MAGIC {
            return Err(
                Error::new(ErrorKind::NotRecognized, "not a compressed offload bundle")
                    .at(source.at(0))
                    .field("magic")
                    .expecting("CCOB"),
            );
        }
        let version = match header.version.get() {
            1 => CompressedVersion::V1,
            2 => CompressedVersion::V2,
            3 => CompressedVersion::V3,
            other => {
                return Err(
                    Error::unsupported("compressed offload bundle has an unknown version")
                        .at(source.at(4))
                        .field("version")
                        .expecting("1, 2 or 3")
                        .finding(other),
                );
            }
        };
        // The numbers are those of LLVM's `compression::Format`.
        let compression = match header.method.get() {
            0 => Compression::Zlib,
            1 => Compression::Zstd,
            other => {
                return Err(Error::unsupported(
                    "compressed offload bundle has an unknown method of compression",
                )
                .at(source.at(6))
                .field("method")
                .expecting("0 for zlib or 1 for zstd")
                .finding(other));
            }
        };
        source.need(0, version.header_size(), CUT_OFF, "header")?;
        let at = size_of::<Header>() as u64;
        let sizes = match version {
            CompressedVersion::V1 => source
                .record::<SizesV1>(at)
                .map(|sizes| (None, sizes.content_size.get().into(), sizes.hash)),
            CompressedVersion::V2 => source.record::<SizesV2>(at).map(|sizes| {
                let file_size = sizes.file_size.get().into();
                (Some(file_size), sizes.content_size.get().into(), sizes.hash)
            }),
            CompressedVersion::V3 => source.record::<SizesV3>(at).map(|sizes| {
                let file_size = sizes.file_size.get();
                (Some(file_size), sizes.content_size.get(), sizes.hash)
            }),
        };
        let (file_size, content_size, hash) = sizes.ok_or_else(|| Error::malformed(CUT_OFF))?;
        Ok(Self {
            version,
            compression,
            file_size,
            content_size,
            hash: hash.get(),
        })
    }

    /// The compressed data of the bundle at the start of `source`; in version 1, everything after the header.
    pub(super) fn data<'data>(&self, source: Source<'data>) -> Result<Source<'data>, Error> {
        let header_size = self.version.header_size();
        // Where the data end only the caller can find out, who knows what may follow.
        let Some(file_size) = self.file_size else {
            return Ok(source.from(header_size));
        };
        let Some(size) = file_size.checked_sub(header_size) else {
            return Err(
                Error::malformed("compressed offload bundle has an impossible size")
                    .at(source.at(size_of::<Header>() as u64))
                    .field("file size")
                    .expecting(format!("at least {header_size:#x}"))
                    .finding(format_args!("{file_size:#x}")),
            );
        };
        source.need(header_size, size, CUT_OFF, "compressed data")
    }
}

const CUT_OFF: &str = "compressed offload bundle is cut off";

fn method(compression: Compression) -> Option<u16> {
    match compression {
        Compression::Zlib => Some(0),
        Compression::Zstd => Some(1),
        _ => None,
    }
}

fn compress(content: &[u8], compression: Compression, level: Option<i32>) -> Result<Vec<u8>, Error> {
    match compression {
        Compression::Zlib => zlib::compress(&[content], level.and_then(|level| u32::try_from(level).ok())),
        // With long distance matching, as clang does it.
        Compression::Zstd => zstd::compress(content, level, true),
        other => Err(
            Error::unrepresentable("offload bundles cannot be compressed this way")
                .expecting("zlib or zstd")
                .finding(other),
        ),
    }
}
