//! Unified shared memory: allocations outside any object, known by address.

use super::command::Command;
use super::context::device_of;
use super::enqueue::Submission;
use super::shim::{array, non_null};
use super::state::{self, Registered};
use super::{Context, Error, Info, Plugin, Result};
use crate::ffi::*;
use crate::host::UsmKind;
use core::ffi::c_void;
use std::sync::Arc;

/// An allocation of unified shared memory.
pub struct UsmAllocation<P: Plugin> {
    /// Who can reach it.
    pub kind: UsmKind,
    /// Address of its first byte.
    pub base: usize,
    /// Size in bytes.
    pub size: usize,
    /// The device it was made for; `None` for host memory.
    pub device: Option<Arc<P::Device>>,
}

/// Allocates, and writes the address to where the host wants it.
///
/// # Safety
///
/// `result` must be null or valid for writing.
unsafe fn allocate<P: Registered>(
    kind: UsmKind,
    result: *mut *mut c_void,
    context: pi_context,
    device: Option<pi_device>,
    size: usize,
    alignment: pi_uint32,
) -> Result<()> {
    non_null(result, "result_ptr")?;
    let context = state::context::<P>(context)?;
    let device = device.map(|device| device_of(&context, device)).transpose()?;
    if size == 0 {
        return Err(Error::new(PI_INVALID_BUFFER_SIZE, "an allocation of 0 bytes"));
    }
    if alignment != 0 && !alignment.is_power_of_two() {
        return Err(Error::new(
            PI_INVALID_VALUE,
            format_args!("an alignment of {alignment} bytes"),
        ));
    }
    let object = device.as_ref().map(|device| &**device.object());
    let address = context
        .object()
        .allocate_usm(kind, object, size, alignment as usize)?;
    // Hosts ask whose it is, and a part of a device is on no list.
    if let Some(part) = device.filter(|device| !context.details().devices.contains(device)) {
        context.details().parts().insert(address, part);
    }
    // SAFETY: not null, so valid by the caller's promise.
    unsafe { result.write(core::ptr::with_exposed_provenance_mut(address)) };
    Ok(())
}

pub(super) unsafe fn piextUSMHostAlloc<P: Registered>(
    result: *mut *mut c_void,
    context: pi_context,
    _properties: *mut pi_usm_mem_properties,
    size: usize,
    alignment: pi_uint32,
) -> Result<()> {
    // SAFETY: the host passes a place for the address, or null.
    unsafe { allocate::<P>(UsmKind::Host, result, context, None, size, alignment) }
}

pub(super) unsafe fn piextUSMDeviceAlloc<P: Registered>(
    result: *mut *mut c_void,
    context: pi_context,
    device: pi_device,
    _properties: *mut pi_usm_mem_properties,
    size: usize,
    alignment: pi_uint32,
) -> Result<()> {
    // SAFETY: as above.
    unsafe { allocate::<P>(UsmKind::Device, result, context, Some(device), size, alignment) }
}

pub(super) unsafe fn piextUSMSharedAlloc<P: Registered>(
    result: *mut *mut c_void,
    context: pi_context,
    device: pi_device,
    _properties: *mut pi_usm_mem_properties,
    size: usize,
    alignment: pi_uint32,
) -> Result<()> {
    // SAFETY: as above.
    unsafe { allocate::<P>(UsmKind::Shared, result, context, Some(device), size, alignment) }
}

pub(super) fn piextUSMFree<P: Registered>(context: pi_context, pointer: *mut c_void) -> Result<()> {
    let context = state::context::<P>(context)?;
    // As `free` has it.
    if pointer.is_null() {
        Ok(())
    } else {
        // Before it is free: another thread may get the address then.
        let _part = context.details().parts().remove(&pointer.addr());
        context.object().free_usm(pointer.addr())
    }
}

