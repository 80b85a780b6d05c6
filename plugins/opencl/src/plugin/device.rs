//! Platforms and devices, and what they answer.

use offkit_image::{DeviceImage, Family, ImageFormat};
use offkit_opencl::*;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Count, Device, Error, Info, Partition, Platform, Result};
use offkit_sync::{Arc, Mutex, PoisonError};

use super::OpenCl;
use crate::cl::{self, DeviceId, Owned, text, words};

/// A platform of a driver.
pub(crate) struct ClPlatform {
    driver: &'static cl::Driver,
    /// `None` until the driver has told them. Held while it is asked.
    devices: Mutex<Option<Vec<Arc<ClDevice>>>>,
}

/// A device of a driver.
pub(crate) struct ClDevice {
    pub(super) id: DeviceId,
    kind: pi_device_type,
    extensions: String,
    /// The versions of SPIR-V that it takes modules of; empty if it takes none.
    il_version: String,
    address_bits: u32,
    has_images: bool,
    /// The reference to a part of a device.
    part: Option<Owned<_cl_device_id>>,
}

/// What the driver knows devices by.
pub(super) fn ids(devices: &[Arc<ClDevice>]) -> Vec<DeviceId> {
    devices.iter().map(|device| device.id).collect()
}

impl ClPlatform {
    pub(super) fn new(driver: &'static cl::Driver) -> ClPlatform {
        ClPlatform {
            driver,
            devices: Mutex::new(None),
        }
    }
}

impl Platform<OpenCl> for ClPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        match name {
            PI_EXT_PLATFORM_INFO_BACKEND => Ok(PI_EXT_PLATFORM_BACKEND_OPENCL.into()),
            name => Ok(self.driver.info(name)?.into()),
        }
    }

    fn devices(&self) -> Result<Vec<Arc<ClDevice>>> {
        // A thread that asks PoCL 3.1 while it sets its devices up for another is told that there are none.
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(devices) = &*devices {
            return Ok(devices.clone());
        }
        let found = self.driver.devices()?.into_iter();
        let found = found.map(|id| Arc::new(ClDevice::new(id))).collect();
        Ok(devices.insert(found).clone())
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.driver.native())
    }
}

impl ClDevice {
    fn new(id: DeviceId) -> ClDevice {
        let number = |name| {
            words(&id.info(name).unwrap_or_default())
                .next()
                .map(u32::from_ne_bytes)
        };
        let text = |name| id.info(name).map(text).unwrap_or_default();
        ClDevice {
            id,
            kind: words(&id.info(CL_DEVICE_TYPE).unwrap_or_default())
                .next()
                .map_or(PI_DEVICE_TYPE_ACC, u64::from_ne_bytes),
            extensions: text(CL_DEVICE_EXTENSIONS),
            il_version: text(CL_DEVICE_IL_VERSION),
            address_bits: number(CL_DEVICE_ADDRESS_BITS).unwrap_or(usize::BITS),
            has_images: number(CL_DEVICE_IMAGE_SUPPORT) == Some(CL_TRUE),
            part: None,
        }
    }

    fn has(&self, extension: &str) -> bool {
        self.extensions.split(' ').any(|name| name == extension)
    }

    /// Counts a reference of the host's along. Devices that are no parts ignore it.
    pub(super) fn count(&self, count: Count) -> crate::cl::Result<()> {
        self.part.as_ref().map_or(Ok(()), |part| part.count(count))
    }

    pub(super) fn has_images(&self) -> bool {
        self.has_images
    }

    /// Whether the driver takes programs in SPIR-V.
    pub(super) fn takes_spirv(&self) -> bool {
        self.il_version.contains("SPIR-V")
    }

    /// The largest work-group in each dimension.
    pub(super) fn max_work_item_sizes(&self) -> Vec<usize> {
        let bytes = self
            .id
            .info(PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES)
            .unwrap_or_default();
        words(&bytes).map(usize::from_ne_bytes).collect()
    }

    /// What the device says of atomic operations or fences, in the interface's bits for orders and for scopes.
    fn atomics(&self, name: cl_device_info) -> Option<(u64, u64)> {
        let bytes = self.id.info(name).ok()?;
        let bits = u64::from_ne_bytes(words(&bytes).next()?);
        let translate = |pairs: &[(u64, u64)]| -> u64 {
            let set = pairs.iter().filter(|(theirs, _)| bits & theirs != 0);
            set.fold(0, |all, (_, ours)| all | ours)
        };
        // Orders: relaxed 1, acquire 2, release 4, both 8, sequentially consistent 16.
        let orders = translate(&[
            (CL_DEVICE_ATOMIC_ORDER_RELAXED, 1),
            (CL_DEVICE_ATOMIC_ORDER_ACQ_REL, 2 | 4 | 8),
            (CL_DEVICE_ATOMIC_ORDER_SEQ_CST, 16),
        ]);
        // Scopes: work-item 1, sub-group 2, work-group 4, device 8, system 16.
        let scopes = translate(&[
            (CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM, 1),
            (CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP, 2 | 4),
            (CL_DEVICE_ATOMIC_SCOPE_DEVICE, 8),
            (CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES, 16),
        ]);
        Some((orders, scopes))
    }
}

