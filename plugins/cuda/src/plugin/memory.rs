//! Buffers, and how the host sees them.
//!
//! A buffer is memory of the device; of a context with several devices it is managed, and goes where it is used. A host
//! sees a part of one in pinned memory beside it, which is copied when it is mapped and when it is given back. Host
//! memory that a buffer is to use is made known to the driver, and then the device uses it as it is; where that cannot
//! be done, it is copied as well.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRequest, Error, HostTarget, Memory, Ref, Result};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Cuda;
use super::context::{CudaContext, Place};
use crate::driver::{Allocation, Stream};

/// How the host sees a buffer.
enum HostSide {
    /// At this address, without copies.
    Same(usize),
    /// At this address of its own memory, with copies.
    Own(usize),
    /// In memory beside it, from the first time that it is mapped.
    Beside,
}

/// A range that the host sees.
struct Mapped {
    address: usize,
    offset: usize,
    size: usize,
    is_written: bool,
}

#[derive(Default)]
struct Mappings {
    beside: Option<Allocation>,
    ranges: Vec<Mapped>,
}

/// A buffer, or a part of one.
pub(crate) struct CudaMemory {
    place: Arc<Place>,
    address: usize,
    size: usize,
    host: HostSide,
    mappings: Mutex<Mappings>,
    /// The memory; parts share it.
    allocation: Arc<Allocation>,
    /// The host's memory, if that is used.
    _storage: Option<HostTarget>,
    _whole: Option<Ref<CudaMemory>>,
    _context: Ref<CudaContext>,
}

impl CudaMemory {
    pub(super) fn new(context: &Ref<CudaContext>, request: BufferRequest<'_>) -> Result<CudaMemory> {
        let (place, size) = (context.first(), request.size);
        let primary = &place.primary;
        let storage = request.storage.as_ref().map(HostTarget::address);
        // That the memory is registered already, or cannot be, is no failure: the buffer then has memory of its own.
        let known = storage.and_then(|start| {
            let known = Allocation::registered(primary, start, size);
            known
                .inspect_err(|error| tracing::debug!(%error, "the host's memory is copied"))
                .ok()
        });
        let (allocation, host) = match (known, storage) {
            (Some(known), Some(start)) => (known, HostSide::Same(start)),
            _ if request.flags & PI_MEM_FLAGS_HOST_PTR_ALLOC != 0 => {
                let pinned = Allocation::pinned(primary, size)?;
                let address = pinned.address;
                (pinned, HostSide::Same(address))
            }
            (_, storage) => {
                let allocation = match context.places() {
                    [_] => Allocation::device(primary, size)?,
                    several => {
                        if let Some(without) = several.iter().find(|place| !place.device.has_managed_memory())
                        {
                            let name = without.device.target.to_string();
                            let message = format_args!(
                                "a buffer for several devices, of which {name} has no managed memory"
                            );
                            return Err(Error::unsupported(message));
                        }
                        Allocation::managed(primary, size)?
                    }
                };
                (allocation, storage.map_or(HostSide::Beside, HostSide::Own))
            }
        };
        // Memory of its own begins as a copy of the storage that it stands for.
        let first = match (&host, request.copy) {
            (HostSide::Own(start), _) => Some(*start),
            (_, Some(bytes)) => Some(bytes.as_ptr().expose_provenance()),
            _ => None,
        };
        if let Some(start) = first {
            let stream = Stream::new(primary)?;
            let _current = primary.enter()?;
            // To pinned memory as well: the driver knows whose it is.
            stream.copy_any(allocation.address, start, size)?;
            // The host may change or free what it gave as soon as the buffer is there.
            stream.record(false)?.wait().clone()?;
        }
        let memory = CudaMemory::of(context, allocation, size);
        Ok(CudaMemory {
            host,
            _storage: request.storage,
            ..memory
        })
    }

    /// Memory that is there.
    pub(super) fn of(context: &Ref<CudaContext>, allocation: Allocation, size: usize) -> CudaMemory {
        CudaMemory {
            place: Arc::clone(context.first()),
            address: allocation.address,
            size,
            host: HostSide::Beside,
            mappings: Mutex::default(),
            allocation: Arc::new(allocation),
            _storage: None,
            _whole: None,
            _context: context.clone(),
        }
    }

    /// Where devices have it.
    pub(super) fn address(&self) -> usize {
        self.address
    }

    fn mappings(&self) -> MutexGuard<'_, Mappings> {
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the host a range, at the address that it was told.
    pub(super) fn map(
        &self,
        stream: &Stream,
        flags: pi_map_flags,
        (offset, size): (usize, usize),
        address: usize,
    ) -> Result<()> {
        if let HostSide::Same(_) = self.host {
            return Ok(());
        }
        // With the flag, the host promises to write over all of it.
        if flags & PI_MAP_WRITE_INVALIDATE_REGION == 0 {
            stream.read(address, self.address + offset, size)?;
        }
        self.mappings().ranges.push(Mapped {
            address,
            offset,
            size,
            is_written: flags & (PI_MAP_WRITE | PI_MAP_WRITE_INVALIDATE_REGION) != 0,
        });
        Ok(())
    }

    /// Takes a range back from the host.
    pub(super) fn unmap(&self, stream: &Stream, address: usize) -> Result<()> {
        if let HostSide::Same(_) = self.host {
            return Ok(());
        }
        let mut mappings = self.mappings();
        // The same range may be mapped several times; the last mapping goes first.
        let found = mappings.ranges.iter().rposition(|range| range.address == address);
        let Some(found) = found else {
            let message = format_args!("nothing of the buffer is mapped at {address:#x}");
            return Err(Error::new(PI_INVALID_VALUE, message));
        };
        let range = &mappings.ranges[found];
        if range.is_written {
            stream.write(self.address + range.offset, address, range.size)?;
        }
        // Behind the write, so that a host whose unmapping has failed can try again.
        mappings.ranges.remove(found);
        Ok(())
    }
}

impl Memory<Cuda> for CudaMemory {
    fn part(buffer: &Ref<Self>, _: pi_mem_flags, origin: usize, size: usize) -> Result<CudaMemory> {
        Ok(CudaMemory {
            place: Arc::clone(&buffer.place),
            address: buffer.address + origin,
            size,
            host: match buffer.host {
                HostSide::Same(start) => HostSide::Same(start + origin),
                HostSide::Own(start) => HostSide::Own(start + origin),
                HostSide::Beside => HostSide::Beside,
            },
            // Its own: a host gives a mapping back through the object that it was made with.
            mappings: Mutex::default(),
            allocation: Arc::clone(&buffer.allocation),
            _storage: None,
            _whole: Some(buffer.clone()),
            _context: buffer._context.clone(),
        })
    }

    fn map_address(&self, offset: usize, _: usize) -> Result<usize> {
        match self.host {
            HostSide::Same(start) | HostSide::Own(start) => Ok(start + offset),
            HostSide::Beside => {
                let mut mappings = self.mappings();
                let beside = match &mappings.beside {
                    Some(beside) => beside,
                    // Once for the whole buffer, and kept: pinning memory takes long, and mappings
                    // come again.
                    None => {
                        let beside = Allocation::pinned(&self.place.primary, self.size)?;
                        mappings.beside.insert(beside)
                    }
                };
                Ok(beside.address + offset)
            }
        }
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.address)
    }
}