pub(super) fn piextUSMGetMemAllocInfo<P: Registered>(
    context: pi_context,
    pointer: *const c_void,
    name: pi_mem_info,
) -> Result<Info> {
    let context = state::context::<P>(context)?;
    let allocation = context.object().usm_allocation(pointer.addr());
    let device = allocation
        .as_ref()
        .and_then(|allocation| allocation.device.as_ref());
    // An address outside all allocations is no error: it is memory of an unknown type.
    Ok(match name {
        PI_MEM_ALLOC_TYPE => match allocation.as_ref().map(|allocation| allocation.kind) {
            None => PI_MEM_TYPE_UNKNOWN,
            Some(UsmKind::Host) => PI_MEM_TYPE_HOST,
            Some(UsmKind::Device) => PI_MEM_TYPE_DEVICE,
            Some(UsmKind::Shared) => PI_MEM_TYPE_SHARED,
        }
        .into(),
        PI_MEM_ALLOC_BASE_PTR => allocation.map_or(0, |allocation| allocation.base).into(),
        PI_MEM_ALLOC_SIZE => allocation.map_or(0, |allocation| allocation.size).into(),
        PI_MEM_ALLOC_DEVICE => {
            let devices = &context.details().devices;
            let known = devices
                .iter()
                .find(|known| device.is_some_and(|device| Arc::ptr_eq(known.object(), device)));
            let parts = context.details().parts();
            let part = || parts.get(&allocation.as_ref()?.base);
            known.or_else(part).map_or(0, |device| device.handle()).into()
        }
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) fn piextUSMEnqueueMemset<P: Registered>(
    queue: pi_queue,
    pointer: *mut c_void,
    value: pi_int32,
    count: usize,
) -> Result<Submission<P>> {
    non_null(pointer, "ptr")?;
    // The address is exposed, for plugins whose memory is the host's make a pointer of it again.
    // The interface takes the lowest byte.
    let command = Command::FillUsm {
        address: pointer.expose_provenance(),
        pattern: [value as u8].as_slice().into(),
        size: count,
    };
    Ok(Submission::new(state::queue(queue)?, command))
}

pub(super) unsafe fn piextUSMEnqueueFill2D<P: Registered>(
    queue: pi_queue,
    pointer: *mut c_void,
    pitch: usize,
    pattern_size: usize,
    pattern: *const c_void,
    width: usize,
    height: usize,
) -> Result<Submission<P>> {
    non_null(pointer, "ptr")?;
    // One row, or rows without gaps, are one fill. Contexts tell hosts that there is no other here.
    if height != 1 && pitch != width {
        return Err(Error::unsupported("filling rows with gaps between them"));
    }
    let size = width.checked_mul(height);
    let size = size.filter(|size| pattern_size > 0 && size.is_multiple_of(pattern_size));
    let size = size.ok_or_else(|| {
        let message = format_args!("{height} rows of {width} bytes are no multiple of {pattern_size} bytes");
        Error::new(PI_INVALID_VALUE, message)
    })?;
    // SAFETY: the host passes `pattern_size` bytes.
    let pattern = unsafe { array(pattern.cast::<u8>(), pattern_size, "pattern") }?.into();
    let address = pointer.expose_provenance();
    let command = Command::FillUsm {
        address,
        pattern,
        size,
    };
    Ok(Submission::new(state::queue(queue)?, command))
}

pub(super) fn piextUSMEnqueueMemcpy<P: Registered>(
    queue: pi_queue,
    blocking: pi_bool,
    target: *mut c_void,
    source: *const c_void,
    size: usize,
) -> Result<Submission<P>> {
    if size > 0 {
        non_null(target, "dst_ptr")?;
        non_null(source.cast_mut(), "src_ptr")?;
    }
    let (source, target) = (source.expose_provenance(), target.expose_provenance());
    let command = Command::CopyUsm { source, target, size };
    Ok(Submission::new(state::queue(queue)?, command).blocking(blocking))
}

pub(super) fn piextUSMEnqueuePrefetch<P: Registered>(
    queue: pi_queue,
    pointer: *const c_void,
    size: usize,
    _flags: pi_usm_migration_flags,
) -> Result<Submission<P>> {
    let command = Command::PrefetchUsm {
        address: pointer.addr(),
        size,
    };
    Ok(Submission::new(state::queue(queue)?, command))
}

pub(super) unsafe fn piextUSMEnqueueMemAdvise<P: Registered>(
    queue: pi_queue,
    pointer: *const c_void,
    size: usize,
    advice: pi_mem_advice,
    event: *mut pi_event,
) -> Result<()> {
    let command = Command::AdviseUsm {
        address: pointer.addr(),
        size,
        advice,
    };
    // SAFETY: there is no wait list; the host passes an event as the interface says.
    unsafe { Submission::<P>::new(state::queue(queue)?, command).submit(0, core::ptr::null(), event) }
}
