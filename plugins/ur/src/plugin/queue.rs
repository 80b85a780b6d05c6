//! Queues, which keep what their commands use: adapters do not say that they do.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Command, Error, Mapping, NewEvent, Queue, Ref, Result};
use offkit_sync::{Arc, Mutex, PoisonError};
use offkit_ur::_ur_queue;
use std::collections::VecDeque;
use std::thread;

use super::UnifiedRuntime;
use super::context::UrContext;
use super::event::UrEvent;
use super::kernel::Used;
use crate::adapter::{self, Event, HostSide, Order, Owned, Transfer};

/// A queue of an adapter. Dropped with commands in it, it stays until they are done.
pub(crate) struct UrQueue(Arc<Shared>);

struct Shared {
    object: Owned<_ur_queue>,
    /// The commands that may not be done yet, the oldest first.
    running: Mutex<VecDeque<Running>>,
    _context: Ref<UrContext>,
}

/// A command that may not be done yet, and what it uses.
struct Running {
    event: Event,
    _command: Command<UnifiedRuntime>,
    _used: Used,
}

impl Shared {
    /// Takes a command in, and out those that are done.
    fn keep(&self, running: Running) {
        let mut queue = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // One that takes long keeps those behind it a while longer, also if they are done.
        while queue.front().is_some_and(|running| running.event.is_over()) {
            queue.pop_front();
        }
        queue.push_back(running);
    }

    fn finish(&self) -> Result<()> {
        // Those that are submitted meanwhile stay.
        let before = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let finished = self.object.finish();
        if finished.is_err() {
            let mut queue = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            // In front of what came meanwhile, in their old order.
            before
                .into_iter()
                .rev()
                .for_each(|running| queue.push_front(running));
        }
        Ok(finished?)
    }

    fn is_idle(&self) -> bool {
        let queue = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        queue.iter().all(|running| running.event.is_over())
    }
}

/// What a host hints at, in Unified Runtime's bits (`UR_USM_ADVICE_FLAG_*`).
fn advice(pi: pi_mem_advice) -> u32 {
    let pairs = [
        (PI_MEM_ADVICE_CUDA_SET_READ_MOSTLY, 1),
        (PI_MEM_ADVICE_CUDA_UNSET_READ_MOSTLY, 2),
        (PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION, 3),
        (PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION, 4),
        (PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY, 9),
        (PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY, 10),
        (PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY_HOST, 11),
        (PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY_HOST, 12),
        (PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION_HOST, 13),
        (PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION_HOST, 14),
        (PI_MEM_ADVICE_HIP_SET_COARSE_GRAINED, 15),
        (PI_MEM_ADVICE_HIP_UNSET_COARSE_GRAINED, 16),
    ];
    match pi {
        // `UR_USM_ADVICE_FLAG_DEFAULT`.
        PI_MEM_ADVICE_RESET => 1,
        pi => pairs
            .into_iter()
            .filter(|(flag, _)| pi & flag != 0)
            .fold(0, |all, (_, bit)| all | 1 << bit),
    }
}

/// Submits a fill with bytes that stay where they are.
fn filled(pattern: &[u8], submit: impl FnOnce(&[u8]) -> adapter::Result<Event>) -> Result<(Event, Used)> {
    let pattern: Box<[u8]> = pattern.into();
    let event = submit(&pattern)?;
    let used = Used {
        _pattern: Some(pattern),
        ..Used::default()
    };
    Ok((event, used))
}

impl UrQueue {
    pub(super) fn new(object: Owned<_ur_queue>, context: &Ref<UrContext>) -> UrQueue {
        UrQueue(Arc::new(Shared {
            object,
            running: Mutex::default(),
            _context: context.clone(),
        }))
    }

