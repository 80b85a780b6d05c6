//! The registry of live allocations and the host's side of it.

use std::ops::Range;
use std::sync::Arc;

use offkit_compile::Variant;

use super::block::{Block, Slabs};
use super::index::{Entry, Index, Storage, host_entry};
use super::published::Published;
use super::snapshot::Snapshot;
use super::{Allocation, AllocationKind, MemoryError, raw};
use crate::sync::{self, AtomicBool, Mutex, Ordering, PoisonError};

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
#[derive(Debug)]
pub struct Memory {
    /// The live allocations; see [`index`](super::index).
    index: Published<Index>,
    /// Held by whoever makes a new version.
    changing: Mutex<()>,
    slabs: Arc<Slabs>,
    /// Whether there has been an allocation of [`LARGE`] bytes or more.
    has_large: AtomicBool,
}

/// Code that was compiled for smaller allocations takes it that no access meets two elements whose 32-bit indices are on
/// both sides of a wrap.
const LARGE: u64 = Variant::LARGE_OBJECT;

impl Memory {
    /// An empty registry.
    pub fn new() -> Arc<Memory> {
        Arc::new(Memory {
            index: Published::new(Index::default()),
            changing: Mutex::new(()),
            slabs: Arc::default(),
            has_large: AtomicBool::new(false),
        })
    }

    /// Whether there has been an allocation so large that 32-bit indices may wrap inside of it.
    pub(crate) fn has_large(&self) -> bool {
        self.has_large.load(Ordering::Relaxed)
    }

    /// Notes an allocation before anybody can know its address.
    fn note_size(&self, size: u64) {
        if size >= LARGE {
            self.has_large.store(true, Ordering::Relaxed);
        }
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
        // Outside of the lock: the host may take long.
        let block = Block::new(&self.slabs, size, align);
        let block = block.ok_or(MemoryError::OutOfMemory(size))?;
        self.note_size(size as u64);
        let base = block.base();
        let allocation = Allocation {
            base,
            size: size as u64,
            kind,
        };
        let entry = Entry {
            allocation,
            storage: Storage::Owned {
                _block: Arc::new(block),
            },
        };
        self.change(|index| {
            let end = base + size as u64;
            let (rest, mut ranges) = without_host(index, base, end)?;
            let Some(rest) = rest else {
                return Ok(index.with(entry));
            };
            // What was registered here is not the host's any more, since the allocator has given it away. What such
            // ranges overlapped still is.
            ranges.retain(|range| range.end <= base || end <= range.start);
            Ok(with_host(rest, ranges).with(entry))
        })?;
        Ok(base)
    }

