//! Native handles: the objects of the driver below a plugin, for hosts that talk to the driver as well.
//!
//! Platforms and devices are there for good, so a native one is found among those that the plugin knows. Other objects
//! are made of a [`NativeHandle`]. Up to 2.3 a memory object and an event come without their context, and are refused.

use super::context::device_of;
use super::device::intern;
use super::shim::{array, give, non_null};
use super::state::{
    self, ContextDetails, ContextRecord, EventDetails, EventRecord, KernelDetails, KernelRecord,
};
use super::state::{DeviceRecord, MemoryDetails, MemoryRecord, ProgramDetails, ProgramRecord, QueueDetails};
use super::state::{QueueRecord, Registered};
use super::{Context, Device, Error, Event, Kernel, Memory, Platform, Plugin, Program, Queue, Result};
use crate::ffi::*;
use std::sync::Arc;

/// An object of the driver below the plugin that a host gives to it.
///
/// The host vouches for it: it is an object of that kind, of the driver of the devices that come with it, and it is
/// there. One that is owned is the plugin's to release; of any other the plugin takes a reference of its own.
#[derive(Debug)]
pub struct NativeHandle {
    handle: pi_native_handle,
    owned: bool,
}

impl NativeHandle {
    /// # Safety
    ///
    /// As above.
    unsafe fn new(handle: pi_native_handle, owned: bool) -> NativeHandle {
        NativeHandle { handle, owned }
    }

    /// The handle.
    pub fn handle(&self) -> pi_native_handle {
        self.handle
    }

    /// Whether the object is given away.
    pub fn is_owned(&self) -> bool {
        self.owned
    }
}

