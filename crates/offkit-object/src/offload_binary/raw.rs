//! The headers as they are in the file.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What all versions begin with.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 4],
    pub(super) version: U32,
    /// Of the whole binary, header included; a multiple of 8.
    pub(super) size: U64,
    /// Where the first entry is.
    pub(super) entries_offset: U64,
    /// Version 1: the size of the only entry. From version 2 on: the number of entries.
    pub(super) entries_size_or_count: U64,
}

/// What version 3 adds to the header.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct HeaderV3 {
    pub(super) base: Header,
    /// The size of the binary before it was compressed; 0 when it is not compressed.
    pub(super) inflated_size: U64,
}

#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) image_kind: U16,
    pub(super) offload_kind: U16,
    pub(super) flags: U32,
    /// Where the string entries are.
    pub(super) strings_offset: U64,
    pub(super) string_count: U64,
    pub(super) image_offset: U64,
    pub(super) image_size: U64,
}

/// A string entry of version 1: where key and value are; both end with a zero byte.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct StringV1 {
    pub(super) key_offset: U64,
    pub(super) value_offset: U64,
}

/// A string entry from version 2 on: the value has a length.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct StringV2 {
    pub(super) base: StringV1,
    pub(super) value_size: U64,
}
