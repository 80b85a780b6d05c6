//! Contexts, and the objects that are made in one.

use super::{DeviceId, Driver, Owned, Result, ask, call, create, words};
use core::ffi::c_void;
use core::ptr::null_mut;
use offkit_opencl::*;
use offkit_pi::plugin::HostTarget;

/// What the memory of a buffer or an image is at first.
pub(crate) enum Buffer<'a> {
    /// Nothing in particular.
    Fresh,
    /// A copy of these bytes.
    Copy(&'a [u8]),
    /// This memory of the host. It must be kept for as long as the buffer.
    Storage(&'a HostTarget),
}

impl Buffer<'_> {
    /// Where the memory of the host begins that it names; null without any.
    pub(super) fn pointer(&self) -> *mut c_void {
        match self {
            Buffer::Fresh => null_mut(),
            Buffer::Copy(bytes) => bytes.as_ptr().cast_mut().cast(),
            Buffer::Storage(host) => core::ptr::with_exposed_provenance_mut(host.address()),
        }
    }
}

impl Owned<_cl_context> {
    /// A context of devices of one driver.
    pub(crate) fn create(driver: &'static Driver, devices: &[DeviceId]) -> Result<Self> {
        // Without its name the platform would be the driver's choice.
        let properties = [
            CL_CONTEXT_PLATFORM,
            driver.platform().expose_provenance().cast_signed(),
            0,
        ];
        let handles: Vec<cl_device_id> = devices.iter().map(|device| device.handle()).collect();
        // SAFETY: a list of properties that ends with 0, and as many devices as are said.
        unsafe {
            let context = create!(
                driver.table,
                clCreateContext(
                    properties.as_ptr(),
                    handles.len() as cl_uint,
                    handles.as_ptr(),
                    None,
                    null_mut()
                )
            )?;
            Owned::new(driver, "clCreateContext", context)
        }
    }

    pub(crate) fn create_queue(
        &self,
        device: DeviceId,
        properties: cl_command_queue_properties,
    ) -> Result<Owned<_cl_command_queue>> {
        let (driver, context) = (self.driver(), self.handle());
        let list = [CL_QUEUE_PROPERTIES.into(), properties, 0];
        // SAFETY: the device is one of the driver's, as the plugin interface has checked it to be one of the context's;
        // the list ends with 0.
        unsafe {
            let queue = if driver.version >= (2, 0) {
                create!(
                    driver.table,
                    clCreateCommandQueueWithProperties(context, device.handle(), list.as_ptr())
                )
            } else {
                create!(
                    driver.table,
                    clCreateCommandQueue(context, device.handle(), properties)
                )
            }?;
            Owned::new(driver, "clCreateCommandQueue", queue)
        }
    }

    pub(crate) fn create_buffer(
        &self,
        flags: cl_mem_flags,
        size: usize,
        content: &Buffer<'_>,
    ) -> Result<Owned<_cl_mem>> {
        let room = match content {
            Buffer::Fresh => size,
            Buffer::Copy(bytes) => bytes.len(),
            Buffer::Storage(host) => host.size(),
        };
        // OpenCL has one size for the buffer and for the host's memory. The plugin interface has
        // seen to it; here it is what makes the driver's reads and writes sound.
        assert!(room >= size, "as many bytes as the buffer has");
        let (driver, pointer) = (self.driver(), content.pointer());
        // SAFETY: the pointer is null, or to `size` bytes that are read during the call, or that the host has given to
        // the buffer.
        unsafe {
            let buffer = create!(driver.table, clCreateBuffer(self.handle(), flags, size, pointer))?;
            Owned::new(driver, "clCreateBuffer", buffer)
        }
    }

    /// A program in intermediate language.
    pub(crate) fn create_program_with_il(&self, il: &[u8]) -> Result<Owned<_cl_program>> {
        let (driver, context) = (self.driver(), self.handle());
        let (start, size) = (il.as_ptr().cast(), il.len());
        // SAFETY: the bytes are there.
        unsafe {
            // OpenCL 2.1 took the extension over. Drivers of 3.0 have the function whether or not they take any
            // language.
            let program = match driver.extensions.clCreateProgramWithILKHR {
                Some(_) if driver.version < (2, 1) => {
                    create!(driver.extensions, clCreateProgramWithILKHR(context, start, size))
                }
                _ => create!(driver.table, clCreateProgramWithIL(context, start, size)),
            }?;
            Owned::new(driver, "clCreateProgramWithIL", program)
        }
    }

    /// A program in OpenCL C.
    pub(crate) fn create_program_with_source(&self, source: &[u8]) -> Result<Owned<_cl_program>> {
        let driver = self.driver();
        // To OpenCL a text of length 0 is one that ends with a NUL.
        let text = match source {
            [] => c"".to_bytes_with_nul(),
            source => source,
        };
        let (mut start, size) = (text.as_ptr().cast(), source.len());
        // SAFETY: one text of that size, or of no size and with a NUL.
        unsafe {
            let program = create!(
                driver.table,
                clCreateProgramWithSource(self.handle(), 1, &raw mut start, &raw const size)
            )?;
            Owned::new(driver, "clCreateProgramWithSource", program)
        }
    }

    /// A program in machine code of a device.
    pub(crate) fn create_program_with_binary(
        &self,
        device: DeviceId,
        binary: &[u8],
    ) -> Result<Owned<_cl_program>> {
        let driver = self.driver();
        let (device, size, mut start) = (device.handle(), binary.len(), binary.as_ptr());
        // SAFETY: one device, one size, and so many bytes.
        unsafe {
            let program = create!(
                driver.table,
                clCreateProgramWithBinary(
                    self.handle(),
                    1,
                    &raw const device,
                    &raw const size,
                    &raw mut start,
                    null_mut()
                )
            )?;
            Owned::new(driver, "clCreateProgramWithBinary", program)
        }
    }

    pub(crate) fn create_user_event(&self) -> Result<super::Event> {
        let driver = self.driver();
        // SAFETY: the context is the driver's.
        unsafe {
            let event = create!(driver.table, clCreateUserEvent(self.handle()))?;
            Owned::new(driver, "clCreateUserEvent", event)
        }
    }
}

impl Owned<_cl_mem> {
    /// The answer to a query, as a number.
    pub(crate) fn info(&self, name: cl_mem_info) -> Result<u64> {
        // SAFETY: the memory object is the driver's.
        let bytes = ask!(self.driver().table, unsafe clGetMemObjectInfo(self.handle(), name))?;
        Ok(words(&bytes).next().map_or(0, u64::from_ne_bytes))
    }

    /// A part of a buffer.
    pub(crate) fn part(&self, flags: cl_mem_flags, origin: usize, size: usize) -> Result<Self> {
        let driver = self.driver();
        let region = cl_buffer_region { origin, size };
        // SAFETY: a region goes with that kind of part.
        unsafe {
            let part = create!(
                driver.table,
                clCreateSubBuffer(
                    self.handle(),
                    flags,
                    CL_BUFFER_CREATE_TYPE_REGION,
                    (&raw const region).cast()
                )
            )?;
            Owned::new(driver, "clCreateSubBuffer", part)
        }
    }
}
