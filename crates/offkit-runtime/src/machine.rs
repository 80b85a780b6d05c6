//! What a machine has for devices, apart from plugins: nodes of devices, kernel drivers, libraries of drivers, OpenCL's
//! list of drivers, adapters of Unified Runtime. Nothing is loaded to find it out.

use std::fs;
use std::path::{Path, PathBuf};

use offkit_opencl::icd;
use offkit_pi::below;

pub use offkit_host::nodes::{Node, nodes};
use offkit_host::{folders, nodes::has_nodes_of_nvidia};
pub use offkit_ur::Adapter;

/// A driver of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelDriver {
    /// Its name: `nvidia`.
    pub name: &'static str,
    /// Its version, where it says one.
    pub version: Option<String>,
}

/// A library that programs reach devices through.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverLibrary {
    /// Its name: `libcuda.so.1`.
    pub name: &'static str,
    /// What it reaches.
    pub of: &'static str,
    /// Where it is; none if it is in none of the folders that libraries are looked for in.
    pub path: Option<PathBuf>,
}

/// An entry of OpenCL's list of drivers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenClDriver {
    /// The file of the list, or the variable that names the driver.
    pub listed_in: PathBuf,
    /// The library that it names; empty if it names none.
    pub library: String,
    /// Why it names none.
    pub problem: Option<String>,
    /// Whether that is a file, or one in a folder that libraries are looked for in.
    pub path: Option<PathBuf>,
}

/// The library of NVIDIA's driver.
const CUDA: &str = "libcuda.so.1";

/// The variables that hide devices from drivers, whatever offkit does.
pub const HIDING: [&str; 4] = [
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];

/// The kernel's drivers of devices that are loaded.
pub fn kernel_drivers() -> Vec<KernelDriver> {
    let names = ["nvidia", "amdgpu", "i915", "xe", "intel_vpu", "amdxdna"];
    let is_loaded = |name: &&str| Path::new("/sys/module").join(name).is_dir();
    let driver = |name| {
        let version = fs::read_to_string(format!("/sys/module/{name}/version"));
        KernelDriver {
            name,
            version: version.ok().map(|text| text.trim().to_owned()),
        }
    };
    names.into_iter().filter(is_loaded).map(driver).collect()
}

/// The libraries that programs reach devices through.
pub fn driver_libraries() -> Vec<DriverLibrary> {
    // The newest first: programs need the release that they were built for.
    let hip = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
    let libraries = [
        (&["libOpenCL.so.1"][..], "OpenCL's drivers"),
        (&[CUDA], "NVIDIA's driver"),
        (&["libze_loader.so.1"], "Intel's driver (Level Zero)"),
        (&hip, "AMD's driver (HIP)"),
        (&["libhsa-runtime64.so.1"], "AMD's driver (HSA)"),
    ];
    let folders = library_folders();
    let library = |(names, of): (&[&'static str], _)| {
        let there = |name: &&'static str| Some((*name, in_folders(&folders, Path::new(name))?));
        let found = names.iter().find_map(there);
        DriverLibrary {
            name: found.as_ref().map_or(names[0], |(name, _)| name),
            of,
            path: found.map(|(_, path)| path),
        }
    };
    libraries.into_iter().map(library).collect()
}

/// The library of NVIDIA's driver, if this machine has neither that nor a node that it would serve: then there is no need to
/// load what reaches devices through it.
pub fn absent_driver_of_nvidia() -> Option<&'static str> {
    /// Below it is the GPU of Windows, which may be NVIDIA's.
    const WSL: &str = "/dev/dxg";
    let is_there = in_folders(&library_folders(), Path::new(CUDA)).is_some()
        || Path::new(WSL).exists()
        || has_nodes_of_nvidia();
    (!is_there).then_some(CUDA)
}

/// OpenCL's drivers, as files and variables list them: see [`offkit_opencl::icd`].
pub fn opencl_drivers() -> Vec<OpenClDriver> {
    let folders = library_folders();
    let driver = |(named_by, library): icd::Candidate| {
        let path = library.as_ref().ok();
        let path = path.and_then(|library| match library.is_absolute() {
            true => Some(library.clone()).filter(|path| path.exists()),
            false => in_folders(&folders, library),
        });
        OpenClDriver {
            listed_in: PathBuf::from(named_by.to_string()),
            problem: library.as_ref().err().cloned(),
            library: library.map_or_else(|_| String::new(), |library| library.display().to_string()),
            path,
        }
    };
    icd::candidates().into_iter().map(driver).collect()
}

/// The adapters of Unified Runtime: see [`offkit_ur::adapters`]. One that is named without a folder is the file that the
/// system's loader finds.
pub fn adapters() -> Vec<Adapter> {
    let (mut adapters, folders) = (offkit_ur::adapters(), library_folders());
    for adapter in &mut adapters {
        let is_name = adapter.library.parent() == Some(Path::new(""));
        if let Some(path) = is_name.then(|| in_folders(&folders, &adapter.library)).flatten() {
            adapter.library = path;
        }
    }
    adapters
}

/// The libraries that a plugin over drivers or adapters looks at, as they are named, and what names each.
pub(crate) fn below(kind: below::Kind) -> Vec<(PathBuf, String)> {
    match kind {
        below::Kind::OpenCl => icd::candidates()
            .into_iter()
            .filter_map(|(named_by, library)| Some((library.ok()?, named_by.to_string())))
            .collect(),
        below::Kind::UnifiedRuntime => offkit_ur::adapters()
            .into_iter()
            .map(|adapter| (adapter.library, adapter.named_by.to_string()))
            .collect(),
        _ => Vec::new(),
    }
}

/// The first library of that name.
fn in_folders(folders: &[PathBuf], library: &Path) -> Option<PathBuf> {
    let mut paths = folders.iter().map(|folder| folder.join(library));
    paths.find(|path| path.exists())
}

/// The folders that libraries are looked for in.
fn library_folders() -> Vec<PathBuf> {
    [folders::of_variable(), folders::of_system()].concat()
}
