//! Events.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Event, Result, StatusCallback};
use offkit_ur::UR_EVENT_STATUS_COMPLETE;

use super::UnifiedRuntime;
use crate::adapter;

/// The progress of a command of an adapter.
pub(crate) struct UrEvent(adapter::Event);

impl UrEvent {
    pub(super) fn new(object: adapter::Event) -> UrEvent {
        UrEvent(object)
    }

    pub(super) fn object(&self) -> &adapter::Event {
        &self.0
    }
}

impl Event<UnifiedRuntime> for UrEvent {
    fn status(&self) -> Result<pi_event_status> {
        Ok(self.0.status()?)
    }

    fn failure(&self) -> Option<String> {
        let status = self.0.status().ok()?;
        (status < 0).then(|| match self.0.wait() {
            // The adapter may have words for it.
            Err(error) => format!("the command failed: {error}"),
            Ok(()) => format!("the command failed with {}", pi_result(status)),
        })
    }

    fn wait(&self) -> Result<()> {
        Ok(self.0.wait()?)
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        match name {
            PI_PROFILING_INFO_COMMAND_QUEUED..=PI_PROFILING_INFO_COMMAND_END => {
                // The same order, from 0.
                Ok(self.0.profiling(name - PI_PROFILING_INFO_COMMAND_QUEUED)?)
            }
            name => Err(Error::unknown_query(name)),
        }
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        // Who waits for a failure waits for the end: adapters have no number for it.
        let status = u32::try_from(status).unwrap_or(UR_EVENT_STATUS_COMPLETE);
        Ok(self.0.on_status(status, callback)?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.0.native()?)
    }
}
