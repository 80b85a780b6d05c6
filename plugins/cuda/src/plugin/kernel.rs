//! Kernels, their arguments, and launches.

use core::ffi::c_void;
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Ref, Result};
use offkit_sync::{Arc, Mutex, PoisonError, TryLockError};

use super::Cuda;
use super::context::Place;
use super::device::CudaDevice;
use super::memory::CudaMemory;
use crate::driver::functions::*;
use crate::driver::{Function, Module, Stream};

/// Threads of a block where the host leaves that to the device.
const USUAL_BLOCK: usize = 256;

/// The most bytes that arguments of a kernel take (4,096 up to CUDA 12.0).
const MOST_BYTES: usize = 32_764;

/// What values of arguments begin at a multiple of.
const ALIGNMENT: usize = 16;

/// An argument that was set.
enum Held {
    Bytes(Vec<u8>),
    Local(usize),
    Memory(Ref<CudaMemory>),
    Pointer(usize),
}

/// What a launch uses: the buffers among its arguments, and the module.
#[derive(Default)]
pub(super) struct Used {
    _memory: Vec<Ref<CudaMemory>>,
    _module: Option<Arc<Module>>,
}

/// What is known of a kernel's arguments.
enum Arguments {
    /// The size of each in bytes: the driver says it.
    Sizes(Vec<usize>),
    /// How many there are: the image says it.
    Count(usize),
    /// Nothing: as many as the host sets.
    Unknown,
}

/// A function of a module, with its arguments.
pub(crate) struct CudaKernel {
    name: String,
    module: Arc<Module>,
    function: Function,
    place: Arc<Place>,
    declared: Arguments,
    /// The most threads of a block.
    most: usize,
    arguments: Mutex<Vec<Option<Held>>>,
}

impl CudaKernel {
    pub(super) fn new(
        name: &str,
        module: Arc<Module>,
        function: Function,
        told: Option<usize>,
        place: Arc<Place>,
    ) -> Result<CudaKernel> {
        let declared = match (module.argument_sizes(function)?, told) {
            (Some(sizes), _) => Arguments::Sizes(sizes),
            (None, Some(count)) => Arguments::Count(count),
            (None, None) => Arguments::Unknown,
        };
        let most = module.attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        Ok(CudaKernel {
            name: name.to_owned(),
            module,
            function,
            place,
            declared,
            most: most as usize,
            arguments: Mutex::default(),
        })
    }

    fn count(&self) -> Option<usize> {
        match &self.declared {
            Arguments::Sizes(sizes) => Some(sizes.len()),
            Arguments::Count(count) => Some(*count),
            Arguments::Unknown => None,
        }
    }

    /// The size of an argument, where it is known.
    fn size(&self, index: usize) -> Option<usize> {
        match &self.declared {
            Arguments::Sizes(sizes) => sizes.get(index).copied(),
            _ => None,
        }
    }

    /// Blocks, and threads of a block.
    fn shape(&self, range: &NdRange) -> Result<([u32; 3], [u32; 3])> {
        if range.offset != [0; 3] {
            let message = format_args!("kernels of CUDA start at 0, not at {:?}", range.offset);
            return Err(Error::new(PI_INVALID_GLOBAL_OFFSET, message));
        }
        let local = range.local.unwrap_or_else(|| {
            let most = self.most.clamp(1, USUAL_BLOCK);
            let width = (1..=most)
                .rev()
                .find(|width| range.global[0].is_multiple_of(*width));
            [width.unwrap_or(1), 1, 1]
        });
        let wrong = |what: String| {
            Error::new(
                PI_INVALID_WORK_GROUP_SIZE,
                format_args!("kernel {}: {what}", self.name),
            )
        };
        let items = local.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
        if items.is_none_or(|items| items == 0 || items > self.most) {
            return Err(wrong(format!(
                "a work-group of {local:?}, and the most are {} work-items",
                self.most
            )));
        }
        let (mut blocks, mut threads) = ([0; 3], [0; 3]);
        for axis in 0..3 {
            let (global, local) = (range.global[axis], local[axis]);
            if !global.is_multiple_of(local) {
                return Err(wrong(format!("{global} work-items are no multiple of {local}")));
            }
            let too_many = |_| Error::new(PI_INVALID_GLOBAL_WORK_SIZE, format_args!("{global} work-items"));
            blocks[axis] = u32::try_from(global / local).map_err(too_many)?;
            threads[axis] = u32::try_from(local).map_err(too_many)?;
        }
        Ok((blocks, threads))
    }

