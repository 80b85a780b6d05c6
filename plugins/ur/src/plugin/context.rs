//! Contexts.

use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::{
    BufferRequest, Context, Error, ImageRequest, NativeHandle, NativeMemory, Ref, Result, SamplerRequest,
    UsmAllocation,
};
use offkit_spirv::Outline;
use offkit_sync::Arc;
use offkit_ur::*;
use std::collections::BTreeSet;

use super::UnifiedRuntime;
use super::device::UrDevice;
use super::event::UrEvent;
use super::image::UrSampler;
use super::kernel::UrKernel;
use super::machine::MachineCode;
use super::memory::UrMemory;
use super::program::UrProgram;
use super::queue::UrQueue;
use crate::adapter::{Adapter, DeviceId, Owned};

/// The properties of queues that Unified Runtime has as well, by the same bits. Events are not given up: by them it is
/// known how long a command uses what it uses.
const QUEUE_PROPERTIES: pi_queue_properties = 0x1ff & !PI_EXT_ONEAPI_QUEUE_DISCARD_EVENTS;

/// A context of an adapter.
pub(crate) struct UrContext {
    object: Owned<_ur_context>,
    first: DeviceId,
    devices: Vec<Arc<UrDevice>>,
}

impl UrContext {
    pub(super) fn object(&self) -> &Owned<_ur_context> {
        &self.object
    }

    /// One of its devices.
    pub(super) fn device(&self) -> DeviceId {
        self.first
    }

    /// An error unless all devices have images.
    fn check_images(&self) -> Result<()> {
        match self.devices.iter().all(|device| device.has_images()) {
            true => Ok(()),
            false => Err(Error::new(
                PI_INVALID_OPERATION,
                "the adapter's device has no images",
            )),
        }
    }

    pub(super) fn devices(&self) -> &[Arc<UrDevice>] {
        &self.devices
    }
}

/// The adapter of all of some devices, and their handles.
fn adapter_of(devices: &[Arc<UrDevice>]) -> Result<(&'static Adapter, Vec<DeviceId>)> {
    let ids: Vec<DeviceId> = devices.iter().map(|device| device.id).collect();
    let Some(first) = ids.first() else {
        return Err(Error::new(PI_INVALID_VALUE, "no device"));
    };
    let adapter = first.adapter();
    if ids.iter().all(|device| std::ptr::eq(device.adapter(), adapter)) {
        return Ok((adapter, ids));
    }
    let message = "devices of several adapters of Unified Runtime cannot share a context";
    Err(Error::new(PI_INVALID_DEVICE, message))
}

/// What some programs in SPIR-V import and none of them exports, in words.
fn missing(programs: &[Ref<UrProgram>]) -> Option<String> {
    let il = programs
        .iter()
        .map(|program| program.object().info(UR_PROGRAM_INFO_IL));
    let il: Vec<Vec<u8>> = il.map(std::result::Result::unwrap_or_default).collect();
    let outlines: Vec<_> = il.iter().map(|il| Outline::read(il)).collect();
    let exports: BTreeSet<_> = outlines
        .iter()
        .flat_map(Outline::exports)
        .map(|symbol| symbol.name.to_str())
        .collect();
    let imports = outlines.iter().flat_map(Outline::imports);
    let names = imports.map(|symbol| symbol.name.to_str());
    // Sorted and each once: several programs may import the same name.
    let names: BTreeSet<_> = names.filter(|name| !exports.contains(name)).collect();
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("no program has {}", names.join(", ")))
}

impl Context<UnifiedRuntime> for UrContext {
    fn create(devices: &[Arc<UrDevice>]) -> Result<UrContext> {
        let (adapter, ids) = adapter_of(devices)?;
        Ok(UrContext {
            object: Owned::create(adapter, &ids)?,
            // There is one: `adapter_of` refuses an empty list.
            first: ids[0],
            devices: devices.to_vec(),
        })
    }

    fn create_queue(
        context: &Ref<Self>,
        device: &Arc<UrDevice>,
        properties: pi_queue_properties,
    ) -> Result<UrQueue> {
        let flags = (properties & QUEUE_PROPERTIES) as u32;
        Ok(UrQueue::new(
            context.object.create_queue(device.id, flags)?,
            context,
        ))
    }

    fn create_buffer(context: &Ref<Self>, request: BufferRequest<'_>) -> Result<UrMemory> {
        UrMemory::new(context, request)
    }

    fn create_image(context: &Ref<Self>, request: ImageRequest<'_, UnifiedRuntime>) -> Result<UrMemory> {
        context.check_images()?;
        UrMemory::image(context, request)
    }

    fn create_sampler(context: &Ref<Self>, request: &SamplerRequest) -> Result<UrSampler> {
        context.check_images()?;
        UrSampler::new(&context.object, request)
    }

    fn create_program(context: &Ref<Self>, il: &[u8]) -> Result<UrProgram> {
        let object = context.object.create_program_with_il(il)?;
        Ok(UrProgram::new(object, context, context.devices()))
    }

