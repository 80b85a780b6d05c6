//! Events.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Event, Result, StatusCallback};

use super::OpenCl;
use crate::cl::{self, Code};

/// The progress of a command of a driver, or an event of the host's own.
pub(crate) struct ClEvent(cl::Event);

impl ClEvent {
    pub(super) fn new(object: cl::Event) -> ClEvent {
        ClEvent(object)
    }

    pub(super) fn object(&self) -> &cl::Event {
        &self.0
    }
}

impl Event<OpenCl> for ClEvent {
    fn status(&self) -> pi_event_status {
        self.0.status().unwrap_or_else(|error| error.result().0)
    }

    fn failure(&self) -> Option<String> {
        let status = self.status();
        (status < 0).then(|| format!("the command failed with {}", Code(status)))
    }

    fn wait(&self) {
        if let Err(error) = self.0.wait() {
            // The status says it as well.
            tracing::debug!(%error, "waiting for an event");
        }
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        // OpenCL's queries.
        Ok(self.0.profiling(name)?)
    }

    fn set_status(&self, status: pi_event_status) -> Result<()> {
        Ok(self.0.set_status(status)?)
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        Ok(self.0.on_status(status, callback)?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.0.native())
    }
}
