//! The headers as they are in the file.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What all versions begin with.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 4],
    pub(crate) version: U32,
    /// Of the whole binary, header included; a multiple of 8.
    pub(crate) size: U64,
    /// Where the first entry is.
    pub(crate) entries_offset: U64,
    /// Version 1: the size of the only entry. From version 2 on: the number of entries.
    pub(crate) entries_size_or_count: U64,
}

/// What version 3 adds to the header.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct HeaderV3 {
    pub(crate) base: Header,
    /// The size of the binary before it was compressed; 0 when it is not compressed.
    pub(crate) inflated_size: U64,
}

#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) image_kind: U16,
    pub(crate) offload_kind: U16,
    pub(crate) flags: U32,
    /// Where the string entries are.
    pub(crate) strings_offset: U64,
    pub(crate) string_count: U64,
    pub(crate) image_offset: U64,
    pub(crate) image_size: U64,
}

/// A string entry of version 1: where key and value are; both end with a zero byte.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct StringV1 {
    pub(crate) key_offset: U64,
    pub(crate) value_offset: U64,
}

/// A string entry from version 2 on: the value has a length.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct StringV2 {
    pub(crate) base: StringV1,
    pub(crate) value_size: U64,
}
