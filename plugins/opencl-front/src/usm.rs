//! Unified shared memory, `cl_intel_unified_shared_memory`.

use crate::answer::Place;
use crate::c::{In, Out};
use crate::context::{Context, Said};
use crate::device::Device;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::kernel::Kernel;
use crate::pi::{number, pi};
use crate::queue::{Queue, Submission, submit, submit_nothing, submit_nothing_and_wait};
use crate::transfer::{MIGRATION_FLAGS, is_pattern};
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::*;
use offkit_pi::host::UsmKind;

/// Alignment of allocations that ask for none, in bytes: that of the largest type of OpenCL C.
const ALIGNMENT: cl_uint = 128;

/// Allocates.
pub(crate) fn allocate(
    context: &Context,
    kind: UsmKind,
    device: pi_device,
    size: usize,
    alignment: cl_uint,
) -> Result<*mut c_void> {
    require(size > 0, CL_INVALID_BUFFER_SIZE)?;
    require(alignment == 0 || alignment.is_power_of_two(), CL_INVALID_VALUE)?;
    let alignment = if alignment == 0 { ALIGNMENT } else { alignment };
    let (plugin, raw) = (context.plugin(), context.pi.raw());
    let mut address = core::ptr::null_mut();
    let to = &raw mut address;
    let none = core::ptr::null_mut();
    match kind {
        UsmKind::Host => pi!(plugin, piextUSMHostAlloc(to, raw, none, size, alignment)),
        UsmKind::Device => pi!(
            plugin,
            piextUSMDeviceAlloc(to, raw, device, none, size, alignment)
        ),
        UsmKind::Shared => pi!(
            plugin,
            piextUSMSharedAlloc(to, raw, device, none, size, alignment)
        ),
    }?;
    Ok(address)
}

/// Frees an allocation. Null is none.
pub(crate) fn free(context: &Context, address: *mut c_void) -> Result<()> {
    // Before, for then the address may be another allocation's.
    let said = context.allocations().remove(&address.addr());
    pi!(context.plugin(), piextUSMFree(context.pi.raw(), address)).inspect_err(|_| {
        if let Some(said) = said {
            context.allocations().insert(address.addr(), said);
        }
    })
}

/// Allocates, and keeps what the caller has said.
fn allocate_with(
    context: &Context,
    kind: UsmKind,
    device: pi_device,
    said: Said,
    size: usize,
    alignment: cl_uint,
) -> Result<*mut c_void> {
    let address = allocate(context, kind, device, size, alignment)?;
    if said != Said::default() {
        context.allocations().insert(address.addr(), said);
    }
    Ok(address)
}

/// Refuses what is larger than one of some devices allows.
fn check_size<'a>(size: usize, devices: impl IntoIterator<Item = &'a Object<Device>>) -> Result<()> {
    let fits = |device: &Object<Device>| {
        let [most] = device.object().sizes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
        size <= most
    };
    require(devices.into_iter().all(fits), CL_INVALID_BUFFER_SIZE)
}

/// How many bytes there are from an address to the end of the allocation that it is within; `None` if it is in none.
pub(crate) fn bytes_behind(context: &Context, address: usize) -> Result<Option<usize>> {
    // The type first: an address that is in no allocation is no error, and base and size are 0
    // then.
    if info::<u32>(context, address, PI_MEM_ALLOC_TYPE)? == PI_MEM_TYPE_UNKNOWN {
        return Ok(None);
    }
    let base: usize = info(context, address, PI_MEM_ALLOC_BASE_PTR)?;
    let size: usize = info(context, address, PI_MEM_ALLOC_SIZE)?;
    Ok((base + size).checked_sub(address))
}

fn info<N: Default>(context: &Context, address: usize, name: pi_mem_info) -> Result<N> {
    number(|size, value| {
        let (raw, none) = (context.pi.raw(), core::ptr::null_mut());
        let address = core::ptr::without_provenance(address);
        pi!(
            context.plugin(),
            piextUSMGetMemAllocInfo(raw, address, name, size, value, none)
        )
    })
}

/// Flags that say where an allocation is first; one of them at most.
const PLACEMENT: cl_mem_alloc_flags_intel =
    CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;

/// The flags in the properties of an allocation. They are hints, which change nothing.
fn flags(
    properties: In<cl_mem_properties_intel>,
    known: cl_mem_alloc_flags_intel,
) -> Result<cl_mem_alloc_flags_intel> {
    // With the zero at the end, if there is one, which is no pair.
    let list = properties.pairs();
    let flags = match list[..] {
        [] | [0] => 0,
        [name, flags, 0] if name == u64::from(CL_MEM_ALLOC_FLAGS_INTEL) => flags,
        _ => return fail(CL_INVALID_PROPERTY),
    };
    require(
        flags & !known == 0 && flags & PLACEMENT != PLACEMENT,
        CL_INVALID_PROPERTY,
    )?;
    Ok(flags)
}

