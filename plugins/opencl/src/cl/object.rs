//! Objects of a driver, counted as the driver counts them.

use super::{Driver, Error, Result, call};
use core::ptr::NonNull;
use offkit_opencl::*;
use offkit_pi::plugin::{Count, NativeHandle};

/// A kind of object that drivers count references to: what its handle points to.
pub(crate) trait Object: Sized + 'static {
    /// Adds a reference.
    ///
    /// # Safety
    ///
    /// The handle is one of the driver's, of an object that is there.
    unsafe fn retain(driver: &Driver, handle: *mut Self) -> Result<()>;

    /// Takes a reference back.
    ///
    /// # Safety
    ///
    /// The handle is one of the driver's, and the caller has a reference that it does not use any more.
    unsafe fn release(driver: &Driver, handle: *mut Self) -> Result<()>;
}

macro_rules! objects {
    ($($object:ident, $retain:ident, $release:ident;)*) => {$(
        impl Object for $object {
            unsafe fn retain(driver: &Driver, handle: *mut $object) -> Result<()> {
                // SAFETY: by the caller's promise.
                unsafe { call!(driver.table, $retain(handle)) }
            }

            unsafe fn release(driver: &Driver, handle: *mut $object) -> Result<()> {
                // SAFETY: by the caller's promise.
                unsafe { call!(driver.table, $release(handle)) }
            }
        }
    )*};
}

objects! {
    _cl_context, clRetainContext, clReleaseContext;
    _cl_command_queue, clRetainCommandQueue, clReleaseCommandQueue;
    _cl_mem, clRetainMemObject, clReleaseMemObject;
    _cl_sampler, clRetainSampler, clReleaseSampler;
    // Parts of devices are; devices themselves ignore it.
    _cl_device_id, clRetainDevice, clReleaseDevice;
    _cl_program, clRetainProgram, clReleaseProgram;
    _cl_kernel, clRetainKernel, clReleaseKernel;
    _cl_event, clRetainEvent, clReleaseEvent;
}

/// A reference to an object of a driver.
pub(crate) struct Owned<O: Object> {
    handle: NonNull<O>,
    driver: &'static Driver,
}

// SAFETY: functions of OpenCL may be called from any thread, with objects that other threads use as well. (The exception
// is setting an argument of a kernel, see there.)
unsafe impl<O: Object> Send for Owned<O> {}
// SAFETY: as above.
unsafe impl<O: Object> Sync for Owned<O> {}

impl<O: Object> Owned<O> {
    /// Takes over a reference that a function has returned.
    ///
    /// # Safety
    ///
    /// The handle is null, or one of the driver's with a reference that is the caller's to give away.
    pub(super) unsafe fn new(
        driver: &'static Driver,
        function: &'static str,
        handle: *mut O,
    ) -> Result<Owned<O>> {
        // The driver has said that it succeeded; OpenCL has no code for that with a null handle.
        let null = Error {
            function,
            code: CL_OUT_OF_HOST_MEMORY,
        };
        let handle = NonNull::new(handle).ok_or(null)?;
        Ok(Owned { handle, driver })
    }

    /// Takes an object of the driver that a host gives, with the host's reference or one of its own.
    pub(crate) fn from_native(driver: &'static Driver, native: &NativeHandle) -> Result<Owned<O>> {
        let handle = core::ptr::with_exposed_provenance_mut(native.handle());
        // SAFETY: the host vouches for the handle.
        unsafe {
            match native.is_owned() {
                true => Owned::new(driver, "a native handle", handle),
                false => Owned::shared(driver, "a native handle", handle),
            }
        }
    }

    /// Takes a reference of its own.
    ///
    /// # Safety
    ///
    /// The handle is null, or one of the driver's of an object that is there.
    pub(super) unsafe fn shared(
        driver: &'static Driver,
        function: &'static str,
        handle: *mut O,
    ) -> Result<Owned<O>> {
        if !handle.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { O::retain(driver, handle) }?;
        }
        // SAFETY: null, or with the reference just taken.
        unsafe { Owned::new(driver, function, handle) }
    }

    /// Counts a reference of the host's, who has others, along with those of the plugin's object.
    pub(crate) fn count(&self, count: Count) -> Result<()> {
        // SAFETY: the object is there as long as this is; what is given back is a reference of the host's.
        unsafe {
            match count {
                Count::Up => O::retain(self.driver, self.handle()),
                Count::Down => O::release(self.driver, self.handle()),
            }
        }
    }

    pub(super) fn handle(&self) -> *mut O {
        self.handle.as_ptr()
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// The handle as a number, for hosts that talk to the driver themselves.
    pub(crate) fn native(&self) -> usize {
        self.handle().expose_provenance()
    }

    /// Whether another object is of the same driver, which alone knows what its handle means.
    pub(crate) fn is_of(&self, driver: &'static Driver) -> bool {
        core::ptr::eq(self.driver, driver)
    }
}

impl<O: Object> Drop for Owned<O> {
    fn drop(&mut self) {
        // Who drops an object cannot be told, and the worst that follows is a leak.
        // SAFETY: this is a reference, and ends.
        if let Err(error) = unsafe { O::release(self.driver, self.handle()) } {
            tracing::error!(%error, "an object is not released");
        }
    }
}
