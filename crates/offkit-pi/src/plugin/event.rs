//! Events.

use super::shim::{array, with_each};
use super::state::{self, EventDetails, EventRecord, Registered};
use super::{Context, Error, Info, Plugin, Result};
use crate::ffi::*;
use core::ffi::c_void;
use core::ptr::with_exposed_provenance_mut;

/// What is called when an event reaches a status; it is given the status.
pub type StatusCallback = Box<dyn FnOnce(pi_event_status) + Send>;

/// The progress of a command.
#[expect(
    unused_variables,
    reason = "what is left out takes the arguments that are documented"
)]
pub trait Event<P: Plugin>: Send + Sync + 'static {
    /// How far the command is: a `PI_EVENT_*` value, or the negative result code it failed with.
    ///
    /// # Errors
    ///
    /// [`Error`] if the driver does not tell. The command may run then: what it uses is kept.
    fn status(&self) -> Result<pi_event_status>;

    /// What happened to a command that failed, in words.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Waits until the command is done, or has failed.
    ///
    /// # Errors
    ///
    /// [`Error`] if it has failed, or if waiting has. The host gets the [`status`](Self::status) where that is a
    /// failure, so a plugin whose status always tells may answer [`Ok`] to every command that is over.
    fn wait(&self) -> Result<()>;

    /// When things happened to the command (`PI_PROFILING_INFO_*`), in nanoseconds.
    ///
    /// # Errors
    ///
    /// [`Error`] if it is not complete or was not watched ([`PI_PROFILING_INFO_NOT_AVAILABLE`]).
    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        Err(Error::new(PI_PROFILING_INFO_NOT_AVAILABLE, "no profiling"))
    }

    /// Sets the status of an event of the host's own: complete, or negative for a failure.
    ///
    /// A failure as the status of a command's event asks for the command to be cancelled, which the interface does
    /// not say and other plugins do not do: one that has not started fails in its turn, a kernel that runs as soon
    /// as it can be stopped.
    ///
    /// # Errors
    ///
    /// [`Error`] if the event has been set or is over already ([`PI_INVALID_OPERATION`]), or is a command's that
    /// cannot be cancelled ([`PI_INVALID_EVENT`]).
    fn set_status(&self, status: pi_event_status) -> Result<()> {
        Err(Error::unsupported("setting the status of an event"))
    }

    /// Calls a function when the event has reached a status (or is past it), from any thread.
    ///
    /// # Errors
    ///
    /// [`Error`] if there are no callbacks.
    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        Err(Error::unsupported("a callback for an event"))
    }

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

/// The error of a command that has failed, or of which the driver does not tell whether it has.
pub(super) fn failure<P: Plugin>(event: &P::Event) -> Option<Error> {
    match event.status() {
        Ok(status) => of_status::<P>(event, status),
        Err(error) => Some(error),
    }
}

/// Waits for a command; the error of one that has failed, or of which the driver does not tell whether it has.
pub(super) fn wait<P: Plugin>(event: &P::Event) -> Result<()> {
    let waited = event.wait();
    // The status says what happened, the wait perhaps only that something did. But a status of success does not
    // outweigh a wait that has failed: Intel's driver answers both for a command that it has not executed.
    match failure::<P>(event) {
        Some(failure) => Err(failure),
        None => waited,
    }
}

fn of_status<P: Plugin>(event: &P::Event, status: pi_event_status) -> Option<Error> {
    (status < 0).then(|| Error::new(pi_result(status), event.failure().unwrap_or_default()))
}

pub(super) fn piEventCreate<P: Registered>(context: pi_context) -> Result<EventRecord<P>> {
    let context = state::context::<P>(context)?;
    let event = P::Context::create_user_event(context.object())?;
    state::insert(&P::state().events, event, EventDetails::Host(context))
}

pub(super) fn piEventGetInfo<P: Registered>(event: pi_event, name: pi_event_info) -> Result<Info> {
    let event = state::event::<P>(event)?;
    let details = &event.details();
    Ok(match name {
        // As OpenCL has it, an event of the host's own has no queue, which is no error.
        PI_EVENT_INFO_COMMAND_QUEUE => details.queue().map_or(0, |queue| queue.handle()).into(),
        PI_EVENT_INFO_CONTEXT => details.context().handle().into(),
        PI_EVENT_INFO_COMMAND_TYPE => details.command_type().into(),
        PI_EVENT_INFO_REFERENCE_COUNT => event.references().into(),
        PI_EVENT_INFO_COMMAND_EXECUTION_STATUS => {
            let status = event.object().status()?;
            if let Some(failure) = of_status::<P>(event.object(), status) {
                // The query succeeds; what happened is there for a host that asks.
                super::error::set_last_error(failure.code, &failure.message);
            }
            status.into()
        }
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) fn piEventGetProfilingInfo<P: Registered>(
    event: pi_event,
    name: pi_profiling_info,
) -> Result<Info> {
    let info = state::event::<P>(event)?.object().profiling(name)?.into();
    Ok(info)
}

pub(super) unsafe fn piEventsWait<P: Registered>(
    num_events: pi_uint32,
    event_list: *const pi_event,
) -> Result<()> {
    if num_events == 0 {
        return Err(Error::new(PI_INVALID_VALUE, "no events to wait for"));
    }
    // SAFETY: the host passes `num_events` handles.
    let handles = unsafe { array(event_list, num_events as usize, "event_list") }?;
    let find = |handle: &pi_event| state::event::<P>(*handle);
    with_each(handles, find, |events| {
        // For all of them, as OpenCL has it, also where one has failed.
        let mut waited = Ok(());
        for event in events {
            waited = waited.and(wait::<P>(event.object()));
        }
        waited.map_err(|failure| Error {
            code: PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            ..failure
        })
    })
}

/// The data of a callback. It goes to whichever thread the event completes on.
struct UserData(*mut c_void);

// SAFETY: the host asks for its data to be handed to its function on any thread.
unsafe impl Send for UserData {}

pub(super) unsafe fn piEventSetCallback<P: Registered>(
    event: pi_event,
    status: pi_int32,
    pfn_notify: pi_event_notify,
    user_data: *mut c_void,
) -> Result<()> {
    let event = state::event::<P>(event)?;
    let notify = pfn_notify.ok_or_else(|| Error::null("pfn_notify"))?;
    let user_data = UserData(user_data);
    // Keeps the handle good until the callback, whether or not the host releases it before.
    let known = event.clone();
    let callback = move |reached| {
        // The braces move the whole into the closure. Otherwise it would take the pointer alone,
        // which cannot be sent to another thread.
        let UserData(user_data) = { user_data };
        // SAFETY: the host passes a function to be called like this.
        unsafe { notify(with_exposed_provenance_mut(known.handle()), reached, user_data) };
    };
    event.object().on_status(status, Box::new(callback))
}

pub(super) fn piEventSetStatus<P: Registered>(event: pi_event, status: pi_int32) -> Result<()> {
    if status > PI_EVENT_COMPLETE {
        return Err(Error::new(
            PI_INVALID_VALUE,
            format_args!("status {status} is neither complete nor a failure"),
        ));
    }
    state::event::<P>(event)?.object().set_status(status)
}
