//! Contexts.

use offkit_opencl::*;
use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::{
    BufferRequest, Context, Error, ImageRequest, NativeHandle, NativeMemory, Ref, Result, SamplerRequest,
    UsmAllocation,
};
use offkit_sync::Arc;

use super::OpenCl;
use super::device::{ClDevice, ids};
use super::event::ClEvent;
use super::kernel::ClKernel;
use super::memory::{ClMemory, ClSampler};
use super::program::ClProgram;
use super::queue::ClQueue;
use crate::cl::{self, Driver, Owned};

/// A context of a driver.
pub(crate) struct ClContext {
    object: Owned<_cl_context>,
    devices: Vec<Arc<ClDevice>>,
}

impl ClContext {
    pub(super) fn object(&self) -> &Owned<_cl_context> {
        &self.object
    }

    fn without_usm() -> Error {
        let message = "the driver has no unified shared memory (cl_intel_unified_shared_memory)";
        Error::new(PI_INVALID_OPERATION, message)
    }

    /// An error unless all devices have images.
    fn check_images(&self) -> Result<()> {
        match self.devices.iter().all(|device| device.has_images()) {
            true => Ok(()),
            false => {
                let message = "the driver has no images (its CL_DEVICE_IMAGE_SUPPORT is false)";
                Err(Error::new(PI_INVALID_OPERATION, message))
            }
        }
    }

    fn program(&self, object: Owned<_cl_program>) -> ClProgram {
        ClProgram::new(object, &self.devices)
    }
}

/// The driver of all of some devices.
fn driver_of(devices: &[Arc<ClDevice>]) -> Result<&'static Driver> {
    let Some(first) = devices.first() else {
        return Err(Error::new(PI_INVALID_VALUE, "no device"));
    };
    let driver = first.id.driver();
    if devices
        .iter()
        .all(|device| std::ptr::eq(device.id.driver(), driver))
    {
        return Ok(driver);
    }
    let message = "devices of several OpenCL platforms cannot share a context";
    Err(Error::new(PI_INVALID_DEVICE, message))
}

impl Context<OpenCl> for ClContext {
    fn create(devices: &[Arc<ClDevice>]) -> Result<ClContext> {
        let driver = driver_of(devices)?;
        Ok(ClContext {
            object: Owned::create(driver, &ids(devices))?,
            devices: devices.to_vec(),
        })
    }

    fn create_queue(
        context: &Ref<Self>,
        device: &Arc<ClDevice>,
        properties: pi_queue_properties,
    ) -> Result<ClQueue> {
        // OpenCL's bits.
        Ok(ClQueue::new(context.object.create_queue(device.id, properties)?))
    }

    fn create_buffer(context: &Ref<Self>, request: BufferRequest<'_>) -> Result<ClMemory> {
        ClMemory::new(&context.object, request)
    }

    fn create_image(context: &Ref<Self>, request: ImageRequest<'_, OpenCl>) -> Result<ClMemory> {
        context.check_images()?;
        ClMemory::image(&context.object, request)
    }

    fn create_sampler(context: &Ref<Self>, request: &SamplerRequest) -> Result<ClSampler> {
        context.check_images()?;
        Ok(ClSampler::new(context.object.create_sampler(request)?))
    }

    fn create_program(context: &Ref<Self>, il: &[u8]) -> Result<ClProgram> {
        // Drivers of 3.0 may have the function and refuse every module, with an error that does not
        // say so.
        if !context.devices.iter().all(|device| device.takes_spirv()) {
            let message =
                "the driver takes no SPIR-V (its CL_DEVICE_IL_VERSION is empty), only OpenCL C and binaries";
            return Err(Error::new(PI_INVALID_OPERATION, message));
        }
        Ok(context.program(context.object.create_program_with_il(il)?))
    }

    fn create_program_with_source(context: &Ref<Self>, source: &[u8]) -> Result<ClProgram> {
        Ok(context.program(context.object.create_program_with_source(source)?))
    }

    fn create_program_with_binary(
        context: &Ref<Self>,
        device: &Arc<ClDevice>,
        binary: &[u8],
    ) -> Result<ClProgram> {
        // For this device alone: drivers refuse what is asked about a program and another one.
        let object = context.object.create_program_with_binary(device.id, binary)?;
        Ok(ClProgram::new(object, std::slice::from_ref(device)))
    }

