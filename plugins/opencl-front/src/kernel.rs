//! Kernels and their arguments.

use crate::c::{In, Out};
use crate::device::Device;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::kernel_info::group_info;
use crate::memory::Memory;
use crate::pi::{own, pi};
use crate::program::Program;
use cl::*;
use core::ffi::{c_char, c_void};
use offkit_pi::ffi::*;
use offkit_pi::host::{Owned, Plugin};
use offkit_spirv::{Parameter, ParameterKind, Storage};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::ffi::CString;

/// A kernel, and what was set of its arguments.
pub(crate) struct Kernel {
    pi: Owned<pi_kernel>,
    pub(crate) program: Object<Program>,
    /// The handles of the devices that it was built for.
    targets: Arc<[usize]>,
    facts: Arc<[offkit_spirv::Kernel]>,
    /// Which of these it is.
    index: usize,
    /// As they were given, for copies of the kernel.
    arguments: Mutex<Vec<Option<Given>>>,
    /// Bytes of local memory that there are for arguments.
    local_space: u64,
    /// Whether work-groups have to divide its ranges evenly.
    pub(crate) is_uniform: bool,
}

/// What is given for an argument.
#[derive(Debug, Clone)]
enum Given {
    Value(Vec<u8>),
    Local {
        size: usize,
        /// What it has, which may be more.
        room: usize,
    },
    Memory(usize),
    Pointer(usize),
}

/// The bytes that a local argument has at least, where there are as many. On other drivers a read past its end is one of something, and programs
/// that don't use what they read don't notice: dpnp 0.20 does so wherever it takes elements by a mask.
const LEAST_LOCAL: usize = 4096;

/// The bytes that each local argument of these sizes can have at least.
fn least(sizes: impl Iterator<Item = usize> + Clone, space: u64) -> usize {
    let fits = |least: &usize| {
        let mut rooms = sizes.clone().map(|size| size.max(*least) as u64);
        let sum = rooms.try_fold(0, u64::checked_add);
        sum.is_some_and(|sum| sum <= space)
    };
    // Tried and not divided: an argument that asks for more than the least counts with its own
    // size, so that what is left for the others depends on the least itself.
    let halves = std::iter::successors(Some(LEAST_LOCAL), |least| Some(least / 2));
    halves.take_while(|least| *least > 0).find(fits).unwrap_or(0)
}

impl Kernel {
    fn new(program: &Object<Program>, name: &str) -> Result<Kernel> {
        let state = program.object().state();
        let executable = state.executable.clone();
        let executable = executable.ok_or(Failure(CL_INVALID_PROGRAM_EXECUTABLE))?;
        let facts = Arc::clone(&state.facts);
        let targets = Arc::clone(&state.targets);
        // It is locked again below, to ask whether ranges are uniform.
        drop(state);
        let index = facts.iter().position(|kernel| kernel.name == name);
        let index = index.ok_or(Failure(CL_INVALID_KERNEL_NAME))?;
        let text = CString::new(name).map_err(|_| Failure(CL_INVALID_KERNEL_NAME))?;
        let pi = own(
            executable.plugin(),
            |kernel| {
                pi!(
                    executable.plugin(),
                    piKernelCreate(executable.raw(), text.as_ptr(), kernel)
                )
            },
            core::ptr::null_mut(),
        )?;
        // Right before the kernel is there: whatever fails from here on drops it, and that counts
        // down.
        program.object().count_kernel(true);
        let mut kernel = Kernel {
            arguments: Mutex::new(vec![None; facts[index].parameters.len()]),
            pi,
            is_uniform: program.object().is_uniform(),
            program: program.clone(),
            targets,
            facts,
            index,
            local_space: u64::MAX,
        };
        if kernel.facts().parameters.iter().any(is_local) {
            for device in &program.object().context.object().devices {
                let space = kernel.local_space(device.object())?;
                kernel.local_space = kernel.local_space.min(space);
            }
        }
        Ok(kernel)
    }

