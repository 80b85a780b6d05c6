//! What to do about a plugin that cannot be used.
//!
//! The loader says in words what it lacks; this reads glibc's words (2.28 to 2.41) and knows which packages have what
//! plugins and drivers need.

use offkit_pi::host::LoadError;

use crate::discover::DiscoveryFailure;

/// Libraries below plugins and who has them: Debian's package where there is one (bookworm, 2026), else the vendor's.
const PACKAGES: &[(&str, &str)] = &[
    ("libOpenCL.so", "Debian's package ocl-icd-libopencl1"),
    ("libze_loader.so", "Intel's package level-zero (libze1)"),
    ("libcuda.so", "NVIDIA's driver (libcuda1)"),
    ("libnvidia-ml.so", "NVIDIA's driver (libnvidia-ml1)"),
    ("libamdhip64.so", "ROCm (hip-runtime-amd)"),
    ("libhsa-runtime64.so", "ROCm (libhsa-runtime64-1)"),
    ("libur_loader.so", "the Python package intel-cmplr-lib-ur"),
    ("libur_adapter_", "the Python package intel-cmplr-lib-ur"),
    ("libsycl.so", "the Python package intel-sycl-rt"),
    ("libintelocl.so", "the Python package intel-opencl-rt"),
    ("libpocl.so", "Debian's package libpocl2"),
    ("libtbb.so", "Debian's package libtbb12"),
    ("libhwloc.so", "Debian's package libhwloc15"),
    ("libstdc++.so", "Debian's package libstdc++6"),
    ("libgomp.so", "Debian's package libgomp1"),
    ("libiomp5.so", "the Python package intel-openmp"),
    ("libsvml.so", "the Python package intel-cmplr-lib-rt"),
    ("libimf.so", "the Python package intel-cmplr-lib-rt"),
    ("libintlc.so", "the Python package intel-cmplr-lib-rt"),
    ("libirng.so", "the Python package intel-cmplr-lib-rt"),
    ("libxptifw.so", "the Python package intel-sycl-rt"),
    ("libLLVM", "Debian's packages libllvmVERSION"),
];

/// Who has a library; nothing where nobody knows.
pub fn package_of(library: &str) -> Option<&'static str> {
    let found = PACKAGES.iter().find(|(name, _)| library.starts_with(name));
    found.map(|(_, package)| *package)
}

/// What to do about it, in a sentence.
pub fn advice(failure: &DiscoveryFailure) -> Option<String> {
    match failure {
        DiscoveryFailure::Load(LoadError::Open { path, reason }) => {
            Some(opening(&path.to_string_lossy(), reason))
        }
        DiscoveryFailure::Load(LoadError::MissingSymbol { .. }) => {
            Some("It is a library of something else; take it off the list.".to_owned())
        }
        DiscoveryFailure::Load(LoadError::Version { offered, .. } | LoadError::Refused { offered, .. }) => {
            Some(format!("Use a plugin for PI {offered}, or a newer offkit."))
        }
        DiscoveryFailure::Version { known, .. } => {
            Some(format!("Use a plugin for PI {known}, or a newer offkit."))
        }
        DiscoveryFailure::Load(_) => None,
        DiscoveryFailure::Harm { .. } => Some(
            "Take it off the list, or try its driver's own tools; offkit tries it again whenever the file changes.".to_owned(),
        ),
        DiscoveryFailure::Devices { .. } => Some(
            "The plugin works, the driver below it does not: look at the driver's own tools and log."
                .to_owned(),
        ),
    }
}

/// What to do where the loader says that.
fn opening(library: &str, reason: &str) -> String {
    let missing = reason
        .split(": ")
        .zip(reason.split(": ").skip(1))
        .find(|(_, words)| words.starts_with("cannot open shared object file"));
    let has = |words: &str| reason.contains(words);
    match missing {
        _ if has("Permission denied") => format!("This user may not read it: chmod a+r {library}"),
        _ if has("wrong ELF class") || has("cannot open shared object file: Exec format error") => {
            "It is for another architecture: take the one for this machine.".to_owned()
        }
        _ if has("invalid ELF header") || has("file too short") || has("not an ELF") => {
            "It is no library, or damaged: install it again.".to_owned()
        }
        Some((name, _)) if name == library || library.is_empty() => {
            "It is nowhere that the system looks: name it with its folder, or put the folder into LD_LIBRARY_PATH.".to_owned()
        }
        Some((name, _)) => match package_of(name) {
            Some(package) => format!("It needs {name}: install {package}."),
            None => format!("It needs {name}, which is nowhere that the system looks."),
        },
        None => match reason.split_once("undefined symbol: ") {
            Some((_, symbol)) => {
                let symbol = symbol.split([',', ' ']).next().unwrap_or_default();
                format!("A library that it needs is another version: none has {symbol}.")
            }
            None if has("version `") => {
                "It was made for a newer system: take one made for this system's libraries.".to_owned()
            }
            None => "Try LD_DEBUG=libs to see what the loader does.".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_words_lead_to_advice() {
        let says = |reason, part: &str| {
            let advice = opening("/opt/libpi_level_zero.so", reason);
            assert!(advice.contains(part), "{advice}");
        };
        says(
            "libze_loader.so.1: cannot open shared object file: No such file or directory",
            "needs libze_loader.so.1: install Intel's package level-zero",
        );
        says(
            "/opt/libpi_level_zero.so: cannot open shared object file: No such file or directory",
            "nowhere that the system looks",
        );
        says(
            "/opt/libpi_level_zero.so: cannot open shared object file: Permission denied",
            "chmod a+r /opt/libpi_level_zero.so",
        );
        says(
            "/opt/libpi_level_zero.so: wrong ELF class: ELFCLASS32",
            "another architecture",
        );
        says("/opt/libpi_level_zero.so: invalid ELF header", "damaged");
        says(
            "/opt/libpi_level_zero.so: undefined symbol: zeInit",
            "none has zeInit",
        );
        says(
            "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by /opt/libpi_level_zero.so)",
            "newer system",
        );
    }
}
