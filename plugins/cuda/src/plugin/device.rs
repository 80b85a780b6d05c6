//! The platform and its devices, and what they answer.

use offkit_image::DeviceImage;
use offkit_image::target::{Device as Target, Misfit, SpirvSupport};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Device, Error, Info, Platform, Result};
use offkit_spirv::IL_VERSION;
use offkit_sync::{Arc, LazyLock, Mutex, PoisonError};
use std::sync::Weak;

use super::clock::now;
use super::compile;
use super::{Cuda, code};
use crate::discover;
use crate::driver::functions::*;
use crate::driver::{self, DeviceId, Primary};

/// The devices, or why there are none.
pub(super) fn devices() -> Result<&'static [Arc<CudaDevice>]> {
    static DEVICES: LazyLock<Result<Vec<Arc<CudaDevice>>>> = LazyLock::new(|| {
        let ids = discover::devices().map_err(|words| Error::new(PI_DEVICE_NOT_FOUND, words))?;
        let device = |id: &DeviceId| Ok(Arc::new(CudaDevice::new(*id)?));
        ids.iter().map(device).collect()
    });
    match &*DEVICES {
        Ok(devices) => Ok(devices),
        Err(error) => Err(error.clone()),
    }
}

/// OpenCL's names of what the devices can do.
const EXTENSIONS: &str =
    "cl_khr_fp64 cl_khr_fp16 cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_subgroups";

/// The driver.
pub(crate) struct CudaPlatform;

/// A device of the driver.
pub(crate) struct CudaDevice {
    pub(super) id: DeviceId,
    name: String,
    /// What decides which code it takes.
    pub(super) target: Target,
    /// Its compute capability: `9.0`.
    capability: String,
    has_managed_memory: bool,
    /// The most shared memory that a block has unasked.
    pub(super) shared_memory: u32,
    /// The same of a kernel that is allowed more.
    pub(super) most_shared_memory: u32,
    /// The most threads of a block in each dimension.
    pub(super) max_block: [usize; 3],
    /// The most blocks in each dimension.
    pub(super) max_grid: [usize; 3],
    /// The context that all of this process's share, as long as somebody uses it.
    primary: Mutex<Weak<Primary>>,
}

impl Platform<Cuda> for CudaPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        let cuda = || {
            let first = devices().ok().and_then(|devices| devices.first());
            first.map_or((0, 0), |device| device.id.driver().cuda)
        };
        Ok(match name {
            PI_PLATFORM_INFO_NAME => "NVIDIA CUDA".into(),
            PI_PLATFORM_INFO_VENDOR => "NVIDIA Corporation".into(),
            PI_PLATFORM_INFO_VERSION => {
                let (major, minor) = cuda();
                format!("CUDA {major}.{minor}").into()
            }
            PI_PLATFORM_INFO_PROFILE => "FULL_PROFILE".into(),
            PI_PLATFORM_INFO_EXTENSIONS => "".into(),
            PI_EXT_PLATFORM_INFO_BACKEND => PI_EXT_PLATFORM_BACKEND_CUDA.into(),
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn devices(&self) -> Result<Vec<Arc<CudaDevice>>> {
        Ok(devices()?.to_vec())
    }
}

impl CudaDevice {
    pub(crate) fn new(id: DeviceId) -> driver::Result<CudaDevice> {
        let major = id.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = id.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let name = id.name()?;
        let mut target = Target::of_capability(major, minor);
        // Which PTX it takes depends on the compiler within its driver.
        target.driver = Some(id.driver().version);
        // The plugin compiles it.
        target.spirv = compile::is_there((major, minor))
            .then(|| SpirvSupport::new(IL_VERSION, EXTENSIONS.split(' ').map(str::to_owned).collect()));
        let shared_memory = id.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
        let sizes = |attributes: [CUdevice_attribute; 3]| {
            let mut sizes = [0; 3];
            for (size, attribute) in sizes.iter_mut().zip(attributes) {
                *size = id.attribute(attribute)? as usize;
            }
            Ok::<_, driver::Error>(sizes)
        };
        Ok(CudaDevice {
            max_block: sizes([
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
            ])?,
            max_grid: sizes([
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
            ])?,
            id,
            name,
            target,
            capability: format!("{major}.{minor}"),
            has_managed_memory: id.attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)? != 0,
            shared_memory,
            // None of those before 7.0.
            most_shared_memory: id
                .attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
                .max(shared_memory),
            primary: Mutex::new(Weak::new()),
        })
    }

    /// Its primary context.
    pub(super) fn primary(&self) -> driver::Result<Arc<Primary>> {
        let mut known = self.primary.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(primary) = known.upgrade() {
            return Ok(primary);
        }
        let primary = Primary::retain(self.id)?;
        // Weak, as devices are there for good: the context takes memory of the device, and is to
        // go with the last who uses it.
        *known = Arc::downgrade(&primary);
        Ok(primary)
    }

    /// Why it does not take an image.
    pub(super) fn misfit(&self, image: &DeviceImage<'_>) -> Option<Misfit> {
        image.runs_on(&self.target).runs.err()
    }

    pub(super) fn has_managed_memory(&self) -> bool {
        self.has_managed_memory
    }
}