    pub(crate) fn plugin(&self) -> &Plugin {
        self.pi.plugin()
    }

    pub(crate) fn raw(&self) -> pi_kernel {
        self.pi.raw()
    }

    /// What its module says of it.
    pub(crate) fn facts(&self) -> &offkit_spirv::Kernel {
        &self.facts[self.index]
    }

    fn arguments(&self) -> MutexGuard<'_, Vec<Option<Given>>> {
        self.arguments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of local memory that a device has beside the kernel's variables.
    fn local_space(&self, device: &Device) -> Result<u64> {
        let [all] = device.sizes(CL_DEVICE_LOCAL_MEM_SIZE);
        let variables: u64 = group_info(self, device, PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE)?;
        Ok((all as u64).saturating_sub(variables))
    }

    /// Bytes of local memory that are set for arguments.
    pub(crate) fn local_arguments(&self) -> usize {
        // The sizes are the caller's, and so may be anything.
        local_sizes(&self.arguments()).fold(0, usize::saturating_add)
    }

    /// Whether it was built for a device, or for what that is a part of.
    pub(crate) fn is_for(&self, device: &Object<Device>) -> bool {
        Device::is_among(device, &self.targets)
    }

    /// Whether all arguments are set.
    pub(crate) fn is_ready(&self) -> bool {
        self.arguments().iter().all(Option::is_some)
    }

    fn note(&self, index: cl_uint, given: Given) {
        if let Some(place) = self.arguments().get_mut(index as usize) {
            *place = Some(given);
        }
    }

    /// Gives an argument its value.
    fn set_value(&self, index: cl_uint, bytes: &[u8]) -> Result<()> {
        let (size, value) = (bytes.len(), bytes.as_ptr().cast());
        // The plugin first: what it refuses changes nothing, and a copy of the kernel gets what
        // this one has.
        pi!(self.plugin(), piKernelSetArg(self.raw(), index, size, value))?;
        match self.arguments().get_mut(index as usize) {
            // No allocation where there was one like it.
            Some(Some(Given::Value(known))) if known.len() == bytes.len() => known.copy_from_slice(bytes),
            Some(place) => *place = Some(Given::Value(bytes.to_vec())),
            None => {}
        }
        Ok(())
    }

    fn set_local(&self, index: cl_uint, size: usize) -> Result<()> {
        let mut arguments = self.arguments();
        let before = arguments
            .get_mut(index as usize)
            .and_then(|place| place.replace(Given::Local { size, room: 0 }));
        // What is set now may leave less for those before it.
        let least = least(local_sizes(&arguments), self.local_space);
        let set = (0..)
            .zip(arguments.iter_mut())
            .try_for_each(|(index, given)| match given {
                Some(Given::Local { size, room }) if *room != least.max(*size) => {
                    let (needed, nowhere) = (least.max(*size), core::ptr::null());
                    pi!(self.plugin(), piKernelSetArg(self.raw(), index, needed, nowhere))?;
                    *room = needed;
                    Ok(())
                }
                _ => Ok(()),
            });
        if set.is_err()
            && let Some(place) = arguments.get_mut(index as usize)
        {
            *place = before;
        }
        set
    }

    /// Gives a buffer for an argument, by the handle of one; 0 is no buffer.
    fn set_memory(&self, index: cl_uint, handle: usize) -> Result<()> {
        if handle == 0 {
            return self.set_pointer(index, 0);
        }
        let memory = Memory::slab().get(handle);
        let memory = memory.map_err(|_| Failure(CL_INVALID_MEM_OBJECT))?;
        let own_context = &self.program.object().context;
        require(memory.object().context == *own_context, CL_INVALID_CONTEXT)?;
        let raw = memory.object().raw();
        // SAFETY: kernel and buffer are there.
        unsafe { self.plugin().set_memory_argument(self.raw(), index, None, raw) }?;
        // The handle and no reference: OpenCL says that kernels keep no buffers. A copy of the
        // kernel looks it up again, and by then it may be of nothing.
        self.note(index, Given::Memory(handle));
        Ok(())
    }

