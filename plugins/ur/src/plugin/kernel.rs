//! Kernels.

use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Ref, Result, work_items};
use offkit_sync::{Arc, Mutex, PoisonError, TryLockError};
use offkit_ur::*;

use super::UnifiedRuntime;
use super::device::UrDevice;
use super::image::UrSampler;
use super::machine::MachineCode;
use super::memory::UrMemory;
use crate::adapter::{Event, Order, Owned, number, text};

/// An argument of a kernel.
type Held = crate::adapter::Held<Ref<UrMemory>, Ref<UrSampler>>;

/// What a command uses besides what it says: the objects among the arguments of a launch, or the bytes of a fill.
#[derive(Default)]
pub(super) struct Used {
    /// In a place of their own, which adapters may read until the command is done.
    pub(super) _pattern: Option<Box<[u8]>>,
    pub(super) memory: Vec<Ref<UrMemory>>,
    pub(super) samplers: Vec<Ref<UrSampler>>,
}

/// A kernel of an adapter, with its arguments: objects among them must be there when it runs, and the newest adapters
/// want all of them at each launch.
pub(crate) struct UrKernel {
    object: Owned<_ur_kernel>,
    /// How many arguments it takes; `None` where neither the adapter says it nor the code.
    count: Option<u32>,
    /// How many bytes the code says that each has.
    sizes: Vec<usize>,
    arguments: Mutex<Vec<Held>>,
    /// What the adapter may have the address of.
    _code: Vec<Arc<MachineCode>>,
}

/// More arguments than a kernel has: those of the plugin interface's largest, of 4 KiB, with a byte each.
const MOST_ARGUMENTS: u32 = 4096;

impl UrKernel {
    /// A kernel of that name, of a program that is made of this code.
    pub(super) fn new(object: Owned<_ur_kernel>, code: &[Arc<MachineCode>], name: &str) -> UrKernel {
        let count = object.info(UR_KERNEL_INFO_NUM_ARGS).ok();
        let count = count.and_then(|bytes| number(&bytes));
        // The adapters for CUDA and HIP count the arguments that were set, which are none here.
        let told = match count {
            None | Some(0) => code.iter().find_map(|code| code.arguments(name)).cloned(),
            Some(_) => None,
        };
        let of_adapter = count.filter(|&count| count > 0);
        let count = of_adapter.or(told.as_ref().map(|told| told.count));
        UrKernel {
            object,
            count,
            sizes: told.map(|told| told.sizes).unwrap_or_default(),
            arguments: Mutex::new((0..count.unwrap_or(0)).map(|_| Held::Unset).collect()),
            _code: code.to_vec(),
        }
    }

    /// Launches the kernel with the arguments as they are, and says which objects it uses. Launches of several threads
    /// come one after the other: adapters that note things at a kernel do not say that they may come at once.
    #[expect(unsafe_code, reason = "the kernel is this thread's alone")]
    pub(super) fn launch(
        &self,
        queue: &Owned<_ur_queue>,
        range: &NdRange,
        order: &Order<'_>,
    ) -> Result<(Event, Used)> {
        let arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        // Not all adapters say so.
        if let Some(index) = arguments
            .iter()
            .position(|argument| matches!(argument, Held::Unset))
        {
            let message = format!("argument {index} of kernel {} is not set", self.name());
            return Err(Error::new(PI_INVALID_KERNEL_ARGS, message));
        }
        // SAFETY: no other thread is between these lines with the same kernel, and these are its arguments.
        let event = unsafe { queue.launch(&self.object, &arguments, range, order) }?;
        // With the arguments still locked: these are what the launch was given.
        let mut used = Used::default();
        for argument in arguments.iter() {
            match argument {
                Held::Memory(memory) => used.memory.push(memory.clone()),
                Held::Sampler(sampler) => used.samplers.push(sampler.clone()),
                _ => {}
            }
        }
        Ok((event, used))
    }
}

impl Kernel<UnifiedRuntime> for UrKernel {
    fn name(&self) -> String {
        let name = self.object.info(UR_KERNEL_INFO_FUNCTION_NAME);
        name.map(text).unwrap_or_default()
    }

    fn num_args(&self) -> u32 {
        self.count.unwrap_or_else(|| {
            let arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
            u32::try_from(arguments.len()).unwrap_or(u32::MAX)
        })
    }

