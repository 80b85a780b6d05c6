//! Events.

use offkit_opencl::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Event, Result, StatusCallback};
use offkit_sync::{AtomicI32, Ordering};

use super::OpenCl;
use crate::cl::{self, Code, is_called_back};

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

    /// Notes how the command has ended.
    fn end(&self, status: pi_event_status) {
        // Another thread that reads it there sees what the command wrote, as it would after a call of the driver.
        self.end.store(status, Ordering::Release);
    }
}

impl Event<OpenCl> for ClEvent {
    fn status(&self) -> Result<pi_event_status> {
        let end = self.end.load(Ordering::Acquire);
        if end <= PI_EVENT_COMPLETE {
            return Ok(end);
        }
        match self.object.status()? {
            // Intel's driver says so of a command that it has not executed, too, because one that it waits for has
            // failed. Waiting, which is over at once, tells.
            PI_EVENT_COMPLETE if !is_called_back() => match self.wait() {
                Ok(()) => Ok(PI_EVENT_COMPLETE),
                Err(error) => match self.end.load(Ordering::Acquire) {
                    end if end < 0 => Ok(end),
                    _ => Err(error),
                },
            },
            // To be asked again: a function that the driver calls cannot find out.
            PI_EVENT_COMPLETE => Ok(PI_EVENT_COMPLETE),
            status => {
                if status < 0 {
                    self.end(status);
                }
                Ok(status)
            }
        }
    }

    fn failure(&self) -> Option<String> {
        let status = self.status().ok()?;
        (status < 0).then(|| format!("the command failed with {}", Code(status)))
    }

    fn wait(&self) -> Result<()> {
        let waited = self.object.wait();
        match &waited {
            Ok(()) => self.end(PI_EVENT_COMPLETE),
            // The command is over. What it failed with the driver may know as well, or take it for complete.
            Err(error) if error.code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => {
                let status = self.object.status().unwrap_or(error.code);
                self.end(if status < 0 { status } else { error.code });
            }
            // It may still run: what has failed is the wait.
            Err(_) => {}
        }
        Ok(waited?)
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        // OpenCL's queries.
        Ok(self.object.profiling(name)?)
    }

    fn set_status(&self, status: pi_event_status) -> Result<()> {
        Ok(self.object.set_status(status)?)
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        // Known to have failed, which a driver may not say when it calls.
        match self.end.load(Ordering::Acquire) {
            end if end < 0 => callback(end),
            _ => self.object.on_status(status, callback)?,
        }
        Ok(())
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}
