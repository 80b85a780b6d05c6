//! Programs: device code on its way to kernels.

use super::context::Context;
use super::device::Device;
use super::handle::{Owned, integer, text};
use super::kernel::Kernel;
use super::plugin::{Plugin, ask, call, create};
use super::{PiError, Result};
use crate::ffi::*;
use crate::table::Function;
use std::ffi::CString;
use std::sync::Arc;

/// Device code in some state between intermediate language and executable.
///
/// Either [`build`](Self::build) it, or [`compile`](Self::compile) it and [`link`](Context::link) it with
/// others.
#[derive(Clone, Debug)]
pub struct Program {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Owned<pi_program>,
    context: Context,
}

/// How far the last compile, link or build got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BuildStatus {
    /// Nothing has been asked for yet.
    None,
    /// It failed.
    Error,
    /// It succeeded.
    Success,
    /// It goes on.
    InProgress,
}

/// State of a program's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BinaryType {
    /// Not compiled.
    None,
    /// Compiled, to be linked.
    Object,
    /// A library to link with.
    Library,
    /// Linked.
    Executable,
}

impl Program {
    pub(crate) fn new(handle: Owned<pi_program>, context: Context) -> Program {
        Program {
            inner: Arc::new(Inner { handle, context }),
        }
    }

    pub(crate) fn raw(&self) -> pi_program {
        self.inner.handle.raw()
    }

    pub(crate) fn plugin(&self) -> &Plugin {
        self.inner.handle.plugin()
    }

