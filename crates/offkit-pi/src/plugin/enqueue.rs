//! The functions that submit commands.

use super::command::{Command, Mapping};
use super::event::wait;
use super::host_memory::{HostSource, HostTarget};
use super::memory::{buffer_record, check_range};
use super::shim::{array, give, non_null, with_each};
use super::slab::Ref;
use super::state::{self, ContextRecord, MemoryRecord, QueueRecord, Registered};
use super::{Error, NewEvent, Queue, Result};
use crate::NdRange;
use crate::ffi::*;
use core::ffi::c_void;

/// A command on its way to a queue.
pub(super) struct Submission<P: Registered> {
    queue: QueueRecord<P>,
    command: Command<P>,
    blocking: bool,
}

/// The queue of a command that uses something of a context, which must be the queue's.
pub(super) fn queue_in<P: Registered>(queue: pi_queue, context: &ContextRecord<P>) -> Result<QueueRecord<P>> {
    let queue = state::queue::<P>(queue)?;
    same_context(&queue, context)?;
    Ok(queue)
}

/// Refuses what is of another context than the queue it goes to.
pub(super) fn same_context<P: Registered>(queue: &QueueRecord<P>, context: &ContextRecord<P>) -> Result<()> {
    if queue.details().context == *context {
        return Ok(());
    }
    Err(Error::new(
        PI_INVALID_CONTEXT,
        "something the command uses is of another context than the queue",
    ))
}

/// Calls a function with the events of a wait list, of whatever context.
///
/// # Safety
///
/// `list` must be null or have `count` handles.
unsafe fn with_wait_list<P: Registered, R>(
    count: pi_uint32,
    list: *const pi_event,
    body: impl FnOnce(&[Ref<P::Event>]) -> Result<R>,
) -> Result<R> {
    // OpenCL has one code for all that can be wrong with a wait list.
    let invalid = |error: Error| {
        let message = format_args!("the wait list is not one of events: {}", error.message);
        Error::new(PI_INVALID_EVENT_WAIT_LIST, message)
    };
    let event = |handle: &pi_event| {
        let event = state::event::<P>(*handle).map_err(invalid)?;
        Ok(event.into_object())
    };
    // SAFETY: by the caller's promise.
    let handles = unsafe { array(list, count as usize, "event_wait_list") }.map_err(invalid)?;
    with_each(handles, event, body)
}

impl<P: Registered> Submission<P> {
    pub(super) fn new(queue: QueueRecord<P>, command: Command<P>) -> Self {
        Submission {
            queue,
            command,
            blocking: false,
        }
    }

    /// Waits for the command if the host asks for that.
    pub(super) fn blocking(self, blocking: pi_bool) -> Self {
        Submission {
            blocking: blocking != PI_FALSE,
            ..self
        }
    }

    /// Hands the command to the queue, and its event to the host.
    ///
    /// # Safety
    ///
    /// `list` must be null or have `count` handles, and `event` be null or valid for writing.
    pub(super) unsafe fn submit(
        self,
        count: pi_uint32,
        list: *const pi_event,
        event: *mut pi_event,
    ) -> Result<()> {
        let Submission {
            queue,
            command,
            blocking,
        } = self;
        let (queue, command_type) = (&queue, command.command_type());
        let enqueue = |wait: &[Ref<P::Event>], new: NewEvent<'_, P>| {
            P::Queue::enqueue(queue.object(), command, wait, new)
        };
        // SAFETY: by the caller's promise.
        unsafe { submit(queue, command_type, blocking, (count, list), event, enqueue) }
    }
}