    /// Launches the kernel with the arguments as they are, and says what it uses.
    #[expect(unsafe_code, reason = "values of arguments are handed over by address")]
    pub(super) fn launch(&self, place: &Arc<Place>, stream: &Stream, range: &NdRange) -> Result<Used> {
        if !Arc::ptr_eq(place, &self.place) {
            let message = format_args!("kernel {} is built for another device of the context", self.name);
            return Err(Error::new(PI_INVALID_PROGRAM_EXECUTABLE, message));
        }
        let (blocks, threads) = self.shape(range)?;
        if blocks.contains(&0) {
            return Ok(Used::default());
        }
        let arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.count().unwrap_or(arguments.len());
        let mut used = Used {
            _memory: Vec::new(),
            _module: Some(Arc::clone(&self.module)),
        };
        let (mut values, mut places) = (Vec::new(), Vec::with_capacity(count));
        let mut shared = 0usize;
        for index in 0..count {
            let Some(held) = arguments.get(index).and_then(Option::as_ref) else {
                let message = format!("argument {index} of kernel {} is not set", self.name);
                return Err(Error::new(PI_INVALID_KERNEL_ARGS, message));
            };
            places.push(values.len());
            match held {
                Held::Bytes(bytes) => values.extend_from_slice(bytes),
                // The kernel takes an address in the memory that its block shares.
                Held::Local(size) => {
                    shared = shared.next_multiple_of(ALIGNMENT);
                    let width = self.size(index).unwrap_or(size_of::<usize>());
                    values.extend_from_slice(&shared.to_le_bytes()[..width.min(size_of::<usize>())]);
                    shared = shared.saturating_add(*size);
                }
                Held::Memory(memory) => {
                    values.extend_from_slice(&memory.address().to_ne_bytes());
                    used._memory.push(memory.clone());
                }
                Held::Pointer(address) => values.extend_from_slice(&address.to_ne_bytes()),
            }
            values.resize(values.len().next_multiple_of(ALIGNMENT), 0u8);
        }
        if !matches!(self.declared, Arguments::Sizes(_)) {
            // The driver reads as many bytes as the kernel declares.
            values.resize(values.len() + MOST_BYTES, 0);
        }
        let shared = self.shared(shared)?;
        let start = values.as_mut_ptr();
        // SAFETY: every place is within the values.
        let mut pointers: Vec<*mut c_void> = places
            .iter()
            .map(|place| unsafe { start.add(*place) }.cast())
            .collect();
        // SAFETY: there is a pointer for each argument that is known of. Where the driver tells sizes, each value has been
        // found to have its argument's; where it does not, as many bytes as any kernel takes are behind each.
        unsafe { stream.launch(self.function, blocks, threads, shared, &mut pointers) }?;
        Ok(used)
    }

    /// Bytes of shared memory, which the function may have to be allowed.
    fn shared(&self, size: usize) -> Result<u32> {
        let unasked = self.place.device.shared_memory;
        let too_much = |_| Error::new(PI_OUT_OF_RESOURCES, format_args!("{size} bytes of local memory"));
        let bytes = u32::try_from(size).map_err(too_much)?;
        if bytes > 0 && bytes > unasked {
            self.module.allow_shared(self.function, bytes)?;
        }
        Ok(bytes)
    }

