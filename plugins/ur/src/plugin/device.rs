//! Platforms and devices, and what they answer.

use offkit_image::target::triples;
use offkit_image::{DeviceImage, ImageFormat, Target};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Device, Error, Info, Partition, Platform, Result};
use offkit_sync::{Arc, Mutex, PoisonError};
use offkit_ur::*;
use std::ffi::CString;

use super::{UnifiedRuntime, query};
use crate::adapter::{DeviceId, Owned, PlatformId, number, text};

/// A platform of an adapter.
pub(crate) struct UrPlatform {
    id: PlatformId,
    /// `None` until the adapter has told them. Held while it is asked.
    devices: Mutex<Option<Vec<Arc<UrDevice>>>>,
}

/// A device of an adapter.
pub(crate) struct UrDevice {
    pub(super) id: DeviceId,
    kind: pi_device_type,
    /// The versions of SPIR-V that it takes modules of; empty if it takes none.
    il_version: String,
    has_images: bool,
    /// The reference to a part of a device.
    _part: Option<Owned<_ur_device>>,
}

impl UrPlatform {
    pub(super) fn new(id: PlatformId) -> UrPlatform {
        UrPlatform {
            id,
            devices: Mutex::new(None),
        }
    }
}

impl Platform<UnifiedRuntime> for UrPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        let name = match name {
            PI_PLATFORM_INFO_NAME => UR_PLATFORM_INFO_NAME,
            PI_PLATFORM_INFO_VENDOR => UR_PLATFORM_INFO_VENDOR_NAME,
            PI_PLATFORM_INFO_VERSION => UR_PLATFORM_INFO_VERSION,
            PI_PLATFORM_INFO_EXTENSIONS => UR_PLATFORM_INFO_EXTENSIONS,
            PI_PLATFORM_INFO_PROFILE => UR_PLATFORM_INFO_PROFILE,
            PI_EXT_PLATFORM_INFO_BACKEND => {
                let backend = number(&self.id.info(UR_PLATFORM_INFO_BACKEND)?);
                return Ok(match backend {
                    Some(UR_BACKEND_LEVEL_ZERO) => PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO,
                    Some(UR_BACKEND_OPENCL) => PI_EXT_PLATFORM_BACKEND_OPENCL,
                    Some(UR_BACKEND_CUDA) => PI_EXT_PLATFORM_BACKEND_CUDA,
                    Some(UR_BACKEND_HIP) => PI_EXT_PLATFORM_BACKEND_HIP,
                    Some(UR_BACKEND_NATIVE_CPU) => PI_EXT_PLATFORM_BACKEND_NATIVE_CPU,
                    _ => PI_EXT_PLATFORM_BACKEND_UNKNOWN,
                }
                .into());
            }
            name => return Err(Error::unknown_query(name)),
        };
        Ok(self.id.info(name)?.into())
    }

    fn devices(&self) -> Result<Vec<Arc<UrDevice>>> {
        // An adapter asks its driver, which may tell a thread that there are none while it sets them up for another:
        // PoCL 3.1 does.
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(devices) = &*devices {
            return Ok(devices.clone());
        }
        let found = self.id.devices()?.into_iter();
        let found = found.map(|id| Arc::new(UrDevice::new(id))).collect();
        Ok(devices.insert(found).clone())
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.id.native()?)
    }
}

impl UrDevice {
    fn new(id: DeviceId) -> UrDevice {
        let kind = id.info(UR_DEVICE_INFO_TYPE).ok().and_then(|bytes| number(&bytes));
        UrDevice {
            id,
            kind: match kind {
                Some(UR_DEVICE_TYPE_GPU) => PI_DEVICE_TYPE_GPU,
                Some(UR_DEVICE_TYPE_CPU) => PI_DEVICE_TYPE_CPU,
                // PI has no kinds for the others.
                _ => PI_DEVICE_TYPE_ACC,
            },
            il_version: id.info(UR_DEVICE_INFO_IL_VERSION).map(text).unwrap_or_default(),
            has_images: id
                .info(UR_DEVICE_INFO_IMAGE_SUPPORT)
                .is_ok_and(|answer| answer.first() == Some(&1)),
            _part: None,
        }
    }

