//! The allocations as they were when a launch began, and checked access to them.

#![expect(unsafe_code, reason = "accesses are checked here")]

use std::sync::Arc;

use super::{Allocation, raw};

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Load,
    Store,
    Atomic,
}

impl std::fmt::Display for AccessKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic access",
        })
    }
}

/// Why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// No live allocation contains all of it.
    OutOfBounds,
    /// It would change memory that kernels may only read.
    ReadOnly,
    /// An atomic access whose address is no multiple of its size.
    Misaligned,
}

/// An access that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) kind: AccessKind,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) reason: Reason,
}

/// One allocation, kept alive for as long as somebody may access it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) allocation: Allocation,
    pub(super) storage: Storage,
}

/// Whose the memory is.
#[derive(Clone, Debug)]
pub(super) enum Storage {
    /// The device's, freed with the last that accesses it.
    Owned { _block: Arc<raw::Block> },
    /// The host program's, registered so many times.
    Host { registrations: usize },
}

/// All live allocations, sorted by address. It keeps their storage alive: freeing memory during a
/// launch is the host's mistake, and only the kernel's results may suffer from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(super) entries: Vec<Entry>,
}

impl Snapshot {
    /// The last allocation that starts at or below `address`.
    fn index_below(&self, address: u64) -> Option<usize> {
        self.entries
            .partition_point(|entry| entry.allocation.base <= address)
            .checked_sub(1)
    }

    /// The allocation closest to `address`, containing it or not.
    pub(crate) fn nearest(&self, address: u64) -> Option<Allocation> {
        let below = self.index_below(address);
        let above = below.map_or(0, |index| index + 1);
        let candidates = [
            below.and_then(|index| self.entries.get(index)),
            self.entries.get(above),
        ];
        candidates
            .into_iter()
            .flatten()
            .map(|entry| entry.allocation)
            .min_by_key(|allocation| {
                let end = allocation.base + allocation.size;
                if address < allocation.base {
                    allocation.base - address
                } else {
                    address.saturating_sub(end)
                }
            })
    }

    /// Checks that one allocation contains the access. `hint` remembers which one it was: accesses of
    /// one instruction mostly go to the same.
    #[inline]
    pub(crate) fn check(
        &self,
        kind: AccessKind,
        address: u64,
        size: u64,
        hint: &mut u32,
    ) -> Result<(), Violation> {
        let violation = |reason| Violation {
            kind,
            address,
            size,
            reason,
        };
        let contains = |allocation: &Allocation| {
            let offset = address.wrapping_sub(allocation.base);
            offset < allocation.size && size <= allocation.size - offset
        };
        let allocation = match self.entries.get(*hint as usize) {
            Some(entry) if contains(&entry.allocation) => &entry.allocation,
            _ => {
                let index = self.index_below(address).ok_or(violation(Reason::OutOfBounds))?;
                let allocation = &self.entries[index].allocation;
                if !contains(allocation) {
                    return Err(violation(Reason::OutOfBounds));
                }
                *hint = index as u32;
                allocation
            }
        };
        if kind != AccessKind::Load && allocation.kind.is_read_only() {
            return Err(violation(Reason::ReadOnly));
        }
        if kind == AccessKind::Atomic && !address.is_multiple_of(size) {
            return Err(violation(Reason::Misaligned));
        }
        Ok(())
    }

    /// Reads a value of up to eight bytes.
    #[inline]
    pub(crate) fn load(&self, address: u64, size: usize, hint: &mut u32) -> Result<u64, Violation> {
        self.check(AccessKind::Load, address, size as u64, hint)?;
        // SAFETY: just checked; the entry keeps the storage alive.
        Ok(unsafe { raw::load(address, size) })
    }

    /// Writes a value of up to eight bytes.
    #[inline]
    pub(crate) fn store(
        &self,
        address: u64,
        size: usize,
        value: u64,
        hint: &mut u32,
    ) -> Result<(), Violation> {
        self.check(AccessKind::Store, address, size as u64, hint)?;
        // SAFETY: just checked; the entry keeps the storage alive.
        unsafe { raw::store(address, size, value) };
        Ok(())
    }

    /// Reads any number of bytes.
    pub(crate) fn read(&self, address: u64, out: &mut [u8], hint: &mut u32) -> Result<(), Violation> {
        if out.is_empty() {
            return Ok(());
        }
        self.check(AccessKind::Load, address, out.len() as u64, hint)?;
        // SAFETY: just checked; the entry keeps the storage alive.
        unsafe { raw::read(address, out) };
        Ok(())
    }

    /// Writes any number of bytes for a kernel.
    pub(crate) fn write(&self, address: u64, data: &[u8], hint: &mut u32) -> Result<(), Violation> {
        if data.is_empty() {
            return Ok(());
        }
        self.check(AccessKind::Store, address, data.len() as u64, hint)?;
        // SAFETY: just checked; the entry keeps the storage alive.
        unsafe { raw::write(address, data) };
        Ok(())
    }

    /// Replaces a value indivisibly by what `update` makes of it, and returns the old one.
    pub(crate) fn atomic(
        &self,
        address: u64,
        size: usize,
        hint: &mut u32,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<u64, Violation> {
        self.check(AccessKind::Atomic, address, size as u64, hint)?;
        // SAFETY: just checked, alignment included; the entry keeps the storage alive.
        Ok(unsafe { raw::atomic_update(address, size, update) })
    }
}
