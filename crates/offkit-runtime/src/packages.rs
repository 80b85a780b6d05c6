//! Who has the libraries that plugins and drivers need.

/// Libraries below plugins, as their names begin, and who has them: Debian's package where there is one (bookworm, 2026),
/// else the vendor's. The first that fits counts. What no package list here could show is "probably" so.
const PACKAGES: &[(&str, &str)] = &[
    ("libOpenCL.so", "Debian's package ocl-icd-libopencl1"),
    (
        "libze_loader.so",
        "Debian's package libze1 (Intel's is level-zero)",
    ),
    ("libze_intel_gpu.so", "probably Intel's package libze-intel-gpu1"),
    ("libigdrcl.so", "Debian's package intel-opencl-icd"),
    ("libigdgmm.so.12", "Debian's package libigdgmm12"),
    ("libigc.so.1", "Debian's package libigc1"),
    ("libigdfcl.so.1", "Debian's package libigdfcl1"),
    ("libigc.so.2", "probably Intel's package intel-igc-core-2"),
    ("libintelocl.so", "the Python package intel-opencl-rt"),
    (
        "libcuda.so",
        "NVIDIA's driver (libcuda1; Ubuntu's is libnvidia-compute-VERSION)",
    ),
    ("libnvidia-ml.so", "NVIDIA's driver (libnvidia-ml1)"),
    (
        "libnvidia-opencl.so",
        "NVIDIA's driver (probably nvidia-opencl-icd; Ubuntu's is libnvidia-compute-VERSION)",
    ),
    (
        "libnvidia-ptxjitcompiler.so",
        "NVIDIA's driver (probably libnvidia-ptxjitcompiler1)",
    ),
    ("libnvidia-nvvm.so", "NVIDIA's driver (probably libnvidia-nvvm4)"),
    ("libamdhip64.so.5", "Debian's package libamdhip64-5"),
    ("libamdhip64.so.6", "ROCm 6 (hip-runtime-amd)"),
    ("libamdhip64.so.7", "ROCm 7 (hip-runtime-amd)"),
    ("libamdhip64.so", "ROCm (hip-runtime-amd)"),
    ("libamdocl64.so", "ROCm (probably rocm-opencl)"),
    (
        "libamd_comgr.so.2",
        "Debian's package libamd-comgr2, or ROCm (comgr)",
    ),
    ("libamd_comgr.so", "ROCm (comgr)"),
    (
        "libhsa-runtime64.so",
        "Debian's package libhsa-runtime64-1, or ROCm (hsa-rocr)",
    ),
    ("libur_loader.so", "the Python package intel-cmplr-lib-ur"),
    ("libur_adapter_", "the Python package intel-cmplr-lib-ur"),
    ("libumf.so", "the Python package umf"),
    ("libsycl.so", "the Python package intel-sycl-rt"),
    ("libxptifw.so", "the Python package intel-sycl-rt"),
    ("libiomp5.so", "the Python package intel-openmp"),
    ("libsvml.so", "the Python package intel-cmplr-lib-rt"),
    ("libimf.so", "the Python package intel-cmplr-lib-rt"),
    ("libintlc.so", "the Python package intel-cmplr-lib-rt"),
    ("libirng.so", "the Python package intel-cmplr-lib-rt"),
    ("libpocl.so", "Debian's package libpocl2"),
    ("libMesaOpenCL.so", "Debian's package mesa-opencl-icd"),
    ("libRusticlOpenCL.so", "Debian's package mesa-opencl-icd"),
    ("libtbb.so", "Debian's package libtbb12"),
    ("libhwloc.so", "Debian's package libhwloc15"),
    ("libstdc++.so", "Debian's package libstdc++6"),
    ("libgomp.so", "Debian's package libgomp1"),
    ("libLLVM", "Debian's packages libllvmVERSION"),
];

/// How names of functions begin, and the library that has them.
const FUNCTIONS: &[(&str, &str)] = &[
    ("ze", "libze_loader.so.1"),
    ("zes", "libze_loader.so.1"),
    ("cl", "libOpenCL.so.1"),
    ("cu", "libcuda.so.1"),
    ("nvml", "libnvidia-ml.so.1"),
    ("hip", "libamdhip64.so"),
    ("ur", "libur_loader.so.0"),
    ("hsa_", "libhsa-runtime64.so.1"),
    ("amd_comgr_", "libamd_comgr.so.2"),
    ("_ZN4sycl", "libsycl.so"),
    ("_ZN4llvm", "libLLVM"),
    ("LLVM", "libLLVM"),
];

/// Who has a library; nothing where nobody knows.
pub fn package_of(library: &str) -> Option<&'static str> {
    let found = PACKAGES.iter().find(|(name, _)| library.starts_with(name));
    found.map(|(_, package)| *package)
}

/// The library that has a function of that name; nothing where nobody knows.
pub(crate) fn library_with(function: &str) -> Option<&'static str> {
    let has = |(begin, _): &&(&str, &str)| {
        let rest = function.strip_prefix(begin);
        // A prefix of small letters ends where a word begins: `clFinish`, and not `close`.
        let any_follows = !begin.ends_with(|last: char| last.is_ascii_lowercase()) || begin.starts_with('_');
        rest.is_some_and(|rest| any_follows || rest.starts_with(|first: char| first.is_ascii_uppercase()))
    };
    FUNCTIONS.iter().find(has).map(|(_, library)| *library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_known_by_how_they_begin() {
        for (function, library) in [
            ("zeInit", Some("libze_loader.so.1")),
            ("zesDeviceGet", Some("libze_loader.so.1")),
            ("clFinish", Some("libOpenCL.so.1")),
            ("cuInit", Some("libcuda.so.1")),
            ("hsa_init", Some("libhsa-runtime64.so.1")),
            ("_ZN4sycl3_V15queue4waitEv", Some("libsycl.so")),
            ("LLVMContextCreate", Some("libLLVM")),
            ("close", None),
            ("curl_easy_init", None),
            ("uring_queue", None),
        ] {
            assert_eq!(library_with(function), library, "{function}");
            assert!(library.is_none_or(|library| package_of(library).is_some()));
        }
    }
}
