//! The slots that are free again, in the order in which they were freed.
//!
//! This is the queue of Michael and Scott, over numbers of slots that are never unmapped. What it holds are slots, and
//! the one at its head is always kept, so that nothing has to be allocated for it: taking a slot moves the head to
//! the next one, and gives the old head away.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use offkit_sync::AtomicU64;

/// A place in the queue: the number of a slot, and how often the place has changed. A thread that was stopped
/// while others took the slot and put it back sees the count, not the number, and tries again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(u64);

/// Bits for the number of a slot plus 1; 0 is no slot. The other 36 bits count.
const INDEX_BITS: u32 = 28;

/// Slots that there can be.
pub(super) const MAX_SLOTS: u32 = (1 << INDEX_BITS) - 1;

impl Link {
    #[inline]
    fn index(self) -> Option<u32> {
        let index = self.0 as u32 & MAX_SLOTS;
        index.checked_sub(1)
    }

    /// The slot of the head or the tail, which always have one.
    #[inline]
    fn slot(self) -> u32 {
        (self.0 as u32 & MAX_SLOTS).saturating_sub(1)
    }

    /// The link that comes after this one in its place, to a slot or to none.
    #[inline]
    fn then(self, index: Option<u32>) -> u64 {
        // It comes round after 2^36 changes: no thread is stopped for as long as these take.
        let count = (self.0 >> INDEX_BITS).wrapping_add(1);
        count << INDEX_BITS | index.map_or(0, |index| u64::from(index) + 1)
    }
}

/// The link from a slot to the next in the queue. All zero to begin with: no slot.
#[repr(transparent)]
pub(super) struct Next(AtomicU64);

impl Next {
    pub(super) fn new() -> Next {
        Next(AtomicU64::new(0))
    }

    #[inline]
    fn load(&self) -> Link {
        Link(self.0.load(Acquire))
    }
}

/// The queue. Slot 0 is in it from the beginning.
pub(super) struct Freed {
    head: Apart<AtomicU64>,
    tail: Apart<AtomicU64>,
}

/// On a cache line of its own: one thread frees while another allocates.
#[repr(align(64))]
struct Apart<T>(T);

impl Freed {
    pub(super) fn new() -> Freed {
        let first = Link(0).then(Some(0));
        Freed {
            head: Apart(AtomicU64::new(first)),
            tail: Apart(AtomicU64::new(first)),
        }
    }

    #[inline]
    fn head(&self) -> Link {
        Link(self.head.0.load(Acquire))
    }

    #[inline]
    fn tail(&self) -> Link {
        Link(self.tail.0.load(Acquire))
    }

    /// Moves the tail on from where it was seen, unless another thread has.
    #[inline]
    fn advance_tail(&self, seen: Link, index: u32) {
        let _ = self
            .tail
            .0
            .compare_exchange(seen.0, seen.then(Some(index)), Release, Relaxed);
    }

    /// Puts a slot at the end. `next` gives the links of slots.
    pub(super) fn push<'a>(&self, index: u32, next: impl Fn(u32) -> &'a Next) {
        let own = next(index);
        // Who still looks at the slot as it was in the queue before, and sees this, must also see that the tail has
        // moved on since: hence the release.
        own.0.store(own.load().then(None), Release);
        loop {
            let tail = self.tail();
            let last = tail.slot();
            let link = next(last).load();
            // The link is that of the last slot only if the tail still stands there.
            if self.tail() != tail {
                continue;
            }
            if let Some(behind) = link.index() {
                self.advance_tail(tail, behind);
                continue;
            }
            let linked = next(last)
                .0
                .compare_exchange(link.0, link.then(Some(index)), Release, Relaxed);
            if linked.is_ok() {
                self.advance_tail(tail, index);
                return;
            }
        }
    }

    /// Takes the slot that was freed first, unless it is the only one.
    pub(super) fn pop<'a>(&self, next: impl Fn(u32) -> &'a Next) -> Option<u32> {
        loop {
            let (head, tail) = (self.head(), self.tail());
            let first = head.slot();
            let link = next(first).load();
            if self.head() != head {
                continue;
            }
            match link.index() {
                None if tail.slot() == first => return None,
                // What was seen of head, tail and link does not go together: others are at work, so look again.
                None => (),
                // The tail must not be left behind the head.
                Some(second) if tail.slot() == first => self.advance_tail(tail, second),
                Some(second) => {
                    let taken =
                        self.head
                            .0
                            .compare_exchange(head.0, head.then(Some(second)), Release, Relaxed);
                    if taken.is_ok() {
                        return Some(first);
                    }
                }
            }
        }
    }
}
