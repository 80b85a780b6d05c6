//! Events: the progress of commands.

use super::handle::{Owned, integer};
use super::plugin::{Plugin, ask, call};
use super::queue::Shared;
use super::{PiError, Result};
use crate::ffi::*;
use crate::table::Function;
use std::sync::Weak;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// The progress of one command.
///
/// Dropping an event does not cancel its command.
#[derive(Debug)]
pub struct Event {
    handle: Owned<pi_event>,
    /// What the commands of its queue use, if it is a command's.
    in_use: Weak<Shared>,
}

/// How far a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommandStatus {
    /// In the queue.
    Queued,
    /// Handed to the device.
    Submitted,
    /// Running.
    Running,
    /// Done.
    Complete,
    /// Failed, with this code.
    Failed(pi_result),
}

impl CommandStatus {
    fn from_code(code: pi_event_status) -> CommandStatus {
        match code {
            PI_EVENT_QUEUED => CommandStatus::Queued,
            PI_EVENT_SUBMITTED => CommandStatus::Submitted,
            PI_EVENT_RUNNING => CommandStatus::Running,
            PI_EVENT_COMPLETE => CommandStatus::Complete,
            code => CommandStatus::Failed(pi_result(code)),
        }
    }

    fn is_over(self) -> bool {
        matches!(self, CommandStatus::Complete | CommandStatus::Failed(_))
    }
}

type Callback = Box<dyn FnOnce(CommandStatus) + Send>;

/// Calls the function that `data` holds.
///
/// # Safety
///
/// `data` must be a [`Callback`] in a box that is given away.
unsafe extern "C" fn call_back(_: pi_event, status: pi_int32, data: *mut core::ffi::c_void) {
    // SAFETY: by the caller's promise.
    let function = unsafe { Box::from_raw(data.cast::<Callback>()) };
    // The caller is a plugin, which may be in C: nothing may unwind into it.
    let call = std::panic::AssertUnwindSafe(|| function(CommandStatus::from_code(status)));
    if let Err(payload) = std::panic::catch_unwind(call) {
        tracing::error!("a callback of an event panicked");
        // A payload may panic again when it is dropped.
        core::mem::forget(payload);
    }
}

/// When things happened to a command: nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The host put the command into the queue.
    pub queued: u64,
    /// The queue handed the command to the device.
    pub submitted: u64,
    /// The device started it.
    pub started: u64,
    /// The device was done with it.
    pub ended: u64,
}

/// How often a wait that hears nothing looks whether the command is over.
const LOOK: Duration = Duration::from_millis(100);

impl Event {
    pub(crate) fn new(handle: Owned<pi_event>, in_use: Weak<Shared>) -> Event {
        Event { handle, in_use }
    }

    /// Another reference to the event.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin gives no further references.
    pub fn try_clone(&self) -> Result<Event> {
        Ok(Event {
            handle: self.handle.try_clone()?,
            in_use: Weak::clone(&self.in_use),
        })
    }

    pub(crate) fn raw(&self) -> pi_event {
        self.handle.raw()
    }

    pub(crate) fn handle(&self) -> &Owned<pi_event> {
        &self.handle
    }

    pub(crate) fn plugin(&self) -> &Plugin {
        self.handle.plugin()
    }

    /// Waits until the command is done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the command failed; its message is the plugin's account of what happened.
    pub fn wait(&self) -> Result<()> {
        let events = [self.raw()];
        // SAFETY: there is one event, and it is valid.
        let waited = unsafe { call!(self.plugin(), piEventsWait(1, events.as_ptr())) };
        let outcome = self.status();
        let is_over = matches!(outcome, Ok(CommandStatus::Complete | CommandStatus::Failed(_)));
        let waited = match (waited, outcome) {
            // The wait says only that there was a failure; the event knows which.
            (
                Err(PiError::Call {
                    function, message, ..
                }),
                Ok(CommandStatus::Failed(result)),
            ) => Err(PiError::Call {
                function,
                result,
                message,
            }),
            // OpenCL 1.0 drivers report success for a wait on a failed command.
            (Ok(()), Ok(CommandStatus::Failed(result))) => {
                let message = self.plugin().last_message();
                Err(PiError::Call {
                    function: Function::piEventsWait,
                    result,
                    message,
                })
            }
            (waited, _) => waited,
        };
        // What the command used goes now, and not only when its queue is used again.
        if is_over && let Some(queue) = self.in_use.upgrade() {
            queue.in_use.done(self.raw());
        }
        waited
    }

