//! Commands that are ready and too large for the thread that submits them: threads of the pool run them.

use offkit_pi::plugin::Ref;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::event::CpuEvent;
use super::queue::Task;
use crate::graph::{QueueId, Ready};
use crate::pool::{self, Awaited};

/// The commands of all queues.
struct Work {
    ready: Ready<Task>,
    /// Whether a thread has been called to work on them that has not looked yet.
    called: AtomicBool,
}

/// What a thread does just now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Now {
    /// It is none of the pool's, as far as commands go.
    NotOurs,
    /// Takes one command after the other, also those that it schedules meanwhile.
    Drains,
    /// The same, but is in a function of the host's.
    CallsBack,
}

thread_local! {
    static NOW: Cell<Now> = const { Cell::new(Now::NotOurs) };
}

pub(super) fn schedule(event: Ref<CpuEvent>) {
    let work = work();
    work.ready.push(event);
    // A thread that drains comes to it itself when it is done with what it has in hand.
    if NOW.get() != Now::Drains {
        work.call();
    }
}

pub(super) fn leave_to_others() {
    if NOW.get() == Now::Drains {
        NOW.set(Now::CallsBack);
        let work = work();
        if !work.ready.is_empty() {
            work.call();
        }
    }
}

pub(super) fn help(queue: Option<QueueId>) -> bool {
    if NOW.get() != Now::NotOurs {
        return work().run_one();
    }
    // It is the host's, and goes back to it: what this command leads to is for others.
    let event = queue.and_then(|queue| work().ready.pop_of(queue));
    event.inspect(run).is_some()
}

pub(super) fn take_part(awaited: Awaited, is_over: &dyn Fn() -> bool) {
    if NOW.get() == Now::NotOurs {
        pool::take_part(awaited, is_over);
    }
}

/// Runs a command; who waits for it or its queue may take part.
fn run(event: &Ref<CpuEvent>) {
    pool::with_purpose(event.purpose(), || event.run());
}

fn drain() {
    let work = work();
    // Whoever adds a command from here on calls a thread again, or this one sees the command.
    work.called.swap(false, Ordering::AcqRel);
    while work.run_one() {}
}

impl Work {
    fn call(&self) {
        if !self.called.swap(true, Ordering::AcqRel) {
            pool::spawn(drain);
        }
    }

    fn run_one(&self) -> bool {
        let Some((event, more)) = self.ready.pop() else {
            return false;
        };
        // One more thread each time, as long as there is more than one can do.
        if more {
            self.call();
        }
        let before = NOW.replace(Now::Drains);
        run(&event);
        // Back to what it was: a callback that waits comes here as well, and goes on behind this.
        NOW.set(before);
        true
    }
}

static WORK: AtomicPtr<Work> = AtomicPtr::new(null_mut());

#[expect(unsafe_code, reason = "the list is made once and never goes")]
fn work() -> &'static Work {
    let found = WORK.load(Ordering::Acquire);
    if found.is_null() {
        return found_work();
    }
    // SAFETY: it is one that `found_work` has leaked.
    unsafe { &*found }
}

#[cold]
#[expect(unsafe_code, reason = "the list is made once and never goes")]
fn found_work() -> &'static Work {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.swap(true, Ordering::Relaxed) {
        /// What waits is the parent's, whose threads are not here.
        extern "C" fn forget() {
            WORK.store(null_mut(), Ordering::Relaxed);
        }
        pool::on_fork(forget);
    }
    let new = Box::into_raw(Box::new(Work {
        ready: Ready::new(),
        called: AtomicBool::new(false),
    }));
    match WORK.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it is never freed from here on.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: just made, and nobody has seen it; the other one is never freed.
            unsafe {
                drop(Box::from_raw(new));
                &*other
            }
        }
    }
}