/// Has a command submitted, and hands its event to the host.
///
/// # Safety
///
/// The list must be null or have as many handles as are said, and `event` be null or valid for writing.
#[inline]
unsafe fn submit<P: Registered, R>(
    queue: &QueueRecord<P>,
    command_type: pi_command_type,
    blocking: bool,
    (count, list): (pi_uint32, *const pi_event),
    event: *mut pi_event,
    enqueue: impl FnOnce(&[Ref<P::Event>], NewEvent<'_, P>) -> Result<R>,
) -> Result<R> {
    // Nobody can ask for an event that the host does not get: a command that is done at once needs none.
    let wanted = blocking || !event.is_null();
    let mut made = None;
    let enqueue = |wait: &[Ref<P::Event>]| {
        let new = NewEvent {
            events: &P::state().events,
            queue,
            command_type,
            wanted,
            made: &mut made,
        };
        enqueue(wait, new)
    };
    // SAFETY: by the caller's promise.
    let result = unsafe { with_wait_list::<P, _>(count, list, enqueue) }?;
    if !wanted {
        return Ok(result);
    }
    let record = made.ok_or_else(|| Error::new(PI_ERROR_UNKNOWN, "the plugin has made no event"))?;
    if blocking {
        // The result tells of a failure, and the host gets no event then that it would have to release.
        wait::<P>(record.object())?;
    }
    if !event.is_null() {
        // SAFETY: not null, so valid for writing.
        unsafe { give(event, record) };
    }
    Ok(result)
}

/// The buffer that holds the bytes of a buffer or of a part of one, and where they start in it.
pub(super) fn place<P: Registered>(memory: &MemoryRecord<P>) -> (&MemoryRecord<P>, usize) {
    // One step is enough: parts of parts are refused when they are to be made.
    match &memory.details().parent {
        Some((parent, origin)) => (parent, *origin),
        None => (memory, 0),
    }
}

/// A buffer, with a range that must be within it.
pub(super) fn buffer<P: Registered>(handle: pi_mem, offset: usize, size: usize) -> Result<MemoryRecord<P>> {
    let record = buffer_record::<P>(handle)?;
    if size == 0 {
        return Err(Error::new(PI_INVALID_VALUE, "a range of 0 bytes"));
    }
    check_range(record.details(), offset, size)?;
    Ok(record)
}

pub(super) unsafe fn piEnqueueKernelLaunch<P: Registered>(
    queue: pi_queue,
    kernel: pi_kernel,
    work_dim: pi_uint32,
    global_work_offset: *const usize,
    global_work_size: *const usize,
    local_work_size: *const usize,
) -> Result<Submission<P>> {
    let kernel = state::kernel::<P>(kernel)?;
    if !(1..=3).contains(&work_dim) {
        return Err(Error::new(
            PI_INVALID_WORK_DIMENSION,
            format_args!("{work_dim} dimensions"),
        ));
    }
    // SAFETY: the host passes as many sizes as there are dimensions, or null where that is allowed.
    let sizes = |pointer: *const usize, padding| unsafe {
        let mut sizes = [padding; 3];
        for (size, value) in sizes
            .iter_mut()
            .zip(array(pointer, work_dim as usize, "global_work_size")?)
        {
            *size = *value;
        }
        Ok::<_, Error>(sizes)
    };
    // As OpenCL has it: no offset is 0, and without a size of work-groups the device chooses one.
    let range = NdRange {
        dimensions: work_dim,
        offset: if global_work_offset.is_null() {
            [0; 3]
        } else {
            sizes(global_work_offset, 0)?
        },
        global: sizes(global_work_size, 1)?,
        local: if local_work_size.is_null() {
            None
        } else {
            Some(sizes(local_work_size, 1)?)
        },
    };
    let queue = queue_in(queue, &kernel.details().program.details().context)?;
    let command = Command::Launch {
        kernel: kernel.into_object(),
        range,
    };
    Ok(Submission::new(queue, command))
}

pub(super) fn piEnqueueEventsWait<P: Registered>(queue: pi_queue) -> Result<Submission<P>> {
    Ok(Submission::new(state::queue(queue)?, Command::Marker))
}

pub(super) fn piEnqueueEventsWaitWithBarrier<P: Registered>(queue: pi_queue) -> Result<Submission<P>> {
    Ok(Submission::new(state::queue(queue)?, Command::Barrier))
}

pub(super) unsafe fn piEnqueueMemBufferRead<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    blocking: pi_bool,
    offset: usize,
    size: usize,
    pointer: *mut c_void,
) -> Result<Submission<P>> {
    non_null(pointer, "ptr")?;
    let memory = buffer::<P>(memory, offset, size)?;
    // SAFETY: the host passes `size` bytes that stay valid until the command is complete.
    let target = unsafe { HostTarget::new(pointer.cast(), size) };
    let queue = queue_in(queue, &memory.details().context)?;
    let command = Command::ReadBuffer {
        buffer: memory.into_object(),
        offset,
        target,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) unsafe fn piEnqueueMemBufferWrite<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    blocking: pi_bool,
    offset: usize,
    size: usize,
    pointer: *const c_void,
) -> Result<Submission<P>> {
    non_null(pointer.cast_mut(), "ptr")?;
    let memory = buffer::<P>(memory, offset, size)?;
    // SAFETY: the host passes `size` bytes that stay valid until the command is complete.
    let source = unsafe { HostSource::new(pointer.cast(), size) };
    let queue = queue_in(queue, &memory.details().context)?;
    let command = Command::WriteBuffer {
        buffer: memory.into_object(),
        offset,
        source,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) fn piEnqueueMemBufferCopy<P: Registered>(
    queue: pi_queue,
    source: pi_mem,
    target: pi_mem,
    source_offset: usize,
    target_offset: usize,
    size: usize,
) -> Result<Submission<P>> {
    let (from, to) = (
        buffer::<P>(source, source_offset, size)?,
        buffer::<P>(target, target_offset, size)?,
    );
    let ((source_base, source_origin), (target_base, target_origin)) = (place(&from), place(&to));
    let (source_start, target_start) = (source_origin + source_offset, target_origin + target_offset);
    // Parts of one buffer have the same bytes where their places in it meet. The sums do not overflow, as the ranges
    // are within the parts, and those within the buffer.
    if source_base == target_base && source_start.abs_diff(target_start) < size {
        return Err(Error::new(PI_MEM_COPY_OVERLAP, "the ranges overlap"));
    }
    let queue = queue_in(queue, &from.details().context)?;
    same_context(&queue, &to.details().context)?;
    let (source, target) = (from.into_object(), to.into_object());
    let command = Command::CopyBuffer {
        source,
        source_offset,
        target,
        target_offset,
        size,
    };
    Ok(Submission::new(queue, command))
}

pub(super) unsafe fn piEnqueueMemBufferFill<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    pattern: *const c_void,
    pattern_size: usize,
    offset: usize,
    size: usize,
) -> Result<Submission<P>> {
    let memory = buffer::<P>(memory, offset, size)?;
    let fits = pattern_size.is_power_of_two() && pattern_size <= 128;
    if !fits || !offset.is_multiple_of(pattern_size) || !size.is_multiple_of(pattern_size) {
        let message = "the pattern must have 1, 2, 4, … 128 bytes, and offset and size be multiples of that";
        return Err(Error::new(PI_INVALID_VALUE, message));
    }
    // SAFETY: the host passes `pattern_size` bytes.
    let pattern = unsafe { array(pattern.cast::<u8>(), pattern_size, "pattern") }?.into();
    let queue = queue_in(queue, &memory.details().context)?;
    let command = Command::FillBuffer {
        buffer: memory.into_object(),
        pattern,
        offset,
        size,
    };
    Ok(Submission::new(queue, command))
}

