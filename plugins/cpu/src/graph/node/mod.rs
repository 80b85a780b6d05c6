//! A command or an event: how far it is.

mod arrows;
mod fallout;
mod run;

pub(crate) use self::run::{End, Work};

use self::fallout::Fallout;
use super::line::Place;
use super::waiters::{Callback, Edge, Waiter, Waiters};
use super::{Failure, Ref};
use crate::pool::Purpose;
use crate::sync::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Cell, LazyLock, Ordering};
use offkit_pi::ffi::*;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::time::Instant;

/// How many arrows a node has room for.
const ARROWS: usize = 4;

/// The status is the lower half of a node's word, and these flags are in the upper one: whoever changes either knows
/// the other as it was just then.
const STATUS: u64 = u32::MAX as u64;
/// Somebody wants to be called before the node is complete.
const EARLY_CALLBACKS: u64 = 1 << 32;
/// Someone is about to complete an event of the host's.
const BEING_SET: u64 = 1 << 33;

fn status_of(word: u64) -> i32 {
    word as u32 as i32
}

/// A command with its event, or an event of the host's own.
pub(crate) struct Node<W: Work> {
    /// Status and flags.
    word: AtomicU64,
    /// Arrows that are still to be taken away, and one for the submission. An event of the host's has one for good.
    pending: AtomicU32,
    /// The status that the host wants for a command that it gives up, or 0.
    gave_up: AtomicI32,
    /// Set when it does. Kernels look at it, so it is never the model checker's.
    cancel: std::sync::atomic::AtomicBool,
    kind: Kind,
    /// Whether its queue runs one command after the other. Written before it is submitted, so it is never the model
    /// checker's.
    is_in_order: std::sync::atomic::AtomicBool,
    waiters: Waiters<W>,
    /// Callbacks for what comes before completion.
    early: Waiters<W>,
    /// The first failure among what it waits for, then its own: an `Arc`.
    failure: AtomicPtr<Failure>,
    /// Its queue, or null.
    queue: AtomicPtr<()>,
    /// The next in a list of nodes that are ready.
    pub(super) link: AtomicPtr<()>,
    /// When it was queued, submitted, started and done, in nanoseconds.
    times: [AtomicU64; 4],
    /// Used by the thread that submits the node, then by the one that runs or completes it.
    task: Cell<Task<W>>,
    arrows: [Edge<W>; ARROWS],
    /// All of them, if there are more than that.
    more_arrows: Cell<Vec<Edge<W>>>,
}

struct Task<W: Work> {
    work: Option<W>,
    place: Place<W>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command { profiled: bool },
    Host,
}

// SAFETY: a node is made of atomics, and of cells that are used by one thread at a time: the one that submits it until
// it lets go of its share of `pending`, then the one that makes it running, or complete without that. Arrows go with
// the list they are in.
unsafe impl<W: Work> Send for Node<W> {}
// SAFETY: as above.
unsafe impl<W: Work> Sync for Node<W> {}

/// Nanoseconds since the device was first asked for the time.
pub(crate) fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Tells queues apart, as long as they are there. It is not followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueId(pub(super) *mut ());

impl QueueId {
    /// A number that no other queue has at the time.
    pub(crate) fn number(self) -> usize {
        self.0.addr()
    }
}

/// A reference where only a pointer can be: in lists.
pub(super) type Raw = *mut ();

pub(super) fn into_raw<W: Work>(node: Ref<Node<W>>) -> Raw {
    Ref::into_raw(node).as_ptr()
}

/// # Safety
///
/// The pointer is from [`into_raw`] of such a node, and used once.
pub(super) unsafe fn from_raw<W: Work>(node: Raw) -> Ref<Node<W>> {
    // SAFETY: by the caller's promise, the pointer is that of an object and so not null.
    unsafe { Ref::from_raw(NonNull::new_unchecked(node)) }
}

/// A look at the node of a pointer.
///
/// # Safety
///
/// The pointer is from [`into_raw`] of such a node, and not used up while this is there.
pub(super) unsafe fn peek<W: Work>(node: Raw) -> ManuallyDrop<Ref<Node<W>>> {
    // SAFETY: by the caller's promise; the reference does not end here.
    ManuallyDrop::new(unsafe { from_raw(node) })
}

impl<W: Work> Node<W> {
    fn new(status: i32, kind: Kind) -> Node<W> {
        let node = Node {
            // By way of 32 bits: the sign of a failure must not spread into the flags.
            word: AtomicU64::new(u64::from(status as u32)),
            pending: AtomicU32::new(1),
            gave_up: AtomicI32::new(0),
            cancel: std::sync::atomic::AtomicBool::new(false),
            kind,
            is_in_order: std::sync::atomic::AtomicBool::new(false),
            waiters: Waiters::new(),
            early: Waiters::new(),
            failure: AtomicPtr::new(null_mut()),
            queue: AtomicPtr::new(null_mut()),
            link: AtomicPtr::new(null_mut()),
            times: [0; 4].map(AtomicU64::new),
            task: Cell::new(Task {
                work: None,
                place: Place::Nowhere,
            }),
            arrows: [(); ARROWS].map(|()| Edge::new()),
            more_arrows: Cell::new(Vec::new()),
        };
        node.stamp(0);
        node
    }

    /// A command that is about to be submitted. Its times are kept if it is profiled.
    pub(crate) fn command(profiled: bool) -> Node<W> {
        Node::new(PI_EVENT_QUEUED, Kind::Command { profiled })
    }

