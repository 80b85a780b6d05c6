//! Kernels, their arguments, and launches.

use core::ffi::c_void;
use offkit_llvm::WITH_OFFSET;
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Ref, Result, work_items};
use offkit_sync::{Arc, Mutex, PoisonError, TryLockError};
use std::ffi::CString;

use super::Cuda;
use super::code::{Told, second_entry};
use super::context::Place;
use super::device::CudaDevice;
use super::memory::CudaMemory;
use super::shape::{Limits, shape};
use crate::driver::functions::*;
use crate::driver::{Function, Module, Stream};

/// The most bytes that arguments of a kernel take (4,096 up to CUDA 12.0).
const MOST_BYTES: usize = 32_764;

/// What values of arguments begin at a multiple of.
const ALIGNMENT: usize = 16;

/// What arguments in local memory begin at a multiple of: it suits every type.
const LOCAL_ALIGNMENT: usize = 128;

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

/// A kernel on one device.
pub(super) struct Variant {
    place: Arc<Place>,
    module: Arc<Module>,
    entry: Entry,
    /// Its entry for launches whose ids begin elsewhere than at zero.
    second: Option<Second>,
    declared: Arguments,
    /// The most threads of a block.
    most: usize,
    /// The only blocks that it takes.
    required: Option<[usize; 3]>,
}

/// What is launched.
#[derive(Clone, Copy)]
struct Entry {
    function: Function,
    /// The most bytes of shared memory that a launch can have, beside those of the function's own variables.
    shared: u32,
}

/// The second entry of a kernel.
struct Second {
    entry: Entry,
    /// Whether it is told the number of dimensions, which the first takes from the sizes of the launch.
    takes_dimensions: bool,
}

/// A kernel with its arguments.
pub(crate) struct CudaKernel {
    name: String,
    /// One for each device of its program.
    variants: Vec<Variant>,
    arguments: Mutex<Vec<Option<Held>>>,
}

impl Variant {
    /// A kernel of a module, with what its image tells; none if there is none of that name.
    pub(super) fn find(
        name: &str,
        module: &Arc<Module>,
        place: &Arc<Place>,
        told: Option<&Told>,
    ) -> Result<Option<Variant>> {
        let find = |name: &str| match CString::new(name) {
            Ok(name) => Ok(module.function(&name)?),
            Err(_) => Ok::<_, Error>(None),
        };
        let Some(function) = find(name)? else {
            return Ok(None);
        };
        let sizes = module.argument_sizes(function)?;
        let second = match find(&format!("{name}{WITH_OFFSET}"))? {
            Some(other) => match (&sizes, module.argument_sizes(other)?) {
                (Some(first), Some(second)) => second_entry(first, &second).map(|takes| (other, takes)),
                // Where the driver does not tell, the image does, and more is given than is read.
                _ => told.filter(|told| told.has_second_entry).map(|_| (other, true)),
            },
            None => None,
        };
        let count = told.and_then(|told| told.arguments);
        let declared = match (sizes, count) {
            (Some(sizes), _) => Arguments::Sizes(sizes),
            (None, Some(count)) => Arguments::Count(count),
            (None, None) => Arguments::Unknown,
        };
        let allow = |function| shared_memory(module, place, function);
        let second = second.map(|(function, takes_dimensions)| {
            Ok::<_, Error>(Second {
                entry: Entry {
                    function,
                    shared: allow(function)?,
                },
                takes_dimensions,
            })
        });
        Ok(Some(Variant {
            place: Arc::clone(place),
            module: Arc::clone(module),
            entry: Entry {
                function,
                shared: allow(function)?,
            },
            second: second.transpose()?,
            declared,
            most: module.attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? as usize,
            required: told.and_then(|told| told.required),
        }))
    }

    fn attribute(&self, attribute: CUfunction_attribute) -> Result<u32> {
        Ok(self.module.attribute(self.entry.function, attribute)?)
    }

    /// The entry for a launch, and whether it is told where ids begin.
    fn entry(&self, name: &str, range: &NdRange) -> Result<(Entry, bool)> {
        let has_offset = range.offset != [0; 3];
        match &self.second {
            Some(second) if has_offset || second.takes_dimensions => Ok((second.entry, true)),
            None if has_offset => {
                let message = format_args!(
                    "kernel {name} starts at 0, not at {:?}: it has no entry `{name}{WITH_OFFSET}`, as kernels have that \
                     offkit compiles and that see where ids begin",
                    range.offset
                );
                Err(Error::new(PI_INVALID_GLOBAL_OFFSET, message))
            }
            _ => Ok((self.entry, false)),
        }
    }
}

/// The most shared memory that launches of a function can have. It is allowed all of it once and for all: launches of other
/// threads may have more than this one's.
fn shared_memory(module: &Module, place: &Place, function: Function) -> Result<u32> {
    let own = module.attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
    let device = &place.device;
    if device.most_shared_memory > device.shared_memory {
        let most = device.most_shared_memory.saturating_sub(own);
        module.allow_shared(function, most)?;
        return Ok(most);
    }
    Ok(device.shared_memory.saturating_sub(own))
}

impl CudaKernel {
    pub(super) fn new(name: &str, variants: Vec<Variant>) -> CudaKernel {
        CudaKernel {
            name: name.to_owned(),
            variants,
            arguments: Mutex::default(),
        }
    }

    /// What is declared is the same on all devices.
    fn declared(&self) -> &Arguments {
        self.variants
            .first()
            .map_or(&Arguments::Unknown, |first| &first.declared)
    }

    fn on(&self, device: &Arc<CudaDevice>) -> Result<&Variant> {
        let mut variants = self.variants.iter();
        let found = variants.find(|variant| Arc::ptr_eq(&variant.place.device, device));
        found.ok_or_else(|| {
            let message = format_args!("kernel {} is built for another device of the context", self.name);
            Error::new(PI_INVALID_PROGRAM_EXECUTABLE, message)
        })
    }

