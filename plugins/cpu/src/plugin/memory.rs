//! Buffers.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRequest, Error, HostTarget, Memory as Buffer, Ref, Result};
use std::sync::Arc;

use super::{Cpu, memory_error};
use crate::{AllocationKind, Memory};

/// Alignment of a part of a buffer, in bytes: the largest type of OpenCL C.
const PART_ALIGNMENT: usize = 128;

/// A buffer: an allocation, the host's own memory, or a part of one of these. Kernels get its address.
pub(crate) struct CpuBuffer {
    address: u64,
    storage: Arc<Storage>,
}

/// What is given back when the last part of a buffer goes.
struct Storage {
    memory: Arc<Memory>,
    address: u64,
    /// Whether the device's memory is told when it goes.
    is_own: bool,
    /// The host's memory, if that is what the buffer uses.
    host: Option<HostTarget>,
}

impl CpuBuffer {
    pub(super) fn new(memory: &Arc<Memory>, request: BufferRequest<'_>) -> Result<CpuBuffer> {
        let BufferRequest {
            size, copy, storage, ..
        } = request;
        let (address, is_own) = match &storage {
            // Registered once more, it would overlap the device's own memory, which is refused.
            Some(host) if is_shared(memory, host) => (host.address() as u64, false),
            Some(host) => {
                register(memory, host).map_err(memory_error)?;
                (host.address() as u64, true)
            }
            None => {
                let allocated = memory.allocate(size, 1, AllocationKind::Buffer);
                (allocated.map_err(memory_error)?, true)
            }
        };
        let storage = Arc::new(Storage {
            memory: Arc::clone(memory),
            address,
            is_own,
            host: storage,
        });
        // With the storage made, which gives the memory back if this fails.
        if let Some(data) = copy {
            memory.write(address, data).map_err(memory_error)?;
        }
        Ok(CpuBuffer { address, storage })
    }

    /// Address of the first byte.
    pub(super) fn address(&self) -> u64 {
        self.address
    }
}

/// Whether the host's memory is within an allocation that the device has made for both, and so knows.
fn is_shared(memory: &Memory, host: &HostTarget) -> bool {
    let known = memory.lookup(host.address() as u64);
    let shared = |kind| matches!(kind, AllocationKind::Host | AllocationKind::Shared);
    known.is_some_and(|allocation| shared(allocation.kind))
        && memory.check(host.address() as u64, host.size() as u64).is_ok()
}

#[expect(
    unsafe_code,
    reason = "the host vouches for its memory, through the interface"
)]
fn register(memory: &Memory, host: &HostTarget) -> Result<(), crate::MemoryError> {
    // SAFETY: the interface has the host keep the memory of such a buffer valid, and leave it to the device,
    // until the buffer is released; and it is released after the commands that use it.
    unsafe { memory.register_host(host.address() as u64, host.size()) }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        match &self.host {
            // Unless the host has freed it, and it has become another allocation meanwhile: a kernel keeps its buffers.
            Some(host) => drop(self.memory.forget_host(self.address, host.size())),
            None => {
                if let Err(error) = self.memory.free(self.address) {
                    tracing::error!(%error, "a buffer's memory is gone before the buffer");
                }
            }
        }
    }
}

impl Buffer<Cpu> for CpuBuffer {
    fn part(buffer: &Ref<Self>, _: pi_mem_flags, origin: usize, _: usize) -> Result<CpuBuffer> {
        if !origin.is_multiple_of(PART_ALIGNMENT) {
            let message = format!("a part starts at byte {origin}, which is no multiple of {PART_ALIGNMENT}");
            return Err(Error::new(PI_MISALIGNED_SUB_BUFFER_OFFSET, message));
        }
        Ok(CpuBuffer {
            address: buffer.address + origin as u64,
            storage: Arc::clone(&buffer.storage),
        })
    }

    fn map_address(&self, offset: usize, _: usize) -> Result<usize> {
        // Device memory is host memory, so mapping it takes nothing.
        Ok(self.address as usize + offset)
    }
}
