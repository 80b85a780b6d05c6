//! What the interface remembers about a plugin's objects.

use super::image::Image;
use super::slab::{Kind, Record, Refusal, Slab};
use super::{Count, Counted, Error, Plugin, Result, SamplerRequest};
use crate::ffi::*;
use offkit_sync::{Mutex, MutexGuard, PoisonError};
use std::collections::HashMap;
use std::sync::Arc;

/// A plugin that has a place for its state; implemented by [`define_plugin!`](crate::define_plugin).
pub trait Registered: Plugin {
    /// The plugin's objects that hosts know.
    fn state() -> &'static State<Self>;
}

/// The objects of a plugin that hosts know.
pub struct State<P: Plugin> {
    pub(crate) platforms: Lasting<P::Platform, ()>,
    pub(crate) devices: Lasting<P::Device, DeviceDetails<P>>,
    pub(crate) contexts: Slab<P::Context, ContextDetails<P>>,
    pub(crate) queues: Slab<P::Queue, QueueDetails<P>>,
    pub(crate) memories: Slab<P::Memory, MemoryDetails<P>>,
    pub(crate) samplers: Slab<P::Sampler, SamplerDetails<P>>,
    pub(crate) programs: Slab<P::Program, ProgramDetails<P>>,
    pub(crate) kernels: Slab<P::Kernel, KernelDetails<P>>,
    pub(crate) events: Slab<P::Event, EventDetails<P>>,
}

impl<P: Plugin> Default for State<P> {
    fn default() -> Self {
        State {
            platforms: Lasting::new(Kind::Platform),
            devices: Lasting::new(Kind::Device),
            contexts: Slab::new(Kind::Context),
            queues: Slab::new(Kind::Queue),
            memories: Slab::new(Kind::Memory),
            samplers: Slab::new(Kind::Sampler),
            programs: Slab::new(Kind::Program),
            kernels: Slab::new(Kind::Kernel),
            events: Slab::new(Kind::Event),
        }
    }
}

/// Objects that are there for good (but for parts of devices), and that the plugin makes before hosts know them.
pub(crate) struct Lasting<T: Send + Sync + 'static, D: Send + Sync + 'static> {
    slab: Slab<Arc<T>, D>,
    known: Mutex<Vec<Record<Arc<T>, D>>>,
}

impl<T: Send + Sync + 'static, D: Send + Sync + 'static> Lasting<T, D> {
    fn new(kind: Kind) -> Self {
        Lasting {
            slab: Slab::new(kind),
            known: Mutex::default(),
        }
    }

    /// The record of an object; made at the first call.
    pub(crate) fn intern(&'static self, object: Arc<T>, details: D) -> Result<Record<Arc<T>, D>> {
        // Held to the end: hosts compare handles, so of two threads that come with a new object one
        // makes its record and the other finds that.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = known.iter().find(|record| Arc::ptr_eq(record.object(), &object)) {
            return Ok(record.clone());
        }
        let record = insert(&self.slab, object, details)?;
        known.push(record.clone());
        Ok(record)
    }

    /// The record of an object that is not there for good.
    pub(crate) fn insert(&'static self, object: Arc<T>, details: D) -> Result<Record<Arc<T>, D>> {
        insert(&self.slab, object, details)
    }

    /// Adds a reference to an object that is not there for good.
    fn retain(&self, handle: usize) -> Result<(), Refusal> {
        self.slab.retain(handle)
    }

    /// Takes back a reference to an object that is not there for good.
    fn release(&self, handle: usize) -> Result<(), Refusal> {
        self.slab.release(handle)
    }

    fn retain_one(&self, handle: usize) -> Result<u32, Refusal> {
        self.slab.retain_one(handle)
    }

    fn release_one(&self, handle: usize) -> Result<u32, Refusal> {
        self.slab.release_one(handle)
    }

    fn get(&self, handle: usize) -> Result<Record<Arc<T>, D>, Refusal> {
        self.slab.get(handle)
    }

    fn holds(&self, handle: usize) -> bool {
        self.slab.holds(handle)
    }
}

