//! The names of libraries: `libdevice/<gpu>/libX-<arch>-<gpu>.bc`.

use std::path::PathBuf;

use offkit_object::Target;

/// The name of a target's architecture in a library's file name: `nvptx` for `nvptx64-nvidia-cuda`, `amdgcn`,
/// `spirv64`; of a target that is not known by a name of its own, the first part of its triple.
pub fn short_architecture(triple: &str) -> &str {
    match triple.split('-').next().unwrap_or_default() {
        "nvptx64" => "nvptx",
        "spir64" => "spirv64",
        "spir" => "spirv32",
        // The version of SPIR-V may follow the name.
        name if name.starts_with("spirv64") => "spirv64",
        name if name.starts_with("spirv32") => "spirv32",
        name => name,
    }
}

/// All names that a target's architecture may have in a library's file name, the usual one first.
pub fn architecture_names(triple: &str) -> Vec<String> {
    let short = short_architecture(triple);
    let others: &[&str] = match short {
        "nvptx" => &["nvptx64", "nvptx64-nvidia-cuda"],
        "amdgcn" => &["amdgpu", "amdgcn-amd-amdhsa"],
        "spirv64" => &[
            "spirv",
            "spir64",
            "spirv64-unknown-unknown",
            "spir64-unknown-unknown",
        ],
        "spirv32" => &["spir", "spirv32-unknown-unknown", "spir-unknown-unknown"],
        _ => &[],
    };
    let mut names: Vec<String> = vec![short.to_owned()];
    for name in others.iter().copied().chain([triple]) {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Where a library for a target is to be, below a folder of the search path: `libdevice/<gpu>/libX-<arch>-<gpu>.bc`,
/// or, for a target without a processor, `libdevice/<arch>/libX-<arch>.bc`. Features of the processor follow its
/// name after dashes, in the order of their names: `gfx90a-sramecc+-xnack-`.
pub fn library_path(name: &str, target: &Target) -> PathBuf {
    let architecture = short_architecture(&target.triple);
    let processor = processor_name(target, "-");
    let mut path = PathBuf::from("libdevice");
    if processor.is_empty() {
        path.push(architecture);
        path.push(format!("lib{name}-{architecture}.bc"));
    } else {
        path.push(&processor);
        path.push(format!("lib{name}-{architecture}-{processor}.bc"));
    }
    path
}

/// The processor with its features in the order of their names.
fn processor_name(target: &Target, separator: &str) -> String {
    let mut features: Vec<&str> = target.features.iter().map(String::as_str).collect();
    features.sort_unstable();
    let mut name = target.arch.to_string();
    for feature in features {
        name.push_str(separator);
        name.push_str(feature);
    }
    name
}

/// The names that a processor with features may have in files: with dashes, and as it is written elsewhere.
pub(super) fn processor_names(target: &Target) -> Vec<String> {
    let mut names = vec![processor_name(target, "-")];
    if !target.features.is_empty() {
        names.push(processor_name(target, ":"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_one_place() {
        let path = |triple: &str, arch: &str| {
            let path = library_path("m", &Target::new(triple, arch));
            path.to_str().unwrap().to_owned()
        };
        assert_eq!(
            path("nvptx64-nvidia-cuda", "sm_60"),
            "libdevice/sm_60/libm-nvptx-sm_60.bc"
        );
        assert_eq!(
            path("amdgcn-amd-amdhsa", "gfx90a:xnack-:sramecc+"),
            "libdevice/gfx90a-sramecc+-xnack-/libm-amdgcn-gfx90a-sramecc+-xnack-.bc"
        );
        assert_eq!(
            path("spirv64v1.4-unknown-unknown", ""),
            "libdevice/spirv64/libm-spirv64.bc"
        );
    }
}
