//! The commands that are ready and wait for a thread.

use super::node::{Raw, from_raw, into_raw, peek};
use super::{Node, Ref, Work};
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
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.0.is_null() && self.pushed.load(Ordering::Acquire).is_null()
    }

    /// The node that has waited longest, and whether there are more.
    pub(crate) fn pop(&self) -> Option<(Ref<Node<W>>, bool)> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.0.is_null() {
            let mut node = self.pushed.swap(null_mut(), Ordering::Acquire);
            while !node.is_null() {
                // SAFETY: the list has a reference to the node.
                let link = &unsafe { peek::<W>(node) }.link;
                let following = link.load(Ordering::Relaxed);
                link.store(next.0, Ordering::Relaxed);
                next.0 = node;
                node = following;
            }
        }
        if next.0.is_null() {
            return None;
        }
        // SAFETY: the reference was this list's.
        let node = unsafe { from_raw::<W>(next.0) };
        next.0 = node.link.load(Ordering::Relaxed);
        let more = !next.0.is_null() || !self.pushed.load(Ordering::Relaxed).is_null();
        Some((node, more))
    }
}

impl<W: Work> Drop for Ready<W> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}
