//! OpenCL drivers that tests use, each in a process that finds no others.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::sycl_runtime::SyclRuntime;
use crate::{Folder, programs, skip};

/// A plugin finds its drivers once in a process, by the environment. So the part of a test that uses the plugin runs in a
/// process of its own: this program again, told so by a variable.
pub const INSIDE: &str = "OFFKIT_TEST_INSIDE";

/// Runs the rest of a test in a process that finds the drivers that the variables name; `true` in that process.
///
/// # Panics
///
/// If the part fails.
#[track_caller]
pub fn is_inside(test: &str, variables: &[(&str, impl AsRef<OsStr>)]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    let outcome = Folder::new().run_command(with_drivers(&mut command, variables));
    let text = outcome.ok();
    assert!(text.contains("1 passed"), "{text}");
    false
}

/// The same in a process that finds one OpenCL driver, which a file names; `false` without one.
///
/// # Panics
///
/// If the part fails.
#[track_caller]
pub fn is_on(driver: Option<PathBuf>, test: &str) -> bool {
    driver.is_some_and(|driver| is_inside(test, &[("OCL_ICD_VENDORS", driver)]))
}

/// A command that sees nothing of this machine's drivers, adapters and plugins, of their user's variables and cache. All
/// tests share a cache: the libraries that come with offkit are built once.
pub fn alone(command: &mut Command) -> &mut Command {
    for name in [
        "OCL_ICD_FILENAMES",
        "UR_ADAPTERS_SEARCH_PATH",
        "OFFKIT_PLUGINS",
        "ONEAPI_DEVICE_SELECTOR",
        "SYCL_DEVICE_FILTER",
        "SYCL_BE",
        "SYCL_PI_TRACE",
        "OFFKIT_TRACE",
    ] {
        command.env_remove(name);
    }
    command
        .env("OCL_ICD_VENDORS", "/nowhere/")
        .env("UR_ADAPTERS_FORCE_LOAD", "")
        .env("SYCL_PI_CONFIG", "/dev/null")
        .env("XDG_CACHE_HOME", programs().join("test-cache"))
}

/// A command that finds the drivers that the variables name, and no others.
pub fn with_drivers<'a>(
    command: &'a mut Command,
    variables: &[(&str, impl AsRef<OsStr>)],
) -> &'a mut Command {
    for name in ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)))
}

/// What names Intel's driver for CPUs; `None`, loudly, if it cannot be had here.
pub fn intel() -> Option<PathBuf> {
    let [(_, drivers), _] = SyclRuntime::get()?.environment();
    Some(drivers)
}

/// The file that names Debian's PoCL; says so if it is not there, or fails where tools are required.
pub fn pocl() -> Option<PathBuf> {
    let file = PathBuf::from("/etc/OpenCL/vendors/pocl.icd");
    if file.is_file() {
        return Some(file);
    }
    skip("PoCL (`pocl-opencl-icd`) is not installed");
    None
}
