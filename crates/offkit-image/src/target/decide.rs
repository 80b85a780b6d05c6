//! What an image is for: the bytes first, as far as they say it, then its container.

use super::nvidia::{Processor, Scope};
use super::{Family, GENERIC, Target};

/// The target of an image, and what its container says instead where that contradicts the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What the image is for.
    pub target: Target,
    /// What its container says, where that contradicts the bytes.
    pub contradicted: Option<Box<Target>>,
}

impl Decision {
    /// What the container told stands, where the bytes show nothing else.
    #[must_use]
    pub fn told(told: Target) -> Self {
        Self {
            target: told,
            contradicted: None,
        }
    }
}

/// Decides between what the container told and what the bytes show.
///
/// Where both mean the same, the container's spelling stays, and what only one of the two says is added: a family
/// such as `sm_100f` is in no bytes, the features of AMD's processors are often in no container.
pub fn decide(told: Target, shown: Target) -> Decision {
    // Most images end here, and there may be very many: no triple is taken apart for them.
    if told.triple == shown.triple && told.arch == shown.arch && shown.features.is_empty() {
        return Decision::told(told);
    }
    let other_machine =
        !told.triple.is_empty() && !shown.triple.is_empty() && !same_machine(&told.triple, &shown.triple);
    let agreement = agreement(&told.arch, &shown.arch);
    let same_name = |one: &str, other: &str| {
        let signs = ['+', '-'];
        one.trim_end_matches(signs) == other.trim_end_matches(signs)
    };
    let other_feature = shown.features.iter().any(|feature| {
        let mut named = told.features.iter().filter(|told| same_name(told, feature));
        named.next().is_some_and(|told| told != feature)
    });
    let contradicts = other_machine || agreement == Agreement::None || other_feature;
    let contradicted = contradicts.then(|| Box::new(told.clone()));
    let mut target = told;
    // Otherwise the container's triple stays: it may have a vendor and a system, where bytes show
    // no more than a kind of machine.
    if target.triple.is_empty() || other_machine {
        target.triple = shown.triple;
    }
    match agreement {
        Agreement::Told => {}
        Agreement::Shown => target.arch = shown.arch,
        // Features are those of a processor: `xnack+` of the one that is not meant says nothing about the other.
        Agreement::None => {
            target.arch = shown.arch;
            target.features.clear();
        }
    }
    for feature in shown.features {
        match target.features.iter_mut().find(|told| same_name(told, &feature)) {
            None => target.features.push(feature),
            Some(told) => *told = feature,
        }
    }
    Decision { target, contradicted }
}

#[derive(PartialEq, Eq)]
enum Agreement {
    Told,
    Shown,
    None,
}

/// Which of two architectures says more, if they can mean the same.
fn agreement(told: &str, shown: &str) -> Agreement {
    if shown.is_empty() || told == shown {
        return Agreement::Told;
    }
    // clang's OpenMP writes `generic` where it was given no processor: that contradicts nothing.
    if told.is_empty() || told == GENERIC {
        return Agreement::Shown;
    }
    match (Processor::parse(told), Processor::parse(shown)) {
        // A letter behind the number is never dropped.
        (Some(told), Some(shown)) if told.number == shown.number => match told.scope {
            Scope::Plain if shown.scope != Scope::Plain => Agreement::Shown,
            _ => Agreement::Told,
        },
        _ => Agreement::None,
    }
}

/// Whether two triples can be those of one image: of the same instruction set, or of SPIR-V with pointers of the same
/// width and what is made of it ahead of time.
fn same_machine(told: &str, shown: &str) -> bool {
    let machine = |triple: &str| match Family::of(triple) {
        Family::IntelGpu | Family::IntelCpu | Family::IntelFpga | Family::SpirvLogical => Family::Spirv64,
        family => family,
    };
    // Of architectures that nobody here knows, all are `Other`: only their names tell them apart.
    match (machine(told), machine(shown)) {
        (Family::Other, Family::Other) => {
            super::Triple::new(told).architecture() == super::Triple::new(shown).architecture()
        }
        (told, shown) => told == shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(told: &str, shown: &str) -> (String, bool) {
        let target = |text: &str| match text.split_once(' ') {
            Some((triple, arch)) => Target::new(triple, arch),
            None => Target::new(text, ""),
        };
        let Decision { target, contradicted } = decide(target(told), target(shown));
        let text = format!("{} {}", target.triple, target.arch_with_features());
        (text.trim_end().to_owned(), contradicted.is_some())
    }

    #[test]
    fn what_only_one_says_is_added() {
        for (told, shown, target) in [
            ("", "nvptx64-nvidia-cuda sm_90a", "nvptx64-nvidia-cuda sm_90a"),
            (
                "nvptx64-nvidia-cuda sm_90",
                "nvptx64-nvidia-cuda sm_90a",
                "nvptx64-nvidia-cuda sm_90a",
            ),
            (
                "nvptx64-nvidia-cuda sm_100f",
                "nvptx64-nvidia-cuda sm_100",
                "nvptx64-nvidia-cuda sm_100f",
            ),
            (
                "nvptx64 compute_80",
                "nvptx64-nvidia-cuda sm_80",
                "nvptx64 compute_80",
            ),
            (
                "nvptx64-nvidia-cuda generic",
                "nvptx64-nvidia-cuda sm_52",
                "nvptx64-nvidia-cuda sm_52",
            ),
            (
                "amdgcn-amd-amdhsa- gfx90a",
                "amdgcn-amd-amdhsa gfx90a:xnack-",
                "amdgcn-amd-amdhsa- gfx90a:xnack-",
            ),
            (
                "amdgcn-amd-amdhsa gfx90a:xnack+",
                "amdgcn-amd-amdhsa gfx90a",
                "amdgcn-amd-amdhsa gfx90a:xnack+",
            ),
            (
                "spir64_gen-unknown-unknown pvc",
                "spirv64-unknown-unknown",
                "spir64_gen-unknown-unknown pvc",
            ),
        ] {
            assert_eq!(decided(told, shown), (target.to_owned(), false), "{told} {shown}");
        }
    }

    #[test]
    fn bytes_that_say_otherwise_are_believed() {
        for (told, shown) in [
            ("amdgcn-amd-amdhsa gfx906", "amdgcn-amd-amdhsa gfx90a"),
            (
                "amdgcn-amd-amdhsa gfx90a:xnack+",
                "amdgcn-amd-amdhsa gfx90a:xnack-",
            ),
            ("spir64-unknown-unknown", "spirv32-unknown-unknown"),
            ("nvptx64-nvidia-cuda sm_90a", "nvptx64-nvidia-cuda sm_80"),
        ] {
            assert_eq!(decided(told, shown), (shown.to_owned(), true), "{told} {shown}");
        }
    }
}
