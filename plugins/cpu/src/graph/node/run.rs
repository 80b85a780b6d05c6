//! How commands are run, waited for and given up, and events of the host's set.

use super::fallout::Fallout;
use super::{BEING_SET, Kind, Node, Place, QueueId, now, status_of};
use crate::graph::waiters::{Edge, Waiter};
use crate::graph::{Failure, Ref};
use crate::pool::Awaited;
use crate::sync::{AtomicBool, Ordering, thread};
use offkit_pi::ffi::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

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

    /// Runs another command that is ready: any, if that is what this thread is there for; else one of the queue that it
    /// waits for.
    fn help(queue: Option<QueueId>) -> bool;

    /// This thread waits for something that others are at: it may take part in that until it is over. It gives up when
    /// there has been nothing for it to do for a short time.
    fn take_part(_awaited: Awaited, _is_over: &dyn Fn() -> bool) {}

    /// This thread calls back into the host now, for who knows how long: others are to run what it has scheduled.
    fn leave_to_others();
}

/// What a command failed with that was given up in time.
pub(super) const NEVER_STARTED: &str = "cancelled by the host before it started";

/// What a command failed with that panicked.
fn panicked(payload: Box<dyn std::any::Any + Send>) -> (i32, String) {
    // A payload may panic again when it is dropped.
    std::mem::forget(payload);
    let text = "the device panicked; this is a defect of it".to_owned();
    (PI_ERROR_UNKNOWN.0, text)
}

/// How a command ended that was run by the thread that submitted it.
pub(crate) struct End {
    pub(super) failure: Option<Failure>,
    /// When it was submitted and when it was done, if it is profiled.
    pub(super) times: Option<[u64; 2]>,
}

impl End {
    /// Runs a command.
    pub(in super::super) fn of(work: impl FnOnce() -> Result<(), String>, profiled: bool) -> End {
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

impl<W: Work> Node<W> {
    /// Runs a command that is ready, unless another thread does already.
    pub(crate) fn run(&self) {
        if self.claim() {
            self.run_claimed();
        }
    }

    /// Takes a command that is ready: submitted becomes running.
    pub(super) fn claim(&self) -> bool {
        if self.kind == Kind::Host {
            return false;
        }
        let mut word = self.word.load(Ordering::Relaxed);
        while status_of(word) == PI_EVENT_SUBMITTED {
            // The interface's numbers count down to 0, complete; failures are below that.
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

    pub(super) fn run_claimed(&self) {
        self.stamp(2);
        let mut fallout = Fallout::default();
        fallout.early(self);
        // Called before the work begins, as behind it the command isn't running any more.
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
    pub(super) fn outcome_of(&self, work: Option<W>) -> Result<(), Arc<Failure>> {
        let run = || match work {
            Some(work) if self.gave_up.load(Ordering::Acquire) == 0 => work.run(&self.cancel),
            // It was given up when it was ready already, and waited for a thread.
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

    /// Whether a command that is ready is to be completed without running it.
    pub(super) fn has_nothing_to_run(&self) -> bool {
        !self.failure.load(Ordering::Acquire).is_null()
            || self.gave_up.load(Ordering::Acquire) != 0
            || self.task.with_mut(|task| {
                // SAFETY: the node is ready and in no list, so it is this thread's.
                unsafe { (*task).work.as_ref() }.is_none_or(Work::is_nothing)
            })
    }

    /// Leaves the queue, now that it is over. Gives a node that waits for one thing less by that.
    pub(super) fn leave(&self) -> Option<Ref<Self>> {
        // SAFETY: only one thread completes a node, and has its task.
        let place = self
            .task
            .with_mut(|task| unsafe { std::mem::replace(&mut (*task).place, Place::Nowhere) });
        place.leave()
    }

    /// Waits until the node is complete or has failed.
    pub(crate) fn wait(&self) {
        self.wait_and_help(None);
    }

    /// As [`wait`](Self::wait), and runs commands of a queue meanwhile that are ready by now.
    pub(in super::super) fn wait_and_help(&self, queue: Option<QueueId>) {
        while !self.is_over() {
            if self.claim() {
                self.run_claimed();
            } else if !W::help(queue) {
                let awaited = match queue {
                    Some(queue) => Awaited::Queue(queue.number()),
                    None => Awaited::Command(self.purpose().command),
                };
                W::take_part(awaited, &|| self.is_over());
                if !self.is_over() {
                    self.park();
                }
            }
        }
    }

    pub(super) fn park(&self) {
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
        // Of several threads of the host's that set it at once, one does.
        if self.word.fetch_or(BEING_SET, Ordering::AcqRel) & BEING_SET != 0 {
            return false;
        }
        let mut fallout = Fallout::default();
        fallout.over(self, outcome.map_err(Arc::new), Self::leave);
        fallout.settle();
        true
    }

    /// Gives a command up: it fails with a status when its turn comes, or as soon as it stops running. It keeps its
    /// turn, so that nothing behind it overtakes what is in front of it. `false` if it is over.
    pub(crate) fn give_up(&self, status: i32) -> bool {
        if self.is_over() {
            return false;
        }
        // In this order: what stops because of the flag finds the status.
        self.gave_up.store(status, Ordering::Release);
        self.cancel.store(true, Ordering::Release);
        true
    }
}