    /// The context the program is in.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Sets a specialization constant, by its number in the module, to a value given as its bytes in memory.
    /// Takes effect with the next compile or build.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no such constant, or the value has another size.
    pub fn set_specialization_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        // SAFETY: `value` has as many bytes as the size says.
        unsafe {
            call!(
                self.plugin(),
                piextProgramSetSpecializationConstant(self.raw(), id, value.len(), value.as_ptr().cast())
            )
        }
    }

    /// Compiles for all devices of the context, to be linked.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the code does not compile; its message is the build log where there is one.
    pub fn compile(&self, options: &str) -> Result<()> {
        self.compile_for(&[], options)
    }

    /// The same for some devices of the context; none means all.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile).
    pub fn compile_for(&self, devices: &[&Device], options: &str) -> Result<()> {
        let options = c_string(Function::piProgramCompile, options)?;
        let devices = Devices::of(devices);
        // SAFETY: there are as many devices as the count says; no headers and no callback are given.
        let compiled = unsafe {
            call!(
                self.plugin(),
                piProgramCompile(
                    self.raw(),
                    devices.count(),
                    devices.list(),
                    options.as_ptr(),
                    0,
                    core::ptr::null(),
                    core::ptr::null_mut(),
                    None,
                    core::ptr::null_mut(),
                )
            )
        };
        compiled.map_err(|error| self.with_build_log(error))
    }

    /// Compiles and links for all devices of the context.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the code does not build; its message is the build log where there is one.
    pub fn build(&self, options: &str) -> Result<()> {
        self.build_for(&[], options)
    }

    /// The same for some devices of the context; none means all.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_for(&self, devices: &[&Device], options: &str) -> Result<()> {
        let options = c_string(Function::piProgramBuild, options)?;
        let devices = Devices::of(devices);
        // SAFETY: there are as many devices as the count says; no callback is given.
        let built = unsafe {
            call!(
                self.plugin(),
                piProgramBuild(
                    self.raw(),
                    devices.count(),
                    devices.list(),
                    options.as_ptr(),
                    None,
                    core::ptr::null_mut()
                )
            )
        };
        built.map_err(|error| self.with_build_log(error))
    }

    pub(crate) fn link(
        context: &Context,
        devices: &[&Device],
        programs: &[&Program],
        options: &str,
    ) -> Result<Program> {
        let plugin = context.plugin();
        for program in programs {
            context.check_same(program.context(), Function::piProgramLink, "program")?;
        }
        let options = c_string(Function::piProgramLink, options)?;
        // None would mean all, but the plugin of DPC++ 2024.2 refuses that.
        let devices = match devices {
            [] => Devices(context.devices().iter().map(Device::raw).collect()),
            some => Devices::of(some),
        };
        let handles: Vec<pi_program> = programs.iter().map(|program| program.raw()).collect();
        let mut program = core::ptr::null_mut();
        // SAFETY: there are as many devices and programs as the counts say; no callback is given.
        let linked = unsafe {
            call!(
                plugin,
                piProgramLink(
                    context.raw(),
                    devices.count(),
                    devices.list(),
                    options.as_ptr(),
                    handles.len() as pi_uint32,
                    handles.as_ptr(),
                    None,
                    core::ptr::null_mut(),
                    &raw mut program,
                )
            )
        };
        if program.is_null() {
            let nothing = || {
                PiError::refused(
                    Function::piProgramLink,
                    PI_ERROR_UNKNOWN,
                    "the plugin returned no program",
                )
            };
            return Err(linked.err().unwrap_or_else(nothing));
        }
        // SAFETY: the plugin has made a program, which it does also for a link that fails, to carry the build
        // log.
        let program = Program::new(unsafe { Owned::new(plugin.clone(), program) }, context.clone());
        match linked {
            Ok(()) => Ok(program),
            Err(error) => Err(program.with_build_log(error)),
        }
    }

    /// Adds what the build logs say to an error.
    fn with_build_log(&self, error: PiError) -> PiError {
        // Of every device, as the error does not say on which it has failed.
        let logs: Vec<String> = self
            .context()
            .devices()
            .iter()
            .filter_map(|device| self.build_log(device).ok())
            .map(|log| log.trim_end().to_owned())
            .filter(|log| !log.is_empty())
            .collect();
        match error {
            PiError::Call { function, result, .. } if !logs.is_empty() => PiError::Call {
                function,
                result,
                message: Some(logs.join("\n")),
            },
            error => error,
        }
    }

    fn build_info(&self, device: &Device, name: pi_program_build_info) -> Result<Vec<u8>> {
        let function = Function::piProgramGetBuildInfo;
        self.plugin()
            .check_same(device.plugin(), function, PI_INVALID_DEVICE)?;
        ask!(
            self.plugin(),
            piProgramGetBuildInfo(self.raw(), device.raw(), name)
        )
    }

    /// What the last compile, link or build for a device had to say.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn build_log(&self, device: &Device) -> Result<String> {
        self.build_info(device, PI_PROGRAM_BUILD_INFO_LOG).map(text)
    }

    /// The options of the last compile, link or build for a device.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn build_options(&self, device: &Device) -> Result<String> {
        self.build_info(device, PI_PROGRAM_BUILD_INFO_OPTIONS).map(text)
    }

    /// How far the last compile, link or build for a device got.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn build_status(&self, device: &Device) -> Result<BuildStatus> {
        let answer = self.build_info(device, PI_PROGRAM_BUILD_INFO_STATUS)?;
        Ok(match integer(Function::piProgramGetBuildInfo, &answer)? as i32 {
            PI_PROGRAM_BUILD_STATUS_SUCCESS => BuildStatus::Success,
            PI_PROGRAM_BUILD_STATUS_ERROR => BuildStatus::Error,
            PI_PROGRAM_BUILD_STATUS_IN_PROGRESS => BuildStatus::InProgress,
            _ => BuildStatus::None,
        })
    }

    /// State of the code for a device.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not answer the query.
    pub fn binary_type(&self, device: &Device) -> Result<BinaryType> {
        let answer = self.build_info(device, PI_PROGRAM_BUILD_INFO_BINARY_TYPE)?;
        Ok(match integer(Function::piProgramGetBuildInfo, &answer)? as u32 {
            PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT => BinaryType::Object,
            PI_PROGRAM_BINARY_TYPE_LIBRARY => BinaryType::Library,
            PI_PROGRAM_BINARY_TYPE_EXECUTABLE => BinaryType::Executable,
            _ => BinaryType::None,
        })
    }

    /// Names of the kernels of a built or linked program.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the program is not built.
    pub fn kernel_names(&self) -> Result<Vec<String>> {
        let names = ask!(
            self.plugin(),
            piProgramGetInfo(self.raw(), PI_PROGRAM_INFO_KERNEL_NAMES)
        )?;
        Ok(text(names)
            .split(';')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// The machine code of a built, compiled or linked program, for each device of the context; empty for a device that
    /// it is not for.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not give it.
    pub fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        let sizes = ask!(
            self.plugin(),
            piProgramGetInfo(self.raw(), PI_PROGRAM_INFO_BINARY_SIZES)
        )?;
        let sizes = sizes.as_chunks().0.iter().map(|size| usize::from_ne_bytes(*size));
        let mut binaries: Vec<Vec<u8>> = sizes.map(|size| vec![0; size]).collect();
        // Not as other queries: what is passed for the answer are pointers, and the code is written
        // behind them.
        let mut places: Vec<*mut u8> = binaries.iter_mut().map(Vec::as_mut_ptr).collect();
        // SAFETY: a place for each device, with as many bytes as the plugin has said.
        unsafe {
            call!(
                self.plugin(),
                piProgramGetInfo(
                    self.raw(),
                    PI_PROGRAM_INFO_BINARIES,
                    size_of_val(places.as_slice()),
                    places.as_mut_ptr().cast(),
                    core::ptr::null_mut()
                )
            )
        }?;
        Ok(binaries)
    }

    /// The size in bytes of a program-scope variable of a built or linked program on a device.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no such variable, or the plugin does not tell: those before release 2024.2 have no such
    /// function.
    pub fn global_size(&self, device: &Device, name: &str) -> Result<usize> {
        let function = Function::piextGetGlobalVariablePointer;
        self.plugin()
            .check_same(device.plugin(), function, PI_INVALID_DEVICE)?;
        let name = c_string(function, name)?;
        // The address is what the function is for: plugins refuse a call without a place for it.
        let (mut size, mut address) = (0, core::ptr::null_mut());
        // SAFETY: the name is NUL-terminated, and both places are there.
        unsafe {
            call!(
                self.plugin(),
                piextGetGlobalVariablePointer(
                    device.raw(),
                    self.raw(),
                    name.as_ptr(),
                    &raw mut size,
                    &raw mut address
                )
            )
        }?;
        Ok(size)
    }

    /// A kernel of a built or linked program.
    ///
    /// # Errors
    ///
    /// [`PiError`] if there is no kernel of that name, or the program is not built.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let name = c_string(Function::piKernelCreate, name)?;
        // SAFETY: the program is valid and the name NUL-terminated.
        let handle = unsafe { create!(self.plugin(), piKernelCreate(self.raw(), name.as_ptr())) }?;
        Ok(Kernel::new(handle, self.clone()))
    }
}

/// Devices as the interface takes them.
struct Devices(Vec<pi_device>);

impl Devices {
    fn of(devices: &[&Device]) -> Self {
        Self(devices.iter().map(|device| device.raw()).collect())
    }

    fn count(&self) -> pi_uint32 {
        self.0.len() as pi_uint32
    }

    /// The list; null, as plugins expect it, where there is none.
    fn list(&self) -> *const pi_device {
        match self.0.as_slice() {
            [] => core::ptr::null(),
            some => some.as_ptr(),
        }
    }
}

pub(super) fn c_string(function: Function, text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| PiError::refused(function, PI_INVALID_VALUE, format!("{text:?} has a NUL inside")))
}
