//! Contexts.

use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;
use offkit_pi::plugin::{BufferRequest, Context, Error, Ref, Result, UsmAllocation};
use std::collections::HashMap;
use std::sync::Arc;

use super::device::CpuDevice;
use super::event::CpuEvent;
use super::memory::CpuBuffer;
use super::program::CpuProgram;
use super::queue::CpuQueue;
use super::{Cpu, memory_error};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::{AllocationKind, Memory};

/// A context: memory of its own.
pub(crate) struct CpuContext {
    devices: Box<[Arc<CpuDevice>]>,
    pub(super) memory: Arc<Memory>,
    /// The devices of allocations that are for another than the first, by the addresses of these.
    others: Mutex<HashMap<usize, Arc<CpuDevice>>>,
    /// Whether its devices compile kernels.
    compiles: bool,
}

impl Context<Cpu> for CpuContext {
    fn create(devices: &[Arc<CpuDevice>]) -> Result<CpuContext> {
        let Some(first) = devices.first() else {
            return Err(Error::new(PI_INVALID_VALUE, "no device"));
        };
        let compiles = first.compiles();
        if devices.iter().any(|device| device.compiles() != compiles) {
            let message = "devices of several platforms cannot share a context";
            return Err(Error::new(PI_INVALID_DEVICE, message));
        }
        Ok(CpuContext {
            devices: devices.into(),
            memory: Memory::new(),
            others: Mutex::default(),
            compiles,
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
        Ok(CpuQueue::new(&context.memory, device, properties))
    }

    fn create_buffer(context: &Ref<Self>, request: BufferRequest<'_>) -> Result<CpuBuffer> {
        CpuBuffer::new(&context.memory, request)
    }

    fn create_program(context: &Ref<Self>, il: &[u8]) -> Result<CpuProgram> {
        CpuProgram::new(&context.memory, il, context.compiles)
    }

    fn link(
        context: &Ref<Self>,
        _: &[Arc<CpuDevice>],
        programs: &[Ref<CpuProgram>],
        options: &str,
    ) -> Result<CpuProgram> {
        CpuProgram::link(&context.memory, programs, options, context.compiles)
    }

    fn create_user_event(_: &Ref<Self>) -> Result<CpuEvent> {
        Ok(CpuEvent::of_the_host())
    }

    fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<&Arc<CpuDevice>>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        let kind = match kind {
            UsmKind::Host => AllocationKind::Host,
            UsmKind::Device => AllocationKind::Device,
            UsmKind::Shared => AllocationKind::Shared,
        };
        // The interface's 0 leaves the alignment to the device.
        let address = self
            .memory
            .allocate(size, alignment.max(1), kind)
            .map_err(memory_error)?;
        let address = address as usize;
        // Of the first, which is the only one of most contexts, nothing has to be noted.
        if let Some(device) = device.filter(|device| !Arc::ptr_eq(device, &self.devices[0])) {
            self.others().insert(address, Arc::clone(device));
        }
        Ok(address)
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
        // Before another allocation can have the address.
        if self.devices.len() > 1 {
            self.others().remove(&address);
        }
        self.memory.free(address as u64).map_err(memory_error)
    }

    fn usm_allocation(&self, address: usize) -> Option<UsmAllocation<Cpu>> {
        let allocation = self.memory.lookup(address as u64)?;
        let kind = match allocation.kind {
            AllocationKind::Host => UsmKind::Host,
            AllocationKind::Device => UsmKind::Device,
            AllocationKind::Shared => UsmKind::Shared,
            _ => return None,
        };
        let base = allocation.base as usize;
        // A host allocation is of the context, and of no device in particular.
        let device = (kind != UsmKind::Host).then(|| self.device_of(base));
        Some(UsmAllocation {
            kind,
            base,
            size: allocation.size as usize,
            device,
        })
    }
}

impl CpuContext {
    fn others(&self) -> MutexGuard<'_, HashMap<usize, Arc<CpuDevice>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device that an allocation was made for.
    fn device_of(&self, base: usize) -> Arc<CpuDevice> {
        let [first, rest @ ..] = &*self.devices else {
            unreachable!("a context has a device");
        };
        match rest {
            [] => Arc::clone(first),
            _ => Arc::clone(self.others().get(&base).unwrap_or(first)),
        }
    }
}
