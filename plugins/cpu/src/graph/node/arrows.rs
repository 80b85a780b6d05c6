//! What a node waits for.

use super::fallout::Fallout;
use super::{ARROWS, Node, Work};
use crate::graph::waiters::{Edge, Waiter};
use crate::graph::{Failure, Ref};
use crate::sync::Ordering;
use offkit_pi::ffi::*;
use std::ptr::null_mut;
use std::sync::Arc;

impl<W: Work> Node<W> {
    /// Makes a command wait for others, which comes after [`begin`](Self::begin): for those in `wait`, with which it
    /// fails, and for those in `after`.
    ///
    /// # Safety
    ///
    /// As for [`begin`](Self::begin), and this is called once.
    pub(in super::super) unsafe fn wait_for(
        node: &Ref<Self>,
        wait: &[Ref<Self>],
        after: [Option<Ref<Self>>; 2],
    ) {
        let strict = wait.iter().map(|other| (other, true));
        let others = strict.chain(after.iter().flatten().map(|other| (other, false)));
        let count = wait.len() + after.iter().flatten().count();
        if count > ARROWS {
            // SAFETY: the command's thread is this one.
            node.more_arrows
                .with_mut(|more| unsafe { *more = (0..count).map(|_| Edge::new()).collect() });
        }
        for (index, (other, strict)) in others.enumerate() {
            // Its list would be found closed below as well, but only with the count changed twice.
            if other.is_over() {
                if strict {
                    node.blame(other);
                }
                continue;
            }
            let arrow = match node.arrows.get(index) {
                Some(arrow) if count <= ARROWS => std::ptr::from_ref(arrow).cast_mut(),
                // SAFETY: as many as there are others; the vector does not change any more.
                _ => node
                    .more_arrows
                    .with_mut(|more| unsafe { (*more).as_mut_ptr().add(index) }),
            };
            // Before the arrow can be seen, since it may be taken away at once.
            node.pending.fetch_add(1, Ordering::Relaxed);
            let waiter = Waiter::Node {
                node: Ref::clone(node),
                strict,
            };
            // SAFETY: each arrow is used once, and in memory of the node, to which it holds a reference.
            if unsafe { other.waiters.push(arrow, waiter) }.is_err() {
                if strict {
                    node.blame(other);
                }
                // Never the last, which is the submission's.
                node.pending.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Lets a command go, which comes last. It may be complete after this.
    pub(in super::super) fn start(node: &Ref<Self>) {
        if node.arrive() {
            let mut fallout = Fallout::default();
            fallout.ready(Ref::clone(node));
            fallout.settle();
        }
    }

    /// Counts one more that the node waits for, unless it does not wait for anything any more.
    pub(in super::super) fn count_in(&self) -> bool {
        let one_more = |pending| (pending > 0).then(|| pending + 1);
        self.pending
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
    }

    /// How many it still waits for.
    pub(in super::super) fn pending(&self) -> u32 {
        self.pending.load(Ordering::Acquire)
    }

    /// Takes one of them away. Whether it was the last.
    pub(super) fn arrive(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Takes one of them away that no arrow is there for.
    pub(in super::super) fn let_go(node: Ref<Self>) {
        let mut fallout = Fallout::default();
        fallout.arrived(node);
        fallout.settle();
    }

    /// Remembers that something it waits for has failed. The first one counts.
    pub(super) fn blame(&self, other: &Self) {
        /// What the failure of a command begins with that was not started.
        const NOT_STARTED: &str = "not started, as a command it waits for has failed: ";
        let Some(failure) = other.failure() else { return };
        // Once is enough, however long the chain.
        let failure = if failure.text.starts_with(NOT_STARTED) {
            failure
        } else {
            Arc::new(Failure {
                status: PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0,
                text: format!("{NOT_STARTED}{}", failure.text),
            })
        };
        let failure = Arc::into_raw(failure).cast_mut();
        let first = self
            .failure
            .compare_exchange(null_mut(), failure, Ordering::AcqRel, Ordering::Relaxed);
        if first.is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Arc::from_raw(failure) });
        }
    }
}
