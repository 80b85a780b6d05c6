//! Kernels.

use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Ref, Result, work_items};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offkit_spirv::{ParameterKind, Storage};

use super::Cpu;
use super::device::CpuDevice;
use super::memory::CpuBuffer;
use crate::kernel::KernelCode;
use crate::launch::{Arguments, Geometry, Given};
use crate::sync::{RwLock, RwLockReadGuard, TryLockError};
use crate::{ArgumentError, KernelInfo, LaunchError, LaunchOptions, MAX_WORK_GROUP_SIZE};

/// A kernel and its arguments.
pub(crate) struct CpuKernel {
    code: Arc<dyn KernelCode>,
    arguments: RwLock<Kept>,
}

/// Arguments, kept for the launches to come.
struct Kept {
    arguments: Arguments,
    /// The buffers whose addresses they are, by argument.
    buffers: Vec<Option<Ref<CpuBuffer>>>,
}

/// A launch that has been checked: the kernel with its arguments, which stay as they are meanwhile, and its range.
pub(super) struct Prepared<'k> {
    code: &'k Arc<dyn KernelCode>,
    kept: RwLockReadGuard<'k, Kept>,
    /// None for a range of no work-items.
    geometry: Option<Geometry>,
    max_threads: Option<NonZero<usize>>,
}

/// A launch with everything it needs, for when its time comes. It can be filled in again when it is done, and has room by
/// then for most that comes.
#[derive(Default)]
pub(super) struct Launch {
    /// None before it is filled in, and after it is cleared.
    code: Option<Arc<dyn KernelCode>>,
    /// None for a range of no work-items.
    geometry: Option<Geometry>,
    max_threads: Option<NonZero<usize>>,
    arguments: Arguments,
    /// Their addresses are among the arguments, and they must not go before the launch is done.
    buffers: Vec<Ref<CpuBuffer>>,
}

impl CpuKernel {
    pub(super) fn new(code: Arc<dyn KernelCode>) -> CpuKernel {
        let kept = Kept {
            arguments: Arguments::new(code.info()),
            buffers: vec![None; code.info().parameters.len()],
        };
        CpuKernel {
            code,
            arguments: RwLock::new(kept),
        }
    }

    fn info(&self) -> &KernelInfo {
        self.code.info()
    }

    /// Checks that the kernel can be launched on a device over the range, with its arguments as they are.
    pub(super) fn prepare(&self, range: &NdRange, device: &CpuDevice) -> Result<Prepared<'_>> {
        let info = self.info();
        // Nobody waits: who sets an argument meanwhile breaks the interface's rules.
        let kept = match self.arguments.try_read() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(self.used_elsewhere()),
        };
        if let Some(index) = kept.arguments.missing() {
            let label = info.parameters[index].label(index);
            let message = format!("{label} of kernel `{}` is not set", info.name);
            return Err(Error::new(PI_INVALID_KERNEL_ARGS, message));
        }
        self.check_range(range)?;
        kept.arguments
            .check_local_memory(info)
            .map_err(|error| Error::new(PI_OUT_OF_RESOURCES, error))?;
        // OpenCL lets such a launch succeed when what it waits for is over. It has no groups.
        let geometry = match range.global.contains(&0) {
            true => None,
            false => {
                let geometry = self.code.geometry(range);
                Some(geometry.map_err(|error| Error::new(PI_INVALID_VALUE, error))?)
            }
        };
        Ok(Prepared {
            code: &self.code,
            kept,
            geometry,
            max_threads: device.max_threads(),
        })
    }

    fn used_elsewhere(&self) -> Error {
        let name = &self.info().name;
        let message =
            format!("an argument of kernel `{name}` is being set by one thread and used by another");
        Error::new(PI_INVALID_OPERATION, message)
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

impl Prepared<'_> {
    /// Whether it is plain to see that it takes a few microseconds.
    pub(super) fn is_small(&self) -> bool {
        let small = |geometry| self.code.is_small(geometry);
        self.geometry.as_ref().is_none_or(small)
    }

    /// Runs the kernel over its range.
    pub(super) fn run(&self) -> Result<(), LaunchError> {
        let Some(geometry) = &self.geometry else {
            return Ok(());
        };
        let options = LaunchOptions {
            max_threads: self.max_threads,
            ..LaunchOptions::default()
        };
        self.code.run(geometry, &self.kept.arguments, &options)
    }

    /// Fills in a launch, for which kernel and arguments are taken as they are.
    pub(super) fn fill_in(&self, launch: &mut Launch) {
        launch.code = Some(Arc::clone(self.code));
        launch.geometry = self.geometry;
        launch.max_threads = self.max_threads;
        launch.arguments.clone_from(&self.kept.arguments);
        // None are there: `clear` has been called since it was used.
        launch.buffers.extend(self.kept.buffers.iter().flatten().cloned());
    }
}

