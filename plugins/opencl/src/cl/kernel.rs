//! Kernels. Setting an argument is the one thing that OpenCL does not let several threads do at a time: whoever does it
//! sees to that.

use super::{DeviceId, Owned, Result, ask, call, text, words};
use core::ffi::c_void;
use core::ptr::{null, null_mut};
use offkit_opencl::*;

impl Owned<_cl_kernel> {
    /// # Safety
    ///
    /// No other thread sets an argument of the kernel or launches it meanwhile.
    unsafe fn set(&self, index: u32, size: usize, value: *const c_void) -> Result<()> {
        // SAFETY: by the caller's promise.
        unsafe {
            call!(
                self.driver().table,
                clSetKernelArg(self.handle(), index, size, value)
            )
        }
    }

    /// Sets an argument to a value.
    ///
    /// # Safety
    ///
    /// No other thread sets an argument of the kernel or launches it meanwhile.
    pub(crate) unsafe fn set_bytes(&self, index: u32, bytes: &[u8]) -> Result<()> {
        // SAFETY: by the caller's promise; so many bytes are there.
        unsafe { self.set(index, bytes.len(), bytes.as_ptr().cast()) }
    }

    /// Sets an argument to local memory of a size.
    ///
    /// # Safety
    ///
    /// As for [`set_bytes`](Self::set_bytes).
    pub(crate) unsafe fn set_local(&self, index: u32, size: usize) -> Result<()> {
        // SAFETY: by the caller's promise; local memory has a size and no value.
        unsafe { self.set(index, size, null()) }
    }

    /// Sets an argument to a buffer, or to a null pointer.
    ///
    /// # Safety
    ///
    /// As for [`set_bytes`](Self::set_bytes).
    pub(crate) unsafe fn set_buffer(&self, index: u32, buffer: Option<&Owned<_cl_mem>>) -> Result<()> {
        // A null handle behind a pointer is a null pointer to global memory.
        let handle: cl_mem = buffer.map_or(null_mut(), Owned::handle);
        // SAFETY: by the caller's promise; the value is a handle.
        unsafe { self.set(index, size_of::<cl_mem>(), (&raw const handle).cast()) }
    }

    /// Sets an argument to a sampler.
    ///
    /// # Safety
    ///
    /// As for [`set_bytes`](Self::set_bytes).
    pub(crate) unsafe fn set_sampler(&self, index: u32, sampler: &Owned<_cl_sampler>) -> Result<()> {
        let handle: cl_sampler = sampler.handle();
        // SAFETY: by the caller's promise; the value is a handle.
        unsafe { self.set(index, size_of::<cl_sampler>(), (&raw const handle).cast()) }
    }

    /// Sets an argument to an address of unified shared memory.
    ///
    /// # Safety
    ///
    /// As for [`set_bytes`](Self::set_bytes).
    pub(crate) unsafe fn set_address(&self, index: u32, address: usize) -> Result<()> {
        let (driver, pointer) = (self.driver(), core::ptr::with_exposed_provenance(address));
        // Without the extension the plugin has no memory with addresses: this is SVM that the host
        // has from elsewhere.
        // SAFETY: by the caller's promise; that the address is one, the host vouches for.
        unsafe {
            if driver.has_usm() {
                call!(
                    driver.extensions,
                    clSetKernelArgMemPointerINTEL(self.handle(), index, pointer)
                )
            } else {
                call!(
                    driver.table,
                    clSetKernelArgSVMPointer(self.handle(), index, pointer)
                )
            }
        }
    }

    /// Tells something about the execution of the kernel, as bytes.
    pub(crate) fn set_exec_info(&self, name: cl_kernel_exec_info, value: &[u8]) -> Result<()> {
        // SAFETY: so many bytes are there.
        unsafe {
            call!(
                self.driver().table,
                clSetKernelExecInfo(self.handle(), name, value.len(), value.as_ptr().cast())
            )
        }
    }

    pub(crate) fn info(&self, name: cl_kernel_info) -> Result<Vec<u8>> {
        // SAFETY: the kernel is the driver's.
        ask!(self.driver().table, unsafe clGetKernelInfo(self.handle(), name))
    }

    /// Whether an argument is passed by value. Drivers need not know, but for programs built from source on demand.
    pub(crate) fn is_value(&self, index: u32) -> Option<bool> {
        let table = &self.driver().table;
        // SAFETY: the kernel is the driver's.
        let ask = |name| ask!(table, unsafe clGetKernelArgInfo(self.handle(), index, name)).ok();
        let space = u32::from_ne_bytes(words(&ask(CL_KERNEL_ARG_ADDRESS_QUALIFIER)?).next()?);
        if space != CL_KERNEL_ARG_ADDRESS_PRIVATE {
            return Some(false);
        }
        // Samplers are private, too.
        Some(text(ask(CL_KERNEL_ARG_TYPE_NAME)?) != "sampler_t")
    }

    /// The program that it is of.
    pub(crate) fn program(&self) -> Result<Owned<_cl_program>> {
        let mut program: cl_program = null_mut();
        // SAFETY: the kernel is the driver's, and so is its program, of which a reference is taken.
        unsafe {
            call!(
                self.driver().table,
                clGetKernelInfo(
                    self.handle(),
                    CL_KERNEL_PROGRAM,
                    size_of::<cl_program>(),
                    (&raw mut program).cast(),
                    null_mut()
                )
            )?;
            Owned::shared(self.driver(), "clGetKernelInfo", program)
        }
    }

    pub(crate) fn group_info(&self, device: DeviceId, name: cl_kernel_work_group_info) -> Result<Vec<u8>> {
        // SAFETY: the kernel is the driver's, and the device one of its.
        ask!(
            self.driver().table,
            unsafe clGetKernelWorkGroupInfo(self.handle(), device.handle(), name)
        )
    }

    /// The answer to a query about sub-groups of work-groups of a size.
    pub(crate) fn sub_group_info(
        &self,
        device: DeviceId,
        name: cl_kernel_sub_group_info,
        local: &[usize],
    ) -> Result<Vec<u8>> {
        let (size, value) = (size_of_val(local), local.as_ptr().cast());
        let (kernel, device, driver) = (self.handle(), device.handle(), self.driver());
        // Before OpenCL 2.1 the function was that of `cl_khr_subgroups`, under another name.
        // SAFETY: the kernel is the driver's, and the device one of its; so many bytes are there.
        if driver.version >= (2, 1) {
            ask!(driver.table, unsafe clGetKernelSubGroupInfo(kernel, device, name, size, value))
        } else {
            ask!(driver.table, unsafe clGetKernelSubGroupInfoKHR(kernel, device, name, size, value))
        }
    }
}
