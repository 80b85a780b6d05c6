//! Contexts.

use super::memory::BufferRequest;
use super::shim::array;
use super::slab::Ref;
use super::state::{self, ContextDetails, ContextRecord, DeviceRecord, Registered};
use super::usm::UsmAllocation;
use super::{Error, ImageRequest, Info, NativeHandle, NativeMemory, Plugin, Result, SamplerRequest};
use crate::ffi::*;
use crate::host::UsmKind;
use core::ffi::c_void;
use std::sync::Arc;

/// Devices that share memory objects and programs; everything else is created in one.
#[expect(
    unused_variables,
    reason = "what is left out takes the arguments that are documented"
)]
pub trait Context<P: Plugin>: Sized + Send + Sync + 'static {
    /// A context of at least one device.
    ///
    /// # Errors
    ///
    /// [`Error`] if the devices cannot share one.
    fn create(devices: &[Arc<P::Device>]) -> Result<Self>;

    /// A queue for a device of the context. Properties are `PI_QUEUE_*`.
    ///
    /// # Errors
    ///
    /// [`Error`] if the device does not do what is asked ([`PI_INVALID_QUEUE_PROPERTIES`]).
    fn create_queue(
        context: &Ref<Self>,
        device: &Arc<P::Device>,
        properties: pi_queue_properties,
    ) -> Result<P::Queue> {
        Err(Error::unsupported("a queue"))
    }

    /// A buffer. Its size is not 0, and host memory comes with the flag that needs it.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no memory for it ([`PI_MEM_OBJECT_ALLOCATION_FAILURE`]).
    fn create_buffer(context: &Ref<Self>, request: BufferRequest<'_>) -> Result<P::Memory> {
        Err(Error::unsupported("a buffer"))
    }

    /// An image. Host memory comes with the flag that needs it.
    ///
    /// # Errors
    ///
    /// [`Error`] if there are none ([`PI_INVALID_OPERATION`]), or none like that ([`PI_IMAGE_FORMAT_NOT_SUPPORTED`]).
    fn create_image(context: &Ref<Self>, request: ImageRequest<'_, P>) -> Result<P::Memory> {
        Err(Error::unsupported("an image"))
    }

    /// A sampler.
    ///
    /// # Errors
    ///
    /// [`Error`] if there are none ([`PI_INVALID_OPERATION`]).
    fn create_sampler(context: &Ref<Self>, request: &SamplerRequest) -> Result<P::Sampler> {
        Err(Error::unsupported("a sampler"))
    }

    /// A program in intermediate language.
    ///
    /// # Errors
    ///
    /// [`Error`] if it is none that the plugin takes ([`PI_INVALID_VALUE`]).
    fn create_program(context: &Ref<Self>, il: &[u8]) -> Result<P::Program> {
        Err(Error::unsupported("a program from intermediate language"))
    }

    /// A program in source text.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin compiles none.
    fn create_program_with_source(context: &Ref<Self>, source: &[u8]) -> Result<P::Program> {
        Err(Error::unsupported("a program from source text"))
    }

    /// A program in the machine code of a device.
    ///
    /// # Errors
    ///
    /// [`Error`] if it is none that the device takes ([`PI_INVALID_BINARY`]).
    fn create_program_with_binary(
        context: &Ref<Self>,
        device: &Arc<P::Device>,
        binary: &[u8],
    ) -> Result<P::Program> {
        Err(Error::unsupported("a program from machine code"))
    }

    /// Links compiled programs, for some devices of the context, or without any for all. A link that fails is a program as well: one whose [`Build`](super::Build)
    /// says so.
    ///
    /// # Errors
    ///
    /// [`Error`] if linking cannot even begin.
    fn link(
        context: &Ref<Self>,
        devices: &[Arc<P::Device>],
        programs: &[Ref<P::Program>],
        options: &str,
    ) -> Result<P::Program> {
        Err(Error::unsupported("linking"))
    }

    /// An event that the host completes.
    ///
    /// # Errors
    ///
    /// [`Error`] if there are none.
    fn create_user_event(context: &Ref<Self>) -> Result<P::Event> {
        Err(Error::unsupported("an event of the host's own"))
    }

    /// Allocates unified shared memory and returns its address. `alignment` is in bytes, 0 for any.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no memory for it, or none of the kind.
    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<P::Device>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        Err(Error::unsupported("unified shared memory"))
    }

    /// Frees unified shared memory.
    ///
    /// # Errors
    ///
    /// [`Error`] if `address` is not that of an allocation ([`PI_INVALID_VALUE`]).
    fn free_usm(&self, address: usize) -> Result<()> {
        Err(Error::unsupported("unified shared memory"))
    }

    /// The allocation of unified shared memory that an address lies in.
    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<P>> {
        None
    }

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }

    /// A context of a native one, of these devices.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin does not take any.
    fn from_native(native: NativeHandle, devices: &[Arc<P::Device>]) -> Result<Self> {
        Err(Error::unsupported("a context from a native handle"))
    }

    /// A queue of a native one, which is of a device of the context, and its properties (`PI_QUEUE_*`).
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin does not take any.
    fn queue_from_native(
        context: &Ref<Self>,
        device: &Arc<P::Device>,
        native: NativeHandle,
    ) -> Result<(P::Queue, pi_queue_properties)> {
        Err(Error::unsupported("a queue from a native handle"))
    }

    /// A buffer of a native one.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin does not take any.
    fn memory_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<NativeMemory<P>> {
        Err(Error::unsupported("a buffer from a native handle"))
    }

    /// A program of a native one.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin does not take any.
    fn program_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<P::Program> {
        Err(Error::unsupported("a program from a native handle"))
    }

    /// A kernel of a native one, and the program that it is of.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin does not take any.
    fn kernel_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(P::Kernel, P::Program)> {
        Err(Error::unsupported("a kernel from a native handle"))
    }

    /// An event of a native one, and the type of the command that it is of: [`PI_COMMAND_TYPE_USER`] of none.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin does not take any.
    fn event_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(P::Event, pi_command_type)> {
        Err(Error::unsupported("an event from a native handle"))
    }
}

