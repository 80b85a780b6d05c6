//! Streams, what is submitted to them, and events.
//!
//! That memory which commands use is there until they are done, the plugin's queues see to, and for addresses the host
//! vouches, as the plugin interface says: the calls here rely on it.

use core::ffi::{c_uint, c_void};
use core::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use offkit_sync::Arc;
use std::sync::OnceLock;

use super::functions::*;
use super::primary::unless_lost;
use super::{Driver, Error, Function, Primary, Result, call, call_newer};

/// A stream: commands one after the other.
pub(crate) struct Stream {
    primary: Arc<Primary>,
    handle: CUstream,
    is_owned: bool,
}

/// A place among the commands of a stream.
pub(crate) struct Event {
    primary: Arc<Primary>,
    handle: CUevent,
    is_owned: bool,
    /// How it ended: what was done before the device is lost stays done.
    outcome: OnceLock<Result<(), Error>>,
}

impl Stream {
    pub(crate) fn new(primary: &Arc<Primary>) -> Result<Stream> {
        let _current = primary.enter()?;
        let mut handle: CUstream = 0;
        // SAFETY: one place for the handle.
        unsafe {
            call!(
                primary.driver(),
                // Other libraries of the process may use the default stream, which this one is not to wait for.
                cuStreamCreate(&raw mut handle, CU_STREAM_NON_BLOCKING)
            )?;
        }
        Ok(Stream::of_host(primary, handle, true))
    }

    /// One that a host gives.
    pub(crate) fn of_host(primary: &Arc<Primary>, handle: CUstream, is_owned: bool) -> Stream {
        Stream {
            primary: Arc::clone(primary),
            handle,
            is_owned,
        }
    }

    pub(crate) fn handle(&self) -> CUstream {
        self.handle
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.primary.driver()
    }

    /// Holds up what comes next until an event has come, of whatever device.
    pub(crate) fn wait_for(&self, event: &Event) -> Result<()> {
        // SAFETY: both are there; the flags have to be 0.
        unsafe { call!(self.driver(), cuStreamWaitEvent(self.handle, event.handle, 0)) }
    }

    /// An event behind all that is there.
    pub(crate) fn record(&self, is_timed: bool) -> Result<Event> {
        let event = Event::new(&self.primary, is_timed)?;
        // SAFETY: both are there, and of one context.
        unsafe { call!(self.driver(), cuEventRecord(event.handle, self.handle)) }?;
        Ok(event)
    }

    /// The same without times, where no context needs to be current.
    pub(crate) fn record_from_outside(&self) -> Result<Event> {
        let _current = self.primary.enter()?;
        self.record(false)
    }

    /// Waits for what was submitted.
    pub(crate) fn finish(&self) -> Result<()> {
        let _current = self.primary.enter()?;
        // SAFETY: the stream is there.
        unsafe { call!(self.driver(), cuStreamSynchronize(self.handle)) }
    }

    /// Waits for what was submitted, where the host is about to be told that it was not: it may free its memory then.
    pub(crate) fn settle(&self) {
        // The context is current: the queue has made it so for the command that has failed.
        // SAFETY: the stream is there.
        unless_lost(unsafe { call!(self.driver(), cuStreamSynchronize(self.handle)) });
    }

    pub(crate) fn read(&self, target: usize, source: CUdeviceptr, size: usize) -> Result<()> {
        let target: *mut c_void = with_exposed_provenance_mut(target);
        // SAFETY: see above.
        unsafe {
            call!(
                self.driver(),
                cuMemcpyDtoHAsync_v2(target, source, size, self.handle)
            )
        }
    }

    pub(crate) fn write(&self, target: CUdeviceptr, source: usize, size: usize) -> Result<()> {
        let source: *const c_void = with_exposed_provenance(source);
        // SAFETY: see above.
        unsafe {
            call!(
                self.driver(),
                cuMemcpyHtoDAsync_v2(target, source, size, self.handle)
            )
        }
    }

