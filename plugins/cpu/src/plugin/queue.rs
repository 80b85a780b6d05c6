//! Queues, and what there is to do for a command.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Command, NewEvent, Queue, Ref, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Cpu;
use super::device::CpuDevice;
use super::event::CpuEvent;
use super::kernel::Launch;
use super::memory::CpuBuffer;
use super::spare::Spare;
use super::transfer::{self, AddressCopy, each_row};
use super::worker;
use crate::Memory;
use crate::graph::{End, Line, Node, QueueId, Sort, Work};
use crate::pool::Awaited;

/// Bytes that a thread copies or fills in some microseconds.
const SMALL: usize = 1 << 15;

/// Launches that are done, with the room that they had.
static LAUNCHES: Spare<Launch> = Spare::new();

/// A queue. Its commands go on when it is gone.
pub(crate) struct CpuQueue {
    line: crate::sync::Arc<Line<Task>>,
    memory: Arc<Memory>,
    profiling: bool,
    device: Arc<CpuDevice>,
}

/// What there is to do for a command.
pub(crate) struct Task(Todo);

/// A launch has its arguments taken as they were when it was submitted, and a copy what its addresses meant.
enum Todo {
    Launch(Box<Launch>),
    CopyUsm(AddressCopy, Arc<Memory>),
    Other(Command<Cpu>, Arc<Memory>),
    Nothing,
}

impl CpuQueue {
    pub(super) fn new(
        memory: &Arc<Memory>,
        device: &Arc<CpuDevice>,
        properties: pi_queue_properties,
    ) -> CpuQueue {
        let out_of_order = properties & PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0;
        let line = if out_of_order {
            Line::out_of_order()
        } else {
            Line::in_order()
        };
        CpuQueue {
            line: crate::sync::Arc::new(line),
            memory: Arc::clone(memory),
            profiling: properties & PI_QUEUE_PROFILING_ENABLE != 0,
            device: Arc::clone(device),
        }
    }
}

impl Queue<Cpu> for CpuQueue {
    #[expect(unsafe_code, reason = "each command is submitted once")]
    fn enqueue(
        queue: &Ref<Self>,
        command: Command<Cpu>,
        wait: &[Ref<CpuEvent>],
        event: NewEvent<'_, Cpu>,
    ) -> Result<()> {
        let sort = match command {
            Command::Marker => Sort::Marker,
            Command::Barrier => Sort::Barrier,
            _ => Sort::Command,
        };
        let memory = || Arc::clone(&queue.memory);
        // What is small and has nothing in its way is run here and now, and nothing is made of it but its event, if that.
        let turn = || match sort {
            Sort::Command => queue.line.turn(wait, queue.profiling),
            _ => None,
        };
        let todo = match command {
            Command::Launch { kernel, range } => {
                let launch = kernel.prepare(&range, &queue.device)?;
                if launch.is_small()
                    && let Some(turn) = turn()
                {
                    return over(
                        turn.run(|| launch.run().map_err(|error| error.to_string())),
                        event,
                    );
                }
                let mut room = LAUNCHES.take();
                launch.fill_in(&mut room);
                Todo::Launch(room)
            }
            Command::CopyUsm { source, target, size } => {
                Todo::CopyUsm(AddressCopy::new(&queue.memory, source, target, size), memory())
            }
            // Device memory is host memory, and always close.
            Command::Marker
            | Command::Barrier
            | Command::Map { .. }
            | Command::Unmap { .. }
            | Command::PrefetchUsm { .. }
            | Command::AdviseUsm { .. } => Todo::Nothing,
            command => Todo::Other(command, memory()),
        };
        let task = Task(todo);
        if task.is_small()
            && let Some(turn) = turn()
        {
            // Nobody can give it up: its event is made when it is over.
            return over(turn.run(|| task.run(&AtomicBool::new(false))), event);
        }
        let event = event.create(|| Node::command(queue.profiling))?;
        // SAFETY: the event was just made, for this command.
        unsafe { Line::submit(&queue.line, event, task, wait, sort) };
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        Line::finish(&self.line);
        Ok(())
    }
}

/// A command is over that was run when it was submitted.
fn over(end: End, event: NewEvent<'_, Cpu>) -> Result<()> {
    if event.is_wanted() {
        event.create(|| Node::over(end))?;
    }
    Ok(())
}

impl Task {
    /// Whether the thread that submits the command may run it: it is done in microseconds.
    fn is_small(&self) -> bool {
        let size = match &self.0 {
            // Asked before it was made: it is not small, or its turn was not to be had.
            Todo::Launch(_) => return false,
            Todo::CopyUsm(copy, _) => copy.size(),
            Todo::Other(command, _) => match command {
                Command::ReadBuffer { target, .. } => target.size(),
                Command::WriteBuffer { source, .. } => source.size(),
                Command::CopyBuffer { size, .. }
                | Command::FillBuffer { size, .. }
                | Command::FillUsm { size, .. } => *size,
                _ => usize::MAX,
            },
            Todo::Nothing => 0,
        };
        size <= SMALL
    }
}

impl Work for Task {
    fn is_nothing(&self) -> bool {
        matches!(self.0, Todo::Nothing)
    }

    fn run(self, cancel: &AtomicBool) -> Result<(), String> {
        match self.0 {
            Todo::Launch(mut launch) => {
                let done = launch.run(cancel);
                // A box that waits to be used again must keep neither buffers nor programs.
                launch.clear();
                LAUNCHES.give(launch);
                done.map_err(|error| error.to_string())
            }
            Todo::CopyUsm(copy, memory) => copy.run(&memory),
            Todo::Other(command, memory) => run(&memory, command),
            Todo::Nothing => Ok(()),
        }
    }

    fn schedule(event: Ref<CpuEvent>) {
        worker::schedule(event);
    }

    fn help(queue: Option<QueueId>) -> bool {
        worker::help(queue)
    }

    fn take_part(awaited: Awaited, is_over: &dyn Fn() -> bool) {
        worker::take_part(awaited, is_over);
    }

    fn leave_to_others() {
        worker::leave_to_others();
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
        Command::FillUsm {
            address,
            pattern,
            size,
        } => memory.fill(address as u64, &pattern, size as u64),
        _ => return Err("the device does not know this command".to_owned()),
    };
    done.map_err(|error| error.to_string())
}
