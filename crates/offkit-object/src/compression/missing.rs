//! What stands in for methods that this crate is built without: the same functions, which say so.

use offkit_image::{Compression, Error};

fn missing(compression: Compression, feature: &str) -> Error {
    Error::unsupported(format!("this program was built without {compression}"))
        .expecting(format!("offkit-object with its feature `{feature}`"))
}

#[cfg(not(feature = "lz4"))]
pub(crate) mod lz4 {
    use super::{Compression, Error};

    fn missing() -> Error {
        super::missing(Compression::Lz4, "lz4")
    }

    pub(crate) fn inflate(_: &[u8], _: Option<u64>, _: u64) -> Result<Vec<u8>, Error> {
        Err(missing())
    }

    pub(crate) fn inflate_at_once(_: &[u8], _: u64, _: &mut Vec<u8>) -> Option<Result<(), Error>> {
        None
    }

    #[cfg(all(feature = "inspect", feature = "write"))]
    pub(crate) fn front(
        _: &[u8],
        _: u64,
        _: &mut Vec<u8>,
        _: &mut dyn FnMut(&[u8]) -> bool,
    ) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn compress(_: &[u8]) -> Result<Vec<u8>, Error> {
        Err(missing())
    }
}

#[cfg(not(feature = "xz"))]
pub(crate) mod xz {
    use std::io::Read;

    use super::{Compression, Error, missing};

    pub(crate) fn reader<'r>(_: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
        Err(missing(Compression::Xz, "xz"))
    }
}

#[cfg(not(feature = "zlib"))]
pub(crate) mod zlib {
    use std::io::Read;

    use super::{Compression, Error, missing};

    pub(crate) fn inflate(_: impl Read, _: Option<u64>, _: u64) -> Result<Vec<u8>, Error> {
        Err(missing(Compression::Zlib, "zlib"))
    }

    pub(crate) fn inflate_bare(_: impl Read, _: Option<u64>, _: u64) -> Result<Vec<u8>, Error> {
        Err(missing(Compression::Deflate, "zlib"))
    }

    pub(crate) fn bare_reader<'r>(_: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
        Err(missing(Compression::Deflate, "zlib"))
    }

    pub(crate) fn gzip_reader<'r>(_: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
        Err(missing(Compression::Gzip, "zlib"))
    }

    pub(crate) struct Heads;

    impl Heads {
        pub(crate) fn new(_: usize) -> Self {
            Self
        }

        pub(crate) fn of(&mut self, _: &[u8]) -> Option<&[u8]> {
            // A member of which nothing is known is opened, and that fails with the error above: it
            // is not passed over without a word.
            None
        }
    }

    pub(crate) fn compress_bare(_: &[u8], _: Option<u32>) -> Result<Vec<u8>, Error> {
        Err(missing(Compression::Deflate, "zlib"))
    }

    pub(crate) fn compress(_: &[&[u8]], _: Option<u32>) -> Result<Vec<u8>, Error> {
        Err(missing(Compression::Zlib, "zlib"))
    }
}

#[cfg(not(feature = "zstd"))]
pub(crate) mod zstd {
    use std::io::Read;

    use super::{Compression, Error};

    fn missing() -> Error {
        super::missing(Compression::Zstd, "zstd")
    }

    pub(crate) fn inflate(_: impl Read, _: Option<u64>, _: u64) -> Result<Vec<u8>, Error> {
        Err(missing())
    }

    pub(crate) fn inflate_at_once(_: &[u8], _: u64, _: &mut Vec<u8>) -> Option<Result<(), Error>> {
        None
    }

    pub(crate) fn reader<'r>(_: impl Read + 'r) -> Result<Box<dyn Read + 'r>, Error> {
        Err(missing())
    }

    pub(crate) fn head(_: &[u8], _: usize) -> Option<Vec<u8>> {
        None
    }

    #[cfg(all(feature = "inspect", feature = "write"))]
    pub(crate) fn front(
        _: &[u8],
        _: u64,
        _: &mut Vec<u8>,
        _: &mut dyn FnMut(&[u8]) -> bool,
    ) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn frame_size(_: &[u8]) -> Result<u64, Error> {
        Err(missing())
    }

    pub(crate) fn content_size(_: &[u8]) -> Option<u64> {
        None
    }

    pub(crate) fn compress_pieces(_: &[&[u8]]) -> Result<Vec<u8>, Error> {
        Err(missing())
    }

    pub(crate) fn compress(_: &[u8], _: Option<i32>, _: bool) -> Result<Vec<u8>, Error> {
        Err(missing())
    }
}
