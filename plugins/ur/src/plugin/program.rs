//! Programs.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Build, Error, GlobalVariable, Program, Ref, Result};
use offkit_sync::Arc;
use offkit_ur::*;
use std::ffi::CString;

use super::UnifiedRuntime;
use super::context::UrContext;
use super::device::UrDevice;
use super::kernel::UrKernel;
use super::machine::MachineCode;
use crate::adapter::{self, DeviceId, Owned, number, text};

/// A program of an adapter.
pub(crate) struct UrProgram {
    object: Owned<_ur_program>,
    context: Ref<UrContext>,
    /// The devices it is for.
    devices: Vec<Arc<UrDevice>>,
    /// What it was made of, if that was machine code or PTX, or was linked from such.
    code: Vec<Arc<MachineCode>>,
}

/// Options as C has them.
pub(super) fn options(options: &str) -> Result<CString> {
    CString::new(options).map_err(|error| Error::new(PI_INVALID_BUILD_OPTIONS, error))
}

impl UrProgram {
    pub(super) fn new(
        object: Owned<_ur_program>,
        context: &Ref<UrContext>,
        devices: &[Arc<UrDevice>],
    ) -> UrProgram {
        UrProgram {
            object,
            context: context.clone(),
            devices: devices.to_vec(),
            code: Vec::new(),
        }
    }

    /// The same program, which is made of that code.
    pub(super) fn of_code(self, code: impl IntoIterator<Item = Arc<MachineCode>>) -> UrProgram {
        let code = code.into_iter().collect();
        UrProgram { code, ..self }
    }

    pub(super) fn code(&self) -> &[Arc<MachineCode>] {
        &self.code
    }

    pub(super) fn object(&self) -> &Owned<_ur_program> {
        &self.object
    }

    fn number(&self, device: DeviceId, name: u32) -> u32 {
        let bytes = self.object.build_info(device, name).unwrap_or_default();
        number(&bytes).unwrap_or(0)
    }

    /// How far the program is for a device. The OpenCL adapters hand on OpenCL's numbers, in which 0 is success: then
    /// there is code.
    fn status(&self, device: DeviceId) -> pi_program_build_status {
        let status = self.number(device, UR_PROGRAM_BUILD_INFO_STATUS);
        match status.cast_signed() {
            PI_PROGRAM_BUILD_STATUS_ERROR => PI_PROGRAM_BUILD_STATUS_ERROR,
            PI_PROGRAM_BUILD_STATUS_IN_PROGRESS => PI_PROGRAM_BUILD_STATUS_IN_PROGRESS,
            PI_PROGRAM_BUILD_STATUS_SUCCESS if self.binary_type(device) != PI_PROGRAM_BINARY_TYPE_NONE => {
                PI_PROGRAM_BUILD_STATUS_SUCCESS
            }
            _ => match status {
                UR_PROGRAM_BUILD_STATUS_SUCCESS => PI_PROGRAM_BUILD_STATUS_SUCCESS,
                UR_PROGRAM_BUILD_STATUS_ERROR => PI_PROGRAM_BUILD_STATUS_ERROR,
                UR_PROGRAM_BUILD_STATUS_IN_PROGRESS => PI_PROGRAM_BUILD_STATUS_IN_PROGRESS,
                _ => PI_PROGRAM_BUILD_STATUS_NONE,
            },
        }
    }

    /// State of the code for a device.
    fn binary_type(&self, device: DeviceId) -> pi_program_binary_type {
        match self.number(device, UR_PROGRAM_BUILD_INFO_BINARY_TYPE) {
            UR_PROGRAM_BINARY_TYPE_COMPILED_OBJECT => PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            UR_PROGRAM_BINARY_TYPE_LIBRARY => PI_PROGRAM_BINARY_TYPE_LIBRARY,
            UR_PROGRAM_BINARY_TYPE_EXECUTABLE => PI_PROGRAM_BINARY_TYPE_EXECUTABLE,
            _ => PI_PROGRAM_BINARY_TYPE_NONE,
        }
    }

    /// An error of a compile or a build, with the driver's log.
    fn explained(&self, error: adapter::Error) -> Error {
        // The adapter's code alone does not say what is wrong with the program. The log is of the first device that has
        // failed, or of the first.
        let failed = |device: &&Arc<UrDevice>| self.status(device.id) == PI_PROGRAM_BUILD_STATUS_ERROR;
        let device = self.devices.iter().find(failed).or(self.devices.first());
        let Build { log, .. } = device.map(|device| self.build_info(device)).unwrap_or_default();
        match log.trim() {
            "" => error.into(),
            log => Error::new(error.result(), log),
        }
    }
}

impl Program<UnifiedRuntime> for UrProgram {
    fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        Ok(self.object.set_specialization_constant(id, value)?)
    }

    fn compile(&self, _: &[Arc<UrDevice>], options: &str) -> Result<()> {
        // It is as it is linked. The adapter for CUDA would load it, and end the process with an exception where a function
        // is missing.
        if !self.code.is_empty() {
            return Ok(());
        }
        let options = self::options(options)?;
        let compiled = self.context.object().compile(&self.object, &options);
        compiled.map_err(|error| match self.explained(error) {
            // Adapters have one code for both.
            Error {
                code: PI_BUILD_PROGRAM_FAILURE,
                message,
            } => Error::new(PI_COMPILE_PROGRAM_FAILURE, message),
            error => error,
        })
    }

    // Adapters take no list of devices.
    fn build(&self, _: &[Arc<UrDevice>], options: &str) -> Result<()> {
        let options = self::options(options)?;
        let built = self.context.object().build(&self.object, &options);
        built.map_err(|error| self.explained(error))
    }

    fn build_info(&self, device: &Arc<UrDevice>) -> Build {
        let words = |name| {
            let bytes = self.object.build_info(device.id, name);
            bytes.map(text).unwrap_or_default()
        };
        Build {
            status: self.status(device.id),
            binary_type: self.binary_type(device.id),
            options: words(UR_PROGRAM_BUILD_INFO_OPTIONS),
            log: words(UR_PROGRAM_BUILD_INFO_LOG),
        }
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        let names = text(self.object.info(UR_PROGRAM_INFO_KERNEL_NAMES)?);
        let names = names.split(';').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<UrKernel> {
        let kernel = program.object.create_kernel(name).map_err(|error| {
            if !error.is(UR_RESULT_ERROR_INVALID_KERNEL_NAME) {
                return error.into();
            }
            let names = program.kernel_names().unwrap_or_default().join(", ");
            let message = format!("there is no kernel {name}; the program has {names}");
            Error::new(PI_INVALID_KERNEL_NAME, message)
        })?;
        Ok(UrKernel::new(kernel, &program.code, name))
    }

    fn global_variable(&self, device: &Arc<UrDevice>, name: &str) -> Result<GlobalVariable> {
        let name = CString::new(name).map_err(|error| Error::new(PI_INVALID_VALUE, error))?;
        let (address, size) = self.object.global_variable(device.id, &name)?;
        Ok(GlobalVariable { address, size })
    }

    fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        Ok(self.object.binaries()?)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native()?)
    }
}
