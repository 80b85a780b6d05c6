//! The threads of the process: one [`Team`], made when there is something for it to do.
//!
//! A launch that is worth it is shared ([`share`]): the caller works on it at once, and threads of the team join
//! in when they wake. Everything else that must go on without a thread of the host's is a task ([`spawn`]).
//!
//! After a fork the child has one thread, so that it starts with no team: see [`forget`].

mod arena;
mod float_mode;
mod team;

use std::cell::Cell;
use std::num::NonZero;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

pub(crate) use arena::{Arena, LOCAL_ALIGNMENT};
pub(crate) use float_mode::FloatMode;
pub(crate) use team::{Awaited, Job, Purpose};

use self::team::{Task, Team};
use crate::sync::OnceLock;

/// The environment variable with the number of threads that launches are shared by, the host's included.
pub const THREADS_VARIABLE: &str = "OFFKIT_CPU_THREADS";

/// More threads than any machine has processors.
const MOST_THREADS: usize = 4096;

/// How many threads a launch may use, the caller's included: what [`THREADS_VARIABLE`] says, or as many as there
/// are processors that this process may run on and that its control group has time for.
pub(crate) fn threads() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let asked = std::env::var_os(THREADS_VARIABLE);
        let number = asked.as_ref().and_then(|value| value.to_str()?.parse().ok());
        match (asked, number) {
            (_, Some(number @ 1..=MOST_THREADS)) => return number,
            (Some(value), _) => tracing::warn!(
                ?value,
                "{THREADS_VARIABLE} is ignored: it is no number from 1 to {MOST_THREADS}"
            ),
            (None, _) => {}
        }
        // Looks at the affinity mask and at the quotas of control groups, of version 1 and 2.
        std::thread::available_parallelism().map_or(1, NonZero::get)
    })
}

/// Works on a job until nothing of it is left, with what threads of the pool come to help.
pub(crate) fn share(job: &dyn Job) {
    match threads() {
        1 => job.work(),
        _ => team().share(job, PURPOSE.get()),
    }
}

/// This thread's number: that of a thread of the pool from 1 on, 0 for one of the host's.
pub(crate) fn number() -> usize {
    NUMBER.get()
}

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };

    /// What this thread works for: see [`take_part`].
    static PURPOSE: Cell<Purpose> = const { Cell::new(Purpose { queue: 0, command: 0 }) };
}

/// Does something, of which jobs may be shared with those who wait for it.
pub(crate) fn with_purpose(purpose: Purpose, work: impl FnOnce()) {
    let before = PURPOSE.replace(purpose);
    work();
    PURPOSE.set(before);
}

/// Works on jobs of others for what is awaited until that is over, or there have been none for some microseconds: a
/// thread that waits for them does not sleep meanwhile, and the pool has no thread in its place.
pub(crate) fn take_part(awaited: Awaited, is_over: &dyn Fn() -> bool) {
    if threads() > 1 {
        team().take_part(awaited, is_over);
    }
}

/// Has a thread of the pool run a task, soon.
pub(crate) fn spawn(task: Task) {
    team().spawn(task);
}

// No `OnceLock`: in a forked child it has to be empty again, by no more than the store of a word,
// and whoever was about to make it in the parent is not there to do so.
static TEAM: AtomicPtr<Team> = AtomicPtr::new(null_mut());

#[expect(unsafe_code, reason = "the team is made once and never goes")]
fn team() -> &'static Team {
    let found = TEAM.load(Ordering::Acquire);
    if found.is_null() {
        return found_team();
    }
    // SAFETY: it is one that `found_team` has leaked.
    unsafe { &*found }
}

#[cold]
#[expect(unsafe_code, reason = "the team is made once and never goes")]
fn found_team() -> &'static Team {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.swap(true, Ordering::Relaxed) {
        /// The threads of the team are not in the child, and what they had in their hands there is left as it was
        /// for good. A new team is made when there is something to do.
        extern "C" fn forget() {
            TEAM.store(null_mut(), Ordering::Relaxed);
        }
        on_fork(forget);
    }
    // One thread at least, for tasks.
    let new = Box::into_raw(Box::new(Team::new((threads() - 1).max(1))));
    let exchanged = TEAM.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
    let team = match exchanged {
        Ok(_) => new,
        Err(other) => {
            // SAFETY: just made, and nobody has seen it; it has no threads before it has work.
            drop(unsafe { Box::from_raw(new) });
            other
        }
    };
    // SAFETY: whichever is in place now stays there, or is left to itself by `forget`.
    unsafe { &*team }
}

/// Has a function called in a process that is forked off this one, where there are no other threads. It does nothing but to
/// store a word.
pub(crate) fn on_fork(forget: extern "C" fn()) {
    around_fork(None, None, forget);
}

/// Has functions called before this process is forked, behind that, and in the child.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the C library calls back")]
pub(crate) fn around_fork(
    before: Option<extern "C" fn()>,
    behind: Option<extern "C" fn()>,
    forget: extern "C" fn(),
) {
    let [before, behind] = [before, behind].map(|function| function.map(|function| function as _));
    // SAFETY: the functions stay where they are: the library is not unloaded.
    if unsafe { libc::pthread_atfork(before, behind, Some(forget)) } != 0 {
        tracing::warn!("a process forked off this one will have no threads for kernels");
    }
}

#[cfg(not(unix))]
pub(crate) fn around_fork(_: Option<extern "C" fn()>, _: Option<extern "C" fn()>, _: extern "C" fn()) {}
