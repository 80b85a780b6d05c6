//! Queues and events. Commands are done before they are submitted, but for launches that the script holds up.

use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Command, Error, Event, NewEvent, Queue, Ref, Result, StatusCallback};

use crate::Mock;
use crate::script::Effect;
use crate::stage::{self, There};

/// A queue, and the commands that are not over.
pub(crate) struct MockQueue {
    is_in_order: bool,
    is_profiled: bool,
    under_way: Mutex<Vec<UnderWay>>,
    _there: There,
}

/// A command, and whether it holds up those that come later.
struct UnderWay {
    state: Arc<State>,
    is_barrier: bool,
}

/// The progress of a command.
pub(crate) struct MockEvent {
    is_profiled: bool,
    state: Arc<State>,
    _there: There,
}

/// How far a command is, for everybody who waits for it.
#[derive(Default)]
pub(crate) struct State {
    progress: Mutex<Progress>,
    over: Condvar,
}

struct Progress {
    status: pi_event_status,
    words: Option<String>,
    callbacks: Vec<(pi_event_status, StatusCallback)>,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress {
            status: PI_EVENT_SUBMITTED,
            words: None,
            callbacks: Vec::new(),
        }
    }
}

impl State {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it, if it is not over; whether it was not.
    fn end(&self, outcome: &Result<()>) -> bool {
        let mut progress = self.progress();
        if progress.status <= PI_EVENT_COMPLETE {
            return false;
        }
        progress.status = PI_EVENT_COMPLETE;
        if let Err(error) = outcome {
            progress.status = error.code.0;
            progress.words = Some(error.message.clone());
        }
        // Called when nothing is locked any more: callbacks may ask for the status.
        let (status, callbacks) = (progress.status, std::mem::take(&mut progress.callbacks));
        drop(progress);
        self.over.notify_all();
        callbacks.into_iter().for_each(|(_, callback)| callback(status));
        true
    }

    pub(crate) fn is_over(&self) -> bool {
        self.progress().status <= PI_EVENT_COMPLETE
    }

    fn wait(&self) {
        let running = |progress: &mut Progress| progress.status > PI_EVENT_COMPLETE;
        let over = self.over.wait_while(self.progress(), running);
        drop(over.unwrap_or_else(PoisonError::into_inner));
    }
}

impl MockEvent {
    fn new(state: Arc<State>, is_profiled: bool) -> MockEvent {
        MockEvent {
            is_profiled,
            state,
            _there: There::new::<MockEvent>(),
        }
    }

    pub(crate) fn of_the_host() -> MockEvent {
        MockEvent::new(Arc::default(), false)
    }
}

impl Event<Mock> for MockEvent {
    fn status(&self) -> Result<pi_event_status> {
        Ok(self.state.progress().status)
    }

    fn failure(&self) -> Option<String> {
        self.state.progress().words.clone()
    }

    fn wait(&self) -> Result<()> {
        self.state.wait();
        Ok(())
    }

