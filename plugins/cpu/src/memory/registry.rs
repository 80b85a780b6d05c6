//! The registry of live allocations and the host's side of it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::snapshot::{Entry, Snapshot};
use super::{Allocation, AllocationKind, MemoryError, raw};

/// Alignment of every allocation: a cache line, and the largest OpenCL C type is half of two.
const SMALLEST_ALIGNMENT: usize = 128;

/// Alignments above this are refused rather than asked of the host.
const LARGEST_ALIGNMENT: usize = 1 << 29;

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
                    _storage: Some(Arc::new(block)),
                },
            );
            Ok(base)
        })
    }

    /// Registers memory of the host program so that kernels may access it, until [`Memory::free`] is
    /// called with its address.
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
                    _storage: None,
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
            entries
                .remove(&address)
                .map(|_| ())
                .ok_or(MemoryError::NotAnAllocation(address))
        })
    }

    /// Reads bytes from inside one allocation.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let size = out.len() as u64;
        let read = |snapshot: &Snapshot| snapshot.read(address, out, &mut 0);
        self.access(read)
            .map_err(|()| MemoryError::OutOfBounds { address, size })
    }

    /// Writes bytes to inside one allocation.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let write = |snapshot: &Snapshot| snapshot.write_from_host(address, data);
        let size = data.len() as u64;
        self.access(write)
            .map_err(|()| MemoryError::OutOfBounds { address, size })
    }

    /// Fills `size` bytes with a repeated pattern.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`], [`MemoryError::BadPattern`] when the size is no multiple of the
    /// pattern's.
    pub fn fill(&self, address: u64, pattern: &[u8], size: u64) -> Result<(), MemoryError> {
        let bad = MemoryError::BadPattern {
            size,
            pattern: pattern.len() as u64,
        };
        if pattern.is_empty() || !size.is_multiple_of(pattern.len() as u64) {
            return Err(bad);
        }
        self.check(address, size)?;
        // One write of some pages at a time instead of one of each pattern.
        let chunk = pattern.repeat((1usize << 16).div_ceil(pattern.len()));
        let mut done = 0;
        while done < size {
            let length = (size - done).min(chunk.len() as u64);
            self.write(address + done, &chunk[..length as usize])?;
            done += length;
        }
        Ok(())
    }

    /// Copies `size` bytes; the ranges may overlap.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    pub fn copy(&self, destination: u64, source: u64, size: u64) -> Result<(), MemoryError> {
        self.check(source, size)?;
        self.check(destination, size)?;
        let mut chunk = vec![0; size.min(1 << 20) as usize];
        let backwards = destination > source;
        let mut done = 0;
        while done < size {
            let length = (size - done).min(chunk.len() as u64);
            let offset = if backwards { size - done - length } else { done };
            self.read(source + offset, &mut chunk[..length as usize])?;
            self.write(destination + offset, &chunk[..length as usize])?;
            done += length;
        }
        Ok(())
    }

    /// The allocation that contains the byte at `address`.
    pub fn lookup(&self, address: u64) -> Option<Allocation> {
        self.snapshot().lookup(address)
    }

    /// Checks that one allocation contains `size` bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    pub fn check(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        let out_of_bounds = MemoryError::OutOfBounds { address, size };
        let allocation = self.lookup(address).ok_or(out_of_bounds.clone())?;
        let left = allocation.size - (address - allocation.base);
        if size <= left { Ok(()) } else { Err(out_of_bounds) }
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

    fn access<E>(&self, access: impl FnOnce(&Snapshot) -> Result<(), E>) -> Result<(), ()> {
        access(&self.snapshot()).map_err(|_| ())
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