    pub(super) fn has_images(&self) -> bool {
        self.has_images
    }

    pub(super) fn takes_spirv(&self) -> bool {
        self.il_version.contains("SPIR-V")
    }

    /// What Unified Runtime calls the target of an image, as DPC++'s runtimes do; none for SPIR-V that the device does not
    /// take.
    fn target(&self, image: &DeviceImage<'_>) -> Option<CString> {
        let target = &image.target;
        let name = match image.format {
            ImageFormat::Spirv if !self.takes_spirv() => return None,
            // It does not say what it is for.
            ImageFormat::Spirv if target.triple.is_empty() => {
                Target::named(triples::SPIRV64).sycl_name().to_owned()
            }
            _ => target.sycl_name().to_owned(),
        };
        CString::new(name).ok()
    }
}

impl Device<UnifiedRuntime> for UrDevice {
    fn kind(&self) -> pi_device_type {
        self.kind
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        Ok(match name {
            // The adapter for CUDA writes to standard error at each question.
            PI_DEVICE_INFO_IMAGE_SUPPORT => self.has_images.into(),
            PI_DEVICE_INFO_IL_VERSION => self.il_version.as_str().into(),
            // Some adapters have none.
            PI_DEVICE_INFO_EXTENSIONS => {
                let names = self.id.info(UR_DEVICE_INFO_EXTENSIONS);
                names.map(text).unwrap_or_default().into()
            }
            // The driver is reached through an adapter, which is as likely to be at fault.
            PI_DEVICE_INFO_DRIVER_VERSION => {
                let version = self.id.info(UR_DEVICE_INFO_DRIVER_VERSION).map(text);
                let adapter = &self.id.adapter().name;
                format!("{} ({adapter})", version.unwrap_or_default()).into()
            }

            name => {
                let (theirs, answer) = query::of_device(name).ok_or_else(|| Error::unknown_query(name))?;
                answer.translate(self.id.info(theirs)?)
            }
        })
    }

    fn partition(device: &Arc<Self>, how: &Partition) -> Result<Vec<Arc<Self>>> {
        let property = |kind, value: usize| {
            // Unified Runtime has 32 bits where PI has a word.
            let too_much = |_| {
                let message = format_args!("a device divided by {value}, which is more than 32 bits hold");
                Error::new(PI_INVALID_VALUE, message)
            };
            let value = value.try_into().map_err(too_much)?;
            Ok(ur_device_partition_property_t { kind, value })
        };
        let properties = match how {
            Partition::Equally(units) => vec![property(UR_DEVICE_PARTITION_EQUALLY, *units)?],
            Partition::ByCounts(counts) => {
                let counts = counts.iter();
                let counts = counts.map(|count| property(UR_DEVICE_PARTITION_BY_COUNTS, *count));
                counts.collect::<Result<_>>()?
            }
            Partition::ByAffinityDomain(domain) => {
                vec![property(
                    UR_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
                    *domain as usize,
                )?]
            }
            _ => return Err(Error::unsupported("this way to divide a device")),
        };
        let part = |part| {
            let new = UrDevice::new(DeviceId::of_part(&part));
            Arc::new(UrDevice {
                _part: Some(part),
                ..new
            })
        };
        Ok(device.id.parts(&properties)?.into_iter().map(part).collect())
    }

    fn timer(&self) -> Result<u64> {
        Ok(self.id.timer()?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.id.native()?)
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        let offered = images.iter().enumerate();
        let offered = offered.filter_map(|(index, image)| Some((index, self.target(image)?)));
        // The adapter counts what it is offered, and the host all of its images.
        let (indices, targets): (Vec<_>, Vec<_>) = offered.unzip();
        let selected = self.id.select(&targets)?;
        Ok(selected.and_then(|index| indices.get(index).copied()))
    }
}
