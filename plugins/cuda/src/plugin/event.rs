//! The progress of commands.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Event, Result, StatusCallback};
use offkit_sync::{Arc, Mutex};

use super::Cuda;
use super::context::Place;
use super::end::End;
use super::queue::{State, give_back};
use super::watcher;
use crate::driver;

/// An event behind a command.
pub(crate) struct CudaEvent {
    end: Arc<End>,
    timed: Option<Timed>,
    /// What its queue keeps for commands that are not known to be over.
    queue: Option<Arc<Mutex<State>>>,
}

/// What is known of the times of a command.
pub(super) struct Timed {
    pub(super) place: Arc<Place>,
    /// When it was submitted.
    pub(super) queued: u64,
    pub(super) submitted: u64,
    /// The event before it.
    pub(super) start: driver::Event,
}

impl CudaEvent {
    pub(super) fn of(event: Arc<driver::Event>) -> CudaEvent {
        CudaEvent::new(Arc::new(End::of(event)), None, None)
    }

    pub(super) fn new(end: Arc<End>, timed: Option<Timed>, queue: Option<Arc<Mutex<State>>>) -> CudaEvent {
        CudaEvent { end, timed, queue }
    }

    /// Somebody is told that the command is over.
    fn tell(&self) {
        if let Some(state) = &self.queue {
            give_back(state);
        }
    }

    pub(super) fn end(&self) -> &End {
        &self.end
    }
}

/// The status that an outcome is.
pub(super) fn status(outcome: Option<&driver::Result<()>>) -> pi_event_status {
    match outcome {
        // The driver does not tell a command that waits from one that runs.
        None => PI_EVENT_SUBMITTED,
        Some(Ok(())) => PI_EVENT_COMPLETE,
        Some(Err(error)) => error.result().0,
    }
}

impl Event<Cuda> for CudaEvent {
    fn status(&self) -> Result<pi_event_status> {
        let outcome = self.end.outcome();
        if outcome.is_some() {
            self.tell();
        }
        Ok(status(outcome))
    }

    fn failure(&self) -> Option<String> {
        let outcome = self.end.outcome()?;
        outcome
            .as_ref()
            .err()
            .map(|error| format!("the command failed: {error}"))
    }

    fn wait(&self) -> Result<()> {
        let waited = self.end.wait();
        self.tell();
        Ok(waited.clone()?)
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        let missing = |why: &str| Error::new(PI_PROFILING_INFO_NOT_AVAILABLE, why);
        let timed = self.timed.as_ref();
        let timed = timed.ok_or_else(|| missing("the queue does not take the times of its commands"))?;
        match name {
            PI_PROFILING_INFO_COMMAND_QUEUED => Ok(timed.queued),
            PI_PROFILING_INFO_COMMAND_SUBMIT => Ok(timed.submitted),
            PI_PROFILING_INFO_COMMAND_START | PI_PROFILING_INFO_COMMAND_END => {
                // Between events that have not come the driver measures no time.
                if self.end.outcome() != Some(&Ok(())) {
                    return Err(missing("the command is not complete"));
                }
                let end = self.end.event().as_ref().map_err(Clone::clone)?;
                let (start, end) = timed.place.anchor()?.times(&timed.start, end)?;
                // Two clocks: the device's may be a little behind the host's.
                let start_by_host = start.max(timed.submitted);
                Ok(match name {
                    PI_PROFILING_INFO_COMMAND_START => start_by_host,
                    _ => end.saturating_add(start_by_host.saturating_sub(start)),
                })
            }
            name => Err(Error::unknown_query(name)),
        }
    }

    fn on_status(&self, _: pi_event_status, callback: StatusCallback) -> Result<()> {
        // Whatever status is waited for, the end is past it, and of nothing else is it known when
        // it has come.
        // It has to be there before other commands are: the thread asks late.
        if let Err(error) = self.end.event() {
            tracing::debug!(%error, "an event for a callback");
        }
        watcher::call_at_end(Arc::clone(&self.end), callback)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        let event = self.end.event().as_ref().map_err(Clone::clone)?;
        Ok(event.handle())
    }
}
