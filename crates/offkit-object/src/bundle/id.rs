//! Entry IDs: which language and which target an entry of a bundle is for.
//!
//! An ID is `KIND-ARCH-VENDOR-OS-ENVIRONMENT[-PROCESSOR[:FEATURE…]]`. In the wild the environment is empty
//! (`hipv4-amdgcn-amd-amdhsa--gfx90a`), `unknown`, or left out with its dash (`hip-amdgcn-amd-amdhsa-gfx906`,
//! from before ROCm 6); SYCL's sections have architectures alone (`sycl-spir64`). IDs without a processor may
//! end in a dash, and processors may have dashes themselves (`gfx9-4-generic`).

use std::collections::{HashMap, HashSet};

use offkit_image::target::triple::is_environment;
use offkit_image::{ContainerKind, Producer, Target};

use crate::part::Facts;

/// The parts of an entry ID.
///
/// ```
/// use offkit_object::bundle::EntryId;
///
/// let id = EntryId::parse("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+");
/// assert_eq!((id.kind, id.triple, id.processor), ("hipv4", "amdgcn-amd-amdhsa", "gfx90a:xnack+"));
/// assert_eq!(EntryId::parse("hip-amdgcn-amd-amdhsa-gfx90a:xnack+").triple, id.triple);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryId<'a> {
    /// The offloading language, or `host`.
    pub kind: &'a str,
    /// The target triple, without an environment that is empty or `unknown`.
    pub triple: &'a str,
    /// The processor with its features; empty when the ID names none.
    pub processor: &'a str,
}

impl<'a> EntryId<'a> {
    /// Takes an ID apart. Every text is an ID; what is missing comes out empty.
    #[must_use]
    pub fn parse(id: &'a str) -> Self {
        let (kind, target) = id.split_once('-').unwrap_or((id, ""));
        let (triple, processor) = match processor_offset(kind, target) {
            Some(offset) => target.split_at_checked(offset).unwrap_or((target, "")),
            None => (target, ""),
        };
        // An environment that is empty leaves its dash, and so does a processor that is left out.
        let triple = triple.trim_end_matches('-');
        let triple = match triple.strip_suffix("-unknown") {
            // Only a fourth component is an environment: that of `spir64-unknown-unknown` is a system.
            Some(shorter) if triple.split('-').count() == 4 => shorter,
            _ => triple,
        };
        Self {
            kind,
            triple,
            processor,
        }
    }

    /// The offloading language.
    #[must_use]
    pub fn producer(&self) -> Producer {
        match self.kind {
            "host" => Producer::Host,
            "openmp" => Producer::OpenMp,
            "sycl" => Producer::Sycl,
            "cuda" => Producer::Cuda,
            "hip" | "hipv4" => Producer::Hip,
            _ => Producer::Unknown,
        }
    }

    /// What the entry was compiled for.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::new(self.triple, self.processor)
    }
}

/// Where the processor begins in `ARCH-VENDOR-OS-ENVIRONMENT-PROCESSOR`, if there is one.
fn processor_offset(kind: &str, target: &str) -> Option<usize> {
    // Features begin at the colon, and a `-` in them means that one is off.
    let end = target.find(':').unwrap_or(target.len());
    let mut offset = 0_usize;
    for (index, component) in target.get(..end)?.split('-').enumerate() {
        // SYCL's IDs have no environment of their own, so that a fourth component is the device.
        let is_processor = match index {
            0 => false,
            1 | 2 => Target::is_processor_name(component),
            // Before ROCm 6 HIP's IDs had no environment, either.
            3 => Target::is_processor_name(component) || (kind == "sycl" && !is_environment(component)),
            // Nothing else stands behind an environment, so that processors to come are known, too.
            _ => true,
        };
        if is_processor {
            return Some(offset);
        }
        offset = offset.saturating_add(component.len()).saturating_add(1);
    }
    None
}

/// What an entry's ID says about its image.
pub(crate) fn entry_facts(id: &str) -> Facts<'static> {
    let id = EntryId::parse(id);
    Facts {
        // Hosts hand over entries too: those in sections of a bundled object.
        container: Some(ContainerKind::Bundle),
        producer: id.producer(),
        target: id.target(),
        ..Facts::default()
    }
}

