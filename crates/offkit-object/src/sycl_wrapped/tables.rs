//! The tables of 64-bit little-endian ELF that say what is in memory once a program is loaded.

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const MACHINE_X86_64: u16 = 62;
const MACHINE_AARCH64: u16 = 183;

pub(crate) const SEGMENT_LOAD: u32 = 1;
pub(crate) const SEGMENT_DYNAMIC: u32 = 2;

#[derive(Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Segment {
    pub(crate) segment_type: U32,
    pub(crate) flags: U32,
    pub(crate) offset: U64,
    pub(crate) address: U64,
    pub(crate) physical: U64,
    pub(crate) file_size: U64,
    pub(crate) memory_size: U64,
    pub(crate) alignment: U64,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Symbol {
    pub(crate) name: U32,
    pub(crate) info: u8,
    pub(crate) other: u8,
    pub(crate) section: U16,
    pub(crate) value: U64,
    pub(crate) size: U64,
}

/// Of a symbol that is not in a section: undefined, or from here on absolute and the like.
pub(crate) const SECTION_UNDEFINED: u16 = 0;
pub(crate) const SECTION_RESERVED: u16 = 0xff00;

pub(crate) const DYNAMIC_END: u64 = 0;
pub(crate) const DYNAMIC_SYMBOLS: u64 = 6;
pub(crate) const DYNAMIC_RELA: u64 = 7;
pub(crate) const DYNAMIC_RELA_SIZE: u64 = 8;
pub(crate) const DYNAMIC_RELR_SIZE: u64 = 35;
pub(crate) const DYNAMIC_RELR: u64 = 36;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Dynamic {
    pub(crate) tag: U64,
    pub(crate) value: U64,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Rela {
    pub(crate) offset: U64,
    pub(crate) relocation_type: U32,
    pub(crate) symbol: U32,
    pub(crate) addend: I64,
}

/// What a relocation makes of a word, as far as it can be known without other files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The addend is an address of this file.
    Relative,
    /// A symbol's address, and the addend.
    Symbol,
}

impl Rela {
    pub(crate) fn action(&self, machine: u16) -> Option<Action> {
        match (machine, self.relocation_type.get()) {
            // `R_X86_64_RELATIVE` and `R_AARCH64_RELATIVE`.
            (MACHINE_X86_64, 8) | (MACHINE_AARCH64, 1027) => Some(Action::Relative),
            // `R_X86_64_64` and `R_AARCH64_ABS64`.
            (MACHINE_X86_64, 1) | (MACHINE_AARCH64, 257) => Some(Action::Symbol),
            _ => None,
        }
    }
}
