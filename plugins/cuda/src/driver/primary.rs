//! Devices and their primary contexts, which a process has one of for each device and shares with other libraries in it.

use core::ffi::{c_char, c_int};
use core::marker::PhantomData;
use offkit_pi::driver::text;
use offkit_sync::Arc;

use super::functions::*;
use super::{Driver, Error, Result, call, call_newer};

/// A device of the driver.
#[derive(Clone, Copy)]
pub(crate) struct DeviceId {
    driver: &'static Driver,
    device: CUdevice,
}

impl DeviceId {
    pub(super) fn new(driver: &'static Driver, device: CUdevice) -> DeviceId {
        DeviceId { driver, device }
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    pub(crate) fn handle(&self) -> CUdevice {
        self.device
    }

    pub(crate) fn name(&self) -> Result<String> {
        let mut bytes = vec![0u8; 256];
        // SAFETY: as many bytes as are said, of which the last stays 0.
        unsafe {
            call!(
                self.driver,
                cuDeviceGetName(bytes.as_mut_ptr().cast::<c_char>(), 255, self.device)
            )?;
        }
        Ok(text(bytes))
    }

    /// A number that the driver tells, or 0 for one that it is too old to know.
    pub(crate) fn attribute(&self, attribute: CUdevice_attribute) -> Result<u32> {
        let mut value: c_int = 0;
        // SAFETY: one place for the number.
        let asked = unsafe {
            call!(
                self.driver,
                cuDeviceGetAttribute(&raw mut value, attribute, self.device)
            )
        };
        match asked {
            Err(error) if !error.is(CUDA_ERROR_INVALID_VALUE) => Err(error),
            _ => Ok(value.unsigned_abs()),
        }
    }

    pub(crate) fn memory(&self) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: one place for the number.
        unsafe { call!(self.driver, cuDeviceTotalMem_v2(&raw mut bytes, self.device)) }?;
        Ok(bytes)
    }

    /// What tells the device, or the part of one that a MIG instance is, from all others.
    pub(crate) fn uuid(&self) -> Result<[u8; 16]> {
        let mut uuid = CUuuid::default();
        // The second tells MIG instances apart. SAFETY: one place for the bytes.
        unsafe {
            let newer = call_newer!(self.driver, cuDeviceGetUuid_v2(&raw mut uuid, self.device));
            newer.or_else(|_| call_newer!(self.driver, cuDeviceGetUuid(&raw mut uuid, self.device)))?;
        }
        Ok(uuid.bytes)
    }

    /// Whether kernels of this device can reach another's memory.
    pub(crate) fn reaches(&self, other: &DeviceId) -> Result<bool> {
        let mut can: c_int = 0;
        // SAFETY: one place for the answer.
        unsafe {
            call!(
                self.driver,
                cuDeviceCanAccessPeer(&raw mut can, self.device, other.device)
            )?;
        }
        Ok(can != 0)
    }
}

/// What has to be done with a context in the end.
enum Held {
    /// One reference to the device's primary context is to be given back.
    Retained,
    /// It is a host's that gave it away.
    Owned,
    /// It is a host's that keeps it.
    Foreign,
}

/// A context of a device: its primary one, or one that a host gave.
pub(crate) struct Primary {
    pub(crate) id: DeviceId,
    handle: CUcontext,
    held: Held,
}

/// While it is there, the context is the thread's current one. What was current before is so again then.
pub(crate) struct Current<'a> {
    primary: &'a Primary,
    /// It stays on its thread.
    _thread: PhantomData<*const ()>,
}

impl Primary {
    pub(crate) fn retain(id: DeviceId) -> Result<Arc<Primary>> {
        let mut handle: CUcontext = 0;
        // SAFETY: one place for the handle; it is released when this is dropped.
        unsafe {
            call!(id.driver, cuDevicePrimaryCtxRetain(&raw mut handle, id.device))?;
        }
        Ok(Arc::new(Primary {
            id,
            handle,
            held: Held::Retained,
        }))
    }

    /// A context that a host gives. A device's primary context is nobody's to destroy: this has a reference of its own.
    pub(crate) fn of_host(id: DeviceId, handle: CUcontext, is_owned: bool) -> Result<Arc<Primary>> {
        // The driver tells the handle of the primary context only to who takes a reference.
        let primary = Primary::retain(id)?;
        if primary.handle == handle {
            return Ok(primary);
        }
        let held = if is_owned { Held::Owned } else { Held::Foreign };
        Ok(Arc::new(Primary { id, handle, held }))
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.id.driver
    }

    pub(crate) fn handle(&self) -> CUcontext {
        self.handle
    }

    /// Makes it current for this thread.
    pub(crate) fn enter(&self) -> Result<Current<'_>> {
        // Pushed and not set: the thread is the host's, which may have a context of its own on it.
        // SAFETY: the context is there; it is popped when the value is dropped, on the same thread, as it is not `Send`.
        unsafe { call!(self.driver(), cuCtxPushCurrent_v2(self.handle)) }?;
        Ok(Current {
            primary: self,
            _thread: PhantomData,
        })
    }

    /// Lets kernels of this device reach another's memory, where the devices can.
    pub(crate) fn reach(&self, other: &Primary) -> Result<()> {
        if !self.id.reaches(&other.id)? {
            return Ok(());
        }
        let _current = self.enter()?;
        // SAFETY: both contexts are there; the flags have to be 0.
        match unsafe { call!(self.driver(), cuCtxEnablePeerAccess(other.handle, 0)) } {
            // By somebody else in the process, or for a context before.
            Err(error) if error.is(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) => Ok(()),
            enabled => enabled,
        }
    }

    /// Bytes of the device's memory that are free now.
    pub(crate) fn free_memory(&self) -> Result<usize> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places for numbers.
        unsafe { call!(self.driver(), cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
        Ok(free)
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut popped: CUcontext = 0;
        // SAFETY: one place for the handle of what was pushed on this thread.
        let result = unsafe { call!(self.primary.driver(), cuCtxPopCurrent_v2(&raw mut popped)) };
        unless_lost(result);
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: the reference, or the context, is this value's, and nothing of it is left: all of it has references.
        let result = unsafe {
            match self.held {
                Held::Retained => call!(self.driver(), cuDevicePrimaryCtxRelease_v2(self.id.device)),
                Held::Owned => call!(self.driver(), cuCtxDestroy_v2(self.handle)),
                Held::Foreign => Ok(()),
            }
        };
        unless_lost(result);
    }
}

/// Notes a failure of giving something back, which nobody can do anything about.
pub(super) fn unless_lost(result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "giving something back to the driver");
    }
}