    fn create_program_with_binary(
        context: &Ref<Self>,
        device: &Arc<UrDevice>,
        binary: &[u8],
    ) -> Result<UrProgram> {
        let code = Arc::new(MachineCode::new(binary, !device.takes_spirv()));
        let object = context
            .object
            .create_program_with_binary(device.id, code.bytes())?;
        let program = UrProgram::new(object, context, std::slice::from_ref(device));
        Ok(program.of_code([code]))
    }

    fn link(
        context: &Ref<Self>,
        _: &[Arc<UrDevice>],
        programs: &[Ref<UrProgram>],
        options: &str,
    ) -> Result<UrProgram> {
        let objects: Vec<_> = programs.iter().map(|program| program.object()).collect();
        let linked = context.object.link(&objects, &super::program::options(options)?);
        let (linked, error) = linked.map_err(|error| match missing(programs) {
            // Some adapters leave neither a program nor a log.
            Some(words) if error.is(UR_RESULT_ERROR_PROGRAM_LINK_FAILURE) => {
                Error::new(error.result(), format_args!("{words} ({error})"))
            }
            _ => error.into(),
        })?;
        match error {
            // The program says why.
            Some(error) if !error.is(UR_RESULT_ERROR_PROGRAM_LINK_FAILURE) => Err(error.into()),
            _ => {
                // The adapter may still have the addresses of what it has linked.
                let code = programs.iter().flat_map(|program| program.code()).cloned();
                Ok(UrProgram::new(linked, context, context.devices()).of_code(code))
            }
        }
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<UrDevice>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        let device = device.map(|device| device.id);
        Ok(self.object.allocate_usm(kind, device, size, alignment)?)
    }

    fn free_usm(&self, address: usize) -> Result<()> {
        // Adapters do not have to notice an address that is not of an allocation's start.
        let start = self.usm_allocation(address).map(|allocation| allocation.base);
        if start != Some(address) {
            let message = format_args!("{address:#x} is not the start of a USM allocation");
            return Err(Error::new(PI_INVALID_VALUE, message));
        }
        Ok(self.object.free_usm(address)?)
    }

    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<UnifiedRuntime>> {
        let ask = |name| self.object.usm_info(address, name).ok();
        let kind = match ask(UR_USM_ALLOC_INFO_TYPE)? as u32 {
            UR_USM_TYPE_HOST => UsmKind::Host,
            UR_USM_TYPE_DEVICE => UsmKind::Device,
            UR_USM_TYPE_SHARED => UsmKind::Shared,
            _ => return None,
        };
        let device = ask(UR_USM_ALLOC_INFO_DEVICE);
        let device = self
            .devices
            .iter()
            .find(|known| device.is_some_and(|device| known.id.is(device)));
        Some(UsmAllocation {
            kind,
            base: ask(UR_USM_ALLOC_INFO_BASE_PTR)?,
            size: ask(UR_USM_ALLOC_INFO_SIZE)?,
            device: device.cloned(),
        })
    }

    fn from_native(native: NativeHandle, devices: &[Arc<UrDevice>]) -> Result<UrContext> {
        let (adapter, ids) = adapter_of(devices)?;
        Ok(UrContext {
            object: Owned::from_native(adapter, &native, &ids)?,
            first: ids[0],
            devices: devices.to_vec(),
        })
    }

    fn queue_from_native(
        context: &Ref<Self>,
        device: &Arc<UrDevice>,
        native: NativeHandle,
    ) -> Result<(UrQueue, pi_queue_properties)> {
        let queue = context.object.queue_from_native(&native, device.id)?;
        let properties = queue.flags()?.into();
        Ok((UrQueue::new(queue, context), properties))
    }

    fn memory_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<NativeMemory<UnifiedRuntime>> {
        let object = context.object.buffer_from_native(&native)?;
        Ok(NativeMemory {
            // Unified Runtime has no query for how it was made.
            flags: PI_MEM_FLAGS_ACCESS_RW,
            size: object.size()?,
            memory: UrMemory::of(object, context.first),
        })
    }

    fn program_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<UrProgram> {
        let object = context.object.program_from_native(&native)?;
        Ok(UrProgram::new(object, context, context.devices()))
    }

    fn kernel_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(UrKernel, UrProgram)> {
        let kernel = context.object.kernel_from_native(&native)?;
        let program = UrProgram::new(kernel.program()?, context, context.devices());
        // What code the host has made it of is not known here.
        Ok((UrKernel::new(kernel, &[], ""), program))
    }

    fn event_from_native(context: &Ref<Self>, native: NativeHandle) -> Result<(UrEvent, pi_command_type)> {
        let event = UrEvent::new(context.object.event_from_native(&native)?);
        // Adapters have numbers of their own for what it is of, and not all answer.
        Ok((event, PI_COMMAND_TYPE_USER))
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native()?)
    }
}
