//! The headers of version 1 as they are in the file.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct FileHeader {
    pub(crate) magic: U32,
    pub(crate) version: U32,
    pub(crate) abstract_module_count: U32,
    pub(crate) ir_module_count: U32,
    pub(crate) native_image_count: U32,
    /// One of the two known writers leaves it uninitialised: never read.
    pub(crate) padding: [u8; 4],
    /// Without the padding after it.
    pub(crate) metadata_table_size: U64,
    pub(crate) binary_table_size: U64,
    pub(crate) global_metadata: Range,
}

/// A part of one of the two tables, from the table's start.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Range {
    pub(crate) offset: U64,
    pub(crate) size: U64,
}

/// A part of one of the two lists of image headers: how many, from which.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Indices {
    pub(crate) count: U32,
    pub(crate) first: U32,
}

#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct AbstractModuleHeader {
    pub(crate) metadata: Range,
    pub(crate) ir_modules: Indices,
    pub(crate) native_images: Indices,
}

/// Header of an IR module as well as of a native image.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct ImageHeader {
    pub(crate) metadata: Range,
    pub(crate) bytes: Range,
}

const _: () = assert!(size_of::<FileHeader>() == 56);
const _: () = assert!(size_of::<AbstractModuleHeader>() == 32);
const _: () = assert!(size_of::<ImageHeader>() == 32);