    fn count(&self) -> Option<usize> {
        match self.declared() {
            Arguments::Sizes(sizes) => Some(sizes.len()),
            Arguments::Count(count) => Some(*count),
            Arguments::Unknown => None,
        }
    }

    /// The size of an argument, where it is known.
    fn size(&self, index: usize) -> Option<usize> {
        match self.declared() {
            Arguments::Sizes(sizes) => sizes.get(index).copied(),
            _ => None,
        }
    }

    /// Launches the kernel with the arguments as they are, and says what it uses.
    #[expect(unsafe_code, reason = "values of arguments are handed over by address")]
    pub(super) fn launch(&self, place: &Arc<Place>, stream: &Stream, range: &NdRange) -> Result<Used> {
        let on = self.on(&place.device)?;
        let limits = Limits {
            most: on.most,
            required: on.required,
            threads: place.device.max_block,
            blocks: place.device.max_grid,
        };
        let (blocks, threads) = shape(&self.name, &limits, range)?;
        let (entry, is_told) = on.entry(&self.name, range)?;
        // The driver refuses a launch without blocks; to hosts it is a command that does nothing.
        if blocks.contains(&0) {
            return Ok(Used::default());
        }
        // Held until the launch is submitted: its values and what it keeps are of one moment.
        let arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.count().unwrap_or(arguments.len());
        let mut used = Used {
            _memory: Vec::new(),
            _module: Some(Arc::clone(&on.module)),
        };
        let (mut values, mut places) = (Vec::new(), Vec::with_capacity(count));
        let mut shared = 0usize;
        for index in 0..count {
            let Some(held) = arguments.get(index).and_then(Option::as_ref) else {
                let message = format!("argument {index} of kernel {} is not set", self.name);
                return Err(Error::new(PI_INVALID_KERNEL_ARGS, message));
            };
            // Where the value begins, as a number: the bytes move while more are added.
            places.push(values.len());
            match held {
                Held::Bytes(bytes) => values.extend_from_slice(bytes),
                // The kernel takes how far behind the start of the launch's own shared memory it is.
                Held::Local(size) => {
                    // More than there is stays more than there is.
                    let next = shared.checked_next_multiple_of(LOCAL_ALIGNMENT);
                    shared = next.unwrap_or(usize::MAX);
                    // Pointers to shared memory have 4 or 8 bytes, as the compiler chose.
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
        if is_told {
            places.push(values.len());
            let wide = |begin: usize| {
                let message = format_args!("kernel {}: ids begin at 2^32 or behind", self.name);
                u32::try_from(begin).map_err(|_| Error::new(PI_INVALID_GLOBAL_OFFSET, message))
            };
            for begin in range.offset {
                values.extend_from_slice(&wide(begin)?.to_le_bytes());
            }
            values.extend_from_slice(&range.dimensions.to_le_bytes());
        }
        let are_told = matches!(on.declared, Arguments::Sizes(_));
        if !are_told {
            // The driver reads as many bytes as the kernel declares, of as many arguments.
            let end = values.len();
            values.resize(end + MOST_BYTES, 0);
            places.resize(MOST_BYTES.max(places.len()), end);
        }
        let most = entry.shared;
        let shared = u32::try_from(shared)
            .ok()
            .filter(|bytes| *bytes <= most)
            .ok_or_else(|| {
                let name = &self.name;
                let message =
                    format_args!("kernel {name}: {shared} bytes of local memory, and the most are {most}");
                Error::new(PI_OUT_OF_RESOURCES, message)
            })?;
        let start = values.as_mut_ptr();
        // SAFETY: every place is within the values.
        let mut pointers: Vec<*mut c_void> = places
            .iter()
            .map(|place| unsafe { start.add(*place) }.cast())
            .collect();
        // SAFETY: where the driver tells sizes, there is a pointer for each argument to as many bytes as it has: a second entry
        // takes what the first does and no more than the numbers that were added. Where it does not, there are as many
        // pointers as any kernel has arguments, with as many bytes behind each as any takes.
        unsafe { stream.launch(entry.function, blocks, threads, shared, &mut pointers) }?;
        Ok(used)
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
        // For the errors below, since the value is taken apart here.
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
            // The size is that of the memory, and not of the pointer that the kernel takes.
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
        let on = self.on(device)?;
        Ok(match name {
            PI_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE => device.max_block.into(),
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => on.most.into(),
            PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE => on.required.unwrap_or_default().into(),
            PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE => {
                u64::from(on.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?).into()
            }
            PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE => {
                u64::from(on.attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?).into()
            }
            PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                (device.id.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE)? as usize).into()
            }
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn sub_group_info(
        &self,
        device: &Arc<CudaDevice>,
        name: pi_kernel_sub_group_info,
        local: Option<[usize; 3]>,
    ) -> Result<u32> {
        let on = self.on(device)?;
        let warp = device.id.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?.max(1);
        let items = local.map_or(on.most as u32, work_items);
        match name {
            // Of a group of fewer work-items the rest of the warp does nothing.
            PI_KERNEL_MAX_SUB_GROUP_SIZE => Ok(warp.min(items.max(1))),
            PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => Ok(warp),
            PI_KERNEL_MAX_NUM_SUB_GROUPS => Ok(items.div_ceil(warp)),
            PI_KERNEL_COMPILE_NUM_SUB_GROUPS => Ok(0),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        let first = self
            .variants
            .first()
            .ok_or_else(|| Error::unsupported("a kernel of no device"))?;
        Ok(first.entry.function.handle())
    }
}
