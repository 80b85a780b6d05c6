//! Kernels.

use super::context::device_of;
use super::shim::{array, non_null, text};
use super::slab::Ref;
use super::state::{self, KernelDetails, KernelRecord, MemoryRecord, Registered, SamplerRecord};
use super::{Error, Info, Plugin, Program, Result};
use crate::ffi::*;
use core::ffi::{c_char, c_void};
use core::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// What a host gives for a kernel's argument, as it comes through the table of functions.
///
/// The host may be a program in any language, and nothing of what it gives is checked against the kernel yet:
/// [`Kernel::set_argument`] is where that is done, and for the plugin the only place. Here handles have become
/// objects, and pointers slices; no more can be known without the kernel.
pub enum Argument<'a, P: Plugin> {
    /// Bytes, for an argument passed by value. They are the host's, and gone after the call.
    Bytes(&'a [u8]),
    /// Local memory of this many bytes. Where the kernel takes a pointer to other memory and the size is that
    /// of a pointer, it is a null pointer: the interface writes both the same way.
    Local(usize),
    /// A buffer or an image; `None` for a null pointer.
    Memory(Option<Ref<P::Memory>>),
    /// A sampler.
    Sampler(Ref<P::Sampler>),
    /// An address, in a USM allocation or wherever the device can follow it.
    Pointer(usize),
}

/// What kind of argument it is, for messages: `a value of 4 bytes`, `a buffer`.
impl<P: Plugin> Display for Argument<'_, P> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Bytes(bytes) => write!(formatter, "a value of {} bytes", bytes.len()),
            Argument::Local(size) => write!(formatter, "{size} bytes of local memory"),
            Argument::Memory(Some(_)) => formatter.write_str("a buffer"),
            Argument::Sampler(_) => formatter.write_str("a sampler"),
            Argument::Memory(None) | Argument::Pointer(0) => formatter.write_str("a null pointer"),
            Argument::Pointer(address) => write!(formatter, "the address {address:#x}"),
        }
    }
}

/// An entry point of a program, with its arguments.
#[expect(
    unused_variables,
    reason = "what is left out takes the arguments that are documented"
)]
pub trait Kernel<P: Plugin>: Send + Sync + 'static {
    /// Name.
    fn name(&self) -> String;

    /// Number of arguments.
    fn num_args(&self) -> u32;

    /// Checks an argument against what the kernel declares, and keeps it for the launches to come.
    ///
    /// The interface has hosts set the arguments of a kernel from one thread at a time, and not while it is submitted; a
    /// host that does must not make launches wait, and gets an error
    /// ([`PI_INVALID_OPERATION`]). Several threads may launch the kernel at a time, with the arguments as they are.
    /// (Those that want arguments of their own each have a kernel of their own: kernels cost little.)
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no such argument ([`PI_INVALID_ARG_INDEX`]), or it is of another kind
    /// ([`PI_INVALID_ARG_VALUE`]) or size ([`PI_INVALID_ARG_SIZE`]).
    fn set_argument(&self, index: u32, value: Argument<'_, P>) -> Result<()>;

    /// Whether an argument is passed by value, as numbers and structures are; `None` if the plugin cannot tell.
    ///
    /// In OpenCL's way the value of a memory object or a sampler is its handle, which is only a number to those who do not
    /// know the kernel. Asked where a host sets an argument to such a number, and there is an object of that handle.
    fn is_value(&self, index: u32) -> Option<bool> {
        None
    }

    /// Answers a query about the kernel on a device (`PI_KERNEL_GROUP_INFO_*`).
    ///
    /// # Errors
    ///
    /// [`Error::unknown_query`] for one that is not known.
    fn group_info(&self, device: &Arc<P::Device>, name: pi_kernel_group_info) -> Result<Info> {
        Err(Error::unknown_query(name))
    }

    /// Answers a query about sub-groups with a `u32` (`PI_KERNEL_MAX_SUB_GROUP_SIZE` and the like): of a work-group of
    /// that many work-items in each dimension, or without one of the largest that the device has.
    ///
    /// # Errors
    ///
    /// [`Error::unknown_query`] for one that is not known.
    fn sub_group_info(
        &self,
        device: &Arc<P::Device>,
        name: pi_kernel_sub_group_info,
        local: Option<[usize; 3]>,
    ) -> Result<u32> {
        Err(Error::unknown_query(name))
    }

    /// Whether the kernel reaches USM allocations through pointers stored in memory. Plugins for which all
    /// allocations are always reachable need not know.
    ///
    /// # Errors
    ///
    /// [`Error`] if the device cannot do it.
    fn set_indirect_access(&self, indirect: bool) -> Result<()> {
        Ok(())
    }

    /// USM allocations, besides the arguments, that the kernel reaches. As for
    /// [`set_indirect_access`](Self::set_indirect_access).
    ///
    /// # Errors
    ///
    /// [`Error`] if the device cannot do it.
    fn set_usm_pointers(&self, addresses: &[usize]) -> Result<()> {
        Ok(())
    }

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

pub(super) unsafe fn piKernelCreate<P: Registered>(
    program: pi_program,
    kernel_name: *const c_char,
) -> Result<KernelRecord<P>> {
    let program = state::program::<P>(program)?;
    // SAFETY: the host passes a NUL-terminated string.
    let name = unsafe { text(kernel_name, "kernel_name") }?;
    let kernel = P::Program::create_kernel(program.object(), name)?;
    state::insert(&P::state().kernels, kernel, KernelDetails { program })
}

pub(super) unsafe fn piKernelSetArg<P: Registered>(
    kernel: pi_kernel,
    index: pi_uint32,
    size: usize,
    value: *const c_void,
) -> Result<()> {
    let record = state::kernel::<P>(kernel)?;
    if value.is_null() {
        // `clSetKernelArg` takes no value for local memory, which has a size alone, and for a null
        // pointer. Which of them is meant only the kernel knows.
        return record.object().set_argument(index, Argument::Local(size));
    }
    // SAFETY: the host passes `size` bytes.
    let bytes = unsafe { array(value.cast::<u8>(), size, "arg_value") }?;
    let as_value = || record.object().set_argument(index, Argument::Bytes(bytes));
    let Ok(handle) = bytes.try_into().map(usize::from_ne_bytes) else {
        return as_value();
    };
    // In OpenCL's way an object is a value, too: its handle. Hosts that take the plugin for OpenCL's do so. Plugins are not
    // asked first whether they take the bytes: PoCL follows any that are as many as a handle has.
    let object = object_of(&record, handle);
    match object {
        Some(object) if record.object().is_value(index) != Some(true) => {
            match object.and_then(|object| record.object().set_argument(index, object)) {
                // The plugin knows better: it is a number that is the address of an object.
                Err(error) if error.code == PI_INVALID_ARG_VALUE => as_value(),
                set => set,
            }
        }
        _ => match as_value() {
            // As for a buffer, the handle of none is a null pointer.
            Err(error) if error.code == PI_INVALID_ARG_VALUE && handle == 0 => {
                let set = record.object().set_argument(index, Argument::Memory(None));
                set.map_err(|_| error)
            }
            set => set,
        },
    }
}

/// The memory object or sampler of a handle, if there is one, as an argument for a kernel.
fn object_of<P: Registered>(kernel: &KernelRecord<P>, handle: usize) -> Option<Result<Argument<'_, P>>> {
    let state = P::state();
    if let Ok(memory) = state.memories.get(handle) {
        return Some(memory_argument(kernel, memory));
    }
    let sampler = state.samplers.get(handle).ok()?;
    Some(sampler_argument(kernel, sampler))
}

