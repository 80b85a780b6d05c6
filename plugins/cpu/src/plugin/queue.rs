//! Queues: a thread that takes commands one after the other.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Command, Error, Queue, Ref, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Cpu;
use super::event::CpuEvent;
use super::kernel::Launch;
use super::memory::CpuBuffer;
use super::transfer::{self, AddressCopy, each_row};
use crate::Memory;

/// A queue. Its thread ends when the queue is gone and the commands are done.
pub(crate) struct CpuQueue {
    tasks: Mutex<Sender<Task>>,
    memory: Arc<Memory>,
    profiling: bool,
}

/// A command on its way.
struct Task {
    work: Work,
    wait: Vec<Ref<CpuEvent>>,
    event: Ref<CpuEvent>,
}

/// What there is to do: a launch has its arguments taken as they were when it was submitted, and a copy what its
/// addresses meant.
enum Work {
    Launch(Box<Launch>),
    CopyUsm(AddressCopy),
    Other(Command<Cpu>),
}

impl CpuQueue {
    pub(super) fn new(memory: &Arc<Memory>, profiling: bool) -> Result<CpuQueue> {
        let (sender, receiver) = channel();
        let used = Arc::clone(memory);
        let thread = thread::Builder::new().name("offkit cpu queue".to_owned());
        let started = thread.spawn(move || work_through(&receiver, &used));
        started.map_err(|error| {
            Error::new(
                PI_OUT_OF_RESOURCES,
                format_args!("no thread for a queue: {error}"),
            )
        })?;
        Ok(CpuQueue {
            tasks: Mutex::new(sender),
            memory: Arc::clone(memory),
            profiling,
        })
    }

    fn submit(&self, work: Work, wait: &[Ref<CpuEvent>], event: &Ref<CpuEvent>) -> Result<()> {
        let task = Task {
            work,
            wait: wait.to_vec(),
            event: event.clone(),
        };
        let sent = self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(task);
        sent.map_err(|_| Error::new(PI_OUT_OF_RESOURCES, "the queue's thread has ended"))
    }
}

impl Queue<Cpu> for CpuQueue {
    fn create_event(&self, _: &Command<Cpu>) -> CpuEvent {
        CpuEvent::of_a_command(self.profiling)
    }

    fn enqueue(
        queue: &Ref<Self>,
        command: Command<Cpu>,
        wait: &[Ref<CpuEvent>],
        event: &Ref<CpuEvent>,
    ) -> Result<()> {
        let work = match command {
            Command::Launch { kernel, range } => Work::Launch(Box::new(kernel.prepare(&range)?)),
            Command::CopyUsm { source, target, size } => {
                Work::CopyUsm(AddressCopy::new(&queue.memory, source, target, size))
            }
            command => Work::Other(command),
        };
        queue.submit(work, wait, event)
    }

    fn finish(&self) -> Result<()> {
        // Commands are done in order, so all are when this one is.
        let last = Ref::new(CpuEvent::of_a_command(false));
        self.submit(Work::Other(Command::Marker), &[], &last)?;
        let _ = last.outcome();
        Ok(())
    }
}

/// What the failure of a command begins with that was not started.
const NOT_STARTED: &str = "not started, as a command it waits for has failed: ";

fn work_through(tasks: &Receiver<Task>, memory: &Memory) {
    for Task { work, wait, event } in tasks {
        event.reach(PI_EVENT_SUBMITTED, None);
        if let Some(failure) = wait.iter().find_map(|event| event.outcome().err()) {
            // Once is enough, however long the chain.
            let failure = match failure.strip_prefix(NOT_STARTED) {
                Some(_) => failure,
                None => format!("{NOT_STARTED}{failure}"),
            };
            event.reach(PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0, Some(failure));
            continue;
        }
        event.reach(PI_EVENT_RUNNING, None);
        let done = catch_unwind(AssertUnwindSafe(|| match work {
            Work::Launch(launch) => launch.run(),
            Work::CopyUsm(copy) => copy.run(memory),
            Work::Other(command) => run(memory, command),
        }));
        match done {
            Ok(Ok(())) => event.reach(PI_EVENT_COMPLETE, None),
            Ok(Err(failure)) => event.reach(PI_COMMAND_EXECUTION_FAILURE.0, Some(failure)),
            Err(payload) => {
                // A payload may panic again when it is dropped.
                std::mem::forget(payload);
                let failure = "the device panicked; this is a defect of it".to_owned();
                event.reach(PI_ERROR_UNKNOWN.0, Some(failure));
            }
        }
    }
}

/// Does any other command.
fn run(memory: &Memory, command: Command<Cpu>) -> Result<(), String> {
    let at = |buffer: &CpuBuffer, offset: usize| buffer.address() + offset as u64;
    let done = match command {
        Command::ReadBuffer {
            buffer,
            offset,
            mut target,
        } => {
            let size = target.size();
            transfer::read(memory, at(&buffer, offset), (&mut target, 0), size)
        }
        Command::WriteBuffer {
            buffer,
            offset,
            source,
        } => transfer::write(memory, (&source, 0), at(&buffer, offset), source.size()),
        Command::CopyBuffer {
            source,
            source_offset,
            target,
            target_offset,
            size,
        } => memory.copy(
            at(&target, target_offset),
            at(&source, source_offset),
            size as u64,
        ),
        Command::FillBuffer {
            buffer,
            pattern,
            offset,
            size,
        } => memory.fill(at(&buffer, offset), &pattern, size as u64),
        Command::ReadBufferRect {
            buffer,
            rect,
            mut target,
        } => each_row(&rect, |from, to, size| {
            transfer::read(memory, at(&buffer, from), (&mut target, to), size)
        }),
        Command::WriteBufferRect { buffer, rect, source } => each_row(&rect, |from, to, size| {
            transfer::write(memory, (&source, from), at(&buffer, to), size)
        }),
        Command::CopyBufferRect { source, target, rect } => each_row(&rect, |from, to, size| {
            memory.copy(at(&target, to), at(&source, from), size as u64)
        }),
        Command::SetUsm {
            address,
            value,
            count,
        } => memory.fill(address as u64, &[value], count as u64),
        // Device memory is host memory, and always close.
        Command::Marker
        | Command::Barrier
        | Command::Map { .. }
        | Command::Unmap { .. }
        | Command::PrefetchUsm { .. }
        | Command::AdviseUsm { .. } => Ok(()),
        _ => return Err("the device does not know this command".to_owned()),
    };
    done.map_err(|error| error.to_string())
}
