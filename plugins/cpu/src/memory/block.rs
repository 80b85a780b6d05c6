//! Memory for allocations: pieces of the host's, with room around each that belongs to nobody.
//!
//! What makes an access valid is the allocation's size as it was asked for, so that the room around one is
//! what keeps an access just outside of it from landing in a neighbour. Large allocations are the host's own,
//! with [`GUARD`] bytes on both sides. Small ones are slots of a slab, apart by at least their own size.

#![expect(unsafe_code, reason = "memory is taken from the host and given back")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::Arc;

use super::raw;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes kept unused on both sides of a large allocation.
const GUARD: usize = 4096;

/// Alignment of every allocation: a cache line, and the largest OpenCL C type is half of two.
const SMALLEST_ALIGNMENT: usize = 128;

/// The sizes of slots. A slot has as many bytes of nobody's behind it, and no fewer than [`SMALLEST_GAP`].
const SLOT_SIZES: [usize; 5] = [128, 256, 512, 1024, 2048];

/// Bytes between the slots of a slab. A work-group of 64 work-items that is one too many for an array of numbers
/// stays inside.
const SMALLEST_GAP: usize = 384;

/// Slots in a slab: one for each bit of a word.
const SLOTS: usize = 64;

/// The alignment that the host's allocator has for everything. For a larger one the standard library writes the zeros itself,
/// so that the whole allocation is touched when it is made: 0.2 s for 512 MiB. The host gets zeroed pages when they are used.
const HOST_ALIGNMENT: usize = 16;

/// From this size on a region asks for large pages: kernels that read all over 32 MB took up to half of their time to find pages of
/// 4 KiB, and streams of 16 to 200 MB are a tenth faster. Of less, what is rounded up to large pages would be much of it.
const LARGE: usize = 4 << 20;

/// Zeroed host memory with guard space around it, given back on drop.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    layout: Layout,
    /// Bytes before the first usable one.
    before: usize,
}

// SAFETY: a region is a plain piece of memory; whoever touches its bytes does so atomically.
unsafe impl Send for Region {}
// SAFETY: as above; the fields themselves never change.
unsafe impl Sync for Region {}