    /// What a command waits for, as the adapter wants it.
    fn order<'a>(&self, events: &'a [Ref<UrEvent>]) -> Result<Order<'a>> {
        let adapter = self.0.object.adapter();
        if !events.iter().all(|event| event.object().is_of(adapter)) {
            let message = "an event of another adapter of Unified Runtime cannot be waited for by a command";
            return Err(Error::new(PI_INVALID_CONTEXT, message));
        }
        Ok(Order::new(events.iter().map(|event| event.object())))
    }

    /// Submits a command: its event, and what it uses besides.
    fn submit(&self, command: &Command<UnifiedRuntime>, order: &Order<'_>) -> Result<(Event, Used)> {
        let queue = &self.0.object;
        let event = match command {
            Command::Launch { kernel, range } => return kernel.launch(queue, range, order),
            Command::Marker => queue.marker(order),
            Command::Barrier => queue.barrier(order),
            Command::ReadBuffer {
                buffer,
                offset,
                target,
            } => queue.transfer(&Transfer::Read(buffer.object(), *offset, target), order),
            Command::WriteBuffer {
                buffer,
                offset,
                source,
            } => queue.transfer(&Transfer::Write(source, buffer.object(), *offset), order),
            Command::CopyBuffer {
                source,
                source_offset,
                target,
                target_offset,
                size,
            } => {
                let (from, to) = (
                    (source.object(), *source_offset),
                    (target.object(), *target_offset),
                );
                queue.transfer(&Transfer::Copy(from, to, *size), order)
            }
            Command::ReadBufferRect { buffer, rect, target } => {
                queue.transfer(&Transfer::ReadRect(buffer.object(), target, rect), order)
            }
            Command::WriteBufferRect { buffer, rect, source } => {
                queue.transfer(&Transfer::WriteRect(source, buffer.object(), rect), order)
            }
            Command::CopyBufferRect { source, target, rect } => {
                queue.transfer(&Transfer::CopyRect(source.object(), target.object(), rect), order)
            }
            Command::FillBuffer {
                buffer,
                pattern,
                offset,
                size,
            } => {
                return filled(pattern, |pattern| {
                    queue.fill(buffer.object(), pattern, *offset, *size, order)
                });
            }
            Command::ReadImage {
                image,
                area,
                target,
                pitches,
            } => queue.transfer_image(image.object(), area, &HostSide::To(target), *pitches, order),
            Command::WriteImage {
                image,
                area,
                source,
                pitches,
            } => queue.transfer_image(image.object(), area, &HostSide::From(source), *pitches, order),
            Command::CopyImage {
                source,
                source_area,
                target,
                target_origin,
            } => queue.copy_image(
                (source.object(), source_area),
                (target.object(), target_origin),
                order,
            ),
            Command::FillImage { .. } => return Err(Error::unsupported("filling an image")),
            Command::Unmap { buffer, address } => queue.unmap(buffer.object(), *address, order),
            Command::FillUsm {
                address,
                pattern,
                size,
            } => return filled(pattern, |pattern| queue.fill_usm(*address, pattern, *size, order)),
            Command::CopyUsm { source, target, size } => queue.copy_usm(*source, *target, *size, order),
            Command::PrefetchUsm { address, size } => queue.prefetch_usm(*address, *size, order),
            Command::AdviseUsm {
                address,
                size,
                advice,
            } => {
                // A hint that an adapter does not take is no failure, and it may come early.
                if let Err(error) = queue.advise_usm(*address, *size, self::advice(*advice)) {
                    tracing::debug!(%error, "a hint is not taken");
                }
                queue.marker(order)
            }
            _ => return Err(Error::unsupported("this command")),
        };
        Ok((event?, Used::default()))
    }

    /// Keeps what a command uses until it is done, and gives its event to the host.
    fn give(&self, running: Running, event: NewEvent<'_, UnifiedRuntime>) -> Result<()> {
        let given = match event.is_wanted() {
            true => {
                let made = running.event.try_clone().map_err(Error::from);
                made.and_then(|made| event.create(|| UrEvent::new(made)).map(drop))
            }
            false => Ok(()),
        };
        // Also where the host gets no event: the command is under way, and uses what it uses.
        self.0.keep(running);
        given
    }
}

impl Drop for UrQueue {
    fn drop(&mut self) {
        if self.0.is_idle() {
            return;
        }
        // Whoever drops the queue, maybe a driver calling back, must not wait.
        let shared = self.0.clone();
        let waiting = thread::Builder::new()
            .name("offkit-ur".to_owned())
            .spawn(move || {
                if let Err(error) = shared.finish() {
                    tracing::error!(?error, "a queue that is not used any more");
                    // Nobody knows whether its commands still use what it keeps: it stays for good.
                    std::mem::forget(shared);
                }
            });
        if waiting.is_err() {
            // Without a thread to wait in, it stays for good.
            std::mem::forget(self.0.clone());
        }
    }
}

impl Queue<UnifiedRuntime> for UrQueue {
    fn enqueue(
        queue: &Ref<Self>,
        command: Command<UnifiedRuntime>,
        wait: &[Ref<UrEvent>],
        event: NewEvent<'_, UnifiedRuntime>,
    ) -> Result<()> {
        let (made, used) = queue.submit(&command, &queue.order(wait)?)?;
        let running = Running {
            event: made,
            _command: command,
            _used: used,
        };
        queue.give(running, event)
    }

    fn map(
        queue: &Ref<Self>,
        mapping: Mapping<UnifiedRuntime>,
        wait: &[Ref<UrEvent>],
        event: NewEvent<'_, UnifiedRuntime>,
    ) -> Result<usize> {
        let order = queue.order(wait)?;
        let Mapping {
            buffer,
            flags,
            offset,
            size,
        } = mapping;
        // The same bits.
        let mapped = queue
            .0
            .object
            .map(buffer.object(), flags as u32, offset, size, &order);
        let (address, made) = mapped?;
        let running = Running {
            event: made,
            // The buffer is all that has to be kept.
            _command: Command::Marker,
            _used: Used {
                memory: vec![buffer],
                ..Used::default()
            },
        };
        queue.give(running, event)?;
        Ok(address)
    }

    fn flush(&self) -> Result<()> {
        Ok(self.0.object.flush()?)
    }

    fn finish(&self) -> Result<()> {
        self.0.finish()
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.0.object.native()?)
    }
}
