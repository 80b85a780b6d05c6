//! Commands that read, write, copy, fill and map buffers.

use crate::c::{In, Out};
use crate::failure::{Failure, Result, require};
use crate::handle::{Handled, Object};
use crate::memory::Memory;
use crate::pi::pi;
use crate::queue::{Queue, Submission, submit, submit_nothing, submit_nothing_and_wait};
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::{pi_buff_rect_offset_struct, pi_buff_rect_region_struct};

/// A queue, and a buffer of its context.
fn operands(queue: Out<_cl_command_queue>, memory: Out<_cl_mem>) -> Result<(Object<Queue>, Object<Memory>)> {
    let queue = Queue::of(queue)?;
    let memory = Memory::of(memory)?;
    queue.object().check_context(&memory.object().context)?;
    Ok((queue, memory))
}

pub(crate) fn clEnqueueReadBuffer(
    command_queue: Out<_cl_command_queue>,
    buffer: Out<_cl_mem>,
    blocking_read: cl_bool,
    offset: usize,
    size: usize,
    ptr: Out<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, memory) = operands(command_queue, buffer)?;
    let memory = memory.object();
    require(!ptr.is_null(), CL_INVALID_VALUE)?;
    memory.check_range(offset, size)?;
    memory.check_host_access(CL_MEM_HOST_WRITE_ONLY)?;
    let to = Submission { count, list, event };
    // To OpenCL 3.0 it is a command that does nothing, to the plugin an error.
    if size == 0 {
        return submit_nothing_and_wait(&queue, CL_COMMAND_READ_BUFFER, blocking_read, to);
    }
    submit(
        &queue,
        CL_COMMAND_READ_BUFFER,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferRead(
                    raw,
                    memory.raw(),
                    blocking_read,
                    offset,
                    size,
                    ptr.raw(),
                    count,
                    list,
                    event
                )
            )
        },
    )
}

pub(crate) fn clEnqueueWriteBuffer(
    command_queue: Out<_cl_command_queue>,
    buffer: Out<_cl_mem>,
    blocking_write: cl_bool,
    offset: usize,
    size: usize,
    ptr: In<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, memory) = operands(command_queue, buffer)?;
    let memory = memory.object();
    require(!ptr.is_null(), CL_INVALID_VALUE)?;
    memory.check_range(offset, size)?;
    memory.check_host_access(CL_MEM_HOST_READ_ONLY)?;
    let to = Submission { count, list, event };
    if size == 0 {
        return submit_nothing_and_wait(&queue, CL_COMMAND_WRITE_BUFFER, blocking_write, to);
    }
    submit(
        &queue,
        CL_COMMAND_WRITE_BUFFER,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferWrite(
                    raw,
                    memory.raw(),
                    blocking_write,
                    offset,
                    size,
                    ptr.raw(),
                    count,
                    list,
                    event
                )
            )
        },
    )
}

pub(crate) fn clEnqueueCopyBuffer(
    command_queue: Out<_cl_command_queue>,
    src_buffer: Out<_cl_mem>,
    dst_buffer: Out<_cl_mem>,
    src_offset: usize,
    dst_offset: usize,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, source) = operands(command_queue, src_buffer)?;
    let (_, target) = operands(command_queue, dst_buffer)?;
    let (source, target) = (source.object(), target.object());
    source.check_range(src_offset, size)?;
    target.check_range(dst_offset, size)?;
    let to = Submission { count, list, event };
    if size == 0 {
        return submit_nothing(&queue, CL_COMMAND_COPY_BUFFER, to);
    }
    submit(
        &queue,
        CL_COMMAND_COPY_BUFFER,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferCopy(
                    raw,
                    source.raw(),
                    target.raw(),
                    src_offset,
                    dst_offset,
                    size,
                    count,
                    list,
                    event
                )
            )
        },
    )
}

/// Where a box begins.
fn origin(place: In<usize>) -> Result<pi_buff_rect_offset_struct> {
    match place.slice(3) {
        Some(&[x_bytes, y_scalar, z_scalar]) => Ok(pi_buff_rect_offset_struct {
            x_bytes,
            y_scalar,
            z_scalar,
        }),
        _ => Err(Failure(CL_INVALID_VALUE)),
    }
}

