//! What follows when a node is over.

use super::run::NEVER_STARTED;
use super::{EARLY_CALLBACKS, Node, Raw, STATUS, Work, from_raw, into_raw, peek, status_of};
use crate::graph::waiters::{Edge, Taken, Waiter};
use crate::graph::{Failure, Ref};
use crate::sync::Ordering;
use offkit_pi::ffi::*;
use std::ptr::null_mut;
use std::sync::Arc;

/// What follows from a completion, one thing after the other instead of one within the other.
pub(super) struct Fallout<W: Work> {
    /// Nodes that are ready and have nothing to run, linked.
    first: Raw,
    last: Raw,
    /// Callbacks that are due.
    callbacks: Taken<W>,
    has_callbacks: bool,
}

impl<W: Work> Default for Fallout<W> {
    fn default() -> Self {
        Fallout {
            first: null_mut(),
            last: null_mut(),
            callbacks: Taken::default(),
            has_callbacks: false,
        }
    }
}

impl<W: Work> Fallout<W> {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_null() && !self.has_callbacks
    }

    /// Takes a node on that one thing less keeps waiting.
    pub(super) fn arrived(&mut self, node: Ref<Node<W>>) {
        if node.arrive() {
            self.ready(node);
        }
    }

    /// Takes a node on that is ready.
    pub(super) fn ready(&mut self, node: Ref<Node<W>>) {
        if !node.has_nothing_to_run() {
            node.stamp(1);
            // Queued becomes submitted.
            let word = node.word.fetch_sub(1, Ordering::AcqRel);
            if word & EARLY_CALLBACKS != 0 {
                self.early(&node);
            }
            W::schedule(node);
            return;
        }
        let node = into_raw(node);
        // SAFETY: a list has a reference to each of its nodes.
        unsafe { peek::<W>(node) }
            .link
            .store(null_mut(), Ordering::Relaxed);
        if self.first.is_null() {
            self.first = node;
        } else {
            // SAFETY: as above.
            unsafe { peek::<W>(self.last) }
                .link
                .store(node, Ordering::Relaxed);
        }
        self.last = node;
    }

    /// Takes the callbacks on that are due before a node is over.
    pub(super) fn early(&mut self, node: &Node<W>) {
        let mut word = node.word.load(Ordering::Acquire);
        if word & EARLY_CALLBACKS == 0 {
            return;
        }
        loop {
            let (reached, mut later) = (status_of(word), false);
            let mut taken = node.early.take();
            while let Some((edge, waiter)) = taken.pop() {
                match waiter {
                    Waiter::Callback { due, .. } if due < reached => {
                        later = true;
                        // SAFETY: just taken from the list, with its edge.
                        let pushed = unsafe { node.early.push(edge, waiter) };
                        debug_assert!(pushed.is_ok(), "this list is never closed");
                    }
                    waiter => self.call_back(edge, waiter, reached),
                }
            }
            // Those that went back may have been missed by one who moved the node on.
            let now = node.word.fetch_or(EARLY_CALLBACKS, Ordering::AcqRel);
            if !later || status_of(now) == reached {
                return;
            }
            word = now;
        }
    }

    pub(super) fn call_back(&mut self, edge: *mut Edge<W>, waiter: Waiter<W>, status: i32) {
        if let Waiter::Callback { due, call, .. } = waiter {
            let reached = status;
            // SAFETY: just taken from a list, with its edge.
            unsafe { self.callbacks.push(edge, Waiter::Callback { due, reached, call }) };
            self.has_callbacks = true;
        }
    }

    /// Completes a node, and takes on what follows from that.
    pub(super) fn over(
        &mut self,
        node: &Node<W>,
        outcome: Result<(), Arc<Failure>>,
        leave: impl FnOnce(&Node<W>) -> Option<Ref<Node<W>>>,
    ) {
        node.stamp(3);
        let status = match outcome {
            Ok(()) => PI_EVENT_COMPLETE,
            Err(failure) => {
                let status = failure.status;
                let failure = Arc::into_raw(failure).cast_mut();
                let blamed = node.failure.swap(failure, Ordering::AcqRel);
                if !blamed.is_null() {
                    // SAFETY: the node's reference, which nobody looks at before the node has failed.
                    drop(unsafe { Arc::from_raw(blamed) });
                }
                status
            }
        };
        // What it was to use is free before anyone learns that it is over.
        // SAFETY: only one thread completes a node, and has its task.
        drop(node.task.with_mut(|task| unsafe { (*task).work.take() }));
        // The status comes before the list is closed: who is too late for that goes by the status.
        let mut word = node.word.load(Ordering::Relaxed);
        loop {
            let over = (word & !STATUS) | u64::from(status as u32);
            match node
                .word
                .compare_exchange_weak(word, over, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(other) => word = other,
            }
        }
        if let Some(fence) = leave(node) {
            self.arrived(fence);
        }
        // A command that failed before it ran has skipped what comes before the end: who waits for
        // that is called now, ahead of those that wait for the end.
        self.early(node);
        // Not within each other: a chain of any length is gone through by `settle`, in a stack of one depth.
        let mut waiters = node.waiters.close();
        while let Some((edge, waiter)) = waiters.pop() {
            match waiter {
                Waiter::Node { node: other, strict } => {
                    if strict && status < 0 {
                        other.blame(node);
                    }
                    self.arrived(other);
                }
                Waiter::Thread { thread, woken } => {
                    // SAFETY: the flag stays until it is set.
                    unsafe { &*woken }.store(true, Ordering::Release);
                    thread.unpark();
                }
                waiter => self.call_back(edge, waiter, status),
            }
        }
    }

    /// Completes what has nothing to run, and what becomes ready by that; then calls back.
    pub(super) fn settle(mut self) {
        while !self.first.is_null() {
            // SAFETY: the reference was the list's.
            let node = unsafe { from_raw::<W>(self.first) };
            self.first = node.link.load(Ordering::Relaxed);
            let failure = node.failure.load(Ordering::Acquire);
            let outcome = if !failure.is_null() {
                // SAFETY: the node holds a reference, which is exchanged for this one.
                unsafe {
                    Arc::increment_strong_count(failure);
                    Err(Arc::from_raw(failure))
                }
            } else if node.gave_up.load(Ordering::Acquire) != 0 {
                Err(Arc::new(Failure {
                    status: node.gave_up.load(Ordering::Acquire),
                    text: NEVER_STARTED.to_owned(),
                }))
            } else {
                Ok(())
            };
            // It is submitted and starts when nothing keeps it waiting any more, and that is when it is over.
            node.stamp(1);
            node.stamp(2);
            self.over(&node, outcome, Node::leave);
        }
        if self.has_callbacks {
            W::leave_to_others();
        }
        while let Some((edge, waiter)) = self.callbacks.pop() {
            // SAFETY: the edge of a callback is a box.
            drop(unsafe { Box::from_raw(edge) });
            if let Waiter::Callback { reached, call, .. } = waiter {
                call(reached);
            }
        }
    }
}
