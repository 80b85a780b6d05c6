//! Where vendors and compilers keep their own device libraries, below a folder of the search path.

use std::fs;
use std::path::{Path, PathBuf};

use offkit_image::target::{Family, Target, amd};

use crate::abi::USUAL_CODE_OBJECT_VERSION;

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
    let (Some(file), Family::Amdgcn) = (rocm_name(name), target.family()) else {
        return Vec::new();
    };
    let in_bitcode = |bitcode: PathBuf| {
        let mut candidate = Candidate::alone(bitcode.join(format!("{file}.bc")));
        // Without the library there is nothing to go with it, and nothing to miss.
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
        add(format!("oclc_isa_version_{}", target.processor_number()));
        for (option, is_on) in [
            ("correctly_rounded_sqrt", true),
            ("daz_opt", false),
            ("finite_only", false),
            ("unsafe_math", false),
            ("wavefrontsize64", amd::wavefront_size(target) == 64),
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

/// CUDA: `nvvm/libdevice/libdevice.10.bc`, the math library.
pub(super) fn cuda(folder: &Path, name: &str, target: &Target) -> Vec<Candidate> {
    if !matches!(name, "m" | "device") || !target.family().is_nvptx() {
        return Vec::new();
    }
    // The only file since CUDA 9, whatever the processor.
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
    let archs = target
        .fitting_processors()
        .into_iter()
        .map(|fitting| fitting.arch);
    let mut archs: Vec<_> = archs.collect();
    // A processor comes once for each set of features, of which libclc's files know nothing.
    archs.dedup();
    // Of AMD's targets only there are files for processors.
    if target.family() != Family::Amdgcn {
        archs.clear();
    }
    let files = target.libclc_triples().into_iter().flat_map(|triple| {
        let of_processors = archs.iter().map(move |arch| format!("{arch}-{triple}.bc"));
        of_processors.chain([format!("{triple}.bc")])
    });
    let files: Vec<String> = files.collect();
    // Debian's packages have `/usr/lib/clc`; LLVM's own build installs `share/clc` below its root.
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
