//! Queues, and the commands that go to them.

use super::kernel::Held;
use super::{Event, Owned, Result, ask, call, number, pointer};
use core::marker::PhantomData;
use core::ptr::{null, null_mut};
use offkit_pi::NdRange;
use offkit_pi::plugin::{BufferRect, Corner, HostSource, HostTarget};
use offkit_ur::*;

/// What a command waits for.
pub(crate) struct Order<'a> {
    handles: Vec<ur_event_handle_t>,
    // Handles keep nothing: the lifetime has the events stay until the command is submitted.
    events: PhantomData<&'a Event>,
}

impl<'a> Order<'a> {
    /// After some events.
    pub(crate) fn new(events: impl Iterator<Item = &'a Event>) -> Order<'a> {
        Order {
            handles: events.map(Owned::handle).collect(),
            events: PhantomData,
        }
    }

    /// Count and pointer; the pointer is null where there are none, as drivers want it.
    pub(super) fn list(&self) -> (u32, *const ur_event_handle_t) {
        match self.handles.as_slice() {
            [] => (0, null()),
            handles => (handles.len() as u32, handles.as_ptr()),
        }
    }
}

/// A copy between the host and a buffer, or between buffers; a number is what a buffer's bytes begin at.
pub(crate) enum Transfer<'a> {
    Read(&'a Owned<_ur_mem>, usize, &'a HostTarget),
    Write(&'a HostSource, &'a Owned<_ur_mem>, usize),
    Copy((&'a Owned<_ur_mem>, usize), (&'a Owned<_ur_mem>, usize), usize),
    ReadRect(&'a Owned<_ur_mem>, &'a HostTarget, &'a BufferRect),
    WriteRect(&'a HostSource, &'a Owned<_ur_mem>, &'a BufferRect),
    CopyRect(&'a Owned<_ur_mem>, &'a Owned<_ur_mem>, &'a BufferRect),
}

/// Submits a command: [`call!`] without its last three arguments, the wait list and where the event goes.
macro_rules! submit {
    ($queue:expr, $order:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let ((count, list), mut event) = ($order.list(), null_mut());
        let adapter = $queue.adapter();
        call!(adapter, $function($queue.handle(), $($argument,)* count, list, &raw mut event))
            .and_then(|()| Owned::new(adapter, stringify!($function), event))
    }};
}

pub(super) use submit;

/// A side of a box as Unified Runtime wants it.
struct Side {
    origin: ur_rect_offset_t,
    row_pitch: usize,
    slice_pitch: usize,
}

/// Both sides of a box, and its size.
fn corners(rect: &BufferRect) -> (Side, Side, ur_rect_region_t) {
    let side = |corner: &Corner| Side {
        origin: ur_rect_offset_t {
            x: corner.offset.x_bytes as u64,
            y: corner.offset.y_scalar as u64,
            z: corner.offset.z_scalar as u64,
        },
        row_pitch: corner.row_pitch,
        slice_pitch: corner.slice_pitch,
    };
    let region = rect.region();
    let region = ur_rect_region_t {
        width: region.width_bytes as u64,
        height: region.height_scalar as u64,
        depth: region.depth_scalar as u64,
    };
    (side(rect.source()), side(rect.target()), region)
}

impl Owned<_ur_queue> {
    /// How it was made (`UR_QUEUE_FLAG_*`).
    pub(crate) fn flags(&self) -> Result<u32> {
        // SAFETY: the queue is the adapter's.
        let bytes = ask!(
            self.adapter(),
            unsafe urQueueGetInfo(self.handle(), UR_QUEUE_INFO_FLAGS)
        )?;
        Ok(number(&bytes).unwrap_or(0))
    }

    pub(crate) fn flush(&self) -> Result<()> {
        // SAFETY: the queue is the adapter's.
        unsafe { call!(self.adapter(), urQueueFlush(self.handle())) }
    }

    pub(crate) fn finish(&self) -> Result<()> {
        // SAFETY: as above.
        unsafe { call!(self.adapter(), urQueueFinish(self.handle())) }
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(&self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the queue is the adapter's, and the place is there.
        unsafe {
            call!(
                self.adapter(),
                urQueueGetNativeHandle(self.handle(), null_mut(), &raw mut native)
            )
        }?;
        Ok(native)
    }

    /// Launches a kernel with the arguments as they are.
    ///
    /// # Safety
    ///
    /// No other thread sets an argument of the kernel meanwhile; `arguments` are those that were set.
    pub(crate) unsafe fn launch<M: AsRef<Owned<_ur_mem>>, S: AsRef<Owned<_ur_sampler>>>(
        &self,
        kernel: &Owned<_ur_kernel>,
        arguments: &[Held<M, S>],
        range: &NdRange,
        order: &Order<'_>,
    ) -> Result<Event> {
        let (kernel, dimensions) = (kernel.handle(), range.dimensions);
        // Always three sizes: as many are read as there are dimensions.
        let (offset, global) = (range.offset.as_ptr(), range.global.as_ptr());
        let local = range.local.as_ref().map_or(null(), |local| local.as_ptr());
        // SAFETY: by the caller's promise; three sizes each are there, and no properties; the arguments are there for as
        // long as the call. That the kernel stays within its memory, the host vouches for.
        unsafe {
            match self.adapter().form {
                Form::V2025_1 => submit!(
                    self,
                    order,
                    urEnqueueKernelLaunch_a(kernel, dimensions, offset, global, local)
                ),
                Form::V2025_3 => submit!(
                    self,
                    order,
                    urEnqueueKernelLaunch_b(kernel, dimensions, offset, global, local, 0, null())
                ),
                Form::V2026_0 => submit!(
                    self,
                    order,
                    urEnqueueKernelLaunch_c(kernel, dimensions, offset, global, local, null())
                ),
                Form::V2026_2 => {
                    let arguments = Held::properties(arguments);
                    submit!(
                        self,
                        order,
                        urEnqueueKernelLaunchWithArgsExp(
                            kernel,
                            dimensions,
                            offset,
                            global,
                            local,
                            arguments.len() as u32,
                            arguments.as_ptr(),
                            null()
                        )
                    )
                }
            }
        }
    }

    pub(crate) fn marker(&self, order: &Order<'_>) -> Result<Event> {
        // SAFETY: the events are the adapter's, as the plugin has checked.
        unsafe { submit!(self, order, urEnqueueEventsWait()) }
    }

    pub(crate) fn barrier(&self, order: &Order<'_>) -> Result<Event> {
        // SAFETY: as above.
        unsafe { submit!(self, order, urEnqueueEventsWaitWithBarrier()) }
    }

    /// Copies bytes.
    pub(crate) fn transfer(&self, transfer: &Transfer<'_>, order: &Order<'_>) -> Result<Event> {
        // None is blocking: where a host wants that, the plugin interface waits for the event.
        // SAFETY: the memory of the host is given to the command until it is complete, and has as many bytes as are read
        // or written: so many for a range, and as far as it reaches for a box, as the plugin interface has checked. The
        // buffers are of the queue's context, with ranges within them.
        unsafe {
            match *transfer {
                Transfer::Read(buffer, offset, target) => submit!(
                    self,
                    order,
                    urEnqueueMemBufferRead(
                        buffer.handle(),
                        false,
                        offset,
                        target.size(),
                        pointer(target.address())
                    )
                ),
                Transfer::Write(source, buffer, offset) => submit!(
                    self,
                    order,
                    urEnqueueMemBufferWrite(
                        buffer.handle(),
                        false,
                        offset,
                        source.size(),
                        pointer(source.address())
                    )
                ),
                Transfer::Copy((source, from), (target, to), size) => submit!(
                    self,
                    order,
                    urEnqueueMemBufferCopy(source.handle(), target.handle(), from, to, size)
                ),
                Transfer::ReadRect(buffer, target, rect) => {
                    let (from, to, region) = corners(rect);
                    submit!(
                        self,
                        order,
                        urEnqueueMemBufferReadRect(
                            buffer.handle(),
                            false,
                            from.origin,
                            to.origin,
                            region,
                            from.row_pitch,
                            from.slice_pitch,
                            to.row_pitch,
                            to.slice_pitch,
                            pointer(target.address())
                        )
                    )
                }
                Transfer::WriteRect(source, buffer, rect) => {
                    let (from, to, region) = corners(rect);
                    submit!(
                        self,
                        order,
                        urEnqueueMemBufferWriteRect(
                            buffer.handle(),
                            false,
                            to.origin,
                            from.origin,
                            region,
                            to.row_pitch,
                            to.slice_pitch,
                            from.row_pitch,
                            from.slice_pitch,
                            pointer(source.address())
                        )
                    )
                }
                Transfer::CopyRect(source, target, rect) => {
                    let (from, to, region) = corners(rect);
                    submit!(
                        self,
                        order,
                        urEnqueueMemBufferCopyRect(
                            source.handle(),
                            target.handle(),
                            from.origin,
                            to.origin,
                            region,
                            from.row_pitch,
                            from.slice_pitch,
                            to.row_pitch,
                            to.slice_pitch
                        )
                    )
                }
            }
        }
    }

    /// Fills a range of a buffer with a pattern.
    pub(crate) fn fill(
        &self,
        buffer: &Owned<_ur_mem>,
        pattern: &[u8],
        offset: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<Event> {
        // SAFETY: so many bytes are there, for as long as the command, as the plugin keeps it.
        unsafe {
            submit!(
                self,
                order,
                urEnqueueMemBufferFill(
                    buffer.handle(),
                    pattern.as_ptr().cast(),
                    pattern.len(),
                    offset,
                    size
                )
            )
        }
    }

    /// Maps a range of a buffer: where the host will see it, and the event.
    pub(crate) fn map(
        &self,
        buffer: &Owned<_ur_mem>,
        flags: u32,
        offset: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<(usize, Event)> {
        let ((count, list), mut event, mut address) = (order.list(), null_mut(), null_mut());
        // SAFETY: the buffer is of the queue's context, and the range within it; both places are there.
        unsafe {
            call!(
                self.adapter(),
                urEnqueueMemBufferMap(
                    self.handle(),
                    buffer.handle(),
                    false,
                    flags,
                    offset,
                    size,
                    count,
                    list,
                    &raw mut event,
                    &raw mut address
                )
            )?;
            let event = Owned::new(self.adapter(), "urEnqueueMemBufferMap", event)?;
            Ok((address.expose_provenance(), event))
        }
    }

    /// Gives a mapped range back.
    pub(crate) fn unmap(&self, buffer: &Owned<_ur_mem>, address: usize, order: &Order<'_>) -> Result<Event> {
        // SAFETY: that the address is one that was mapped, the host vouches for.
        unsafe { submit!(self, order, urEnqueueMemUnmap(buffer.handle(), pointer(address))) }
    }
}

// SAFETY (of all below): that addresses are of memory that the device or the host has for as long as the command takes,
// the host vouches for, as the plugin interface says.
impl Owned<_ur_queue> {
    /// Fills memory with a pattern.
    pub(crate) fn fill_usm(
        &self,
        address: usize,
        pattern: &[u8],
        size: usize,
        order: &Order<'_>,
    ) -> Result<Event> {
        // SAFETY: as above; the pattern is there for as long as the command, as the plugin keeps it.
        unsafe {
            submit!(
                self,
                order,
                urEnqueueUSMFill(pointer(address), pattern.len(), pattern.as_ptr().cast(), size)
            )
        }
    }

    pub(crate) fn copy_usm(
        &self,
        source: usize,
        target: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<Event> {
        // SAFETY: as above.
        unsafe {
            submit!(
                self,
                order,
                urEnqueueUSMMemcpy(false, pointer(target), pointer(source), size)
            )
        }
    }

    /// Brings memory close to the device.
    pub(crate) fn prefetch_usm(&self, address: usize, size: usize, order: &Order<'_>) -> Result<Event> {
        // SAFETY: as above.
        unsafe {
            submit!(
                self,
                order,
                urEnqueueUSMPrefetch(pointer(address), size, UR_USM_MIGRATION_FLAG_HOST_TO_DEVICE)
            )
        }
    }

    /// Says something about the use of memory (`UR_USM_ADVICE_FLAG_*`), at once.
    pub(crate) fn advise_usm(&self, address: usize, size: usize, advice: u32) -> Result<()> {
        // SAFETY: as above; no event.
        unsafe {
            call!(
                self.adapter(),
                urEnqueueUSMAdvise(self.handle(), pointer(address), size, advice, null_mut())
            )
        }
    }
}
