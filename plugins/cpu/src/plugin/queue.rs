//! Queues: a thread that takes commands one after the other.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRect, Command, Error, HostSource, HostTarget, Queue, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Cpu;
use super::event::CpuEvent;
use super::kernel::Launch;
use super::memory::CpuBuffer;
use crate::{Memory, MemoryError};

/// A queue. Its thread ends when the queue is gone and the commands are done.
pub(crate) struct CpuQueue {
    tasks: Mutex<Sender<Task>>,
    profiling: bool,
}

/// A command on its way.
struct Task {
    work: Work,
    wait: Vec<Arc<CpuEvent>>,
    event: Arc<CpuEvent>,
}

/// What there is to do: a launch has its arguments taken as they were when it was submitted.
enum Work {
    Launch(Box<Launch>),
    Other(Command<Cpu>),
}

impl CpuQueue {
    pub(super) fn new(memory: &Arc<Memory>, profiling: bool) -> Result<CpuQueue> {
        let (sender, receiver) = channel();
        let memory = Arc::clone(memory);
        let thread = thread::Builder::new().name("offkit cpu queue".to_owned());
        let started = thread.spawn(move || work_through(&receiver, &memory));
        started.map_err(|error| {
            Error::new(
                PI_OUT_OF_RESOURCES,
                format_args!("no thread for a queue: {error}"),
            )
        })?;
        Ok(CpuQueue {
            tasks: Mutex::new(sender),
            profiling,
        })
    }

    fn submit(&self, work: Work, wait: &[Arc<CpuEvent>]) -> Result<Arc<CpuEvent>> {
        let event = Arc::new(CpuEvent::of_a_command(self.profiling));
        let task = Task {
            work,
            wait: wait.to_vec(),
            event: Arc::clone(&event),
        };
        let sent = self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(task);
        sent.map_err(|_| Error::new(PI_OUT_OF_RESOURCES, "the queue's thread has ended"))?;
        Ok(event)
    }
}

impl Queue<Cpu> for CpuQueue {
    fn enqueue(self: &Arc<Self>, command: Command<Cpu>, wait: &[Arc<CpuEvent>]) -> Result<Arc<CpuEvent>> {
        let work = match command {
            Command::Launch { kernel, range } => Work::Launch(Box::new(kernel.prepare(&range)?)),
            command => Work::Other(command),
        };
        self.submit(work, wait)
    }

    fn finish(&self) -> Result<()> {
        // Commands are done in order, so all are when this one is.
        let _ = self.submit(Work::Other(Command::Marker), &[])?.outcome();
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
            Work::Other(command) => run(memory, command),
        }));
        match done {
            Ok(Ok(())) => event.reach(PI_EVENT_COMPLETE, None),
            Ok(Err(failure)) => event.reach(PI_COMMAND_EXECUTION_FAILURE.0, Some(failure)),
            Err(_) => event.reach(
                PI_ERROR_UNKNOWN.0,
                Some("the device panicked; this is a defect of it".to_owned()),
            ),
        }
    }
}

/// Does a command that is no launch.
fn run(memory: &Memory, command: Command<Cpu>) -> Result<(), String> {
    let at = |buffer: &CpuBuffer, offset: usize| buffer.address() + offset as u64;
    let done = match command {
        Command::ReadBuffer {
            buffer,
            offset,
            mut target,
        } => memory.read(at(&buffer, offset), target.bytes_mut()),
        Command::WriteBuffer {
            buffer,
            offset,
            source,
        } => memory.write(at(&buffer, offset), source.bytes()),
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
            memory.read(
                at(&buffer, from),
                target.bytes_mut().get_mut(to..to + size).unwrap_or_default(),
            )
        }),
        Command::WriteBufferRect { buffer, rect, source } => each_row(&rect, |from, to, size| {
            memory.write(
                at(&buffer, to),
                source.bytes().get(from..from + size).unwrap_or_default(),
            )
        }),
        Command::CopyBufferRect { source, target, rect } => each_row(&rect, |from, to, size| {
            memory.copy(at(&target, to), at(&source, from), size as u64)
        }),
        Command::SetUsm {
            address,
            value,
            count,
        } => memory.fill(address as u64, &[value], count as u64),
        Command::CopyUsm { source, target, size } => return copy_usm(memory, source, target, size),
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

fn each_row(
    rect: &BufferRect,
    mut copy: impl FnMut(usize, usize, usize) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    rect.rows().try_for_each(|(from, to, size)| copy(from, to, size))
}

/// Copies between memory of the context and memory of the host, either way. What the context does not know is
/// the host's.
#[expect(
    unsafe_code,
    reason = "the host vouches for its memory, through the interface"
)]
fn copy_usm(memory: &Memory, source: usize, target: usize, size: usize) -> Result<(), String> {
    let (from, to) = (source as u64, target as u64);
    if size == 0 {
        return Ok(());
    }
    let known = (memory.lookup(from).is_some(), memory.lookup(to).is_some());
    if known == (true, true) {
        return memory
            .copy(to, from, size as u64)
            .map_err(|error| error.to_string());
    }
    if source.abs_diff(target) < size {
        return Err("source and target overlap".to_owned());
    }
    let (source, target) = (
        with_exposed_provenance(source),
        with_exposed_provenance_mut(target),
    );
    // SAFETY: only what the context does not know is read or written through these, and the interface has the
    // host keep that valid, and leave it alone, until the command is complete. The two do not overlap.
    let (source, mut target) = unsafe { (HostSource::new(source, size), HostTarget::new(target, size)) };
    let done = match known {
        (true, _) => memory.read(from, target.bytes_mut()),
        (_, true) => memory.write(to, source.bytes()),
        _ => {
            target.bytes_mut().copy_from_slice(source.bytes());
            Ok(())
        }
    };
    done.map_err(|error| error.to_string())
}
