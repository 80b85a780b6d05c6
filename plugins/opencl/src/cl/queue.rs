//! Queues, and the commands that go to them.

use super::{Event, Owned, Result, ask, call, create, words};
use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::null_mut;
use offkit_opencl::*;
use offkit_pi::NdRange;
use offkit_pi::plugin::{BufferRect, Corner, HostSource, HostTarget};

/// Handles that are on the stack.
// Submitting a command with a short list is to cost no allocation.
const FEW: usize = 8;

/// What a command waits for, and whether it is to have an event.
pub(crate) struct Order<'a> {
    list: List,
    is_wanted: bool,
    // The list has handles, which keep nothing: so the events are borrowed until it is used.
    events: PhantomData<&'a Event>,
}

/// A wait list, as C has it.
enum List {
    Few([cl_event; FEW], usize),
    Many(Vec<cl_event>),
}

impl<'a> Order<'a> {
    /// After some events, and with one of its own if that is wanted.
    pub(crate) fn new(events: impl ExactSizeIterator<Item = &'a Event>, is_wanted: bool) -> Order<'a> {
        let count = events.len();
        let list = if count > FEW {
            List::Many(events.map(Owned::handle).collect())
        } else {
            let mut few = [null_mut(); FEW];
            for (place, event) in few.iter_mut().zip(events) {
                *place = event.handle();
            }
            List::Few(few, count)
        };
        Order {
            list,
            is_wanted,
            events: PhantomData,
        }
    }

    /// Count and pointer; the pointer is null where there are none, as drivers want it.
    pub(super) fn list(&self) -> (cl_uint, *const cl_event) {
        match &self.list {
            List::Few(_, 0) => (0, core::ptr::null()),
            List::Few(few, count) => (*count as cl_uint, few.as_ptr()),
            List::Many(many) => (many.len() as cl_uint, many.as_ptr()),
        }
    }

    /// Where the event goes; null if there is to be none.
    pub(super) fn place(&self, event: &mut cl_event) -> *mut cl_event {
        match self.is_wanted {
            true => event,
            false => null_mut(),
        }
    }
}

/// The event of a command, if one was wanted.
pub(super) fn made(
    queue: &Owned<_cl_command_queue>,
    function: &'static str,
    event: cl_event,
) -> Result<Option<Event>> {
    if event.is_null() {
        return Ok(None);
    }
    // SAFETY: the driver has made it for the caller.
    unsafe { Owned::new(queue.driver(), function, event) }.map(Some)
}

/// A copy between the host and a buffer, or between buffers; a number is what a buffer's bytes begin at.
pub(crate) enum Transfer<'a> {
    Read(&'a Owned<_cl_mem>, usize, &'a HostTarget),
    Write(&'a HostSource, &'a Owned<_cl_mem>, usize),
    Copy((&'a Owned<_cl_mem>, usize), (&'a Owned<_cl_mem>, usize), usize),
    ReadRect(&'a Owned<_cl_mem>, &'a HostTarget, &'a BufferRect),
    WriteRect(&'a HostSource, &'a Owned<_cl_mem>, &'a BufferRect),
    CopyRect(&'a Owned<_cl_mem>, &'a Owned<_cl_mem>, &'a BufferRect),
}

/// Submits a command: [`call!`] without its last three arguments, the wait list and where the event goes.
macro_rules! submit {
    ($queue:expr, $order:expr, $table:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let ((count, list), mut event) = ($order.list(), null_mut());
        let place = $order.place(&mut event);
        call!($table, $function($queue.handle(), $($argument,)* count, list, place))?;
        $crate::cl::queue::made($queue, stringify!($function), event)
    }};
}
pub(super) use submit;

/// A side of a box as OpenCL wants it.
struct Side {
    origin: [usize; 3],
    row_pitch: usize,
    slice_pitch: usize,
}

/// Both sides of a box, and its size.
fn corners(rect: &BufferRect) -> (Side, Side, [usize; 3]) {
    let side = |corner: &Corner| Side {
        origin: [
            corner.offset.x_bytes,
            corner.offset.y_scalar,
            corner.offset.z_scalar,
        ],
        row_pitch: corner.row_pitch,
        slice_pitch: corner.slice_pitch,
    };
    let region = rect.region();
    (
        side(rect.source()),
        side(rect.target()),
        [region.width_bytes, region.height_scalar, region.depth_scalar],
    )
}

pub(super) fn pointer(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}

impl Owned<_cl_command_queue> {
    /// Its properties.
    pub(crate) fn properties(&self) -> Result<cl_command_queue_properties> {
        // SAFETY: the queue is the driver's.
        let bytes = ask!(
            self.driver().table,
            unsafe clGetCommandQueueInfo(self.handle(), CL_QUEUE_PROPERTIES)
        )?;
        Ok(words(&bytes).next().map_or(0, u64::from_ne_bytes))
    }

    pub(crate) fn flush(&self) -> Result<()> {
        // SAFETY: the queue is the driver's.
        unsafe { call!(self.driver().table, clFlush(self.handle())) }
    }

    pub(crate) fn finish(&self) -> Result<()> {
        // SAFETY: the queue is the driver's.
        unsafe { call!(self.driver().table, clFinish(self.handle())) }
    }

    /// Launches a kernel with the arguments that are set.
    ///
    /// # Safety
    ///
    /// No other thread sets an argument of the kernel meanwhile.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &Owned<_cl_kernel>,
        range: &NdRange,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        let local = range
            .local
            .as_ref()
            .map_or(core::ptr::null(), |local| local.as_ptr());
        // SAFETY: by the caller's promise; up to three sizes are there, and the kernel is of the queue's context.
        unsafe {
            submit!(
                self,
                order,
                self.driver().table,
                clEnqueueNDRangeKernel(
                    kernel.handle(),
                    range.dimensions,
                    range.offset.as_ptr(),
                    range.global.as_ptr(),
                    local
                )
            )
        }
    }

    /// A command that does nothing, after those of the list, or without any after all before.
    pub(crate) fn marker(&self, order: &Order<'_>) -> Result<Option<Event>> {
        // SAFETY: the queue is the driver's, and the events are.
        unsafe { submit!(self, order, self.driver().table, clEnqueueMarkerWithWaitList()) }
    }

    /// As a marker, and holds up what comes later.
    pub(crate) fn barrier(&self, order: &Order<'_>) -> Result<Option<Event>> {
        // SAFETY: as above.
        unsafe { submit!(self, order, self.driver().table, clEnqueueBarrierWithWaitList()) }
    }

    /// Copies bytes.
    pub(crate) fn transfer(&self, transfer: &Transfer<'_>, order: &Order<'_>) -> Result<Option<Event>> {
        // Never blocking: where a host wants that, the plugin interface waits for the event.
        let table = &self.driver().table;
        // A box in a buffer and one in the host's memory, whichever way it goes.
        macro_rules! with_host {
            ($function:ident, $buffer:ident, $inside:ident, $outside:ident, $region:ident, $host:ident) => {
                submit!(
                    self,
                    order,
                    table,
                    $function(
                        $buffer.handle(),
                        CL_FALSE,
                        $inside.origin.as_ptr(),
                        $outside.origin.as_ptr(),
                        $region.as_ptr(),
                        $inside.row_pitch,
                        $inside.slice_pitch,
                        $outside.row_pitch,
                        $outside.slice_pitch,
                        pointer($host.address())
                    )
                )
            };
        }
        // SAFETY: the memory of the host is given to the command until it is complete, and has as many bytes as are read
        // or written: so many for a range, and as far as it reaches for a box, as the plugin interface has checked. The
        // buffers are of the queue's context, and the driver checks what it does with them.
        unsafe {
            match *transfer {
                Transfer::Read(buffer, offset, target) => submit!(
                    self,
                    order,
                    table,
                    clEnqueueReadBuffer(
                        buffer.handle(),
                        CL_FALSE,
                        offset,
                        target.size(),
                        pointer(target.address())
                    )
                ),
                Transfer::Write(source, buffer, offset) => submit!(
                    self,
                    order,
                    table,
                    clEnqueueWriteBuffer(
                        buffer.handle(),
                        CL_FALSE,
                        offset,
                        source.size(),
                        pointer(source.address())
                    )
                ),
                Transfer::Copy((source, from), (target, to), size) => submit!(
                    self,
                    order,
                    table,
                    clEnqueueCopyBuffer(source.handle(), target.handle(), from, to, size)
                ),
                Transfer::ReadRect(buffer, target, rect) => {
                    let (from, to, region) = corners(rect);
                    with_host!(clEnqueueReadBufferRect, buffer, from, to, region, target)
                }
                Transfer::WriteRect(source, buffer, rect) => {
                    let (from, to, region) = corners(rect);
                    with_host!(clEnqueueWriteBufferRect, buffer, to, from, region, source)
                }
                Transfer::CopyRect(source, target, rect) => {
                    let (from, to, region) = corners(rect);
                    submit!(
                        self,
                        order,
                        table,
                        clEnqueueCopyBufferRect(
                            source.handle(),
                            target.handle(),
                            from.origin.as_ptr(),
                            to.origin.as_ptr(),
                            region.as_ptr(),
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
        buffer: &Owned<_cl_mem>,
        pattern: &[u8],
        offset: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        // SAFETY: so many bytes are there, which are read during the call.
        unsafe {
            submit!(
                self,
                order,
                self.driver().table,
                clEnqueueFillBuffer(
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
        buffer: &Owned<_cl_mem>,
        flags: cl_map_flags,
        offset: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<(usize, Option<Event>)> {
        const FUNCTION: &str = "clEnqueueMapBuffer";
        let ((count, list), mut event) = (order.list(), null_mut());
        let place = order.place(&mut event);
        // SAFETY: the buffer is of the queue's context, and the driver checks the range.
        unsafe {
            let address = create!(
                self.driver().table,
                clEnqueueMapBuffer(
                    self.handle(),
                    buffer.handle(),
                    CL_FALSE,
                    flags,
                    offset,
                    size,
                    count,
                    list,
                    place
                )
            )?;
            Ok((address.expose_provenance(), made(self, FUNCTION, event)?))
        }
    }

    /// Gives a mapped range back.
    pub(crate) fn unmap(
        &self,
        buffer: &Owned<_cl_mem>,
        address: usize,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        // SAFETY: the driver refuses an address that it has not mapped.
        unsafe {
            submit!(
                self,
                order,
                self.driver().table,
                clEnqueueUnmapMemObject(buffer.handle(), pointer(address))
            )
        }
    }
}
