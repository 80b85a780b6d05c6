//! Contexts, and what is created in them.

use super::device::Device;
use super::epochs::{Epoch, Epochs};
use super::event::{Event, UserEvent};
use super::handle::Owned;
use super::memory::{Buffer, Usm, UsmKind};
use super::plugin::{Plugin, call, create};
use super::program::Program;
use super::queue::{Queue, Shared};
use super::{PiError, Result};
use crate::ffi::*;
use crate::table::Function;
use offkit_sync::{Mutex, PoisonError};
use std::sync::{Arc, Weak};

/// Devices that share memory objects and programs.
#[derive(Clone, Debug)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Owned<pi_context>,
    devices: Vec<Device>,
    /// Addresses of USM allocations that commands may still use which may use any.
    freed: Epochs<usize>,
    /// The queues, some of which may be gone.
    queues: Mutex<Vec<Weak<Shared>>>,
}

/// A command that may use any USM allocation of its context: none that is there goes before this does.
#[derive(Debug)]
pub(crate) struct UseOfAny {
    context: Context,
    epoch: Epoch,
}

impl Inner {
    /// Frees a USM allocation of this context that no command uses.
    fn free(&self, address: usize) {
        // A number in the form of a pointer: nothing here follows what may be the device's alone.
        let address = core::ptr::without_provenance_mut(address);
        // SAFETY: commands that use it would have kept it, or its address among those that are yet to be freed.
        let freed = unsafe { call!(self.handle.plugin(), piextUSMFree(self.handle.raw(), address)) };
        if let Err(error) = freed {
            tracing::warn!(%error, "freeing a USM allocation failed");
        }
    }
}

impl Drop for UseOfAny {
    fn drop(&mut self) {
        let inner = &self.context.inner;
        inner.freed.end(self.epoch, |address| inner.free(address));
    }
}

/// How a queue works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueProperties {
    /// Commands may overtake each other; only wait lists and barriers order them.
    pub out_of_order: bool,
    /// Events know when their commands were queued, submitted, started and ended.
    pub profiling: bool,
}

impl Context {
    /// A context of devices of one plugin.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no device, or the plugin refuses them (devices of unlike platforms, for one).
    pub fn new(devices: &[&Device]) -> Result<Context> {
        let Some(first) = devices.first() else {
            return Err(PiError::refused(
                Function::piContextCreate,
                PI_INVALID_VALUE,
                "a context needs a device",
            ));
        };
        let plugin = first.plugin();
        for device in devices {
            plugin.check_same(device.plugin(), Function::piContextCreate, PI_INVALID_DEVICE)?;
        }
        let handles: Vec<pi_device> = devices.iter().map(|device| device.raw()).collect();
        // SAFETY: `handles` has as many devices as the count says; no properties and no callback are given.
        let handle = unsafe {
            create!(
                plugin,
                piContextCreate(
                    core::ptr::null(),
                    handles.len() as pi_uint32,
                    handles.as_ptr(),
                    None,
                    core::ptr::null_mut()
                )
            )
        }?;
        let devices = devices.iter().map(|device| (*device).clone()).collect();
        Ok(Context {
            inner: Arc::new(Inner {
                handle,
                devices,
                freed: Epochs::new(),
                queues: Mutex::default(),
            }),
        })
    }

    /// The handle, for calls that this type does not cover.
    pub fn raw(&self) -> pi_context {
        self.inner.handle.raw()
    }

    /// The plugin the context comes from.
    pub fn plugin(&self) -> &Plugin {
        self.inner.handle.plugin()
    }

    /// The devices the context was made of.
    pub fn devices(&self) -> &[Device] {
        &self.inner.devices
    }

    /// Whether a device is one of the context's, or a part of one.
    pub fn has(&self, device: &Device) -> bool {
        let mut wholes = core::iter::successors(Some(device), |device| device.whole());
        wholes.any(|device| self.devices().contains(device))
    }