    #[expect(unsafe_code, reason = "the kernel is this thread's alone")]
    fn set_argument(&self, index: u32, value: Argument<'_, UnifiedRuntime>) -> Result<()> {
        let count = self.count.unwrap_or(MOST_ARGUMENTS);
        if index >= count {
            let message = format!("kernel {} has {count} arguments", self.name());
            return Err(Error::new(PI_INVALID_ARG_INDEX, message));
        }
        // For the messages, since the value is taken apart below.
        let what = value.to_string();
        if let Argument::Bytes(bytes) = &value
            && let Some(&size) = self.sizes.get(index as usize)
            && size != bytes.len()
        {
            let name = self.name();
            let message = format!("argument {index} of kernel {name} has {size} bytes, and cannot be {what}");
            return Err(Error::new(PI_INVALID_ARG_SIZE, message));
        }
        let held = match value {
            Argument::Bytes(bytes) => Held::Bytes(bytes.to_vec()),
            Argument::Local(size) => Held::Local(size),
            Argument::Memory(Some(buffer)) => Held::Memory(buffer),
            Argument::Sampler(sampler) => Held::Sampler(sampler),
            Argument::Memory(None) => Held::Pointer(0),
            Argument::Pointer(address) => Held::Pointer(address),
        };
        let mut arguments = match self.arguments.try_lock() {
            Ok(arguments) => arguments,
            Err(TryLockError::Poisoned(arguments)) => arguments.into_inner(),
            // Nobody waits: who has two threads do it breaks the interface's rules.
            Err(TryLockError::WouldBlock) => {
                let message = "an argument of the kernel is being set by one thread and used by another";
                return Err(Error::new(PI_INVALID_OPERATION, message));
            }
        };
        // SAFETY: no other thread is between these lines with the same kernel.
        unsafe { self.object.set(index, &held) }.map_err(|error| match error.result() {
            PI_INVALID_ARG_VALUE | PI_INVALID_ARG_SIZE => {
                let name = self.name();
                let message = format!("argument {index} of kernel {name} cannot be {what} ({error})");
                Error::new(error.result(), message)
            }
            _ => error.into(),
        })?;
        // Noted when the adapter has taken it, so that a refused value does not replace the one
        // before.
        let index = index as usize;
        if index >= arguments.len() {
            arguments.resize_with(index + 1, || Held::Unset);
        }
        arguments[index] = held;
        Ok(())
    }

    fn group_info(&self, device: &Arc<UrDevice>, name: pi_kernel_group_info) -> Result<Info> {
        let name = match name {
            PI_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE => UR_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE,
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => UR_KERNEL_GROUP_INFO_WORK_GROUP_SIZE,
            PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE => UR_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE,
            PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE => UR_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE,
            PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                UR_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE
            }
            PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE => UR_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE,
            name => return Err(Error::unknown_query(name)),
        };
        Ok(self.object.group_info(device.id, name)?.into())
    }

    fn sub_group_info(
        &self,
        device: &Arc<UrDevice>,
        name: pi_kernel_sub_group_info,
        local: Option<[usize; 3]>,
    ) -> Result<u32> {
        // Adapters are not told of a work-group, and answer for the largest.
        let most = match (name, local) {
            (PI_KERNEL_MAX_SUB_GROUP_SIZE, Some(local)) => work_items(local).max(1),
            _ => u32::MAX,
        };
        let name = match name {
            PI_KERNEL_MAX_SUB_GROUP_SIZE => UR_KERNEL_SUB_GROUP_INFO_MAX_SUB_GROUP_SIZE,
            PI_KERNEL_MAX_NUM_SUB_GROUPS => UR_KERNEL_SUB_GROUP_INFO_MAX_NUM_SUB_GROUPS,
            PI_KERNEL_COMPILE_NUM_SUB_GROUPS => UR_KERNEL_SUB_GROUP_INFO_COMPILE_NUM_SUB_GROUPS,
            PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => UR_KERNEL_SUB_GROUP_INFO_SUB_GROUP_SIZE_INTEL,
            name => return Err(Error::unknown_query(name)),
        };
        let bytes = self.object.sub_group_info(device.id, name)?;
        Ok(number(&bytes).unwrap_or(0).min(most))
    }

    fn set_indirect_access(&self, indirect: bool) -> Result<()> {
        let value = [u8::from(indirect)];
        let set = self
            .object
            .set_exec_info(UR_KERNEL_EXEC_INFO_USM_INDIRECT_ACCESS, &value);
        Ok(set?)
    }

    fn set_usm_pointers(&self, addresses: &[usize]) -> Result<()> {
        let bytes: Vec<u8> = addresses
            .iter()
            .flat_map(|address| address.to_ne_bytes())
            .collect();
        Ok(self.object.set_exec_info(UR_KERNEL_EXEC_INFO_USM_PTRS, &bytes)?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native()?)
    }
}
