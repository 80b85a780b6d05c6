//! Adapters of Unified Runtime that tests use: those for OpenCL of two releases of DPC++, over Intel's driver for CPUs.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::drivers;
use crate::packages::Package;
use crate::sycl_runtime::SyclRuntime;

/// The adapter of a release.
#[derive(Debug)]
pub struct Release {
    package: Package,
    file: &'static str,
    /// A library that the adapter needs and the runtime's folder does not have.
    memory: Option<(Package, &'static str)>,
    /// The version of the interface, as devices tell it.
    pub version: &'static str,
}

const fn package(name: &'static str) -> Package {
    Package { name, python: "3.11" }
}

/// The releases, the older one first: their tables are of different forms.
pub const RELEASES: [Release; 2] = [
    Release {
        package: package("intel-cmplr-lib-ur==2025.1.1"),
        file: "/libur_adapter_opencl.so.0.11.10",
        memory: Some((package("umf==0.10.0"), "/libumf.so.0")),
        version: "UR 0.11",
    },
    Release {
        package: package("intel-cmplr-lib-ur==2025.3.1"),
        file: "/libur_adapter_opencl.so.0.12.0",
        memory: None,
        version: "UR 0.12",
    },
];

impl Release {
    /// The adapter, and the variables by which it is found and finds Intel's driver; `None`, loudly, if it cannot be had
    /// here.
    ///
    /// # Panics
    ///
    /// If a folder cannot be named in a variable.
    pub fn get(&self) -> Option<(PathBuf, Vec<(&'static str, OsString)>)> {
        let [(vendors, intel), (path, libraries)] = SyclRuntime::get()?.environment();
        let adapter = self.package.file(self.file)?;
        let mut folders = vec![libraries];
        if let Some((package, file)) = self.memory {
            folders.push(package.file(file)?.parent()?.to_owned());
        }
        let folders = std::env::join_paths(folders).expect("folders without a colon");
        let named = ("UR_ADAPTERS_FORCE_LOAD", adapter.clone().into_os_string());
        Some((
            adapter,
            vec![(vendors, intel.into_os_string()), (path, folders), named],
        ))
    }

    /// Runs the rest of a test in a process that finds the adapter, as [`drivers::is_inside`]; `false`, loudly, if it
    /// cannot be had here.
    ///
    /// # Panics
    ///
    /// If the part fails.
    #[track_caller]
    pub fn is_inside(&self, test: &str) -> bool {
        self.get()
            .is_some_and(|(_, variables)| drivers::is_inside(test, &variables))
    }
}