pub(crate) fn clHostMemAllocINTEL(
    context: Out<_cl_context>,
    properties: In<cl_mem_properties_intel>,
    size: usize,
    alignment: cl_uint,
) -> Result<*mut c_void> {
    let context = Context::of(context)?;
    let context = context.object();
    let said = Said {
        flags: flags(properties, CL_MEM_ALLOC_WRITE_COMBINED_INTEL)?,
        no_device: false,
    };
    check_size(size, &context.devices)?;
    allocate_with(
        context,
        UsmKind::Host,
        core::ptr::null_mut(),
        said,
        size,
        alignment,
    )
}

pub(crate) fn clDeviceMemAllocINTEL(
    context: Out<_cl_context>,
    device: Out<_cl_device_id>,
    properties: In<cl_mem_properties_intel>,
    size: usize,
    alignment: cl_uint,
) -> Result<*mut c_void> {
    let context = Context::of(context)?;
    let context = context.object();
    let device = context.device(device)?;
    let said = Said {
        flags: flags(properties, CL_MEM_ALLOC_WRITE_COMBINED_INTEL)?,
        no_device: false,
    };
    check_size(size, [device])?;
    let device = device.object().pi.raw();
    allocate_with(context, UsmKind::Device, device, said, size, alignment)
}

pub(crate) fn clSharedMemAllocINTEL(
    context: Out<_cl_context>,
    device: Out<_cl_device_id>,
    properties: In<cl_mem_properties_intel>,
    size: usize,
    alignment: cl_uint,
) -> Result<*mut c_void> {
    let context = Context::of(context)?;
    let context = context.object();
    let no_device = device.is_null();
    // To the plugin, shared memory that begins on no device in particular is on the first.
    let devices = match no_device {
        true => &context.devices[..],
        false => core::slice::from_ref(context.device(device)?),
    };
    let said = Said {
        flags: flags(properties, CL_MEM_ALLOC_WRITE_COMBINED_INTEL | PLACEMENT)?,
        no_device,
    };
    check_size(size, devices)?;
    let device = devices[0].object().pi.raw();
    allocate_with(context, UsmKind::Shared, device, said, size, alignment)
}

pub(crate) fn clMemFreeINTEL(context: Out<_cl_context>, ptr: Out<c_void>) -> Result<()> {
    free(Context::of(context)?.object(), ptr.raw())
}

pub(crate) fn clMemBlockingFreeINTEL(context: Out<_cl_context>, ptr: Out<c_void>) -> Result<()> {
    let record = Context::of(context)?;
    let context = record.object();
    if ptr.is_null() {
        return Ok(());
    }
    // Before it waits, perhaps for what this thread is to do next.
    let base: usize = info(context, ptr.addr(), PI_MEM_ALLOC_BASE_PTR)?;
    require(base == ptr.addr(), CL_INVALID_VALUE)?;
    // All commands, for the plugin does not tell which of them use the allocation.
    context.finish()?;
    free(context, ptr.raw())
}

/// What the caller has said of the allocation that an address is within.
fn said(context: &Context, address: usize) -> Result<Said> {
    let base: usize = info(context, address, PI_MEM_ALLOC_BASE_PTR)?;
    Ok(context.allocations().get(&base).copied().unwrap_or_default())
}

pub(crate) fn clGetMemAllocInfoINTEL(
    context: Out<_cl_context>,
    ptr: In<c_void>,
    param_name: cl_mem_info_intel,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Context::of(context)?;
    let context = record.object();
    let address = ptr.addr();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    match param_name {
        CL_MEM_ALLOC_TYPE_INTEL => place.number(match info(context, address, PI_MEM_ALLOC_TYPE)? {
            PI_MEM_TYPE_HOST => CL_MEM_TYPE_HOST_INTEL,
            PI_MEM_TYPE_DEVICE => CL_MEM_TYPE_DEVICE_INTEL,
            PI_MEM_TYPE_SHARED => CL_MEM_TYPE_SHARED_INTEL,
            _ => CL_MEM_TYPE_UNKNOWN_INTEL,
        }),
        CL_MEM_ALLOC_BASE_PTR_INTEL => place.number(info::<usize>(context, address, PI_MEM_ALLOC_BASE_PTR)?),
        CL_MEM_ALLOC_SIZE_INTEL => place.number(info::<usize>(context, address, PI_MEM_ALLOC_SIZE)?),
        CL_MEM_ALLOC_DEVICE_INTEL => {
            // The plugin's own handle, which means nothing to the caller.
            let device: usize = info(context, address, PI_MEM_ALLOC_DEVICE)?;
            let mut devices = context.devices.iter();
            let is_it = |known: &&Object<Device>| known.object().pi.raw().addr() == device;
            let known = devices.find(is_it).filter(|_| {
                let said = said(context, address);
                said.is_ok_and(|said| !said.no_device)
            });
            place.number(known.map_or(core::ptr::null_mut(), Handle::c))
        }
        CL_MEM_ALLOC_FLAGS_INTEL => place.number(said(context, address)?.flags),
        _ => fail(CL_INVALID_VALUE),
    }
}

