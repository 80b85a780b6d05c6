//! Queues.

use super::command::{Command, Mapping};
use super::context::device_of;
use super::slab::{Ref, Slab};
use super::state::{self, EventDetails, EventRecord, QueueDetails, QueueRecord, Registered};
use super::{Context, Error, Info, Memory, Plugin, Result};
use crate::ffi::*;

/// Where commands for one device are submitted.
pub trait Queue<P: Plugin>: Sized + Send + Sync + 'static {
    /// Submits a command that starts after the events in `wait` are complete, and makes its event.
    ///
    /// Arguments of a kernel to launch are to be taken as they are now. A command that cannot be right is
    /// refused here; one that fails later fails its event.
    ///
    /// The events may be of other contexts. A plugin that cannot wait for those refuses them
    /// ([`PI_INVALID_CONTEXT`]).
    ///
    /// The command has references to all that it uses. The queue keeps it, and a reference to the event, until the
    /// command is done. The event has a reference to the queue: what drops the last event may drop the queue.
    ///
    /// # Errors
    ///
    /// [`Error`] if the command is refused.
    fn enqueue(
        queue: &Ref<Self>,
        command: Command<P>,
        wait: &[Ref<P::Event>],
        event: NewEvent<'_, P>,
    ) -> Result<()>;

    /// Submits the mapping of a range of a buffer, and returns where the host sees the range when that is done.
    ///
    /// Left out, it is a [`Command::Map`], to where [`Memory::map_address`](super::Memory::map_address) says: a driver
    /// below the plugin may know only when it is asked to map.
    ///
    /// # Errors
    ///
    /// [`Error`] if the command is refused.
    fn map(
        queue: &Ref<Self>,
        mapping: Mapping<P>,
        wait: &[Ref<P::Event>],
        event: NewEvent<'_, P>,
    ) -> Result<usize> {
        let Mapping {
            buffer,
            flags,
            offset,
            size,
        } = mapping;
        let address = buffer.map_address(offset, size)?;
        let command = Command::Map {
            buffer,
            flags,
            offset,
            size,
            address,
        };
        Self::enqueue(queue, command, wait, event)?;
        Ok(address)
    }

    /// Sees to it that all commands submitted so far are started without the host doing anything more.
    ///
    /// # Errors
    ///
    /// [`Error`] if that fails.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Waits until all commands submitted so far are done, failed or not.
    ///
    /// # Errors
    ///
    /// [`Error`] if waiting fails.
    fn finish(&self) -> Result<()>;

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

/// The event of a command that is being submitted, before it is made.
pub struct NewEvent<'s, P: Plugin> {
    pub(super) events: &'static Slab<P::Event, EventDetails<P>>,
    pub(super) queue: &'s QueueRecord<P>,
    pub(super) command_type: pi_command_type,
    pub(super) wanted: bool,
    pub(super) made: &'s mut Option<EventRecord<P>>,
}

impl<'s, P: Plugin> NewEvent<'s, P> {
    /// Whether anybody looks at the event when the command has been submitted. If not, one that is done by then needs
    /// none.
    pub fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Makes the event. Nobody else knows it before the command has been submitted.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no memory for it.
    #[inline]
    pub fn create(self, event: impl FnOnce() -> P::Event) -> Result<&'s Ref<P::Event>> {
        // Hosts may ask an event for its queue and context after they have released these.
        let details = EventDetails::Command(self.queue.clone(), self.command_type);
        let record = state::insert_with(self.events, event, details)?;
        Ok(self.made.insert(record).object())
    }
}

pub(super) fn piQueueCreate<P: Registered>(
    context: pi_context,
    device: pi_device,
    properties: pi_queue_properties,
) -> Result<QueueRecord<P>> {
    let context = state::context::<P>(context)?;
    // Also a part of one of the context's devices, as some drivers have it: the plugin decides.
    let device = device_of(&context, device)?;
    let queue = P::Context::create_queue(context.object(), device.object(), properties)?;
    let details = QueueDetails {
        context,
        device,
        properties,
    };
    state::insert(&P::state().queues, queue, details)
}

pub(super) fn piQueueGetInfo<P: Registered>(queue: pi_queue, name: pi_queue_info) -> Result<Info> {
    let queue = state::queue::<P>(queue)?;
    Ok(match name {
        PI_QUEUE_INFO_CONTEXT => queue.details().context.handle().into(),
        PI_QUEUE_INFO_DEVICE => queue.details().device.handle().into(),
        PI_QUEUE_INFO_REFERENCE_COUNT => queue.references().into(),
        PI_QUEUE_INFO_PROPERTIES => queue.details().properties.into(),
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) fn piQueueFinish<P: Registered>(queue: pi_queue) -> Result<()> {
    state::queue::<P>(queue)?.object().finish()
}

pub(super) fn piQueueFlush<P: Registered>(queue: pi_queue) -> Result<()> {
    state::queue::<P>(queue)?.object().flush()
}