    /// Gives an address for an argument.
    pub(crate) fn set_pointer(&self, index: cl_uint, address: usize) -> Result<()> {
        let parameter = self.facts().parameters.get(index as usize);
        let parameter = parameter.ok_or(Failure(CL_INVALID_ARG_INDEX))?;
        let is_pointer = matches!(
            parameter.kind,
            ParameterKind::Pointer { storage, .. } if storage != Storage::Local
        );
        require(is_pointer, CL_INVALID_ARG_VALUE)?;
        let (size, value) = (size_of::<usize>(), (&raw const address).cast::<c_void>());
        pi!(
            self.plugin(),
            piextKernelSetArgPointer(self.raw(), index, size, value)
        )?;
        self.note(index, Given::Pointer(address));
        Ok(())
    }

    /// Sets an argument, as the kernel declares it.
    fn set(&self, index: cl_uint, size: usize, value: In<c_void>) -> Result<()> {
        let parameter = self.facts().parameters.get(index as usize);
        let parameter = parameter.ok_or(Failure(CL_INVALID_ARG_INDEX))?;
        match &parameter.kind {
            ParameterKind::Pointer {
                storage: Storage::Local,
                ..
            } => {
                require(value.is_null(), CL_INVALID_ARG_VALUE)?;
                require(size > 0, CL_INVALID_ARG_SIZE)?;
                self.set_local(index, size)
            }
            ParameterKind::Pointer { .. } => {
                require(size == size_of::<cl_mem>(), CL_INVALID_ARG_SIZE)?;
                self.set_memory(index, value.value().unwrap_or(0))
            }
            ParameterKind::Image { .. } | ParameterKind::Pipe => fail(CL_INVALID_MEM_OBJECT),
            ParameterKind::Sampler => fail(CL_INVALID_SAMPLER),
            ParameterKind::Queue => fail(CL_INVALID_DEVICE_QUEUE),
            _ => {
                let known = parameter.size;
                require(known == 0 || known == size as u64, CL_INVALID_ARG_SIZE)?;
                let bytes = value.bytes(size).ok_or(Failure(CL_INVALID_ARG_VALUE))?;
                self.set_value(index, bytes)
            }
        }
    }

    /// Another kernel with the same arguments.
    fn copy(&self) -> Result<Kernel> {
        let copy = Kernel::new(&self.program, &self.facts().name)?;
        let arguments = self.arguments().clone();
        for (index, given) in (0..).zip(arguments) {
            match given {
                None => Ok(()),
                Some(Given::Value(bytes)) => copy.set_value(index, &bytes),
                Some(Given::Local { size, .. }) => copy.set_local(index, size),
                Some(Given::Memory(handle)) => copy.set_memory(index, handle),
                Some(Given::Pointer(address)) => copy.set_pointer(index, address),
            }?;
        }
        Ok(copy)
    }
}

fn is_local(parameter: &Parameter) -> bool {
    let local = Storage::Local;
    matches!(parameter.kind, ParameterKind::Pointer { storage, .. } if storage == local)
}

/// The sizes of local arguments that are set.
fn local_sizes(arguments: &[Option<Given>]) -> impl Iterator<Item = usize> + Clone {
    arguments.iter().filter_map(|given| match given {
        Some(Given::Local { size, .. }) => Some(*size),
        _ => None,
    })
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.program.object().count_kernel(false);
    }
}

pub(crate) fn clCreateKernel(program: Out<_cl_program>, kernel_name: In<c_char>) -> Result<cl_kernel> {
    let program = Program::of(program)?;
    let name = kernel_name.text().ok_or(Failure(CL_INVALID_VALUE))?;
    let name = name.to_str().map_err(|_| Failure(CL_INVALID_KERNEL_NAME))?;
    Kernel::new(&program, name)?.create()
}

