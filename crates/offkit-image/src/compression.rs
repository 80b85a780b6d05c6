//! Methods of compression.

use std::fmt;

/// A method of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compression {
    /// zlib's stream with its header, RFC 1950.
    Zlib,
    /// A bare deflate stream, RFC 1951, as in zip files.
    Deflate,
    /// Zstandard frames, RFC 8878.
    Zstd,
    /// One LZ4 block without a frame.
    Lz4,
}

impl Compression {
    /// The name in messages and listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
