//! Objects of an adapter, counted as the adapter counts them.

use super::{Adapter, Error, Result, call};
use core::ptr::NonNull;
use offkit_ur::*;

/// A kind of object that adapters count references to: what its handle points to.
pub(crate) trait Object: Sized + 'static {
    /// Adds a reference.
    ///
    /// # Safety
    ///
    /// The handle is one of the adapter's, of an object that is there.
    unsafe fn retain(adapter: &'static Adapter, handle: *mut Self) -> Result<()>;

    /// Takes a reference back.
    ///
    /// # Safety
    ///
    /// The handle is one of the adapter's, and the caller has a reference that it does not use any more.
    unsafe fn release(adapter: &'static Adapter, handle: *mut Self) -> Result<()>;
}

macro_rules! objects {
    ($($object:ident, $retain:ident, $release:ident;)*) => {$(
        impl Object for $object {
            unsafe fn retain(adapter: &'static Adapter, handle: *mut $object) -> Result<()> {
                // SAFETY: by the caller's promise.
                unsafe { call!(adapter, $retain(handle)) }
            }

            unsafe fn release(adapter: &'static Adapter, handle: *mut $object) -> Result<()> {
                // SAFETY: by the caller's promise.
                unsafe { call!(adapter, $release(handle)) }
            }
        }
    )*};
}

objects! {
    _ur_context, urContextRetain, urContextRelease;
    _ur_queue, urQueueRetain, urQueueRelease;
    _ur_mem, urMemRetain, urMemRelease;
    _ur_sampler, urSamplerRetain, urSamplerRelease;
    // Parts of devices are; devices themselves ignore it.
    _ur_device, urDeviceRetain, urDeviceRelease;
    _ur_program, urProgramRetain, urProgramRelease;
    _ur_kernel, urKernelRetain, urKernelRelease;
    _ur_event, urEventRetain, urEventRelease;
}

/// A reference to an object of an adapter.
#[derive(Debug)]
pub(crate) struct Owned<O: Object> {
    handle: NonNull<O>,
    adapter: &'static Adapter,
}

// SAFETY: functions of Unified Runtime may be called from any thread, with objects that other threads use as well. (The
// exception is setting an argument of a kernel, see there.)
unsafe impl<O: Object> Send for Owned<O> {}
// SAFETY: as above.
unsafe impl<O: Object> Sync for Owned<O> {}

impl<O: Object> Owned<O> {
    /// Takes over a reference that a function has written.
    ///
    /// # Safety
    ///
    /// The handle is null, or one of the adapter's with a reference that is the caller's to give away.
    pub(super) unsafe fn new(
        adapter: &'static Adapter,
        function: &'static str,
        handle: *mut O,
    ) -> Result<Owned<O>> {
        let handle = NonNull::new(handle).ok_or(Error::null(function))?;
        Ok(Owned { handle, adapter })
    }

    /// Another reference to the object.
    pub(crate) fn try_clone(&self) -> Result<Owned<O>> {
        // SAFETY: the object is there.
        unsafe { O::retain(self.adapter, self.handle()) }?;
        Ok(Owned { ..*self })
    }

    pub(super) fn handle(&self) -> *mut O {
        self.handle.as_ptr()
    }

    pub(crate) fn adapter(&self) -> &'static Adapter {
        self.adapter
    }

    /// Whether it is of that adapter, which alone knows what its handle means.
    pub(crate) fn is_of(&self, adapter: &'static Adapter) -> bool {
        core::ptr::eq(self.adapter, adapter)
    }
}

impl<O: Object> Drop for Owned<O> {
    fn drop(&mut self) {
        // A leak is all that follows, and who drops an object cannot be told of it.
        // SAFETY: this is a reference, and ends.
        if let Err(error) = unsafe { O::release(self.adapter, self.handle()) } {
            tracing::error!(%error, "an object is not released");
        }
    }
}

/// Who owns a driver's own object that a host gives, as functions want it.
pub(super) fn native_properties(stype: u32, owned: bool) -> ur_native_properties_t {
    ur_native_properties_t {
        stype,
        next: core::ptr::null(),
        owned,
    }
}