impl Device<OpenCl> for ClDevice {
    fn kind(&self) -> pi_device_type {
        // OpenCL's numbers, but for the bit that says which is the default.
        self.kind & !PI_DEVICE_TYPE_DEFAULT
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        let unknown = || Error::unknown_query(name);
        Ok(match name {
            PI_DEVICE_INFO_EXTENSIONS => self.extensions.as_str().into(),
            // Drivers below 2.1 do not know the query.
            PI_DEVICE_INFO_IL_VERSION => self.il_version.as_str().into(),

            // What the interface has besides OpenCL.
            PI_DEVICE_INFO_IMAGE_SRGB => false.into(),
            // Drivers compile for a part what they compile for the whole, and do not say so.
            PI_DEVICE_INFO_BUILD_ON_SUBDEVICE => true.into(),
            PI_DEVICE_INFO_USM_HOST_SUPPORT..=PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT => {
                match self.id.driver().has_usm() {
                    true => self.id.info(name).map_or(0u64.into(), Info::from),
                    false => 0u64.into(),
                }
            }
            PI_DEVICE_INFO_ATOMIC_64 => {
                let both = self.has("cl_khr_int64_base_atomics") && self.has("cl_khr_int64_extended_atomics");
                both.into()
            }
            PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES => self
                .atomics(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES)
                .ok_or_else(unknown)?
                .0
                .into(),
            PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES => self
                .atomics(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES)
                .ok_or_else(unknown)?
                .1
                .into(),
            PI_EXT_DEVICE_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES => self
                .atomics(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES)
                .ok_or_else(unknown)?
                .0
                .into(),
            PI_EXT_DEVICE_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES => self
                .atomics(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES)
                .ok_or_else(unknown)?
                .1
                .into(),
            PI_EXT_ONEAPI_DEVICE_INFO_BFLOAT16_MATH_FUNCTIONS => false.into(),
            // OpenCL knows no limit.
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_GLOBAL_WORK_GROUPS
            | PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_1D => [isize::MAX as usize].into(),
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D => [isize::MAX as usize; 2].into(),
            PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D => [isize::MAX as usize; 3].into(),
            PI_DEVICE_INFO_BACKEND_VERSION => "".into(),

            // All others are OpenCL's, by number and answer.
            name => self.id.info(name)?.into(),
        })
    }

    #[expect(unsafe_code, reason = "a list of properties is C's")]
    fn partition(device: &Arc<Self>, how: &Partition) -> Result<Vec<Arc<Self>>> {
        // SAFETY: OpenCL's keys, which the interface has too, their values, and zeros.
        let parts = unsafe { device.id.parts(&how.properties()) }?;
        let part = |part| {
            let new = ClDevice::new(DeviceId::of_part(&part));
            Arc::new(ClDevice {
                part: Some(part),
                ..new
            })
        };
        Ok(parts.into_iter().map(part).collect())
    }

    fn timer(&self) -> Result<u64> {
        Ok(self.id.timer()?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.id.native())
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        let ranked = images
            .iter()
            .enumerate()
            .filter_map(|(index, image)| Some((self.rank(image)?, index)));
        Ok(ranked.min().map(|(_, index)| index))
    }
}

impl ClDevice {
    /// How well an image suits the device, the best first; `None` if it does not. Machine code made for this kind of
    /// device comes before SPIR-V, which the driver still has to compile.
    fn rank(&self, image: &DeviceImage<'_>) -> Option<u32> {
        let spirv = match self.address_bits {
            32 => Family::Spirv32,
            _ => Family::Spirv64,
        };
        let target = &image.target;
        match image.format {
            ImageFormat::Spirv if self.takes_spirv() => match target.family() {
                family if family == spirv && target.triple == target.parts().architecture() => Some(1),
                // SPIR-V that says in full for what it is, or does not say it.
                family if family == spirv => Some(2),
                Family::Other if target.triple.is_empty() => Some(3),
                _ => None,
            },
            // What Intel's compiler makes ahead of time, for Intel's drivers.
            _ => {
                let family = match self.kind() {
                    PI_DEVICE_TYPE_CPU => Family::IntelCpu,
                    PI_DEVICE_TYPE_GPU => Family::IntelGpu,
                    _ => Family::IntelFpga,
                };
                // Other vendors' drivers have devices of these kinds as well, PoCL a CPU, and
                // cannot load what Intel's compiler makes.
                let vendor = self.id.driver().text(CL_PLATFORM_VENDOR);
                (target.family() == family && vendor.contains("Intel")).then_some(0)
            }
        }
    }
}
