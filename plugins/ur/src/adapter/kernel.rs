//! Kernels and their arguments. Setting an argument is the one thing that drivers do not let several threads do at a
//! time: whoever does it sees to that.

use super::context::create;
use super::object::{Object, native_properties};
use super::{DeviceId, Error, Owned, Result, ask, call, pointer};
use core::ptr::{null, null_mut};
use offkit_pi::plugin::NativeHandle;
use offkit_ur::*;

/// An argument of a kernel. What it refers to must be there when the kernel runs.
#[derive(Debug)]
pub(crate) enum Held<M, S> {
    /// None has been set.
    Unset,
    /// A value.
    Bytes(Vec<u8>),
    /// Local memory of a size.
    Local(usize),
    /// An address, or null.
    Pointer(usize),
    /// A buffer or an image.
    Memory(M),
    /// A sampler.
    Sampler(S),
}

impl<M: AsRef<Owned<_ur_mem>>, S: AsRef<Owned<_ur_sampler>>> Held<M, S> {
    /// The argument for a launch that brings its own; `None` if it has not been set.
    fn property(&self, index: u32) -> Option<ur_exp_kernel_arg_properties_t> {
        let (kind, size, value) = match self {
            Held::Unset => return None,
            Held::Bytes(bytes) => (UR_EXP_KERNEL_ARG_TYPE_VALUE, bytes.len(), bytes.as_ptr().cast()),
            Held::Local(size) => (UR_EXP_KERNEL_ARG_TYPE_LOCAL, *size, null()),
            Held::Pointer(address) => (
                UR_EXP_KERNEL_ARG_TYPE_POINTER,
                size_of::<usize>(),
                pointer(*address).cast_const(),
            ),
            Held::Memory(memory) => (
                UR_EXP_KERNEL_ARG_TYPE_MEM_OBJ,
                size_of::<ur_mem_handle_t>(),
                memory.as_ref().handle().cast_const().cast(),
            ),
            Held::Sampler(sampler) => (
                UR_EXP_KERNEL_ARG_TYPE_SAMPLER,
                size_of::<ur_sampler_handle_t>(),
                sampler.as_ref().handle().cast_const().cast(),
            ),
        };
        Some(ur_exp_kernel_arg_properties_t {
            stype: UR_STRUCTURE_TYPE_EXP_KERNEL_ARG_PROPERTIES,
            next: null(),
            kind,
            index,
            size,
            value,
            // What the kernel does with a buffer is not known here, and this allows all of it.
            flags: UR_MEM_FLAG_READ_WRITE,
        })
    }

    /// The arguments for a launch that brings its own, which refer to these.
    pub(super) fn properties(arguments: &[Self]) -> Vec<ur_exp_kernel_arg_properties_t> {
        let numbered = (0..).zip(arguments);
        numbered
            .filter_map(|(index, argument)| argument.property(index))
            .collect()
    }
}

impl Owned<_ur_kernel> {
    /// Whether launches bring all arguments, since there is no other way to set them.
    fn is_given_all(&self) -> bool {
        self.adapter().form == Form::V2026_2
    }

    /// Sets an argument.
    ///
    /// # Safety
    ///
    /// No other thread sets an argument of the kernel or launches it meanwhile.
    pub(crate) unsafe fn set<M, S>(&self, index: u32, value: &Held<M, S>) -> Result<()>
    where
        M: AsRef<Owned<_ur_mem>>,
        S: AsRef<Owned<_ur_sampler>>,
    {
        if self.is_given_all() {
            return Ok(());
        }
        let (adapter, kernel) = (self.adapter(), self.handle());
        // SAFETY: by the caller's promise; so many bytes are there; the object is the adapter's. That an address is one,
        // the host vouches for.
        unsafe {
            match value {
                Held::Unset => Ok(()),
                Held::Bytes(bytes) => call!(
                    adapter,
                    urKernelSetArgValue(kernel, index, bytes.len(), null(), bytes.as_ptr().cast())
                ),
                Held::Local(size) => call!(adapter, urKernelSetArgLocal(kernel, index, *size, null())),
                Held::Pointer(address) => call!(
                    adapter,
                    urKernelSetArgPointer(kernel, index, null(), pointer(*address))
                ),
                Held::Memory(memory) => call!(
                    adapter,
                    urKernelSetArgMemObj(kernel, index, null(), memory.as_ref().handle())
                ),
                Held::Sampler(sampler) => call!(
                    adapter,
                    urKernelSetArgSampler(kernel, index, null(), sampler.as_ref().handle())
                ),
            }
        }
    }

    /// Tells something about the execution of the kernel, as bytes.
    pub(crate) fn set_exec_info(&self, name: u32, value: &[u8]) -> Result<()> {
        // SAFETY: so many bytes are there; no properties.
        unsafe {
            call!(
                self.adapter(),
                urKernelSetExecInfo(self.handle(), name, value.len(), null(), value.as_ptr().cast())
            )
        }
    }

    pub(crate) fn info(&self, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the kernel is the adapter's.
        ask!(self.adapter(), unsafe urKernelGetInfo(self.handle(), name))
    }

    /// The program that it is of.
    pub(crate) fn program(&self) -> Result<Owned<_ur_program>> {
        // Queries answer with a handle and give no reference.
        const FUNCTION: &str = "urKernelGetInfo";
        let adapter = self.adapter();
        let mut program: ur_program_handle_t = null_mut();
        // SAFETY: the kernel is the adapter's, and so is its program, of which a reference is taken.
        unsafe {
            call!(
                adapter,
                urKernelGetInfo(
                    self.handle(),
                    UR_KERNEL_INFO_PROGRAM,
                    size_of::<ur_program_handle_t>(),
                    (&raw mut program).cast(),
                    null_mut()
                )
            )?;
            if program.is_null() {
                return Err(Error::null(FUNCTION));
            }
            Object::retain(adapter, program)?;
            Owned::new(adapter, FUNCTION, program)
        }
    }

    pub(crate) fn group_info(&self, device: DeviceId, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the kernel is the adapter's, and the device one of its.
        ask!(
            self.adapter(),
            unsafe urKernelGetGroupInfo(self.handle(), device.handle(), name)
        )
    }

    pub(crate) fn sub_group_info(&self, device: DeviceId, name: u32) -> Result<Vec<u8>> {
        // SAFETY: as above.
        ask!(
            self.adapter(),
            unsafe urKernelGetSubGroupInfo(self.handle(), device.handle(), name)
        )
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(&self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the kernel is the adapter's, and the place is there.
        unsafe {
            call!(
                self.adapter(),
                urKernelGetNativeHandle(self.handle(), &raw mut native)
            )
        }?;
        Ok(native)
    }
}

impl Owned<_ur_context> {
    /// A kernel of a driver's own, whose program the adapter finds.
    pub(crate) fn kernel_from_native(&self, native: &NativeHandle) -> Result<Owned<_ur_kernel>> {
        let properties = native_properties(UR_STRUCTURE_TYPE_KERNEL_NATIVE_PROPERTIES, native.is_owned());
        // SAFETY: the host vouches for the handle.
        unsafe {
            create!(
                self.adapter(),
                urKernelCreateWithNativeHandle(
                    native.handle(),
                    self.handle(),
                    null_mut(),
                    &raw const properties
                )
            )
        }
    }
}
