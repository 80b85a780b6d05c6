//! The order of a queue.

use super::node::{Raw, from_raw, into_raw};
use super::{Node, Ref, Work};
use crate::memory::Published;
use crate::sync::{Arc, AtomicPtr, Mutex, Ordering};
use std::ptr::null_mut;
use std::sync::PoisonError;

/// What a command is to the commands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// One of many.
    Command,
    /// Comes, without a wait list, after all that are there.
    Marker,
    /// As a marker, and all that come later come after it.
    Barrier,
}

/// The commands of a queue, as far as they are under way.
pub(crate) enum Line<W: Work> {
    /// The last command, or null if all are over: each waits for the one before.
    InOrder(AtomicPtr<()>),
    /// Commands count in a fence, until a marker or barrier closes it and opens the next.
    OutOfOrder(Stretches<W>),
}

/// Where a command is in its queue, until it is over.
pub(super) enum Place<W: Work> {
    Nowhere,
    /// It may be the last one, for which it is this pointer.
    InLine(Arc<Line<W>>, Raw),
    /// It counts in this fence.
    Before(Ref<Node<W>>),
}

impl<W: Work> Place<W> {
    /// A command is over. Gives the fence it counted in.
    pub(super) fn leave(self) -> Option<Ref<Node<W>>> {
        match self {
            Place::Nowhere => None,
            Place::Before(fence) => Some(fence),
            Place::InLine(line, this) => {
                if let Line::InOrder(last) = &*line {
                    leave::<W>(last, this);
                }
                None
            }
        }
    }
}

