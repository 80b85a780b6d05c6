//! Shared virtual memory: shared allocations of the device, which the host reaches as it reaches its own memory.

use crate::c::{In, Out, UserData, call_free};
use crate::context::Context;
use crate::event::Event;
use crate::failure::{Failure, Result, require};
use crate::handle::{Handle, Handled, Object};
use crate::kernel::Kernel;
use crate::pi::pi;
use crate::queue::{Queue, Submission, submit_nothing, submit_nothing_and_wait, submit_part};
use crate::transfer::{MIGRATION_FLAGS, is_pattern};
use crate::usm;
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::{PI_EVENT_COMPLETE, pi_event, pi_int32};
use offkit_pi::host::UsmKind;

/// What the caller may say about an allocation.
const FLAGS: cl_svm_mem_flags = CL_MEM_READ_WRITE
    | CL_MEM_WRITE_ONLY
    | CL_MEM_READ_ONLY
    | CL_MEM_SVM_FINE_GRAIN_BUFFER
    | CL_MEM_SVM_ATOMICS;

pub(crate) fn clSVMAlloc(
    context: Out<_cl_context>,
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
) -> *mut c_void {
    let allocate = || {
        let context = Context::of(context)?;
        let context = context.object();
        // The flags are only checked: device memory is the host's, so that every allocation is as
        // fine as can be.
        let access = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY);
        require(flags & !FLAGS == 0 && access.count_ones() <= 1, CL_INVALID_VALUE)?;
        let atomics_alone = flags & CL_MEM_SVM_ATOMICS != 0 && flags & CL_MEM_SVM_FINE_GRAIN_BUFFER == 0;
        require(!atomics_alone, CL_INVALID_VALUE)?;
        // That of the largest type of OpenCL C.
        require(alignment <= 128, CL_INVALID_VALUE)?;
        let device = &context.devices[0];
        let [most] = device.object().sizes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
        require(size <= most, CL_INVALID_VALUE)?;
        usm::allocate(
            context,
            UsmKind::Shared,
            device.object().pi.raw(),
            size,
            alignment,
        )
    };
    allocate().unwrap_or(core::ptr::null_mut())
}

pub(crate) fn clSVMFree(context: Out<_cl_context>, svm_pointer: Out<c_void>) {
    if let Ok(context) = Context::of(context) {
        // There is nobody to be told.
        let _ = usm::free(context.object(), svm_pointer.raw());
    }
}

/// Allocations that are freed when a command comes to it.
struct Freeing {
    // A reference: the caller's function gets the handle, also of a queue that was released
    // meanwhile.
    queue: Object<Queue>,
    pointers: Vec<*mut c_void>,
    function: SvmNotify,
    data: UserData,
    /// Set when they are freed.
    freed: Object<Event>,
}

/// Frees allocations.
///
/// # Safety
///
/// `data` must be a [`Freeing`] in a box that is given away.
unsafe extern "C" fn free_now(_: pi_event, status: pi_int32, data: *mut c_void) {
    // SAFETY: by the caller's promise.
    let mut freeing = unsafe { Box::from_raw(data.cast::<Freeing>()) };
    // What it waited for has failed: the command was not carried out, and the caller still has the allocations.
    if status < 0 {
        let _ = freeing.freed.object().set(status);
        return;
    }
    let freeing = &mut *freeing;
    match freeing.function {
        Some(function) => {
            let queue = freeing.queue.c();
            call_free(function, queue, &mut freeing.pointers, freeing.data);
        }
        None => {
            for pointer in &freeing.pointers {
                let _ = usm::free(freeing.queue.object().context.object(), *pointer);
            }
        }
    }
    let _ = freeing.freed.object().set(CL_COMPLETE);
}

