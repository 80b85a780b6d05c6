//! Platforms and devices.

use super::handle::{Owned, integer, query_of_size, sizes, text};
use super::plugin::{Plugin, ask, call, list};
use super::{Partition, PiError, Result};
use crate::binary::RawBinaries;
use crate::ffi::*;
use crate::table::Function;
use core::fmt;
use offkit_image::DeviceImage;
use std::sync::Arc;

/// Queries with an answer of 4 bytes, most of them truth values. Real plugins cannot be asked for the size of these:
/// some take no null pointer, some never write the size, some say 1 and others 4.
const WORDS: [pi_device_info; 14] = [
    PI_DEVICE_INFO_IMAGE_SUPPORT,
    PI_DEVICE_INFO_ERROR_CORRECTION_SUPPORT,
    PI_DEVICE_INFO_ENDIAN_LITTLE,
    PI_DEVICE_INFO_AVAILABLE,
    PI_DEVICE_INFO_COMPILER_AVAILABLE,
    PI_DEVICE_INFO_HOST_UNIFIED_MEMORY,
    PI_DEVICE_INFO_LINKER_AVAILABLE,
    PI_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC,
    PI_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
    PI_DEVICE_INFO_IMAGE_SRGB,
    PI_DEVICE_INFO_BUILD_ON_SUBDEVICE,
    PI_DEVICE_INFO_ATOMIC_64,
    PI_EXT_INTEL_DEVICE_INFO_MAX_COMPUTE_QUEUE_INDICES,
    PI_EXT_ONEAPI_DEVICE_INFO_BFLOAT16_MATH_FUNCTIONS,
];

/// A group of devices served by one driver. Lives as long as its plugin.
#[derive(Clone, Debug)]
pub struct Platform {
    plugin: Plugin,
    handle: pi_platform,
}

/// Something that runs kernels. Lives as long as its plugin; a part of another goes with its last clone.
#[derive(Clone, Debug)]
pub struct Device {
    platform: Platform,
    handle: pi_device,
    part: Option<Arc<Part>>,
}

/// What only parts of devices have.
#[derive(Debug)]
struct Part {
    whole: Device,
    _handle: Owned<pi_device>,
}

// SAFETY: platforms and devices belong to no thread and may be queried from several at once.
unsafe impl Send for Platform {}
// SAFETY: as above.
unsafe impl Sync for Platform {}
// SAFETY: as above.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// Kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceType {
    /// The processor the host runs on.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// An accelerator such as an FPGA.
    Accelerator,
    /// Anything else, by its flags.
    Other(u64),
}

impl DeviceType {
    fn from_flags(flags: u64) -> DeviceType {
        match flags {
            flags if flags & PI_DEVICE_TYPE_CPU != 0 => DeviceType::Cpu,
            flags if flags & PI_DEVICE_TYPE_GPU != 0 => DeviceType::Gpu,
            flags if flags & PI_DEVICE_TYPE_ACC != 0 => DeviceType::Accelerator,
            flags => DeviceType::Other(flags),
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceType::Cpu => formatter.write_str("cpu"),
            DeviceType::Gpu => formatter.write_str("gpu"),
            DeviceType::Accelerator => formatter.write_str("accelerator"),
            DeviceType::Other(flags) => write!(formatter, "type {flags:#x}"),
        }
    }
}

impl Platform {
    pub(crate) fn new(plugin: Plugin, handle: pi_platform) -> Platform {
        Platform { plugin, handle }
    }

    /// The plugin the platform comes from.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// The answer to any query, as bytes.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer it.
    pub fn info(&self, name: pi_platform_info) -> Result<Vec<u8>> {
        ask!(self.plugin, piPlatformGetInfo(self.handle, name))
    }

