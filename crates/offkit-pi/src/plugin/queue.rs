//! Queues.

use super::command::Command;
use super::context::device_of;
use super::state::{self, QueueDetails, QueueRecord, Registered};
use super::{Context, Error, Info, Plugin, Result};
use crate::ffi::*;
use std::sync::Arc;

/// Where commands for one device are submitted.
pub trait Queue<P: Plugin>: Send + Sync + 'static {
    /// Submits a command that starts after the events in `wait` are complete, and returns its event.
    ///
    /// Arguments of a kernel to launch are to be taken as they are now. A command that cannot be right is
    /// refused here; one that fails later fails its event.
    ///
    /// # Errors
    ///
    /// [`Error`] if the command is refused.
    fn enqueue(self: &Arc<Self>, command: Command<P>, wait: &[Arc<P::Event>]) -> Result<Arc<P::Event>>;

    /// Waits until all commands submitted so far are done, failed or not.
    ///
    /// # Errors
    ///
    /// [`Error`] if waiting fails.
    fn finish(&self) -> Result<()>;
}

pub(super) fn piQueueCreate<P: Registered>(
    context: pi_context,
    device: pi_device,
    properties: pi_queue_properties,
) -> Result<Arc<QueueRecord<P>>> {
    let context = state::context::<P>(context)?;
    let device = device_of(&context, device)?;
    let queue = Arc::new(context.object.create_queue(&device.object, properties)?);
    Ok(P::state().queues.insert(
        queue,
        QueueDetails {
            context,
            device,
            properties,
        },
    ))
}

pub(super) fn piQueueGetInfo<P: Registered>(queue: pi_queue, name: pi_queue_info) -> Result<Info> {
    let queue = state::queue::<P>(queue)?;
    Ok(match name {
        PI_QUEUE_INFO_CONTEXT => queue.details.context.handle().into(),
        PI_QUEUE_INFO_DEVICE => queue.details.device.handle().into(),
        PI_QUEUE_INFO_REFERENCE_COUNT => queue.references().into(),
        PI_QUEUE_INFO_PROPERTIES => queue.details.properties.into(),
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) fn piQueueFinish<P: Registered>(queue: pi_queue) -> Result<()> {
    state::queue::<P>(queue)?.object.finish()
}
