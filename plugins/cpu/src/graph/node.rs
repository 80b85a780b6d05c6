//! A command or an event: what it waits for, and what becomes of it.

use super::line::Place;
use super::waiters::{Callback, Edge, Taken, Waiter, Waiters};
use super::{Failure, Ref};
use crate::sync::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Cell, LazyLock, Ordering, thread};
use offkit_pi::ffi::*;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::time::Instant;

/// What there is to do for a command, and by whom.
pub(crate) trait Work: Sized + Send + 'static {
    /// Whether there is nothing to do at all: such a command is complete as soon as it is ready.
    fn is_nothing(&self) -> bool;

    /// Does it. The flag is set when the host does not want the result any more.
    ///
    /// # Errors
    ///
    /// What went wrong.
    fn run(self, cancel: &std::sync::atomic::AtomicBool) -> Result<(), String>;

    /// Sees to it that some thread calls [`Node::run`].
    fn schedule(node: Ref<Node<Self>>);

    /// Runs another command that is ready, if that is what this thread is there for.
    fn help() -> bool;

    /// This thread calls back into the host now, for who knows how long: others are to run what it has scheduled.
    fn leave_to_others();
}

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

/// What a command failed with that was given up in time.
const NEVER_STARTED: &str = "cancelled by the host before it started";

/// What a command failed with that panicked.
fn panicked(payload: Box<dyn std::any::Any + Send>) -> (i32, String) {
    // A payload may panic again when it is dropped.
    std::mem::forget(payload);
    let text = "the device panicked; this is a defect of it".to_owned();
    (PI_ERROR_UNKNOWN.0, text)
}

/// How a command ended that was run by the thread that submitted it.
pub(crate) struct End {
    failure: Option<Failure>,
    /// When it was submitted and when it was done, if it is profiled.
    times: Option<[u64; 2]>,
}

