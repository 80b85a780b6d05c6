//! Platforms and devices.

use std::sync::Arc;

use offkit_image::target::{self, triples};
use offkit_image::{DeviceImage, Target};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Device, Error, Info, Partition, Platform, Result};

use crate::Mock;
use crate::script::{self, Script};

/// A platform that the script has.
pub(crate) struct MockPlatform {
    name: String,
    backend: pi_platform_backend,
    devices: Vec<Arc<MockDevice>>,
}

/// A device that the script has.
pub(crate) struct MockDevice(script::Device);

/// All that the script has.
pub(crate) fn platforms(script: &Script) -> Vec<Arc<MockPlatform>> {
    let platform = |platform: &script::Platform| {
        let devices = platform.devices.iter().cloned();
        Arc::new(MockPlatform {
            name: platform.name.clone(),
            backend: platform.backend,
            devices: devices.map(|device| Arc::new(MockDevice(device))).collect(),
        })
    };
    script.platforms.iter().map(platform).collect()
}

impl Platform<Mock> for MockPlatform {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        match name {
            PI_PLATFORM_INFO_NAME => Ok(self.name.as_str().into()),
            PI_PLATFORM_INFO_VENDOR => Ok("offkit".into()),
            PI_PLATFORM_INFO_VERSION => Ok("1.0".into()),
            PI_EXT_PLATFORM_INFO_BACKEND => Ok(self.backend.into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn devices(&self) -> Result<Vec<Arc<MockDevice>>> {
        Ok(self.devices.clone())
    }
}

impl Device<Mock> for MockDevice {
    fn kind(&self) -> pi_device_type {
        self.0.kind
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        // Of two lines about a query the later one counts.
        if let Some((_, answer)) = self.0.info.iter().rev().find(|(known, _)| *known == name) {
            return Ok(answer.clone());
        }
        match name {
            PI_DEVICE_INFO_NAME => Ok(self.0.name.as_str().into()),
            PI_DEVICE_INFO_VENDOR => Ok("offkit".into()),
            PI_DEVICE_INFO_VERSION | PI_DEVICE_INFO_DRIVER_VERSION => Ok("1.0".into()),
            PI_DEVICE_INFO_EXTENSIONS => Ok("cl_khr_il_program".into()),
            PI_DEVICE_INFO_IL_VERSION if self.0.takes.is_empty() => Ok("SPIR-V_1.4".into()),
            PI_DEVICE_INFO_MAX_COMPUTE_UNITS => Ok(1_u32.into()),
            PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE => Ok(256_usize.into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn partition(device: &Arc<Self>, how: &Partition) -> Result<Vec<Arc<Self>>> {
        let part = |number: usize| {
            let mut part = device.0.clone();
            part.name = format!("{}, part {number}", part.name);
            part.parts = part.parts.split_off(1.min(part.parts.len()));
            Arc::new(MockDevice(part))
        };
        match how {
            Partition::ByCounts(counts) => Ok((1..=counts.len()).map(part).collect()),
            Partition::ByAffinityDomain(_) if !device.0.parts.is_empty() => {
                Ok((1..=device.0.parts[0]).map(part).collect())
            }
            _ => Err(Error::unsupported("this way to divide a device")),
        }
    }

    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        let spirv = [Target::new(triples::SPIRV64, "")];
        let takes = match self.0.takes.as_slice() {
            [] => &spirv,
            takes => takes,
        };
        // The targets that are named first are liked best.
        let suits = |target: &Target| {
            let device = target::Device::new(target.clone());
            images
                .iter()
                .position(|image| image.runs_on(&device).runs.is_ok())
        };
        Ok(takes.iter().find_map(suits))
    }
}