    fn link(
        context: &Ref<Self>,
        devices: &[Arc<ClDevice>],
        programs: &[Ref<ClProgram>],
        options: &str,
    ) -> Result<ClProgram> {
        let objects: Vec<_> = programs.iter().map(|program| program.object()).collect();
        let (linked, error) =
            context
                .object
                .link(&ids(devices), &objects, &super::program::options(options)?)?;
        match error {
            // The program says why.
            Some(error) if error.code != CL_LINK_PROGRAM_FAILURE => Err(error.into()),
            _ if devices.is_empty() => Ok(context.program(linked)),
            _ => Ok(ClProgram::new(linked, devices)),
        }
    }

    fn create_user_event(context: &Ref<Self>) -> Result<ClEvent> {
        Ok(ClEvent::new(context.object.create_user_event()?))
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<ClDevice>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        if !self.object.driver().has_usm() {
            return Err(Self::without_usm());
        }
        let device = device.map(|device| device.id);
        Ok(self.object.allocate_usm(kind, device, size, alignment)?)
    }

    fn free_usm(&self, address: usize) -> Result<()> {
        if !self.object.driver().has_usm() {
            return Err(Self::without_usm());
        }
        // Drivers do not have to notice an address that is not of an allocation's start.
        let start = self.usm_allocation(address).map(|allocation| allocation.base);
        if start != Some(address) {
            let message = format_args!("{address:#x} is not the start of a USM allocation");
            return Err(Error::new(PI_INVALID_VALUE, message));
        }
        Ok(self.object.free_usm(address)?)
    }

    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<OpenCl>> {
        let ask = |name| self.object.usm_info(address, name).ok();
        let kind = match ask(CL_MEM_ALLOC_TYPE_INTEL)? as cl_uint {
            CL_MEM_TYPE_HOST_INTEL => UsmKind::Host,
            CL_MEM_TYPE_DEVICE_INTEL => UsmKind::Device,
            CL_MEM_TYPE_SHARED_INTEL => UsmKind::Shared,
            _ => return None,
        };
        let device = ask(CL_MEM_ALLOC_DEVICE_INTEL);
        let device = self
            .devices
            .iter()
            .find(|known| Some(known.id.native()) == device);
        Some(UsmAllocation {
            kind,
            base: ask(CL_MEM_ALLOC_BASE_PTR_INTEL)?,
            size: ask(CL_MEM_ALLOC_SIZE_INTEL)?,
            device: device.cloned(),
        })
    }

    fn from_native(native: NativeHandle, devices: &[Arc<ClDevice>]) -> Result<ClContext> {
        Ok(ClContext {
            object: Owned::from_native(driver_of(devices)?, &native)?,
            devices: devices.to_vec(),
        })
    }

    fn queue_from_native(
        context: &Ref<Self>,
        _: &Arc<ClDevice>,
        native: NativeHandle,
    ) -> Result<(ClQueue, pi_queue_properties)> {
        let queue: Owned<_cl_command_queue> = Owned::from_native(context.object.driver(), &native)?;
        let properties = queue.properties()?;
        Ok((ClQueue::new(queue), properties))
    }

    fn memory_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<NativeMemory<OpenCl>> {
        let object: Owned<_cl_mem> = Owned::from_native(context.object.driver(), &native)?;
        Ok(NativeMemory {
            flags: object.info(CL_MEM_FLAGS)?,
            size: object.info(CL_MEM_SIZE)?.try_into().unwrap_or(usize::MAX),
            memory: ClMemory::of(object),
        })
    }

    fn program_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<ClProgram> {
        Ok(context.program(Owned::from_native(context.object.driver(), &native)?))
    }

    fn kernel_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(ClKernel, ClProgram)> {
        let kernel: Owned<_cl_kernel> = Owned::from_native(context.object.driver(), &native)?;
        let program = kernel.program()?;
        Ok((ClKernel::new(kernel), context.program(program)))
    }

    fn event_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(ClEvent, pi_command_type)> {
        let event: cl::Event = Owned::from_native(context.object.driver(), &native)?;
        // OpenCL's numbers.
        let command_type = event.command_type()?;
        Ok((ClEvent::new(event), command_type))
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}
