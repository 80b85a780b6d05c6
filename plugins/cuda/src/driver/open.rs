//! From the library to the driver.

use core::ffi::c_int;
use offkit_image::target::DriverVersion;
use offkit_pi::driver::{Library, open_resolved};
use std::fs;
use std::path::{Path, PathBuf};

use super::functions::*;
use super::{DeviceId, Error, Result, call};

/// The library, by the name that every driver for Linux has.
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";
#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";

/// NVIDIA's driver.
pub(crate) struct Driver {
    pub(crate) functions: Functions,
    /// The version of CUDA that it has: 12 and 8.
    pub(crate) cuda: (u32, u32),
    /// Its own version, such as 570.26.
    pub(crate) version: DriverVersion,
}

/// Why there is no driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The library is not there.
    Library(String),
    /// The library is there and cannot be used.
    Unusable(String),
    /// It does not start: what it says.
    Start {
        /// The code, for what follows from it.
        code: CUresult,
        /// The driver's words.
        words: String,
    },
}

impl Driver {
    pub(crate) fn check(&self, function: &'static str, code: CUresult) -> Result<()> {
        match code {
            CUDA_SUCCESS => Ok(()),
            code => Err(Error::new(self, function, code)),
        }
    }

    /// The devices that it shows.
    pub(crate) fn devices(&'static self) -> Result<Vec<DeviceId>> {
        let mut count: c_int = 0;
        // SAFETY: one place for the number, then one for each device.
        unsafe {
            call!(self, cuDeviceGetCount(&raw mut count))?;
            let device = |ordinal| {
                let mut device: CUdevice = 0;
                call!(self, cuDeviceGet(&raw mut device, ordinal))?;
                Ok(DeviceId::new(self, device))
            };
            (0..count).map(device).collect()
        }
    }
}

/// Opens the driver, which stays: it has threads of its own.
///
/// # Errors
///
/// Why there is none.
pub(crate) fn open() -> Result<&'static Driver, Missing> {
    // SAFETY: opening a library runs its initialisers. This one is the system's, or in a folder that the user names.
    let library = unsafe { open_resolved(Path::new(LIBRARY)) }.map_err(|error| {
        let words = error.to_string();
        // The loader begins with the library that it misses. Where that is one which the driver
        // needs, the driver is there, and broken.
        let is_absent = words.contains("No such file") && words.starts_with(LIBRARY);
        match is_absent {
            true => Missing::Library(words),
            false => Missing::Unusable(words),
        }
    })?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: a library of that name is NVIDIA's driver.
    let functions = unsafe { Functions::of(library) };
    let functions = functions.map_err(|name| {
        Missing::Unusable(format!(
            "{LIBRARY} has no function `{name}`: it is too old, as drivers before 410.48 (CUDA 10) are, which take no PTX 6.3; or \
             it is the stub that the toolkit has for linking"
        ))
    })?;
    let mut driver = Driver {
        functions,
        cuda: (0, 0),
        version: DriverVersion::of_cuda(0, 0),
    };
    let start = |driver: &Driver| {
        let mut version: c_int = 0;
        // SAFETY: one place for the version; the flags have to be 0.
        unsafe {
            call!(driver, cuInit(0)).map_err(|error| (error.code(), error))?;
            call!(driver, cuDriverGetVersion(&raw mut version))
                .map_err(|error| (CUDA_ERROR_UNKNOWN, error))?;
        }
        Ok(version.unsigned_abs())
    };
    let version = start(&driver).map_err(|(code, error): (CUresult, Error)| Missing::Start {
        code,
        words: error.to_string(),
    })?;
    // 12080 is 12.8.
    driver.cuda = (version / 1000, version % 1000 / 10);
    driver.version = version_of_file()
        .or_else(version_of_module)
        .unwrap_or_else(|| DriverVersion::of_cuda(driver.cuda.0, driver.cuda.1));
    Ok(Box::leak(Box::new(driver)))
}

/// The version in the name of the library's file, `libcuda.so.570.26`: what compiles PTX belongs to it, whatever the
/// kernel's part is.
fn version_of_file() -> Option<DriverVersion> {
    // `libcuda.so.1` is a link: only the process's mappings say which file was opened by that name.
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let paths = maps
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5));
    paths.map(PathBuf::from).find_map(|path| {
        let name = path.file_name()?.to_str()?;
        let version = name.strip_prefix("libcuda.so.")?;
        version.contains('.').then(|| version.parse().ok())?
    })
}

/// The version of the kernel's part.
fn version_of_module() -> Option<DriverVersion> {
    let text = fs::read_to_string("/sys/module/nvidia/version").ok()?;
    text.trim().parse().ok()
}
