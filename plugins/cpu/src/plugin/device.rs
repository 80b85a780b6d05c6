//! The platforms and their devices, and everything they can be asked.

use offkit_image::{DeviceImage, Family, ImageFormat};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Device, Error, Info, Partition, Platform, Result};
use offkit_spirv::IL_VERSION;
use std::num::NonZero;
use std::sync::Arc;

use super::{Cpu, machine};
use crate::compiled;
use crate::pool::threads;
use crate::{MAX_LOCAL_MEMORY, MAX_WORK_GROUP_SIZE, SUB_GROUP_SIZES};

/// What the name of the device that compiles kernels begins with.
const NAME: &str = "offkit CPU";

/// What the name of the device begins with that interprets kernels, with every access checked; `--device cpu-checked` finds
/// it.
pub const CHECKED_NAME: &str = "offkit CPU (checked)";

/// The name of a platform; its device's begins with it.
fn kind(compiles: bool) -> &'static str {
    if compiles { NAME } else { CHECKED_NAME }
}

/// Extensions of OpenCL whose device side the device has, by the names that runtimes look for.
const EXTENSIONS: &str = "cl_khr_byte_addressable_store cl_khr_fp16 cl_khr_fp64 cl_khr_global_int32_base_atomics \
     cl_khr_global_int32_extended_atomics cl_khr_il_program cl_khr_int64_base_atomics \
     cl_khr_int64_extended_atomics cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics \
     cl_khr_subgroups cl_intel_unified_shared_memory";

/// Work-groups that a launch can have in a dimension: as many as can be counted.
const MAX_WORK_GROUPS: usize = isize::MAX as usize;

/// A platform, and its only device.
pub(crate) struct CpuPlatform {
    device: Arc<CpuDevice>,
}

impl CpuPlatform {
    /// That of the device that compiles kernels comes first, where there is one.
    pub(super) fn all() -> Vec<Arc<CpuPlatform>> {
        let kinds = [true, false].into_iter();
        let kinds = kinds.filter(|compiles| !compiles || compiled::is_on());
        let platform = |compiles| CpuPlatform {
            device: Arc::new(CpuDevice::new(compiles)),
        };
        kinds.map(|compiles| Arc::new(platform(compiles))).collect()
    }
}

/// A device: all cores that this process may use, or so many of them for each launch.
#[derive(Clone)]
pub(crate) struct CpuDevice {
    name: String,
    compiles: bool,
    cores: usize,
    /// How it was made, if it is a part of another device.
    division: Option<Partition>,
    /// Bytes of memory the machine has.
    memory: u64,
}

impl CpuDevice {
    fn new(compiles: bool) -> CpuDevice {
        let kind = kind(compiles);
        // Where the system does not say, the device goes without: its name is shorter, its memory counts as 1
        // GiB.
        CpuDevice {
            name: offkit_host::processor_name().map_or(kind.to_owned(), |name| format!("{kind} on {name}")),
            compiles,
            cores: threads(),
            division: None,
            memory: machine::memory().unwrap_or(1 << 30),
        }
    }

    /// Whether it compiles kernels, and checks no accesses.
    pub(super) fn compiles(&self) -> bool {
        self.compiles
    }

    /// How many threads a launch may have where these are not all.
    pub(super) fn max_threads(&self) -> Option<NonZero<usize>> {
        self.division.as_ref().and_then(|_| NonZero::new(self.cores))
    }

    /// The compute units that each part has.
    fn parts(&self, how: &Partition) -> Result<Vec<usize>> {
        let units = self.cores;
        if units == 1 {
            let message = "the device has one compute unit";
            return Err(Error::new(PI_DEVICE_PARTITION_FAILED, message));
        }
        match how {
            Partition::Equally(0) => Err(Error::new(PI_INVALID_VALUE, "a part has a compute unit at least")),
            Partition::Equally(each) if *each >= units => {
                let message = format_args!("parts of {each} compute units of a device with {units}");
                // A device is no part of itself.
                let code = match *each == units {
                    true => PI_DEVICE_PARTITION_FAILED,
                    false => PI_INVALID_DEVICE_PARTITION_COUNT,
                };
                Err(Error::new(code, message))
            }
            // What is left over is in no part, as OpenCL has it.
            Partition::Equally(each) => Ok(vec![*each; units / each]),
            Partition::ByCounts(counts) => {
                let sum = counts
                    .iter()
                    .try_fold(0_usize, |sum, count| sum.checked_add(*count));
                if counts.is_empty() || sum.is_none_or(|sum| sum > units) {
                    let message = format_args!("parts of {counts:?} compute units of a device with {units}");
                    return Err(Error::new(PI_INVALID_DEVICE_PARTITION_COUNT, message));
                }
                Ok(counts.clone())
            }
            _ => Err(Error::unsupported("dividing the device by an affinity domain")),
        }
    }
}

