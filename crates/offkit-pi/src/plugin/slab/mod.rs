//! Slabs: where the objects that hosts know live, so that a handle is the address of an object.
//!
//! A slab has the objects of one kind and one plugin. Its slots are never unmapped and never become anything else,
//! so that whatever a host passes can be looked at safely: a number that is not the address of one of the slab's
//! slots is not followed, and a slot says by itself whether there is an object in it. A handle that was released is
//! refused until its slot is used again, which is as late as possible: when all others have been.
//!
//! Making, finding, sharing and dropping an object takes no lock and no memory from the heap, but for the chunk
//! of slots that is added when all are in use. Chunks double.
//!
//! Most of this is generic and so compiled with the plugin; what is not, and is small, is `#[inline]` to go there too.
//!
//! Every slot begins with two words for OpenCL's loaders. Drivers made with this module have the address of their table
//! of functions in the first ([`Slab::with_dispatch`]), in slots without an object too: a loader follows it from whatever
//! handle it is given, and the driver then refuses the handle. The second is what the loader puts there
//! ([`Slab::set_loader_word`]).
//!
//! This module and its parts have the only unsafe code there is behind handles. `loom` goes through the ways in which
//! threads can meet in it: `./dev loom`.

mod freed;
#[cfg(all(test, loom))]
mod models;
mod reference;
mod slot;
#[cfg(all(test, not(loom)))]
mod tests;

pub use reference::{Record, Ref};

use self::freed::{Freed, MAX_SLOTS, Next};
use self::slot::{Head, Slot};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use offkit_sync::{AtomicPtr, AtomicU32, AtomicUsize, Mutex, PoisonError};

/// Kinds of objects, as slots are tagged with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// One without a handle.
    None,
    /// A platform.
    Platform,
    /// A device.
    Device,
    /// A context.
    Context,
    /// A queue.
    Queue,
    /// A buffer or an image.
    Memory,
    /// A sampler.
    Sampler,
    /// A program.
    Program,
    /// A kernel.
    Kernel,
    /// An event.
    Event,
}

/// Why there is no object for a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is not the address of one of the slab's slots.
    Foreign,
    /// There was an object, and the host has released it.
    Released,
}

/// Slots of the first chunk: few, since most programs have few objects of a kind, and all slots of a chunk are written to when
/// it is made. With 64 that was 4 % of the instructions of a small program of OpenCL.
const FIRST: u32 = if cfg!(loom) { 2 } else { 8 };

/// Chunks there can be.
const CHUNKS: usize = if cfg!(loom) { 2 } else { 25 };

const _: () = assert!(capacity_of(CHUNKS) < MAX_SLOTS);

/// Slots of so many chunks.
const fn capacity_of(chunks: usize) -> u32 {
    FIRST * ((1 << chunks) - 1)
}

/// The objects of a kind, with what the interface keeps about each (`D`).
pub struct Slab<T: Send + Sync + 'static, D: Send + Sync + 'static> {
    kind: Kind,
    /// What the first word of every slot is: the address of a table of functions, or 0.
    dispatch: usize,
    /// What the second is.
    loader: AtomicUsize,
    chunks: [AtomicPtr<Slot<T, D>>; CHUNKS],
    /// Slots of the chunks there are.
    capacity: AtomicU32,
    /// The first slot that was never used.
    fresh: AtomicU32,
    freed: Freed,
    /// Held while a chunk is added.
    growing: Mutex<()>,
}

