//! Events.

use super::{Owned, Result, ask, call, words};
use core::ffi::c_void;
use core::ptr::null_mut;
use offkit_pi::ffi::{PI_COMMAND_EXECUTION_FAILURE, PI_EVENT_COMPLETE, pi_event_status};
use offkit_pi::plugin::StatusCallback;
use offkit_ur::*;

/// The progress of a command.
pub(crate) type Event = Owned<_ur_event>;

/// What a callback is given: the function to call, and the event, of which it has a reference.
struct Waiting {
    callback: StatusCallback,
    event: Event,
}

impl Event {
    /// Whether the command is known to be done, or to have failed: an adapter that does not answer has not said so.
    pub(crate) fn is_over(&self) -> bool {
        self.status().is_ok_and(|status| status <= PI_EVENT_COMPLETE)
    }

    /// How far the command is, in the plugin interface's numbers: a negative one if it has failed.
    pub(crate) fn status(&self) -> Result<pi_event_status> {
        let mut status = UR_EVENT_STATUS_COMPLETE;
        // SAFETY: the event is the adapter's, and the answer has that size. (Drivers that are asked for the size may say
        // 0.)
        let answer = unsafe {
            call!(
                self.adapter(),
                urEventGetInfo(
                    self.handle(),
                    UR_EVENT_INFO_COMMAND_EXECUTION_STATUS,
                    size_of::<u32>(),
                    (&raw mut status).cast(),
                    null_mut()
                )
            )
        };
        answer.map(|()| match status {
            // 0 to 3, as in the plugin interface.
            0..=UR_EVENT_STATUS_QUEUED => status as pi_event_status,
            // Some hand on their drivers' own numbers of failures.
            _ if status.cast_signed() < 0 => status.cast_signed(),
            _ => PI_COMMAND_EXECUTION_FAILURE.0,
        })
    }

    /// Waits until the command is done; an error if it has failed.
    pub(crate) fn wait(&self) -> Result<()> {
        let handle = self.handle();
        // SAFETY: one event of the adapter's.
        unsafe { call!(self.adapter(), urEventWait(1, &raw const handle)) }
    }

    /// When something happened to the command, in nanoseconds.
    pub(crate) fn profiling(&self, name: u32) -> Result<u64> {
        // SAFETY: the event is the adapter's.
        let bytes = ask!(self.adapter(), unsafe urEventGetProfilingInfo(self.handle(), name))?;
        Ok(words(&bytes).next().map_or(0, u64::from_ne_bytes))
    }

    /// Has a function called when a status is reached.
    pub(crate) fn on_status(&self, status: u32, callback: StatusCallback) -> Result<()> {
        // A reference for the callback, which asks the event: the host may have released its own by
        // then.
        let event = self.try_clone()?;
        let data = Box::into_raw(Box::new(Waiting { callback, event }));
        // SAFETY: the function takes such data, and the adapter calls it once.
        let set = unsafe {
            call!(
                self.adapter(),
                urEventSetCallback(self.handle(), status, Some(call_back), data.cast())
            )
        };
        if set.is_err() {
            // SAFETY: the adapter has refused it, so this is its only use.
            drop(unsafe { Box::from_raw(data) });
        }
        set
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(&self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the event is the adapter's, and the place is there.
        unsafe {
            call!(
                self.adapter(),
                urEventGetNativeHandle(self.handle(), &raw mut native)
            )
        }?;
        Ok(native)
    }
}

/// What adapters call when an event reaches a status. They have no number for a failure: the event is asked.
unsafe extern "C" fn call_back(_: ur_event_handle_t, status: u32, data: *mut c_void) {
    // SAFETY: the data is that of `on_status`, which is used once.
    let Waiting { callback, event } = *unsafe { Box::from_raw(data.cast::<Waiting>()) };
    callback(match status {
        // Done or failed: what says that it still runs is out of date.
        UR_EVENT_STATUS_COMPLETE => event.status().unwrap_or_else(|error| error.result().0).min(0),
        status => status as pi_event_status,
    });
}
