//! Platforms and devices.

use super::shim::{array, give, give_list, non_null};
use super::state::{self, DeviceDetails, DeviceRecord, PlatformRecord, Registered};
use super::{Error, Info, Partition, Plugin, Result};
use crate::binary;
use crate::ffi::*;
use offkit_image::DeviceImage;
use std::sync::Arc;

/// A group of devices served by one driver.
pub trait Platform<P: Plugin>: Send + Sync + 'static {
    /// Answers a query (`PI_PLATFORM_INFO_*`).
    ///
    /// # Errors
    ///
    /// [`Error::unknown_query`] for one that is not known.
    fn info(&self, name: pi_platform_info) -> Result<Info>;

    /// The devices, the same objects at each call.
    ///
    /// # Errors
    ///
    /// [`Error`] if finding out fails.
    fn devices(&self) -> Result<Vec<Arc<P::Device>>>;

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

/// Something that runs kernels.
pub trait Device<P: Plugin>: Sized + Send + Sync + 'static {
    /// Kind of device (`PI_DEVICE_TYPE_*`).
    fn kind(&self) -> pi_device_type;

    /// Answers a query (`PI_DEVICE_INFO_*`), except for those about type, platform, parent device and
    /// reference count, which are answered without asking.
    ///
    /// # Errors
    ///
    /// [`Error::unknown_query`] for one that is not known.
    fn info(&self, name: pi_device_info) -> Result<Info>;

    /// The time now by the clock that profiling uses, in nanoseconds.
    ///
    /// # Errors
    ///
    /// [`Error`] if the host cannot ask for it.
    fn timer(&self) -> Result<u64> {
        Err(Error::unsupported("asking for a device's time"))
    }

    /// The image that suits the device best; `None` if none does.
    ///
    /// # Errors
    ///
    /// [`Error`] if finding out fails.
    fn select_binary(&self, images: &[DeviceImage<'_>]) -> Result<Option<usize>>;

    /// The parts of the device. They are devices as others are, but go when the host has released them.
    ///
    /// # Errors
    ///
    /// [`Error`] if it cannot be divided, or not so ([`PI_DEVICE_PARTITION_FAILED`]).
    #[expect(
        unused_variables,
        reason = "what is left out takes the arguments that are documented"
    )]
    fn partition(device: &Arc<Self>, how: &Partition) -> Result<Vec<Arc<Self>>> {
        Err(Error::unsupported("dividing a device"))
    }

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

fn platforms<P: Registered>() -> Result<Vec<PlatformRecord<P>>> {
    let platforms = P::platforms()?.into_iter();
    platforms
        .map(|platform| P::state().platforms.intern(platform, ()))
        .collect()
}

fn devices<P: Registered>(platform: &PlatformRecord<P>) -> Result<Vec<DeviceRecord<P>>> {
    let devices = platform.object().devices()?.into_iter();
    devices.map(|device| intern(device, platform.clone())).collect()
}

/// The record of a device of a platform.
pub(super) fn intern<P: Registered>(
    device: Arc<P::Device>,
    platform: PlatformRecord<P>,
) -> Result<DeviceRecord<P>> {
    let parent = None;
    P::state()
        .devices
        .intern(device, DeviceDetails { platform, parent })
}

pub(super) unsafe fn piPlatformsGet<P: Registered>(
    num_entries: pi_uint32,
    handles: *mut pi_platform,
    num_platforms: *mut pi_uint32,
) -> Result<()> {
    let found: Vec<usize> = platforms::<P>()?
        .iter()
        .map(|platform| platform.handle())
        .collect();
    // SAFETY: the host passes room for `num_entries` handles, or null.
    unsafe { give_list(&found, num_entries, handles, num_platforms) }
}

pub(super) fn piPlatformGetInfo<P: Registered>(
    platform: pi_platform,
    name: pi_platform_info,
) -> Result<Info> {
    let info = state::platform::<P>(platform)?.object().info(name)?;
    Ok(info)
}

pub(super) unsafe fn piDevicesGet<P: Registered>(
    platform: pi_platform,
    types: pi_device_type,
    num_entries: pi_uint32,
    handles: *mut pi_device,
    num_devices: *mut pi_uint32,
) -> Result<()> {
    let mut found = devices::<P>(&state::platform::<P>(platform)?)?;
    match types {
        // No device is of this type: it asks for the one to take where nobody chooses.
        PI_DEVICE_TYPE_DEFAULT => found.truncate(1),
        types => found.retain(|device| device.object().kind() & types != 0),
    }
    let found: Vec<usize> = found.iter().map(|device| device.handle()).collect();
    // SAFETY: the host passes room for `num_entries` handles, or null.
    unsafe { give_list(&found, num_entries, handles, num_devices) }
}

pub(super) fn piDeviceGetInfo<P: Registered>(device: pi_device, name: pi_device_info) -> Result<Info> {
    let device = state::device::<P>(device)?;
    Ok(match name {
        PI_DEVICE_INFO_TYPE => device.object().kind().into(),
        PI_DEVICE_INFO_PLATFORM => device.details().platform.handle().into(),
        PI_DEVICE_INFO_PARENT_DEVICE => {
            let parent = device.details().parent.as_ref();
            parent.map_or(0, |parent| parent.handle()).into()
        }
        // As OpenCL has it: devices that are no parts are not counted, and say 1.
        PI_DEVICE_INFO_REFERENCE_COUNT => match device.details().parent {
            Some(_) => device.references().into(),
            None => 1u32.into(),
        },
        name => device.object().info(name)?,
    })
}