    fn attribute(&self, attribute: CUfunction_attribute) -> Result<u32> {
        Ok(self.module.attribute(self.function, attribute)?)
    }
}

impl Kernel<Cuda> for CudaKernel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn num_args(&self) -> u32 {
        let set = || {
            self.arguments
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .len()
        };
        self.count().unwrap_or_else(set) as u32
    }

    fn set_argument(&self, index: u32, value: Argument<'_, Cuda>) -> Result<()> {
        let (place, name) = (index as usize, &self.name);
        // An index that is taken as it comes must not become a length.
        let most = self.count().unwrap_or(MOST_BYTES);
        if place >= most {
            let message = format!("kernel {name} has {most} arguments");
            return Err(Error::new(PI_INVALID_ARG_INDEX, message));
        }
        let what = value.to_string();
        let held = match value {
            Argument::Bytes(bytes) => Held::Bytes(bytes.to_vec()),
            Argument::Local(size) => Held::Local(size),
            Argument::Memory(Some(buffer)) => Held::Memory(buffer),
            Argument::Memory(None) => Held::Pointer(0),
            Argument::Pointer(address) => Held::Pointer(address),
            Argument::Sampler(_) => return Err(Error::unsupported("a sampler")),
        };
        let given = match &held {
            Held::Bytes(bytes) => Some(bytes.len()),
            Held::Local(_) => None,
            Held::Memory(_) | Held::Pointer(_) => Some(size_of::<usize>()),
        };
        match (self.size(place), given) {
            (Some(size), Some(given)) if size != given => {
                let message =
                    format!("argument {index} of kernel {name} has {size} bytes, and cannot be {what}");
                return Err(Error::new(PI_INVALID_ARG_SIZE, message));
            }
            (Some(size), None) if size != 4 && size != 8 => {
                let message =
                    format!("argument {index} of kernel {name} has {size} bytes, and is no pointer");
                return Err(Error::new(PI_INVALID_ARG_VALUE, message));
            }
            (None, Some(given)) if given > MOST_BYTES => {
                let message = format!(
                    "argument {index} of kernel {name}: {given} bytes are more than any kernel takes"
                );
                return Err(Error::new(PI_INVALID_ARG_SIZE, message));
            }
            _ => {}
        }
        let mut arguments = match self.arguments.try_lock() {
            Ok(arguments) => arguments,
            Err(TryLockError::Poisoned(arguments)) => arguments.into_inner(),
            // Nobody waits: who has two threads do it breaks the interface's rules.
            Err(TryLockError::WouldBlock) => {
                let message = "an argument of the kernel is being set by one thread and used by another";
                return Err(Error::new(PI_INVALID_OPERATION, message));
            }
        };
        if arguments.len() <= place {
            arguments.resize_with(place + 1, || None);
        }
        arguments[place] = Some(held);
        Ok(())
    }

    fn group_info(&self, device: &Arc<CudaDevice>, name: pi_kernel_group_info) -> Result<Info> {
        Ok(match name {
            PI_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE => device.max_block()?.into(),
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => self.most.into(),
            // The driver does not tell it.
            PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE => [0usize; 3].into(),
            PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE => {
                u64::from(self.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?).into()
            }
            PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE => {
                u64::from(self.attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?).into()
            }
            PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                (device.id.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE)? as usize).into()
            }
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn sub_group_info(&self, device: &Arc<CudaDevice>, name: pi_kernel_sub_group_info) -> Result<u32> {
        let warp = device.id.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?.max(1);
        match name {
            PI_KERNEL_MAX_SUB_GROUP_SIZE | PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => Ok(warp),
            PI_KERNEL_MAX_NUM_SUB_GROUPS => Ok((self.most as u32).div_ceil(warp)),
            PI_KERNEL_COMPILE_NUM_SUB_GROUPS => Ok(0),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.function.handle())
    }
}
