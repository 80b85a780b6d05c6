//! Device memory: a registry of live allocations, with every access checked against it.
//!
//! The device shares the host's address space: a global pointer of a kernel *is* a host address. What
//! makes an access valid is therefore not where it lies but whether a live allocation contains all of
//! it, and that is asked of the registry for each one.

mod block;
mod index;
mod published;
mod raw;
mod registry;
mod snapshot;

pub(crate) use published::Published;
pub(crate) use snapshot::{AccessKind, Hint, Reason, Snapshot, Violation};

pub use registry::Memory;

offkit_image::named! {
    /// What an allocation was made for.
    #[non_exhaustive]
    pub enum AllocationKind, "What messages about accesses near it call it." {
        /// Storage of a buffer object.
        Buffer => "buffer",
        /// Unified shared memory, device allocation.
        Device => "device allocation",
        /// Unified shared memory, host allocation.
        Host => "host allocation",
        /// Unified shared memory, shared allocation.
        Shared => "shared allocation",
        /// Memory of the host program, registered and not owned.
        HostPointer => "registered host memory",
        /// A program-scope variable in global memory.
        ProgramVariable => "program-scope variable",
        /// A program-scope constant; kernels may not write it.
        ProgramConstant => "program-scope constant",
    }
}

impl AllocationKind {
    /// Whether kernels may only read it.
    pub fn is_read_only(self) -> bool {
        self == AllocationKind::ProgramConstant
    }
}

/// A live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of its first byte.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// What it was made for.
    pub kind: AllocationKind,
}

/// Why a request to [`Memory`] failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// An allocation of no bytes was asked for.
    #[error("an allocation of 0 bytes was asked for; the smallest is 1")]
    ZeroSize,
    /// The alignment is not a power of two, or larger than any the host gives.
    #[error("alignment {0} is not a power of two up to 2^29")]
    BadAlignment(usize),
    /// The host has no such amount of memory.
    #[error("the host has no {0} bytes to allocate")]
    OutOfMemory(usize),
    /// The address to free is not the start of a live allocation.
    #[error("{0:#x} is not the start of a live allocation")]
    NotAnAllocation(u64),
    /// The memory to register overlaps a live allocation.
    #[error(
        "{size} bytes at {address:#x} overlap the {} of {} bytes at {:#x}",
        .existing.kind, .existing.size, .existing.base
    )]
    Overlap {
        /// First byte of the memory to register.
        address: u64,
        /// Its size in bytes.
        size: u64,
        /// The allocation already there.
        existing: Allocation,
    },
    /// A host-side access does not lie inside one live allocation.
    #[error("{size} bytes at {address:#x} do not lie inside one live allocation")]
    OutOfBounds {
        /// First byte of the access.
        address: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// A fill with an empty pattern, or with one that the size is no multiple of.
    #[error("a fill of {size} bytes with a pattern of {pattern} bytes: the size must be a multiple")]
    BadPattern {
        /// Size of the range in bytes.
        size: u64,
        /// Size of the pattern in bytes.
        pattern: u64,
    },
}