/// A command is over that may be the last of an in-order queue.
fn leave<W: Work>(last: &AtomicPtr<()>, this: Raw) -> Option<Ref<Node<W>>> {
    let left = last.compare_exchange(this, null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    if let Ok(this) = left {
        // SAFETY: the line's reference. The caller has another, so that this is not the end of it.
        drop(unsafe { from_raw::<W>(this) });
    }
    None
}

impl<W: Work> Line<W> {
    pub(crate) fn in_order() -> Line<W> {
        Line::InOrder(AtomicPtr::new(null_mut()))
    }

    pub(crate) fn out_of_order() -> Line<W> {
        Line::OutOfOrder(Stretches::new())
    }

    /// Submits a command: it starts when those in `wait` are complete, and whatever the queue's order puts in front of
    /// it is over. It may be over when this returns.
    ///
    /// # Safety
    ///
    /// The node is a command, new, and submitted here only.
    pub(crate) unsafe fn submit(
        line: &Arc<Self>,
        node: &Ref<Node<W>>,
        work: W,
        wait: &[Ref<Node<W>>],
        sort: Sort,
    ) {
        let small = work.is_small();
        match &**line {
            Line::InOrder(last) => {
                let this = into_raw(Ref::clone(node));
                let before = last.swap(this, Ordering::AcqRel);
                // SAFETY: the line's reference.
                let before = (!before.is_null()).then(|| unsafe { from_raw(before) });
                // SAFETY: by the caller's promise, and this is the order, but for `begin`, before which nobody looks at what
                // it sets: the node still waits for its submission.
                unsafe {
                    let waits = Node::wait_for(node, wait, [before, None]);
                    if small && !waits && !node.is_blamed() {
                        return node.run_at_once(work, || leave(last, this));
                    }
                    node.begin(Some(work), Place::InLine(Arc::clone(line), this));
                }
            }
            Line::OutOfOrder(stretches) => {
                let all = sort == Sort::Barrier || (sort == Sort::Marker && wait.is_empty());
                if all {
                    // SAFETY: by the caller's promise.
                    unsafe { stretches.close_with(node, work, wait, sort) };
                } else {
                    let stretch = stretches.enter();
                    let barrier = stretch.barrier.clone();
                    let fence = Ref::clone(&stretch.fence);
                    // SAFETY: as above.
                    unsafe {
                        let waits = Node::wait_for(node, wait, [barrier, None]);
                        if small && !waits && !node.is_blamed() {
                            return node.run_at_once(work, || Some(fence));
                        }
                        node.begin(Some(work), Place::Before(fence));
                    }
                }
            }
        }
        Node::start(node);
    }

    /// Waits until all commands are over that have been submitted by now.
    pub(crate) fn finish(line: &Arc<Self>) {
        match &**line {
            Line::InOrder(last) => {
                if last.load(Ordering::Acquire).is_null() {
                    return;
                }
                let end = Ref::new(Node::command(false));
                // Until the command before it is over, the queue's order needs something in its place.
                // SAFETY: made here, and this is the order; what the line had is a reference.
                let before = unsafe {
                    let this = into_raw(Ref::clone(&end));
                    end.begin(None, Place::InLine(Arc::clone(line), this));
                    let before = last.swap(this, Ordering::AcqRel);
                    let before = (!before.is_null()).then(|| from_raw::<W>(before));
                    Node::wait_for(&end, &[], [before.clone(), None]);
                    before
                };
                Node::start(&end);
                // To wait for the command itself is to run it, if no other thread does.
                if let Some(before) = before {
                    before.wait();
                }
                end.wait();
            }
            Line::OutOfOrder(stretches) => stretches.finish(),
        }
    }
}

impl<W: Work> Drop for Line<W> {
    fn drop(&mut self) {
        if let Line::InOrder(last) = self {
            let last = last.load(Ordering::Acquire);
            if !last.is_null() {
                // SAFETY: the line's reference.
                drop(unsafe { from_raw::<W>(last) });
            }
        }
    }
}

/// The commands between two that all have to pass.
struct Stretch<W: Work> {
    /// Is over when all commands of the stretch and of those before it are. Waits for one thing more while it is open.
    fence: Ref<Node<W>>,
    /// What all commands of the stretch wait for.
    barrier: Option<Ref<Node<W>>>,
}

/// The stretches of a queue without order. The current one is read without a lock.
pub(crate) struct Stretches<W: Work> {
    current: Published<Stretch<W>>,
    /// Held by whoever opens a stretch.
    opening: Mutex<()>,
}

impl<W: Work> Stretches<W> {
    fn new() -> Stretches<W> {
        Stretches {
            current: Published::new(Stretch {
                fence: Ref::new(Node::command(false)),
                barrier: None,
            }),
            opening: Mutex::new(()),
        }
    }

    /// The current stretch, whose fence waits for one more now.
    fn enter(&self) -> Arc<Stretch<W>> {
        loop {
            let stretch = self.current.load();
            // Else it has been closed since, and left behind.
            if stretch.fence.count_in() {
                return stretch;
            }
        }
    }

    /// Opens a new stretch, and gives the one before, which is to be closed by letting go of its fence, and the new one.
    /// A barrier is in it already, and what comes later waits for it.
    fn open(&self, barrier: Option<&Ref<Node<W>>>) -> [Arc<Stretch<W>>; 2] {
        let fence = Ref::new(Node::command(false));
        let barrier = barrier.map(|node| {
            // What is kept here goes on after the command is over, and should not keep its event.
            let barrier = Ref::new(Node::command(false));
            // SAFETY: just made.
            unsafe { Node::wait_for(&barrier, &[], [Some(Ref::clone(node)), None]) };
            Node::start(&barrier);
            barrier
        });
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.current.load();
        // SAFETY: just made.
        unsafe { Node::wait_for(&fence, &[], [Some(Ref::clone(&old.fence)), None]) };
        let barrier = barrier.or_else(|| {
            let still = old.barrier.as_ref().filter(|barrier| !barrier.is_over());
            still.cloned()
        });
        self.current.store(Stretch { fence, barrier });
        [old, self.current.load()]
    }

    /// Submits a command that comes after all others, or before all that come later, or both, but does not start it.
    ///
    /// # Safety
    ///
    /// As for [`Line::submit`].
    unsafe fn close_with(&self, node: &Ref<Node<W>>, work: W, wait: &[Ref<Node<W>>], sort: Sort) {
        let [old, new] = self.open((sort == Sort::Barrier).then_some(node));
        // It is open, or at least waits for the one before.
        new.fence.count_in();
        let before = wait.is_empty().then(|| Ref::clone(&old.fence));
        let barrier = old.barrier.clone();
        // SAFETY: by the caller's promise, and this is the order.
        unsafe {
            node.begin(Some(work), Place::Before(Ref::clone(&new.fence)));
            Node::wait_for(node, wait, [before, barrier]);
        }
        Node::let_go(Ref::clone(&old.fence));
    }

    fn finish(&self) {
        let stretch = self.current.load();
        let idle = stretch.fence.pending() == 1;
        // If it is the current one still, it was open, and it is being open that it waits for.
        if idle && Arc::ptr_eq(&self.current.load(), &stretch) {
            return;
        }
        let [old, _] = self.open(None);
        let fence = Ref::clone(&old.fence);
        Node::let_go(Ref::clone(&fence));
        fence.wait();
    }
}
