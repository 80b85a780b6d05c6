//! Programs.

use super::{DeviceId, Error, Owned, Result, ask, call, create, words};
use core::ptr::{null, null_mut};
use offkit_opencl::*;
use std::ffi::{CStr, CString};

/// What compiles and links programs.
type Objects<'a> = &'a [&'a Owned<_cl_program>];

/// A list of devices, as C has it.
struct Devices(Vec<cl_device_id>);

impl Devices {
    fn new(devices: &[DeviceId]) -> Devices {
        Devices(devices.iter().map(|device| device.handle()).collect())
    }

    /// Count and pointer; the pointer is null where there are none, which means all.
    fn list(&self) -> (cl_uint, *const cl_device_id) {
        match self.0.as_slice() {
            [] => (0, null()),
            devices => (devices.len() as cl_uint, devices.as_ptr()),
        }
    }
}

impl Owned<_cl_program> {
    /// Compiles the program for some devices, or without any for all.
    pub(crate) fn compile(&self, devices: &[DeviceId], options: &CStr) -> Result<()> {
        let devices = Devices::new(devices);
        let (count, list) = devices.list();
        // SAFETY: so many devices, without headers, and waiting for it.
        unsafe {
            call!(
                self.driver().table,
                clCompileProgram(
                    self.handle(),
                    count,
                    list,
                    options.as_ptr(),
                    0,
                    null(),
                    null_mut(),
                    None,
                    null_mut()
                )
            )
        }
    }

    /// Builds the program for some devices, or without any for all.
    pub(crate) fn build(&self, devices: &[DeviceId], options: &CStr) -> Result<()> {
        let devices = Devices::new(devices);
        let (count, list) = devices.list();
        // SAFETY: so many devices, and waiting for it.
        unsafe {
            call!(
                self.driver().table,
                clBuildProgram(self.handle(), count, list, options.as_ptr(), None, null_mut())
            )
        }
    }

    /// Sets a specialization constant, for the next compile or build.
    pub(crate) fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        // SAFETY: so many bytes are there.
        unsafe {
            call!(
                self.driver().table,
                clSetProgramSpecializationConstant(self.handle(), id, value.len(), value.as_ptr().cast())
            )
        }
    }

    /// Address and size of a program-scope variable on a device.
    pub(crate) fn global_variable(&self, device: DeviceId, name: &CStr) -> Result<(usize, usize)> {
        let (mut size, mut address) = (0, null_mut());
        // SAFETY: the program is the driver's, the device one of its, and both places are there.
        unsafe {
            call!(
                self.driver().extensions,
                clGetDeviceGlobalVariablePointerINTEL(
                    device.handle(),
                    self.handle(),
                    name.as_ptr(),
                    &raw mut size,
                    &raw mut address
                )
            )
        }?;
        Ok((address.expose_provenance(), size))
    }

    pub(crate) fn info(&self, name: cl_program_info) -> Result<Vec<u8>> {
        // SAFETY: the program is the driver's.
        ask!(self.driver().table, unsafe clGetProgramInfo(self.handle(), name))
    }

    pub(crate) fn build_info(&self, device: DeviceId, name: cl_program_build_info) -> Result<Vec<u8>> {
        // SAFETY: the program is the driver's, and the device one of its.
        ask!(
            self.driver().table,
            unsafe clGetProgramBuildInfo(self.handle(), device.handle(), name)
        )
    }

    /// The machine code for each device; none for one that the program is not built for.
    pub(crate) fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        let sizes = self.info(CL_PROGRAM_BINARY_SIZES)?;
        let mut binaries: Vec<Vec<u8>> = words(&sizes)
            .map(|size| vec![0; usize::from_ne_bytes(size)])
            .collect();
        let mut places: Vec<*mut u8> = binaries
            .iter_mut()
            // Null is OpenCL's word for leaving one out; the pointer of an empty vector is not
            // null, and points nowhere.
            .map(|binary| match binary.is_empty() {
                true => null_mut(),
                false => binary.as_mut_ptr(),
            })
            .collect();
        // SAFETY: a place for each device, with as many bytes as it said, or null.
        unsafe {
            call!(
                self.driver().table,
                clGetProgramInfo(
                    self.handle(),
                    CL_PROGRAM_BINARIES,
                    size_of_val(places.as_slice()),
                    places.as_mut_ptr().cast(),
                    null_mut()
                )
            )
        }?;
        Ok(binaries)
    }

    pub(crate) fn create_kernel(&self, name: &str) -> Result<Owned<_cl_kernel>> {
        const FUNCTION: &str = "clCreateKernel";
        let driver = self.driver();
        let no_name = |_| Error {
            function: FUNCTION,
            code: CL_INVALID_KERNEL_NAME,
        };
        let name = CString::new(name).map_err(no_name)?;
        // SAFETY: the program is the driver's.
        unsafe {
            let kernel = create!(driver.table, clCreateKernel(self.handle(), name.as_ptr()))?;
            Owned::new(driver, FUNCTION, kernel)
        }
    }
}

impl Owned<_cl_context> {
    /// Links programs of the context for some devices, or without any for all. A link that fails may leave a program with a log: [`Ok`] with the error beside it.
    pub(crate) fn link(
        &self,
        devices: &[DeviceId],
        programs: Objects<'_>,
        options: &CStr,
    ) -> Result<(Owned<_cl_program>, Option<Error>)> {
        const FUNCTION: &str = "clLinkProgram";
        let driver = self.driver();
        // Without `create!`, which drops what comes with an error: here that may be a program,
        // which has to be released.
        let function = driver.table.clLinkProgram.ok_or(Error::missing(FUNCTION))?;
        let handles: Vec<cl_program> = programs.iter().map(|program| program.handle()).collect();
        let devices = Devices::new(devices);
        let (count, list) = devices.list();
        let mut code = CL_SUCCESS;
        // SAFETY: as many devices and programs as are said, which are the driver's; waiting for it.
        unsafe {
            let program = function(
                self.handle(),
                count,
                list,
                options.as_ptr(),
                handles.len() as cl_uint,
                handles.as_ptr(),
                None,
                null_mut(),
                &raw mut code,
            );
            let error = Error::check(FUNCTION, code).err();
            match (Owned::new(driver, FUNCTION, program), error) {
                (Ok(program), error) => Ok((program, error)),
                (Err(_), Some(error)) => Err(error),
                (Err(null), None) => Err(null),
            }
        }
    }
}