impl Device<Cuda> for CudaDevice {
    fn kind(&self) -> pi_device_type {
        PI_DEVICE_TYPE_GPU
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        let ask = |attribute| self.id.attribute(attribute);
        let usm = PI_USM_ACCESS | PI_USM_ATOMIC_ACCESS;
        let everything = usm | PI_USM_CONCURRENT_ACCESS | PI_USM_CONCURRENT_ATOMIC_ACCESS;
        Ok(match name {
            PI_DEVICE_INFO_NAME => self.name.as_str().into(),
            PI_DEVICE_INFO_VENDOR => "NVIDIA Corporation".into(),
            PI_DEVICE_INFO_VENDOR_ID => 0x10de_u32.into(),
            PI_DEVICE_INFO_DRIVER_VERSION => self.id.driver().version.to_string().into(),
            // The compute capability, as Unified Runtime's adapter has it.
            PI_DEVICE_INFO_VERSION | PI_DEVICE_INFO_BACKEND_VERSION => self.capability.as_str().into(),
            PI_DEVICE_INFO_PROFILE => "FULL_PROFILE".into(),
            PI_DEVICE_INFO_IL_VERSION => match self.target.spirv {
                Some(_) => IL_VERSION,
                None => "",
            }
            .into(),
            PI_DEVICE_INFO_OPENCL_C_VERSION | PI_DEVICE_INFO_BUILT_IN_KERNELS => "".into(),
            PI_DEVICE_INFO_EXTENSIONS => EXTENSIONS.into(),
            PI_DEVICE_INFO_MAX_COMPUTE_UNITS | PI_DEVICE_INFO_GPU_EU_COUNT => {
                ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.into()
            }
            PI_DEVICE_INFO_MAX_CLOCK_FREQUENCY => (ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? / 1000).into(),
            PI_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS => 3u32.into(),
            PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES => self.max_block.into(),
            PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE => {
                (ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? as usize).into()
            }
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_1D => [self.max_grid[0]].into(),
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D => {
                let [x, y, _] = self.max_grid;
                [x, y].into()
            }
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D => self.max_grid.into(),
            PI_DEVICE_INFO_MAX_NUM_SUB_GROUPS => {
                let warp = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?.max(1);
                (ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? / warp).into()
            }
            PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL => [ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE)? as usize].into(),
            // Since Volta threads of a warp go on by themselves.
            PI_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => {
                (ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? >= 7).into()
            }
            PI_DEVICE_INFO_GLOBAL_MEM_SIZE | PI_DEVICE_INFO_MAX_MEM_ALLOC_SIZE => {
                (self.id.memory()? as u64).into()
            }
            PI_EXT_INTEL_DEVICE_INFO_FREE_MEMORY => (self.primary()?.free_memory()? as u64).into(),
            PI_EXT_INTEL_DEVICE_INFO_MEMORY_CLOCK_RATE => {
                (ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? / 1000).into()
            }
            PI_EXT_INTEL_DEVICE_INFO_MEMORY_BUS_WIDTH => {
                ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?.into()
            }
            PI_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE => u64::from(ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?).into(),
            PI_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE => 128u32.into(),
            // Read and written.
            PI_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE => 2u32.into(),
            PI_DEVICE_INFO_LOCAL_MEM_SIZE => u64::from(self.shared_memory).into(),
            // Memory of its own.
            PI_DEVICE_INFO_LOCAL_MEM_TYPE => 1u32.into(),
            PI_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE => {
                u64::from(ask(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?).into()
            }
            PI_DEVICE_INFO_MAX_PARAMETER_SIZE => 4096usize.into(),
            // In bits: what every allocation is a multiple of.
            PI_DEVICE_INFO_MEM_BASE_ADDR_ALIGN => (256u32 * 8).into(),
            PI_DEVICE_INFO_ADDRESS_BITS => 64u32.into(),
            PI_DEVICE_INFO_ERROR_CORRECTION_SUPPORT => (ask(CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? != 0).into(),
            PI_DEVICE_INFO_HOST_UNIFIED_MEMORY => (ask(CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0).into(),
            PI_DEVICE_INFO_ENDIAN_LITTLE
            | PI_DEVICE_INFO_AVAILABLE
            | PI_DEVICE_INFO_LINKER_AVAILABLE
            | PI_DEVICE_INFO_COMPILER_AVAILABLE
            | PI_DEVICE_INFO_ATOMIC_64
            | PI_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC => true.into(),
            PI_DEVICE_INFO_IMAGE_SUPPORT | PI_DEVICE_INFO_IMAGE_SRGB | PI_DEVICE_INFO_BUILD_ON_SUBDEVICE => {
                false.into()
            }
            PI_DEVICE_INFO_EXECUTION_CAPABILITIES => 1u64.into(),
            PI_DEVICE_INFO_QUEUE_PROPERTIES => {
                (PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | PI_QUEUE_PROFILING_ENABLE).into()
            }
            PI_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES => 0u64.into(),
            // Half a microsecond, as the driver's documentation has it.
            PI_DEVICE_INFO_PROFILING_TIMER_RESOLUTION => 500usize.into(),
            PI_DEVICE_INFO_PRINTF_BUFFER_SIZE => (1usize << 20).into(),
            PI_DEVICE_INFO_SINGLE_FP_CONFIG
            | PI_DEVICE_INFO_DOUBLE_FP_CONFIG
            | PI_DEVICE_INFO_HALF_FP_CONFIG => {
                let all = PI_FP_DENORM
                    | PI_FP_INF_NAN
                    | PI_FP_ROUND_TO_NEAREST
                    | PI_FP_ROUND_TO_ZERO
                    | PI_FP_ROUND_TO_INF
                    | PI_FP_FMA;
                match name {
                    PI_DEVICE_INFO_SINGLE_FP_CONFIG => all | PI_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
                    _ => all,
                }
                .into()
            }
            PI_DEVICE_INFO_USM_HOST_SUPPORT | PI_DEVICE_INFO_USM_DEVICE_SUPPORT => usm.into(),
            PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT | PI_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT => match (
                self.has_managed_memory(),
                ask(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? != 0,
            ) {
                (false, _) => 0,
                (true, false) => usm,
                (true, true) => everything,
            }
            .into(),
            PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT => {
                match ask(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)? {
                    0 => 0,
                    _ => everything,
                }
                .into()
            }
            PI_DEVICE_INFO_UUID => self.id.uuid()?.to_vec().into(),
            // The driver tells no number of a function, and a GPU is the first one of its card.
            PI_DEVICE_INFO_PCI_ADDRESS => format!(
                "{:04x}:{:02x}:{:02x}.0",
                ask(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
                ask(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
                ask(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?
            )
            .into(),
            PI_DEVICE_INFO_GPU_EU_SIMD_WIDTH => ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?.into(),
            PI_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES => 0u32.into(),
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn timer(&self) -> Result<u64> {
        Ok(now())
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        let images: Vec<_> = images.iter().map(|image| code::told_by_itself(image)).collect();
        Ok(code::best(&images, self, |_| true))
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        // A native handle is a number here; that of the first device is 0.
        Ok(self.id.handle().unsigned_abs() as pi_native_handle)
    }
}