    fn profiling(&self, name: pi_profiling_info) -> Result<u64> {
        match name {
            _ if !self.is_profiled => Err(Error::new(
                PI_PROFILING_INFO_NOT_AVAILABLE,
                "the queue does not profile",
            )),
            // Everything happens at once.
            PI_PROFILING_INFO_COMMAND_QUEUED..=PI_PROFILING_INFO_COMMAND_END => Ok(1),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn set_status(&self, status: pi_event_status) -> Result<()> {
        let outcome = match status {
            PI_EVENT_COMPLETE => Ok(()),
            status => Err(Error::new(pi_result(status), "the host has ended it")),
        };
        match self.state.end(&outcome) {
            true => Ok(()),
            false => Err(Error::new(PI_INVALID_OPERATION, "the event is over")),
        }
    }

    fn on_status(&self, status: pi_event_status, callback: StatusCallback) -> Result<()> {
        // Numbers go down as a command goes on, and failures are below that of the end.
        let mut progress = self.state.progress();
        if progress.status > status {
            progress.callbacks.push((status, callback));
            return Ok(());
        }
        let reached = progress.status;
        drop(progress);
        callback(reached);
        Ok(())
    }
}

impl MockQueue {
    pub(crate) fn new(properties: pi_queue_properties) -> MockQueue {
        MockQueue {
            is_in_order: properties & PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0,
            is_profiled: properties & PI_QUEUE_PROFILING_ENABLE != 0,
            under_way: Mutex::default(),
            _there: There::new::<MockQueue>(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, Vec<UnderWay>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|command| !command.state.is_over());
        under_way
    }

    /// What a command comes after, besides those that it waits for.
    fn before(&self, command: &Command<Mock>, waits: bool) -> Vec<Arc<State>> {
        let after_all = self.is_in_order || (!waits && matches!(command, Command::Marker | Command::Barrier));
        let under_way = self.under_way();
        let before = under_way.iter().filter(|command| after_all || command.is_barrier);
        before.map(|command| Arc::clone(&command.state)).collect()
    }
}

/// An error if a command that is waited for has failed.
fn all_well(waits: &[Arc<State>]) -> Result<()> {
    match waits
        .iter()
        .map(|before| before.progress().status)
        .find(|status| *status < 0)
    {
        Some(status) => Err(Error::new(pi_result(status), "a command before it failed")),
        None => Ok(()),
    }
}

impl Queue<Mock> for MockQueue {
    fn enqueue(
        queue: &Ref<Self>,
        command: Command<Mock>,
        wait: &[Ref<MockEvent>],
        event: NewEvent<'_, Mock>,
    ) -> Result<()> {
        let state: Arc<State> = Arc::default();
        let effects = match &command {
            Command::Launch { .. } => stage::now().launch(),
            _ => Vec::new(),
        };
        let before = queue.before(&command, !wait.is_empty());
        let is_barrier = matches!(command, Command::Barrier);
        let work = work(command);
        let waits: Vec<_> = wait.iter().map(|event| Arc::clone(&event.state)).collect();
        let mut all = before.iter().chain(&waits);
        if effects.is_empty() && all.all(|before| before.is_over()) {
            // Only what it waits for: a command that fails earlier in the queue hands nothing on.
            let outcome = all_well(&waits).and_then(|()| work());
            // Without an event nothing else would tell of a failure.
            if !event.is_wanted() {
                return outcome;
            }
            state.end(&outcome);
        } else {
            let own = Arc::clone(&state);
            queue.under_way().push(UnderWay {
                state: Arc::clone(&state),
                is_barrier,
            });
            let (stage, ending) = (stage::now(), Arc::clone(&state));
            let house = Arc::clone(&stage);
            let thread = thread::spawn(move || {
                before.iter().chain(&waits).for_each(|before| before.wait());
                let mut outcome = all_well(&waits);
                for effect in effects {
                    outcome = outcome.and_then(|()| match effect {
                        // The host can end it.
                        Effect::Hang => {
                            own.wait();
                            Ok(())
                        }
                        effect => stage.suffer(&effect),
                    });
                }
                // The host may have ended it meanwhile, and then it does nothing.
                if !own.is_over() {
                    own.end(&outcome.and_then(|()| work()));
                }
            });
            house.keep(ending, thread);
        }
        event
            .create(|| MockEvent::new(state, queue.is_profiled))
            .map(drop)
    }

    fn finish(&self) -> Result<()> {
        // They stay in the queue meanwhile: what others submit comes behind them.
        let before: Vec<_> = (self.under_way().iter())
            .map(|command| Arc::clone(&command.state))
            .collect();
        before.iter().for_each(|command| command.wait());
        Ok(())
    }
}

/// What a command does, with the arguments of now.
fn work(command: Command<Mock>) -> impl FnOnce() -> Result<()> + Send {
    let fills = match &command {
        Command::Launch { kernel, .. } => kernel.fills(),
        _ => None,
    };
    move || {
        if let Some((buffer, byte)) = fills {
            buffer.with_bytes(0, |bytes| bytes.fill(byte));
        }
        run(command)
    }
}

fn run(command: Command<Mock>) -> Result<()> {
    match command {
        Command::ReadBuffer {
            buffer,
            offset,
            mut target,
        } => buffer.with_bytes(offset, |bytes| target.write(0, &bytes[..target.size()])),
        Command::WriteBuffer {
            buffer,
            offset,
            source,
        } => buffer.with_bytes(offset, |bytes| source.read(0, &mut bytes[..source.size()])),
        Command::CopyBuffer {
            source,
            source_offset,
            target,
            target_offset,
            size,
        } => {
            // By way of a copy: both may be parts of one buffer, whose bytes have a single lock.
            let copy = source.with_bytes(source_offset, |bytes| bytes[..size].to_vec());
            target.with_bytes(target_offset, |bytes| bytes[..size].copy_from_slice(&copy));
        }
        Command::FillBuffer {
            buffer,
            pattern,
            offset,
            size,
        } => buffer.with_bytes(offset, |bytes| {
            for part in bytes[..size].chunks_mut(pattern.len()) {
                part.copy_from_slice(&pattern);
            }
        }),
        Command::CopyUsm { source, target, size } => copy(source, target, size),
        Command::FillUsm {
            address,
            pattern,
            size,
        } => {
            for offset in (0..size).step_by(pattern.len().max(1)) {
                copy(
                    pattern.as_ptr().expose_provenance(),
                    address + offset,
                    pattern.len(),
                );
            }
        }
        Command::Launch { .. }
        | Command::Marker
        | Command::Barrier
        | Command::PrefetchUsm { .. }
        | Command::AdviseUsm { .. } => {}
        _ => return Err(Error::unsupported("this command")),
    }
    Ok(())
}

/// Copies memory by address.
#[expect(unsafe_code, reason = "unified shared memory is known by address")]
fn copy(source: usize, target: usize, size: usize) {
    // SAFETY: the host vouches for the addresses: they are of memory of that size, of its own or allocated for it.
    unsafe {
        ptr::copy(
            ptr::with_exposed_provenance::<u8>(source),
            ptr::with_exposed_provenance_mut(target),
            size,
        );
    }
}
