//! Events.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Event, Result, StatusCallback};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Cpu;

/// The progress of a command, or an event of the host's own.
pub(crate) struct CpuEvent {
    state: Mutex<State>,
    /// Signalled when the status changes.
    changed: Condvar,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A command's, with or without profiling.
    Command { profiling: bool },
    /// The host completes it.
    Host,
}

#[derive(Default)]
struct State {
    status: pi_event_status,
    /// What happened, if the status is negative.
    failure: Option<String>,
    /// When the event came to be queued, submitted, running, and done, in nanoseconds.
    times: [u64; 4],
    callbacks: Vec<(pi_event_status, StatusCallback)>,
}

/// Nanoseconds since the first event of the process.
pub(super) fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl CpuEvent {
    /// The event of a command that is being queued.
    pub(super) fn of_a_command(profiling: bool) -> CpuEvent {
        CpuEvent::new(PI_EVENT_QUEUED, Kind::Command { profiling })
    }

    /// An event that waits for the host.
    pub(super) fn of_the_host() -> CpuEvent {
        CpuEvent::new(PI_EVENT_SUBMITTED, Kind::Host)
    }

    fn new(status: pi_event_status, kind: Kind) -> CpuEvent {
        let state = State {
            status,
            times: [now(), 0, 0, 0],
            ..State::default()
        };
        CpuEvent {
            state: Mutex::new(state),
            changed: Condvar::new(),
            kind,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves on to a status: submitted, running, complete, or negative for a failure that `failure` tells of.
    pub(super) fn reach(&self, status: pi_event_status, failure: Option<String>) {
        self.advance(self.state(), status, failure);
    }

    fn advance(&self, mut state: MutexGuard<'_, State>, status: pi_event_status, failure: Option<String>) {
        state.status = status;
        state.failure = failure;
        let index = match status {
            PI_EVENT_SUBMITTED => 1,
            PI_EVENT_RUNNING => 2,
            _ => 3,
        };
        state.times[index] = now();
        let (due, later) = std::mem::take(&mut state.callbacks)
            .into_iter()
            .partition(|(at, _)| status <= *at);
        state.callbacks = later;
        drop(state);
        self.changed.notify_all();
        call(due, status);
    }

    /// Waits until the command is done, and says whether it failed.
    pub(super) fn outcome(&self) -> Result<(), String> {
        let state = self.state();
        let done = |state: &mut State| state.status > PI_EVENT_COMPLETE;
        let state = self
            .changed
            .wait_while(state, done)
            .unwrap_or_else(PoisonError::into_inner);
        if state.status == PI_EVENT_COMPLETE {
            Ok(())
        } else {
            Err(state.failure.clone().unwrap_or_default())
        }
    }
}

fn call(callbacks: Vec<(pi_event_status, StatusCallback)>, status: pi_event_status) {
    for (_, callback) in callbacks {
        callback(status);
    }
}

impl Event<Cpu> for CpuEvent {
    fn status(&self) -> pi_event_status {
        self.state().status
    }

    fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    fn wait(&self) {
        let _ = self.outcome();
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        let state = self.state();
        if self.kind != (Kind::Command { profiling: true }) || state.status != PI_EVENT_COMPLETE {
            let message = "the queue does not profile, or the command is not complete";
            return Err(Error::new(PI_PROFILING_INFO_NOT_AVAILABLE, message));
        }
        let [queued, submitted, started, ended] = state.times;
        match name {
            PI_PROFILING_INFO_COMMAND_QUEUED => Ok(queued),
            PI_PROFILING_INFO_COMMAND_SUBMIT => Ok(submitted),
            PI_PROFILING_INFO_COMMAND_START => Ok(started),
            PI_PROFILING_INFO_COMMAND_END => Ok(ended),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn set_status(&self, status: pi_event_status) -> Result<()> {
        if self.kind != Kind::Host {
            return Err(Error::new(PI_INVALID_EVENT, "the event is a command's"));
        }
        // Checked and set under one lock: of several that try, one succeeds.
        let state = self.state();
        if state.status <= PI_EVENT_COMPLETE {
            return Err(Error::new(PI_INVALID_OPERATION, "the event has been set already"));
        }
        let failure = (status < 0).then(|| format!("the host failed the event with {}", pi_result(status)));
        self.advance(state, status, failure);
        Ok(())
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        let mut state = self.state();
        let reached = state.status;
        if reached > status {
            state.callbacks.push((status, callback));
        } else {
            drop(state);
            callback(reached);
        }
        Ok(())
    }
}
