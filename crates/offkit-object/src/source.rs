//! Bytes that know their place in the file, with checked access.

use offkit_image::{Error, ErrorKind, offset_within};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A part of the bytes being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'data> {
    bytes: &'data [u8],
    base: u64,
}

impl<'data> Source<'data> {
    pub(crate) fn new(bytes: &'data [u8]) -> Self {
        Self { bytes, base: 0 }
    }

    /// Bytes of something else than a file, with the address of the first one.
    pub(crate) fn at_address(bytes: &'data [u8], base: u64) -> Self {
        Self { bytes, base }
    }

    #[inline]
    pub(crate) fn bytes(self) -> &'data [u8] {
        self.bytes
    }

    #[inline]
    pub(crate) fn len(self) -> u64 {
        self.bytes.len() as u64
    }

    /// The offset in the file of the byte `offset` of this part.
    #[inline]
    pub(crate) fn at(self, offset: u64) -> u64 {
        self.base.saturating_add(offset)
    }

    /// `size` bytes from `offset`, if all of them exist.
    #[inline]
    pub(crate) fn get(self, offset: u64, size: u64) -> Option<Self> {
        let start = usize::try_from(offset).ok()?;
        let end = usize::try_from(offset.checked_add(size)?).ok()?;
        let bytes = self.bytes.get(start..end)?;
        Some(Self {
            bytes,
            base: self.at(offset),
        })
    }

    /// Everything from `offset` on; empty when `offset` is past the end.
    #[inline]
    pub(crate) fn from(self, offset: u64) -> Self {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.bytes.len());
        Self {
            bytes: self.bytes.get(start..).unwrap_or_default(),
            base: self.at(start as u64),
        }
    }

    /// `size` bytes from `offset`, or an error with the peer's text `message` and the name of the `field`.
    #[inline]
    pub(crate) fn need(
        self,
        offset: u64,
        size: u64,
        message: &'static str,
        field: &'static str,
    ) -> Result<Self, Error> {
        self.get(offset, size)
            .ok_or_else(|| self.lacks(offset, size, message, field))
    }

    #[cold]
    fn lacks(self, offset: u64, size: u64, message: &'static str, field: &'static str) -> Error {
        Error::new(ErrorKind::OutOfBounds, message)
            .at(self.at(offset))
            .field(field)
            .expecting(format!("to end at or before {:#x}", self.at(self.len())))
            .finding(match offset.checked_add(size) {
                Some(end) => format!("an end at {:#x}", self.at(end)),
                None => format!("{size:#x} bytes"),
            })
    }

    /// The place in the file of bytes that were cut out of this part.
    pub(crate) fn locate(self, part: &[u8]) -> Self {
        // By address. Bytes of elsewhere have no place here: an empty part at the end has to do.
        offset_within(self.bytes, part)
            .and_then(|offset| self.get(offset, part.len() as u64))
            .unwrap_or_else(|| self.from(u64::MAX))
    }

    /// A header at `offset`; all header types are unaligned and little endian.
    pub(crate) fn record<T: FromBytes + KnownLayout + Immutable + Unaligned>(
        self,
        offset: u64,
    ) -> Option<&'data T> {
        let part = self.get(offset, size_of::<T>() as u64)?;
        T::ref_from_bytes(part.bytes).ok()
    }

    /// `count` headers from `offset`.
    pub(crate) fn records<T: FromBytes + Immutable + Unaligned>(
        self,
        offset: u64,
        count: u64,
    ) -> Option<&'data [T]> {
        let part = self.get(offset, count.checked_mul(size_of::<T>() as u64)?)?;
        <[T]>::ref_from_bytes(part.bytes).ok()
    }
}
