//! Kernels.

use offkit_opencl::*;
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Result};
use offkit_sync::{Arc, RwLock, TryLockError};

use super::OpenCl;
use super::device::ClDevice;
use crate::cl::{Event, Order, Owned, text, words};

/// A kernel of a driver, with its arguments.
pub(crate) struct ClKernel {
    object: Owned<_cl_kernel>,
    /// Launches share it; a thread that sets an argument has it to itself.
    arguments: RwLock<()>,
}

impl ClKernel {
    pub(super) fn new(object: Owned<_cl_kernel>) -> ClKernel {
        ClKernel {
            object,
            arguments: RwLock::new(()),
        }
    }

    pub(super) fn object(&self) -> &Owned<_cl_kernel> {
        &self.object
    }

    /// Does something that OpenCL does not let threads do while another sets an argument. Nobody waits: who has two threads
    /// do it breaks the interface's rules.
    fn unless_taken<G, R>(
        &self,
        guard: impl FnOnce() -> std::result::Result<G, TryLockError<G>>,
        action: impl FnOnce(&Owned<_cl_kernel>) -> R,
    ) -> Result<R> {
        let _guard = match guard() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let message = "an argument of the kernel is being set by one thread and used by another";
                return Err(Error::new(PI_INVALID_OPERATION, message));
            }
        };
        Ok(action(&self.object))
    }

    /// Launches the kernel with the arguments as they are.
    #[expect(unsafe_code, reason = "no thread sets an argument meanwhile")]
    pub(super) fn launch(
        &self,
        queue: &Owned<_cl_command_queue>,
        range: &NdRange,
        order: &Order<'_>,
    ) -> Result<Option<Event>> {
        let launch = |kernel: &_| {
            // SAFETY: no thread sets an argument of the kernel meanwhile.
            unsafe { queue.launch(kernel, range, order) }
        };
        Ok(self.unless_taken(|| self.arguments.try_read(), launch)??)
    }
}

impl Kernel<OpenCl> for ClKernel {
    fn name(&self) -> String {
        self.object
            .info(CL_KERNEL_FUNCTION_NAME)
            .map(text)
            .unwrap_or_default()
    }

    fn num_args(&self) -> u32 {
        let bytes = self.object.info(CL_KERNEL_NUM_ARGS).unwrap_or_default();
        words(&bytes).next().map_or(0, u32::from_ne_bytes)
    }

    #[expect(unsafe_code, reason = "the kernel is this thread's alone")]
    fn set_argument(&self, index: u32, value: Argument<'_, OpenCl>) -> Result<()> {
        let set = |kernel: &Owned<_>| {
            // SAFETY: no other thread sets an argument of the kernel or launches it meanwhile.
            unsafe {
                match &value {
                    Argument::Bytes(bytes) => kernel.set_bytes(index, bytes),
                    // OpenCL writes a null pointer as it writes local memory of a pointer's size, too.
                    Argument::Local(size) => kernel.set_local(index, *size),
                    Argument::Memory(buffer) => {
                        kernel.set_buffer(index, buffer.as_ref().map(|buffer| buffer.object()))
                    }
                    Argument::Sampler(sampler) => kernel.set_sampler(index, sampler.object()),
                    Argument::Pointer(0) => kernel.set_buffer(index, None),
                    Argument::Pointer(address) => kernel.set_address(index, *address),
                }
            }
        };
        let set = self.unless_taken(|| self.arguments.try_write(), set)?;
        set.map_err(|error| match (error.code, &value) {
            // Some drivers see that such bytes are no handle of theirs.
            (CL_INVALID_MEM_OBJECT, Argument::Bytes(_)) => Error::new(PI_INVALID_ARG_VALUE, error),
            (CL_INVALID_ARG_INDEX | CL_INVALID_ARG_VALUE | CL_INVALID_ARG_SIZE, value) => Error::new(
                error.result(),
                format_args!(
                    "argument {index} of kernel {} cannot be {value} ({error})",
                    self.name()
                ),
            ),
            _ => error.into(),
        })
    }

    fn is_value(&self, index: u32) -> Option<bool> {
        self.object.is_value(index)
    }

    fn group_info(&self, device: &Arc<ClDevice>, name: pi_kernel_group_info) -> Result<Info> {
        // OpenCL's queries, by number and answer.
        Ok(self.object.group_info(device.id, name)?.into())
    }

    fn sub_group_info(
        &self,
        device: &Arc<ClDevice>,
        name: pi_kernel_sub_group_info,
        local: Option<[usize; 3]>,
    ) -> Result<u32> {
        // OpenCL knows how many there are of a work-group by another query.
        let name = match (name, local) {
            (PI_KERNEL_MAX_NUM_SUB_GROUPS, Some(_)) => CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE,
            (name, _) => name,
        };
        let local = match (name, local) {
            (PI_KERNEL_MAX_SUB_GROUP_SIZE | CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, Some(local)) => {
                local.to_vec()
            }
            // The largest sub-group is asked for a work-group, of which the host does not say how large it is.
            (PI_KERNEL_MAX_SUB_GROUP_SIZE | PI_KERNEL_MAX_NUM_SUB_GROUPS, None) => {
                device.max_work_item_sizes()
            }
            _ => Vec::new(),
        };
        let bytes = self.object.sub_group_info(device.id, name, &local)?;
        let answer = words(&bytes).next().map_or(0, usize::from_ne_bytes);
        Ok(answer.try_into().unwrap_or(u32::MAX))
    }

    fn set_indirect_access(&self, indirect: bool) -> Result<()> {
        if !self.object.driver().has_usm() {
            // There is nothing to reach.
            return Ok(());
        }
        // PI has one switch for all kinds of memory, and the extension has one for each.
        let value = cl_bool::from(indirect).to_ne_bytes();
        for name in [
            CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
            CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
            CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
        ] {
            self.object.set_exec_info(name, &value)?;
        }
        Ok(())
    }

    fn set_usm_pointers(&self, addresses: &[usize]) -> Result<()> {
        let bytes: Vec<u8> = addresses
            .iter()
            .flat_map(|address| address.to_ne_bytes())
            .collect();
        Ok(self
            .object
            .set_exec_info(CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, &bytes)?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}
