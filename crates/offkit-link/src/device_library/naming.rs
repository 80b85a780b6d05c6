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
        "spirv64" => &["spirv", "spir64", "spirv64-unknown-unknown", "spir64-unknown-unknown"],
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
    let mut features = target.features.clone();
    features.sort();
    let mut processor = target.arch.to_string();
    for feature in &features {
        processor.push('-');
        processor.push_str(feature);
    }
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
