//! Queues and the commands submitted to them.

use super::context::Context;
use super::device::Device;
use super::event::{Event, Pending};
use super::handle::Owned;
use super::in_use::InUse;
use super::kernel::Kernel;
use super::memory::{Buffer, Usm};
use super::plugin::{Plugin, call};
use super::program::{Program, c_string};
use super::{PiError, Result};
use crate::NdRange;
use crate::ffi::*;
use crate::table::Function;
use std::sync::Arc;

/// Submits a command: [`call!`] without the queue, which is the first argument, and without the wait list and the
/// place for the event, which are the last.
macro_rules! submit {
    ($queue:expr, $wait:expr, $function:ident($($argument:expr),*)) => {
        $queue.enqueue(Function::$function, $wait, |count, list, event| {
            call!($queue.plugin(), $function($queue.raw(), $($argument,)* count, list, event))
        })
    };
}

/// Where commands for one device are submitted.
///
/// Each command takes the events it has to wait for. Those of an in-order queue run one after the other
/// anyway.
///
/// Kernel and memory that a command is given must be of the queue's context, and are refused with
/// [`PI_INVALID_CONTEXT`] if they are not; events may be of another, where the plugin's driver takes them. Memory may be
/// dropped right after: it stays until the command is done, and may stay until the queue is next used or waited for.
#[derive(Clone, Debug)]
pub struct Queue {
    shared: Arc<Shared>,
    context: Context,
    device: Device,
}

/// What the clones of a queue share.
#[derive(Debug)]
pub(crate) struct Shared {
    handle: Owned<pi_queue>,
    pub(super) in_use: InUse,
}

impl Queue {
    pub(crate) fn new(handle: Owned<pi_queue>, context: Context, device: Device) -> Queue {
        let in_use = InUse::new();
        Queue {
            shared: Arc::new(Shared { handle, in_use }),
            context,
            device,
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn raw(&self) -> pi_queue {
        self.shared.handle.raw()
    }

    fn plugin(&self) -> &Plugin {
        self.shared.handle.plugin()
    }

    /// The queue's context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The queue's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until all commands submitted so far are done. That one of them failed is told by its event, not
    /// here.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if waiting fails.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: the queue is valid.
        let wait = || unsafe { call!(self.plugin(), piQueueFinish(self.raw())) };
        self.shared.in_use.finish(wait)
    }

    /// Sees to it that all commands submitted so far are started, without waiting for them.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if that fails, or the plugin's version has no such function (2.3: there commands start
    /// by themselves).
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the queue is valid.
        unsafe { call!(self.plugin(), piQueueFlush(self.raw())) }
    }

    /// Submits a command: `submit` is given the number of events to wait for, these events, and where the new
    /// event goes.
    fn enqueue(
        &self,
        function: Function,
        wait: &[&Event],
        submit: impl FnOnce(pi_uint32, *const pi_event, *mut pi_event) -> Result<()>,
    ) -> Result<Event> {
        for event in wait {
            self.plugin()
                .check_same(event.plugin(), function, PI_INVALID_EVENT_WAIT_LIST)?;
        }
        // Most lists are short, and so cost no allocation.
        let (mut few, mut many) = ([core::ptr::null_mut(); 8], Vec::new());
        let handles = wait.iter().map(|event| event.raw());
        let list = match wait.len() {
            // An empty list has to be a null pointer.
            0 => core::ptr::null(),
            1..=8 => {
                few.iter_mut()
                    .zip(handles)
                    .for_each(|(place, handle)| *place = handle);
                few.as_ptr()
            }
            _ => {
                many.extend(handles);
                many.as_ptr()
            }
        };
        let mut event = core::ptr::null_mut();
        submit(wait.len() as pi_uint32, list, &raw mut event)?;
        // SAFETY: the plugin has made an event for the command.
        let event = unsafe { Owned::new(self.plugin().clone(), event) };
        // Weak: whoever keeps an event does not keep the queue and what its commands use by that.
        Ok(Event::new(event, Arc::downgrade(&self.shared)))
    }

    fn check_buffer(&self, buffer: &Buffer, function: Function) -> Result<()> {
        self.context.check_same(buffer.context(), function, "buffer")
    }

