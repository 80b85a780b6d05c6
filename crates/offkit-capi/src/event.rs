//! Events.

use std::ffi::c_int;

use offkit_pi::host::{self, CommandStatus};

use crate::c::{In, Objects, Out, Owned, Result, Status, answer, attempt, free, given, objects};
use crate::error::{Code, Failure};

/// `offkit_event`: of a launch.
pub(crate) struct Event {
    pub(crate) event: host::Event,
    /// The kernel that was launched.
    pub(crate) kernel: String,
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
            let source = Failure::of(Code::Device, &error);
            source.within(&format!("kernel `{}` failed", event.kernel))
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_event_get_status(event: In<'_, Event>, status: Out<'_, c_int>) -> Status {
    answer(status, || {
        Ok(match given(event, "the event")?.event.status()? {
            CommandStatus::Queued => 0,
            CommandStatus::Submitted => 1,
            CommandStatus::Running => 2,
            CommandStatus::Complete => 3,
            _ => 4,
        })
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