/// A memory object as an argument for a kernel, whose context must be its own.
fn memory_argument<'a, P: Registered>(
    kernel: &KernelRecord<P>,
    memory: MemoryRecord<P>,
) -> Result<Argument<'a, P>> {
    if memory.details().context != kernel.details().program.details().context {
        let message = "the memory object is of another context than the kernel";
        return Err(Error::new(PI_INVALID_CONTEXT, message));
    }
    Ok(Argument::Memory(Some(memory.into_object())))
}

/// A sampler as an argument for a kernel, whose context must be its own.
fn sampler_argument<'a, P: Registered>(
    kernel: &KernelRecord<P>,
    sampler: SamplerRecord<P>,
) -> Result<Argument<'a, P>> {
    if sampler.details().context != kernel.details().program.details().context {
        let message = "the sampler is of another context than the kernel";
        return Err(Error::new(PI_INVALID_CONTEXT, message));
    }
    Ok(Argument::Sampler(sampler.into_object()))
}

pub(super) unsafe fn piextKernelSetArgMemObj<P: Registered>(
    kernel: pi_kernel,
    index: pi_uint32,
    value: *const pi_mem,
) -> Result<()> {
    let kernel = state::kernel::<P>(kernel)?;
    // A null pointer to a buffer comes in two ways: no handle, or a handle that is null.
    // SAFETY: the host passes a pointer to a handle, or null.
    let handle = unsafe { value.as_ref() }
        .copied()
        .unwrap_or(core::ptr::null_mut());
    let argument = match handle.is_null() {
        true => Argument::Memory(None),
        false => memory_argument(&kernel, state::memory::<P>(handle)?)?,
    };
    kernel.object().set_argument(index, argument)
}

pub(super) unsafe fn piextKernelSetArgSampler<P: Registered>(
    kernel: pi_kernel,
    index: pi_uint32,
    value: *const pi_sampler,
) -> Result<()> {
    let kernel = state::kernel::<P>(kernel)?;
    non_null(value.cast_mut(), "arg_value")?;
    // SAFETY: not null, so the host passes a pointer to a handle.
    let sampler = state::sampler::<P>(unsafe { value.read() })?;
    let argument = sampler_argument(&kernel, sampler)?;
    kernel.object().set_argument(index, argument)
}