pub(crate) fn clCreateKernelsInProgram(
    program: Out<_cl_program>,
    num_kernels: cl_uint,
    kernels: Out<cl_kernel>,
    num_kernels_ret: Out<cl_uint>,
) -> Result<()> {
    let program = Program::of(program)?;
    let state = program.object().state();
    require(state.executable.is_some(), CL_INVALID_PROGRAM_EXECUTABLE)?;
    let facts = Arc::clone(&state.facts);
    // Each kernel locks it.
    drop(state);
    num_kernels_ret.write(facts.len() as cl_uint);
    if kernels.is_null() {
        return Ok(());
    }
    require(num_kernels as usize >= facts.len(), CL_INVALID_VALUE)?;
    // All are made before the first has a handle: where one cannot be made, the caller gets none.
    let made = facts.iter().map(|kernel| Kernel::new(&program, &kernel.name));
    let made = made.collect::<Result<Vec<Kernel>>>()?;
    let handles = made.into_iter().map(Handled::create);
    kernels.fill(&handles.collect::<Result<Vec<cl_kernel>>>()?, facts.len());
    Ok(())
}

pub(crate) fn clCloneKernel(source_kernel: Out<_cl_kernel>) -> Result<cl_kernel> {
    Kernel::of(source_kernel)?.object().copy()?.create()
}

pub(crate) fn clRetainKernel(kernel: Out<_cl_kernel>) -> Result<()> {
    Kernel::retain(kernel)
}

pub(crate) fn clReleaseKernel(kernel: Out<_cl_kernel>) -> Result<()> {
    Kernel::release(kernel)
}

pub(crate) fn clSetKernelArg(
    kernel: Out<_cl_kernel>,
    arg_index: cl_uint,
    arg_size: usize,
    arg_value: In<c_void>,
) -> Result<()> {
    Kernel::of(kernel)?.object().set(arg_index, arg_size, arg_value)
}

pub(crate) fn clSetKernelExecInfo(
    kernel: Out<_cl_kernel>,
    param_name: cl_kernel_exec_info,
    param_value_size: usize,
    param_value: In<c_void>,
) -> Result<()> {
    let kernel = Kernel::of(kernel)?;
    let kernel = kernel.object();
    // An empty list takes back what was said, and needs no place.
    let value = match param_value_size {
        0 => Some(&[][..]),
        size => param_value.bytes(size),
    };
    let value = value.ok_or(Failure(CL_INVALID_VALUE))?;
    match param_name {
        CL_KERNEL_EXEC_INFO_SVM_PTRS | CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL => {
            let whole = value.len().is_multiple_of(size_of::<usize>());
            require(whole, CL_INVALID_VALUE)?;
            let (size, pointers) = (value.len(), value.as_ptr().cast());
            pi!(
                kernel.plugin(),
                piKernelSetExecInfo(kernel.raw(), PI_USM_PTRS, size, pointers)
            )
        }
        CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM => {
            require(value.len() == size_of::<cl_bool>(), CL_INVALID_VALUE)?;
            // Kernels may not be told to use what the device does not have.
            require(value.iter().all(|byte| *byte == 0), CL_INVALID_OPERATION)
        }
        CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL
        | CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL
        | CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL => {
            require(value.len() == size_of::<cl_bool>(), CL_INVALID_VALUE)?;
            let (size, flag) = (value.len(), value.as_ptr().cast());
            pi!(
                kernel.plugin(),
                piKernelSetExecInfo(kernel.raw(), PI_USM_INDIRECT_ACCESS, size, flag)
            )
        }
        _ => fail(CL_INVALID_VALUE),
    }
}

/// The handle of a kernel's program.
pub(crate) fn program_of(kernel: &Kernel) -> cl_program {
    kernel.program.c()
}
