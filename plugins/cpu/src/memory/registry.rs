//! The registry of live allocations and the host's side of it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::snapshot::{Entry, Snapshot, Storage};
use super::{Allocation, AllocationKind, MemoryError, raw};

/// Alignment of every allocation: a cache line, and the largest OpenCL C type is half of two.
const SMALLEST_ALIGNMENT: usize = 128;

/// Alignments above this are refused rather than asked of the host.
const LARGEST_ALIGNMENT: usize = 1 << 29;

/// Bytes that go through memory of our own at a time: they stay in the cache closest to the processor.
const CHUNK: usize = 16 << 10;

/// Device memory: the live allocations, shared by all programs and launches of a device.
///
/// Addresses are host addresses. All methods may be called from any thread.
///
/// ```
/// use offkit_plugin_cpu::{AllocationKind, Memory};
///
/// let memory = Memory::new();
/// let address = memory.allocate(16, 4, AllocationKind::Buffer)?;
/// memory.write(address + 4, &7u32.to_le_bytes())?;
/// let mut bytes = [0; 8];
/// memory.read(address, &mut bytes)?;
/// assert_eq!(bytes, [0, 0, 0, 0, 7, 0, 0, 0]);
/// assert!(memory.read(address + 12, &mut bytes).is_err());
/// memory.free(address)?;
/// # Ok::<(), offkit_plugin_cpu::MemoryError>(())
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    /// The entries as a sorted array, made when a launch asks for it and dropped at each change.
    snapshot: Option<Arc<Snapshot>>,
}

impl Memory {
    /// An empty registry.
    pub fn new() -> Arc<Memory> {
        Arc::new(Memory::default())
    }

    /// Allocates `size` zeroed bytes at a multiple of `align` (a power of two; at least 128 is used)
    /// and returns the address. Guard space around it keeps neighbours apart.
    ///
    /// # Errors
    /// [`MemoryError::ZeroSize`], [`MemoryError::BadAlignment`], [`MemoryError::OutOfMemory`].
    pub fn allocate(&self, size: usize, align: usize, kind: AllocationKind) -> Result<u64, MemoryError> {
        if size == 0 {
            return Err(MemoryError::ZeroSize);
        }
        if !align.is_power_of_two() || align > LARGEST_ALIGNMENT {
            return Err(MemoryError::BadAlignment(align));
        }
        let block = raw::Block::new(size, align.max(SMALLEST_ALIGNMENT));
        let block = block.ok_or(MemoryError::OutOfMemory(size))?;
        let base = block.base();
        let allocation = Allocation {
            base,
            size: size as u64,
            kind,
        };
        self.change(|entries| {
            entries.insert(
                base,
                Entry {
                    allocation,
                    storage: Storage::Owned {
                        _block: Arc::new(block),
                    },
                },
            );
            Ok(base)
        })
    }

