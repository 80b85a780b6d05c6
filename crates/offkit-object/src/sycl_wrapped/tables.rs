//! The tables of 64-bit little-endian ELF that say what is in memory once a program is loaded.

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

const MACHINE_X86_64: u16 = 62;
const MACHINE_AARCH64: u16 = 183;

pub(super) const SEGMENT_LOAD: u32 = 1;
pub(super) const SEGMENT_DYNAMIC: u32 = 2;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Segment {
    pub(super) segment_type: U32,
    pub(super) flags: U32,
    pub(super) offset: U64,
    pub(super) address: U64,
    pub(super) physical: U64,
    pub(super) file_size: U64,
    pub(super) memory_size: U64,
    pub(super) alignment: U64,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Symbol {
    pub(super) name: U32,
    pub(super) info: u8,
    pub(super) other: u8,
    pub(super) section: U16,
    pub(super) value: U64,
    pub(super) size: U64,
}

/// Of a symbol that is not in a section: undefined, or from here on absolute and the like.
pub(super) const SECTION_UNDEFINED: u16 = 0;
pub(super) const SECTION_RESERVED: u16 = 0xff00;

pub(super) const DYNAMIC_END: u64 = 0;
pub(super) const DYNAMIC_SYMBOLS: u64 = 6;
pub(super) const DYNAMIC_RELA: u64 = 7;
pub(super) const DYNAMIC_RELA_SIZE: u64 = 8;
pub(super) const DYNAMIC_RELR_SIZE: u64 = 35;
pub(super) const DYNAMIC_RELR: u64 = 36;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Dynamic {
    pub(super) tag: U64,
    pub(super) value: U64,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Rela {
    pub(super) offset: U64,
    pub(super) relocation_type: U32,
    pub(super) symbol: U32,
    pub(super) addend: I64,
}

/// What a relocation makes of a word, as far as it can be known without other files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The addend is an address of this file.
    Relative,
    /// A symbol's address, and the addend.
    Symbol,
}

impl Rela {
    pub(super) fn action(&self, machine: u16) -> Option<Action> {
        match (machine, self.relocation_type.get()) {
            (MACHINE_X86_64, 8) | (MACHINE_AARCH64, 1027) => Some(Action::Relative),
            (MACHINE_X86_64, 1) | (MACHINE_AARCH64, 257) => Some(Action::Symbol),
            _ => None,
        }
    }
}
