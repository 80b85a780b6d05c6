//! The releases of DPC++ whose libsycl talks to plugins: for each version of the interface that offkit speaks, its
//! plugin for OpenCL, its libsycl, and a C library over that libsycl which programs without SYCL's headers can use.
//!
//! All of them run on the CPU driver of [`SyclRuntime`].

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Folder;
use crate::packages::Package;
use crate::sycl_runtime::SyclRuntime;

/// A release of DPC++.
#[derive(Debug, Clone, Copy)]
pub struct PiRelease {
    /// The release, such as `2021.2.0`.
    pub name: &'static str,
    /// The version of the plugin interface that it speaks.
    pub interface: &'static str,
    plugin: &'static str,
    libsycl: (&'static str, &'static str),
    dpctl: Package,
    /// What that dpctl calls arguments of type `float` and pointers.
    kinds: [&'static str; 2],
}

/// The four releases, the oldest first.
pub const PI_RELEASES: [PiRelease; 4] = [
    PiRelease {
        name: "2021.2.0",
        interface: "2.3",
        plugin: "common-cmplr-lib-rt==2021.2.0",
        libsycl: ("dpcpp-cpp-rt==2021.2.0", "libsycl.so.5"),
        dpctl: Package {
            name: "dpctl==0.8.0",
            python: "3.7",
        },
        kinds: ["12", "15"],
    },
    PiRelease {
        name: "2022.1.0",
        interface: "6.8",
        plugin: "intel-cmplr-lib-rt==2022.1.0",
        libsycl: ("dpcpp-cpp-rt==2022.1.0", "libsycl.so.5"),
        dpctl: Package {
            name: "dpctl==0.11.3",
            python: "3.8",
        },
        kinds: ["12", "15"],
    },
    PiRelease {
        name: "2023.2.0",
        interface: "12.27",
        plugin: "intel-cmplr-lib-rt==2023.2.0",
        libsycl: ("dpcpp-cpp-rt==2023.2.0", "libsycl.so.6"),
        dpctl: Package {
            name: "dpctl==0.14.5",
            python: "3.10",
        },
        kinds: ["12", "15"],
    },
    PiRelease {
        name: "2024.2.0",
        interface: "15.47",
        plugin: "intel-sycl-rt==2024.2.0",
        libsycl: ("intel-sycl-rt==2024.2.0", "libsycl.so.7"),
        dpctl: Package {
            name: "dpctl==0.17.0",
            python: "3.11",
        },
        kinds: ["8", "10"],
    },
];

fn file(package: &'static str, name: &str) -> Option<PathBuf> {
    let package = Package {
        name: package,
        python: "3.11",
    };
    package.file(&format!("/{name}"))
}

impl PiRelease {
    /// Its plugin for OpenCL; `None`, loudly, if it cannot be had here.
    pub fn opencl_plugin(self) -> Option<PathBuf> {
        file(self.plugin, "libpi_opencl.so")
    }

    /// Puts its libsycl into a folder, with a plugin as its plugin for OpenCL; `None`, loudly, if it cannot be had here.
    ///
    /// Some releases look for plugins beside the file that libsycl really is, so that is a copy.
    ///
    /// # Panics
    ///
    /// If the folder cannot be written.
    pub fn with_plugin<'a>(self, folder: &'a Folder, plugin: &Path) -> Option<SyclHost<'a>> {
        let (package, name) = self.libsycl;
        let files = [
            (file(package, name)?, name),
            (plugin.to_owned(), "libpi_opencl.so"),
        ];
        for (from, name) in files {
            std::fs::copy(from, folder.path(name)).expect("a file to copy, and room for it");
        }
        Some(SyclHost {
            release: self,
            folder,
            interface: self.dpctl.file("/libDPCTLSyclInterface.so")?,
        })
    }
}

/// A libsycl with the only plugin that it finds.
#[derive(Debug)]
pub struct SyclHost<'a> {
    release: PiRelease,
    folder: &'a Folder,
    interface: PathBuf,
}

impl SyclHost<'_> {
    /// Lets a program find this libsycl, and the libraries of compilers that it needs, which the newer release has.
    ///
    /// # Panics
    ///
    /// If a folder has a colon in its name.
    pub fn prepare(&self, command: &mut Command, runtime: &SyclRuntime) {
        let folders = [self.folder.path(""), runtime.library_folder()];
        let folders = std::env::join_paths(folders).expect("usual names");
        command.env("LD_LIBRARY_PATH", folders);
        command.env_remove("ONEAPI_DEVICE_SELECTOR");
    }

    /// `tests/sycl-runtime/dpctl_host.c`, built as that program, on this libsycl.
    pub fn dpctl_host(&self, program: &Path, runtime: &SyclRuntime) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command, runtime);
        command.arg(&self.interface).args(self.release.kinds);
        command
    }
}
