//! A file that comes out of something compressed.

use std::io::{self, Read};

use offkit_image::{Compression, Error, ErrorKind, PartName};

use crate::compression;
use crate::reading::Reading;

/// A file that comes out of something compressed, of which the beginning was read.
pub(crate) struct Unpacked<'a> {
    pub(crate) name: PartName,
    /// How what it is in is compressed.
    pub(crate) method: Compression,
    /// The beginning, by which it is told what it is.
    pub(crate) head: &'a [u8],
    /// All of it.
    pub(crate) content: &'a mut dyn Read,
}

impl Unpacked<'_> {
    /// All of the file.
    pub(crate) fn read(self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        match self.content.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(failed(&error, || compression::damaged(self.method, &error))),
        }
    }
}

/// Receives files that come out of something compressed.
pub(crate) type VisitUnpacked<'v> = &'v mut dyn FnMut(&mut Reading, Unpacked<'_>);

/// The error for a stream that ended early: because more would come out than is allowed, or else as the caller says.
pub(crate) fn failed(error: &io::Error, otherwise: impl FnOnce() -> Error) -> Error {
    match error.kind() {
        // No decompressor has this kind of its own: it is how a metered stream says that its budget
        // is spent.
        io::ErrorKind::FileTooLarge => Error::new(ErrorKind::LimitExceeded, "too much compressed data"),
        _ => otherwise(),
    }
}