    fn check_usm(&self, usm: &Usm, function: Function) -> Result<()> {
        self.context.check_same(usm.context(), function, "allocation")
    }

    /// Runs a kernel over an index space.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if an argument is not set, or the index space does not suit kernel and
    /// device.
    pub fn launch(&self, kernel: &Kernel, range: &NdRange, wait: &[&Event]) -> Result<Event> {
        let function = Function::piEnqueueKernelLaunch;
        self.context
            .check_same(kernel.program().context(), function, "kernel")?;
        if !(1..=3).contains(&range.dimensions) {
            let message = format!("an index space of {} dimensions", range.dimensions);
            return Err(PiError::refused(function, PI_INVALID_WORK_DIMENSION, message));
        }
        let local = range
            .local
            .as_ref()
            .map_or(core::ptr::null(), |local| local.as_ptr());
        // SAFETY: the arrays have three elements, and there are one to three dimensions; the events are as
        // many as the count says.
        let launched = unsafe {
            submit!(
                self,
                wait,
                piEnqueueKernelLaunch(
                    kernel.raw(),
                    range.dimensions,
                    range.offset.as_ptr(),
                    range.global.as_ptr(),
                    local
                )
            )
        }?;
        if kernel.uses_allocations() {
            self.shared
                .in_use
                .add(launched.handle(), |used| kernel.add_allocations(used));
        }
        Ok(launched)
    }

    /// Completes when the given events have; with none, when all commands submitted before have.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not take it.
    pub fn marker(&self, wait: &[&Event]) -> Result<Event> {
        // SAFETY: the events are as many as the count says.
        unsafe { submit!(self, wait, piEnqueueEventsWait()) }
    }

    /// Like [`marker`](Self::marker), and commands submitted later wait for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not take it.
    pub fn barrier(&self, wait: &[&Event]) -> Result<Event> {
        // SAFETY: the events are as many as the count says.
        unsafe { submit!(self, wait, piEnqueueEventsWaitWithBarrier()) }
    }

    fn read(
        &self,
        buffer: &Buffer,
        blocking: bool,
        offset: usize,
        out: &mut [u8],
        wait: &[&Event],
    ) -> Result<Event> {
        self.check_buffer(buffer, Function::piEnqueueMemBufferRead)?;
        let pointer = out.as_mut_ptr().cast();
        // SAFETY: `out` has as many bytes as the size says and is not touched before the command is done:
        // callers block or keep it in a `Pending`.
        unsafe {
            submit!(
                self,
                wait,
                piEnqueueMemBufferRead(buffer.raw(), blocking.into(), offset, out.len(), pointer)
            )
        }
    }

    /// Reads from a buffer, starting at byte `offset`, and waits for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is not within the buffer, or the command or one it waits for
    /// fails.
    pub fn read_buffer(&self, buffer: &Buffer, offset: usize, out: &mut [u8], wait: &[&Event]) -> Result<()> {
        // Drivers take a range of no bytes for an error.
        if out.is_empty() {
            return Ok(());
        }
        // Waited for although it blocks: a plugin that returns early must not write to `out` later.
        self.read(buffer, true, offset, out, wait)?.wait()
    }

    /// Reads `size` bytes from a buffer, starting at byte `offset`, without waiting for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is empty or not within the buffer.
    pub fn read_buffer_later(
        &self,
        buffer: &Buffer,
        offset: usize,
        size: usize,
        wait: &[&Event],
    ) -> Result<Pending<Vec<u8>>> {
        let mut out = vec![0; size];
        // The bytes stay where they are when the vector is moved.
        let event = self.read(buffer, false, offset, &mut out, wait)?;
        Ok(Pending::new(event, out))
    }

    fn write(
        &self,
        buffer: &Buffer,
        blocking: bool,
        offset: usize,
        data: &[u8],
        wait: &[&Event],
    ) -> Result<Event> {
        self.check_buffer(buffer, Function::piEnqueueMemBufferWrite)?;
        let pointer = data.as_ptr().cast();
        // SAFETY: `data` has as many bytes as the size says and stays as it is until the command is done:
        // callers block or keep it in a `Pending`.
        unsafe {
            submit!(
                self,
                wait,
                piEnqueueMemBufferWrite(buffer.raw(), blocking.into(), offset, data.len(), pointer)
            )
        }
    }