    /// Registers memory of the host program so that kernels may access it, until [`Memory::forget_host`] is
    /// called with the same range. Ranges may be registered several times, and may overlap: those that do are one
    /// allocation together.
    ///
    /// # Safety
    /// The `size` bytes at `address` must stay valid for reads and writes until they are forgotten here
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
        self.change(|index| {
            let (rest, mut ranges) = without_host(index, address, end)?;
            ranges.push(address..end);
            let entry = host_entry(ranges);
            // With what it overlaps it may be large where no part is; before any launch can find it.
            self.note_size(entry.allocation.size);
            Ok(rest.as_ref().unwrap_or(index).with(entry))
        })
    }

    /// Forgets host memory that was registered, once.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`].
    pub fn forget_host(&self, address: u64, size: usize) -> Result<(), MemoryError> {
        let forgotten = address..address.saturating_add(size as u64);
        self.change(|index| {
            let unknown = MemoryError::NotAnAllocation(address);
            let Some(Entry {
                allocation,
                storage: Storage::Host { ranges },
            }) = index.below(address)
            else {
                return Err(unknown);
            };
            let mut left = ranges.to_vec();
            let place = left.iter().position(|range| *range == forgotten);
            left.swap_remove(place.ok_or(unknown)?);
            // Without it, the others may not be one piece any more.
            Ok(with_host(index.without(allocation.base), left))
        })
    }

    /// Frees an allocation, given its first address.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`].
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        // The memory goes back with the last version that has it: a launch that runs keeps the one
        // that it began with.
        self.change(|index| match index.at(address) {
            Some(Entry {
                storage: Storage::Owned { .. },
                ..
            }) => Ok(index.without(address)),
            _ => Err(MemoryError::NotAnAllocation(address)),
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
        let _version = self.containing(address, out.len() as u64)?;
        // SAFETY: just checked; the version keeps the memory.
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
        let _version = self.containing(address, data.len() as u64)?;
        // SAFETY: just checked; the version keeps the memory.
        unsafe { raw::write(address, data) };
        Ok(())
    }

    /// Copies from inside one allocation to memory of the host.
    ///
    /// # Safety
    /// `size` bytes at `target` must be valid for writes, and nobody else use them meanwhile.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    #[expect(unsafe_code, reason = "the caller vouches for its memory")]
    pub(crate) unsafe fn copy_to_host(
        &self,
        address: u64,
        target: usize,
        size: usize,
    ) -> Result<(), MemoryError> {
        let _version = self.containing(address, size as u64)?;
        // SAFETY: just checked, and promised by the caller; the version keeps the memory.
        unsafe { raw::copy(target as u64, address, size) };
        Ok(())
    }

    /// Copies from memory of the host to inside one allocation.
    ///
    /// # Safety
    /// `size` bytes at `source` must be valid for reads, and nobody write them meanwhile.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    #[expect(unsafe_code, reason = "the caller vouches for its memory")]
    pub(crate) unsafe fn copy_from_host(
        &self,
        address: u64,
        source: usize,
        size: usize,
    ) -> Result<(), MemoryError> {
        let _version = self.containing(address, size as u64)?;
        // SAFETY: just checked, and promised by the caller; the version keeps the memory.
        unsafe { raw::copy(address, source as u64, size) };
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
        let _version = self.containing(address, size)?;
        // As fills with zeros are, however long the pattern: the C library has a function for it.
        let same = pattern.iter().all(|byte| *byte == pattern[0]);
        if same {
            // SAFETY: just checked; the version keeps the memory.
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
        // Both are kept: between the two looks another thread may free what the first one found.
        let _version = self.containing(source, size)?;
        let _later = self.containing(destination, size)?;
        // SAFETY: just checked; the versions keep the memory.
        unsafe { raw::copy(destination, source, size as usize) };
        Ok(())
    }

    /// The allocation that contains the byte at `address`.
    pub fn lookup(&self, address: u64) -> Option<Allocation> {
        let index = self.index.load();
        let allocation = index.below(address)?.allocation;
        (address - allocation.base < allocation.size).then_some(allocation)
    }

    /// Checks that one allocation contains `size` bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`].
    pub fn check(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        self.containing(address, size).map(drop)
    }

    /// The version of the index that has an allocation which contains the range: it keeps the memory.
    fn containing(&self, address: u64, size: u64) -> Result<sync::Arc<Index>, MemoryError> {
        let index = self.index.load();
        let inside = index.below(address).is_some_and(|entry| {
            let offset = address - entry.allocation.base;
            // As a difference, since `address + size` may wrap.
            offset < entry.allocation.size && size <= entry.allocation.size - offset
        });
        match inside {
            true => Ok(index),
            false => Err(MemoryError::OutOfBounds { address, size }),
        }
    }

    /// The allocations of this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.index.load())
    }

    fn change(&self, change: impl FnOnce(&Index) -> Result<Index, MemoryError>) -> Result<(), MemoryError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.index.store(change(&self.index.load())?);
        Ok(())
    }
}

/// A version without the registered memory that overlaps a range, and what was registered there; no version if nothing was.
///
/// # Errors
/// [`MemoryError::Overlap`] if the device's own memory does.
fn without_host(
    index: &Index,
    address: u64,
    end: u64,
) -> Result<(Option<Index>, Vec<Range<u64>>), MemoryError> {
    // From the end of the range downwards, until an entry ends in front of it. No entries overlap.
    let (mut rest, mut found) = (None, Vec::new());
    loop {
        let current = rest.as_ref().unwrap_or(index);
        let last = current
            .below(end - 1)
            .filter(|entry| entry.allocation.base + entry.allocation.size > address);
        let Some(Entry { allocation, storage }) = last else {
            return Ok((rest, found));
        };
        let Storage::Host { ranges } = storage else {
            return Err(MemoryError::Overlap {
                address,
                size: end - address,
                existing: *allocation,
            });
        };
        found.extend_from_slice(ranges);
        rest = Some(current.without(allocation.base));
    }
}

