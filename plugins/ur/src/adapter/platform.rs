//! Adapters, platforms and devices. They are there for good.

use super::{Functions, Owned, Result, ask, call, text};
use core::ptr::null_mut;
use offkit_ur::*;

/// An adapter, with the functions to use it by.
pub(crate) struct Adapter {
    pub(super) functions: Functions,
    handle: ur_adapter_handle_t,
    /// What it is called: its file, and the version that it speaks.
    pub(crate) name: String,
    pub(super) form: Form,
}

// SAFETY: an adapter may be used from any thread, and is all there is besides functions.
unsafe impl Send for Adapter {}
// SAFETY: as above.
unsafe impl Sync for Adapter {}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl Adapter {
    pub(super) fn new(functions: Functions, form: Form, name: String) -> Adapter {
        Adapter {
            functions,
            handle: null_mut(),
            name,
            form,
        }
    }

    pub(super) fn set_handle(&mut self, handle: ur_adapter_handle_t) {
        self.handle = handle;
    }

    pub(super) fn handle(&self) -> ur_adapter_handle_t {
        self.handle
    }

    /// All platforms.
    pub(crate) fn platforms(&'static self) -> Result<Vec<PlatformId>> {
        let mut adapter = self.handle;
        let list = |room, places, count| {
            // SAFETY: the adapter is its own, of which there is one; `list` is given as many places as it is told of.
            unsafe {
                if self.form == Form::V2025_1 {
                    call!(self, urPlatformGet_a(&raw mut adapter, 1, room, places, count))
                } else {
                    call!(self, urPlatformGet(self.handle, room, places, count))
                }
            }
        };
        let platforms = handles(list)?.into_iter();
        Ok(platforms.map(|platform| PlatformId(platform, self)).collect())
    }
}

/// The handles of a list, whose length is asked for first.
fn handles<O>(mut list: impl FnMut(u32, *mut *mut O, *mut u32) -> Result<()>) -> Result<Vec<*mut O>> {
    let mut count = 0;
    list(0, null_mut(), &raw mut count)?;
    let mut handles = vec![null_mut(); count as usize];
    if count > 0 {
        list(count, handles.as_mut_ptr(), null_mut())?;
    }
    // Places that the adapter has left empty: there may be fewer than it has counted.
    handles.retain(|handle| !handle.is_null());
    Ok(handles)
}

/// A platform of an adapter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlatformId(ur_platform_handle_t, &'static Adapter);

// SAFETY: a platform may be used from any thread.
unsafe impl Send for PlatformId {}
// SAFETY: as above.
unsafe impl Sync for PlatformId {}

impl PlatformId {
    pub(crate) fn adapter(self) -> &'static Adapter {
        self.1
    }

    /// The answer to a query.
    pub(crate) fn info(self, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the platform is the adapter's; `ask` passes a place of the size it says.
        ask!(self.1, unsafe urPlatformGetInfo(self.0, name))
    }

    /// The text that answers a query; empty if it is not answered.
    pub(crate) fn text(self, name: u32) -> String {
        self.info(name).map(text).unwrap_or_default()
    }

    /// All devices.
    pub(crate) fn devices(self) -> Result<Vec<DeviceId>> {
        let PlatformId(platform, adapter) = self;
        let list = |room, places, count| {
            // SAFETY: the platform is the adapter's; as many places as it is told of.
            unsafe {
                call!(
                    adapter,
                    urDeviceGet(platform, UR_DEVICE_TYPE_ALL, room, places, count)
                )
            }
        };
        match handles(list) {
            Ok(devices) => Ok(devices
                .into_iter()
                .map(|device| DeviceId(device, adapter))
                .collect()),
            // No failure: a platform may be without devices.
            Err(error) if error.is(UR_RESULT_ERROR_DEVICE_NOT_FOUND) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the platform is the adapter's, and the place is there.
        unsafe { call!(self.1, urPlatformGetNativeHandle(self.0, &raw mut native)) }?;
        Ok(native)
    }
}

/// A device of a platform.
#[derive(Clone, Copy)]
pub(crate) struct DeviceId(ur_device_handle_t, &'static Adapter);

// SAFETY: a device may be used from any thread.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

impl DeviceId {
    pub(super) fn handle(self) -> ur_device_handle_t {
        self.0
    }

    /// Whether the handle is this number.
    pub(crate) fn is(self, handle: usize) -> bool {
        self.0.addr() == handle
    }

    pub(crate) fn adapter(self) -> &'static Adapter {
        self.1
    }

    /// The answer to a query.
    pub(crate) fn info(self, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the device is the adapter's; `ask` passes a place of the size it says.
        ask!(self.1, unsafe urDeviceGetInfo(self.0, name))
    }

    /// The parts of a device that some properties ask for.
    pub(crate) fn parts(
        self,
        properties: &[ur_device_partition_property_t],
    ) -> Result<Vec<Owned<_ur_device>>> {
        const FUNCTION: &str = "urDevicePartition";
        let DeviceId(device, adapter) = self;
        let properties = ur_device_partition_properties_t {
            stype: UR_STRUCTURE_TYPE_DEVICE_PARTITION_PROPERTIES,
            next: null_mut(),
            properties: properties.as_ptr(),
            prop_count: properties.len(),
        };
        let list = |room, places, count| {
            // SAFETY: the device is the adapter's; as many properties as are said, and places as it is told of.
            unsafe {
                call!(
                    adapter,
                    urDevicePartition(device, &raw const properties, room, places, count)
                )
            }
        };
        let parts = handles(list)?.into_iter();
        // SAFETY: the adapter has made them for the caller.
        parts
            .map(|part| unsafe { Owned::new(adapter, FUNCTION, part) })
            .collect()
    }

    /// The handle of a part.
    pub(crate) fn of_part(part: &Owned<_ur_device>) -> DeviceId {
        DeviceId(part.handle(), part.adapter())
    }

    /// The time by the device's clock, in nanoseconds.
    pub(crate) fn timer(self) -> Result<u64> {
        let (mut on_device, mut on_host) = (0, 0);
        // SAFETY: the device is the adapter's, and both places are there.
        unsafe {
            call!(
                self.1,
                urDeviceGetGlobalTimestamps(self.0, &raw mut on_device, &raw mut on_host)
            )
        }?;
        Ok(on_device)
    }

    /// Which of some targets suits the device best; `None` if none does.
    pub(crate) fn select(self, targets: &[std::ffi::CString]) -> Result<Option<usize>> {
        let binaries: Vec<ur_device_binary_t> = targets
            .iter()
            .map(|target| ur_device_binary_t {
                stype: UR_STRUCTURE_TYPE_DEVICE_BINARY,
                next: core::ptr::null(),
                target: target.as_ptr(),
            })
            .collect();
        if binaries.is_empty() {
            return Ok(None);
        }
        let mut selected = 0;
        // SAFETY: the device is the adapter's; as many binaries as are said, with a text each; the place is there.
        let result = unsafe {
            call!(
                self.1,
                urDeviceSelectBinary(
                    self.0,
                    binaries.as_ptr(),
                    binaries.len() as u32,
                    &raw mut selected
                )
            )
        };
        match result {
            // The number is the adapter's word, and becomes an index of the host's list.
            Ok(()) => Ok(Some(selected as usize).filter(|index| *index < targets.len())),
            Err(error) if error.is(UR_RESULT_ERROR_INVALID_BINARY) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the device is the adapter's, and the place is there.
        unsafe { call!(self.1, urDeviceGetNativeHandle(self.0, &raw mut native)) }?;
        Ok(native)
    }
}