    /// Writes to a buffer, starting at byte `offset`, and waits for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is not within the buffer, or the command or one it waits for
    /// fails.
    pub fn write_buffer(&self, buffer: &Buffer, offset: usize, data: &[u8], wait: &[&Event]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.write(buffer, true, offset, data, wait)?.wait()
    }

    /// Writes to a buffer, starting at byte `offset`, without waiting for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is empty or not within the buffer.
    pub fn write_buffer_later(
        &self,
        buffer: &Buffer,
        offset: usize,
        data: Vec<u8>,
        wait: &[&Event],
    ) -> Result<Pending<Vec<u8>>> {
        let event = self.write(buffer, false, offset, &data, wait)?;
        Ok(Pending::new(event, data))
    }

    /// Fills `size` bytes of a buffer, starting at byte `offset`, with repetitions of `pattern`. Both must be
    /// multiples of the pattern's length, a power of two up to 128.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is not within the buffer, or does not suit the pattern.
    pub fn fill_buffer(
        &self,
        buffer: &Buffer,
        pattern: &[u8],
        offset: usize,
        size: usize,
        wait: &[&Event],
    ) -> Result<Event> {
        self.check_buffer(buffer, Function::piEnqueueMemBufferFill)?;
        // SAFETY: the pattern has as many bytes as its size says; the plugin copies it before it returns.
        unsafe {
            submit!(
                self,
                wait,
                piEnqueueMemBufferFill(buffer.raw(), pattern.as_ptr().cast(), pattern.len(), offset, size)
            )
        }
    }

    /// Copies `size` bytes from one buffer to another. Offsets are in bytes.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if a range is not within its buffer, or the two overlap.
    pub fn copy_buffer(
        &self,
        from: (&Buffer, usize),
        to: (&Buffer, usize),
        size: usize,
        wait: &[&Event],
    ) -> Result<Event> {
        for (buffer, _) in [from, to] {
            self.check_buffer(buffer, Function::piEnqueueMemBufferCopy)?;
        }
        // Not every plugin looks.
        if Buffer::overlap(from, to, size) {
            return Err(overlap(Function::piEnqueueMemBufferCopy, from.1, to.1, size));
        }
        // SAFETY: both buffers are valid.
        unsafe {
            submit!(
                self,
                wait,
                piEnqueueMemBufferCopy(from.0.raw(), to.0.raw(), from.1, to.1, size)
            )
        }
    }

    /// # Safety
    ///
    /// Both addresses must be of `size` bytes that stay valid until the command is done.
    unsafe fn copy(
        &self,
        blocking: bool,
        to: *mut core::ffi::c_void,
        from: *const core::ffi::c_void,
        size: usize,
        wait: &[&Event],
    ) -> Result<Event> {
        // SAFETY: by the caller's promise.
        unsafe { submit!(self, wait, piextUSMEnqueueMemcpy(blocking.into(), to, from, size)) }
    }

    /// Writes to a USM allocation, starting at byte `offset`, and waits for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is not within the allocation, or the command or one it waits
    /// for fails.
    pub fn write_usm(&self, usm: &Usm, offset: usize, data: &[u8], wait: &[&Event]) -> Result<()> {
        self.check_usm(usm, Function::piextUSMEnqueueMemcpy)?;
        let to = usm.range(Function::piextUSMEnqueueMemcpy, offset, data.len())?;
        // SAFETY: the range is within the allocation, and the command is done when this returns.
        unsafe { self.copy(true, to, data.as_ptr().cast(), data.len(), wait) }?.wait()
    }

    /// Reads from a USM allocation, starting at byte `offset`, and waits for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is not within the allocation, or the command or one it waits
    /// for fails.
    pub fn read_usm(&self, usm: &Usm, offset: usize, out: &mut [u8], wait: &[&Event]) -> Result<()> {
        self.check_usm(usm, Function::piextUSMEnqueueMemcpy)?;
        let from = usm.range(Function::piextUSMEnqueueMemcpy, offset, out.len())?;
        // SAFETY: the range is within the allocation, and the command is done when this returns.
        unsafe { self.copy(true, out.as_mut_ptr().cast(), from, out.len(), wait) }?.wait()
    }

