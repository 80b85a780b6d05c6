//! Workers that are kept from one program to the next: to start one takes as long as what it does for a small program.
//!
//! There are as many as have been at work at once. A thread ends those that have had nothing to do for some time. Nobody
//! waits for the lock but that thread: in a process that was forked off, somebody may have it who isn't there.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{mem, thread};

use offkit_host::signals;
use offkit_llvm::Worker;

/// How long one is kept with nothing to do.
const IDLE: Duration = Duration::from_secs(10);

struct Spare {
    /// Each since when it has nothing to do.
    workers: Vec<(Worker, Instant)>,
    /// Whether there is a thread that ends them.
    is_watched: bool,
    /// Which process this is, counted by forks.
    process: u64,
}

static SPARE: Mutex<Spare> = Mutex::new(Spare {
    workers: Vec::new(),
    is_watched: false,
    process: 0,
});

/// One that is kept, of this program. It may have been ended meanwhile.
pub(super) fn take(program: &Path) -> Option<Worker> {
    let mut spare = spare()?;
    // The last one that was at work, so that those that are too many stay idle, and are ended.
    let index = (spare.workers.iter()).rposition(|(worker, _)| worker.program() == program)?;
    Some(spare.workers.remove(index).0)
}

/// Keeps it for the next program.
pub(super) fn keep(worker: Worker) {
    let Some(mut spare) = spare() else { return };
    if !spare.is_watched {
        let thread = thread::Builder::new().name("offkit-spare".to_owned());
        spare.is_watched = thread.spawn(watch).is_ok();
    }
    // Without a thread it is dropped, as nobody would ever end it.
    if spare.is_watched {
        spare.workers.push((worker, Instant::now()));
    }
}

fn spare() -> Option<MutexGuard<'static, Spare>> {
    let mut spare = SPARE.try_lock().ok()?;
    let process = forks();
    if spare.process != process {
        // Workers and thread are those of the process that this one was forked off, and the pipes are closed.
        mem::forget(mem::take(&mut spare.workers));
        spare.is_watched = false;
        spare.process = process;
    }
    Some(spare)
}

#[cfg(unix)]
fn forks() -> u64 {
    offkit_host::pipes::forks()
}

#[cfg(not(unix))]
fn forks() -> u64 {
    0
}

/// Ends workers that have had nothing to do for long enough, and itself when there are none.
fn watch() {
    signals::leave_to_others();
    let mut left = IDLE;
    loop {
        thread::sleep(left);
        let Ok(mut spare) = SPARE.lock() else { return };
        let is_over = |(_, since): &mut (Worker, Instant)| since.elapsed() >= IDLE;
        let over: Vec<_> = spare.workers.extract_if(.., is_over).collect();
        let oldest = spare.workers.iter().map(|(_, since)| since.elapsed()).max();
        spare.is_watched = oldest.is_some();
        // Ending takes time. Others do not wait for the lock, and would start workers of their own
        // meanwhile.
        drop(spare);
        for (worker, _) in over {
            worker.end();
        }
        match oldest {
            Some(oldest) => left = IDLE.saturating_sub(oldest),
            None => return,
        }
    }
}