    pub(crate) fn copy(&self, target: CUdeviceptr, source: CUdeviceptr, size: usize) -> Result<()> {
        // SAFETY: see above.
        unsafe {
            call!(
                self.driver(),
                cuMemcpyDtoDAsync_v2(target, source, size, self.handle)
            )
        }
    }

    /// Copies between any two addresses; the driver knows which are whose.
    pub(crate) fn copy_any(&self, target: usize, source: usize, size: usize) -> Result<()> {
        // SAFETY: see above.
        unsafe { call!(self.driver(), cuMemcpyAsync(target, source, size, self.handle)) }
    }

    /// Copies from one device to another.
    pub(crate) fn copy_to_peer(
        &self,
        (target, to): (CUdeviceptr, &Primary),
        (source, from): (CUdeviceptr, &Primary),
        size: usize,
    ) -> Result<()> {
        // SAFETY: see above; the contexts are there.
        unsafe {
            call!(
                self.driver(),
                cuMemcpyPeerAsync(target, to.handle(), source, from.handle(), size, self.handle)
            )
        }
    }

    /// Fills memory with a pattern, whose length divides the size.
    pub(crate) fn fill(&self, address: CUdeviceptr, pattern: &[u8], size: usize) -> Result<()> {
        let (driver, stream) = (self.driver(), self.handle);
        // The driver refuses values of 2 and 4 bytes at addresses that are no multiples of that.
        match *pattern {
            _ if size == 0 => Ok(()),
            // SAFETY: see above.
            [byte] => unsafe { call!(driver, cuMemsetD8Async(address, byte, size, stream)) },
            [a, b] if address.is_multiple_of(2) => {
                let value = u16::from_ne_bytes([a, b]);
                // SAFETY: see above; the address is a multiple of 2.
                unsafe { call!(driver, cuMemsetD16Async(address, value, size / 2, stream)) }
            }
            [a, b, c, d] if address.is_multiple_of(4) => {
                let value = u32::from_ne_bytes([a, b, c, d]);
                // SAFETY: see above; the address is a multiple of 4.
                unsafe { call!(driver, cuMemsetD32Async(address, value, size / 4, stream)) }
            }
            // The driver fills with values of 1, 2 and 4 bytes alone.
            _ => self.fill_columns(address, pattern, size / pattern.len()),
        }
    }

    /// Fills rows of a pattern: a column of words, or of bytes, for each place in it.
    fn fill_columns(&self, address: CUdeviceptr, pattern: &[u8], rows: usize) -> Result<()> {
        let (driver, stream, pitch) = (self.driver(), self.handle, pattern.len());
        let (words, rest) = pattern.as_chunks::<4>();
        if !rest.is_empty() || !address.is_multiple_of(4) {
            return pattern.iter().enumerate().try_for_each(|(place, byte)| {
                let start = address + place;
                // SAFETY: see above; every column is within the rows.
                unsafe { call!(driver, cuMemsetD2D8Async(start, pitch, *byte, 1, rows, stream)) }
            });
        }
        words.iter().enumerate().try_for_each(|(place, word)| {
            let (start, value) = (address + 4 * place, u32::from_ne_bytes(*word));
            // SAFETY: as before; address and pitch are multiples of 4.
            unsafe { call!(driver, cuMemsetD2D32Async(start, pitch, value, 1, rows, stream)) }
        })
    }

    /// Brings managed memory to the stream's device.
    pub(crate) fn prefetch(&self, address: CUdeviceptr, size: usize) -> Result<()> {
        let device = self.primary.id.handle();
        // SAFETY: see above.
        unsafe {
            call_newer!(
                self.driver(),
                cuMemPrefetchAsync(address, size, device, self.handle)
            )
        }
    }

    /// Says something about the use of managed memory: by the stream's device, or by the host.
    pub(crate) fn advise(
        &self,
        address: CUdeviceptr,
        size: usize,
        advice: CUmem_advise,
        of_host: bool,
    ) -> Result<()> {
        let device = if of_host { HOST } else { self.primary.id.handle() };
        // SAFETY: see above.
        unsafe { call_newer!(self.driver(), cuMemAdvise(address, size, advice, device)) }
    }

