//! Contexts.

use crate::answer::Place;
use crate::c::{Callback, ErrorNotify, In, Out};
use crate::device::Device;
use crate::event::drop_behind;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::pi::pi;
use crate::platform::{Platform, of_type, platform_or_default};
use cl::*;
use core::ffi::c_void;
use offkit_pi::host;
use offkit_sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};
use std::collections::HashMap;

/// What the caller has said of a USM allocation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) flags: cl_mem_alloc_flags_intel,
    /// That it begins on no device in particular.
    pub(crate) no_device: bool,
}

/// A context.
pub(crate) struct Context {
    pub(crate) pi: host::Context,
    pub(crate) devices: Vec<Object<Device>>,
    properties: Vec<cl_context_properties>,
    /// Told what goes wrong.
    pub(crate) notify: Option<ErrorNotify>,
    /// Called when the context is gone, the last one first.
    destructors: Mutex<Vec<Callback<_cl_context>>>,
    /// The handle, which they are called with.
    pub(crate) name: AtomicUsize,
    // Numbers and no references: a queue keeps its context, and each would keep the other for good.
    /// Its queues, by the plugin's handles; one that the caller has released stays until its commands are over.
    queues: Mutex<Vec<usize>>,
    /// What the plugin does not know of USM allocations, by address; most have nothing.
    allocations: Mutex<HashMap<usize, Said>>,
}

impl Context {
    fn new(
        devices: Vec<Object<Device>>,
        properties: Vec<cl_context_properties>,
        notify: Option<ErrorNotify>,
    ) -> Result<Context> {
        let pi: Vec<&host::Device> = devices.iter().map(|device| &device.object().pi).collect();
        Ok(Context {
            pi: host::Context::new(&pi)?,
            devices,
            properties,
            notify,
            destructors: Mutex::default(),
            name: AtomicUsize::new(0),
            queues: Mutex::default(),
            allocations: Mutex::default(),
        })
    }

    pub(crate) fn plugin(&self) -> &host::Plugin {
        self.pi.plugin()
    }

    /// The device that the context is made of, if a handle is that of one.
    pub(crate) fn device(&self, handle: Out<_cl_device_id>) -> Result<&Object<Device>> {
        Device::of(handle)?;
        let device = self
            .devices
            .iter()
            .find(|device| device.handle() == handle.addr());
        device.ok_or(Failure(CL_INVALID_DEVICE))
    }

    /// The devices of such a list, each once.
    pub(crate) fn chosen(&self, count: cl_uint, list: In<cl_device_id>) -> Result<Vec<Object<Device>>> {
        chosen(&self.devices, count, list)
    }