/// What slots belong to, whatever is in them.
trait Reclaim: Sync {
    /// Drops the object of a slot.
    ///
    /// # Safety
    ///
    /// The slot is the one of that number of this owner. It has an object, and nobody a reference to it. The pointer may be
    /// used for the whole slot.
    unsafe fn reclaim(&'static self, slot: NonNull<Head>, index: u32);
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Slab<T, D> {
    /// A slab without objects.
    pub fn new(kind: Kind) -> Slab<T, D> {
        Slab::with_dispatch(kind, 0)
    }

    /// A slab whose objects begin with an address, that of a table of functions.
    pub fn with_dispatch(kind: Kind, dispatch: usize) -> Slab<T, D> {
        Slab {
            kind,
            dispatch,
            loader: AtomicUsize::new(0),
            chunks: core::array::from_fn(|_| AtomicPtr::new(core::ptr::null_mut())),
            capacity: AtomicU32::new(0),
            // The queue of freed slots has slot 0 from the beginning.
            fresh: AtomicU32::new(1),
            freed: Freed::new(),
            growing: Mutex::new(()),
        }
    }

    /// Has all objects, those to come too, have a loader's word behind the address of the table.
    pub fn set_loader_word(&self, word: usize) {
        // A chunk that is added meanwhile might miss the word.
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        self.loader.store(word, Relaxed);
        for index in 0..self.capacity.load(Relaxed) {
            let slot = self.slot(index);
            // SAFETY: slots are valid for good.
            unsafe { slot.as_ref() }.front.head.set_loader(word);
        }
    }

    /// Makes an object in a slot. `None` if there is no memory for it. (If making it panics, so much memory is lost.)
    #[inline]
    pub fn insert(&'static self, object: impl FnOnce() -> T, details: D) -> Option<Record<T, D>> {
        let index = self.take()?;
        let slot = self.slot(index);
        Slot::set_usable(slot, true);
        // SAFETY: the slot is valid for good. It was just taken, so it is this thread's alone and without an object.
        unsafe {
            let Slot {
                front,
                details: place,
            } = slot.as_ref();
            front
                .object
                .with_mut(|object_place| object_place.write(MaybeUninit::new(object())));
            place.with_mut(|place| place.write(MaybeUninit::new(details)));
            front.head.fill(self.kind, self, index);
            Some(Record::new(slot))
        }
    }

    /// The object of a handle.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there is none.
    pub fn get(&self, handle: usize) -> Result<Record<T, D>, Refusal> {
        let slot = self.find(handle).ok_or(Refusal::Foreign)?;
        // SAFETY: slots are valid for good; the record is given the reference that is taken.
        unsafe {
            match slot.as_ref().front.head.acquire() {
                true => Ok(Record::new(slot)),
                false => Err(Refusal::Released),
            }
        }
    }

    /// Gives the host one more reference to the object of a handle.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there is none.
    pub fn retain(&self, handle: usize) -> Result<(), Refusal> {
        self.retain_one(handle).map(drop)
    }

    /// The same; tells how many references the host had.
    pub(crate) fn retain_one(&self, handle: usize) -> Result<u32, Refusal> {
        let slot = self.find(handle).ok_or(Refusal::Foreign)?;
        // SAFETY: slots are valid for good.
        let before = unsafe { slot.as_ref() }.front.head.retain();
        before.ok_or(Refusal::Released)
    }

    /// Takes one of the host's references to the object of a handle back.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there is none, or the host has no reference.
    pub fn release(&self, handle: usize) -> Result<(), Refusal> {
        self.release_one(handle).map(drop)
    }

    /// The same; tells how many references the host has left.
    pub(crate) fn release_one(&self, handle: usize) -> Result<u32, Refusal> {
        let slot = self.find(handle).ok_or(Refusal::Foreign)?;
        // SAFETY: slots are valid for good; what was the last reference was one to an object.
        unsafe {
            let (is_last, left) = slot.as_ref().front.head.release().ok_or(Refusal::Released)?;
            if is_last {
                slot::empty(slot.cast());
            }
            Ok(left)
        }
    }

    /// Whether there is an object of that handle here, at this moment.
    pub(crate) fn holds(&self, handle: usize) -> bool {
        // SAFETY: slots are valid for good.
        self.find(handle)
            .is_some_and(|slot| unsafe { slot.as_ref() }.front.head.is_live())
    }

    /// The slot that begins at an address.
    fn find(&self, address: usize) -> Option<NonNull<Slot<T, D>>> {
        // The last chunk has half of the slots, so it comes first.
        let chunks = chunks_in(self.capacity.load(Acquire));
        self.chunks
            .iter()
            .enumerate()
            .take(chunks)
            .rev()
            .find_map(|(number, chunk)| {
                // It was stored before the capacity that counts it, which was acquired.
                let chunk = NonNull::new(chunk.load(Relaxed))?;
                let (offset, size) = (address.wrapping_sub(chunk.addr().get()), size_of::<Slot<T, D>>());
                let index = offset / size;
                // SAFETY: a chunk has so many slots.
                let at = || unsafe { chunk.add(index) };
                (index < (FIRST as usize) << number && offset % size == 0).then(at)
            })
    }

    /// The slot of a number that has been given out.
    fn slot(&self, index: u32) -> NonNull<Slot<T, D>> {
        let number = chunks_in(index);
        let chunk = self.chunks[number].load(Relaxed);
        // SAFETY: the number has been given out after its chunk was there, which is never taken away; that many slots
        // are in the chunks before.
        unsafe { NonNull::new_unchecked(chunk).add((index - capacity_of(number)) as usize) }
    }

    fn next(&self, index: u32) -> &Next {
        let slot: NonNull<Slot<T, D>> = self.slot(index);
        // SAFETY: slots are valid for good.
        unsafe { &slot.as_ref().front.head.next }
    }

    /// Takes a slot: one that was never used, or the one that was freed first.
    fn take(&self) -> Option<u32> {
        loop {
            let capacity = self.capacity.load(Acquire);
            // Slots that were never used come before those that were freed, so that a released
            // handle is refused for as long as can be.
            let one_more = |fresh| (fresh < capacity).then(|| fresh + 1);
            if let Ok(index) = self.fresh.fetch_update(Relaxed, Relaxed, one_more) {
                return Some(index);
            }
            // Before the first chunk there is no slot 0 yet, which the queue of freed slots begins with.
            if capacity > 0
                && let Some(index) = self.freed.pop(|index| self.next(index))
            {
                return Some(index);
            }
            self.grow(capacity)?;
        }
    }

    /// Adds a chunk, unless another thread has since the capacity was that. `None` if there is no memory.
    #[cold]
    fn grow(&self, capacity: u32) -> Option<()> {
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.capacity.load(Relaxed) != capacity {
            return Some(());
        }
        let number = chunks_in(capacity);
        let place = self.chunks.get(number)?;
        let chunk = Slot::chunk((FIRST as usize) << number, self.dispatch)?;
        let loader = self.loader.load(Relaxed);
        if loader != 0 {
            for index in 0..(FIRST as usize) << number {
                // SAFETY: there are so many slots.
                unsafe { chunk.add(index).as_ref() }.front.head.set_loader(loader);
            }
        }
        // The capacity last: who sees it follows the pointer.
        place.store(chunk.as_ptr(), Relaxed);
        self.capacity.store(capacity_of(number + 1), Release);
        Some(())
    }
}

/// How many chunks end at or before the slot of a number.
#[inline]
fn chunks_in(index: u32) -> usize {
    (index / FIRST + 1).ilog2() as usize
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Reclaim for Slab<T, D> {
    unsafe fn reclaim(&'static self, slot: NonNull<Head>, index: u32) {
        // SAFETY: by the caller's promise.
        unsafe { Slot::<T, D>::drop_object(slot.cast()) };
        Slot::<T, D>::set_usable(slot.cast(), false);
        // Last: from here on another thread may fill the slot.
        self.freed.push(index, |index| self.next(index));
    }
}