/// An object of a plugin that hosts count references to.
pub enum Counted<'a, P: Plugin> {
    /// A part of a device.
    Device(&'a Arc<P::Device>),
    /// A context.
    Context(&'a P::Context),
    /// A queue.
    Queue(&'a P::Queue),
    /// A memory object.
    Memory(&'a P::Memory),
    /// A sampler.
    Sampler(&'a P::Sampler),
    /// A program.
    Program(&'a P::Program),
    /// A kernel.
    Kernel(&'a P::Kernel),
    /// An event.
    Event(&'a P::Event),
}

/// Whether there is one reference more, or one less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// One more.
    Up,
    /// One less.
    Down,
}

/// A memory object of the driver below the plugin, and what the interface has to know of it.
pub struct NativeMemory<P: Plugin> {
    /// The object.
    pub memory: P::Memory,
    /// How it was made (`PI_MEM_FLAGS_*`).
    pub flags: pi_mem_flags,
    /// Size in bytes.
    pub size: usize,
}

macro_rules! handles_of {
    ($($function:ident: $handle:ident, $find:ident;)*) => {$(
        pub(super) unsafe fn $function<P: Registered>(
            handle: $handle,
            native_handle: *mut pi_native_handle,
        ) -> Result<()> {
            non_null(native_handle, "native_handle")?;
            let native = state::$find::<P>(handle)?.object().native_handle()?;
            // SAFETY: not null, so valid for writing.
            unsafe { native_handle.write(native) };
            Ok(())
        }
    )*};
}

handles_of! {
    piextPlatformGetNativeHandle: pi_platform, platform;
    piextDeviceGetNativeHandle: pi_device, device;
    piextContextGetNativeHandle: pi_context, context;
    piextQueueGetNativeHandle: pi_queue, queue;
    piextMemGetNativeHandle: pi_mem, memory;
    piextProgramGetNativeHandle: pi_program, program;
    piextKernelGetNativeHandle: pi_kernel, kernel;
    piextEventGetNativeHandle: pi_event, event;
}

/// With the kind of native object, of which there is one here.
pub(super) unsafe fn piextQueueGetNativeHandle_b<P: Registered>(
    queue: pi_queue,
    native_handle: *mut pi_native_handle,
    native_handle_desc: *mut i32,
) -> Result<()> {
    // SAFETY: the host passes what the first revision takes as that takes it.
    unsafe { piextQueueGetNativeHandle::<P>(queue, native_handle) }?;
    if !native_handle_desc.is_null() {
        // SAFETY: not null, so valid for writing.
        unsafe { native_handle_desc.write(0) };
    }
    Ok(())
}

pub(super) use piextQueueGetNativeHandle_b as piextQueueGetNativeHandle2;

/// With the device on which the memory is wanted, of which there is one form here.
pub(super) unsafe fn piextMemGetNativeHandle_b<P: Registered>(
    memory: pi_mem,
    _device: pi_device,
    native_handle: *mut pi_native_handle,
) -> Result<()> {
    // SAFETY: the host passes what the first revision takes as that takes it.
    unsafe { piextMemGetNativeHandle::<P>(memory, native_handle) }
}

pub(super) unsafe fn piextPlatformCreateWithNativeHandle<P: Registered>(
    native: pi_native_handle,
    platform: *mut pi_platform,
) -> Result<()> {
    non_null(platform, "platform")?;
    let is_it = |found: &Arc<P::Platform>| found.native_handle() == Ok(native);
    let unknown = || {
        Error::new(
            PI_INVALID_PLATFORM,
            "the native handle is of no platform of the plugin",
        )
    };
    let found = P::platforms()?.into_iter().find(is_it).ok_or_else(unknown)?;
    let record = P::state().platforms.intern(found, ())?;
    // SAFETY: not null, so valid for writing. Platforms are there for good.
    unsafe { platform.write(core::ptr::with_exposed_provenance_mut(record.handle())) };
    Ok(())
}

/// Hosts that do not know the platform pass null.
pub(super) unsafe fn piextDeviceCreateWithNativeHandle<P: Registered>(
    native: pi_native_handle,
    _platform: pi_platform,
    device: *mut pi_device,
) -> Result<()> {
    non_null(device, "device")?;
    for platform in P::platforms()? {
        let is_it = |found: &Arc<P::Device>| found.native_handle() == Ok(native);
        if let Some(found) = platform.devices()?.into_iter().find(is_it) {
            let platform = P::state().platforms.intern(platform, ())?;
            let record = intern::<P>(found, platform)?;
            // SAFETY: not null, so valid for writing. Devices are there for good.
            unsafe { device.write(core::ptr::with_exposed_provenance_mut(record.handle())) };
            return Ok(());
        }
    }
    Err(Error::new(
        PI_INVALID_DEVICE,
        "the native handle is of no device of the plugin",
    ))
}

unsafe fn context_of<P: Registered>(
    native: pi_native_handle,
    num_devices: pi_uint32,
    devices: *const pi_device,
    owned: bool,
) -> Result<ContextRecord<P>> {
    // SAFETY: the host passes `num_devices` handles.
    let handles = unsafe { array(devices, num_devices as usize, "devices") }?;
    let devices: Vec<DeviceRecord<P>> = handles
        .iter()
        .map(|handle| state::device::<P>(*handle))
        .collect::<Result<_>>()?;
    if devices.is_empty() {
        let message = "a context from a native handle needs its devices";
        return Err(Error::new(PI_INVALID_VALUE, message));
    }
    let objects: Vec<Arc<P::Device>> = devices.iter().map(|device| Arc::clone(device.object())).collect();
    // SAFETY: the host vouches for it.
    let native = unsafe { NativeHandle::new(native, owned) };
    let context = P::Context::from_native(native, &objects)?;
    state::insert(&P::state().contexts, context, ContextDetails::new(devices))
}

pub(super) unsafe fn piextContextCreateWithNativeHandle<P: Registered>(
    native: pi_native_handle,
    num_devices: pi_uint32,
    devices: *const pi_device,
) -> Result<ContextRecord<P>> {
    // SAFETY: the host passes devices as it says, and gives the native object away.
    unsafe { context_of(native, num_devices, devices, true) }
}

pub(super) unsafe fn piextContextCreateWithNativeHandle_b<P: Registered>(
    native: pi_native_handle,
    num_devices: pi_uint32,
    devices: *const pi_device,
    plugin_owns_native_handle: cxx_bool,
) -> Result<ContextRecord<P>> {
    // SAFETY: the host passes devices as it says, and says whether it gives the native object away.
    unsafe { context_of(native, num_devices, devices, plugin_owns_native_handle.into()) }
}

fn queue_of<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    device: pi_device,
    owned: bool,
) -> Result<QueueRecord<P>> {
    let context = state::context::<P>(context)?;
    // The first revisions do not say which device it is for, and a context of one leaves no choice.
    let device = match context.details().devices.as_slice() {
        _ if !device.is_null() => device_of(&context, device)?,
        [only] => only.clone(),
        _ => {
            let message = "a queue from a native handle needs its device in a context of several";
            return Err(Error::new(PI_INVALID_DEVICE, message));
        }
    };
    // SAFETY: the host vouches for it.
    let native = unsafe { NativeHandle::new(native, owned) };
    let (queue, properties) = P::Context::queue_from_native(context.object(), device.object(), native)?;
    let details = QueueDetails {
        context,
        device,
        properties,
    };
    state::insert(&P::state().queues, queue, details)
}

pub(super) fn piextQueueCreateWithNativeHandle<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
) -> Result<QueueRecord<P>> {
    queue_of(native, context, core::ptr::null_mut(), true)
}

pub(super) unsafe fn piextQueueCreateWithNativeHandle_b<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    queue: *mut pi_queue,
    plugin_owns_native_handle: cxx_bool,
) -> Result<()> {
    non_null(queue, "queue")?;
    let owned = plugin_owns_native_handle.into();
    let record = queue_of::<P>(native, context, core::ptr::null_mut(), owned)?;
    // SAFETY: not null, so valid for writing.
    unsafe { give(queue, record) };
    Ok(())
}

pub(super) fn piextQueueCreateWithNativeHandle_c<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    device: pi_device,
    plugin_owns_native_handle: cxx_bool,
) -> Result<QueueRecord<P>> {
    queue_of(native, context, device, plugin_owns_native_handle.into())
}

/// With the kind of native object, and properties, which the native object has already.
pub(super) fn piextQueueCreateWithNativeHandle_d<P: Registered>(
    native: pi_native_handle,
    _native_handle_desc: i32,
    context: pi_context,
    device: pi_device,
    plugin_owns_native_handle: cxx_bool,
    _properties: *mut pi_queue_properties,
) -> Result<QueueRecord<P>> {
    queue_of(native, context, device, plugin_owns_native_handle.into())
}

pub(super) use piextQueueCreateWithNativeHandle_d as piextQueueCreateWithNativeHandle2;

pub(super) fn piextMemCreateWithNativeHandle_b<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    own_native_handle: cxx_bool,
) -> Result<MemoryRecord<P>> {
    let context = state::context::<P>(context)?;
    // SAFETY: the host vouches for it.
    let native = unsafe { NativeHandle::new(native, own_native_handle.into()) };
    let NativeMemory { memory, flags, size } = P::Context::memory_from_native(context.object(), native)?;
    let details = MemoryDetails {
        context,
        flags,
        size,
        host_pointer: 0,
        parent: None,
        image: None,
    };
    state::insert(&P::state().memories, memory, details)
}

fn program_of<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    owned: bool,
) -> Result<ProgramRecord<P>> {
    let context = state::context::<P>(context)?;
    // SAFETY: the host vouches for it.
    let native = unsafe { NativeHandle::new(native, owned) };
    let program = P::Context::program_from_native(context.object(), native)?;
    state::insert(&P::state().programs, program, ProgramDetails::new(context))
}

