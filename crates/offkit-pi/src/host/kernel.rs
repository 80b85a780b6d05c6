//! Kernels and their arguments.

use super::Result;
use super::device::Device;
use super::handle::{Owned, integer, query, sizes, text};
use super::memory::{Allocation, Buffer, Usm};
use super::plugin::{Plugin, call};
use super::program::Program;
use crate::ffi::*;
use crate::table::Function;
use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::Arc;

/// An entry point of a program together with its arguments.
///
/// A launch uses the arguments as they are at that moment; they can be changed for the next one right after.
pub struct Kernel {
    handle: Owned<pi_kernel>,
    program: Program,
    /// What the arguments refer to, by index.
    arguments: HashMap<u32, Argument>,
    /// Whether the kernel finds addresses in memory.
    indirect: bool,
}

enum Argument {
    #[expect(dead_code, reason = "held so that the buffer stays alive")]
    Buffer(Buffer),
    Usm(Usm),
    /// An address of anything.
    Address,
}

impl Kernel {
    pub(crate) fn new(handle: Owned<pi_kernel>, program: Program) -> Kernel {
        Kernel {
            handle,
            program,
            arguments: HashMap::new(),
            indirect: false,
        }
    }

    pub(crate) fn raw(&self) -> pi_kernel {
        self.handle.raw()
    }

    fn plugin(&self) -> &Plugin {
        self.handle.plugin()
    }

    /// The USM allocations a launch may use: those of the arguments, or all of the context where the kernel
    /// may reach any. (Buffers need no such care: plugins keep those that commands use.)
    pub(crate) fn allocations(&self) -> Vec<Arc<Allocation>> {
        let any = self
            .arguments
            .values()
            .any(|value| matches!(value, Argument::Address));
        if self.indirect || any {
            return self.program.context().allocations();
        }
        let usm = |argument: &Argument| match argument {
            Argument::Usm(usm) => Some(usm.allocation()),
            Argument::Buffer(_) | Argument::Address => None,
        };
        self.arguments.values().filter_map(usm).collect()
    }

    /// The program the kernel belongs to.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Sets an argument that is passed by value (an integer, a float, a vector, a struct) to its bytes in
    /// memory.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such argument, or it is of another kind or size.
    pub fn set_arg_bytes(&mut self, index: u32, value: &[u8]) -> Result<()> {
        self.set_arg(index, value.len(), value.as_ptr().cast())
    }

    /// Sets an argument that points to local memory to a region of `size` bytes for each work-group.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such argument, or it is of another kind.
    pub fn set_arg_local(&mut self, index: u32, size: usize) -> Result<()> {
        self.set_arg(index, size, core::ptr::null())
    }

    fn set_arg(&mut self, index: u32, size: usize, value: *const c_void) -> Result<()> {
        // SAFETY: `value` is null or has `size` bytes (callers above).
        unsafe { call!(self.plugin(), piKernelSetArg(self.raw(), index, size, value)) }?;
        self.arguments.remove(&index);
        Ok(())
    }

    /// Sets an argument that points to global or constant memory to a buffer.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such argument, it is of another kind, or the buffer is of
    /// another context.
    pub fn set_arg_buffer(&mut self, index: u32, buffer: &Buffer) -> Result<()> {
        let function = Function::piextKernelSetArgMemObj;
        self.program
            .context()
            .check_same(buffer.context(), function, "buffer")?;
        let handle = buffer.raw();
        // SAFETY: kernel and buffer are valid.
        unsafe {
            call!(
                self.plugin(),
                piextKernelSetArgMemObj(self.raw(), index, &raw const handle)
            )
        }?;
        self.arguments.insert(index, Argument::Buffer(buffer.clone()));
        Ok(())
    }

    /// Sets an argument that points to global or constant memory to an address within a USM allocation.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such argument, it is of another kind, `offset` is past the
    /// allocation's end, or the allocation is of another context.
    pub fn set_arg_usm(&mut self, index: u32, usm: &Usm, offset: usize) -> Result<()> {
        let function = Function::piextKernelSetArgPointer;
        self.program
            .context()
            .check_same(usm.context(), function, "allocation")?;
        let address = usm.range(function, offset, 0)?;
        self.set_arg_pointer(index, address.addr())?;
        self.arguments.insert(index, Argument::Usm(usm.clone()));
        Ok(())
    }

