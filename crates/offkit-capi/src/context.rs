//! Contexts and queues.

use offkit_pi::host::{self, QueueProperties};

use crate::c::{In, New, Objects, Owned, Status, attempt, free, given, make, make_if_wanted, objects};
use crate::device::Device;
use crate::error::Failure;
use crate::event::{Event, events};

/// `offkit_context`.
pub(crate) struct Context(pub(crate) host::Context);

/// `offkit_queue`.
pub(crate) struct Queue(pub(crate) host::Queue);

/// `OFFKIT_QUEUE_OUT_OF_ORDER`.
const OUT_OF_ORDER: u32 = 1;
/// `OFFKIT_QUEUE_PROFILING`.
const PROFILING: u32 = 2;

#[unsafe(no_mangle)]
extern "C" fn offkit_context_create(
    devices: Objects<'_, Device>,
    count: usize,
    context: New<'_, Context>,
) -> Status {
    make(context, || {
        // SAFETY: the caller says how many there are.
        let devices = unsafe { objects(devices, count, "the devices") }?;
        let devices: Vec<_> = devices.into_iter().map(|device| &device.device).collect();
        Ok(Context(host::Context::new(&devices)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_context_free(context: Owned<Context>) {
    free(context);
}

#[unsafe(no_mangle)]
extern "C" fn offkit_queue_create(
    context: In<'_, Context>,
    device: In<'_, Device>,
    flags: u32,
    queue: New<'_, Queue>,
) -> Status {
    make(queue, || {
        // A program for a later release must not take a flag for granted that means nothing yet.
        if flags & !(OUT_OF_ORDER | PROFILING) != 0 {
            let message = format!("{flags:#x} are no flags of a queue: expected some of OFFKIT_QUEUE_...");
            return Err(Failure::invalid(message));
        }
        let properties = QueueProperties {
            out_of_order: flags & OUT_OF_ORDER != 0,
            profiling: flags & PROFILING != 0,
        };
        let (context, device) = (given(context, "the context")?, given(device, "the device")?);
        Ok(Queue(context.0.queue(&device.device, properties)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_queue_finish(queue: In<'_, Queue>) -> Status {
    attempt(|| Ok(given(queue, "the queue")?.0.finish()?))
}

#[unsafe(no_mangle)]
extern "C" fn offkit_queue_marker(
    queue: In<'_, Queue>,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make(event, || {
        let queue = given(queue, "the queue")?;
        // SAFETY: the caller says how many there are.
        let wait = unsafe { events(wait, wait_count)? };
        Ok(Event::new(queue.0.marker(&wait)?, "a marker"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_queue_barrier(
    queue: In<'_, Queue>,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make_if_wanted(event, || {
        let queue = given(queue, "the queue")?;
        // SAFETY: the caller says how many there are.
        let wait = unsafe { events(wait, wait_count)? };
        Ok(Event::new(queue.0.barrier(&wait)?, "a barrier"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_queue_free(queue: Owned<Queue>) {
    free(queue);
}