/// A name for each entry that is fit for a location, given the IDs of all: the processor where no other
/// entry has the same, else the whole ID. An ID that is empty or repeated gets the entry's number added.
pub(crate) fn short_names(ids: &[&str]) -> Vec<String> {
    let processors = ids.iter().map(|id| EntryId::parse(id).processor);
    let mut seen: HashMap<&str, usize> = HashMap::new();
    // Both are counted together, for a processor may be spelled as another entry's whole ID.
    for name in processors.clone().chain(ids.iter().copied()) {
        let count = seen.entry(name).or_default();
        *count = count.saturating_add(1);
    }
    let is_unique = |name: &str| !name.is_empty() && seen.get(name) == Some(&1);
    // An ID can be what another one with its number is.
    let mut numbered = HashSet::new();
    ids.iter()
        .zip(processors)
        .enumerate()
        .map(|(number, (id, processor))| {
            if is_unique(processor) {
                processor.to_owned()
            } else if is_unique(id) {
                (*id).to_owned()
            } else {
                let mut name = format!("{id}#{number}");
                while seen.contains_key(&*name) || numbered.contains(&name) {
                    name.push('#');
                }
                numbered.insert(name.clone());
                name
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_all_spellings_are_taken_apart() {
        for (id, kind, triple, processor) in [
            (
                "host-x86_64-unknown-linux-gnu-",
                "host",
                "x86_64-unknown-linux-gnu",
                "",
            ),
            ("host-x86_64-unknown-linux--", "host", "x86_64-unknown-linux", ""),
            (
                "host-x86_64-pc-windows-msvc",
                "host",
                "x86_64-pc-windows-msvc",
                "",
            ),
            (
                "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
                "hipv4",
                "amdgcn-amd-amdhsa",
                "gfx90a:sramecc+:xnack-",
            ),
            (
                "hip-amdgcn-amd-amdhsa-gfx906",
                "hip",
                "amdgcn-amd-amdhsa",
                "gfx906",
            ),
            (
                "hip-amdgcn-amd-amdhsa-unknown-gfx906",
                "hip",
                "amdgcn-amd-amdhsa",
                "gfx906",
            ),
            (
                "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack-",
                "hipv4",
                "amdgcn-amd-amdhsa",
                "gfx9-4-generic:xnack-",
            ),
            (
                "hip-amdgcn-amd-amdhsa-gfx9-4-generic",
                "hip",
                "amdgcn-amd-amdhsa",
                "gfx9-4-generic",
            ),
            (
                "hip-spirv64-amd-amdhsa--amdgcnspirv",
                "hip",
                "spirv64-amd-amdhsa",
                "amdgcnspirv",
            ),
            (
                "openmp-nvptx64-nvidia-cuda-unknown-sm_60",
                "openmp",
                "nvptx64-nvidia-cuda",
                "sm_60",
            ),
            (
                "openmp-nvptx64-nvidia-cuda-sm_60",
                "openmp",
                "nvptx64-nvidia-cuda",
                "sm_60",
            ),
            (
                "openmp-amdgcn-amd-amdhsa--future1",
                "openmp",
                "amdgcn-amd-amdhsa",
                "future1",
            ),
            ("sycl-spir64", "sycl", "spir64", ""),
            (
                "sycl-spir64-unknown-unknown-sycldevice",
                "sycl",
                "spir64-unknown-unknown-sycldevice",
                "",
            ),
            (
                "sycl-spir64_gen-unknown-unknown-pvc",
                "sycl",
                "spir64_gen-unknown-unknown",
                "pvc",
            ),
            (
                "sycl-spir64-unknown-unknown",
                "sycl",
                "spir64-unknown-unknown",
                "",
            ),
            ("host", "host", "", ""),
            ("", "", "", ""),
        ] {
            assert_eq!(
                EntryId::parse(id),
                EntryId {
                    kind,
                    triple,
                    processor
                },
                "{id}"
            );
        }
    }

    #[test]
    fn names_are_short_where_they_are_unique() {
        assert_eq!(
            short_names(&[
                "host-x86_64-unknown-linux-gnu-",
                "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
                "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                "hipv4-amdgcn-amd-amdhsa--gfx906",
                "openmp-amdgcn-amd-amdhsa--gfx906",
                "sycl-spir64",
                "",
                "sycl-spir64",
            ]),
            [
                "host-x86_64-unknown-linux-gnu-",
                "gfx90a:xnack+",
                "gfx90a:xnack-",
                "hipv4-amdgcn-amd-amdhsa--gfx906",
                "openmp-amdgcn-amd-amdhsa--gfx906",
                "sycl-spir64#5",
                "#6",
                "sycl-spir64#7",
            ]
        );
    }

    #[test]
    fn names_with_numbers_are_unique_too() {
        assert_eq!(
            short_names(&["a#1", "a", "a", "a#2#"]),
            ["a#1", "a#1#", "a#2", "a#2#"]
        );
    }
}