    /// A queue for one of the context's devices, or for a part of one where the driver has that.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the device is none of the context's, or does not do what is asked.
    pub fn queue(&self, device: &Device, properties: QueueProperties) -> Result<Queue> {
        self.plugin()
            .check_same(device.plugin(), Function::piQueueCreate, PI_INVALID_DEVICE)?;
        let mut flags = 0;
        if properties.out_of_order {
            flags |= PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        }
        if properties.profiling {
            flags |= PI_QUEUE_PROFILING_ENABLE;
        }
        // SAFETY: both handles are valid, and the new one is nobody else's.
        let handle = unsafe {
            let queue = self.plugin().create_queue(self.raw(), device.raw(), flags)?;
            Owned::new(self.plugin().clone(), queue)
        };
        let queue = Queue::new(handle, self.clone(), device.clone());
        let mut queues = self.inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        // Otherwise a program that makes a queue for each task would let the list grow for ever.
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue.shared()));
        drop(queues);
        Ok(queue)
    }

    /// Begins a command that may use any USM allocation.
    pub(crate) fn use_of_any(&self) -> UseOfAny {
        UseOfAny {
            context: self.clone(),
            epoch: self.inner.freed.begin(),
        }
    }

    /// Frees a USM allocation that only commands use which may use any, when they are done.
    pub(crate) fn free(&self, address: usize) {
        if self.inner.freed.free(address, |address| self.inner.free(address)) {
            return;
        }
        // Perhaps it waits for commands that are done, of a queue that nobody has used since.
        for queue in self.queues() {
            queue.in_use.retire();
        }
    }

    fn queues(&self) -> Vec<Arc<Shared>> {
        // Out of the lock: what a queue lets go of may be memory, which comes here to be freed.
        let queues = self.inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter().filter_map(Weak::upgrade).collect()
    }

    /// Refuses something of another context.
    pub(crate) fn check_same(&self, other: &Context, function: Function, what: &str) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let message = format!("the {what} is of another context");
        Err(PiError::refused(function, PI_INVALID_CONTEXT, message))
    }

    /// A program in intermediate language (SPIR-V). It is yet to be compiled or built.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not take it.
    pub fn program_with_il(&self, il: &[u8]) -> Result<Program> {
        // SAFETY: `il` has as many bytes as the length says.
        let handle = unsafe {
            create!(
                self.plugin(),
                piProgramCreate(self.raw(), il.as_ptr().cast(), il.len())
            )
        }?;
        Ok(Program::new(handle, self.clone()))
    }

    /// A program in source text (OpenCL C). It is yet to be compiled or built.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not take it.
    pub fn program_with_source(&self, source: &str) -> Result<Program> {
        // To plugins, as to OpenCL, a text of length 0 is one that ends with a NUL.
        let start = match source {
            "" => c"".as_ptr(),
            source => source.as_ptr().cast(),
        };
        let (mut text, length) = (start, source.len());
        // SAFETY: one text, which has as many bytes as the length says, or none and a NUL.
        let handle = unsafe {
            create!(
                self.plugin(),
                piclProgramCreateWithSource(self.raw(), 1, &raw mut text, &raw const length)
            )
        }?;
        Ok(Program::new(handle, self.clone()))
    }

    /// A program in the machine code of one device.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not take it.
    pub fn program_with_binary(&self, device: &Device, binary: &[u8]) -> Result<Program> {
        let function = Function::piProgramCreateWithBinary;
        self.plugin()
            .check_same(device.plugin(), function, PI_INVALID_DEVICE)?;
        // SAFETY: both handles are valid, and the new one is nobody else's.
        let handle = unsafe {
            let program = self
                .plugin()
                .create_program_with_binary(self.raw(), device.raw(), binary, &[])?;
            Owned::new(self.plugin().clone(), program)
        };
        Ok(Program::new(handle, self.clone()))
    }

    /// Links compiled programs into one that kernels can be taken from.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the programs do not link; its message is the build log where the plugin has one.
    pub fn link(&self, programs: &[&Program], options: &str) -> Result<Program> {
        self.link_for(&[], programs, options)
    }

    /// The same for some devices of the context; none means all.
    ///
    /// # Errors
    ///
    /// As [`link`](Self::link).
    pub fn link_for(&self, devices: &[&Device], programs: &[&Program], options: &str) -> Result<Program> {
        Program::link(self, devices, programs, options)
    }

    /// A buffer of `size` bytes with undefined contents.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no memory for it, or the size is 0.
    pub fn buffer(&self, size: usize) -> Result<Buffer> {
        Buffer::create(self, PI_MEM_FLAGS_ACCESS_RW, size, core::ptr::null())
    }

    /// A buffer that starts as a copy of `data`.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no memory for it, or `data` is empty.
    pub fn buffer_from(&self, data: &[u8]) -> Result<Buffer> {
        let flags = PI_MEM_FLAGS_ACCESS_RW | PI_MEM_FLAGS_HOST_PTR_COPY;
        Buffer::create(self, flags, data.len(), data.as_ptr())
    }

    /// A USM allocation with undefined contents. `alignment` is in bytes, 0 for the device's choice.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the device has no USM of the kind, or there is no memory for it.
    pub fn usm(&self, kind: UsmKind, device: &Device, size: usize, alignment: u32) -> Result<Usm> {
        Usm::allocate(self, kind, device, size, alignment)
    }

    /// An event that commands can wait for and the host completes.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin has no such events.
    pub fn user_event(&self) -> Result<UserEvent> {
        // SAFETY: the context is valid, and the new handle is nobody else's.
        let handle = unsafe {
            let event = self.plugin().create_user_event(self.raw())?;
            Owned::new(self.plugin().clone(), event)
        };
        // It is of no queue: nothing is used until it is complete.
        Ok(UserEvent::new(Event::new(handle, Weak::new())))
    }
}

impl PartialEq for Context {
    /// Whether this is the same context, not one of the same devices.
    fn eq(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Context {}
