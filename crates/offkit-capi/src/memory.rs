//! Buffers and unified shared memory.

use std::ffi::{c_int, c_void};
use std::ptr;

use offkit_pi::host::{self, UsmKind};

use crate::c::{
    Array, In, New, Objects, Owned, Room, Status, attempt, free, given, make, make_if_wanted, tell,
};
use crate::context::{Context, Queue};
use crate::device::Device;
use crate::error::Failure;
use crate::event::{Event, events};

/// `offkit_buffer`.
// Of bytes, since C says nothing of the elements: for a launch these fit every pointer.
pub(crate) struct Buffer(pub(crate) offkit_runtime::Buffer<u8>);

/// `offkit_usm`.
pub(crate) struct Usm(pub(crate) host::Usm);

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_create(
    context: In<'_, Context>,
    data: Array<'_, u8>,
    size: usize,
    buffer: New<'_, Buffer>,
) -> Status {
    make(buffer, || {
        let context = &given(context, "the context")?.0;
        let buffer = match data.is_null() {
            true => offkit_runtime::Buffer::zeroed(context, size),
            // SAFETY: the caller says how many bytes there are.
            false => offkit_runtime::Buffer::from_slice(context, unsafe { data.get(size, "the data") }?),
        };
        Ok(Buffer(buffer?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_size(buffer: In<'_, Buffer>) -> usize {
    tell(buffer, 0, |buffer| buffer.0.len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_read(
    buffer: In<'_, Buffer>,
    queue: In<'_, Queue>,
    offset: usize,
    data: Room<'_>,
    size: usize,
    wait: Objects<'_, Event>,
    wait_count: usize,
) -> Status {
    attempt(|| {
        let (buffer, queue) = (given(buffer, "the buffer")?, given(queue, "the queue")?);
        // SAFETY: the caller says how many bytes and events there are.
        let (data, wait) = unsafe { (data.get(size, "the data")?, events(wait, wait_count)?) };
        Ok(buffer.0.read_to(&queue.0, offset, data, &wait)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_write(
    buffer: In<'_, Buffer>,
    queue: In<'_, Queue>,
    offset: usize,
    data: Array<'_, u8>,
    size: usize,
    wait: Objects<'_, Event>,
    wait_count: usize,
) -> Status {
    attempt(|| {
        let (buffer, queue) = (given(buffer, "the buffer")?, given(queue, "the queue")?);
        // SAFETY: the caller says how many bytes and events there are.
        let (data, wait) = unsafe { (data.get(size, "the data")?, events(wait, wait_count)?) };
        Ok(buffer.0.write(&queue.0, offset, data, &wait)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_fill(
    buffer: In<'_, Buffer>,
    queue: In<'_, Queue>,
    offset: usize,
    size: usize,
    pattern: Array<'_, u8>,
    pattern_size: usize,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make_if_wanted(event, || {
        let (buffer, queue) = (given(buffer, "the buffer")?, given(queue, "the queue")?);
        // SAFETY: the caller says how many bytes and events there are.
        let (pattern, wait) = unsafe {
            (
                pattern.get(pattern_size, "the pattern")?,
                events(wait, wait_count)?,
            )
        };
        let filled = buffer.0.fill(&queue.0, offset, size, pattern, &wait)?;
        Ok(Event::new(filled, "a fill"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_copy(
    from: In<'_, Buffer>,
    from_offset: usize,
    to: In<'_, Buffer>,
    to_offset: usize,
    size: usize,
    queue: In<'_, Queue>,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make_if_wanted(event, || {
        let (from, to) = (given(from, "the buffer")?, given(to, "the other buffer")?);
        let queue = given(queue, "the queue")?;
        // SAFETY: the caller says how many events there are.
        let wait = unsafe { events(wait, wait_count)? };
        let copied = from
            .0
            .copy_to(&queue.0, from_offset, &to.0, to_offset, size, &wait)?;
        Ok(Event::new(copied, "a copy"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_buffer_free(buffer: Owned<Buffer>) {
    free(buffer);
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_create(
    context: In<'_, Context>,
    device: In<'_, Device>,
    kind: c_int,
    size: usize,
    alignment: u32,
    usm: New<'_, Usm>,
) -> Status {
    make(usm, || {
        let kind = match kind {
            0 => UsmKind::Host,
            1 => UsmKind::Device,
            2 => UsmKind::Shared,
            other => {
                let message = format!("{other} is no kind of memory: expected one of OFFKIT_USM_...");
                return Err(Failure::invalid(message));
            }
        };
        let (context, device) = (given(context, "the context")?, given(device, "the device")?);
        Ok(Usm(context.0.usm(kind, &device.device, size, alignment)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_address(usm: In<'_, Usm>) -> *mut c_void {
    tell(usm, ptr::null_mut(), |usm| {
        ptr::with_exposed_provenance_mut(usm.0.address())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_size(usm: In<'_, Usm>) -> usize {
    tell(usm, 0, |usm| usm.0.size())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_read(
    usm: In<'_, Usm>,
    queue: In<'_, Queue>,
    offset: usize,
    data: Room<'_>,
    size: usize,
    wait: Objects<'_, Event>,
    wait_count: usize,
) -> Status {
    attempt(|| {
        let (usm, queue) = (given(usm, "the allocation")?, given(queue, "the queue")?);
        // SAFETY: the caller says how many bytes and events there are.
        let (data, wait) = unsafe { (data.get(size, "the data")?, events(wait, wait_count)?) };
        Ok(queue.0.read_usm(&usm.0, offset, data, &wait)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_write(
    usm: In<'_, Usm>,
    queue: In<'_, Queue>,
    offset: usize,
    data: Array<'_, u8>,
    size: usize,
    wait: Objects<'_, Event>,
    wait_count: usize,
) -> Status {
    attempt(|| {
        let (usm, queue) = (given(usm, "the allocation")?, given(queue, "the queue")?);
        // SAFETY: the caller says how many bytes and events there are.
        let (data, wait) = unsafe { (data.get(size, "the data")?, events(wait, wait_count)?) };
        Ok(queue.0.write_usm(&usm.0, offset, data, &wait)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_fill(
    usm: In<'_, Usm>,
    queue: In<'_, Queue>,
    offset: usize,
    size: usize,
    value: u8,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make_if_wanted(event, || {
        let (usm, queue) = (given(usm, "the allocation")?, given(queue, "the queue")?);
        // SAFETY: the caller says how many events there are.
        let wait = unsafe { events(wait, wait_count)? };
        let filled = queue.0.set_usm(&usm.0, offset, value, size, &wait)?;
        Ok(Event::new(filled, "a fill"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_copy(
    from: In<'_, Usm>,
    from_offset: usize,
    to: In<'_, Usm>,
    to_offset: usize,
    size: usize,
    queue: In<'_, Queue>,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make_if_wanted(event, || {
        let (from, to) = (given(from, "the allocation")?, given(to, "the other allocation")?);
        let queue = given(queue, "the queue")?;
        // SAFETY: the caller says how many events there are.
        let wait = unsafe { events(wait, wait_count)? };
        let copied = queue
            .0
            .copy_usm((&from.0, from_offset), (&to.0, to_offset), size, &wait)?;
        Ok(Event::new(copied, "a copy"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_usm_free(usm: Owned<Usm>) {
    free(usm);
}
