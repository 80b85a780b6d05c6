//! A slot: the place of one object, whose address is the object's handle.

use super::freed::Next;
use super::{Kind, Reclaim};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use offkit_sync::{AtomicU64, AtomicUsize, Cell};

/// What every slot begins with, whatever is in it. All zero to begin with.
#[repr(C)]
pub(super) struct Head {
    /// Word 0: where OpenCL's loaders look for a table of functions. Never changes.
    _dispatch: usize,
    /// Word 1: theirs as well, for what they put there.
    loader: AtomicUsize,
    /// Word 2: what the slot holds. The lowest byte is the kind of object; the rest counts how often the slot was filled
    /// and emptied, so that it is odd while there is an object.
    tag: AtomicU64,
    /// References: the host's in the upper half, all (the host's too) in the lower. There is an object as long as
    /// there are any; they decide, the tag tells.
    counts: AtomicU64,
    pub(super) next: Next,
    /// Set while the slot is filled.
    home: Cell<MaybeUninit<Home>>,
}

/// Where a slot goes when nobody refers to its object any more.
#[derive(Clone, Copy)]
struct Home {
    owner: &'static dyn Reclaim,
    index: u32,
}

/// A reference.
const USE: u64 = 1;

/// A reference of the host's, which counts among all.
const HOST: u64 = (1 << 32) + USE;

/// More references to one object are not to be had; as many may be made in between by threads that are still to be
/// refused.
const MAX_USES: u32 = 1 << 31;

/// Bits of the tag for the kind.
const KIND: u64 = 0xff;

/// The bit of the tag that is set while there is an object.
const LIVE: u64 = KIND + 1;

impl Head {
    fn new(dispatch: usize) -> Head {
        Head {
            _dispatch: dispatch,
            loader: AtomicUsize::new(0),
            tag: AtomicU64::new(0),
            counts: AtomicU64::new(0),
            next: Next::new(),
            home: Cell::new(MaybeUninit::uninit()),
        }
    }

    /// Sets the word that is the loaders'.
    pub(super) fn set_loader(&self, word: usize) {
        self.loader.store(word, Release);
    }

    /// Makes the slot one with an object, and with one reference.
    ///
    /// # Safety
    ///
    /// The slot is the caller's alone, is the one of that number of its owner, and has been given its object.
    #[inline]
    pub(super) unsafe fn fill(&self, kind: Kind, owner: &'static dyn Reclaim, index: u32) {
        // SAFETY: nobody else looks at it: the slot is the caller's, and without references.
        self.home
            .with_mut(|home| unsafe { home.write(MaybeUninit::new(Home { owner, index })) });
        let tag = self.tag.load(Relaxed);
        self.tag.store(((tag & !KIND) + LIVE) | kind as u64, Relaxed);
        // The counts last: once they are not 0, whoever has the handle may add to them and look.
        self.counts.store(USE, Release);
    }

    /// Adds a reference if there is an object.
    #[inline]
    pub(super) fn acquire(&self) -> bool {
        self.add(USE).is_some()
    }

    /// Adds a reference of the host's if there is an object: how many the host had.
    #[inline]
    pub(super) fn retain(&self) -> Option<u32> {
        self.add(HOST).map(|before| (before >> 32) as u32)
    }

    /// The counts as they were; `None` if there is no object.
    #[inline]
    fn add(&self, amount: u64) -> Option<u64> {
        let more = |counts: u64| {
            let uses = counts as u32;
            // With none the object is gone or going, and whoever took the last one drops it.
            (1..MAX_USES).contains(&uses).then(|| counts + amount)
        };
        self.counts.fetch_update(Acquire, Relaxed, more).ok()
    }

    /// Adds a reference for somebody who has one.
    ///
    /// # Safety
    ///
    /// The caller has a reference.
    #[inline]
    pub(super) unsafe fn share(&self) {
        if self.counts.fetch_add(USE, Relaxed) as u32 >= MAX_USES {
            // As `Arc` does. It takes two billion references that are forgotten instead of dropped.
            std::process::abort();
        }
    }

    /// Makes a reference one of the host's.
    ///
    /// # Safety
    ///
    /// The caller has a reference, and does not use it any more.
    #[inline]
    pub(super) unsafe fn give_to_host(&self) {
        // There are no more of the host's than there are in all.
        self.counts.fetch_add(HOST - USE, Relaxed);
    }

    /// Takes a reference back from the host: whether it was the last of all, and how many the host has left. `None` if
    /// it had none.
    #[inline]
    pub(super) fn release(&self) -> Option<(bool, u32)> {
        // The host's count is the upper half, so this fails just where that is 0: whoever else has
        // references can be many, but not as many as one of the host's stands for.
        let less = |counts: u64| counts.checked_sub(HOST);
        let before = self.counts.fetch_update(Release, Relaxed, less).ok()?;
        Some((before as u32 == 1, ((before - HOST) >> 32) as u32))
    }