    /// Copies `size` bytes from one USM allocation to another. Offsets are in bytes.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if a range is not within its allocation, or the two overlap.
    pub fn copy_usm(
        &self,
        from: (&Usm, usize),
        to: (&Usm, usize),
        size: usize,
        wait: &[&Event],
    ) -> Result<Event> {
        for (usm, _) in [from, to] {
            self.check_usm(usm, Function::piextUSMEnqueueMemcpy)?;
        }
        let source = from.0.range(Function::piextUSMEnqueueMemcpy, from.1, size)?;
        let target = to.0.range(Function::piextUSMEnqueueMemcpy, to.1, size)?;
        // Not every plugin looks here either, and what would come of it is undefined.
        if source.addr().abs_diff(target.addr()) < size {
            return Err(overlap(Function::piextUSMEnqueueMemcpy, from.1, to.1, size));
        }
        // SAFETY: the ranges are within the allocations, which are kept until the command is done.
        let event = unsafe { self.copy(false, target, source, size, wait) }?;
        let both = [from.0.allocation(), to.0.allocation()];
        self.shared
            .in_use
            .add(event.handle(), |used| used.allocations.extend(both));
        Ok(event)
    }

    /// Writes to a program-scope variable of a built or linked program on the queue's device, starting at byte `offset`,
    /// and waits for it.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such variable, the range is not within it, the command or one it waits
    /// for fails, or the plugin cannot reach variables: those before release 2023.2 have no such function.
    pub fn write_global(
        &self,
        program: &Program,
        name: &str,
        offset: usize,
        data: &[u8],
        wait: &[&Event],
    ) -> Result<()> {
        let function = Function::piextEnqueueDeviceGlobalVariableWrite;
        self.context.check_same(program.context(), function, "program")?;
        let (name, pointer) = (c_string(function, name)?, data.as_ptr().cast());
        // SAFETY: `data` has as many bytes as the size says, and the command is done when this returns.
        let written = unsafe {
            submit!(
                self,
                wait,
                piextEnqueueDeviceGlobalVariableWrite(
                    program.raw(),
                    name.as_ptr(),
                    PI_TRUE,
                    data.len(),
                    offset,
                    pointer
                )
            )
        };
        written?.wait()
    }

    /// Reads from a program-scope variable of a built or linked program on the queue's device, starting at byte `offset`,
    /// and waits for it.
    ///
    /// # Errors
    ///
    /// As [`write_global`](Self::write_global).
    pub fn read_global(
        &self,
        program: &Program,
        name: &str,
        offset: usize,
        out: &mut [u8],
        wait: &[&Event],
    ) -> Result<()> {
        let function = Function::piextEnqueueDeviceGlobalVariableRead;
        self.context.check_same(program.context(), function, "program")?;
        let (name, pointer) = (c_string(function, name)?, out.as_mut_ptr().cast());
        // SAFETY: `out` has as many bytes as the size says, and the command is done when this returns.
        let read = unsafe {
            submit!(
                self,
                wait,
                piextEnqueueDeviceGlobalVariableRead(
                    program.raw(),
                    name.as_ptr(),
                    PI_TRUE,
                    out.len(),
                    offset,
                    pointer
                )
            )
        };
        read?.wait()
    }

    /// Sets `count` bytes of a USM allocation, starting at byte `offset`, to `value`.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the range is not within the allocation.
    pub fn set_usm(
        &self,
        usm: &Usm,
        offset: usize,
        value: u8,
        count: usize,
        wait: &[&Event],
    ) -> Result<Event> {
        self.check_usm(usm, Function::piextUSMEnqueueMemset)?;
        let target = usm.range(Function::piextUSMEnqueueMemset, offset, count)?;
        // SAFETY: the range is within the allocation, which is kept until the command is done.
        let set = unsafe { submit!(self, wait, piextUSMEnqueueMemset(target, value.into(), count)) }?;
        self.shared
            .in_use
            .add(set.handle(), |used| used.allocations.push(usm.allocation()));
        Ok(set)
    }
}

fn overlap(function: Function, from: usize, to: usize, size: usize) -> PiError {
    let message = format!("{size} bytes at {from} cannot be copied to {to} of the same memory: they overlap");
    PiError::refused(function, PI_MEM_COPY_OVERLAP, message)
}
