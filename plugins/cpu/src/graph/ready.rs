//! The commands that are ready and wait for a thread.

use super::node::{Raw, from_raw, into_raw, peek};
use super::{Node, QueueId, Ref, Work};
use crate::sync::{AtomicPtr, Mutex, Ordering};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::PoisonError;

/// A list to which any thread adds without a lock; those that take from it do so one at a time.
pub(crate) struct Ready<W: Work> {
    /// What has come, last first.
    pushed: AtomicPtr<()>,
    /// What is to be taken next, first come first.
    next: Mutex<Next>,
    nodes: PhantomData<fn(Node<W>)>,
}

struct Next(Raw);

// SAFETY: a list of references to nodes, which threads may share.
unsafe impl Send for Next {}

impl<W: Work> Ready<W> {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Ready<W> {
        Ready {
            pushed: AtomicPtr::new(null_mut()),
            next: Mutex::new(Next(null_mut())),
            nodes: PhantomData,
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Ready<W> {
        Ready {
            pushed: AtomicPtr::new(null_mut()),
            next: Mutex::new(Next(null_mut())),
            nodes: PhantomData,
        }
    }

    /// Adds a node, which is in no such list.
    pub(crate) fn push(&self, node: Ref<Node<W>>) {
        let this = into_raw(node);
        // SAFETY: its reference is this list's from here on, but cannot be taken before it is pushed.
        let node = unsafe { peek::<W>(this) };
        let mut first = self.pushed.load(Ordering::Relaxed);
        // A node that was taken and comes back at the same address does no harm: whoever takes some
        // takes all, and never follows `first` to make its next one the first.
        loop {
            node.link.store(first, Ordering::Relaxed);
            match self
                .pushed
                .compare_exchange_weak(first, this, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        // With the lock: between the two lists, what `pop` is moving would be seen in neither.
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.0.is_null() && self.pushed.load(Ordering::Acquire).is_null()
    }

    /// The node that has waited longest, and whether there are more.
    pub(crate) fn pop(&self) -> Option<(Ref<Node<W>>, bool)> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.0.is_null() {
            next.0 = self.reversed();
        }
        if next.0.is_null() {
            return None;
        }
        // SAFETY: the reference was this list's.
        let node = unsafe { from_raw::<W>(next.0) };
        next.0 = node.link.load(Ordering::Relaxed);
        // No more than a hint: who pushes a node at this moment calls a thread for it, or takes it itself.
        let more = !next.0.is_null() || !self.pushed.load(Ordering::Relaxed).is_null();
        Some((node, more))
    }

    /// The node of a queue that has waited longest.
    pub(crate) fn pop_of(&self, queue: QueueId) -> Option<Ref<Node<W>>> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut before, mut node) = (null_mut(), next.0);
        loop {
            if node.is_null() {
                // What has come since belongs behind all of these, also if it is another queue's.
                node = self.reversed();
                if node.is_null() {
                    return None;
                }
                Self::link(&mut next, before, node);
            }
            // SAFETY: the list has a reference to the node.
            let this = unsafe { peek::<W>(node) };
            let following = this.link.load(Ordering::Relaxed);
            if this.queue() == Some(queue) {
                Self::link(&mut next, before, following);
                // SAFETY: the reference was this list's.
                return Some(unsafe { from_raw(node) });
            }
            (before, node) = (node, following);
        }
    }

    /// Makes a node the one after another, or the first one.
    fn link(next: &mut Next, before: Raw, node: Raw) {
        if before.is_null() {
            next.0 = node;
        } else {
            // SAFETY: the list has a reference to the node.
            unsafe { peek::<W>(before) }.link.store(node, Ordering::Relaxed);
        }
    }

    /// Takes what has come, first come first.
    fn reversed(&self) -> Raw {
        let (mut node, mut first) = (self.pushed.swap(null_mut(), Ordering::Acquire), null_mut());
        while !node.is_null() {
            // SAFETY: the list has a reference to the node.
            let link = &unsafe { peek::<W>(node) }.link;
            let following = link.load(Ordering::Relaxed);
            link.store(first, Ordering::Relaxed);
            first = node;
            node = following;
        }
        first
    }
}

impl<W: Work> Drop for Ready<W> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