pub(crate) fn clSetKernelArgMemPointerINTEL(
    kernel: Out<_cl_kernel>,
    arg_index: cl_uint,
    arg_value: In<c_void>,
) -> Result<()> {
    Kernel::of(kernel)?
        .object()
        .set_pointer(arg_index, arg_value.addr())
}

/// Copies between addresses.
pub(crate) fn copy(
    command_queue: Out<_cl_command_queue>,
    command: cl_command_type,
    blocking: cl_bool,
    target: Out<c_void>,
    source: In<c_void>,
    size: usize,
    to: Submission,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    require(!(target.is_null() || source.is_null()), CL_INVALID_VALUE)?;
    // The plugin interface has this error for buffers, and takes addresses as they come.
    let overlaps = source.addr().abs_diff(target.addr()) < size;
    require(!overlaps, CL_MEM_COPY_OVERLAP)?;
    if size == 0 {
        return submit_nothing_and_wait(&queue, command, blocking, to);
    }
    submit(&queue, command, to, |plugin, raw, count, list, event| {
        pi!(
            plugin,
            piextUSMEnqueueMemcpy(
                raw,
                blocking,
                target.raw(),
                source.raw(),
                size,
                count,
                list,
                event
            )
        )
    })
}

/// Fills memory with repetitions of a pattern, of a length that patterns have.
pub(crate) fn fill(
    command_queue: Out<_cl_command_queue>,
    command: cl_command_type,
    target: Out<c_void>,
    pattern: &[u8],
    size: usize,
    to: Submission,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let fits = size.is_multiple_of(pattern.len()) && target.addr().is_multiple_of(pattern.len());
    require(fits && !target.is_null(), CL_INVALID_VALUE)?;
    if size == 0 {
        return submit_nothing(&queue, command, to);
    }
    submit(
        &queue,
        command,
        to,
        |plugin, raw, count, list, event| match pattern {
            [byte] => {
                let value = i32::from(*byte);
                pi!(
                    plugin,
                    piextUSMEnqueueMemset(raw, target.raw(), value, size, count, list, event)
                )
            }
            // One row of the two-dimensional form.
            pattern => {
                let (length, pattern) = (pattern.len(), pattern.as_ptr().cast());
                pi!(
                    plugin,
                    piextUSMEnqueueFill2D(
                        raw,
                        target.raw(),
                        size,
                        length,
                        pattern,
                        size,
                        1,
                        count,
                        list,
                        event
                    )
                )
            }
        },
    )
}

pub(crate) fn clEnqueueMemFillINTEL(
    command_queue: Out<_cl_command_queue>,
    dst_ptr: Out<c_void>,
    pattern: In<c_void>,
    pattern_size: usize,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    require(is_pattern(pattern_size), CL_INVALID_VALUE)?;
    let pattern = pattern.bytes(pattern_size).ok_or(Failure(CL_INVALID_VALUE))?;
    let to = Submission { count, list, event };
    fill(
        command_queue,
        CL_COMMAND_MEMFILL_INTEL,
        dst_ptr,
        pattern,
        size,
        to,
    )
}

pub(crate) fn clEnqueueMemsetINTEL(
    command_queue: Out<_cl_command_queue>,
    dst_ptr: Out<c_void>,
    value: cl_int,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let to = Submission { count, list, event };
    // As `memset`: the lowest byte.
    fill(
        command_queue,
        CL_COMMAND_MEMFILL_INTEL,
        dst_ptr,
        &[value as u8],
        size,
        to,
    )
}

pub(crate) fn clEnqueueMemcpyINTEL(
    command_queue: Out<_cl_command_queue>,
    blocking: cl_bool,
    dst_ptr: Out<c_void>,
    src_ptr: In<c_void>,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let to = Submission { count, list, event };
    copy(
        command_queue,
        CL_COMMAND_MEMCPY_INTEL,
        blocking,
        dst_ptr,
        src_ptr,
        size,
        to,
    )
}

pub(crate) fn clEnqueueMigrateMemINTEL(
    command_queue: Out<_cl_command_queue>,
    _ptr: In<c_void>,
    _size: usize,
    flags: cl_mem_migration_flags,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    require(flags & !MIGRATION_FLAGS == 0, CL_INVALID_VALUE)?;
    submit_nothing(
        &queue,
        CL_COMMAND_MIGRATEMEM_INTEL,
        Submission { count, list, event },
    )
}

pub(crate) fn clEnqueueMemAdviseINTEL(
    command_queue: Out<_cl_command_queue>,
    _ptr: In<c_void>,
    _size: usize,
    _advice: cl_mem_advice_intel,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    submit_nothing(
        &queue,
        CL_COMMAND_MEMADVISE_INTEL,
        Submission { count, list, event },
    )
}
