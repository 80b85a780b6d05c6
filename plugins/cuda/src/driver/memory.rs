//! Memory of a device or of the host, and copies of boxes.

use core::ffi::c_void;
use core::ptr::{null_mut, with_exposed_provenance_mut};
use offkit_sync::Arc;

use super::functions::*;
use super::primary::unless_lost;
use super::{Primary, Result, Stream, call};

#[derive(Clone, Copy)]
enum Kind {
    /// Of a device, or managed.
    Device,
    /// Of the host, pinned.
    Pinned,
    /// The host's own, made known to the driver.
    Registered,
    /// A host's that keeps it.
    Foreign,
}

/// Memory that the driver has allocated, or knows.
pub(crate) struct Allocation {
    primary: Arc<Primary>,
    kind: Kind,
    /// Where it is given back by.
    start: usize,
    /// Where devices have it.
    pub(crate) address: CUdeviceptr,
}

fn pointer(address: usize) -> *mut c_void {
    with_exposed_provenance_mut(address)
}

impl Allocation {
    fn new(primary: &Arc<Primary>, kind: Kind, start: usize, address: CUdeviceptr) -> Allocation {
        Allocation {
            primary: Arc::clone(primary),
            kind,
            start,
            address,
        }
    }

    /// Memory of the device.
    pub(crate) fn device(primary: &Arc<Primary>, size: usize) -> Result<Allocation> {
        let _current = primary.enter()?;
        let mut address: CUdeviceptr = 0;
        // SAFETY: one place for the address.
        unsafe { call!(primary.driver(), cuMemAlloc_v2(&raw mut address, size)) }?;
        Ok(Allocation::new(primary, Kind::Device, address, address))
    }

    /// Memory that moves between the host and the devices.
    pub(crate) fn managed(primary: &Arc<Primary>, size: usize) -> Result<Allocation> {
        let _current = primary.enter()?;
        let mut address: CUdeviceptr = 0;
        // SAFETY: one place for the address.
        unsafe {
            call!(
                primary.driver(),
                cuMemAllocManaged(&raw mut address, size, CU_MEM_ATTACH_GLOBAL)
            )?;
        }
        Ok(Allocation::new(primary, Kind::Device, address, address))
    }

    /// Memory of the host that all devices reach.
    pub(crate) fn pinned(primary: &Arc<Primary>, size: usize) -> Result<Allocation> {
        let _current = primary.enter()?;
        let mut start = null_mut();
        // For all contexts of the process, as a context of several devices has one allocation for
        // them.
        let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: one place for the address.
        unsafe { call!(primary.driver(), cuMemHostAlloc(&raw mut start, size, flags)) }?;
        let start = start.expose_provenance();
        // With unified addressing, which 64-bit systems have, devices use the host's address.
        Ok(Allocation::new(primary, Kind::Pinned, start, start))
    }

    /// Memory that the host has, for devices to reach.
    pub(crate) fn registered(primary: &Arc<Primary>, start: usize, size: usize) -> Result<Allocation> {
        let _current = primary.enter()?;
        let (mut address, flags): (CUdeviceptr, _) =
            (0, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        // SAFETY: the host has the memory for as long as the buffer is there, which this belongs to.
        unsafe {
            call!(
                primary.driver(),
                cuMemHostRegister_v2(pointer(start), size, flags)
            )?;
        }
        // Made before its address is known, so that the memory is unregistered where the driver has none for it.
        let mut known = Allocation::new(primary, Kind::Registered, start, 0);
        // SAFETY: one place for the address of what has been registered.
        unsafe {
            call!(
                primary.driver(),
                cuMemHostGetDevicePointer_v2(&raw mut address, pointer(start), 0)
            )?;
        }
        known.address = address;
        Ok(known)
    }

    /// Memory that a host has of the driver, and its size.
    pub(crate) fn of_host(
        primary: &Arc<Primary>,
        address: CUdeviceptr,
        is_owned: bool,
    ) -> Result<(Allocation, usize)> {
        let _current = primary.enter()?;
        let (mut base, mut size) = (0, 0);
        // SAFETY: two places for the answers; an address that is none is an error.
        unsafe {
            call!(
                primary.driver(),
                cuMemGetAddressRange_v2(&raw mut base, &raw mut size, address)
            )?;
        }
        let kind = if is_owned { Kind::Device } else { Kind::Foreign };
        // The host's address may lie within an allocation: what is before it is not the buffer's.
        let left = size.saturating_sub(address.saturating_sub(base));
        Ok((Allocation::new(primary, kind, address, address), left))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let driver = self.primary.driver();
        // SAFETY: the memory is this value's, and no command uses it any more: those keep what they use.
        let result = self.primary.enter().and_then(|_current| unsafe {
            match self.kind {
                Kind::Device => call!(driver, cuMemFree_v2(self.start)),
                Kind::Pinned => call!(driver, cuMemFreeHost(pointer(self.start))),
                Kind::Registered => call!(driver, cuMemHostUnregister(pointer(self.start))),
                Kind::Foreign => Ok(()),
            }
        });
        unless_lost(result);
    }
}

/// Copies rows. Their pitches are no smaller than their width.
pub(crate) fn copy_2d(
    stream: &Stream,
    source: Rows,
    target: Rows,
    width: usize,
    height: usize,
) -> Result<()> {
    let copy = CUDA_MEMCPY2D {
        source,
        target,
        width,
        height,
    };
    // SAFETY: both places are there for as long as the copy takes, as `Stream` has it for all its commands.
    unsafe {
        call!(
            stream.driver(),
            cuMemcpy2DAsync_v2(&raw const copy, stream.handle())
        )
    }
}