    /// Launches a kernel: blocks, threads of a block, bytes of shared memory, and where the values of the arguments are.
    ///
    /// # Safety
    ///
    /// There is a pointer for each argument, to as many bytes as the kernel reads.
    pub(crate) unsafe fn launch(
        &self,
        function: Function,
        [x, y, z]: [c_uint; 3],
        [width, height, depth]: [c_uint; 3],
        shared: c_uint,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        // The driver has copied the values when it returns, so that the caller's may go then.
        // SAFETY: the function is of this context, and by the caller's promise.
        unsafe {
            call!(
                self.driver(),
                cuLaunchKernel(
                    function.handle(),
                    x,
                    y,
                    z,
                    width,
                    height,
                    depth,
                    shared,
                    self.handle,
                    arguments.as_mut_ptr(),
                    null_mut()
                )
            )
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.is_owned {
            return;
        }
        let destroy = |_current| {
            // SAFETY: the stream is this value's. The driver lets go of it when its commands are done.
            unsafe { call!(self.driver(), cuStreamDestroy_v2(self.handle)) }
        };
        unless_lost(self.primary.enter().and_then(destroy));
    }
}

impl Event {
    fn new(primary: &Arc<Primary>, is_timed: bool) -> Result<Event> {
        let mut handle: CUevent = 0;
        // By the driver's documentation, events without times are the fastest to wait for and to
        // ask.
        let flags = if is_timed {
            CU_EVENT_DEFAULT
        } else {
            CU_EVENT_DISABLE_TIMING
        };
        // SAFETY: one place for the handle. The context is current, as the caller is about to submit something.
        unsafe { call!(primary.driver(), cuEventCreate(&raw mut handle, flags)) }?;
        Ok(Event::of_host(primary, handle, true))
    }

    /// One that a host gives.
    pub(crate) fn of_host(primary: &Arc<Primary>, handle: CUevent, is_owned: bool) -> Event {
        Event {
            primary: Arc::clone(primary),
            handle,
            is_owned,
            outcome: OnceLock::new(),
        }
    }

    pub(crate) fn handle(&self) -> CUevent {
        self.handle
    }

    /// How it ended, if it has.
    pub(crate) fn outcome(&self) -> Option<&Result<(), Error>> {
        if let Some(outcome) = self.outcome.get() {
            return Some(outcome);
        }
        // SAFETY: the event is there.
        let query = || unsafe { call!(self.primary.driver(), cuEventQuery(self.handle)) };
        match self.primary.enter().and_then(|_current| query()) {
            Err(error) if error.is(CUDA_ERROR_NOT_READY) => None,
            outcome => Some(self.outcome.get_or_init(|| outcome)),
        }
    }

    /// Says that it has come, as something behind it has.
    pub(crate) fn complete(&self) {
        self.outcome.get_or_init(|| Ok(()));
    }

    /// Waits for it.
    pub(crate) fn wait(&self) -> &Result<(), Error> {
        self.outcome.get_or_init(|| {
            let _current = self.primary.enter()?;
            // SAFETY: the event is there.
            unsafe { call!(self.primary.driver(), cuEventSynchronize(self.handle)) }
        })
    }

    /// Milliseconds since another event of the device; both have come, and are timed.
    pub(crate) fn milliseconds_since(&self, other: &Event) -> Result<f32> {
        let _current = self.primary.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: one place for the time; both events are there.
        unsafe {
            call!(
                self.primary.driver(),
                cuEventElapsedTime(&raw mut milliseconds, other.handle, self.handle)
            )?;
        }
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if !self.is_owned {
            return;
        }
        let destroy = |_current| {
            // SAFETY: the event is this value's.
            unsafe { call!(self.primary.driver(), cuEventDestroy_v2(self.handle)) }
        };
        unless_lost(self.primary.enter().and_then(destroy));
    }
}