    /// Registers memory of the host program so that kernels may access it, until [`Memory::free`] is
    /// called with its address. The same memory may be registered several times, and is then to be freed as
    /// often.
    ///
    /// # Safety
    /// The `size` bytes at `address` must stay valid for reads and writes until they are freed here
    /// and every launch that began before has ended, and the host may touch them only where that is
    /// no data race with the kernels that run.
    ///
    /// # Errors
    /// [`MemoryError::ZeroSize`] for no bytes or a null address, [`MemoryError::Overlap`].
    #[expect(unsafe_code, reason = "who registers memory must vouch for it")]
    pub unsafe fn register_host(&self, address: u64, size: usize) -> Result<(), MemoryError> {
        let size = size as u64;
        let end = address.checked_add(size).filter(|_| address != 0 && size != 0);
        let end = end.ok_or(MemoryError::ZeroSize)?;
        let allocation = Allocation {
            base: address,
            size,
            kind: AllocationKind::HostPointer,
        };
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(&address)
                && let Storage::Host { registrations } = &mut entry.storage
                && entry.allocation == allocation
            {
                *registrations += 1;
                return Ok(());
            }
            if let Some((_, entry)) = entries.range(..end).next_back()
                && entry.allocation.base + entry.allocation.size > address
            {
                return Err(MemoryError::Overlap {
                    address,
                    size,
                    existing: entry.allocation,
                });
            }
            entries.insert(
                address,
                Entry {
                    allocation,
                    storage: Storage::Host { registrations: 1 },
                },
            );
            Ok(())
        })
    }

    /// Frees an allocation, or forgets registered host memory, given its first address.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`].
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.change(|entries| {
            let entry = entries
                .get_mut(&address)
                .ok_or(MemoryError::NotAnAllocation(address))?;
            match &mut entry.storage {
                Storage::Host { registrations } if *registrations > 1 => *registrations -= 1,
                _ => drop(entries.remove(&address)),
            }
            Ok(())
        })
    }

    /// Reads bytes from inside one allocation.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    #[expect(unsafe_code, reason = "accesses of the host are checked here")]
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        if out.is_empty() {
            return Ok(());
        }
        let _entry = self.containing(address, out.len() as u64)?;
        // SAFETY: just checked; the entry keeps the storage alive.
        unsafe { raw::read(address, out) };
        Ok(())
    }

    /// Writes bytes to inside one allocation, which may be one that kernels only read.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    #[expect(unsafe_code, reason = "accesses of the host are checked here")]
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        if data.is_empty() {
            return Ok(());
        }
        let _entry = self.containing(address, data.len() as u64)?;
        // SAFETY: just checked; the entry keeps the storage alive.
        unsafe { raw::write(address, data) };
        Ok(())
    }

    /// Fills `size` bytes with a repeated pattern.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`], [`MemoryError::BadPattern`] when the size is no multiple of the
    /// pattern's.
    #[expect(unsafe_code, reason = "accesses of the host are checked here")]
    pub fn fill(&self, address: u64, pattern: &[u8], size: u64) -> Result<(), MemoryError> {
        let bad = MemoryError::BadPattern {
            size,
            pattern: pattern.len() as u64,
        };
        if pattern.is_empty() || !size.is_multiple_of(pattern.len() as u64) {
            return Err(bad);
        }
        let _entry = self.containing(address, size)?;
        let same = pattern.iter().all(|byte| *byte == pattern[0]);
        if same {
            // SAFETY: just checked; the entry keeps the storage alive.
            unsafe { raw::set(address, pattern[0], size as usize) };
            return Ok(());
        }
        // As many patterns as fit are written at once, from where the processor has them closest.
        let mut chunk = [0; CHUNK];
        let most = CHUNK.min(size as usize);
        let many = most - most % pattern.len();
        let mut filled = pattern.len().min(many);
        chunk[..filled].copy_from_slice(&pattern[..filled]);
        while filled < many {
            let length = filled.min(many - filled);
            chunk.copy_within(..length, filled);
            filled += length;
        }
        let end = address + size;
        let piece = if many == 0 { pattern } else { &chunk[..many] };
        for at in (address..end).step_by(piece.len()) {
            let length = piece.len().min((end - at) as usize);
            // SAFETY: as above, a part of it.
            unsafe { raw::write(at, &piece[..length]) };
        }
        Ok(())
    }

    /// Copies `size` bytes; the ranges may overlap.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    #[expect(unsafe_code, reason = "accesses of the host are checked here")]
    pub fn copy(&self, destination: u64, source: u64, size: u64) -> Result<(), MemoryError> {
        let _source = self.containing(source, size)?;
        let _destination = self.containing(destination, size)?;
        // SAFETY: just checked; the entries keep the storage alive.
        unsafe { raw::copy(destination, source, size as usize) };
        Ok(())
    }

    /// The allocation that contains the byte at `address`.
    pub fn lookup(&self, address: u64) -> Option<Allocation> {
        self.entry(address).map(|entry| entry.allocation)
    }

    /// Checks that one allocation contains `size` bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    pub fn check(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        self.containing(address, size).map(drop)
    }

    fn entry(&self, address: u64) -> Option<Entry> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let (base, entry) = state.entries.range(..=address).next_back()?;
        (address - base < entry.allocation.size).then(|| entry.clone())
    }

    fn containing(&self, address: u64, size: u64) -> Result<Entry, MemoryError> {
        let inside = |entry: &Entry| {
            let Allocation {
                base, size: whole, ..
            } = entry.allocation;
            size <= whole - (address - base)
        };
        self.entry(address)
            .filter(inside)
            .ok_or(MemoryError::OutOfBounds { address, size })
    }

    /// The allocations of this moment.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let ready = self
            .state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .snapshot
            .clone();
        ready.unwrap_or_else(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let State { entries, snapshot } = &mut *state;
            let make = || {
                Arc::new(Snapshot {
                    entries: entries.values().cloned().collect(),
                })
            };
            snapshot.get_or_insert_with(make).clone()
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<u64, Entry>) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut state.entries)?;
        state.snapshot = None;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_launches_make_snapshots() {
        let memory = Memory::new();
        let made = || memory.state.read().unwrap().snapshot.is_some();
        let base = memory.allocate(16, 1, AllocationKind::Buffer).unwrap();
        memory.write(base, &[1; 16]).unwrap();
        memory.read(base, &mut [0; 16]).unwrap();
        memory.copy(base, base + 8, 8).unwrap();
        memory.fill(base, &[1], 16).unwrap();
        assert!(memory.lookup(base).is_some() && !made());
        let _launch = memory.snapshot();
        assert!(made());
        memory.free(base).unwrap();
        assert!(!made());
    }

    #[test]
    #[expect(unsafe_code, reason = "host memory is registered")]
    fn host_memory_registered_twice_is_there_until_freed_twice() {
        let memory = Memory::new();
        let mut bytes = vec![1u8; 8];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        for _ in 0..2 {
            // SAFETY: the vector outlives its registrations, and is not touched while others may.
            unsafe { memory.register_host(address, 8).unwrap() };
        }
        // SAFETY: as above.
        let other_size = unsafe { memory.register_host(address, 4) };
        assert!(matches!(other_size, Err(MemoryError::Overlap { .. })));
        memory.free(address).unwrap();
        memory.write(address, &[2]).unwrap();
        memory.free(address).unwrap();
        assert!(memory.write(address, &[3]).is_err());
        assert_eq!(bytes[0], 2);
    }
}
