//! Platforms and devices.

use super::table::Extensions;
use super::{Owned, Result, ask, call, text};
use core::ptr::null_mut;
use offkit_opencl::*;

/// A platform of a driver, with the functions to use it by. It is there for good.
pub(crate) struct Driver {
    platform: cl_platform_id,
    pub(super) table: Dispatch,
    pub(super) extensions: Extensions,
    /// The version of OpenCL that it says it has.
    pub(crate) version: (u32, u32),
}

// SAFETY: a platform may be used from any thread, and is all there is besides functions.
unsafe impl Send for Driver {}
// SAFETY: as above.
unsafe impl Sync for Driver {}

impl std::fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Driver")
            .field("platform", &self.platform)
            .finish_non_exhaustive()
    }
}

impl Driver {
    pub(super) fn new(
        platform: cl_platform_id,
        table: Dispatch,
        extensions: Extensions,
        version: (u32, u32),
    ) -> Driver {
        Driver {
            platform,
            table,
            extensions,
            version,
        }
    }

    pub(super) fn platform(&self) -> cl_platform_id {
        self.platform
    }

    /// The handle as a number.
    pub(crate) fn native(&self) -> usize {
        self.platform.expose_provenance()
    }

    /// The answer to a query about the platform.
    pub(crate) fn info(&self, name: cl_platform_info) -> Result<Vec<u8>> {
        // SAFETY: the platform is the driver's; `ask` passes a place of the size it says.
        ask!(self.table, unsafe clGetPlatformInfo(self.platform, name))
    }

    /// The text that answers a query; empty if it is not answered.
    pub(crate) fn text(&self, name: cl_platform_info) -> String {
        self.info(name).map(text).unwrap_or_default()
    }

    /// All devices.
    pub(crate) fn devices(&'static self) -> Result<Vec<DeviceId>> {
        let mut count = 0;
        // SAFETY: the count is asked for, and then so many places are there.
        let listed = unsafe {
            let get = |room, places, count| {
                call!(
                    self.table,
                    clGetDeviceIDs(self.platform, CL_DEVICE_TYPE_ALL, room, places, count)
                )
            };
            get(0, null_mut(), &raw mut count).and_then(|()| {
                let mut devices = vec![null_mut(); count as usize];
                get(count, devices.as_mut_ptr(), null_mut())?;
                // As many as it counted, and some of them may not be there.
                devices.retain(|device| !device.is_null());
                Ok(devices)
            })
        };
        match listed {
            Ok(devices) => Ok(devices.into_iter().map(|device| DeviceId(device, self)).collect()),
            // No failure: drivers are installed on machines without their hardware, too.
            Err(error) if error.code == CL_DEVICE_NOT_FOUND => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Whether there is unified shared memory, and all that goes with it.
    pub(crate) fn has_usm(&self) -> bool {
        let Extensions {
            clDeviceMemAllocINTEL,
            clEnqueueMemcpyINTEL,
            clSetKernelArgMemPointerINTEL,
            ..
        } = &self.extensions;
        clDeviceMemAllocINTEL.is_some()
            && clEnqueueMemcpyINTEL.is_some()
            && clSetKernelArgMemPointerINTEL.is_some()
    }
}

/// A device of a platform. It is there for good; or, if it is a part of another, for as long as that part is owned.
#[derive(Clone, Copy)]
pub(crate) struct DeviceId(cl_device_id, &'static Driver);

// SAFETY: a device may be used from any thread.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

impl DeviceId {
    pub(super) fn handle(self) -> cl_device_id {
        self.0
    }

    pub(crate) fn driver(self) -> &'static Driver {
        self.1
    }

    /// The handle as a number.
    pub(crate) fn native(self) -> usize {
        self.0.expose_provenance()
    }

    /// The answer to a query.
    pub(crate) fn info(self, name: cl_device_info) -> Result<Vec<u8>> {
        let DeviceId(device, driver) = self;
        // SAFETY: the device is the driver's; `ask` passes a place of the size it says.
        ask!(driver.table, unsafe clGetDeviceInfo(device, name))
    }

    /// The parts of a device that a list of properties asks for.
    ///
    /// # Safety
    ///
    /// The list has what OpenCL wants in it: a key, its values, and zeros.
    pub(crate) unsafe fn parts(
        self,
        properties: &[cl_device_partition_property],
    ) -> Result<Vec<Owned<_cl_device_id>>> {
        const FUNCTION: &str = "clCreateSubDevices";
        let DeviceId(device, driver) = self;
        let create = |room, places, count| {
            // SAFETY: by the caller's promise; so many places are there.
            unsafe {
                call!(
                    driver.table,
                    clCreateSubDevices(device, properties.as_ptr(), room, places, count)
                )
            }
        };
        let mut count = 0;
        create(0, null_mut(), &raw mut count)?;
        let mut parts = vec![null_mut(); count as usize];
        create(count, parts.as_mut_ptr(), null_mut())?;
        // SAFETY: the driver has made them for the caller.
        let owned = parts
            .into_iter()
            .map(|part| unsafe { Owned::new(driver, FUNCTION, part) });
        // All are taken before the first that is missing ends this.
        let owned: Vec<Result<_>> = owned.collect();
        owned.into_iter().collect()
    }

    /// The handle of a part.
    pub(crate) fn of_part(part: &Owned<_cl_device_id>) -> DeviceId {
        DeviceId(part.handle(), part.driver())
    }

    /// The time by the device's clock, in nanoseconds.
    pub(crate) fn timer(self) -> Result<u64> {
        let DeviceId(device, driver) = self;
        // OpenCL refuses a null place for either of them.
        let (mut on_device, mut on_host) = (0, 0);
        // SAFETY: the device is the driver's, and both places are there.
        unsafe {
            call!(
                driver.table,
                clGetDeviceAndHostTimer(device, &raw mut on_device, &raw mut on_host)
            )
        }?;
        Ok(on_device)
    }
}