pub(super) unsafe fn piEnqueueMemBufferMap<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    blocking: pi_bool,
    flags: pi_map_flags,
    offset: usize,
    size: usize,
    wait_count: pi_uint32,
    wait_list: *const pi_event,
    event: *mut pi_event,
    ret_map: *mut *mut c_void,
) -> Result<()> {
    non_null(ret_map, "ret_map")?;
    let memory = buffer::<P>(memory, offset, size)?;
    let queue = queue_in(queue, &memory.details().context)?;
    let mapping = Mapping {
        buffer: memory.into_object(),
        flags,
        offset,
        size,
    };
    let map =
        |wait: &[Ref<P::Event>], new: NewEvent<'_, P>| P::Queue::map(queue.object(), mapping, wait, new);
    let (command_type, blocking) = (PI_COMMAND_TYPE_MEM_BUFFER_MAP, blocking != PI_FALSE);
    // SAFETY: the host passes a wait list and an event as the interface says, and `ret_map` is not null.
    unsafe {
        let address = submit(
            &queue,
            command_type,
            blocking,
            (wait_count, wait_list),
            event,
            map,
        )?;
        ret_map.write(core::ptr::with_exposed_provenance_mut(address));
    }
    Ok(())
}

pub(super) fn piEnqueueMemUnmap<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    pointer: *mut c_void,
) -> Result<Submission<P>> {
    // Whether the address is one of a mapping only the plugin knows, which has made it.
    let memory = state::memory::<P>(memory)?;
    let queue = queue_in(queue, &memory.details().context)?;
    let command = Command::Unmap {
        buffer: memory.into_object(),
        address: pointer.addr(),
    };
    Ok(Submission::new(queue, command))
}
