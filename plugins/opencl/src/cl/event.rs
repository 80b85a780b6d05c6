//! Events.

use super::{Driver, Owned, Result, ask, call, words};
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::null_mut;
use offkit_opencl::*;
use offkit_pi::plugin::StatusCallback;

/// An event: of a command, or of the host's own.
pub(crate) type Event = Owned<_cl_event>;

impl Event {
    /// How far the command is, or the error that it failed with.
    pub(crate) fn status(&self) -> Result<cl_int> {
        self.info(CL_EVENT_COMMAND_EXECUTION_STATUS)
    }

    /// What kind of command it is of (`CL_COMMAND_*`).
    pub(crate) fn command_type(&self) -> Result<cl_command_type> {
        self.info(CL_EVENT_COMMAND_TYPE).map(cl_int::cast_unsigned)
    }

    /// The answer to a query, of one word.
    fn info(&self, name: cl_event_info) -> Result<cl_int> {
        // SAFETY: the event is the driver's.
        unsafe { info(self.driver(), self.handle(), name) }
    }

    /// Waits until the command is done; an error if it has failed.
    pub(crate) fn wait(&self) -> Result<()> {
        let handle = self.handle();
        // SAFETY: one event of the driver's.
        unsafe { call!(self.driver().table, clWaitForEvents(1, &raw const handle)) }
    }

    /// When something happened to the command, in nanoseconds.
    pub(crate) fn profiling(&self, name: cl_profiling_info) -> Result<u64> {
        // SAFETY: the event is the driver's.
        let bytes = ask!(self.driver().table, unsafe clGetEventProfilingInfo(self.handle(), name))?;
        Ok(words(&bytes).next().map_or(0, u64::from_ne_bytes))
    }

    /// Sets the status of an event of the host's own.
    pub(crate) fn set_status(&self, status: cl_int) -> Result<()> {
        // SAFETY: the event is the driver's, which refuses one that is not the host's.
        unsafe { call!(self.driver().table, clSetUserEventStatus(self.handle(), status)) }
    }

    /// Has a function called when a status is reached.
    pub(crate) fn on_status(&self, status: cl_int, callback: StatusCallback) -> Result<()> {
        let driver = self.driver();
        let data = Box::into_raw(Box::new(Waiting { callback, driver }));
        // SAFETY: the function takes such data, and the driver calls it once.
        let set = unsafe {
            call!(
                self.driver().table,
                clSetEventCallback(self.handle(), status, Some(call_back), data.cast())
            )
        };
        if set.is_err() {
            // SAFETY: the driver has refused it, so this is its only use.
            drop(unsafe { Box::from_raw(data) });
        }
        set
    }
}

/// The answer to a query, of one word.
///
/// # Safety
///
/// The event is the driver's, and is there.
unsafe fn info(driver: &Driver, event: cl_event, name: cl_event_info) -> Result<cl_int> {
    // Not by `ask!`, which calls twice and allocates: hosts may ask for the status over and over.
    let (mut answer, size) = (CL_COMPLETE, size_of::<cl_int>());
    // SAFETY: by the caller's promise; the answer has that size.
    unsafe {
        call!(
            driver.table,
            clGetEventInfo(event, name, size, (&raw mut answer).cast(), null_mut())
        )
    }?;
    Ok(answer)
}

/// What a callback is given: the function to call, and whose event it is.
struct Waiting {
    callback: StatusCallback,
    driver: &'static Driver,
}

thread_local! {
    /// Whether this thread is the driver's, and in a function that it has called.
    static CALLED_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether the driver is what called: waiting for commands would be undefined, as the specification of
/// `clSetEventCallback` has it, and PoCL 5 waits for ever.
pub(crate) fn is_called_back() -> bool {
    CALLED_BACK.get()
}

/// What drivers call when an event reaches a status.
unsafe extern "C" fn call_back(event: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: the data is that of `on_status`, which is used once.
    let Waiting { callback, driver } = *unsafe { Box::from_raw(data.cast::<Waiting>()) };
    // A driver may call from within a call of the host's, and from within another callback.
    let outer = CALLED_BACK.replace(true);
    let status = match status {
        // PoCL says so of commands that have failed, too.
        // SAFETY: the event is the driver's, and is there as long as it calls.
        CL_COMPLETE => match unsafe { info(driver, event, CL_EVENT_COMMAND_EXECUTION_STATUS) } {
            Ok(failure @ ..0) => failure,
            _ => CL_COMPLETE,
        },
        status => status,
    };
    callback(status);
    CALLED_BACK.set(outer);
}
