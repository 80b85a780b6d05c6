//! The order of a queue.

use super::node::{Raw, from_raw, into_raw};
use super::{End, Node, QueueId, Ref, Work};
use crate::memory::Published;
use crate::sync::{Arc, AtomicPtr, Mutex, Ordering};
use offkit_pi::ffi::PI_EVENT_COMPLETE;
use std::marker::PhantomData;
use std::ptr::{null_mut, without_provenance_mut};
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
    /// Each command waits for the one before.
    InOrder(Row<W>),
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
                if let Line::InOrder(row) = &*line {
                    row.leave(this);
                }
                None
            }
        }
    }
}

/// The right to run a command that need not wait, on the thread that submits it. It is the command, as far as others
/// have to wait for it, so that it must not take long.
pub(crate) struct Turn<'l, W: Work> {
    place: TurnIn<'l, W>,
    profiled: bool,
}

enum TurnIn<'l, W: Work> {
    Row(&'l Row<W>),
    Before(Ref<Node<W>>),
}

impl<W: Work> Turn<'_, W> {
    /// Runs the command.
    pub(crate) fn run(self, work: impl FnOnce() -> Result<(), String>) -> End {
        End::of(work, self.profiled)
    }
}

impl<W: Work> Drop for Turn<'_, W> {
    fn drop(&mut self) {
        match &self.place {
            TurnIn::Row(row) => row.end_turn(),
            TurnIn::Before(fence) => Node::let_go(Ref::clone(fence)),
        }
    }
}

impl<W: Work> Line<W> {
    pub(crate) fn in_order() -> Line<W> {
        Line::InOrder(Row::new())
    }

    pub(crate) fn out_of_order() -> Line<W> {
        Line::OutOfOrder(Stretches::new())
    }

    fn id(line: &Arc<Self>) -> QueueId {
        QueueId(Arc::as_ptr(line).cast_mut().cast())
    }

    /// The turn of a command that comes now, if those in `wait` are complete and whatever the queue's order puts in
    /// front of it is over.
    pub(crate) fn turn(&self, wait: &[Ref<Node<W>>], profiled: bool) -> Option<Turn<'_, W>> {
        if wait.iter().any(|other| other.status() != PI_EVENT_COMPLETE) {
            return None;
        }
        let place = match self {
            Line::InOrder(row) => row.take_turn().then_some(TurnIn::Row(row)),
            Line::OutOfOrder(stretches) => {
                let stretch = stretches.enter();
                // It counts in the fence until the turn is dropped: markers come after it as well.
                let place = TurnIn::Before(Ref::clone(&stretch.fence));
                let waits = stretch.barrier.as_ref().is_some_and(|barrier| !barrier.is_over());
                // To give a turn back is to have had it.
                let turn = Turn { place, profiled };
                return (!waits).then_some(turn);
            }
        }?;
        Some(Turn { place, profiled })
    }

    /// Submits a command: it starts when those in `wait` are complete, and whatever the queue's order puts in front of
    /// it is over.
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
        match &**line {
            // SAFETY: by the caller's promise.
            Line::InOrder(row) => unsafe {
                row.join(line, node, Some(work), wait);
            },
            Line::OutOfOrder(stretches) => {
                let all = sort == Sort::Barrier || (sort == Sort::Marker && wait.is_empty());
                if all {
                    // SAFETY: by the caller's promise.
                    unsafe { stretches.close_with(Line::id(line), node, work, wait, sort) };
                } else {
                    let stretch = stretches.enter();
                    let barrier = stretch.barrier.clone();
                    let fence = Ref::clone(&stretch.fence);
                    // SAFETY: as above.
                    unsafe {
                        node.begin(Line::id(line), Some(work), Place::Before(fence));
                        Node::wait_for(node, wait, [barrier, None]);
                    }
                }
            }
        }
        Node::start(node);
    }

    /// Waits until all commands are over that have been submitted by now.
    pub(crate) fn finish(line: &Arc<Self>) {
        match &**line {
            Line::InOrder(row) => {
                if row.is_idle() {
                    return;
                }
                let end = Ref::new(Node::command(false));
                // Until the command before it is over, the queue's order needs something in its place.
                // SAFETY: made here.
                unsafe { row.join(line, &end, None, &[]) };
                Node::start(&end);
                end.wait_and_help(Some(Line::id(line)));
            }
            Line::OutOfOrder(stretches) => stretches.finish(Line::id(line)),
        }
    }
}

/// Commands one after the other.
pub(crate) struct Row<W: Work> {
    /// The last command: null if all are over, [`turn`] if it is no node but run by the thread that submits it.
    last: AtomicPtr<()>,
    /// The node behind a turn, which waits for its end; or [`turn`], if that came first. The one of them that comes second
    /// empties it.
    behind: AtomicPtr<()>,
    nodes: PhantomData<fn(Node<W>)>,
}

