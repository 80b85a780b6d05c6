//! Events.

use std::ffi::{c_int, c_void};

use offkit_pi::host::{self, CommandStatus};

use crate::c::{In, Objects, Out, Owned, Result, Status, answer, attempt, free, given, objects};
use crate::error::{Code, Failure};

/// `offkit_event`: of a command.
pub(crate) struct Event {
    pub(crate) event: host::Event,
    /// What messages call the command.
    pub(crate) command: String,
}

impl Event {
    pub(crate) fn new(event: host::Event, command: impl Into<String>) -> Self {
        Self {
            event,
            command: command.into(),
        }
    }
}

/// `offkit_profile`.
#[repr(C)]
pub(crate) struct Profile {
    queued: u64,
    submitted: u64,
    started: u64,
    ended: u64,
}

/// The events that a command waits for.
///
/// # Safety
///
/// If the array is not null, there must be so many.
pub(crate) unsafe fn events<'a>(wait: Objects<'a, Event>, count: usize) -> Result<Vec<&'a host::Event>> {
    // SAFETY: by the caller's promise.
    let events = unsafe { objects(wait, count, "the events") }?;
    Ok(events.into_iter().map(|event| &event.event).collect())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_event_wait(event: In<'_, Event>) -> Status {
    attempt(|| {
        let event = given(event, "the event")?;
        event.event.wait().map_err(|error| {
            // Whatever code the device has for it: the command has failed, and not this call.
            let source = Failure::of(Code::Device, &error);
            source.within(&format!("{} failed", event.command))
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_event_get_status(event: In<'_, Event>, status: Out<'_, c_int>) -> Status {
    answer(status, || Ok(number(given(event, "the event")?.event.status()?)))
}

/// `offkit_event_status`.
fn number(status: CommandStatus) -> c_int {
    match status {
        CommandStatus::Queued => 0,
        CommandStatus::Submitted => 1,
        CommandStatus::Running => 2,
        CommandStatus::Complete => 3,
        _ => 4,
    }
}

/// A pointer of C's, which another thread may be given.
struct Data(*mut c_void);

// SAFETY: the header says that the function is called on another thread.
unsafe impl Send for Data {}

impl Data {
    // A closure that names the field would take the pointer alone, which must not be sent.
    fn get(&self) -> *mut c_void {
        self.0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn offkit_event_on_completion(
    event: In<'_, Event>,
    function: Option<unsafe extern "C" fn(c_int, *mut c_void)>,
    data: *mut c_void,
) -> Status {
    attempt(|| {
        let event = given(event, "the event")?;
        let function = function.ok_or_else(|| Failure::invalid("the function is a null pointer"))?;
        let data = Data(data);
        let call = move |status| {
            // SAFETY: the caller says that the function takes this.
            unsafe { function(number(status), data.get()) }
        };
        Ok(event.event.on_completion(call)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_event_profile(event: In<'_, Event>, profile: Out<'_, Profile>) -> Status {
    answer(profile, || {
        let profile = given(event, "the event")?.event.profile()?;
        Ok(Profile {
            queued: profile.queued,
            submitted: profile.submitted,
            started: profile.started,
            ended: profile.ended,
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_event_free(event: Owned<Event>) {
    free(event);
}