/// A version with registered memory, too: ranges that overlap are one allocation.
fn with_host(mut index: Index, mut ranges: Vec<Range<u64>>) -> Index {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut left = ranges.into_iter().peekable();
    while let Some(range) = left.next() {
        let (mut end, mut piece) = (range.end, vec![range]);
        // What only touches stays apart: nobody has promised that an access may cross from one to
        // the other, and each can be forgotten without the other.
        while let Some(next) = left.next_if(|next| next.start < end) {
            end = end.max(next.end);
            piece.push(next);
        }
        index = index.with(host_entry(piece));
    }
    index
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Hint;
    use super::*;

    /// What a launch has seen stays readable until it ends, and no longer.
    #[test]
    fn snapshots_keep_what_is_freed() {
        let memory = Memory::new();
        for size in [64, 1 << 20] {
            let base = memory.allocate(size, 1, AllocationKind::Buffer).unwrap();
            memory.write(base, &[7]).unwrap();
            let launch = memory.snapshot();
            let mut hint = Hint::default();
            memory.free(base).unwrap();
            assert_eq!(launch.load(base, 1, &mut hint), Ok(7));
            // What it found there holds for no other version.
            assert!(memory.snapshot().load(base, 1, &mut hint).is_err());
            let other = memory.allocate(size, 1, AllocationKind::Buffer).unwrap();
            assert_ne!(other, base);
            assert!(launch.load(other, 1, &mut hint).is_err());
            memory.free(other).unwrap();
        }
    }

    /// Host memory may be registered in pieces that overlap: 32-bit indices may wrap inside of all of them together.
    #[test]
    #[expect(unsafe_code, reason = "host memory is registered")]
    fn pieces_that_overlap_are_as_large_as_all_of_them() {
        const GIB: u64 = 1 << 30;
        let memory = Memory::new();
        for piece in [1, 3] {
            assert!(!memory.has_large());
            // SAFETY: nothing is read or written here, and nothing runs.
            unsafe { memory.register_host(piece * GIB, 3 << 30) }.unwrap();
        }
        assert!(memory.has_large());
    }

    #[test]
    #[expect(unsafe_code, reason = "host memory is registered")]
    fn host_memory_is_there_until_nobody_has_registered_it() {
        let memory = Memory::new();
        let mut bytes = vec![1u8; 16];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        // The first twice; the others overlap it, and each other by way of it.
        let ranges = [(4, 8), (4, 8), (0, 6), (8, 8)];
        for (offset, size) in ranges {
            // SAFETY: the vector outlives its registrations, and is not touched while others may.
            unsafe { memory.register_host(address + offset, size).unwrap() };
        }
        memory.write(address, &[2; 16]).unwrap();
        memory.forget_host(address + 4, 8).unwrap();
        memory.write(address, &[3; 16]).unwrap();
        memory.forget_host(address + 4, 8).unwrap();
        assert!(memory.forget_host(address + 4, 8).is_err());
        // Now there is a gap.
        assert!(memory.write(address, &[4; 16]).is_err());
        assert!(memory.write(address + 6, &[4]).is_err());
        memory.write(address, &[4; 6]).unwrap();
        memory.write(address + 8, &[5; 8]).unwrap();
        memory.forget_host(address, 6).unwrap();
        memory.forget_host(address + 8, 8).unwrap();
        assert!(memory.write(address, &[6]).is_err());
        assert_eq!(bytes, [4, 4, 4, 4, 4, 4, 3, 3, 5, 5, 5, 5, 5, 5, 5, 5]);
    }
    /// Memory that the host has freed without forgetting it is the device's when the allocator gives it away; what was
    /// registered beside it is still the host's.
    #[test]
    #[expect(unsafe_code, reason = "host memory is registered")]
    fn an_allocation_takes_the_place_of_the_host_memory_that_it_overlaps_alone() {
        let memory = Memory::new();
        let freed = memory.allocate(64, 1, AllocationKind::Buffer).unwrap();
        memory.free(freed).unwrap();
        // Of the three, the first ends, and the last begins, within the second.
        for (address, size) in [(freed - 48, 40), (freed - 16, 96), (freed + 72, 16)] {
            // SAFETY: nobody looks there.
            unsafe { memory.register_host(address, size).unwrap() };
        }
        assert_eq!(memory.allocate(64, 1, AllocationKind::Buffer), Ok(freed));
        assert_eq!(memory.lookup(freed).unwrap().size, 64);
        assert_eq!(memory.lookup(freed - 48).unwrap().size, 40);
        assert_eq!(memory.lookup(freed + 72).unwrap().size, 16);
        assert_eq!(memory.lookup(freed - 4), None);
        memory.forget_host(freed - 48, 40).unwrap();
        memory.forget_host(freed + 72, 16).unwrap();
        assert!(memory.forget_host(freed - 16, 96).is_err());
    }
}
