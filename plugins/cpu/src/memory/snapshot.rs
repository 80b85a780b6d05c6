//! The allocations as they were when a launch began, and checked access to them.

#![expect(unsafe_code, reason = "accesses are checked here")]

use super::index::Index;
use super::{Allocation, raw};
use crate::sync::Arc;

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

/// The allocations of one moment. It keeps their memory: freeing some during a launch is the host's mistake, and
/// only the kernel's results may suffer from it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot(pub(super) Arc<Index>);

/// An allocation that somebody has found: accesses of one instruction mostly go to the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint {
    /// The version it was found in, and holds for.
    version: u64,
    base: u64,
    size: u64,
    read_only: bool,
}

impl Hint {
    /// The start and the size of the allocation.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.base, self.size)
    }
}

impl Snapshot {
    /// The allocation closest to `address`, containing it or not.
    pub(crate) fn nearest(&self, address: u64) -> Option<Allocation> {
        let (below, above) = self.0.around(address);
        let candidates = [below, above].into_iter().flatten();
        candidates.map(|entry| entry.allocation).min_by_key(|allocation| {
            let end = allocation.base + allocation.size;
            if address < allocation.base {
                allocation.base - address
            } else {
                address.saturating_sub(end)
            }
        })
    }

    /// Checks that one allocation contains the access.
    #[inline]
    pub(crate) fn check(
        &self,
        kind: AccessKind,
        address: u64,
        size: u64,
        hint: &mut Hint,
    ) -> Result<(), Violation> {
        let violation = |reason| Violation {
            kind,
            address,
            size,
            reason,
        };
        let contains = |hint: &Hint| {
            let offset = address.wrapping_sub(hint.base);
            offset < hint.size && size <= hint.size - offset
        };
        // A hint of another version may be of memory that has been freed since, or isn't there yet.
        if hint.version != self.0.version() || !contains(hint) {
            let found = self.find(address).ok_or(violation(Reason::OutOfBounds))?;
            if !contains(&found) {
                return Err(violation(Reason::OutOfBounds));
            }
            *hint = found;
        }
        if kind != AccessKind::Load && hint.read_only {
            return Err(violation(Reason::ReadOnly));
        }
        // Loads and stores are made of bytes where they are not aligned; an atomic access can't be.
        if kind == AccessKind::Atomic && !address.is_multiple_of(size) {
            return Err(violation(Reason::Misaligned));
        }
        Ok(())
    }

    /// The last allocation that starts at or below an address.
    fn find(&self, address: u64) -> Option<Hint> {
        let Allocation { base, size, kind } = self.0.below(address)?.allocation;
        Some(Hint {
            version: self.0.version(),
            base,
            size,
            read_only: kind.is_read_only(),
        })
    }

    /// Reads a value of up to eight bytes.
    #[inline]
    pub(crate) fn load(&self, address: u64, size: usize, hint: &mut Hint) -> Result<u64, Violation> {
        self.check(AccessKind::Load, address, size as u64, hint)?;
        // SAFETY: just checked; the version keeps the memory.
        Ok(unsafe { raw::load(address, size) })
    }

    /// Writes a value of up to eight bytes.
    #[inline]
    pub(crate) fn store(
        &self,
        address: u64,
        size: usize,
        value: u64,
        hint: &mut Hint,
    ) -> Result<(), Violation> {
        self.check(AccessKind::Store, address, size as u64, hint)?;
        // SAFETY: just checked; the version keeps the memory.
        unsafe { raw::store(address, size, value) };
        Ok(())
    }

    /// Reads any number of bytes.
    pub(crate) fn read(&self, address: u64, out: &mut [u8], hint: &mut Hint) -> Result<(), Violation> {
        if out.is_empty() {
            return Ok(());
        }
        self.check(AccessKind::Load, address, out.len() as u64, hint)?;
        // SAFETY: just checked; the version keeps the memory.
        unsafe { raw::read(address, out) };
        Ok(())
    }

    /// Writes any number of bytes for a kernel.
    pub(crate) fn write(&self, address: u64, data: &[u8], hint: &mut Hint) -> Result<(), Violation> {
        if data.is_empty() {
            return Ok(());
        }
        self.check(AccessKind::Store, address, data.len() as u64, hint)?;
        // SAFETY: just checked; the version keeps the memory.
        unsafe { raw::write(address, data) };
        Ok(())
    }

    /// Replaces a value indivisibly by what `update` makes of it, and returns the old one.
    pub(crate) fn atomic(
        &self,
        address: u64,
        size: usize,
        hint: &mut Hint,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<u64, Violation> {
        self.check(AccessKind::Atomic, address, size as u64, hint)?;
        // SAFETY: just checked, alignment included; the version keeps the memory.
        Ok(unsafe { raw::atomic_update(address, size, update) })
    }
}