    /// Waits until all the commands are done, and returns the first failure.
    ///
    /// # Errors
    ///
    /// [`PiError`] if one of the commands failed.
    pub fn wait_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<()> {
        let mut outcome = Ok(());
        // Each is waited for, after a failure as well: the caller may free what they use then.
        for event in events {
            outcome = outcome.and(event.wait());
        }
        outcome
    }

    /// Waits until the command is done, but no longer than so; whether it is done.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the command failed, as from [`Event::wait`], or the plugin does not tell how far it is.
    pub fn wait_for(&self, most: Duration) -> Result<bool> {
        let start = Instant::now();
        let (sender, receiver) = std::sync::mpsc::channel();
        let told = self.on_completion(move |_| {
            // Nobody may be waiting any more.
            let _ = sender.send(());
        });
        if told.is_ok() {
            // With a look at the status in between: PoCL calls nobody back when a command fails.
            loop {
                let left = most.saturating_sub(start.elapsed());
                if receiver.recv_timeout(left.min(LOOK)) != Err(RecvTimeoutError::Timeout)
                    || self.status()?.is_over()
                {
                    break;
                }
                if start.elapsed() >= most {
                    return Ok(false);
                }
            }
        } else {
            // The plugin has no callbacks.
            while !self.status()?.is_over() {
                if start.elapsed() >= most {
                    return Ok(false);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // It is over; this tells how, in the plugin's words, and lets go of what it used.
        self.wait().map(|()| true)
    }

    /// Asks the command to end. One that has not started fails in its turn; a kernel that runs fails soon, if the
    /// device can stop it; other commands are done as ever. Whichever it is, the event tells, in its time.
    ///
    /// This is offkit's own use of `piEventSetStatus`, on a command's event and with a failure as the status.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the command is done already, or the plugin cancels no commands.
    pub fn cancel(&self) -> Result<()> {
        let status = PI_COMMAND_EXECUTION_FAILURE.0;
        // SAFETY: the event is valid.
        unsafe { call!(self.plugin(), piEventSetStatus(self.raw(), status)) }
    }

    /// How far the command is.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn status(&self) -> Result<CommandStatus> {
        status(&self.handle)
    }

    /// When things happened, for a completed command of a queue with profiling.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the command is not complete or its queue does not profile.
    pub fn profile(&self) -> Result<Profile> {
        let time = |name| {
            let answer = ask!(self.plugin(), piEventGetProfilingInfo(self.raw(), name))?;
            integer(Function::piEventGetProfilingInfo, &answer)
        };
        Ok(Profile {
            queued: time(PI_PROFILING_INFO_COMMAND_QUEUED)?,
            submitted: time(PI_PROFILING_INFO_COMMAND_SUBMIT)?,
            started: time(PI_PROFILING_INFO_COMMAND_START)?,
            ended: time(PI_PROFILING_INFO_COMMAND_END)?,
        })
    }

    /// Calls a function when the command is done or has failed, from a thread of the plugin's. It is called
    /// at once if it is done already.
    ///
    /// It may submit commands and drop any object. On the CPU device it may also wait for commands; OpenCL calls that
    /// undefined, and other plugins may never come back from it.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin has no callbacks; the function is not called then.
    pub fn on_completion(&self, function: impl FnOnce(CommandStatus) + Send + 'static) -> Result<()> {
        set_callback(&self.handle, Box::new(function)).map_err(|(error, _)| error)
    }
}

/// How far a command is.
fn status(event: &Owned<pi_event>) -> Result<CommandStatus> {
    // The size is known, so that one call does: hosts ask this again and again.
    let (mut status, name) = (0, PI_EVENT_INFO_COMMAND_EXECUTION_STATUS);
    let (size, to) = (size_of::<pi_event_status>(), (&raw mut status).cast());
    // SAFETY: the event is valid, and there are so many bytes for the answer.
    let answered = unsafe {
        call!(
            event.plugin(),
            piEventGetInfo(event.raw(), name, size, to, core::ptr::null_mut())
        )
    };
    if answered.is_err() {
        // Perhaps the plugin has more to say.
        let answer = ask!(event.plugin(), piEventGetInfo(event.raw(), name))?;
        status = integer(Function::piEventGetInfo, &answer)? as pi_event_status;
    }
    Ok(CommandStatus::from_code(status))
}

/// Whether a command has stopped using the memory it was given.
pub(crate) fn is_over(event: &Owned<pi_event>) -> bool {
    status(event).is_ok_and(CommandStatus::is_over)
}

/// Sets a callback; one that cannot be set is given back.
fn set_callback(event: &Owned<pi_event>, function: Callback) -> Result<(), (PiError, Callback)> {
    // A trait object has two pointers, and the data is one.
    let data = Box::into_raw(Box::new(function));
    // SAFETY: the callback is given what it expects, and is called once.
    let set = unsafe {
        let notify: pi_event_notify = Some(call_back);
        call!(
            event.plugin(),
            piEventSetCallback(event.raw(), PI_EVENT_COMPLETE, notify, data.cast())
        )
    };
    set.map_err(|error| {
        // SAFETY: made above, and not given away.
        (error, *unsafe { Box::from_raw(data) })
    })
}

/// Keeps something that a command uses until the command is done, without waiting for it.
pub(crate) fn keep(event: &Owned<pi_event>, used: impl Send + 'static) {
    let Err((_, callback)) = set_callback(event, Box::new(move |_| drop(used))) else {
        return;
    };
    if is_over(event) {
        return;
    }
    // The plugin has no callbacks, so a thread waits in its place. The closure is called only where the
    // command is known to be done; without that, what it owns is given up rather than freed too early.
    let callback = core::mem::ManuallyDrop::new(callback);
    let started = event.try_clone().map(|event| {
        std::thread::Builder::new().spawn(move || {
            let waited = Event::new(event, Weak::new());
            if waited.wait().is_ok() || is_over(&waited.handle) {
                drop(core::mem::ManuallyDrop::into_inner(callback));
            }
        })
    });
    if !matches!(started, Ok(Ok(_))) {
        tracing::error!("no thread to wait for a command; what it uses is never freed");
    }
}

/// An event the host completes. Dropping it uncompleted fails the commands that wait for it.
///
/// Until it is completed or dropped, whoever is to do that must not wait for a command that waits for the
/// event, nor for a later command of the same in-order queue or for the queue itself: that would be waiting
/// for oneself. Dropping other objects never waits.
#[derive(Debug)]
pub struct UserEvent {
    event: Event,
    settled: bool,
}

impl UserEvent {
    pub(crate) fn new(event: Event) -> UserEvent {
        UserEvent {
            event,
            settled: false,
        }
    }

    /// The event, for wait lists.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Lets the commands that wait for the event go on.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not do it.
    pub fn complete(mut self) -> Result<()> {
        self.settle(PI_EVENT_COMPLETE)
    }

    fn settle(&mut self, status: pi_event_status) -> Result<()> {
        // SAFETY: the event is valid.
        unsafe { call!(self.event.plugin(), piEventSetStatus(self.event.raw(), status)) }?;
        self.settled = true;
        Ok(())
    }
}

impl Drop for UserEvent {
    fn drop(&mut self) {
        if !self.settled
            && let Err(error) = self.settle(PI_COMMAND_EXECUTION_FAILURE.0)
        {
            tracing::warn!(%error, "failing an abandoned event failed");
        }
    }
}

/// A transfer on its way, together with the host memory it uses.
///
/// Dropping it does not wait: the transfer goes on, and the memory is freed when it is done.
#[derive(Debug)]
pub struct Pending<T: Send + 'static> {
    event: Event,
    data: Option<T>,
}

impl<T: Send + 'static> Pending<T> {
    /// `data` owns the memory that the command behind `event` uses.
    pub(crate) fn new(event: Event, data: T) -> Pending<T> {
        Pending {
            event,
            data: Some(data),
        }
    }

    /// The transfer's event.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Waits for the transfer and returns the host memory.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the transfer failed.
    pub fn wait(mut self) -> Result<T> {
        self.event.wait()?;
        self.data
            .take()
            .ok_or_else(|| PiError::refused(Function::piEventsWait, PI_INVALID_VALUE, "already taken"))
    }
}

impl<T: Send + 'static> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(data) = self.data.take() {
            keep(&self.event.handle, data);
        }
    }
}