    pub(crate) fn queues(&self) -> MutexGuard<'_, Vec<usize>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn allocations(&self) -> MutexGuard<'_, HashMap<usize, Said>> {
        self.allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all commands of the context.
    pub(crate) fn finish(&self) -> Result<()> {
        // Not while they are locked: others may make and release queues meanwhile.
        let queues = self.queues().clone();
        for queue in queues {
            // One that is gone meanwhile has no commands that anybody may wait for.
            let queue = core::ptr::with_exposed_provenance_mut(queue);
            match pi!(self.plugin(), piQueueFinish(queue)) {
                Err(Failure(CL_INVALID_COMMAND_QUEUE)) => {}
                finished => finished?,
            }
        }
        Ok(())
    }

    /// Has something dropped when all commands that the context has now are over.
    pub(crate) fn drop_behind_commands<T: Send + Sync + 'static>(&self, something: &Arc<T>) {
        // All commands, for the plugin does not tell which of them use what. Not while the queues are locked, as above.
        let queues = self.queues().clone();
        for queue in queues {
            let queue = core::ptr::with_exposed_provenance_mut(queue);
            drop_behind(self.plugin(), queue, Arc::clone(something));
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let destructors = core::mem::take(self.destructors.get_mut().unwrap_or_else(PoisonError::into_inner));
        for callback in destructors.into_iter().rev() {
            callback.call(core::ptr::with_exposed_provenance_mut(
                self.name.load(Ordering::Relaxed),
            ));
        }
    }
}

/// The devices of a list, each once, which must all be among those there are. Null stands for all.
pub(crate) fn chosen(
    devices: &[Object<Device>],
    count: cl_uint,
    list: In<cl_device_id>,
) -> Result<Vec<Object<Device>>> {
    let list = list.list(count).ok_or(Failure(CL_INVALID_VALUE))?;
    if list.is_empty() {
        return Ok(devices.to_vec());
    }
    let mut chosen: Vec<Object<Device>> = Vec::new();
    for handle in list {
        let address = handle.expose_provenance();
        let device = devices.iter().find(|device| device.handle() == address);
        let device = device.ok_or(Failure(CL_INVALID_DEVICE))?;
        if !chosen.contains(device) {
            chosen.push(device.clone());
        }
    }
    Ok(chosen)
}

/// Reads the properties of a context: the platform, if they name one.
fn platform_of(properties: &[cl_context_properties]) -> Result<Option<Object<Platform>>> {
    let mut platform = None;
    let mut seen = Vec::new();
    // The zero that ends the list is no pair, and so left out.
    for pair in properties.chunks_exact(2) {
        let [name, value] = [pair[0], pair[1]];
        require(!seen.contains(&name), CL_INVALID_PROPERTY)?;
        seen.push(name);
        match name {
            CL_CONTEXT_PLATFORM => {
                let found = Platform::slab().get(value as usize);
                platform = Some(found.map_err(|_| Failure(CL_INVALID_PLATFORM))?);
            }
            CL_CONTEXT_INTEROP_USER_SYNC => require(value == 0 || value == 1, CL_INVALID_PROPERTY)?,
            _ => return fail(CL_INVALID_PROPERTY),
        }
    }
    Ok(platform)
}

pub(crate) fn clCreateContext(
    properties: In<cl_context_properties>,
    num_devices: cl_uint,
    devices: In<cl_device_id>,
    pfn_notify: ContextNotify,
    user_data: Out<c_void>,
) -> Result<cl_context> {
    let properties = properties.pairs();
    let platform = platform_of(&properties)?;
    let handles = devices.list(num_devices).ok_or(Failure(CL_INVALID_VALUE))?;
    require(!handles.is_empty(), CL_INVALID_VALUE)?;
    require(pfn_notify.is_some() || user_data.is_null(), CL_INVALID_VALUE)?;
    let mut devices: Vec<Object<Device>> = Vec::new();
    for handle in handles {
        let device = Device::slab().get(handle.expose_provenance());
        let device = device.map_err(|_| Failure(CL_INVALID_DEVICE))?;
        // Where the properties name none, the plugin refuses devices of several.
        let is_elsewhere = |platform| !device.object().is_of(platform);
        require(!platform.as_ref().is_some_and(is_elsewhere), CL_INVALID_DEVICE)?;
        // Naming one twice is naming it.
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    Context::new(devices, properties, ErrorNotify::new(pfn_notify, user_data))?.create()
}

pub(crate) fn clCreateContextFromType(
    properties: In<cl_context_properties>,
    device_type: cl_device_type,
    pfn_notify: ContextNotify,
    user_data: Out<c_void>,
) -> Result<cl_context> {
    let properties = properties.pairs();
    let platform = match platform_of(&properties)? {
        Some(platform) => platform,
        // OpenCL leaves the choice to the driver where the list names none.
        None => platform_or_default(Out::null())?,
    };
    require(pfn_notify.is_some() || user_data.is_null(), CL_INVALID_VALUE)?;
    let devices: Vec<_> = of_type(&platform, device_type)?.cloned().collect();
    require(!devices.is_empty(), CL_DEVICE_NOT_FOUND)?;
    Context::new(devices, properties, ErrorNotify::new(pfn_notify, user_data))?.create()
}

pub(crate) fn clRetainContext(context: Out<_cl_context>) -> Result<()> {
    Context::retain(context)
}

pub(crate) fn clReleaseContext(context: Out<_cl_context>) -> Result<()> {
    Context::release(context)
}

pub(crate) fn clGetContextInfo(
    context: Out<_cl_context>,
    param_name: cl_context_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let context = Context::of(context)?;
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    match param_name {
        CL_CONTEXT_REFERENCE_COUNT => place.number(context.references()),
        CL_CONTEXT_NUM_DEVICES => place.number(context.object().devices.len() as cl_uint),
        CL_CONTEXT_DEVICES => place.numbers(context.object().devices.iter().map(Handle::c)),
        CL_CONTEXT_PROPERTIES => place.numbers(&context.object().properties),
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clSetContextDestructorCallback(
    context: Out<_cl_context>,
    pfn_notify: ContextNotifyEnd,
    user_data: Out<c_void>,
) -> Result<()> {
    let context = Context::of(context)?;
    let callback = Callback::new(pfn_notify, user_data).ok_or(Failure(CL_INVALID_VALUE))?;
    let destructors = &context.object().destructors;
    destructors
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(callback);
    Ok(())
}
