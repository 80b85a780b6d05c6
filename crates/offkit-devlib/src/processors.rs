//! Whose code a processor can run: from the closest on.

use offkit_object::Target;

use crate::naming::short_architecture;

/// NVIDIA's processors, by the numbers behind `sm_`.
const NVIDIA: [u32; 21] = [
    50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121,
];

/// AMD's generic targets and the processors whose code they can stand for, as LLVM 22 has them.
const AMD_GENERIC: [(&str, &[&str]); 6] = [
    (
        "gfx9-generic",
        &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    ),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    (
        "gfx10-3-generic",
        &[
            "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
        ],
    ),
    (
        "gfx11-generic",
        &[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// The processors, with features, whose code can be part of code for a target: the target's own first, then the
/// others by how close they are. Empty for a target without a processor.
///
/// For `amdgcn`, features are left out one after the other, and then the generic target takes the place of the
/// processor. For `nvptx`, older processors follow: their code is part of every newer one's; code of the kinds `a` and
/// `f`, for one processor or one family, is not.
pub fn fitting_processors(target: &Target) -> Vec<Target> {
    let arch = target.arch.as_str();
    if arch.is_empty() || arch == "generic" {
        return Vec::new();
    }
    let with = |arch: &str, features: &[String]| Target {
        triple: target.triple.clone(),
        arch: arch.into(),
        features: features.to_vec(),
    };
    match short_architecture(&target.triple) {
        "amdgcn" => {
            let generic = AMD_GENERIC
                .iter()
                .find(|(_, processors)| processors.contains(&arch));
            let archs = [Some(arch), generic.map(|(name, _)| *name)];
            let mut features: Vec<String> = target.features.clone();
            features.sort();
            let subsets = subsets(&features);
            archs
                .into_iter()
                .flatten()
                .flat_map(|arch| subsets.iter().map(move |features| with(arch, features)))
                .collect()
        }
        "nvptx" => {
            let mut archs = vec![arch.to_owned()];
            if let Some(name) = arch.strip_prefix("sm_")
                && let Ok(number) = name.trim_end_matches(['a', 'f']).parse::<u32>()
            {
                let family = NVIDIA
                    .iter()
                    .rev()
                    .filter(|known| **known >= 100 && **known <= number && *known / 10 == number / 10);
                archs.extend(family.map(|known| format!("sm_{known}f")));
                archs.push(format!("sm_{number}"));
                let older = NVIDIA.iter().rev().filter(|known| **known < number);
                archs.extend(older.map(|known| format!("sm_{known}")));
            }
            let mut seen = Vec::new();
            for arch in archs {
                if !seen.contains(&arch) {
                    seen.push(arch);
                }
            }
            seen.iter().map(|arch| with(arch, &[])).collect()
        }
        _ => vec![with(arch, &target.features)],
    }
}

/// All selections of some, the largest first.
fn subsets(of: &[String]) -> Vec<Vec<String>> {
    // Real targets have two features at most.
    const MOST: usize = 4;
    let of = of.get(..MOST).unwrap_or(of);
    let mut subsets: Vec<Vec<String>> = vec![Vec::new()];
    for feature in of.iter().rev() {
        let with_it = subsets.iter().map(|rest| {
            let mut subset = vec![feature.clone()];
            subset.extend(rest.iter().cloned());
            subset
        });
        let with_it: Vec<_> = with_it.collect();
        subsets.splice(..0, with_it);
    }
    subsets.sort_by_key(|subset| std::cmp::Reverse(subset.len()));
    subsets
}

/// The target that a name stands for: a processor (`sm_60`, `gfx90a:xnack+`, `gfx9-generic`), a short name of an
/// architecture (`nvptx`, `amdgcn`, `spirv64`), or a triple with or without a processor after a comma
/// (`nvptx64-nvidia-cuda`, `amdgcn,gfx90a`).
pub fn target_of_name(name: &str) -> Target {
    if let Some((triple, arch)) = name.split_once(',') {
        let Target { triple, .. } = target_of_name(triple);
        return Target::new(triple, arch.strip_prefix("arch=").unwrap_or(arch));
    }
    if name.starts_with("sm_") {
        return Target::new("nvptx64-nvidia-cuda", name);
    }
    if name.starts_with("gfx") {
        return Target::new("amdgcn-amd-amdhsa", name);
    }
    let triple = match name {
        "nvptx" | "nvptx64" => "nvptx64-nvidia-cuda",
        "amdgcn" | "amdgpu" => "amdgcn-amd-amdhsa",
        "spirv" | "spirv64" | "spir64" => "spirv64-unknown-unknown",
        "spirv32" | "spir" => "spirv32-unknown-unknown",
        "x86_64" => "x86_64-unknown-linux-gnu",
        "aarch64" => "aarch64-unknown-linux-gnu",
        other => other,
    };
    Target::new(triple, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(target: &str) -> Vec<String> {
        let fitting = fitting_processors(&target_of_name(target));
        fitting.iter().map(Target::arch_with_features).collect()
    }

    #[test]
    fn the_closest_comes_first() {
        assert_eq!(
            names("gfx906:xnack+:sramecc-"),
            [
                "gfx906:sramecc-:xnack+",
                "gfx906:sramecc-",
                "gfx906:xnack+",
                "gfx906",
                "gfx9-generic:sramecc-:xnack+",
                "gfx9-generic:sramecc-",
                "gfx9-generic:xnack+",
                "gfx9-generic",
            ]
        );
        assert_eq!(names("gfx90a"), ["gfx90a"]);
        assert_eq!(names("gfx9-generic"), ["gfx9-generic"]);
        assert_eq!(names("sm_61"), ["sm_61", "sm_60", "sm_53", "sm_52", "sm_50"]);
        assert_eq!(names("sm_90a")[..3], ["sm_90a", "sm_90", "sm_89"]);
        assert_eq!(
            names("sm_103a")[..5],
            ["sm_103a", "sm_103f", "sm_101f", "sm_100f", "sm_103"]
        );
        assert!(names("spirv64").is_empty());
        assert_eq!(names("spirv64,bmg_g21"), ["bmg_g21"]);
    }

    #[test]
    fn short_names_and_triples_are_the_same_target() {
        for (name, expected) in [
            ("nvptx", "nvptx64-nvidia-cuda"),
            ("sm_60", "nvptx64-nvidia-cuda-sm_60"),
            ("amdgcn,gfx90a", "amdgcn-amd-amdhsa-gfx90a"),
            (
                "amdgcn-amd-amdhsa,arch=gfx90a:xnack+",
                "amdgcn-amd-amdhsa-gfx90a:xnack+",
            ),
            ("spirv64", "spirv64-unknown-unknown"),
            ("riscv64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"),
        ] {
            assert_eq!(target_of_name(name).to_string(), expected);
        }
    }
}
