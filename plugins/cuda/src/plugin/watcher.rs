//! A thread that looks after what is not over: callbacks for events, and the commands of queues that are gone.
//!
//! The driver could call functions of the host itself, but not after a fault, and they must not call it. The thread is
//! there while it has something to do.

use offkit_pi::ffi::PI_OUT_OF_RESOURCES;
use offkit_pi::plugin::{Error, Result, StatusCallback};
use offkit_sync::{Arc, Mutex, PoisonError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use super::end::End;
use super::event::status;

/// What is done when a command has ended.
struct Watched {
    end: Arc<End>,
    then: Box<dyn FnOnce(&End) + Send>,
}

#[derive(Default)]
struct Watcher {
    watched: Vec<Watched>,
    is_running: bool,
}

static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

/// How long the thread sleeps between looks: at first, and at most.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];

/// Calls a function when a command has ended.
pub(super) fn call_at_end(end: Arc<End>, callback: StatusCallback) -> Result<()> {
    watch(end, Box::new(move |end| callback(status(end.outcome()))))
}

/// Keeps things until a command has ended. Without a thread to wait in they stay for good.
pub(super) fn keep_until<T: Send + 'static>(end: Arc<End>, kept: T) {
    let kept = std::mem::ManuallyDrop::new(kept);
    let then = move |_: &End| drop(std::mem::ManuallyDrop::into_inner(kept));
    if let Err(error) = watch(end, Box::new(then)) {
        tracing::error!(%error, "what a queue uses that is not used any more");
    }
}

fn watch(end: Arc<End>, then: Box<dyn FnOnce(&End) + Send>) -> Result<()> {
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    let watcher = watcher.get_or_insert_default();
    if !watcher.is_running {
        let spawned = thread::Builder::new().name("offkit-cuda".to_owned()).spawn(run);
        let no_thread = |error| {
            Error::new(
                PI_OUT_OF_RESOURCES,
                format_args!("no thread to watch events in: {error}"),
            )
        };
        // Without a thread nothing is noted, for nobody would ever look at it.
        spawned.map_err(no_thread)?;
        watcher.is_running = true;
    }
    watcher.watched.push(Watched { end, then });
    Ok(())
}

fn run() {
    let [mut pause, longest] = PAUSES;
    loop {
        let watched = {
            let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
            let watcher = watcher.get_or_insert_default();
            // Both under the lock: who adds something has it looked at by this thread, or starts
            // another.
            if watcher.watched.is_empty() {
                watcher.is_running = false;
                return;
            }
            std::mem::take(&mut watcher.watched)
        };
        // Without the lock: the driver is asked, and others may want to watch something meanwhile.
        let (over, left): (Vec<_>, Vec<_>) = watched.into_iter().partition(|one| one.end.outcome().is_some());
        // Longer as long as nothing ends: a command of minutes is not to keep a processor busy.
        pause = if over.is_empty() {
            (pause * 2).min(longest)
        } else {
            PAUSES[0]
        };
        let is_waiting = over.is_empty();
        {
            let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
            watcher.get_or_insert_default().watched.extend(left);
        }
        // Without the lock as well: what is called may watch something else.
        for Watched { end, then } in over {
            // One that panics must not leave the others without a thread.
            if catch_unwind(AssertUnwindSafe(|| then(&end))).is_err() {
                tracing::error!("what was to be done when an event came has panicked");
            }
        }
        if is_waiting {
            thread::sleep(pause);
        }
    }
}