impl Region {
    /// Allocates `size` bytes at a multiple of `align`, a power of two. `None` when the host refuses.
    fn new(size: usize, align: usize, guard: usize) -> Option<Region> {
        let whole = size.checked_add(guard.checked_mul(2)?)?.checked_add(align)?;
        let layout = Layout::from_size_align(whole, HOST_ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not zero, since the alignment is not.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        if whole >= LARGE {
            prefer_large_pages(start, whole);
        }
        let guarded = start.as_ptr().addr() + guard;
        let before = guard + (guarded.next_multiple_of(align) - guarded);
        Some(Region {
            start,
            layout,
            before,
        })
    }

    /// Address of the first usable byte.
    fn base(&self) -> u64 {
        (self.start.as_ptr().expose_provenance() + self.before) as u64
    }
}

/// Asks the system for large pages where whole ones fit into new memory. By default Linux gives them to who asks.
#[cfg(target_os = "linux")]
fn prefer_large_pages(start: NonNull<u8>, size: usize) {
    /// What x86 has, and Arm with pages of 4 KiB.
    const PAGE: usize = 2 << 20;
    let address = start.as_ptr().addr();
    let before = address.next_multiple_of(PAGE) - address;
    let length = size.saturating_sub(before) / PAGE * PAGE;
    // SAFETY: these pages lie within the memory, whose contents an advice does not change. It may be refused, which changes
    // nothing.
    unsafe {
        libc::madvise(start.as_ptr().add(before).cast(), length, libc::MADV_HUGEPAGE);
    }
}

/// Other systems decide by themselves.
#[cfg(not(target_os = "linux"))]
fn prefer_large_pages(_: NonNull<u8>, _: usize) {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// The memory of one allocation, given back on drop.
#[derive(Debug)]
pub(super) enum Block {
    /// A region of its own.
    #[expect(private_interfaces, reason = "nobody else looks inside")]
    Whole(Region),
    /// A slot of a slab.
    Slot {
        slabs: Arc<Slabs>,
        class: usize,
        base: u64,
    },
}

impl Block {
    /// Allocates `size` zeroed bytes at a multiple of `align`, a power of two; at least that of a cache line is
    /// used. `None` when the host refuses.
    pub(super) fn new(slabs: &Arc<Slabs>, size: usize, align: usize) -> Option<Block> {
        let class = SLOT_SIZES.iter().position(|slot| size <= *slot);
        match class.filter(|_| align <= SMALLEST_ALIGNMENT) {
            Some(class) => Some(Block::Slot {
                slabs: Arc::clone(slabs),
                class,
                base: slabs.take(class)?,
            }),
            None => {
                let align = align.max(SMALLEST_ALIGNMENT);
                Region::new(size, align, GUARD).map(Block::Whole)
            }
        }
    }

    /// Address of the first byte.
    pub(super) fn base(&self) -> u64 {
        match self {
            Block::Whole(region) => region.base(),
            Block::Slot { base, .. } => *base,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Block::Slot { slabs, class, base } = self {
            slabs.give_back(*class, *base);
        }
    }
}

/// The slabs that small allocations are slots of, by the size of the slots.
#[derive(Debug, Default)]
pub(super) struct Slabs([Mutex<Class>; SLOT_SIZES.len()]);

/// The slabs with slots of one size, by address.
#[derive(Debug, Default)]
struct Class {
    slabs: BTreeMap<u64, Slab>,
    /// Those that have free slots.
    open: BTreeSet<u64>,
}

#[derive(Debug)]
struct Slab {
    _region: Region,
    /// A bit for each free slot.
    free: u64,
}

/// Bytes between the slots of a size.
fn gap(slot: usize) -> usize {
    slot.max(SMALLEST_GAP)
}

impl Slabs {
    fn class(&self, class: usize) -> MutexGuard<'_, Class> {
        self.0[class].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of a slot of zeros.
    fn take(&self, class: usize) -> Option<u64> {
        let slot = SLOT_SIZES[class];
        let stride = slot + gap(slot);
        let mut class = self.class(class);
        let class = &mut *class;
        // The lowest, not the last used: so others may become empty, and are given back.
        let base = match class.open.first() {
            Some(base) => *base,
            None => {
                // The guard behind the region is the gap behind its last slot.
                let region = Region::new(SLOTS * stride - gap(slot), SMALLEST_ALIGNMENT, gap(slot))?;
                let base = region.base();
                let slab = Slab {
                    _region: region,
                    free: u64::MAX,
                };
                class.slabs.insert(base, slab);
                class.open.insert(base);
                base
            }
        };
        let slab = class.slabs.get_mut(&base)?;
        // Below 64, as an open slab has a free slot.
        let number = slab.free.trailing_zeros();
        slab.free &= !(1 << number);
        if slab.free == 0 {
            class.open.remove(&base);
        }
        Some(base + u64::from(number) * stride as u64)
    }

    /// Takes a slot back. The last of a slab takes the slab with it, unless there is no other with free slots.
    fn give_back(&self, class: usize, address: u64) {
        let slot = SLOT_SIZES[class];
        // Nobody knows the slot any more, and the next shall have it zeroed.
        // SAFETY: the slot is inside its slab, which is there for as long as a slot of it is taken.
        unsafe { raw::set(address, 0, slot) };
        let mut class = self.class(class);
        let Some((&base, slab)) = class.slabs.range_mut(..=address).next_back() else {
            return;
        };
        slab.free |= 1 << ((address - base) / (slot + gap(slot)) as u64);
        let empty = slab.free == u64::MAX;
        class.open.insert(base);
        // One stays, or a host that allocates and frees by turns would make a slab each time.
        if empty && class.open.len() > 1 {
            class.open.remove(&base);
            class.slabs.remove(&base);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_zeroed_and_used_again() {
        let slabs = Arc::new(Slabs::default());
        let block = || Block::new(&slabs, 100, 1).unwrap();
        let mut blocks: Vec<_> = (0..200).map(|_| block()).collect();
        let mut bases: Vec<_> = blocks.iter().map(Block::base).collect();
        bases.sort_unstable();
        assert!(bases.windows(2).all(|pair| pair[1] - pair[0] >= 512));
        assert_eq!(slabs.class(0).slabs.len(), 4);
        let base = blocks.swap_remove(70).base();
        // SAFETY: the slot is free, but its slab is there.
        let byte = |value| unsafe { raw::store(base, 1, value) };
        let again = block();
        assert_eq!(
            again.base(),
            base,
            "the first free slot of the first slab that has one"
        );
        byte(7);
        drop(again);
        // SAFETY: as above.
        assert_eq!(unsafe { raw::load(base, 1) }, 0);
        blocks.clear();
        assert_eq!(slabs.class(0).slabs.len(), 1, "one is kept for the next");
    }
}