impl End {
    /// Runs a command.
    pub(super) fn of(work: impl FnOnce() -> Result<(), String>, profiled: bool) -> End {
        let started = profiled.then(now);
        let failure = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => None,
            Ok(Err(text)) => Some((PI_COMMAND_EXECUTION_FAILURE.0, text)),
            Err(payload) => Some(panicked(payload)),
        };
        End {
            failure: failure.map(|(status, text)| Failure { status, text }),
            times: started.map(|started| [started, now()]),
        }
    }
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
    waiters: Waiters<W>,
    /// Callbacks for what comes before completion.
    early: Waiters<W>,
    /// The first failure among what it waits for, then its own: an `Arc`.
    failure: AtomicPtr<Failure>,
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
            word: AtomicU64::new(u64::from(status as u32)),
            pending: AtomicU32::new(1),
            gave_up: AtomicI32::new(0),
            cancel: std::sync::atomic::AtomicBool::new(false),
            kind,
            waiters: Waiters::new(),
            early: Waiters::new(),
            failure: AtomicPtr::new(null_mut()),
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
        let known = self.kind == (Kind::Command { profiled: true }) && self.status() == PI_EVENT_COMPLETE;
        known.then(|| self.times.each_ref().map(|time| time.load(Ordering::Relaxed)))
    }

    /// Gives a command its work and its place in a queue, which comes first of all.
    ///
    /// # Safety
    ///
    /// The node is a command that has not been submitted, and nobody else submits it.
    pub(super) unsafe fn begin(&self, work: Option<W>, place: Place<W>) {
        // SAFETY: the command's thread is this one, by the caller's promise.
        self.task.with_mut(|task| unsafe { *task = Task { work, place } });
    }

    /// Makes a command wait for others, which comes after [`begin`](Self::begin): for those in `wait`, with which it
    /// fails, and for those in `after`.
    ///
    /// # Safety
    ///
    /// As for [`begin`](Self::begin), and this is called once.
    pub(super) unsafe fn wait_for(node: &Ref<Self>, wait: &[Ref<Self>], after: [Option<Ref<Self>>; 2]) {
        let strict = wait.iter().map(|other| (other, true));
        let others = strict.chain(after.iter().flatten().map(|other| (other, false)));
        let count = wait.len() + after.iter().flatten().count();
        if count > ARROWS {
            // SAFETY: the command's thread is this one.
            node.more_arrows
                .with_mut(|more| unsafe { *more = (0..count).map(|_| Edge::new()).collect() });
        }
        for (index, (other, strict)) in others.enumerate() {
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
    pub(super) fn start(node: &Ref<Self>) {
        if node.arrive() {
            let mut fallout = Fallout::default();
            fallout.ready(Ref::clone(node));
            fallout.settle();
        }
    }

    /// Counts one more that the node waits for, unless it does not wait for anything any more.
    pub(super) fn count_in(&self) -> bool {
        let one_more = |pending| (pending > 0).then(|| pending + 1);
        self.pending
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
    }

    /// How many it still waits for.
    pub(super) fn pending(&self) -> u32 {
        self.pending.load(Ordering::Acquire)
    }

    /// Takes one of them away. Whether it was the last.
    fn arrive(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Takes one of them away that no arrow is there for.
    pub(super) fn let_go(node: Ref<Self>) {
        let mut fallout = Fallout::default();
        fallout.arrived(node);
        fallout.settle();
    }

    /// Remembers that something it waits for has failed. The first one counts.
    fn blame(&self, other: &Self) {
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

    /// Whether a command that is ready is to be completed without running it.
    fn has_nothing_to_run(&self) -> bool {
        !self.failure.load(Ordering::Acquire).is_null()
            || self.gave_up.load(Ordering::Acquire) != 0
            || self.task.with_mut(|task| {
                // SAFETY: the node is ready and in no list, so it is this thread's.
                unsafe { (*task).work.as_ref() }.is_none_or(Work::is_nothing)
            })
    }

    /// Runs a command that is ready, unless another thread does already.
    pub(crate) fn run(&self) {
        if self.claim() {
            self.run_claimed();
        }
    }

    /// Takes a command that is ready: submitted becomes running.
    fn claim(&self) -> bool {
        if self.kind == Kind::Host {
            return false;
        }
        let mut word = self.word.load(Ordering::Relaxed);
        while status_of(word) == PI_EVENT_SUBMITTED {
            let running = word - 1;
            match self
                .word
                .compare_exchange_weak(word, running, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(other) => word = other,
            }
        }
        false
    }

    fn run_claimed(&self) {
        self.stamp(2);
        let mut fallout = Fallout::default();
        fallout.early(self);
        if !fallout.is_empty() {
            fallout.settle();
            fallout = Fallout::default();
        }
        // SAFETY: the one that makes the node running has its task.
        let work = self.task.with_mut(|task| unsafe { (*task).work.take() });
        let outcome = self.outcome_of(work);
        fallout.over(self, outcome, Self::leave);
        fallout.settle();
    }

    /// Runs the command's work.
    fn outcome_of(&self, work: Option<W>) -> Result<(), Arc<Failure>> {
        let run = || match work {
            Some(work) if self.gave_up.load(Ordering::Acquire) == 0 => work.run(&self.cancel),
            _ => Err(NEVER_STARTED.to_owned()),
        };
        let (status, text) = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => return Ok(()),
            // Read in a way that sees the last value: a kernel's look at the flag orders nothing.
            Ok(Err(text)) => match self.gave_up.fetch_or(0, Ordering::AcqRel) {
                0 => (PI_COMMAND_EXECUTION_FAILURE.0, text),
                status => (status, text),
            },
            Err(payload) => panicked(payload),
        };
        Err(Arc::new(Failure { status, text }))
    }

    /// Leaves the queue, now that it is over. Gives a node that waits for one thing less by that.
    fn leave(&self) -> Option<Ref<Self>> {
        // SAFETY: only one thread completes a node, and has its task.
        let place = self
            .task
            .with_mut(|task| unsafe { std::mem::replace(&mut (*task).place, Place::Nowhere) });
        place.leave()
    }

    /// Waits until the node is complete or has failed.
    pub(crate) fn wait(&self) {
        while !self.is_over() {
            if self.claim() {
                self.run_claimed();
            } else if !W::help() {
                self.park();
            }
        }
    }

    fn park(&self) {
        let woken = AtomicBool::new(false);
        let mut edge = Edge::new();
        let waiter = Waiter::Thread {
            thread: thread::current(),
            woken: &raw const woken,
        };
        // SAFETY: edge and flag stay until the flag is set, which comes after the edge's last use.
        if unsafe { self.waiters.push(&raw mut edge, waiter) }.is_ok() {
            while !woken.load(Ordering::Acquire) {
                thread::park();
            }
        }
    }

    /// Completes or fails an event of the host's, once. `false` if that has been done already.
    pub(crate) fn set(&self, outcome: Result<(), Failure>) -> bool {
        if self.word.fetch_or(BEING_SET, Ordering::AcqRel) & BEING_SET != 0 {
            return false;
        }
        let mut fallout = Fallout::default();
        fallout.over(self, outcome.map_err(Arc::new), Self::leave);
        fallout.settle();
        true
    }

    /// Whether the node is an event of the host's.
    pub(crate) fn is_of_the_host(&self) -> bool {
        self.kind == Kind::Host
    }

    /// Gives a command up: it fails with a status when its turn comes, or as soon as it stops running. It keeps its
    /// turn, so that nothing behind it overtakes what is in front of it. `false` if it is over.
    pub(crate) fn give_up(&self, status: i32) -> bool {
        if self.is_over() {
            return false;
        }
        self.gave_up.store(status, Ordering::Release);
        self.cancel.store(true, Ordering::Release);
        true
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

/// What follows from a completion, one thing after the other instead of one within the other.
struct Fallout<W: Work> {
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
    fn is_empty(&self) -> bool {
        self.first.is_null() && !self.has_callbacks
    }

    /// Takes a node on that one thing less keeps waiting.
    fn arrived(&mut self, node: Ref<Node<W>>) {
        if node.arrive() {
            self.ready(node);
        }
    }

    /// Takes a node on that is ready.
    fn ready(&mut self, node: Ref<Node<W>>) {
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
    fn early(&mut self, node: &Node<W>) {
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

    fn call_back(&mut self, edge: *mut Edge<W>, waiter: Waiter<W>, status: i32) {
        if let Waiter::Callback { due, call, .. } = waiter {
            let reached = status;
            // SAFETY: just taken from a list, with its edge.
            unsafe { self.callbacks.push(edge, Waiter::Callback { due, reached, call }) };
            self.has_callbacks = true;
        }
    }

    /// Completes a node, and takes on what follows from that.
    fn over(
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
        self.early(node);
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
    fn settle(mut self) {
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
