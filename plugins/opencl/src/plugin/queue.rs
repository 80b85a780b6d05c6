//! Queues.

use offkit_opencl::_cl_command_queue;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Command, Error, Mapping, NewEvent, Queue, Ref, Result};

use super::OpenCl;
use super::event::ClEvent;
use crate::cl::{Event, HostSide, Order, Owned, Transfer};

/// A queue of a driver, which keeps what its commands use.
pub(crate) struct ClQueue(Owned<_cl_command_queue>);

impl ClQueue {
    pub(super) fn new(object: Owned<_cl_command_queue>) -> ClQueue {
        ClQueue(object)
    }

    pub(super) fn object(&self) -> &Owned<_cl_command_queue> {
        &self.0
    }

    /// What a command waits for, as the driver wants it.
    fn order<'a>(&self, events: &'a [Ref<ClEvent>], event: &NewEvent<'_, OpenCl>) -> Result<Order<'a>> {
        // A driver follows the handles that it is given, also those of another driver.
        if !events.iter().all(|event| event.object().is_of(self.0.driver())) {
            let message = "an event of another OpenCL platform cannot be waited for by a command";
            return Err(Error::new(PI_INVALID_CONTEXT, message));
        }
        Ok(Order::new(
            events.iter().map(|event| event.object()),
            event.is_wanted(),
        ))
    }

    fn submit(&self, command: &Command<OpenCl>, order: &Order<'_>) -> Result<Option<Event>> {
        let queue = &self.0;
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
            } => queue.fill(buffer.object(), pattern, *offset, *size, order),
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
            Command::FillImage { image, color, area } => queue.fill_image(image.object(), color, area, order),
            Command::Unmap { buffer, address } => queue.unmap(buffer.object(), *address, order),
            Command::FillUsm {
                address,
                pattern,
                size,
            } => queue.fill_usm(*address, pattern, *size, order),
            Command::CopyUsm { source, target, size } => queue.copy_usm(*source, *target, *size, order),
            Command::PrefetchUsm { address, size } => queue.prefetch_usm(*address, *size, order),
            // What is said are CUDA's and HIP's hints, which OpenCL has no numbers for.
            Command::AdviseUsm { .. } => queue.marker(order),
            _ => return Err(Error::unsupported("this command")),
        };
        Ok(event?)
    }
}

/// Gives the event that the driver has made, if one was wanted, to the host.
fn give(event: NewEvent<'_, OpenCl>, made: Option<Event>) -> Result<()> {
    match made {
        Some(made) => event.create(|| ClEvent::new(made)).map(drop),
        None => Ok(()),
    }
}

impl Queue<OpenCl> for ClQueue {
    fn enqueue(
        queue: &Ref<Self>,
        command: Command<OpenCl>,
        wait: &[Ref<ClEvent>],
        event: NewEvent<'_, OpenCl>,
    ) -> Result<()> {
        let made = queue.submit(&command, &queue.order(wait, &event)?)?;
        give(event, made)
    }

    fn map(
        queue: &Ref<Self>,
        mapping: Mapping<OpenCl>,
        wait: &[Ref<ClEvent>],
        event: NewEvent<'_, OpenCl>,
    ) -> Result<usize> {
        let order = queue.order(wait, &event)?;
        let Mapping {
            buffer,
            flags,
            offset,
            size,
        } = mapping;
        // OpenCL's bits.
        let (address, made) = queue.0.map(buffer.object(), flags, offset, size, &order)?;
        give(event, made)?;
        Ok(address)
    }

    fn flush(&self) -> Result<()> {
        Ok(self.0.flush()?)
    }

    fn finish(&self) -> Result<()> {
        Ok(self.0.finish()?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.0.native())
    }
}