    /// Name.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn name(&self) -> Result<String> {
        self.info(PI_PLATFORM_INFO_NAME).map(text)
    }

    /// What is below the plugin (`PI_EXT_PLATFORM_BACKEND_*`).
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn backend(&self) -> Result<pi_platform_backend> {
        let bytes = self.info(PI_EXT_PLATFORM_INFO_BACKEND)?;
        Ok(integer(Function::piPlatformGetInfo, &bytes)? as pi_platform_backend)
    }

    /// Vendor.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn vendor(&self) -> Result<String> {
        self.info(PI_PLATFORM_INFO_VENDOR).map(text)
    }

    /// Version of the driver's interface, such as `OpenCL 3.0 …`.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn version(&self) -> Result<String> {
        self.info(PI_PLATFORM_INFO_VERSION).map(text)
    }

    /// The devices of the given types (`PI_DEVICE_TYPE_*`, combined with `|`; [`PI_DEVICE_TYPE_ALL`] for
    /// all). None of them is no error.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin fails to list them.
    pub fn devices(&self, types: pi_device_type) -> Result<Vec<Device>> {
        let handles = list(|count, handles, found| {
            // SAFETY: `list` passes pointers to as many handles as it says.
            unsafe {
                call!(
                    self.plugin,
                    piDevicesGet(self.handle, types, count, handles, found)
                )
            }
        });
        match handles {
            Ok(handles) => Ok(handles
                .into_iter()
                .map(|handle| Device {
                    platform: self.clone(),
                    handle,
                    part: None,
                })
                .collect()),
            Err(error) if error.result() == PI_DEVICE_NOT_FOUND => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

impl Device {
    /// The handle, for calls that this type does not cover.
    pub fn raw(&self) -> pi_device {
        self.handle
    }

    /// The platform the device belongs to.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The plugin the device comes from.
    pub fn plugin(&self) -> &Plugin {
        &self.platform.plugin
    }

    /// Divides the device into parts, which are devices as well (sub-devices).
    ///
    /// # Errors
    ///
    /// [`PiError`] if it cannot be divided, or not so.
    pub fn partition(&self, how: &Partition) -> Result<Vec<Device>> {
        // The first of the two calls asks how many parts there would be, and makes none.
        let properties = how.properties();
        let handles = list(|count, handles, found| {
            // SAFETY: the list has its end, and `list` passes pointers to as many handles as it says.
            unsafe {
                call!(
                    self.plugin(),
                    piDevicePartition(self.handle, properties.as_ptr(), count, handles, found)
                )
            }
        })?;
        let part = |handle| Device {
            platform: self.platform.clone(),
            handle,
            part: Some(Arc::new(Part {
                whole: self.clone(),
                // SAFETY: the plugin has made it for us.
                _handle: unsafe { Owned::new(self.plugin().clone(), handle) },
            })),
        };
        Ok(handles.into_iter().map(part).collect())
    }

    /// The device that this is a part of.
    pub fn whole(&self) -> Option<&Device> {
        self.part.as_ref().map(|part| &part.whole)
    }

    /// The answer to any query, as bytes.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer it.
    pub fn info(&self, name: pi_device_info) -> Result<Vec<u8>> {
        if !WORDS.contains(&name) {
            return ask!(self.plugin(), piDeviceGetInfo(self.handle, name));
        }
        query_of_size(size_of::<pi_bool>(), |size, value, size_ret| {
            // SAFETY: `query_of_size` passes a buffer of the size it says, and the device is there.
            unsafe {
                call!(
                    self.plugin(),
                    piDeviceGetInfo(self.handle, name, size, value, size_ret)
                )
            }
        })
    }

    /// The answer to a query for an integer of 4 or 8 bytes.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer it, or with something else.
    pub fn info_integer(&self, name: pi_device_info) -> Result<u64> {
        integer(Function::piDeviceGetInfo, &self.info(name)?)
    }

    /// Name.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn name(&self) -> Result<String> {
        self.info(PI_DEVICE_INFO_NAME).map(text)
    }

    /// Vendor.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn vendor(&self) -> Result<String> {
        self.info(PI_DEVICE_INFO_VENDOR).map(text)
    }

    /// Version of the driver.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn driver_version(&self) -> Result<String> {
        self.info(PI_DEVICE_INFO_DRIVER_VERSION).map(text)
    }

    /// Kind of device.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn device_type(&self) -> Result<DeviceType> {
        self.info_integer(PI_DEVICE_INFO_TYPE).map(DeviceType::from_flags)
    }

    /// Number of work-groups that run at the same time.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn max_compute_units(&self) -> Result<u32> {
        self.info_integer(PI_DEVICE_INFO_MAX_COMPUTE_UNITS)
            .map(|units| u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// Work-items a work-group can have.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn max_work_group_size(&self) -> Result<usize> {
        self.info_integer(PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE)
            .map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// Work-items a work-group can have in each dimension.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn max_work_item_sizes(&self) -> Result<[usize; 3]> {
        sizes(
            Function::piDeviceGetInfo,
            &self.info(PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES)?,
        )
    }

    /// Bytes of global memory.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn global_memory_size(&self) -> Result<u64> {
        self.info_integer(PI_DEVICE_INFO_GLOBAL_MEM_SIZE)
    }

    /// Bytes of local memory a work-group can have.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn local_memory_size(&self) -> Result<u64> {
        self.info_integer(PI_DEVICE_INFO_LOCAL_MEM_SIZE)
    }

    /// Intermediate languages the device takes, such as `SPIR-V_1.4`; several are separated by spaces, and
    /// the text is empty if it takes none.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn il_version(&self) -> Result<String> {
        self.info(PI_DEVICE_INFO_IL_VERSION).map(text)
    }

    /// Names of the extensions the device has.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn extensions(&self) -> Result<Vec<String>> {
        let names = self.info(PI_DEVICE_INFO_EXTENSIONS).map(text)?;
        Ok(names.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// The time now, in nanoseconds: by the clock that [profiling](super::Profile) uses, and by the host's.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the device cannot say it, or the plugin's version has no such function (up to 6.8).
    pub fn timers(&self) -> Result<(u64, u64)> {
        let (mut device, mut host) = (0, 0);
        let (device_to, host_to) = (&raw mut device, &raw mut host);
        // SAFETY: there is room for both times.
        unsafe {
            call!(
                self.plugin(),
                piGetDeviceAndHostTimer(self.handle, device_to, host_to)
            )
        }?;
        Ok((device, host))
    }

    /// The image that suits the device best, as an index; `None` if none does.
    ///
    /// # Errors
    ///
    /// [`PiError`] if an image cannot be unpacked, or the plugin fails for another reason.
    pub fn select_binary(&self, images: &[&DeviceImage<'_>]) -> Result<Option<usize>> {
        if images.is_empty() {
            return Ok(None);
        }
        let unreadable = |error: offkit_image::Error| {
            PiError::refused(
                Function::piextDeviceSelectBinary,
                PI_INVALID_BINARY,
                error.to_string(),
            )
        };
        let mut raw = RawBinaries::new(images).map_err(unreadable)?;
        let mut pointers = raw.pointers();
        let count = pi_uint32::try_from(pointers.len()).unwrap_or(pi_uint32::MAX);
        let mut selected = 0;
        // SAFETY: `pointers` has `count` images, all valid while `raw` is.
        let result = unsafe {
            call!(
                self.plugin(),
                piextDeviceSelectBinary(self.handle, pointers.as_mut_ptr(), count, &raw mut selected)
            )
        };
        // Callers use the answer as an index, and it comes from somebody else's code.
        match result {
            Ok(()) if (selected as usize) < images.len() => Ok(Some(selected as usize)),
            Ok(()) => Err(PiError::refused(
                Function::piextDeviceSelectBinary,
                PI_INVALID_VALUE,
                format!("the plugin selected image {selected} of {}", images.len()),
            )),
            Err(error) if error.result() == PI_INVALID_BINARY => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl PartialEq for Device {
    /// Whether this is the same device of the same plugin.
    fn eq(&self, other: &Device) -> bool {
        self.handle == other.handle && self.plugin().is_same(other.plugin())
    }
}

impl Eq for Device {}
