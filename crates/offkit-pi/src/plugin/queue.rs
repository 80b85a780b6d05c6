//! Queues.

use super::command::Command;
use super::context::device_of;
use super::error::guard;
use super::info::answer;
use super::shim::{give, non_null, references};
use super::state::{self, QueueDetails, Registered};
use super::{Context, Error, Plugin, Result};
use crate::ffi::*;
use crate::table::Function;
use core::ffi::c_void;
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

pub(super) unsafe extern "C" fn create<P: Registered>(
    context: pi_context,
    device: pi_device,
    properties: pi_queue_properties,
    ret_queue: *mut pi_queue,
) -> pi_result {
    guard(Function::piQueueCreate, || {
        non_null(ret_queue, "queue")?;
        let context = state::context::<P>(context)?;
        let device = device_of(&context, device)?;
        let queue = Arc::new(context.object.create_queue(&device.object, properties)?);
        let record = P::state().queues.insert(
            queue,
            QueueDetails {
                context,
                device,
                properties,
            },
        );
        // SAFETY: not null, so valid for writing.
        unsafe { give(ret_queue, &record) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn info<P: Registered>(
    queue: pi_queue,
    name: pi_queue_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> pi_result {
    guard(Function::piQueueGetInfo, || {
        let queue = state::queue::<P>(queue)?;
        let info = match name {
            PI_QUEUE_INFO_CONTEXT => queue.details.context.handle().into(),
            PI_QUEUE_INFO_DEVICE => queue.details.device.handle().into(),
            PI_QUEUE_INFO_REFERENCE_COUNT => queue.references().into(),
            PI_QUEUE_INFO_PROPERTIES => queue.details.properties.into(),
            name => return Err(Error::unknown_query(name)),
        };
        // SAFETY: the host passes a destination of `size` bytes, or null.
        unsafe { answer(info, size, value, size_ret) }
    })
}

pub(super) unsafe extern "C" fn finish<P: Registered>(queue: pi_queue) -> pi_result {
    guard(Function::piQueueFinish, || {
        state::queue::<P>(queue)?.object.finish()
    })
}

references!(
    pi_queue,
    queues,
    piQueueRetain,
    piQueueRelease,
    PI_INVALID_QUEUE,
    "queue"
);
