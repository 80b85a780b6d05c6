//! Unified shared memory, which drivers have as an extension.

use super::queue::submit;
use super::{DeviceId, Event, Order, Owned, Result, ask, call, create, is_called_back};
use core::ffi::c_void;
use core::ptr::{null, null_mut};
use offkit_opencl::*;
use offkit_pi::host::UsmKind;

fn pointer(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}

impl Owned<_cl_context> {
    pub(crate) fn allocate_usm(
        &self,
        kind: UsmKind,
        device: Option<DeviceId>,
        size: usize,
        alignment: usize,
    ) -> Result<usize> {
        let (driver, context) = (self.driver(), self.handle());
        let (functions, device) = (&driver.extensions, device.map_or(null_mut(), DeviceId::handle));
        // PI's alignments have 32 bits as well.
        let alignment = alignment as cl_uint;
        // SAFETY: the device is null, or one of the context's, as the plugin interface has checked; no properties.
        let address = unsafe {
            match kind {
                UsmKind::Host => {
                    create!(functions, clHostMemAllocINTEL(context, null(), size, alignment))
                }
                UsmKind::Device => create!(
                    functions,
                    clDeviceMemAllocINTEL(context, device, null(), size, alignment)
                ),
                UsmKind::Shared => create!(
                    functions,
                    clSharedMemAllocINTEL(context, device, null(), size, alignment)
                ),
            }
        }?;
        Ok(address.expose_provenance())
    }

    /// Frees an allocation, after the commands that use it where the driver knows how. A host that frees in an event's
    /// callback knows that they are done.
    pub(crate) fn free_usm(&self, address: usize) -> Result<()> {
        let (functions, context) = (&self.driver().extensions, self.handle());
        // SAFETY: that the address is one of an allocation, and that nobody uses it any more, the host vouches for.
        unsafe {
            match functions.clMemBlockingFreeINTEL {
                Some(_) if !is_called_back() => {
                    call!(functions, clMemBlockingFreeINTEL(context, pointer(address)))
                }
                _ => call!(functions, clMemFreeINTEL(context, pointer(address))),
            }
        }
    }

    /// The answer to a query about an address, as a word.
    pub(crate) fn usm_info(&self, address: usize, name: cl_mem_info_intel) -> Result<usize> {
        // SAFETY: any address may be asked about.
        let bytes = ask!(
            self.driver().extensions,
            unsafe clGetMemAllocInfoINTEL(self.handle(), pointer(address), name)
        )?;
        // A type has 4 bytes, and addresses and sizes have 8: the first fill the low half of the
        // word.
        let mut word = [0; size_of::<usize>()];
        for (place, byte) in word.iter_mut().zip(bytes) {
            *place = byte;
        }
        Ok(usize::from_ne_bytes(word))
    }
}

// SAFETY (of all below): that addresses are of memory that the device or the host has for as long as the command takes,
// the host vouches for, as the plugin interface says.
impl Owned<_cl_command_queue> {
    /// Fills memory with a pattern.
    pub(crate) fn fill_usm(
        &self,
        address: usize,
        pattern: &[u8],
        size: usize,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        let (functions, target) = (&self.driver().extensions, pointer(address));
        // SAFETY: as above; so many bytes are there, which are read during the call.
        unsafe {
            match (functions.clEnqueueMemsetINTEL, pattern) {
                // Drivers of the extension's first version have this alone.
                (Some(_), [byte]) if functions.clEnqueueMemFillINTEL.is_none() => submit!(
                    self,
                    order,
                    functions,
                    clEnqueueMemsetINTEL(target, (*byte).into(), size)
                ),
                _ => submit!(
                    self,
                    order,
                    functions,
                    clEnqueueMemFillINTEL(target, pattern.as_ptr().cast(), pattern.len(), size)
                ),
            }
        }
    }

    pub(crate) fn copy_usm(
        &self,
        source: usize,
        target: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        // SAFETY: as above.
        unsafe {
            submit!(
                self,
                order,
                self.driver().extensions,
                clEnqueueMemcpyINTEL(CL_FALSE, pointer(target), pointer(source), size)
            )
        }
    }

    /// Brings memory close to the device; where the driver cannot, a marker.
    pub(crate) fn prefetch_usm(
        &self,
        address: usize,
        size: usize,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        let functions = &self.driver().extensions;
        if functions.clEnqueueMigrateMemINTEL.is_none() {
            return self.marker(order);
        }
        // Without a flag the memory goes to the queue's device; one would send it to the host.
        // SAFETY: as above.
        unsafe {
            submit!(
                self,
                order,
                functions,
                clEnqueueMigrateMemINTEL(pointer(address), size, 0)
            )
        }
    }
}