pub(super) unsafe fn piContextCreate<P: Registered>(
    _properties: *const pi_context_properties,
    num_devices: pi_uint32,
    devices: *const pi_device,
    _notify: pi_context_notify,
    _user_data: *mut c_void,
) -> Result<ContextRecord<P>> {
    // SAFETY: the host passes `num_devices` handles.
    let handles = unsafe { array(devices, num_devices as usize, "devices") }?;
    let devices: Vec<DeviceRecord<P>> = handles
        .iter()
        .map(|handle| state::device::<P>(*handle))
        .collect::<Result<_>>()?;
    if devices.is_empty() {
        return Err(Error::new(PI_INVALID_VALUE, "a context needs a device"));
    }
    let objects: Vec<Arc<P::Device>> = devices.iter().map(|device| Arc::clone(device.object())).collect();
    let context = P::Context::create(&objects)?;
    // The records stay with it: a part of a device that the host releases lives as long as this.
    state::insert(&P::state().contexts, context, ContextDetails::new(devices))
}

pub(super) fn piContextGetInfo<P: Registered>(context: pi_context, name: pi_context_info) -> Result<Info> {
    let context = state::context::<P>(context)?;
    let devices = &context.details().devices;
    Ok(match name {
        PI_CONTEXT_INFO_REFERENCE_COUNT => context.references().into(),
        PI_CONTEXT_INFO_NUM_DEVICES => (devices.len() as u32).into(),
        PI_CONTEXT_INFO_DEVICES => {
            let handles: Vec<usize> = devices.iter().map(|device| device.handle()).collect();
            handles.as_slice().into()
        }
        PI_CONTEXT_INFO_PROPERTIES => Info::default(),
        PI_CONTEXT_INFO_PLATFORM => {
            let device = devices.first().ok_or_else(|| Error::null("the device"))?;
            device.details().platform.handle().into()
        }
        // A host does without them then.
        PI_EXT_ONEAPI_CONTEXT_INFO_USM_FILL2D_SUPPORT
        | PI_EXT_ONEAPI_CONTEXT_INFO_USM_MEMSET2D_SUPPORT
        | PI_EXT_ONEAPI_CONTEXT_INFO_USM_MEMCPY2D_SUPPORT => false.into(),
        name => return Err(Error::unknown_query(name)),
    })
}

/// Finds a device that must be one of the context's, or a part of one: drivers differ in whether they take these.
pub(super) fn device_of<P: Registered>(
    context: &state::ContextRecord<P>,
    device: pi_device,
) -> Result<DeviceRecord<P>> {
    let device = state::device::<P>(device)?;
    let whole = |device: &DeviceRecord<P>| device.details().parent.clone();
    let mut wholes = core::iter::successors(Some(device.clone()), whole);
    if wholes.any(|device| context.details().devices.contains(&device)) {
        Ok(device)
    } else {
        Err(Error::new(
            PI_INVALID_DEVICE,
            "the device is none of the context's",
        ))
    }
}
