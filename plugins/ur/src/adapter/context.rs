//! Contexts, and the objects that are made in one.

use super::object::native_properties;
use super::{Adapter, DeviceId, Owned, Result, ask, call, pointer, words};
use core::ffi::c_void;
use core::ptr::{null, null_mut};
use offkit_pi::plugin::{HostTarget, NativeHandle};
use offkit_ur::*;

/// What the memory of a buffer or an image is at first.
pub(crate) enum Buffer<'a> {
    /// Nothing in particular.
    Fresh,
    /// A copy of these bytes.
    Copy(&'a [u8]),
    /// This memory of the host. It must be kept for as long as the object.
    Storage(&'a HostTarget),
}

impl Buffer<'_> {
    /// The memory of the host, or null.
    pub(super) fn pointer(&self) -> *mut c_void {
        match self {
            Buffer::Fresh => null_mut(),
            Buffer::Copy(bytes) => bytes.as_ptr().cast_mut().cast(),
            Buffer::Storage(host) => pointer(host.address()),
        }
    }
}

/// Makes an object: [`call!`] without the last argument, the place for the handle.
///
/// # Safety
///
/// What the function demands of the arguments; `$adapter` is the one whose objects they are.
macro_rules! create {
    ($adapter:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut handle = null_mut();
        call!($adapter, $function($($argument,)* &raw mut handle))
            .and_then(|()| Owned::new($adapter, stringify!($function), handle))
    }};
}
pub(super) use create;

/// The handles of devices.
fn handles(devices: &[DeviceId]) -> Vec<ur_device_handle_t> {
    devices.iter().map(|device| device.handle()).collect()
}

impl Owned<_ur_context> {
    /// A context of devices of one adapter.
    pub(crate) fn create(adapter: &'static Adapter, devices: &[DeviceId]) -> Result<Self> {
        let handles = handles(devices);
        // SAFETY: as many devices as are said, which are the adapter's.
        unsafe {
            create!(
                adapter,
                urContextCreate(handles.len() as u32, handles.as_ptr(), null())
            )
        }
    }

    /// A context of a driver's own, which the host vouches for.
    pub(crate) fn from_native(
        adapter: &'static Adapter,
        native: &NativeHandle,
        devices: &[DeviceId],
    ) -> Result<Self> {
        let handles = handles(devices);
        let properties = native_properties(UR_STRUCTURE_TYPE_CONTEXT_NATIVE_PROPERTIES, native.is_owned());
        // SAFETY: as above.
        unsafe {
            create!(
                adapter,
                urContextCreateWithNativeHandle(
                    native.handle(),
                    adapter.handle(),
                    handles.len() as u32,
                    handles.as_ptr(),
                    &raw const properties
                )
            )
        }
    }

    pub(crate) fn create_queue(&self, device: DeviceId, flags: u32) -> Result<Owned<_ur_queue>> {
        let properties = ur_queue_properties_t {
            stype: UR_STRUCTURE_TYPE_QUEUE_PROPERTIES,
            next: null(),
            flags,
        };
        // SAFETY: the device is one of the context's, as the plugin interface has checked.
        unsafe {
            create!(
                self.adapter(),
                urQueueCreate(self.handle(), device.handle(), &raw const properties)
            )
        }
    }

    pub(crate) fn queue_from_native(
        &self,
        native: &NativeHandle,
        device: DeviceId,
    ) -> Result<Owned<_ur_queue>> {
        let properties = native_properties(UR_STRUCTURE_TYPE_QUEUE_NATIVE_PROPERTIES, native.is_owned());
        // SAFETY: the host vouches for the handle; the device is one of the context's.
        unsafe {
            create!(
                self.adapter(),
                urQueueCreateWithNativeHandle(
                    native.handle(),
                    self.handle(),
                    device.handle(),
                    &raw const properties
                )
            )
        }
    }

    pub(crate) fn create_buffer(
        &self,
        flags: u32,
        size: usize,
        content: &Buffer<'_>,
    ) -> Result<Owned<_ur_mem>> {
        // The plugin interface has seen to it; here the adapter's reads and writes depend on it.
        match content {
            Buffer::Fresh => {}
            Buffer::Copy(bytes) => assert!(bytes.len() >= size, "as many bytes as the buffer has"),
            Buffer::Storage(host) => assert!(host.size() >= size, "as much memory as the buffer has"),
        }
        let host = content.pointer();
        let properties = ur_buffer_properties_t {
            stype: UR_STRUCTURE_TYPE_BUFFER_PROPERTIES,
            next: null(),
            host,
        };
        let properties = if host.is_null() {
            null()
        } else {
            &raw const properties
        };
        // SAFETY: the pointer is null, or to `size` bytes that are read during the call, or that the host has given to
        // the buffer.
        unsafe {
            create!(
                self.adapter(),
                urMemBufferCreate(self.handle(), flags, size, properties)
            )
        }
    }

    pub(crate) fn buffer_from_native(&self, native: &NativeHandle) -> Result<Owned<_ur_mem>> {
        let properties = native_properties(UR_STRUCTURE_TYPE_MEM_NATIVE_PROPERTIES, native.is_owned());
        // SAFETY: the host vouches for the handle.
        unsafe {
            create!(
                self.adapter(),
                urMemBufferCreateWithNativeHandle(native.handle(), self.handle(), &raw const properties)
            )
        }
    }

    pub(crate) fn event_from_native(&self, native: &NativeHandle) -> Result<super::Event> {
        let properties = native_properties(UR_STRUCTURE_TYPE_EVENT_NATIVE_PROPERTIES, native.is_owned());
        // SAFETY: as above.
        unsafe {
            create!(
                self.adapter(),
                urEventCreateWithNativeHandle(native.handle(), self.handle(), &raw const properties)
            )
        }
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(&self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the context is the adapter's, and the place is there.
        unsafe {
            call!(
                self.adapter(),
                urContextGetNativeHandle(self.handle(), &raw mut native)
            )
        }?;
        Ok(native)
    }
}

impl Owned<_ur_mem> {
    /// A part of a buffer.
    pub(crate) fn part(&self, flags: u32, origin: usize, size: usize) -> Result<Self> {
        let region = ur_buffer_region_t {
            stype: UR_STRUCTURE_TYPE_BUFFER_REGION,
            next: null(),
            origin,
            size,
        };
        // SAFETY: a region goes with that kind of part.
        unsafe {
            create!(
                self.adapter(),
                urMemBufferPartition(
                    self.handle(),
                    flags,
                    UR_BUFFER_CREATE_TYPE_REGION,
                    &raw const region
                )
            )
        }
    }

    /// Its size in bytes.
    pub(crate) fn size(&self) -> Result<usize> {
        // SAFETY: the memory object is the adapter's.
        let bytes = ask!(self.adapter(), unsafe urMemGetInfo(self.handle(), UR_MEM_INFO_SIZE))?;
        Ok(words(&bytes).next().map_or(0, usize::from_ne_bytes))
    }

    /// The handle of the driver's own object on a device.
    pub(crate) fn native(&self, device: DeviceId) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the memory object is the adapter's, the device one of its context's, and the place is there.
        unsafe {
            call!(
                self.adapter(),
                urMemGetNativeHandle(self.handle(), device.handle(), &raw mut native)
            )
        }?;
        Ok(native)
    }
}
