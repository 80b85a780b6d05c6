//! Programs.

use super::context::create;
use super::object::native_properties;
use super::{DeviceId, Error, Owned, Result, ask, call, words};
use core::ptr::{null, null_mut};
use offkit_pi::plugin::NativeHandle;
use offkit_ur::*;
use std::ffi::{CStr, CString};

impl Owned<_ur_context> {
    /// A program in intermediate language.
    pub(crate) fn create_program_with_il(&self, il: &[u8]) -> Result<Owned<_ur_program>> {
        // SAFETY: the bytes are there; no properties.
        unsafe {
            create!(
                self.adapter(),
                urProgramCreateWithIL(self.handle(), il.as_ptr().cast(), il.len(), null())
            )
        }
    }

    /// A program in machine code of a device.
    pub(crate) fn create_program_with_binary(
        &self,
        device: DeviceId,
        binary: &[u8],
    ) -> Result<Owned<_ur_program>> {
        let (mut device, mut size, mut start) = (device.handle(), binary.len(), binary.as_ptr());
        // SAFETY: one device, one size, and so many bytes; no properties.
        unsafe {
            create!(
                self.adapter(),
                urProgramCreateWithBinary(
                    self.handle(),
                    1,
                    &raw mut device,
                    &raw mut size,
                    &raw mut start,
                    null()
                )
            )
        }
    }

    pub(crate) fn program_from_native(&self, native: &NativeHandle) -> Result<Owned<_ur_program>> {
        let properties = native_properties(UR_STRUCTURE_TYPE_PROGRAM_NATIVE_PROPERTIES, native.is_owned());
        // SAFETY: the host vouches for the handle.
        unsafe {
            create!(
                self.adapter(),
                urProgramCreateWithNativeHandle(native.handle(), self.handle(), &raw const properties)
            )
        }
    }

    /// Links programs of the context. A link that fails may leave a program with a log: [`Ok`] with the error beside it.
    pub(crate) fn link(
        &self,
        programs: &[&Owned<_ur_program>],
        options: &CStr,
    ) -> Result<(Owned<_ur_program>, Option<Error>)> {
        let adapter = self.adapter();
        let handles: Vec<_> = programs.iter().map(|program| program.handle()).collect();
        let mut program = null_mut();
        // Without `create!`, which forgets what comes with an error: here that may be a program.
        // SAFETY: as many programs as are said, which are the adapter's; the place for the new one is there.
        unsafe {
            let linked = call!(
                adapter,
                urProgramLink(
                    self.handle(),
                    handles.len() as u32,
                    handles.as_ptr(),
                    options.as_ptr(),
                    &raw mut program
                )
            );
            match (Owned::new(adapter, "urProgramLink", program), linked.err()) {
                (Ok(program), error) => Ok((program, error)),
                (Err(_), Some(error)) => Err(error),
                (Err(null), None) => Err(null),
            }
        }
    }

    /// Compiles a program of the context, to be linked.
    pub(crate) fn compile(&self, program: &Owned<_ur_program>, options: &CStr) -> Result<()> {
        // SAFETY: the program is the context's.
        unsafe {
            call!(
                self.adapter(),
                urProgramCompile(self.handle(), program.handle(), options.as_ptr())
            )
        }
    }

    /// Builds a program of the context.
    pub(crate) fn build(&self, program: &Owned<_ur_program>, options: &CStr) -> Result<()> {
        // SAFETY: as above.
        unsafe {
            call!(
                self.adapter(),
                urProgramBuild(self.handle(), program.handle(), options.as_ptr())
            )
        }
    }
}

impl Owned<_ur_program> {
    /// Sets a specialization constant, for the next compile or build.
    pub(crate) fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        let constant = ur_specialization_constant_info_t {
            id,
            size: value.len(),
            value: value.as_ptr().cast(),
        };
        // SAFETY: one constant, with so many bytes.
        unsafe {
            call!(
                self.adapter(),
                urProgramSetSpecializationConstants(self.handle(), 1, &raw const constant)
            )
        }
    }

    /// Address and size of a program-scope variable on a device.
    pub(crate) fn global_variable(&self, device: DeviceId, name: &CStr) -> Result<(usize, usize)> {
        let (mut size, mut address) = (0, null_mut());
        // SAFETY: the program is the adapter's, the device one of its, and both places are there.
        unsafe {
            call!(
                self.adapter(),
                urProgramGetGlobalVariablePointer(
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

    pub(crate) fn info(&self, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the program is the adapter's.
        ask!(self.adapter(), unsafe urProgramGetInfo(self.handle(), name))
    }

    pub(crate) fn build_info(&self, device: DeviceId, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the program is the adapter's, and the device one of its.
        ask!(
            self.adapter(),
            unsafe urProgramGetBuildInfo(self.handle(), device.handle(), name)
        )
    }

    /// The machine code for each device; none for one that the program is not built for.
    pub(crate) fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        // First: the query for the code itself is told no sizes, and writes as much as there is.
        let sizes = self.info(UR_PROGRAM_INFO_BINARY_SIZES)?;
        let mut binaries: Vec<Vec<u8>> = words(&sizes)
            .map(|size| vec![0; usize::from_ne_bytes(size)])
            .collect();
        let mut places: Vec<*mut u8> = binaries
            .iter_mut()
            .map(|binary| match binary.is_empty() {
                true => null_mut(),
                false => binary.as_mut_ptr(),
            })
            .collect();
        // SAFETY: a place for each device, with as many bytes as it said, or null.
        unsafe {
            call!(
                self.adapter(),
                urProgramGetInfo(
                    self.handle(),
                    UR_PROGRAM_INFO_BINARIES,
                    size_of_val(places.as_slice()),
                    places.as_mut_ptr().cast(),
                    null_mut()
                )
            )
        }?;
        Ok(binaries)
    }

    pub(crate) fn create_kernel(&self, name: &str) -> Result<Owned<_ur_kernel>> {
        let no_name = |_| Error::code("urKernelCreate", UR_RESULT_ERROR_INVALID_KERNEL_NAME);
        let name = CString::new(name).map_err(no_name)?;
        // SAFETY: the program is the adapter's.
        unsafe { create!(self.adapter(), urKernelCreate(self.handle(), name.as_ptr())) }
    }

    /// The handle of the driver's own object.
    pub(crate) fn native(&self) -> Result<ur_native_handle_t> {
        let mut native = 0;
        // SAFETY: the program is the adapter's, and the place is there.
        unsafe {
            call!(
                self.adapter(),
                urProgramGetNativeHandle(self.handle(), &raw mut native)
            )
        }?;
        Ok(native)
    }
}