pub(super) unsafe fn piextKernelSetArgPointer<P: Registered>(
    kernel: pi_kernel,
    index: pi_uint32,
    _size: usize,
    value: *const c_void,
) -> Result<()> {
    let kernel = state::kernel::<P>(kernel)?;
    let address = match value.is_null() {
        true => 0,
        // The address is behind a `void *`, which promises no alignment. The size that comes with it is not
        // looked at: only an address can be meant, and its size is known.
        // SAFETY: not null, so the host passes a pointer to the address.
        false => unsafe { value.cast::<usize>().read_unaligned() },
    };
    kernel.object().set_argument(index, Argument::Pointer(address))
}

pub(super) unsafe fn piKernelSetExecInfo<P: Registered>(
    kernel: pi_kernel,
    name: pi_kernel_exec_info,
    size: usize,
    value: *const c_void,
) -> Result<()> {
    let kernel = state::kernel::<P>(kernel)?;
    // SAFETY: the host passes `size` bytes.
    let value = unsafe { array(value.cast::<u8>(), size, "param_value") }?;
    match name {
        PI_USM_INDIRECT_ACCESS => kernel
            .object()
            .set_indirect_access(value.iter().any(|byte| *byte != 0)),
        PI_USM_PTRS => {
            let addresses = value
                .as_chunks()
                .0
                .iter()
                .map(|address| usize::from_ne_bytes(*address));
            kernel.object().set_usm_pointers(&addresses.collect::<Vec<_>>())
        }
        // What the device's cache should prefer: a hint.
        PI_EXT_KERNEL_EXEC_INFO_CACHE_CONFIG => Ok(()),
        name => Err(Error::unknown_query(name)),
    }
}

pub(super) fn piKernelGetInfo<P: Registered>(kernel: pi_kernel, name: pi_kernel_info) -> Result<Info> {
    let kernel = state::kernel::<P>(kernel)?;
    Ok(match name {
        PI_KERNEL_INFO_FUNCTION_NAME => kernel.object().name().into(),
        PI_KERNEL_INFO_NUM_ARGS => kernel.object().num_args().into(),
        PI_KERNEL_INFO_REFERENCE_COUNT => kernel.references().into(),
        PI_KERNEL_INFO_CONTEXT => kernel.details().program.details().context.handle().into(),
        PI_KERNEL_INFO_PROGRAM => kernel.details().program.handle().into(),
        PI_KERNEL_INFO_ATTRIBUTES => "".into(),
        name => return Err(Error::unknown_query(name)),
    })
}

pub(super) fn piKernelGetGroupInfo<P: Registered>(
    kernel: pi_kernel,
    device: pi_device,
    name: pi_kernel_group_info,
) -> Result<Info> {
    let kernel = state::kernel::<P>(kernel)?;
    let device = device_of(&kernel.details().program.details().context, device)?;
    let info = kernel.object().group_info(device.object(), name)?;
    Ok(info)
}

pub(super) unsafe fn piKernelGetSubGroupInfo<P: Registered>(
    kernel: pi_kernel,
    device: pi_device,
    name: pi_kernel_sub_group_info,
    input_value_size: usize,
    input_value: *const c_void,
) -> Result<Info> {
    let kernel = state::kernel::<P>(kernel)?;
    let device = device_of(&kernel.details().program.details().context, device)?;
    // SAFETY: the host passes so many bytes, or null.
    let local = unsafe { local_size(input_value.cast(), input_value_size) }?;
    let info = kernel.object().sub_group_info(device.object(), name, local)?;
    Ok(info.into())
}

/// How many work-items a work-group of a size has, or as many as can be said.
pub fn work_items(local: [usize; 3]) -> u32 {
    let items = local.into_iter().fold(1, usize::saturating_mul);
    items.try_into().unwrap_or(u32::MAX)
}

/// The size of a work-group, of one to three dimensions; `None` for a null pointer.
///
/// # Safety
///
/// `sizes` must be null or valid for reading `size` bytes.
unsafe fn local_size(sizes: *const u8, size: usize) -> Result<Option<[usize; 3]>> {
    if sizes.is_null() || size == 0 {
        return Ok(None);
    }
    // SAFETY: by the caller's promise.
    let (sizes, rest) = unsafe { array(sizes, size, "input_value") }?.as_chunks();
    if !rest.is_empty() || sizes.len() > 3 {
        let message = format_args!("the size of a work-group has one to three numbers, not {size} bytes");
        return Err(Error::new(PI_INVALID_VALUE, message));
    }
    let mut local = [1; 3];
    for (place, size) in local.iter_mut().zip(sizes) {
        *place = usize::from_ne_bytes(*size);
    }
    Ok(Some(local))
}