/// Stands for a command that is no node.
fn turn() -> Raw {
    without_provenance_mut(1)
}

impl<W: Work> Row<W> {
    fn new() -> Row<W> {
        Row {
            last: AtomicPtr::new(null_mut()),
            behind: AtomicPtr::new(null_mut()),
            nodes: PhantomData,
        }
    }

    fn is_idle(&self) -> bool {
        // Acquires what the last command has written: the host reads it behind `finish`.
        self.last.load(Ordering::Acquire).is_null()
    }

    /// Adds a command that is a turn, if it is the only one.
    fn take_turn(&self) -> bool {
        self.last
            // Sees what the command before has done: `end_turn` and `leave` release it with the null pointer.
            .compare_exchange(null_mut(), turn(), Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn end_turn(&self) {
        let only = self
            .last
            .compare_exchange(turn(), null_mut(), Ordering::Release, Ordering::Relaxed);
        if only.is_ok() {
            return;
        }
        let behind = self.behind.swap(turn(), Ordering::AcqRel);
        if !behind.is_null() {
            // There is no other turn before that node is over.
            self.behind.store(null_mut(), Ordering::Relaxed);
            // SAFETY: the reference that came with it.
            Node::let_go(unsafe { from_raw::<W>(behind) });
        }
    }

    /// Adds a command, but does not start it.
    ///
    /// # Safety
    ///
    /// The node is a command, new, and submitted here only, to this line.
    unsafe fn join(&self, line: &Arc<Line<W>>, node: &Ref<Node<W>>, work: Option<W>, wait: &[Ref<Node<W>>]) {
        let this = into_raw(Ref::clone(node));
        // SAFETY: by the caller's promise, and this is the order.
        // Before it can be found: from the swap on, who submits the next command adds an arrow to this one.
        unsafe { node.begin(Line::id(line), work, Place::InLine(Arc::clone(line), this)) };
        let last = self.last.swap(this, Ordering::AcqRel);
        let mut before = None;
        if last == turn() {
            self.wait_for_turn(node);
        } else if !last.is_null() {
            // SAFETY: the line's reference.
            before = Some(unsafe { from_raw::<W>(last) });
        }
        // SAFETY: as above.
        unsafe { Node::wait_for(node, wait, [before, None]) };
    }

    /// Makes a new command wait for the turn that it is behind.
    fn wait_for_turn(&self, node: &Ref<Node<W>>) {
        // Counted before it is told of: the turn may end at any moment, and takes one away.
        node.count_in();
        let waiting = into_raw(Ref::clone(node));
        let waits = self
            .behind
            .compare_exchange(null_mut(), waiting, Ordering::AcqRel, Ordering::Acquire);
        if waits.is_err() {
            self.behind.store(null_mut(), Ordering::Relaxed);
            // Never the last, which is the submission's.
            // SAFETY: made above, and not given away.
            Node::let_go(unsafe { from_raw::<W>(waiting) });
        }
    }

    /// A node is over that may be the last.
    fn leave(&self, this: Raw) {
        let left = self
            .last
            .compare_exchange(this, null_mut(), Ordering::AcqRel, Ordering::Relaxed);
        if let Ok(this) = left {
            // SAFETY: the line's reference. The caller has another, so that this is not the end of it.
            // Where another is the last by now, that one's `join` has taken the reference over.
            drop(unsafe { from_raw::<W>(this) });
        }
    }
}

impl<W: Work> Drop for Row<W> {
    fn drop(&mut self) {
        let last = self.last.load(Ordering::Acquire);
        // Who has a turn borrows the row.
        if !last.is_null() {
            // SAFETY: the line's reference.
            drop(unsafe { from_raw::<W>(last) });
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
    unsafe fn close_with(
        &self,
        queue: QueueId,
        node: &Ref<Node<W>>,
        work: W,
        wait: &[Ref<Node<W>>],
        sort: Sort,
    ) {
        let [old, new] = self.open((sort == Sort::Barrier).then_some(node));
        // It is open, or at least waits for the one before.
        new.fence.count_in();
        let before = wait.is_empty().then(|| Ref::clone(&old.fence));
        let barrier = old.barrier.clone();
        // SAFETY: by the caller's promise, and this is the order.
        unsafe {
            node.begin(queue, Some(work), Place::Before(Ref::clone(&new.fence)));
            Node::wait_for(node, wait, [before, barrier]);
        }
        Node::let_go(Ref::clone(&old.fence));
    }

    fn finish(&self, queue: QueueId) {
        let stretch = self.current.load();
        let idle = stretch.fence.pending() == 1;
        // If it is the current one still, it was open, and it is being open that it waits for.
        if idle && Arc::ptr_eq(&self.current.load(), &stretch) {
            return;
        }
        let [old, _] = self.open(None);
        let fence = Ref::clone(&old.fence);
        Node::let_go(Ref::clone(&fence));
        fence.wait_and_help(Some(queue));
    }
}
