//! Where vendors and compilers keep their own device libraries, below a folder of the search path.

use std::fs;
use std::path::{Path, PathBuf};

use offkit_object::Target;

use crate::naming::short_architecture;
use crate::processors::fitting_processors;

/// A library in a layout of its own: the file, what has to go with it, and what of that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) file: PathBuf,
    pub(super) with: Vec<PathBuf>,
    pub(super) missing: Vec<PathBuf>,
}

impl Candidate {
    fn alone(file: PathBuf) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }
}

/// What the ROCm device libraries call the library `-lX`, which are `amdgcn/bitcode/NAME.bc`.
fn rocm_name(name: &str) -> Option<&str> {
    match name {
        // The math library; `opencl` has the functions of OpenCL C.
        "m" | "ocml" => Some("ocml"),
        "ockl" | "opencl" | "hip" | "asanrtl" => Some(name),
        _ => None,
    }
}

/// ROCm: `amdgcn/bitcode/NAME.bc`, with the version of the binary interface, the processor, and options that are
/// libraries of one variable each. They are set for the usual behaviour: precise, with denormal numbers.
pub(super) fn rocm(
    folder: &Path,
    name: &str,
    target: &Target,
    code_object_version: Option<u32>,
) -> Vec<Candidate> {
    let (Some(file), "amdgcn") = (rocm_name(name), short_architecture(&target.triple)) else {
        return Vec::new();
    };
    let in_bitcode = |bitcode: PathBuf| {
        let mut candidate = Candidate::alone(bitcode.join(format!("{file}.bc")));
        if !candidate.file.is_file() {
            return candidate;
        }
        // `ocml` takes from `ockl`, `opencl` from both; `hip` from `ockl`.
        let others: &[&str] = match file {
            "opencl" => &["ocml", "ockl"],
            "hip" | "ocml" => &["ockl"],
            _ => &[],
        };
        let mut add = |name: String| {
            let path = bitcode.join(format!("{name}.bc"));
            match path.is_file() {
                true => candidate.with.push(path),
                false => candidate.missing.push(path),
            }
        };
        for other in others {
            add((*other).to_owned());
        }
        let isa = target.arch.strip_prefix("gfx").unwrap_or_default();
        add(format!("oclc_isa_version_{isa}"));
        let wavefront_is_64 = wavefront_is_64(target);
        for (option, is_on) in [
            ("correctly_rounded_sqrt", true),
            ("daz_opt", false),
            ("finite_only", false),
            ("unsafe_math", false),
            ("wavefrontsize64", wavefront_is_64),
        ] {
            add(format!("oclc_{option}_{}", if is_on { "on" } else { "off" }));
        }
        match abi_version(&bitcode, code_object_version) {
            Some(path) => candidate.with.push(path),
            None => {
                let version = code_object_version.unwrap_or(USUAL_CODE_OBJECT_VERSION);
                let path = bitcode.join(format!("oclc_abi_version_{version}.bc"));
                candidate.missing.push(path);
            }
        }
        candidate
    };
    beside(folder, "amdgcn/bitcode")
        .into_iter()
        .map(in_bitcode)
        .collect()
}

/// What clang 22 makes unless it is asked for another.
const USUAL_CODE_OBJECT_VERSION: u32 = 600;

/// The library that says the version of code objects: that of the code, or the newest before it. Versions 5 and 6
/// pass arguments alike, and so do those from 2 to 4.
fn abi_version(bitcode: &Path, version: Option<u32>) -> Option<PathBuf> {
    let version = version.unwrap_or(USUAL_CODE_OBJECT_VERSION);
    let alike: &[u32] = if version >= 500 {
        &[600, 500]
    } else {
        &[400, 300, 200]
    };
    let versions = [version]
        .into_iter()
        .chain(alike.iter().copied().filter(|old| *old < version));
    versions
        .map(|version| bitcode.join(format!("oclc_abi_version_{version}.bc")))
        .find(|path| path.is_file())
}

/// Whether a wavefront has 64 work-items: from `gfx10` on only where a feature says so.
fn wavefront_is_64(target: &Target) -> bool {
    let says = |name: &str| {
        let mut features = target.features.iter();
        features.any(|feature| feature.trim_matches('+') == name)
    };
    let number = target.arch.strip_prefix("gfx").unwrap_or_default();
    let is_old = number.len() <= 3 || number.starts_with("9-");
    (is_old && !says("wavefrontsize32")) || says("wavefrontsize64")
}

/// CUDA: `nvvm/libdevice/libdevice.10.bc`, the math library.
pub(super) fn cuda(folder: &Path, name: &str, target: &Target) -> Vec<Candidate> {
    if !matches!(name, "m" | "device") || short_architecture(&target.triple) != "nvptx" {
        return Vec::new();
    }
    beside(folder, "nvvm/libdevice/libdevice.10.bc")
        .into_iter()
        .map(Candidate::alone)
        .collect()
}

/// LLVM's libclc, the functions of OpenCL C: `clc/TARGET.bc`, and `TRIPLE/libclc.bc` in newer ones, which the rule
/// for folders of triples finds.
pub(super) fn libclc(folder: &Path, name: &str, target: &Target) -> Vec<Candidate> {
    if name != "clc" {
        return Vec::new();
    }
    let mut files: Vec<String> = Vec::new();
    let archs = fitting_processors(target).into_iter().map(|fitting| fitting.arch);
    let mut archs: Vec<_> = archs.collect();
    archs.dedup();
    let mut of_processors = |suffix: &str| {
        files.extend(archs.iter().map(|arch| format!("{arch}-{suffix}.bc")));
        files.push(format!("{suffix}.bc"));
    };
    match short_architecture(&target.triple) {
        "nvptx" => {
            files.extend(
                ["nvptx64-nvidia-cuda.bc", "nvptx64--nvidiacl.bc", "nvptx64--.bc"].map(str::to_owned),
            );
        }
        "amdgcn" => {
            of_processors("amdgcn-amd-amdhsa");
            of_processors("amdgcn--");
        }
        "spirv64" => files.extend(["spirv64--.bc", "spirv64-mesa3d-.bc"].map(str::to_owned)),
        "spirv32" => files.extend(["spirv--.bc", "spirv-mesa3d-.bc"].map(str::to_owned)),
        _ => files.push(format!("{}.bc", target.triple)),
    }
    let folders = [folder.join("clc"), folder.join("share/clc")];
    let in_folder = |clc: PathBuf| {
        let candidates = files.iter().map(|file| Candidate::alone(clc.join(file)));
        candidates.collect::<Vec<_>>()
    };
    folders.into_iter().flat_map(in_folder).collect()
}

/// A place below a folder, and below the one that it is in: `-L` names a root as often as its `lib`.
fn beside(folder: &Path, place: &str) -> Vec<PathBuf> {
    let mut places = vec![folder.join(place)];
    if fs::symlink_metadata(folder).is_ok() {
        places.push(folder.join("..").join(place));
    }
    places
}