impl Launch {
    /// Runs the kernel over its range, unless it is cancelled first.
    pub(super) fn run(&self, cancel: &AtomicBool) -> Result<(), LaunchError> {
        let (Some(code), Some(geometry)) = (&self.code, &self.geometry) else {
            return Ok(());
        };
        let options = LaunchOptions {
            cancel: Some(cancel),
            max_threads: self.max_threads,
            ..LaunchOptions::default()
        };
        code.run(geometry, &self.arguments, &options)
    }

    /// Lets go of what it needed, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.buffers.clear();
        (self.code, self.geometry) = (None, None);
    }
}

impl Kernel<Cpu> for CpuKernel {
    fn name(&self) -> String {
        self.info().name.clone()
    }

    fn num_args(&self) -> u32 {
        self.info().parameters.len() as u32
    }

    // The one place where what a host gives becomes what code takes, which knows no handles.
    fn set_argument(&self, index: u32, value: Argument<'_, Cpu>) -> Result<()> {
        let info = self.info();
        let (index, mut buffer) = (index as usize, None);
        let takes_pointer = || {
            let kind = info.parameters.get(index).map(|parameter| &parameter.kind);
            kind.is_some_and(
                |kind| matches!(kind, ParameterKind::Pointer { storage, .. } if *storage != Storage::Local),
            )
        };
        let given = match &value {
            Argument::Bytes(bytes) => Given::Bytes(bytes),
            // The interface writes a null pointer as it writes local memory of a pointer's size.
            Argument::Local(size) if *size == size_of::<usize>() && takes_pointer() => Given::Pointer(0),
            Argument::Local(size) => Given::Local(*size),
            Argument::Memory(Some(memory)) => {
                buffer = Some(memory.clone());
                Given::Pointer(memory.address())
            }
            Argument::Sampler(sampler) => match **sampler {},
            Argument::Memory(None) => Given::Pointer(0),
            Argument::Pointer(address) => Given::Pointer(*address as u64),
        };
        let mut kept = match self.arguments.try_write() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(self.used_elsewhere()),
        };
        kept.arguments.set(info, index, given, &value).map_err(|error| {
            let code = match error {
                ArgumentError::Index { .. } => PI_INVALID_ARG_INDEX,
                ArgumentError::Mismatch { only_size: true, .. } => PI_INVALID_ARG_SIZE,
                ArgumentError::Mismatch { .. } => PI_INVALID_ARG_VALUE,
            };
            Error::new(code, error)
        })?;
        // Only now, as an argument that is refused leaves the one before it in its place. There is
        // one of that number, or it would have been refused.
        kept.buffers[index] = buffer;
        Ok(())
    }

    fn group_info(&self, _: &Arc<CpuDevice>, name: pi_kernel_group_info) -> Result<Info> {
        let required = self
            .info()
            .required_local_size
            .map(|size| size.map(|size| size as usize));
        Ok(match name {
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => required
                .map_or(MAX_WORK_GROUP_SIZE as usize, |size| {
                    // The module may say any numbers.
                    size.into_iter().fold(1, usize::saturating_mul)
                })
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

    fn sub_group_info(
        &self,
        _: &Arc<CpuDevice>,
        name: pi_kernel_sub_group_info,
        local: Option<[usize; 3]>,
    ) -> Result<u32> {
        let size = self.info().sub_group_size;
        let items = local.map_or(MAX_WORK_GROUP_SIZE as u32, work_items);
        Ok(match name {
            // A group of fewer work-items is one sub-group.
            PI_KERNEL_MAX_SUB_GROUP_SIZE => size.min(items.max(1)),
            PI_KERNEL_MAX_NUM_SUB_GROUPS => items.div_ceil(size.max(1)),
            // Neither is asked for by the kernel, as far as is known here.
            PI_KERNEL_COMPILE_NUM_SUB_GROUPS | PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => 0,
            name => return Err(Error::unknown_query(name)),
        })
    }
}
