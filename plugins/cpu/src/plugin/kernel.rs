//! Kernels.

use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Ref, Result};
use std::sync::{Arc, RwLock};

use offkit_spirv::{ParameterKind, Storage};

use super::Cpu;
use super::device::CpuDevice;
use super::memory::CpuBuffer;
use crate::{ArgumentError, CheckedArgument, KernelInfo, LaunchOptions, MAX_WORK_GROUP_SIZE, Program};

/// A kernel and its arguments.
pub(crate) struct CpuKernel {
    program: Arc<Program>,
    /// The kernel's number in the program.
    index: usize,
    /// Nobody waits for them: launches read them, and setting one while they do is a mistake of the host's.
    arguments: RwLock<Vec<Option<Kept>>>,
}

/// An argument, kept for the launches to come.
#[derive(Clone)]
struct Kept {
    argument: CheckedArgument,
    /// The buffer whose address it is, which must not go before a launch is done.
    buffer: Option<Ref<CpuBuffer>>,
}

/// A launch with everything it needs, ready to run.
pub(super) struct Launch {
    program: Arc<Program>,
    kernel: usize,
    range: NdRange,
    arguments: Vec<CheckedArgument>,
    /// Their addresses are among the arguments.
    _buffers: Vec<Ref<CpuBuffer>>,
}

impl CpuKernel {
    pub(super) fn new(program: Arc<Program>, index: usize) -> CpuKernel {
        let arguments = RwLock::new(vec![None; program.kernels()[index].parameters.len()]);
        CpuKernel {
            program,
            index,
            arguments,
        }
    }

    fn info(&self) -> &KernelInfo {
        &self.program.kernels()[self.index]
    }

    /// Takes the arguments as they are, and checks that the kernel can be launched with them over the range.
    pub(super) fn prepare(&self, range: &NdRange) -> Result<Launch> {
        let info = self.info();
        let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
        let kept = self.arguments.try_read().map_err(|_| in_use())?;
        for (index, kept) in kept.iter().enumerate() {
            let Some(Kept { argument, buffer }) = kept.clone() else {
                let label = info.parameters[index].label(index);
                let message = format!("{label} of kernel `{}` is not set", info.name);
                return Err(Error::new(PI_INVALID_KERNEL_ARGS, message));
            };
            arguments.push(argument);
            buffers.extend(buffer);
        }
        drop(kept);
        self.check_range(range)?;
        info.check_local_memory(&arguments)
            .map_err(|error| Error::new(PI_OUT_OF_RESOURCES, error))?;
        Ok(Launch {
            program: Arc::clone(&self.program),
            kernel: self.index,
            range: *range,
            arguments,
            _buffers: buffers,
        })
    }

    fn check_range(&self, range: &NdRange) -> Result<()> {
        let name = &self.info().name;
        let Some(local) = range.local else { return Ok(()) };
        let size = local
            .iter()
            .try_fold(1usize, |product, size| product.checked_mul(*size));
        let problem = match (size, self.info().required_local_size) {
            (_, Some(required)) if required != local.map(|size| size as u64) => {
                format!("it is made for work-groups of {required:?} work-items")
            }
            (Some(size), _) if (1..=MAX_WORK_GROUP_SIZE as usize).contains(&size) => return Ok(()),
            _ => format!("a work-group has 1 to {MAX_WORK_GROUP_SIZE} work-items"),
        };
        let message =
            format!("kernel {name} cannot be launched with a work-group size of {local:?}: {problem}");
        Err(Error::new(PI_INVALID_WORK_GROUP_SIZE, message))
    }
}

/// The error of setting an argument of a kernel that another thread launches, or sets an argument of.
fn in_use() -> Error {
    let message =
        "the kernel's arguments are used by another thread; setting them takes one thread at a time";
    Error::new(PI_INVALID_OPERATION, message)
}

impl Launch {
    /// Runs the kernel over its range.
    pub(super) fn run(self) -> Result<(), String> {
        let options = LaunchOptions::default();
        let launched = self
            .program
            .launch_checked(self.kernel, &self.range, self.arguments, &options);
        launched.map_err(|error| error.to_string())
    }
}

impl Kernel<Cpu> for CpuKernel {
    fn name(&self) -> String {
        self.info().name.clone()
    }

    fn num_args(&self) -> u32 {
        self.info().parameters.len() as u32
    }

    // The one place where what a host gives becomes what the interpreter takes. The interpreter has an argument
    // type of its own because it knows no handles, and because the host's bytes are gone when the launch runs.
    fn set_argument(&self, index: u32, value: Argument<'_, Cpu>) -> Result<()> {
        let info = self.info();
        let (index, mut buffer) = (index as usize, None);
        let takes_pointer = || {
            let kind = info.parameters.get(index).map(|parameter| &parameter.kind);
            kind.is_some_and(
                |kind| matches!(kind, ParameterKind::Pointer { storage, .. } if *storage != Storage::Local),
            )
        };
        let argument = match &value {
            Argument::Bytes(bytes) => crate::Argument::Bytes(bytes.to_vec()),
            // The interface writes a null pointer as it writes local memory of a pointer's size.
            Argument::Local(size) if *size == size_of::<usize>() && takes_pointer() => {
                crate::Argument::Pointer(0)
            }
            Argument::Local(size) => crate::Argument::Local(*size),
            Argument::Memory(Some(memory)) => {
                buffer = Some(memory.clone());
                crate::Argument::Pointer(memory.address())
            }
            Argument::Memory(None) => crate::Argument::Pointer(0),
            Argument::Pointer(address) => crate::Argument::Pointer(*address as u64),
        };
        let argument = info.check(index, argument, &value).map_err(|error| {
            let code = match error {
                ArgumentError::Index { .. } => PI_INVALID_ARG_INDEX,
                ArgumentError::Mismatch { only_size: true, .. } => PI_INVALID_ARG_SIZE,
                ArgumentError::Mismatch { .. } => PI_INVALID_ARG_VALUE,
            };
            Error::new(code, error)
        })?;
        let mut arguments = self.arguments.try_write().map_err(|_| in_use())?;
        arguments[index] = Some(Kept { argument, buffer });
        Ok(())
    }

    fn group_info(&self, _: &Arc<CpuDevice>, name: pi_kernel_group_info) -> Result<Info> {
        let required = self
            .info()
            .required_local_size
            .map(|size| size.map(|size| size as usize));
        Ok(match name {
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => required
                .map_or(MAX_WORK_GROUP_SIZE as usize, |size| size.iter().product())
                .into(),
            PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE => required.unwrap_or([0; 3]).into(),
            PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE => self.info().local_memory.into(),
            PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                (self.info().sub_group_size as usize).into()
            }
            PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE => self.info().private_memory.into(),
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn sub_group_info(&self, _: &Arc<CpuDevice>, name: pi_kernel_sub_group_info) -> Result<u32> {
        let size = self.info().sub_group_size;
        Ok(match name {
            PI_KERNEL_MAX_SUB_GROUP_SIZE => size,
            PI_KERNEL_MAX_NUM_SUB_GROUPS => (MAX_WORK_GROUP_SIZE as u32).div_ceil(size.max(1)),
            // Neither is asked for by the kernel, as far as is known here.
            PI_KERNEL_COMPILE_NUM_SUB_GROUPS | PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => 0,
            name => return Err(Error::unknown_query(name)),
        })
    }
}
