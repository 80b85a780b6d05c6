//! The headers of version 1 as they are in the file.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The magic number; written little endian it reads "IBYS".
pub(super) const MAGIC: u32 = 0x5359_4249;

#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct FileHeader {
    pub(super) magic: U32,
    pub(super) version: U32,
    pub(super) abstract_module_count: U32,
    pub(super) ir_module_count: U32,
    pub(super) native_image_count: U32,
    /// One of the two known writers leaves it uninitialised: never read.
    pub(super) padding: [u8; 4],
    /// Without the padding after it.
    pub(super) metadata_table_size: U64,
    pub(super) binary_table_size: U64,
    pub(super) global_metadata: Range,
}

/// A part of one of the two tables, from the table's start.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Range {
    pub(super) offset: U64,
    pub(super) size: U64,
}

/// A part of one of the two lists of image headers: how many, from which.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Indices {
    pub(super) count: U32,
    pub(super) first: U32,
}

#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct AbstractModuleHeader {
    pub(super) metadata: Range,
    pub(super) ir_modules: Indices,
    pub(super) native_images: Indices,
}

/// Header of an IR module as well as of a native image.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct ImageHeader {
    pub(super) metadata: Range,
    pub(super) bytes: Range,
}

const _: () = assert!(size_of::<FileHeader>() == 56);
const _: () = assert!(size_of::<AbstractModuleHeader>() == 32);
const _: () = assert!(size_of::<ImageHeader>() == 32);
