//! The structures of registration as they are in a program, without their pointers.
//!
//! What a pointer is, relocations decide: those are read one by one.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A pointer's size.
pub(crate) const POINTER: u64 = 8;

/// Where a descriptor has its pointers: to the images, and to the first entry of the host and behind the last.
pub(crate) const DESCRIPTOR_IMAGES: u64 = 8;
pub(crate) const DESCRIPTOR_HOST_ENTRIES: u64 = 16;

/// What a descriptor begins with.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Descriptor {
    pub(super) version: U16,
    pub(super) image_count: U16,
    pub(super) padding: U32,
}

/// What an image of any version begins with; pointers follow.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Image {
    pub(super) version: U16,
    pub(super) offload_kind: u8,
    pub(super) format: u8,
    pub(super) padding: U32,
}

/// The version and kind fields of a new entry, behind 8 bytes of zeros.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct NewEntry {
    pub(super) reserved: U64,
    pub(super) version: U16,
    pub(super) kind: U16,
    pub(super) flags: U32,
}

/// `_offload_entry`: address, name, size, flags.
pub(crate) const OLD_ENTRY_SIZE: u64 = 32;
pub(crate) const OLD_ENTRY_NAME: u64 = 8;
/// `__tgt_offload_entry` of LLVM since 20.
pub(crate) const NEW_ENTRY_SIZE: u64 = 56;
pub(crate) const NEW_ENTRY_NAME: u64 = 24;

/// A property set: name, first property, behind the last property.
pub(crate) const PROPERTY_SET_SIZE: u64 = 24;
pub(crate) const PROPERTY_SIZE: u64 = 32;
pub(crate) const PROPERTY_VALUE: u64 = 8;
/// Where the part of a property without pointers is.
pub(crate) const PROPERTY_TAIL: u64 = 16;

/// What a property ends with, behind the pointers to its name and its value.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct PropertyTail {
    pub(super) value_type: U32,
    pub(super) padding: U32,
    /// The value itself, for a number.
    pub(super) size: U64,
}

pub(crate) const TYPE_U32: u32 = 1;
pub(crate) const TYPE_BYTES: u32 = 2;

/// The number for SYCL of DPC++, and that of LLVM, in version 3.
pub(crate) const KIND_DPCPP: u8 = 4;
pub(crate) const KIND_LLVM: u8 = 8;
pub(crate) const KIND_SYCL: [u8; 2] = [KIND_DPCPP, KIND_LLVM];

pub(crate) const FORMAT_NONE: u8 = 0;
pub(crate) const FORMAT_NATIVE: u8 = 1;
pub(crate) const FORMAT_SPIRV: u8 = 2;
pub(crate) const FORMAT_BITCODE: u8 = 3;
pub(crate) const FORMAT_ZSTD: u8 = 4;

/// Which pointers an image has, by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageVersion {
    /// One pointer to options, and a manifest.
    V1,
    /// Options for compiling and linking, and a manifest.
    V2,
    /// No manifest.
    V3,
}

impl ImageVersion {
    pub(super) fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Self::V1),
            2 => Some(Self::V2),
            3 => Some(Self::V3),
            _ => None,
        }
    }

    pub(super) fn number(self) -> u16 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// The size of the structure.
    pub(super) fn size(self) -> u64 {
        match self {
            Self::V1 => 72,
            Self::V2 => 96,
            Self::V3 => 80,
        }
    }

    pub(crate) const TARGET: u64 = 8;
    pub(crate) const COMPILE_OPTIONS: u64 = 16;

    pub(super) fn link_options(self) -> Option<u64> {
        match self {
            Self::V1 => None,
            Self::V2 | Self::V3 => Some(24),
        }
    }

    /// Where the pointer to the code is; that to its end, and those to entries and property sets, follow.
    pub(super) fn code(self) -> u64 {
        match self {
            Self::V1 => 40,
            Self::V2 => 48,
            Self::V3 => 32,
        }
    }

    pub(super) fn entries(self) -> u64 {
        self.code().saturating_add(2 * POINTER)
    }

    pub(super) fn property_sets(self) -> Option<u64> {
        match self {
            Self::V1 => None,
            Self::V2 | Self::V3 => Some(self.entries().saturating_add(2 * POINTER)),
        }
    }
}
