//! The objects that callers know, and their handles.
//!
//! They live in typed slabs: what a caller passes is looked up, never followed, so that a handle that is null, released,
//! or of another kind gets an error code.

use crate::c::Out;
use crate::context::Context;
use crate::device::Device;
use crate::entry::TABLE;
use crate::event::Event;
use crate::failure::{Failure, Result};
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::platform::Platform;
use crate::program::Program;
use crate::queue::Queue;
use cl::*;
use offkit_pi::plugin::slab::{Kind, Record, Slab};
use offkit_sync::{LazyLock, Ordering};

/// A reference to an object.
pub(crate) type Object<T> = Record<T, ()>;

/// All objects that callers know.
struct Objects {
    platforms: Slab<Platform, ()>,
    devices: Slab<Device, ()>,
    contexts: Slab<Context, ()>,
    queues: Slab<Queue, ()>,
    memories: Slab<Memory, ()>,
    programs: Slab<Program, ()>,
    kernels: Slab<Kernel, ()>,
    events: Slab<Event, ()>,
}

// Lazy, since the address of the table is a number only when the program runs.
static OBJECTS: LazyLock<Objects> = LazyLock::new(|| Objects {
    platforms: slab(Kind::Platform),
    devices: slab(Kind::Device),
    contexts: slab(Kind::Context),
    queues: slab(Kind::Queue),
    memories: slab(Kind::Memory),
    programs: slab(Kind::Program),
    kernels: slab(Kind::Kernel),
    events: slab(Kind::Event),
});

fn slab<T: Send + Sync + 'static>(kind: Kind) -> Slab<T, ()> {
    Slab::with_dispatch(kind, (&raw const TABLE).expose_provenance())
}

/// Has all handles, those to come too, point to what a loader has put behind its table.
pub(crate) fn set_loader_word(word: usize) {
    // Taken apart, so that the compiler refuses a new slab that is forgotten here.
    let Objects {
        platforms,
        devices,
        contexts,
        queues,
        memories,
        programs,
        kernels,
        events,
    } = &*OBJECTS;
    platforms.set_loader_word(word);
    devices.set_loader_word(word);
    contexts.set_loader_word(word);
    queues.set_loader_word(word);
    memories.set_loader_word(word);
    programs.set_loader_word(word);
    kernels.set_loader_word(word);
    events.set_loader_word(word);
}

/// A kind of object that callers have handles of.
pub(crate) trait Handled: Sized + Send + Sync + 'static {
    /// What the handle points to, for C.
    type C: 'static;
    /// The error of a handle that there is no object for.
    const INVALID: cl_int;

    fn slab() -> &'static Slab<Self, ()>;

    /// Gives an object a handle.
    fn insert(self) -> Result<Object<Self>> {
        Self::slab()
            .insert(|| self, ())
            .ok_or(Failure(CL_OUT_OF_HOST_MEMORY))
    }

    /// Makes an object, and gives the caller its handle.
    fn create(self) -> Result<*mut Self::C> {
        let object = self.insert()?;
        object.object().named(object.handle());
        Ok(object.give())
    }

    /// Told the handle before the caller is, for objects that need it when they are dropped.
    fn named(&self, _handle: usize) {}

    /// The object of a handle.
    fn of(handle: Out<Self::C>) -> Result<Object<Self>> {
        Self::slab()
            .get(handle.addr())
            .map_err(|_| Failure(Self::INVALID))
    }

    fn retain(handle: Out<Self::C>) -> Result<()> {
        Self::slab()
            .retain(handle.addr())
            .map_err(|_| Failure(Self::INVALID))
    }

    fn release(handle: Out<Self::C>) -> Result<()> {
        Self::slab()
            .release(handle.addr())
            .map_err(|_| Failure(Self::INVALID))
    }
}

macro_rules! handled {
    ($($type:ident: $slab:ident, $c:ident, $invalid:ident $(, $name:ident)?;)*) => {$(
        impl Handled for $type {
            type C = $c;
            const INVALID: cl_int = $invalid;

            fn slab() -> &'static Slab<Self, ()> {
                &OBJECTS.$slab
            }
            $(
                fn named(&self, handle: usize) {
                    self.$name.store(handle, Ordering::Relaxed);
                }
            )?
        }
    )*};
}

handled! {
    Platform: platforms, _cl_platform_id, CL_INVALID_PLATFORM;
    Device: devices, _cl_device_id, CL_INVALID_DEVICE;
    Context: contexts, _cl_context, CL_INVALID_CONTEXT, name;
    Queue: queues, _cl_command_queue, CL_INVALID_COMMAND_QUEUE;
    Memory: memories, _cl_mem, CL_INVALID_MEM_OBJECT, name;
    Program: programs, _cl_program, CL_INVALID_PROGRAM;
    Kernel: kernels, _cl_kernel, CL_INVALID_KERNEL;
    Event: events, _cl_event, CL_INVALID_EVENT;
}

/// The handle of an object.
pub(crate) trait Handle<T: Handled> {
    /// The handle, for answers.
    fn c(&self) -> *mut T::C;

    /// The handle, with the reference, which is the caller's from now on.
    fn give(self) -> *mut T::C;
}

impl<T: Handled> Handle<T> for Object<T> {
    fn c(&self) -> *mut T::C {
        core::ptr::with_exposed_provenance_mut(self.handle())
    }

    fn give(self) -> *mut T::C {
        core::ptr::with_exposed_provenance_mut(self.hand_out())
    }
}
