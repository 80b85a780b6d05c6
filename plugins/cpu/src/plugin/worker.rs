//! Threads for the commands that are ready.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::event::CpuEvent;
use super::queue::Task;
use crate::graph::Ready;
use offkit_pi::plugin::Ref;

/// Commands of all queues.
#[cfg(not(loom))]
static READY: Ready<Task> = Ready::new();
#[cfg(loom)]
static READY: std::sync::LazyLock<Ready<Task>> = std::sync::LazyLock::new(Ready::new);

/// Whether a thread has been called to work on them that has not looked yet.
static CALLED: AtomicBool = AtomicBool::new(false);

/// What a thread of the pool does just now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Now {
    /// This is none.
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
    READY.push(event);
    if NOW.get() != Now::Drains {
        call();
    }
}

pub(super) fn leave_to_others() {
    if NOW.get() == Now::Drains {
        NOW.set(Now::CallsBack);
        if !READY.is_empty() {
            call();
        }
    }
}

pub(super) fn help() -> bool {
    NOW.get() != Now::NotOurs && run_one()
}

fn call() {
    if !CALLED.swap(true, Ordering::AcqRel) {
        let started = thread::Builder::new().name("offkit cpu".to_owned()).spawn(drain);
        if let Err(error) = started {
            tracing::error!(%error, "no thread for commands");
        }
    }
}

fn drain() {
    // Whoever adds a command from here on calls a thread again, or this one sees the command.
    CALLED.swap(false, Ordering::AcqRel);
    while run_one() {}
    NOW.set(Now::NotOurs);
}

fn run_one() -> bool {
    let Some((event, more)) = READY.pop() else {
        return false;
    };
    if more {
        call();
    }
    let before = NOW.replace(Now::Drains);
    event.run();
    NOW.set(before);
    true
}
