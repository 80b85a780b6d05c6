//! Targets: which code can be linked with which.

use offkit_object::Target;

/// What generates and links the code of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// SPIR-V with pointers of 64 bits.
    Spirv64,
    /// SPIR-V with pointers of 32 bits.
    Spirv32,
    /// PTX.
    Nvptx64,
    /// AMDGPU code objects.
    Amdgcn,
    /// Code of a host's processor.
    Host,
    /// Nothing here.
    Other,
}

/// The processors whose code a CPU device can run, and that LLVM generates code for.
const HOSTS: [&str; 4] = ["x86_64", "aarch64", "riscv64", "loongarch64"];

impl Family {
    /// The family of a triple.
    pub fn of(triple: &str) -> Self {
        match architecture(triple) {
            // `spir64` is what the DPC++ front end writes; the code is the same. The version of SPIR-V may
            // follow the name.
            "spir64" => Self::Spirv64,
            "spir" => Self::Spirv32,
            name if name.starts_with("spirv64") => Self::Spirv64,
            name if name.starts_with("spirv32") => Self::Spirv32,
            "nvptx64" => Self::Nvptx64,
            "amdgcn" => Self::Amdgcn,
            name if HOSTS.contains(&name) => Self::Host,
            _ => Self::Other,
        }
    }

    /// Whether it is SPIR-V of either width.
    pub fn is_spirv(self) -> bool {
        matches!(self, Self::Spirv64 | Self::Spirv32)
    }

    /// Whether code is for one processor, which must be known.
    pub fn needs_processor(self) -> bool {
        matches!(self, Self::Nvptx64 | Self::Amdgcn)
    }

    /// An example of a target, for messages.
    pub fn example(self) -> &'static str {
        match self {
            Self::Nvptx64 => "nvptx64-nvidia-cuda,arch=sm_80",
            Self::Amdgcn => "amdgcn-amd-amdhsa,arch=gfx90a",
            _ => "spirv64-unknown-unknown",
        }
    }
}

fn architecture(triple: &str) -> &str {
    triple.split('-').next().unwrap_or_default()
}

/// The architecture, if it is one: `generic` says nothing.
pub fn processor(target: &Target) -> &str {
    match target.arch.as_str() {
        "generic" => "",
        arch => arch,
    }
}

/// Whether code for one target can be part of a link for the other. What one of them leaves open fits.
pub fn fits(one: &Target, other: &Target) -> bool {
    let family = Family::of(&one.triple);
    if family != Family::of(&other.triple) {
        return false;
    }
    if matches!(family, Family::Host | Family::Other)
        && architecture(&one.triple) != architecture(&other.triple)
    {
        return false;
    }
    if matches!(family, Family::Host | Family::Amdgcn) && !same_system(&one.triple, &other.triple) {
        return false;
    }
    let (arch, other_arch) = (processor(one), processor(other));
    if family.needs_processor() && !arch.is_empty() && !other_arch.is_empty() && arch != other_arch {
        return false;
    }
    // A feature that one demands to be on the other must not demand to be off.
    one.features.iter().all(|feature| {
        let opposite = match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
            (Some(name), _) => format!("{name}-"),
            (_, Some(name)) => format!("{name}+"),
            _ => return true,
        };
        !other.features.contains(&opposite)
    })
}

/// Whether two triples name the same operating system, or one names none.
fn same_system(one: &str, other: &str) -> bool {
    let system = |triple: &str| {
        let name = triple.split('-').nth(2).unwrap_or_default();
        // A triple of three parts may leave out the vendor.
        let name = match triple.split('-').nth(1) {
            Some(second @ ("linux" | "windows")) => second,
            _ => name,
        };
        name.to_owned()
    };
    let (one, other) = (system(one), system(other));
    let is_open = |name: &str| name.is_empty() || name == "unknown";
    is_open(&one) || is_open(&other) || one == other
}

/// Fills in what a target leaves open with what a fitting one says.
pub fn complete(target: &mut Target, with: &Target) {
    if processor(target).is_empty() && Family::of(&target.triple).needs_processor() {
        with.arch.clone_into(&mut target.arch);
    }
    for feature in &with.features {
        if !target.features.contains(feature) {
            target.features.push(feature.clone());
        }
    }
}

/// The triple that code is generated for.
pub fn generated_triple(target: &Target, spirv_version: (u8, u8)) -> String {
    let (major, minor) = spirv_version;
    match Family::of(&target.triple) {
        Family::Spirv64 => format!("spirv64v{major}.{minor}-unknown-unknown"),
        Family::Spirv32 => format!("spirv32v{major}.{minor}-unknown-unknown"),
        _ => target.triple.to_string(),
    }
}

/// The features as LLVM takes them: `xnack+` of a target is `+xnack` there.
pub fn llvm_features(target: &Target) -> String {
    let features =
        target.features.iter().map(
            |feature| match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
                (Some(name), _) => format!("+{name}"),
                (_, Some(name)) => format!("-{name}"),
                _ if feature.starts_with(['+', '-']) => feature.clone(),
                _ => format!("+{feature}"),
            },
        );
    features.collect::<Vec<_>>().join(",")
}

/// clang 22 asks for the oldest version of PTX unless told otherwise, and its back end then refuses newer
/// processors.
pub fn ptx_version(arch: &str) -> Option<String> {
    let number = arch.strip_prefix("sm_")?;
    let number: u32 = number
        .trim_end_matches(|letter: char| !letter.is_ascii_digit())
        .parse()
        .ok()?;
    let version = match number {
        0..=59 => return None,
        60..=69 => 60,
        70..=72 => 61,
        73..=75 => 63,
        76..=80 => 70,
        81..=86 => 71,
        87..=90 => 78,
        _ => 88,
    };
    Some(format!("--cuda-feature=+ptx{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_fits() {
        let amd = |arch: &str| Target::new("amdgcn-amd-amdhsa", arch);
        for (one, other, expected) in [
            (
                Target::new("spirv64", ""),
                Target::new("spir64-unknown-unknown", "generic"),
                true,
            ),
            (Target::new("spirv64", ""), Target::new("spirv32", ""), false),
            (amd("gfx90a"), amd(""), true),
            (amd("gfx90a"), amd("gfx942"), false),
            (amd("gfx90a:xnack+"), amd("gfx90a"), true),
            (amd("gfx90a:xnack+"), amd("gfx90a:xnack-"), false),
            (amd("gfx90a"), Target::new("amdgcn-mesa-mesa3d", "gfx90a"), false),
            (
                Target::new("x86_64-pc-linux-gnu", ""),
                Target::new("x86_64-unknown-linux-gnu", "x86-64"),
                true,
            ),
            (
                Target::new("x86_64-linux-gnu", ""),
                Target::new("x86_64-unknown-linux-gnu", ""),
                true,
            ),
            (
                Target::new("x86_64-unknown-linux-gnu", ""),
                Target::new("aarch64-unknown-linux-gnu", ""),
                false,
            ),
            (
                Target::new("nvptx64-nvidia-cuda", "sm_80"),
                Target::new("nvptx64-nvidia-cuda", "sm_90"),
                false,
            ),
        ] {
            assert_eq!(fits(&one, &other), expected, "{one} {other}");
            assert_eq!(fits(&other, &one), expected, "{other} {one}");
        }
    }

    #[test]
    fn features_are_written_as_llvm_takes_them() {
        let mut target = Target::new("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-");
        target.features.push("ptx80".into());
        assert_eq!(llvm_features(&target), "+sramecc,-xnack,+ptx80");
    }
}
