//! Programs.

use offkit_opencl::*;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Build, Error, GlobalVariable, Program, Ref, Result};
use offkit_sync::Arc;
use std::ffi::CString;

use super::OpenCl;
use super::device::{ClDevice, ids};
use super::kernel::ClKernel;
use crate::cl::{self, DeviceId, Owned, text, words};

/// A program of a driver.
pub(crate) struct ClProgram {
    object: Owned<_cl_program>,
    /// The devices it is for.
    devices: Vec<Arc<ClDevice>>,
}

/// Options as C has them.
pub(super) fn options(options: &str) -> Result<CString> {
    CString::new(options).map_err(|error| Error::new(PI_INVALID_BUILD_OPTIONS, error))
}

impl ClProgram {
    pub(super) fn new(object: Owned<_cl_program>, devices: &[Arc<ClDevice>]) -> ClProgram {
        ClProgram {
            object,
            devices: devices.to_vec(),
        }
    }

    pub(super) fn object(&self) -> &Owned<_cl_program> {
        &self.object
    }

    /// How far the program is for a device.
    fn status(&self, device: DeviceId) -> pi_program_build_status {
        let bytes = self
            .object
            .build_info(device, CL_PROGRAM_BUILD_STATUS)
            .unwrap_or_default();
        words(&bytes)
            .next()
            .map_or(PI_PROGRAM_BUILD_STATUS_NONE, i32::from_ne_bytes)
    }

    /// An error of a compile or a build, with the driver's log.
    fn explained(&self, error: cl::Error) -> Error {
        // The code only says that something is wrong with the program. The log is of the first device that has failed, or of
        // the first.
        let failed = |device: &&Arc<ClDevice>| self.status(device.id) == PI_PROGRAM_BUILD_STATUS_ERROR;
        let device = self.devices.iter().find(failed).or(self.devices.first());
        let Build { log, .. } = device.map(|device| self.build_info(device)).unwrap_or_default();
        match log.trim() {
            "" => error.into(),
            log => Error::new(error.result(), log),
        }
    }
}

impl Program<OpenCl> for ClProgram {
    fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        Ok(self.object.set_specialization_constant(id, value)?)
    }

    fn compile(&self, devices: &[Arc<ClDevice>], options: &str) -> Result<()> {
        let compiled = self.object.compile(&ids(devices), &self::options(options)?);
        compiled.map_err(|error| self.explained(error))
    }

    fn build(&self, devices: &[Arc<ClDevice>], options: &str) -> Result<()> {
        let built = self.object.build(&ids(devices), &self::options(options)?);
        built.map_err(|error| self.explained(error))
    }

    fn build_info(&self, device: &Arc<ClDevice>) -> Build {
        let ask = |name| self.object.build_info(device.id, name).unwrap_or_default();
        Build {
            status: self.status(device.id),
            binary_type: words(&ask(CL_PROGRAM_BINARY_TYPE))
                .next()
                .map_or(0, u32::from_ne_bytes),
            options: text(ask(CL_PROGRAM_BUILD_OPTIONS)),
            log: text(ask(CL_PROGRAM_BUILD_LOG)),
        }
    }

    fn source(&self) -> String {
        self.object.info(CL_PROGRAM_SOURCE).map(text).unwrap_or_default()
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        let names = text(self.object.info(CL_PROGRAM_KERNEL_NAMES)?);
        let names = names.split(';').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<ClKernel> {
        let kernel = program.object.create_kernel(name).map_err(|error| {
            if error.code != CL_INVALID_KERNEL_NAME {
                return error.into();
            }
            let names = program.kernel_names().unwrap_or_default().join(", ");
            let message = format!("there is no kernel {name}; the program has {names}");
            Error::new(PI_INVALID_KERNEL_NAME, message)
        })?;
        Ok(ClKernel::new(kernel))
    }

    fn global_variable(&self, device: &Arc<ClDevice>, name: &str) -> Result<GlobalVariable> {
        let c_name = CString::new(name).map_err(|error| Error::new(PI_INVALID_VALUE, error))?;
        match self.object.global_variable(device.id, &c_name) {
            Ok((address, size)) => Ok(GlobalVariable { address, size }),
            // Intel's driver has this code for a name that it does not find.
            Err(error) if error.code == CL_INVALID_ARG_VALUE => {
                let message = format!("the program has no variable `{name}` that the host may reach");
                Err(Error::new(PI_INVALID_VALUE, message))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        Ok(self.object.binaries()?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}
