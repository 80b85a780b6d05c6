//! Contexts.

use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::{BufferRequest, Context, Error, Ref, Result, UsmAllocation};
use std::sync::Arc;

use super::device::CpuDevice;
use super::event::CpuEvent;
use super::memory::CpuBuffer;
use super::program::CpuProgram;
use super::queue::CpuQueue;
use super::{Cpu, memory_error};
use crate::{AllocationKind, Memory};

/// A context: memory of its own.
pub(crate) struct CpuContext {
    pub(super) device: Arc<CpuDevice>,
    pub(super) memory: Arc<Memory>,
    /// Whether it has a device that compiles kernels.
    compiles: bool,
}

impl Context<Cpu> for CpuContext {
    fn create(devices: &[Arc<CpuDevice>]) -> Result<CpuContext> {
        let device = devices
            .first()
            .ok_or_else(|| Error::new(PI_INVALID_VALUE, "no device"))?;
        Ok(CpuContext {
            device: Arc::clone(device),
            memory: Memory::new(),
            compiles: devices.iter().any(|device| device.compiles()),
        })
    }

    fn create_queue(
        context: &Ref<Self>,
        device: &Arc<CpuDevice>,
        properties: pi_queue_properties,
    ) -> Result<CpuQueue> {
        if properties & (PI_QUEUE_ON_DEVICE | PI_QUEUE_ON_DEVICE_DEFAULT) != 0 {
            return Err(Error::new(
                PI_INVALID_QUEUE_PROPERTIES,
                "kernels cannot submit to queues",
            ));
        }
        Ok(CpuQueue::new(&context.memory, properties, !device.compiles()))
    }

    fn create_buffer(context: &Ref<Self>, request: BufferRequest<'_>) -> Result<CpuBuffer> {
        CpuBuffer::new(&context.memory, request)
    }

    fn create_program(context: &Ref<Self>, il: &[u8]) -> Result<CpuProgram> {
        CpuProgram::new(&context.memory, il, context.compiles)
    }

    fn link(context: &Ref<Self>, programs: &[Ref<CpuProgram>], options: &str) -> Result<CpuProgram> {
        CpuProgram::link(&context.memory, programs, options, context.compiles)
    }

    fn create_user_event(_: &Ref<Self>) -> Result<CpuEvent> {
        Ok(CpuEvent::of_the_host())
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        _: Option<&Arc<CpuDevice>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        let kind = match kind {
            UsmKind::Host => AllocationKind::Host,
            UsmKind::Device => AllocationKind::Device,
            UsmKind::Shared => AllocationKind::Shared,
        };
        let address = self
            .memory
            .allocate(size, alignment.max(1), kind)
            .map_err(memory_error)?;
        Ok(address as usize)
    }

    fn free_usm(&self, address: usize) -> Result<()> {
        let allocation = self
            .usm_allocation(address)
            .filter(|allocation| allocation.base == address);
        if allocation.is_none() {
            return Err(Error::new(
                PI_INVALID_VALUE,
                format_args!("{address:#x} is not the start of a USM allocation"),
            ));
        }
        self.memory.free(address as u64).map_err(memory_error)
    }

    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<Cpu>> {
        let allocation = self.memory.lookup(address as u64)?;
        let (kind, device) = match allocation.kind {
            AllocationKind::Host => (UsmKind::Host, None),
            AllocationKind::Device => (UsmKind::Device, Some(Arc::clone(&self.device))),
            AllocationKind::Shared => (UsmKind::Shared, Some(Arc::clone(&self.device))),
            _ => return None,
        };
        Some(UsmAllocation {
            kind,
            base: allocation.base as usize,
            size: allocation.size as usize,
            device,
        })
    }
}