impl Platform<Cpu> for CpuPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        Ok(match name {
            PI_PLATFORM_INFO_PROFILE => "FULL_PROFILE".into(),
            PI_PLATFORM_INFO_VERSION => concat!("OpenCL 3.0 offkit ", env!("CARGO_PKG_VERSION")).into(),
            PI_PLATFORM_INFO_NAME => kind(self.device.compiles).into(),
            PI_PLATFORM_INFO_VENDOR => "offkit".into(),
            PI_PLATFORM_INFO_EXTENSIONS => EXTENSIONS.into(),
            // It takes what OpenCL's devices take, and its programs and kernels work as theirs do.
            PI_EXT_PLATFORM_INFO_BACKEND => PI_EXT_PLATFORM_BACKEND_OPENCL.into(),
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn devices(&self) -> Result<Vec<Arc<CpuDevice>>> {
        Ok(vec![Arc::clone(&self.device)])
    }
}

impl Device<Cpu> for CpuDevice {
    fn kind(&self) -> pi_device_type {
        PI_DEVICE_TYPE_CPU
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        let float = PI_FP_DENORM
            | PI_FP_INF_NAN
            | PI_FP_ROUND_TO_NEAREST
            | PI_FP_ROUND_TO_ZERO
            | PI_FP_ROUND_TO_INF
            | PI_FP_FMA;
        let usm = PI_USM_ACCESS | PI_USM_ATOMIC_ACCESS | PI_USM_CONCURRENT_ACCESS;
        Ok(match name {
            PI_DEVICE_INFO_VENDOR_ID => 0u32.into(),
            PI_DEVICE_INFO_NAME => self.name.as_str().into(),
            PI_DEVICE_INFO_VENDOR => "offkit".into(),
            PI_DEVICE_INFO_DRIVER_VERSION => env!("CARGO_PKG_VERSION").into(),
            PI_DEVICE_INFO_PROFILE => "FULL_PROFILE".into(),
            PI_DEVICE_INFO_VERSION => concat!("OpenCL 3.0 offkit ", env!("CARGO_PKG_VERSION")).into(),
            PI_DEVICE_INFO_OPENCL_C_VERSION => "OpenCL C 3.0".into(),
            PI_DEVICE_INFO_IL_VERSION => IL_VERSION.into(),
            PI_DEVICE_INFO_EXTENSIONS => EXTENSIONS.into(),
            PI_DEVICE_INFO_BUILT_IN_KERNELS => "".into(),

            PI_DEVICE_INFO_MAX_COMPUTE_UNITS => (self.cores as u32).into(),
            PI_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS => 3u32.into(),
            PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES => [MAX_WORK_GROUP_SIZE as usize; 3].into(),
            PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE => (MAX_WORK_GROUP_SIZE as usize).into(),
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_GLOBAL_WORK_GROUPS
            | PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_1D => [MAX_WORK_GROUPS].into(),
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D => [MAX_WORK_GROUPS; 2].into(),
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D => [MAX_WORK_GROUPS; 3].into(),
            PI_DEVICE_INFO_MAX_CLOCK_FREQUENCY => machine::clock().into(),
            PI_DEVICE_INFO_ADDRESS_BITS => usize::BITS.into(),
            PI_DEVICE_INFO_MAX_PARAMETER_SIZE => 4096usize.into(),
            // In bits: those of the largest type of OpenCL C.
            PI_DEVICE_INFO_MEM_BASE_ADDR_ALIGN => 1024u32.into(),
            PI_DEVICE_INFO_ENDIAN_LITTLE => cfg!(target_endian = "little").into(),
            PI_DEVICE_INFO_AVAILABLE
            | PI_DEVICE_INFO_COMPILER_AVAILABLE
            | PI_DEVICE_INFO_LINKER_AVAILABLE
            | PI_DEVICE_INFO_HOST_UNIFIED_MEMORY
            | PI_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC => true.into(),
            PI_DEVICE_INFO_ATOMIC_64 => true.into(),
            PI_DEVICE_INFO_ERROR_CORRECTION_SUPPORT
            | PI_DEVICE_INFO_BUILD_ON_SUBDEVICE
            | PI_DEVICE_INFO_IMAGE_SUPPORT
            | PI_DEVICE_INFO_IMAGE_SRGB
            | PI_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => false.into(),
            PI_DEVICE_INFO_EXECUTION_CAPABILITIES => PI_DEVICE_EXEC_CAPABILITIES_KERNEL.into(),
            PI_DEVICE_INFO_QUEUE_PROPERTIES => {
                (PI_QUEUE_PROFILING_ENABLE | PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE).into()
            }
            PI_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES => 0u64.into(),
            PI_DEVICE_INFO_PROFILING_TIMER_RESOLUTION => 1usize.into(),
            // The least that OpenCL allows; there is no such buffer.
            PI_DEVICE_INFO_PRINTF_BUFFER_SIZE => (1usize << 20).into(),

            PI_DEVICE_INFO_SINGLE_FP_CONFIG => (float | PI_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT).into(),
            PI_DEVICE_INFO_DOUBLE_FP_CONFIG | PI_DEVICE_INFO_HALF_FP_CONFIG => float.into(),
            // The interpreter does one lane at a time.
            // Compiled code makes its vectors of work-items: no kernel need be written with any.
            PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_CHAR..=PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_DOUBLE
            | PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_HALF
            | PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_CHAR..=PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_HALF => {
                1u32.into()
            }

            PI_DEVICE_INFO_GLOBAL_MEM_SIZE => self.memory.into(),
            PI_DEVICE_INFO_MAX_MEM_ALLOC_SIZE => self.memory.into(),
            PI_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE => PI_DEVICE_MEM_CACHE_TYPE_READ_WRITE_CACHE.into(),
            PI_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE => 64u32.into(),
            PI_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE => machine::last_cache().into(),
            PI_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE => self.memory.into(),
            PI_DEVICE_INFO_MAX_CONSTANT_ARGS => 480u32.into(),
            // It is host memory as everything else: nothing is gained by copying there.
            PI_DEVICE_INFO_LOCAL_MEM_TYPE => PI_DEVICE_LOCAL_MEM_TYPE_GLOBAL.into(),
            PI_DEVICE_INFO_LOCAL_MEM_SIZE => MAX_LOCAL_MEMORY.into(),

            // No images.
            PI_DEVICE_INFO_MAX_READ_IMAGE_ARGS
            | PI_DEVICE_INFO_MAX_WRITE_IMAGE_ARGS
            | PI_DEVICE_INFO_MAX_SAMPLERS => 0u32.into(),
            PI_DEVICE_INFO_IMAGE2D_MAX_WIDTH..=PI_DEVICE_INFO_IMAGE3D_MAX_DEPTH
            | PI_DEVICE_INFO_IMAGE_MAX_BUFFER_SIZE
            | PI_DEVICE_INFO_IMAGE_MAX_ARRAY_SIZE => 0usize.into(),

            PI_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES => (self.cores as u32).into(),
            PI_DEVICE_INFO_PARTITION_PROPERTIES => match self.cores {
                1 => [0].into(),
                _ => [PI_DEVICE_PARTITION_EQUALLY, PI_DEVICE_PARTITION_BY_COUNTS, 0]
                    .map(isize::cast_unsigned)
                    .into(),
            },
            PI_DEVICE_INFO_PARTITION_TYPE => {
                let properties = self.division.as_ref().map_or(vec![0], Partition::properties);
                let properties: Vec<usize> = properties.into_iter().map(isize::cast_unsigned).collect();
                properties.as_slice().into()
            }
            PI_DEVICE_INFO_PARTITION_AFFINITY_DOMAIN => 0u64.into(),

            // A kernel that requires the smallest size has the most.
            PI_DEVICE_INFO_MAX_NUM_SUB_GROUPS => {
                (MAX_WORK_GROUP_SIZE as u32).div_ceil(SUB_GROUP_SIZES[0]).into()
            }
            PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL => SUB_GROUP_SIZES.map(|size| size as usize).into(),

            PI_DEVICE_INFO_USM_HOST_SUPPORT
            | PI_DEVICE_INFO_USM_DEVICE_SUPPORT
            | PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT => usm.into(),
            // Every access is checked against the allocations of the context, so memory the context has not
            // allocated is out of reach.
            PI_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT | PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT => 0u64.into(),
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn partition(device: &Arc<Self>, how: &Partition) -> Result<Vec<Arc<Self>>> {
        let part = |cores| {
            let division = Some(how.clone());
            let device = CpuDevice::clone(device);
            Arc::new(CpuDevice {
                cores,
                division,
                ..device
            })
        };
        Ok(device.parts(how)?.into_iter().map(part).collect())
    }

    fn timer(&self) -> Result<u64> {
        Ok(crate::graph::now())
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        let rank = |image: &DeviceImage<'_>| {
            if image.format != ImageFormat::Spirv {
                return None;
            }
            let target = &image.target;
            match target.family() {
                Family::Spirv64 if target.triple == target.parts().architecture() => Some(0),
                // SPIR-V that says in full for what it is, or does not say it.
                Family::Spirv64 => Some(1),
                Family::Other if target.triple.is_empty() => Some(2),
                _ => None,
            }
        };
        let ranked = images
            .iter()
            .enumerate()
            .filter_map(|(index, image)| Some((rank(image)?, index)));
        Ok(ranked.min().map(|(_, index)| index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offkit_image::Target;

    fn image(target: &str, code: &'static [u8]) -> DeviceImage<'static> {
        let mut image = DeviceImage::new(code);
        image.target = Target::of_sycl_name(target);
        image
    }

    fn spirv(target: &str) -> DeviceImage<'static> {
        image(target, &[3, 2, 0x23, 7])
    }

    #[test]
    fn spirv_for_64_bits_is_chosen() {
        let device = CpuDevice::new(false);
        let native = image("spir64_gen", b"\x7fELF");
        let choose = |images: &[DeviceImage<'_>]| device.select_binary(images).unwrap();
        assert_eq!(
            choose(&[native.clone(), spirv("<unknown>"), spirv("spir64")]),
            Some(2)
        );
        assert_eq!(choose(&[native.clone(), spirv("spir")]), None);
        assert_eq!(
            choose(&[native.clone(), spirv("spirv64-unknown-unknown")]),
            Some(1)
        );
        assert_eq!(choose(&[native, spirv("spirv64v1.2-unknown-unknown")]), Some(1));
    }
}
