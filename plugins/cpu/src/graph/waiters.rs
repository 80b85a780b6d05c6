//! The list of those that wait for a node.

use super::{Node, Ref, Work};
use crate::sync::{AtomicBool, AtomicPtr, Cell, Ordering, Thread};
use std::ptr::{null_mut, without_provenance_mut};

/// What is called when a node reaches a status; it is given the status.
pub(crate) type Callback = Box<dyn FnOnce(i32) + Send>;

/// One that waits.
pub(super) enum Waiter<W: Work> {
    /// A command, and whether it fails with what it waits for. Its edge is the command's own.
    Node { node: Ref<Node<W>>, strict: bool },
    /// A thread that is parked until the flag is set. Edge and flag are on its stack.
    Thread {
        thread: Thread,
        woken: *const AtomicBool,
    },
    /// Something to call, with the status it is for, and the one that it is called with. Its edge is a box.
    Callback { due: i32, reached: i32, call: Callback },
}

/// A place in a list: an arrow of the graph.
pub(super) struct Edge<W: Work> {
    next: AtomicPtr<Edge<W>>,
    /// Whose it is goes by who has the edge: the one that fills it in, then the list, then the one that took the list.
    waiter: Cell<Option<Waiter<W>>>,
}

impl<W: Work> Edge<W> {
    pub(super) fn new() -> Edge<W> {
        Edge {
            next: AtomicPtr::new(null_mut()),
            waiter: Cell::new(None),
        }
    }
}

/// A list of edges to which any thread adds, until one takes them all and closes it.
pub(super) struct Waiters<W: Work> {
    first: AtomicPtr<Edge<W>>,
}

/// What stands for the first edge of a closed list: no edge is there.
fn closed<W: Work>() -> *mut Edge<W> {
    without_provenance_mut(1)
}

impl<W: Work> Waiters<W> {
    pub(super) fn new() -> Waiters<W> {
        Waiters {
            first: AtomicPtr::new(null_mut()),
        }
    }

    /// A list that takes nobody.
    pub(super) fn closed() -> Waiters<W> {
        Waiters {
            first: AtomicPtr::new(closed()),
        }
    }

    /// Adds an edge for someone. Gives them back if the list is closed.
    ///
    /// # Safety
    ///
    /// The edge is in no list, and nobody else uses it until it is taken from this one. It stays until then.
    pub(super) unsafe fn push(&self, edge: *mut Edge<W>, waiter: Waiter<W>) -> Result<(), Waiter<W>> {
        // SAFETY: by the caller's promise.
        let place = unsafe { &*edge };
        // Acquired: who finds the list closed sees the status, and what has been done before.
        let mut first = self.first.load(Ordering::Acquire);
        if first == closed() {
            return Err(waiter);
        }
        // SAFETY: nobody else has the edge.
        place.waiter.with_mut(|place| unsafe { *place = Some(waiter) });
        loop {
            // Whoever takes the list acquires all of it: each push changes the same word, and so
            // goes on with what the ones before it have released.
            place.next.store(first, Ordering::Relaxed);
            let pushed = self
                .first
                .compare_exchange(first, edge, Ordering::Release, Ordering::Acquire);
            match pushed {
                Ok(_) => return Ok(()),
                Err(other) if other == closed() => {
                    // SAFETY: nobody else has the edge.
                    let waiter = place.waiter.with_mut(|place| unsafe { (*place).take() });
                    return waiter.map_or(Ok(()), Err);
                }
                Err(other) => first = other,
            }
        }
    }

    /// Takes all edges, first come first.
    pub(super) fn take(&self) -> Taken<W> {
        // Whoever adds an edge at this moment looks at the list itself behind that: `Node::on_status`.
        if self.first.load(Ordering::Relaxed).is_null() {
            return Taken::default();
        }
        Taken::reversed(self.first.swap(null_mut(), Ordering::AcqRel))
    }

    /// Takes all edges, first come first, and takes no more.
    pub(super) fn close(&self) -> Taken<W> {
        Taken::reversed(self.first.swap(closed(), Ordering::AcqRel))
    }

    /// Whether anyone waits.
    pub(super) fn is_empty(&self) -> bool {
        let first = self.first.load(Ordering::Relaxed);
        first.is_null() || first == closed()
    }
}

/// Edges of one thread alone.
pub(super) struct Taken<W: Work> {
    first: *mut Edge<W>,
    /// Not used while there is no first.
    last: *mut Edge<W>,
}

impl<W: Work> Default for Taken<W> {
    fn default() -> Self {
        Taken {
            first: null_mut(),
            last: null_mut(),
        }
    }
}

impl<W: Work> Taken<W> {
    fn reversed(newest: *mut Edge<W>) -> Taken<W> {
        if newest == closed() {
            return Taken::default();
        }
        let (mut edge, mut first) = (newest, null_mut());
        while !edge.is_null() {
            // SAFETY: edges stay until they are taken from the list, which is now.
            let next = unsafe { &(*edge).next };
            let following = next.load(Ordering::Relaxed);
            next.store(first, Ordering::Relaxed);
            first = edge;
            edge = following;
        }
        Taken { first, last: newest }
    }

    /// The next one that waits, with its edge. The edge may be gone as soon as the waiter learns of anything.
    pub(super) fn pop(&mut self) -> Option<(*mut Edge<W>, Waiter<W>)> {
        let edge = self.first;
        if edge.is_null() {
            return None;
        }
        // SAFETY: the edge has been taken and nobody told, so it is there and this thread's.
        let Edge { next, waiter } = unsafe { &*edge };
        self.first = next.load(Ordering::Relaxed);
        // SAFETY: as above.
        let waiter = waiter.with_mut(|place| unsafe { (*place).take() });
        waiter.map(|waiter| (edge, waiter))
    }

    /// Adds an edge at the end.
    ///
    /// # Safety
    ///
    /// The edge is in no list, nobody else uses it, and it stays until it is popped.
    pub(super) unsafe fn push(&mut self, edge: *mut Edge<W>, waiter: Waiter<W>) {
        // SAFETY: by the caller's promise.
        let place = unsafe { &*edge };
        place.next.store(null_mut(), Ordering::Relaxed);
        // SAFETY: by the caller's promise.
        place.waiter.with_mut(|place| unsafe { *place = Some(waiter) });
        if self.first.is_null() {
            self.first = edge;
        } else {
            // SAFETY: the last edge of the list has not been popped, so it is there.
            unsafe { &*self.last }.next.store(edge, Ordering::Relaxed);
        }
        self.last = edge;
    }
}