/// The size of a box.
fn extent(region: In<usize>) -> Result<pi_buff_rect_region_struct> {
    match region.slice(3) {
        Some(&[width_bytes, height_scalar, depth_scalar]) => Ok(pi_buff_rect_region_struct {
            width_bytes,
            height_scalar,
            depth_scalar,
        }),
        _ => Err(Failure(CL_INVALID_VALUE)),
    }
}

pub(crate) fn clEnqueueReadBufferRect(
    command_queue: Out<_cl_command_queue>,
    buffer: Out<_cl_mem>,
    blocking_read: cl_bool,
    buffer_origin: In<usize>,
    host_origin: In<usize>,
    region: In<usize>,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    ptr: Out<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, memory) = operands(command_queue, buffer)?;
    let memory = memory.object();
    require(!ptr.is_null(), CL_INVALID_VALUE)?;
    // Whether the box is within the buffer the plugin says, which fills in pitches that are 0.
    let (mut from, mut into, mut region) = (origin(buffer_origin)?, origin(host_origin)?, extent(region)?);
    memory.check_host_access(CL_MEM_HOST_WRITE_ONLY)?;
    let to = Submission { count, list, event };
    submit(
        &queue,
        CL_COMMAND_READ_BUFFER_RECT,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferReadRect(
                    raw,
                    memory.raw(),
                    blocking_read,
                    &raw mut from,
                    &raw mut into,
                    &raw mut region,
                    buffer_row_pitch,
                    buffer_slice_pitch,
                    host_row_pitch,
                    host_slice_pitch,
                    ptr.raw(),
                    count,
                    list,
                    event
                )
            )
        },
    )
}

pub(crate) fn clEnqueueWriteBufferRect(
    command_queue: Out<_cl_command_queue>,
    buffer: Out<_cl_mem>,
    blocking_write: cl_bool,
    buffer_origin: In<usize>,
    host_origin: In<usize>,
    region: In<usize>,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    ptr: In<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, memory) = operands(command_queue, buffer)?;
    let memory = memory.object();
    require(!ptr.is_null(), CL_INVALID_VALUE)?;
    let (mut into, mut from, mut region) = (origin(buffer_origin)?, origin(host_origin)?, extent(region)?);
    memory.check_host_access(CL_MEM_HOST_READ_ONLY)?;
    let to = Submission { count, list, event };
    submit(
        &queue,
        CL_COMMAND_WRITE_BUFFER_RECT,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferWriteRect(
                    raw,
                    memory.raw(),
                    blocking_write,
                    &raw mut into,
                    &raw mut from,
                    &raw mut region,
                    buffer_row_pitch,
                    buffer_slice_pitch,
                    host_row_pitch,
                    host_slice_pitch,
                    ptr.raw(),
                    count,
                    list,
                    event
                )
            )
        },
    )
}

pub(crate) fn clEnqueueCopyBufferRect(
    command_queue: Out<_cl_command_queue>,
    src_buffer: Out<_cl_mem>,
    dst_buffer: Out<_cl_mem>,
    src_origin: In<usize>,
    dst_origin: In<usize>,
    region: In<usize>,
    src_row_pitch: usize,
    src_slice_pitch: usize,
    dst_row_pitch: usize,
    dst_slice_pitch: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, source) = operands(command_queue, src_buffer)?;
    let (_, target) = operands(command_queue, dst_buffer)?;
    let (source, target) = (source.object(), target.object());
    let (mut from, mut into, mut region) = (origin(src_origin)?, origin(dst_origin)?, extent(region)?);
    let to = Submission { count, list, event };
    submit(
        &queue,
        CL_COMMAND_COPY_BUFFER_RECT,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferCopyRect(
                    raw,
                    source.raw(),
                    target.raw(),
                    &raw mut from,
                    &raw mut into,
                    &raw mut region,
                    src_row_pitch,
                    src_slice_pitch,
                    dst_row_pitch,
                    dst_slice_pitch,
                    count,
                    list,
                    event
                )
            )
        },
    )
}

/// What may be said of a migration.
pub(crate) const MIGRATION_FLAGS: cl_mem_migration_flags =
    CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;

/// Sizes of patterns: those of the types of OpenCL C.
pub(crate) fn is_pattern(size: usize) -> bool {
    size.is_power_of_two() && size <= 128
}

