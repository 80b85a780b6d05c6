//! What the interface remembers about a plugin's objects.

use super::registry::{Record, Table};
use super::{Error, Plugin, Result};
use crate::ffi::*;
use std::sync::Arc;

/// A plugin that has a place for its state; implemented by [`define_plugin!`](crate::define_plugin).
pub trait Registered: Plugin {
    /// The plugin's objects that hosts know.
    fn state() -> &'static State<Self>;
}

/// The objects of a plugin that hosts know, by handle.
pub struct State<P: Plugin> {
    pub(crate) platforms: Table<P::Platform, ()>,
    pub(crate) devices: Table<P::Device, Arc<PlatformRecord<P>>>,
    pub(crate) contexts: Table<P::Context, ContextDetails<P>>,
    pub(crate) queues: Table<P::Queue, QueueDetails<P>>,
    pub(crate) memories: Table<P::Memory, MemoryDetails<P>>,
    pub(crate) programs: Table<P::Program, ProgramDetails<P>>,
    pub(crate) kernels: Table<P::Kernel, KernelDetails<P>>,
    pub(crate) events: Table<P::Event, EventDetails<P>>,
}

impl<P: Plugin> Default for State<P> {
    fn default() -> Self {
        State {
            platforms: Table::default(),
            devices: Table::default(),
            contexts: Table::default(),
            queues: Table::default(),
            memories: Table::default(),
            programs: Table::default(),
            kernels: Table::default(),
            events: Table::default(),
        }
    }
}

pub(crate) type PlatformRecord<P> = Record<<P as Plugin>::Platform, ()>;
pub(crate) type DeviceRecord<P> = Record<<P as Plugin>::Device, Arc<PlatformRecord<P>>>;
pub(crate) type ContextRecord<P> = Record<<P as Plugin>::Context, ContextDetails<P>>;
pub(crate) type QueueRecord<P> = Record<<P as Plugin>::Queue, QueueDetails<P>>;
pub(crate) type MemoryRecord<P> = Record<<P as Plugin>::Memory, MemoryDetails<P>>;
pub(crate) type ProgramRecord<P> = Record<<P as Plugin>::Program, ProgramDetails<P>>;
pub(crate) type KernelRecord<P> = Record<<P as Plugin>::Kernel, KernelDetails<P>>;
pub(crate) type EventRecord<P> = Record<<P as Plugin>::Event, EventDetails<P>>;

/// What a context was made from.
pub(crate) struct ContextDetails<P: Plugin> {
    pub(crate) devices: Vec<Arc<DeviceRecord<P>>>,
}

/// What a queue was made from.
pub(crate) struct QueueDetails<P: Plugin> {
    pub(crate) context: Arc<ContextRecord<P>>,
    pub(crate) device: Arc<DeviceRecord<P>>,
    pub(crate) properties: pi_queue_properties,
}

/// What a buffer was made from.
pub(crate) struct MemoryDetails<P: Plugin> {
    pub(crate) context: Arc<ContextRecord<P>>,
    pub(crate) flags: pi_mem_flags,
    pub(crate) size: usize,
    /// As given, with the flag to use it.
    pub(crate) host_pointer: usize,
    /// For a part of a buffer, the buffer and the offset.
    pub(crate) parent: Option<(Arc<MemoryRecord<P>>, usize)>,
}

/// What a program was made from.
pub(crate) struct ProgramDetails<P: Plugin> {
    pub(crate) context: Arc<ContextRecord<P>>,
}

/// What a kernel was made from.
pub(crate) struct KernelDetails<P: Plugin> {
    pub(crate) program: Arc<ProgramRecord<P>>,
}

/// What an event stands for.
pub(crate) struct EventDetails<P: Plugin> {
    pub(crate) context: Arc<ContextRecord<P>>,
    /// `None` for an event of the host's own.
    pub(crate) queue: Option<Arc<QueueRecord<P>>>,
    pub(crate) command_type: pi_command_type,
}

/// Makes the functions that find, retain and release a kind of object. Platforms and devices are not counted.
macro_rules! handles {
    ($($function:ident: $handle:ident, $table:ident, $record:ident, $invalid:ident, $what:literal
        $(, $retain:ident, $release:ident)?;)*) => {$(
        #[doc = concat!("The record of a ", $what, ".")]
        pub(crate) fn $function<P: Registered>(handle: $handle) -> Result<Arc<$record<P>>> {
            let found = P::state().$table.get(handle.addr());
            found.ok_or_else(|| Error::new($invalid, concat!("not a ", $what, ", or released")))
        }

        $(
            pub(super) fn $retain<P: Registered>(handle: $handle) -> Result<()> {
                let known = P::state().$table.retain(handle.addr());
                let error = || Error::new($invalid, concat!("not a ", $what, ", or released"));
                if known { Ok(()) } else { Err(error()) }
            }

            pub(super) fn $release<P: Registered>(handle: $handle) -> Result<()> {
                let known = P::state().$table.release(handle.addr());
                let error = || Error::new($invalid, concat!("not a ", $what, ", or released already"));
                if known { Ok(()) } else { Err(error()) }
            }
        )?
    )*};
}

handles! {
    platform: pi_platform, platforms, PlatformRecord, PI_INVALID_PLATFORM, "platform";
    device: pi_device, devices, DeviceRecord, PI_INVALID_DEVICE, "device";
    context: pi_context, contexts, ContextRecord, PI_INVALID_CONTEXT, "context", piContextRetain, piContextRelease;
    queue: pi_queue, queues, QueueRecord, PI_INVALID_QUEUE, "queue", piQueueRetain, piQueueRelease;
    memory: pi_mem, memories, MemoryRecord, PI_INVALID_MEM_OBJECT, "memory object", piMemRetain, piMemRelease;
    program: pi_program, programs, ProgramRecord, PI_INVALID_PROGRAM, "program", piProgramRetain, piProgramRelease;
    kernel: pi_kernel, kernels, KernelRecord, PI_INVALID_KERNEL, "kernel", piKernelRetain, piKernelRelease;
    event: pi_event, events, EventRecord, PI_INVALID_EVENT, "event", piEventRetain, piEventRelease;
}
