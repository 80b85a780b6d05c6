//! Events.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Event, Result, StatusCallback};
use offkit_sync::{AtomicI32, Ordering};

use super::OpenCl;
use crate::cl::{self, Code};

/// The progress of a command of a driver, or an event of the host's own.
pub(crate) struct ClEvent {
    object: cl::Event,
    /// How it ended, once that is known: the driver is not asked again. Above [`PI_EVENT_COMPLETE`] until then.
    end: AtomicI32,
}

impl ClEvent {
    pub(super) fn new(object: cl::Event) -> ClEvent {
        ClEvent {
            object,
            end: AtomicI32::new(PI_EVENT_QUEUED),
        }
    }

    pub(super) fn object(&self) -> &cl::Event {
        &self.object
    }
}

impl Event<OpenCl> for ClEvent {
    fn status(&self) -> Result<pi_event_status> {
        let end = self.end.load(Ordering::Acquire);
        if end <= PI_EVENT_COMPLETE {
            return Ok(end);
        }
        let status = self.object.status()?;
        if status <= PI_EVENT_COMPLETE {
            // Another thread that reads it here sees what the command wrote, as it would after a call of the driver.
            self.end.store(status, Ordering::Release);
        }
        Ok(status)
    }

    fn failure(&self) -> Option<String> {
        let status = self.status().ok()?;
        (status < 0).then(|| format!("the command failed with {}", Code(status)))
    }

    fn wait(&self) {
        match self.object.wait() {
            Ok(()) => self.end.store(PI_EVENT_COMPLETE, Ordering::Release),
            // The status says it as well.
            Err(error) => tracing::debug!(%error, "waiting for an event"),
        }
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        // OpenCL's queries.
        Ok(self.object.profiling(name)?)
    }

    fn set_status(&self, status: pi_event_status) -> Result<()> {
        Ok(self.object.set_status(status)?)
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        Ok(self.object.on_status(status, callback)?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}