pub(crate) fn clEnqueueFillBuffer(
    command_queue: Out<_cl_command_queue>,
    buffer: Out<_cl_mem>,
    pattern: In<c_void>,
    pattern_size: usize,
    offset: usize,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, memory) = operands(command_queue, buffer)?;
    let memory = memory.object();
    require(!pattern.is_null() && is_pattern(pattern_size), CL_INVALID_VALUE)?;
    let fits = offset.is_multiple_of(pattern_size) && size.is_multiple_of(pattern_size);
    require(fits, CL_INVALID_VALUE)?;
    memory.check_range(offset, size)?;
    let to = Submission { count, list, event };
    if size == 0 {
        return submit_nothing(&queue, CL_COMMAND_FILL_BUFFER, to);
    }
    submit(
        &queue,
        CL_COMMAND_FILL_BUFFER,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferFill(
                    raw,
                    memory.raw(),
                    pattern.raw(),
                    pattern_size,
                    offset,
                    size,
                    count,
                    list,
                    event
                )
            )
        },
    )
}

pub(crate) fn clEnqueueMigrateMemObjects(
    command_queue: Out<_cl_command_queue>,
    num_mem_objects: cl_uint,
    mem_objects: In<cl_mem>,
    flags: cl_mem_migration_flags,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let queue = Queue::of(command_queue)?;
    let handles = mem_objects
        .list(num_mem_objects)
        .ok_or(Failure(CL_INVALID_VALUE))?;
    require(
        !handles.is_empty() && flags & !MIGRATION_FLAGS == 0,
        CL_INVALID_VALUE,
    )?;
    // Only looked at: host and device have the same memory, so that nothing moves.
    for handle in handles {
        operands(command_queue, Out::from_pointer(*handle))?;
    }
    submit_nothing(
        &queue,
        CL_COMMAND_MIGRATE_MEM_OBJECTS,
        Submission { count, list, event },
    )
}

pub(crate) fn clEnqueueMapBuffer(
    command_queue: Out<_cl_command_queue>,
    buffer: Out<_cl_mem>,
    blocking_map: cl_bool,
    map_flags: cl_map_flags,
    offset: usize,
    size: usize,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<*mut c_void> {
    let (queue, memory) = operands(command_queue, buffer)?;
    let memory = memory.object();
    let known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    require(map_flags & !known == 0 && size > 0, CL_INVALID_VALUE)?;
    let invalidates = map_flags & CL_MAP_WRITE_INVALIDATE_REGION != 0;
    require(
        !(invalidates && map_flags & (CL_MAP_READ | CL_MAP_WRITE) != 0),
        CL_INVALID_VALUE,
    )?;
    memory.check_range(offset, size)?;
    if map_flags & CL_MAP_READ != 0 {
        memory.check_host_access(CL_MEM_HOST_WRITE_ONLY)?;
    }
    if map_flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0 {
        memory.check_host_access(CL_MEM_HOST_READ_ONLY)?;
    }
    let to = Submission { count, list, event };
    let mut address = core::ptr::null_mut();
    let place = &raw mut address;
    submit(
        &queue,
        CL_COMMAND_MAP_BUFFER,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemBufferMap(
                    raw,
                    memory.raw(),
                    blocking_map,
                    map_flags,
                    offset,
                    size,
                    count,
                    list,
                    event,
                    place
                )
            )
        },
    )?;
    // Behind the submission, which gives the address: before that nobody can know it, and so unmap
    // it.
    memory.note_mapped(address.addr());
    Ok(address)
}

pub(crate) fn clEnqueueUnmapMemObject(
    command_queue: Out<_cl_command_queue>,
    memobj: Out<_cl_mem>,
    mapped_ptr: Out<c_void>,
    count: cl_uint,
    list: In<cl_event>,
    event: Out<cl_event>,
) -> Result<()> {
    let (queue, memory) = operands(command_queue, memobj)?;
    let memory = memory.object();
    // Forgotten first, so that of two threads only one can give the same mapping back.
    require(memory.forget_mapped(mapped_ptr.addr()), CL_INVALID_VALUE)?;
    let to = Submission { count, list, event };
    submit(
        &queue,
        CL_COMMAND_UNMAP_MEM_OBJECT,
        to,
        |plugin, raw, count, list, event| {
            pi!(
                plugin,
                piEnqueueMemUnmap(raw, memory.raw(), mapped_ptr.raw(), count, list, event)
            )
        },
    )
    .inspect_err(|_| memory.note_mapped(mapped_ptr.addr()))
}