pub(super) fn piextProgramCreateWithNativeHandle<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
) -> Result<ProgramRecord<P>> {
    program_of(native, context, true)
}

pub(super) fn piextProgramCreateWithNativeHandle_b<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    plugin_owns_native_handle: cxx_bool,
) -> Result<ProgramRecord<P>> {
    program_of(native, context, plugin_owns_native_handle.into())
}

/// Hosts that do not know the program pass null.
pub(super) fn piextKernelCreateWithNativeHandle<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    program: pi_program,
    plugin_owns_native_handle: cxx_bool,
) -> Result<KernelRecord<P>> {
    let context = state::context::<P>(context)?;
    // Looked for first: a kernel that is refused stays the host's.
    let program = match program.is_null() {
        true => None,
        false => Some(state::program::<P>(program)?),
    };
    if program
        .as_ref()
        .is_some_and(|program| program.details().context != context)
    {
        let message = "the kernel's program is of another context";
        return Err(Error::new(PI_INVALID_CONTEXT, message));
    }
    // SAFETY: the host vouches for it.
    let native = unsafe { NativeHandle::new(native, plugin_owns_native_handle.into()) };
    let (kernel, its_program) = P::Context::kernel_from_native(context.object(), native)?;
    // A host that has the program compares what a kernel says of it with the handle that it knows.
    let program = match program {
        Some(program) => program,
        None => state::insert(&P::state().programs, its_program, ProgramDetails::new(context))?,
    };
    state::insert(&P::state().kernels, kernel, KernelDetails { program })
}

pub(super) fn piextEventCreateWithNativeHandle_b<P: Registered>(
    native: pi_native_handle,
    context: pi_context,
    own_native_handle: cxx_bool,
) -> Result<EventRecord<P>> {
    let context = state::context::<P>(context)?;
    // SAFETY: the host vouches for it.
    let native = unsafe { NativeHandle::new(native, own_native_handle.into()) };
    let (event, command_type) = P::Context::event_from_native(context.object(), native)?;
    let details = EventDetails::Native(context, command_type);
    state::insert(&P::state().events, event, details)
}
