//! The headers as they are in the file.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What every fatbin begins with.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 4],
    pub(super) version: U16,
    /// Of this header: where the first entry is.
    pub(super) header_size: U16,
    /// Of all entries together, without this header.
    pub(super) size: U64,
}

/// What every entry begins with; its payload comes after `header_size` bytes.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) kind: U16,
    pub(super) version: U16,
    /// Of this header with the texts that belong to it.
    pub(super) header_size: U32,
    /// With padding to a multiple of 8.
    pub(super) payload_size: U64,
    /// Without padding; 0 when the payload is not compressed.
    pub(super) compressed_size: U32,
    /// Where the place of the options is, from the start of this header; 0 when there are none.
    pub(super) options_offset: U32,
    pub(super) minor_version: U16,
    pub(super) major_version: U16,
    /// The number after `sm_`.
    pub(super) arch: U32,
    /// Where the identifier is, from the start of this header.
    pub(super) identifier_offset: U32,
    pub(super) identifier_size: U32,
    pub(super) flags: U64,
    pub(super) reserved: U64,
    /// 0 when the payload is not compressed.
    pub(super) decompressed_size: U64,
}

/// Where the options of an entry are, from the start of its header.
#[derive(Debug, Clone, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Options {
    pub(super) offset: U32,
    pub(super) size: U32,
}

pub(super) const KIND_PTX: u16 = 1;
pub(super) const KIND_ELF: u16 = 2;
/// What `nvcc -dlto` keeps for NVIDIA's linker.
pub(super) const KIND_LTO_IR: u16 = 8;
/// Several images, one after the other, compressed as one; a table of them is where options are otherwise.
pub(super) const KIND_CONCATENATED: u16 = 0x100;

pub(super) const FLAG_64_BIT: u64 = 0x1;
pub(super) const FLAG_LZ4: u64 = 0x2000;
pub(super) const FLAG_ZSTD: u64 = 0x8000;
/// Compressed LTO-IR: beside one of the other two flags, but the payload is a stream of neither.
pub(super) const FLAG_SEALED: u64 = 0x1_0000;
/// For one architecture only, as in `sm_90a`.
pub(super) const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
/// For a family of architectures, as in `sm_100f`.
pub(super) const FLAG_FAMILY_SPECIFIC: u64 = 0x20_0000;