/// Gives an object its slot, and so its handle.
pub(crate) fn insert<T, D>(slab: &'static Slab<T, D>, object: T, details: D) -> Result<Record<T, D>>
where
    T: Send + Sync + 'static,
    D: Send + Sync + 'static,
{
    insert_with(slab, || object, details)
}

/// As [`insert`], and makes the object where it is to be.
#[inline]
pub(crate) fn insert_with<T, D>(
    slab: &'static Slab<T, D>,
    object: impl FnOnce() -> T,
    details: D,
) -> Result<Record<T, D>>
where
    T: Send + Sync + 'static,
    D: Send + Sync + 'static,
{
    let none = || Error::new(PI_OUT_OF_HOST_MEMORY, "no memory for another object");
    slab.insert(object, details).ok_or_else(none)
}

pub(crate) type PlatformRecord<P> = Record<Arc<<P as Plugin>::Platform>, ()>;
pub(crate) type DeviceRecord<P> = Record<Arc<<P as Plugin>::Device>, DeviceDetails<P>>;
pub(crate) type ContextRecord<P> = Record<<P as Plugin>::Context, ContextDetails<P>>;
pub(crate) type QueueRecord<P> = Record<<P as Plugin>::Queue, QueueDetails<P>>;
pub(crate) type MemoryRecord<P> = Record<<P as Plugin>::Memory, MemoryDetails<P>>;
pub(crate) type SamplerRecord<P> = Record<<P as Plugin>::Sampler, SamplerDetails<P>>;
pub(crate) type ProgramRecord<P> = Record<<P as Plugin>::Program, ProgramDetails<P>>;
pub(crate) type KernelRecord<P> = Record<<P as Plugin>::Kernel, KernelDetails<P>>;
pub(crate) type EventRecord<P> = Record<<P as Plugin>::Event, EventDetails<P>>;

/// What a device is of.
pub(crate) struct DeviceDetails<P: Plugin> {
    pub(crate) platform: PlatformRecord<P>,
    /// For a part of a device, the device: it is counted then.
    pub(crate) parent: Option<DeviceRecord<P>>,
}

/// What a context was made from.
pub(crate) struct ContextDetails<P: Plugin> {
    pub(crate) devices: Vec<DeviceRecord<P>>,
    /// Parts of these that allocations were made for, by the addresses of the allocations.
    parts: Mutex<HashMap<usize, DeviceRecord<P>>>,
}

impl<P: Plugin> ContextDetails<P> {
    pub(crate) fn new(devices: Vec<DeviceRecord<P>>) -> Self {
        ContextDetails {
            devices,
            parts: Mutex::default(),
        }
    }

    /// Parts of the devices that allocations were made for, by their addresses.
    pub(crate) fn parts(&self) -> MutexGuard<'_, HashMap<usize, DeviceRecord<P>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a queue was made from.
pub(crate) struct QueueDetails<P: Plugin> {
    pub(crate) context: ContextRecord<P>,
    pub(crate) device: DeviceRecord<P>,
    pub(crate) properties: pi_queue_properties,
}

/// What a buffer was made from.
pub(crate) struct MemoryDetails<P: Plugin> {
    pub(crate) context: ContextRecord<P>,
    pub(crate) flags: pi_mem_flags,
    pub(crate) size: usize,
    /// As given, with the flag to use it.
    pub(crate) host_pointer: usize,
    /// For a part of a buffer, the buffer and the offset; for an image in the memory of another object, that.
    pub(crate) parent: Option<(MemoryRecord<P>, usize)>,
    /// For an image, what it is.
    pub(crate) image: Option<Image>,
}

/// What a sampler was made from.
pub(crate) struct SamplerDetails<P: Plugin> {
    pub(crate) context: ContextRecord<P>,
    pub(crate) request: SamplerRequest,
}

/// What a program was made from.
pub(crate) struct ProgramDetails<P: Plugin> {
    pub(crate) context: ContextRecord<P>,
    /// The devices it is for: all of the context's, or fewer of them.
    pub(crate) devices: Vec<DeviceRecord<P>>,
}

impl<P: Plugin> ProgramDetails<P> {
    /// Of a program for all devices of its context.
    pub(crate) fn new(context: ContextRecord<P>) -> Self {
        let devices = context.details().devices.clone();
        ProgramDetails { context, devices }
    }
}

/// What a kernel was made from.
pub(crate) struct KernelDetails<P: Plugin> {
    pub(crate) program: ProgramRecord<P>,
}

/// What an event stands for.
pub(crate) enum EventDetails<P: Plugin> {
    /// A command of that type, in a queue.
    Command(QueueRecord<P>, pi_command_type),
    /// Something of the host's own, in a context.
    Host(ContextRecord<P>),
    /// A command of that type that the host has submitted to the driver itself, to a queue that is not known here.
    Native(ContextRecord<P>, pi_command_type),
}

impl<P: Plugin> EventDetails<P> {
    pub(crate) fn command_type(&self) -> pi_command_type {
        match self {
            EventDetails::Command(_, command_type) | EventDetails::Native(_, command_type) => *command_type,
            EventDetails::Host(_) => PI_COMMAND_TYPE_USER,
        }
    }

    pub(crate) fn queue(&self) -> Option<&QueueRecord<P>> {
        match self {
            EventDetails::Command(queue, _) => Some(queue),
            EventDetails::Host(_) | EventDetails::Native(..) => None,
        }
    }

    pub(crate) fn context(&self) -> &ContextRecord<P> {
        match self {
            EventDetails::Command(queue, _) => &queue.details().context,
            EventDetails::Host(context) | EventDetails::Native(context, _) => context,
        }
    }
}

/// The error of a handle that there is no object for. It says what the handle is instead.
#[cold]
pub(super) fn refused<P: Registered>(code: pi_result, what: &str, handle: usize, refusal: Refusal) -> Error {
    let state = P::state();
    let message = match refusal {
        Refusal::Released => format!("{what} that has been released"),
        Refusal::Foreign if handle == 0 => format!("a null handle, not {what}"),
        Refusal::Foreign => {
            // All slabs are looked through, which only a call that fails has to pay for.
            let kinds = [
                (state.platforms.holds(handle), "a platform"),
                (state.devices.holds(handle), "a device"),
                (state.contexts.holds(handle), "a context"),
                (state.queues.holds(handle), "a queue"),
                (state.memories.holds(handle), "a memory object"),
                (state.samplers.holds(handle), "a sampler"),
                (state.programs.holds(handle), "a program"),
                (state.kernels.holds(handle), "a kernel"),
                (state.events.holds(handle), "an event"),
            ];
            match kinds.iter().find(|(holds, _)| *holds) {
                Some((_, other)) => format!("{other}, not {what}"),
                None => format!("not {what} of plugin {}", P::NAME),
            }
        }
    };
    Error::new(code, message)
}

/// Makes the functions that find, retain and release a kind of object. Platforms are not counted; of devices, parts are.
macro_rules! handles {
    ($($function:ident: $handle:ident, $slab:ident, $record:ident, $invalid:ident, $what:literal
        $(, $kind:ident, $retain:ident, $release:ident)?;)*) => {$(
        #[doc = concat!("The record of ", $what, ".")]
        pub(crate) fn $function<P: Registered>(handle: $handle) -> Result<$record<P>> {
            let found = P::state().$slab.get(handle.addr());
            found.map_err(|refusal| refused::<P>($invalid, $what, handle.addr(), refusal))
        }

        $(
            pub(super) fn $retain<P: Registered>(handle: $handle) -> Result<()> {
                let refused = |refusal| refused::<P>($invalid, $what, handle.addr(), refusal);
                if !P::COUNTS_ALONG {
                    return P::state().$slab.retain(handle.addr()).map_err(refused);
                }
                // What is below first: where it cannot be counted, the host gets no reference, and another thread that
                // releases this one counts down what has been counted up.
                let record = $function::<P>(handle)?;
                let below = || Counted::$kind(&**record.object());
                P::count_along(below(), Count::Up)?;
                let before = P::state().$slab.retain_one(handle.addr());
                if !matches!(before, Ok(1..)) {
                    // The host's first reference is the one that the object was made with: it had let go of that, and has
                    // found the object again by a query.
                    P::count_along(below(), Count::Down)?;
                }
                before.map(drop).map_err(refused)
            }

            pub(super) fn $release<P: Registered>(handle: $handle) -> Result<()> {
                let refused = |refusal| refused::<P>($invalid, $what, handle.addr(), refusal);
                if !P::COUNTS_ALONG {
                    return P::state().$slab.release(handle.addr()).map_err(refused);
                }
                // Keeps the object until what is below is counted, whoever else releases it.
                let record = $function::<P>(handle)?;
                match P::state().$slab.release_one(handle.addr()).map_err(refused)? {
                    // This was the reference that the object was made with.
                    0 => Ok(()),
                    _ => P::count_along(Counted::$kind(&**record.object()), Count::Down),
                }
            }
        )?
    )*};
}

handles! {
    platform: pi_platform, platforms, PlatformRecord, PI_INVALID_PLATFORM, "a platform";
    device: pi_device, devices, DeviceRecord, PI_INVALID_DEVICE, "a device", Device, retain_part, release_part;
    context: pi_context, contexts, ContextRecord, PI_INVALID_CONTEXT, "a context", Context, piContextRetain, piContextRelease;
    queue: pi_queue, queues, QueueRecord, PI_INVALID_QUEUE, "a queue", Queue, piQueueRetain, piQueueRelease;
    memory: pi_mem, memories, MemoryRecord, PI_INVALID_MEM_OBJECT, "a memory object", Memory, piMemRetain, piMemRelease;
    sampler: pi_sampler, samplers, SamplerRecord, PI_INVALID_SAMPLER, "a sampler", Sampler, piSamplerRetain, piSamplerRelease;
    program: pi_program, programs, ProgramRecord, PI_INVALID_PROGRAM, "a program", Program, piProgramRetain, piProgramRelease;
    kernel: pi_kernel, kernels, KernelRecord, PI_INVALID_KERNEL, "a kernel", Kernel, piKernelRetain, piKernelRelease;
    event: pi_event, events, EventRecord, PI_INVALID_EVENT, "an event", Event, piEventRetain, piEventRelease;
}
