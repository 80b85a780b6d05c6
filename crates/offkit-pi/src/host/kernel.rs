//! Kernels and their arguments.

use super::Result;
use super::argument::Argument;
use super::device::Device;
use super::handle::{Owned, integer, sizes, text};
use super::in_use::Used;
use super::memory::Buffer;
use super::plugin::{Plugin, ask, call};
use super::program::Program;
use crate::ffi::*;
use crate::table::Function;
use core::ffi::c_void;
use std::collections::HashMap;

/// An entry point of a program together with its arguments.
///
/// A launch uses the arguments as they are at that moment; they can be changed for the next one right after.
#[derive(Debug)]
pub struct Kernel {
    handle: Owned<pi_kernel>,
    program: Program,
    /// The arguments set last, by index.
    arguments: HashMap<u32, Argument>,
    /// Whether the kernel finds addresses in memory.
    indirect: bool,
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

    /// Whether the kernel may find addresses of any allocations.
    fn uses_any(&self) -> bool {
        let mut arguments = self.arguments.values();
        // A null pointer leads to nothing, and where any other leads nobody here knows.
        self.indirect || arguments.any(|value| matches!(value, Argument::Address(1..)))
    }

    /// Whether a launch may use USM allocations.
    pub(crate) fn uses_allocations(&self) -> bool {
        let mut arguments = self.arguments.values();
        self.uses_any() || arguments.any(|value| matches!(value, Argument::Usm { .. }))
    }

    /// Adds the USM allocations a launch may use: those of the arguments, or any of the context where the kernel
    /// may reach all. (Buffers need no such care: plugins keep those that commands use.)
    pub(crate) fn add_allocations(&self, used: &mut Used) {
        if self.uses_any() {
            used.any = Some(self.program.context().use_of_any());
            return;
        }
        let usm = |argument: &Argument| match argument {
            Argument::Usm { allocation, .. } => Some(allocation.allocation()),
            _ => None,
        };
        used.allocations.extend(self.arguments.values().filter_map(usm));
    }

    /// The program the kernel belongs to.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Sets an argument.
    ///
    /// Only the plugin knows here what the kernel takes, so it is the plugin that checks.
    ///
    /// # Errors
    ///
    /// [`PiError`](super::PiError) if there is no such argument, it is of another kind or size, a buffer or
    /// allocation is of another context, or an offset is past the allocation's end.
    pub fn set_argument(&mut self, index: u32, argument: impl Into<Argument>) -> Result<()> {
        let argument = argument.into();
        match &argument {
            Argument::Value { bytes, .. } => self.set_value(index, bytes.len(), bytes.as_ptr().cast()),
            // The interface has no function of its own for local memory: it is a value of that size which
            // is nowhere.
            Argument::Local(size) => self.set_value(index, *size, core::ptr::null()),
            Argument::Buffer { memory, .. } => self.set_buffer(index, memory),
            Argument::Usm {
                allocation, offset, ..
            } => {
                let function = Function::piextKernelSetArgPointer;
                self.program
                    .context()
                    .check_same(allocation.context(), function, "allocation")?;
                let address = allocation.range(function, *offset, 0)?;
                self.set_address(index, address.addr())
            }
            Argument::Address(address) => self.set_address(index, *address),
        }?;
        // Plugins need not keep what an argument refers to before a launch uses it, so it is kept here.
        self.arguments.insert(index, argument);
        Ok(())
    }

    fn set_value(&self, index: u32, size: usize, value: *const c_void) -> Result<()> {
        // SAFETY: `value` is null or has `size` bytes (callers above), which the plugin copies during the call.
        unsafe { call!(self.plugin(), piKernelSetArg(self.raw(), index, size, value)) }
    }

    fn set_buffer(&self, index: u32, buffer: &Buffer) -> Result<()> {
        let function = Function::piextKernelSetArgMemObj;
        self.program
            .context()
            .check_same(buffer.context(), function, "buffer")?;
        let handle = buffer.raw();
        // SAFETY: kernel and buffer are valid.
        unsafe { self.plugin().set_memory_argument(self.raw(), index, None, handle) }
    }

    fn set_address(&self, index: u32, address: usize) -> Result<()> {
        // Unlike `clSetKernelArgSVMPointer`, this takes a pointer to the address, and its size.
        let size = size_of::<usize>();
        // SAFETY: the value is a pointer to the address, which the plugin reads during the call.
        unsafe {
            call!(
                self.plugin(),
                piextKernelSetArgPointer(self.raw(), index, size, (&raw const address).cast::<c_void>())
            )
        }
    }

    /// Says whether the kernel reaches USM allocations through pointers stored in memory. None of its context is freed while
    /// one that does is under way.
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
        ask!(self.plugin(), piKernelGetInfo(self.raw(), name))
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
        ask!(
            self.plugin(),
            piKernelGetGroupInfo(self.raw(), device.raw(), name)
        )
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
