//! Methods of compression.

crate::named! {
    /// A method of compression.
    pub enum Compression, "The name in messages and listings." {
        /// zlib's stream with its header, RFC 1950.
        Zlib => "zlib",
        /// A bare deflate stream, RFC 1951, as in zip files.
        Deflate => "deflate",
        /// Zstandard frames, RFC 8878.
        Zstd => "zstd",
        /// One LZ4 block without a frame.
        Lz4 => "lz4",
        /// gzip's members, RFC 1952.
        Gzip => "gzip",
        /// The streams of `xz`.
        Xz => "xz",
        /// The streams of `bzip2`, which are not read.
        Bzip2 => "bzip2",
        /// A constant of an LLVM module, which is no sequence of whole bytes.
        Bitcode => "bitcode",
    }
}