    /// A command that is over.
    pub(crate) fn over(End { failure, times }: End) -> Node<W> {
        let status = failure
            .as_ref()
            .map_or(PI_EVENT_COMPLETE, |failure| failure.status);
        let mut node = Node::new(status, Kind::Command { profiled: false });
        node.waiters = Waiters::closed();
        if let Some([started, ended]) = times {
            node.kind = Kind::Command { profiled: true };
            // It has neither waited nor been scheduled; the interface has four times all the same.
            node.times = [started, started, started, ended].map(AtomicU64::new);
        }
        if let Some(failure) = failure {
            node.failure = AtomicPtr::new(Arc::into_raw(Arc::new(failure)).cast_mut());
        }
        node
    }

    /// An event that waits for the host.
    pub(crate) fn of_the_host() -> Node<W> {
        Node::new(PI_EVENT_SUBMITTED, Kind::Host)
    }

    fn stamp(&self, index: usize) {
        if self.kind == (Kind::Command { profiled: true }) {
            self.times[index].store(now(), Ordering::Relaxed);
        }
    }

    /// A `PI_EVENT_*` value, or a negative result code.
    pub(crate) fn status(&self) -> i32 {
        status_of(self.word.load(Ordering::Acquire))
    }

    /// Whether it is complete or has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.status() <= PI_EVENT_COMPLETE
    }

    /// Why it failed.
    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        if self.status() >= 0 {
            return None;
        }
        let failure = self.failure.load(Ordering::Acquire);
        if failure.is_null() {
            return None;
        }
        // SAFETY: the node holds a reference for as long as it is there, and has no other failure after its own.
        unsafe {
            Arc::increment_strong_count(failure);
            Some(Arc::from_raw(failure))
        }
    }

    /// When it was queued, submitted, started and done, if that was to be watched and is known.
    pub(crate) fn times(&self) -> Option<[u64; 4]> {
        // OpenCL has times of complete commands alone: of others, failed ones among them, they are
        // `CL_PROFILING_INFO_NOT_AVAILABLE`.
        let known = self.kind == (Kind::Command { profiled: true }) && self.status() == PI_EVENT_COMPLETE;
        known.then(|| self.times.each_ref().map(|time| time.load(Ordering::Relaxed)))
    }

    /// Gives a command its work and its place in a queue, which comes first of all.
    ///
    /// # Safety
    ///
    /// The node is a command that has not been submitted, and nobody else submits it.
    pub(super) unsafe fn begin(&self, queue: QueueId, work: Option<W>, place: Place<W>) {
        self.queue.store(queue.0, Ordering::Relaxed);
        let is_in_order = matches!(place, Place::InLine(..));
        self.is_in_order.store(is_in_order, Ordering::Relaxed);
        // SAFETY: the command's thread is this one, by the caller's promise.
        self.task.with_mut(|task| unsafe { *task = Task { work, place } });
    }

    /// The queue it was submitted to.
    pub(crate) fn queue(&self) -> Option<QueueId> {
        let queue = self.queue.load(Ordering::Relaxed);
        (!queue.is_null()).then_some(QueueId(queue))
    }

    /// What the jobs of the command are for. Where commands run one after the other, who waits for one waits for those in
    /// front of it too, and what is open before it is over belongs to these: they share the queue's number. Where they run
    /// side by side, others may last longer than this one, or wait for what the host does next.
    pub(crate) fn purpose(&self) -> Purpose {
        let queue = self.queue().map_or(0, QueueId::number);
        let command = match self.is_in_order.load(Ordering::Relaxed) {
            true => queue,
            false => (&raw const *self).addr(),
        };
        Purpose { queue, command }
    }

    /// Whether the node is an event of the host's.
    pub(crate) fn is_of_the_host(&self) -> bool {
        self.kind == Kind::Host
    }

    /// Calls a function once the node has reached a status, or at once if it has.
    pub(crate) fn on_status(&self, due: i32, call: Callback) {
        let edge = Box::into_raw(Box::new(Edge::new()));
        let waiter = Waiter::Callback {
            due,
            reached: due,
            call,
        };
        let list = if due <= PI_EVENT_COMPLETE {
            &self.waiters
        } else {
            &self.early
        };
        // SAFETY: the edge is a box that goes with its waiter.
        let pushed = unsafe { list.push(edge, waiter) };
        if let Err(waiter) = pushed {
            // SAFETY: made above, and in no list.
            drop(unsafe { Box::from_raw(edge) });
            if let Waiter::Callback { call, .. } = waiter {
                call(self.status());
            }
        } else if due > PI_EVENT_COMPLETE {
            // From here on, whoever moves the node on looks at the list. Who did before may not have.
            self.word.fetch_or(EARLY_CALLBACKS, Ordering::AcqRel);
            let mut fallout = Fallout::default();
            fallout.early(self);
            fallout.settle();
        }
    }
}

impl<W: Work> Drop for Node<W> {
    fn drop(&mut self) {
        if !self.waiters.is_empty() {
            // The host has let go of an event without setting it, and of its queues' commands none is left here before
            // it is over.
            let mut fallout = Fallout::default();
            let text = "the event was released without having been set".to_owned();
            let status = PI_COMMAND_EXECUTION_FAILURE.0;
            fallout.over(self, Err(Arc::new(Failure { status, text })), Self::leave);
            fallout.settle();
        }
        let failure = self.failure.load(Ordering::Acquire);
        if !failure.is_null() {
            // SAFETY: the node's own reference.
            drop(unsafe { Arc::from_raw(failure) });
        }
    }
}
