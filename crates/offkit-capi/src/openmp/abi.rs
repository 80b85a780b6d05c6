//! What clang's code passes to the runtime.

use std::ffi::{c_char, c_void};

/// `__tgt_bin_desc`.
#[repr(C)]
pub(crate) struct Descriptor {
    pub(super) image_count: i32,
    pub(super) images: *const Image,
    pub(super) first_entry: *const c_void,
    pub(super) end_of_entries: *const c_void,
}

impl Descriptor {
    /// # Safety
    ///
    /// The images must be there for as long as the descriptor.
    pub(crate) unsafe fn images(&self) -> &[Image] {
        match usize::try_from(self.image_count) {
            // SAFETY: by the caller's promise.
            Ok(count) if !self.images.is_null() => unsafe { std::slice::from_raw_parts(self.images, count) },
            _ => &[],
        }
    }
}

/// `__tgt_device_image`.
#[repr(C)]
pub(crate) struct Image {
    pub(crate) start: *const u8,
    pub(crate) end: *const u8,
    pub(super) entries: [*const c_void; 2],
}

/// `__tgt_offload_entry`: a region, or a variable that is on devices, too.
#[repr(C)]
pub(super) struct Entry {
    /// Zero; here older compilers, before LLVM 20, have the address.
    pub(super) reserved: u64,
    pub(super) version: u16,
    pub(super) kind: u16,
    pub(super) flags: u32,
    pub(super) address: *const c_void,
    pub(super) name: *const c_char,
    /// Zero for a region.
    pub(super) size: u64,
    pub(super) data: u64,
    pub(super) auxiliary: *const c_void,
}

/// The language of an entry that is OpenMP's.
pub(super) const KIND_OPENMP: u16 = 1;

/// What a construct maps: lists of equal length.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Lists {
    pub(super) bases: *mut *mut c_void,
    pub(super) begins: *mut *mut c_void,
    pub(super) sizes: *mut i64,
    pub(super) flags: *mut i64,
    pub(super) names: *mut *mut c_void,
    pub(super) mappers: *mut *mut c_void,
}

/// `KernelArgsTy`, since version 2.
#[repr(C)]
pub(super) struct KernelArguments {
    pub(super) version: u32,
    pub(super) count: u32,
    pub(super) lists: Lists,
    /// Iterations of the loop that is distributed; 0 if it is not known.
    pub(super) iterations: u64,
    pub(super) launch_flags: u64,
    pub(super) teams: [u32; 3],
    pub(super) threads: [u32; 3],
    pub(super) local_memory: u32,
}

/// The device that is meant where no clause says one.
pub(super) const DEFAULT_DEVICE: i64 = -1;

/// How an item is mapped: `tgt_map_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u64);

impl Flags {
    pub(super) const TO: Self = Self(1);
    pub(super) const FROM: Self = Self(2);
    pub(super) const ALWAYS: Self = Self(4);
    pub(super) const DELETE: Self = Self(8);
    /// The base is the address of a pointer, which is to point to the item on the device.
    pub(super) const POINTER_AND_OBJECT: Self = Self(0x10);
    /// An argument of the region.
    pub(super) const PARAMETER: Self = Self(0x20);
    /// The construct wants to know the address.
    pub(super) const RETURNED: Self = Self(0x40);
    pub(super) const PRIVATE: Self = Self(0x80);
    /// The base is a value that is passed as it is.
    pub(super) const LITERAL: Self = Self(0x100);
    pub(super) const IMPLICIT: Self = Self(0x200);
    pub(super) const PRESENT: Self = Self(0x1000);
    pub(super) const HOLD: Self = Self(0x2000);
    /// The base is the address of a pointer, which is to point to an item that is mapped elsewhere.
    pub(super) const ATTACH: Self = Self(0x4000);
    /// What is not present becomes a null pointer, and does not stay the host's.
    pub(super) const NULLIFIED: Self = Self(0x8000);
    pub(super) const NON_CONTIGUOUS: Self = Self(0x1000_0000_0000);
    /// A part of an item that is mapped as a whole before.
    // A number and no flag: that of the whole among the items, from 1, so that a bit of it is set.
    pub(super) const MEMBER: Self = Self(0xffff_0000_0000_0000);

    /// Whether one of these is set.
    pub(super) fn has(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// `__tgt_target_non_contig`: a dimension of an array section.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Dimension {
    pub(super) offset: u64,
    pub(super) count: u64,
    pub(super) stride: u64,
}

/// What a region gets before its arguments; `struct Launch` of `device-libs/openmp/openmp.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Launch {
    pub(super) teams_done: u32,
    pub(super) reserved: u32,
    pub(super) scratch: u64,
    pub(super) scratch_of_team: u64,
}

impl Launch {
    /// As it lies in memory.
    pub(super) fn bytes(self) -> Vec<u8> {
        let words = [self.teams_done, self.reserved].map(u32::to_ne_bytes);
        let numbers = [self.scratch, self.scratch_of_team].map(u64::to_ne_bytes);
        [words.as_flattened(), numbers.as_flattened()].concat()
    }
}