pub(super) fn piDeviceRetain<P: Registered>(handle: pi_device) -> Result<()> {
    match state::device::<P>(handle)?.details().parent {
        Some(_) => state::retain_part::<P>(handle),
        None => Ok(()),
    }
}

pub(super) fn piDeviceRelease<P: Registered>(handle: pi_device) -> Result<()> {
    match state::device::<P>(handle)?.details().parent {
        Some(_) => state::release_part::<P>(handle),
        None => Ok(()),
    }
}

/// The parts that a list of properties asks for.
///
/// # Safety
///
/// `list` must be null, or a list as the interface has it: a key, its values, and zeros at the end.
unsafe fn partition(list: *const pi_device_partition_property) -> Result<Partition> {
    non_null(list.cast_mut(), "properties")?;
    // SAFETY: not null, so there is a key, and a value or the end behind it.
    let (key, value) = unsafe { (list.read(), list.add(1)) };
    let counts = || {
        // SAFETY: a list of counts ends with 0.
        let count = |index| unsafe { value.add(index).read() };
        let counts = (0..).map(count).take_while(|count| *count != 0);
        counts.map(isize::cast_unsigned).collect()
    };
    // SAFETY: these keys have one value.
    let value = || unsafe { value.read() }.cast_unsigned();
    match key {
        PI_DEVICE_PARTITION_EQUALLY => Ok(Partition::Equally(value())),
        PI_DEVICE_PARTITION_BY_COUNTS => Ok(Partition::ByCounts(counts())),
        PI_DEVICE_PARTITION_BY_AFFINITY_DOMAIN => Ok(Partition::ByAffinityDomain(value() as u64)),
        key => {
            let message = format_args!("{key:#x} is no way to divide a device");
            Err(Error::new(PI_INVALID_VALUE, message))
        }
    }
}

pub(super) unsafe fn piDevicePartition<P: Registered>(
    device: pi_device,
    properties: *const pi_device_partition_property,
    num_devices: pi_uint32,
    out_devices: *mut pi_device,
    out_num_devices: *mut pi_uint32,
) -> Result<()> {
    let parent = state::device::<P>(device)?;
    if out_devices.is_null() == (num_devices > 0) {
        return Err(Error::new(PI_INVALID_VALUE, "a list and its length go together"));
    }
    // SAFETY: the host passes a list of properties.
    let partition = unsafe { partition(properties) }?;
    let parts = P::Device::partition(parent.object(), &partition)?;
    if !out_num_devices.is_null() {
        // SAFETY: not null, so valid for writing.
        unsafe { out_num_devices.write(parts.len() as pi_uint32) };
    }
    let insert = |part| {
        let details = DeviceDetails {
            platform: parent.details().platform.clone(),
            // Keeps what it is a part of, which may itself be a part that the host releases.
            parent: Some(parent.clone()),
        };
        P::state().devices.insert(part, details)
    };
    // The host gets all of them or none.
    let records = parts.into_iter().take(num_devices as usize).map(insert);
    for (index, record) in records.collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
        // SAFETY: the host passes room for `num_devices` handles, of which this is one.
        unsafe { give(out_devices.add(index), record) };
    }
    Ok(())
}

pub(super) unsafe fn piextDeviceSelectBinary<P: Registered>(
    device: pi_device,
    binaries: *mut pi_device_binary,
    num_binaries: pi_uint32,
    selected: *mut pi_uint32,
) -> Result<()> {
    let device = state::device::<P>(device)?;
    non_null(selected, "selected_binary_ind")?;
    // SAFETY: the host passes `num_binaries` pointers.
    let pointers = unsafe { array(binaries, num_binaries as usize, "binaries") }?;
    let images: Option<Vec<DeviceImage<'_>>> = pointers
        .iter()
        .map(|pointer| {
            // SAFETY: the host passes images that are valid during the call.
            unsafe { pointer.as_ref().map(|raw| binary::image(raw)) }
        })
        .collect();
    let images = images.ok_or_else(|| Error::null("an image"))?;
    let none = || Error::new(PI_INVALID_BINARY, "no image suits the device");
    let index = device.object().select_binary(&images)?.ok_or_else(none)?;
    // SAFETY: not null, so valid for writing.
    unsafe { selected.write(index as pi_uint32) };
    Ok(())
}

pub(super) unsafe fn piGetDeviceAndHostTimer<P: Registered>(
    device: pi_device,
    device_time: *mut u64,
    host_time: *mut u64,
) -> Result<()> {
    let device_now = state::device::<P>(device)?.object().timer()?;
    let host_now = monotonic_time();
    for (target, now) in [(device_time, device_now), (host_time, host_now)] {
        // A host that asks whether there are timers wants none of the two.
        if !target.is_null() {
            // SAFETY: not null, so valid for writing.
            unsafe { target.write(now) };
        }
    }
    Ok(())
}

/// The time now by the clock that hosts measure with (`CLOCK_MONOTONIC`), in nanoseconds.
fn monotonic_time() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the function writes the time, which every system has.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
