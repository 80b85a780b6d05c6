//! The names of libraries: `libdevice/<gpu>/libX-<arch>-<gpu>.bc`.

use std::path::{Path, PathBuf};

use offkit_object::{DeviceImage, Target, target_of};

/// Where a library for a target is to be, below a folder of the search path: `libdevice/<gpu>/libX-<arch>-<gpu>.bc`,
/// or, for a target without a processor, `libdevice/<arch>/libX-<arch>.bc`. Features of the processor follow its
/// name after dashes, in the order of their names: `gfx90a-sramecc+-xnack-`.
pub fn library_path(name: &str, target: &Target) -> PathBuf {
    let architecture = target.library_architecture();
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

/// Where an image is to be as a device library of that name, or of the name of the file or archive member it is in; as
/// [`library_path`], with the extension of its code.
pub fn library_file(image: &DeviceImage<'_>, library: Option<&str>) -> PathBuf {
    let file = Path::new(image.location.file());
    // The members of an archive are libraries of their own: what is next behind the file, unless it is a section or
    // number.
    let member = image.location.parts().next();
    let member = member.as_deref().map(Path::new);
    let member = member.filter(|member| {
        ["o", "obj", "bc"]
            .iter()
            .any(|end| member.extension() == Some(end.as_ref()))
    });
    let stem = member
        .unwrap_or(file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let name = library.unwrap_or_else(|| stem.strip_prefix("lib").unwrap_or(&stem));
    let name = safe(name);
    let mut target = target_of(image).into_owned();
    // Containers name targets: what they say must not lead elsewhere.
    target.triple = safe(&target.triple).into();
    target.arch = safe(&target.arch).into();
    // `generic` is no processor: its code belongs into the folder of the architecture.
    target.arch = target.processor().into();
    for feature in &mut target.features {
        *feature = safe(feature);
    }
    let path = library_path(&name, &target);
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let name = name.strip_suffix("bc").unwrap_or(&name).to_owned() + image.format.extension();
    path.with_file_name(name)
}

/// A name as a part of the names of files and folders: no separators, and no `..`.
fn safe(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "-_+.".contains(c);
    let name = name.replace(|c| !is_safe(c), "_");
    let rest = name.trim_start_matches('.');
    "_".repeat(name.len().saturating_sub(rest.len())) + rest
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
    use std::path::Component;

    use super::*;

    #[test]
    fn no_name_in_a_file_leads_to_another_folder() {
        let file = |triple: &str, arch: &str| {
            let mut image = DeviceImage::default();
            image.target = Target::new(triple, "");
            image.target.arch = arch.into();
            library_file(&image, Some("m"))
        };
        for (triple, arch) in [
            ("nvptx64-nvidia-cuda", ".."),
            ("nvptx64-nvidia-cuda", "."),
            ("nvptx64-nvidia-cuda", "../.."),
            ("..-vendor-system", ""),
        ] {
            let path = file(triple, arch);
            let parts: Vec<_> = path.components().collect();
            let is_plain = |part: &Component<'_>| matches!(part, Component::Normal(_));
            assert!(
                parts.len() == 3 && parts.iter().all(is_plain),
                "{}",
                path.display()
            );
        }
    }

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