    /// Gives a reference up; whether it was the last.
    ///
    /// # Safety
    ///
    /// The caller has a reference, and does not use it any more.
    #[inline]
    pub(super) unsafe fn drop_reference(&self) -> bool {
        self.counts.fetch_sub(USE, Release) as u32 == 1
    }

    /// References of the host.
    #[inline]
    pub(super) fn references(&self) -> u32 {
        (self.counts.load(Relaxed) >> 32) as u32
    }

    /// Whether there is an object. It may be gone the next moment.
    pub(super) fn is_live(&self) -> bool {
        self.tag.load(Relaxed) & LIVE != 0
    }
}

/// Empties a slot that nobody refers to any more.
///
/// # Safety
///
/// The slot had an object, and the caller has taken the last reference. The pointer may be used for the whole slot.
#[inline]
pub(super) unsafe fn empty(slot: NonNull<Head>) {
    // SAFETY: slots stay valid at least until their owner reclaims them. `home` was written when the slot was filled.
    let Home { owner, index } = unsafe {
        let head = slot.as_ref();
        // What the others did with the object comes before its end. (A load, as not all tools understand fences.)
        head.counts.load(Acquire);
        head.tag.store(head.tag.load(Relaxed) + LIVE, Relaxed);
        head.home.with(|home| (*home).assume_init())
    };
    // SAFETY: by the caller's promise.
    unsafe { owner.reclaim(slot, index) };
}

/// A slot for a `T`. What a slot holds besides does not matter to those who use the object.
#[repr(C)]
pub(super) struct Front<T> {
    pub(super) head: Head,
    pub(super) object: Cell<MaybeUninit<T>>,
}

/// A slot for a `T` and what the interface keeps about it, on cache lines of its own.
#[repr(C, align(64))]
pub(super) struct Slot<T, D> {
    pub(super) front: Front<T>,
    pub(super) details: Cell<MaybeUninit<D>>,
}

impl<T, D> Slot<T, D> {
    /// Makes slots without objects, for good, which begin with that word. `None` if there is no memory for them.
    #[cfg(not(loom))]
    pub(super) fn chunk(count: usize, dispatch: usize) -> Option<NonNull<Self>> {
        let layout = core::alloc::Layout::array::<Self>(count).ok()?;
        // SAFETY: a slot has a size, and there is at least one. All zero is a slot: a head without an object or a next,
        // and memory that nothing is said about.
        let chunk = unsafe { std::alloc::alloc_zeroed(layout) };
        let chunk: NonNull<Self> = NonNull::new(chunk.cast())?;
        if dispatch != 0 {
            for index in 0..count {
                // SAFETY: there are so many slots, which are nobody else's yet; a slot begins with its head, and that
                // with the word.
                unsafe { chunk.add(index).cast::<usize>().write(dispatch) };
            }
        }
        Some(chunk)
    }

    #[cfg(loom)]
    pub(super) fn chunk(count: usize, dispatch: usize) -> Option<NonNull<Self>> {
        let slots: Box<[Self]> = (0..count).map(|_| Slot::new(dispatch)).collect();
        Some(NonNull::from(Box::leak(slots)).cast())
    }

    /// Tells the address sanitizer whether what a slot holds may be touched. (It knows of memory that is freed, and slots
    /// never are.)
    pub(super) fn set_usable(slot: NonNull<Self>, usable: bool) {
        #[cfg(asan)]
        {
            unsafe extern "C" {
                fn __asan_poison_memory_region(address: *const u8, size: usize);
                fn __asan_unpoison_memory_region(address: *const u8, size: usize);
            }
            let size = size_of::<Self>() - size_of::<Head>();
            // SAFETY: these are the sanitizer's functions, and the range is the slot's after its head.
            unsafe {
                let start = slot.as_ptr().cast::<u8>().add(size_of::<Head>());
                match usable {
                    true => __asan_unpoison_memory_region(start, size),
                    false => __asan_poison_memory_region(start, size),
                }
            }
        }
        let _ = (slot, usable);
    }

    /// Drops what is in a slot.
    ///
    /// # Safety
    ///
    /// There is an object, and it is the caller's alone.
    pub(super) unsafe fn drop_object(slot: NonNull<Self>) {
        // SAFETY: by the caller's promise.
        unsafe {
            let Slot { front, details } = slot.as_ref();
            front.object.with_mut(|object| (*object).assume_init_drop());
            details.with_mut(|details| (*details).assume_init_drop());
        }
    }

    /// A slot without an object.
    pub(super) fn new(dispatch: usize) -> Self {
        Slot {
            front: Front {
                head: Head::new(dispatch),
                object: Cell::new(MaybeUninit::uninit()),
            },
            details: Cell::new(MaybeUninit::uninit()),
        }
    }
}