    /// Sets an argument that points to global or constant memory to any address, such as 0.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such argument, or it is of another kind.
    pub fn set_arg_pointer(&mut self, index: u32, address: usize) -> Result<()> {
        let size = size_of::<usize>();
        // SAFETY: the value is a pointer to the address.
        unsafe {
            call!(
                self.plugin(),
                piextKernelSetArgPointer(self.raw(), index, size, (&raw const address).cast::<c_void>())
            )
        }?;
        if address == 0 {
            self.arguments.remove(&index);
        } else {
            self.arguments.insert(index, Argument::Address);
        }
        Ok(())
    }

    /// Says whether the kernel reaches USM allocations through pointers stored in memory.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not take it.
    pub fn set_indirect_access(&mut self, indirect: bool) -> Result<()> {
        let value = if indirect { PI_TRUE } else { PI_FALSE };
        // SAFETY: the value of this setting is a `pi_bool`.
        unsafe {
            call!(
                self.plugin(),
                piKernelSetExecInfo(
                    self.raw(),
                    PI_USM_INDIRECT_ACCESS,
                    size_of_val(&value),
                    (&raw const value).cast()
                )
            )
        }?;
        self.indirect = indirect;
        Ok(())
    }

    fn info(&self, name: pi_kernel_info) -> Result<Vec<u8>> {
        query(|size, value, size_ret| {
            // SAFETY: `query` passes a buffer of the size it says.
            unsafe {
                call!(
                    self.plugin(),
                    piKernelGetInfo(self.raw(), name, size, value, size_ret)
                )
            }
        })
    }

    /// Name.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not answer the query.
    pub fn name(&self) -> Result<String> {
        self.info(PI_KERNEL_INFO_FUNCTION_NAME).map(text)
    }

    /// Number of arguments.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not answer the query.
    pub fn num_args(&self) -> Result<u32> {
        Ok(integer(Function::piKernelGetInfo, &self.info(PI_KERNEL_INFO_NUM_ARGS)?)? as u32)
    }

    fn group_info(&self, device: &Device, name: pi_kernel_group_info) -> Result<Vec<u8>> {
        self.plugin()
            .check_same(device.plugin(), Function::piKernelGetGroupInfo, PI_INVALID_DEVICE)?;
        query(|size, value, size_ret| {
            // SAFETY: `query` passes a buffer of the size it says.
            unsafe {
                call!(
                    self.plugin(),
                    piKernelGetGroupInfo(self.raw(), device.raw(), name, size, value, size_ret)
                )
            }
        })
    }

    /// Work-items a work-group of this kernel can have on a device.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not answer the query.
    pub fn work_group_size(&self, device: &Device) -> Result<usize> {
        let answer = self.group_info(device, PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE)?;
        Ok(integer(Function::piKernelGetGroupInfo, &answer)? as usize)
    }

    /// The work-group size the source demands, if it does.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not answer the query.
    pub fn compile_work_group_size(&self, device: &Device) -> Result<Option<[usize; 3]>> {
        let answer = self.group_info(device, PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE)?;
        let size = sizes(Function::piKernelGetGroupInfo, &answer)?;
        Ok((size != [0; 3]).then_some(size))
    }

    /// Bytes of local memory a work-group uses, not counting arguments yet to be set.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not answer the query.
    pub fn local_memory_size(&self, device: &Device) -> Result<u64> {
        let answer = self.group_info(device, PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE)?;
        integer(Function::piKernelGetGroupInfo, &answer)
    }

    /// A number that work-group sizes had better be multiples of.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if the plugin does not answer the query.
    pub fn preferred_work_group_size_multiple(&self, device: &Device) -> Result<usize> {
        let answer = self.group_info(device, PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)?;
        Ok(integer(Function::piKernelGetGroupInfo, &answer)? as usize)
    }
}

impl core::fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Kernel")
            .field("handle", &self.raw())
            .finish()
    }
}