pub(crate) fn clEnqueueSVMFree(
    command_queue: Out<_cl_command_queue>,
    num_svm_pointers: cl_uint,
    svm_pointers: Out<*mut c_void>,
    pfn_free_func: SvmNotify,
    user_data: Out<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let pointers = svm_pointers.as_in();
    let pointers = pointers.list(num_svm_pointers).ok_or(Failure(CL_INVALID_VALUE))?;
    let freed = Event::of_user(queue.object().context.clone())?.insert()?;
    let freeing = Box::new(Freeing {
        queue: queue.clone(),
        pointers: pointers.to_vec(),
        function: pfn_free_func,
        data: UserData::new(user_data),
        freed: freed.clone(),
    });
    // Two commands: the caller's function is called when the first is over, and the second, which the caller knows, waits
    // for it. Otherwise the command would be complete, and `clFinish` return, before anything is freed.
    let first = submit_part(queue.object(), count, list)?;
    let data = Box::into_raw(freeing);
    let set = pi!(
        queue.object().plugin(),
        piEventSetCallback(first.raw(), PI_EVENT_COMPLETE, Some(free_now), data.cast())
    );
    if set.is_err() {
        // SAFETY: made above, and not given away.
        drop(unsafe { Box::from_raw(data) });
    }
    set?;
    let list = freed.c();
    let (count, list) = (1, In::from_pointer(&raw const list));
    submit_nothing(&queue, CL_COMMAND_SVM_FREE, Submission { count, list, event })
}

pub(crate) fn clEnqueueSVMMemcpy(
    command_queue: Out<_cl_command_queue>,
    blocking_copy: cl_bool,
    dst_ptr: Out<c_void>,
    src_ptr: In<c_void>,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let to = Submission { count, list, event };
    usm::copy(
        command_queue,
        CL_COMMAND_SVM_MEMCPY,
        blocking_copy,
        dst_ptr,
        src_ptr,
        size,
        to,
    )
}

pub(crate) fn clEnqueueSVMMemFill(
    command_queue: Out<_cl_command_queue>,
    svm_ptr: Out<c_void>,
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
    usm::fill(command_queue, CL_COMMAND_SVM_MEMFILL, svm_ptr, pattern, size, to)
}

pub(crate) fn clEnqueueSVMMap(
    command_queue: Out<_cl_command_queue>,
    blocking_map: cl_bool,
    flags: cl_map_flags,
    svm_ptr: Out<c_void>,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    require(
        !svm_ptr.is_null() && size > 0 && flags & !known == 0,
        CL_INVALID_VALUE,
    )?;
    let invalidates = flags & CL_MAP_WRITE_INVALIDATE_REGION != 0;
    require(
        !(invalidates && flags & (CL_MAP_READ | CL_MAP_WRITE) != 0),
        CL_INVALID_VALUE,
    )?;
    let to = Submission { count, list, event };
    submit_nothing_and_wait(&queue, CL_COMMAND_SVM_MAP, blocking_map, to)
}

pub(crate) fn clEnqueueSVMUnmap(
    command_queue: Out<_cl_command_queue>,
    svm_ptr: Out<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    require(!svm_ptr.is_null(), CL_INVALID_VALUE)?;
    submit_nothing(&queue, CL_COMMAND_SVM_UNMAP, Submission { count, list, event })
}

pub(crate) fn clEnqueueSVMMigrateMem(
    command_queue: Out<_cl_command_queue>,
    num_svm_pointers: cl_uint,
    svm_pointers: Out<*const c_void>,
    sizes: In<usize>,
    flags: cl_mem_migration_flags,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let pointers = svm_pointers.as_in();
    let pointers = pointers.list(num_svm_pointers).ok_or(Failure(CL_INVALID_VALUE))?;
    require(
        !pointers.is_empty() && flags & !MIGRATION_FLAGS == 0,
        CL_INVALID_VALUE,
    )?;
    let context = queue.object().context.object();
    let sizes = sizes.slice(pointers.len()).unwrap_or_default();
    // Without a size, or with 0, it is the whole allocation.
    for (pointer, size) in pointers.iter().zip(sizes).filter(|(_, size)| **size > 0) {
        let behind = usm::bytes_behind(context, pointer.expose_provenance())?;
        require(behind.is_some_and(|behind| *size <= behind), CL_INVALID_VALUE)?;
    }
    submit_nothing(
        &queue,
        CL_COMMAND_SVM_MIGRATE_MEM,
        Submission { count, list, event },
    )
}

pub(crate) fn clSetKernelArgSVMPointer(
    kernel: Out<_cl_kernel>,
    arg_index: cl_uint,
    arg_value: In<c_void>,
) -> Result<()> {
    Kernel::of(kernel)?
        .object()
        .set_pointer(arg_index, arg_value.addr())
}
