//! The IDs of targets on the command line, and which entries they accept: the rules of `clang-offload-bundler`.

use std::collections::BTreeMap;
use std::fmt;

use offkit_image::target::triple::is_system;
use offkit_image::target::{System, Triple};
use offkit_object::bundle::EntryId;

use super::error::{Error, Result};

/// A target, in the spelling that bundles have: `KIND-ARCH-VENDOR-OS-ENVIRONMENT-[PROCESSOR]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TargetId(String);

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TargetId {
    /// Brings a target into the spelling of bundles.
    ///
    /// A missing part of the triple becomes `unknown`; only with the OS `amdhsa` the environment stays empty,
    /// as the runtimes want it. The processor is kept as it is, whether or not it is known.
    fn parse(text: &str) -> Result<Self> {
        // At most six: dashes behind the fifth are those of the processor's features, as in
        // `xnack-`.
        let mut parts = text.splitn(6, '-');
        let mut next = || parts.next();
        let (Some(kind), Some(arch), Some(vendor), Some(os), Some(environment)) =
            (next(), next(), next(), next(), next())
        else {
            return Err(Error::TargetFormat);
        };
        let processor = next().unwrap_or_default();
        let is_known_arch = Triple::new(arch).has_known_architecture();
        if !is_known_kind(kind) || !is_known_arch {
            return Err(Error::Target {
                target: text.to_owned(),
                kind: (!is_known_kind(kind)).then(|| kind.to_owned()),
                triple: (!is_known_arch).then(|| format!("{arch}-{vendor}-{os}-{environment}")),
            });
        }
        // A triple without a vendor, as in x86_64-linux-gnu.
        let (vendor, os, environment) = if is_system(vendor) && !is_system(os) {
            ("unknown", vendor, os)
        } else {
            (vendor, os, environment)
        };
        let (os, environment) = match os {
            "mingw32" => ("windows", "gnu"),
            _ => (os, environment),
        };
        let environment = if Triple::new(&format!("{arch}-{vendor}-{os}")).system() == System::AmdHsa {
            ""
        } else {
            or_unknown(environment)
        };
        let (vendor, os) = (or_unknown(vendor), or_unknown(os));
        Ok(Self(format!(
            "{kind}-{arch}-{vendor}-{os}-{environment}-{processor}"
        )))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn id(&self) -> EntryId<'_> {
        EntryId::parse(&self.0)
    }

    pub(super) fn is_host(&self) -> bool {
        self.id().kind == "host"
    }

    fn is_hip(&self) -> bool {
        matches!(self.id().kind, "hip" | "hipv4")
    }

    /// The entry for this target: the one with its very ID, else the first that fits.
    pub(super) fn find_in(&self, entries: &[&str], hip_openmp_compatible: bool) -> Option<usize> {
        let exact = entries.iter().position(|entry| *entry == self.0);
        exact.or_else(|| {
            entries
                .iter()
                .position(|entry| self.accepts(entry, hip_openmp_compatible))
        })
    }

    /// Whether an entry's code runs on this target: the processor is the same, and every feature that the code
    /// demands to be on or off is so here.
    pub(super) fn accepts(&self, entry: &str, hip_openmp_compatible: bool) -> bool {
        let (wanted, entry) = (self.id(), EntryId::parse(entry));
        let is_hip = |kind| matches!(kind, "hip" | "hipv4");
        let is_kind_fit = wanted.kind == entry.kind
            || is_hip(wanted.kind) && is_hip(entry.kind)
            || hip_openmp_compatible
                && (is_hip(wanted.kind) && entry.kind == "openmp"
                    || wanted.kind == "openmp" && is_hip(entry.kind));
        let (wanted_target, target) = (wanted.target(), entry.target());
        is_kind_fit
            && wanted_target.triple == target.triple
            && wanted_target.arch == target.arch
            && target.unmet_demand(&wanted_target).is_none()
    }
}

/// Reads all targets, and checks that they go together.
pub(super) fn parse_all(texts: &[String], is_bundling: bool) -> Result<Vec<TargetId>> {
    let mut targets: Vec<TargetId> = Vec::new();
    for text in texts {
        let target = TargetId::parse(text)?;
        if targets.contains(&target) {
            return Err(Error::RepeatedTarget);
        }
        targets.push(target);
    }
    let hosts = targets.iter().filter(|target| target.is_host()).count();
    // HIP's device code is bundled without the host's.
    let needs_host = is_bundling && !targets.iter().all(TargetId::is_hip);
    if hosts > 1 || (hosts == 0 && needs_host) {
        return Err(Error::Hosts(hosts));
    }
    if is_bundling && let Some((one, other)) = find_conflict(targets.iter().map(TargetId::as_str)) {
        return Err(Error::Conflict {
            one: one.to_owned(),
            other: other.to_owned(),
        });
    }
    Ok(targets)
}

/// Two IDs of one processor of which one says something about a feature and the other does not: a runtime
/// could not choose between them.
pub(super) fn find_conflict<'a>(ids: impl Iterator<Item = &'a str>) -> Option<(&'a str, &'a str)> {
    let mut sorted: Vec<&str> = ids.collect();
    // So that the two that are told do not depend on the order in which they were given.
    sorted.sort_unstable();
    let mut seen: BTreeMap<(&str, &str, &str), (&str, Vec<&str>)> = BTreeMap::new();
    for text in sorted {
        let id = EntryId::parse(text);
        let mut words = id.processor.split(':');
        let processor = words.next().unwrap_or_default();
        let mut names: Vec<&str> = words
            .map(|feature| feature.trim_end_matches(['+', '-']))
            .collect();
        names.sort_unstable();
        let (first, known) = seen
            .entry((id.kind, id.triple, processor))
            .or_insert((text, names.clone()));
        if *known != names {
            return Some((first, text));
        }
    }
    None
}

/// A part of a triple, which is never empty but for the environment with the OS `amdhsa`.
fn or_unknown(part: &str) -> &str {
    if part.is_empty() { "unknown" } else { part }
}

/// SYCL and CUDA are not in the original, but in files of other compilers.
fn is_known_kind(kind: &str) -> bool {
    matches!(kind, "host" | "openmp" | "hip" | "hipv4" | "sycl" | "cuda")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(texts: &[&str], is_bundling: bool) -> std::result::Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let targets = parse_all(&texts, is_bundling).map_err(|error| error.to_string())?;
        Ok(targets.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn targets_are_spelled_as_bundles_have_them() {
        // What LLVM 22 makes of them, but for the last, whose processor it drops.
        for (given, expected) in [
            ("openmp-x86_64-linux-gnu-", "openmp-x86_64-unknown-linux-gnu-"),
            ("openmp-x86_64--linux-", "openmp-x86_64-unknown-linux-unknown-"),
            (
                "openmp-nvptx64-nvidia-cuda--sm_60",
                "openmp-nvptx64-nvidia-cuda-unknown-sm_60",
            ),
            (
                "openmp-nvptx64-nvidia-cuda-sm_60",
                "openmp-nvptx64-nvidia-cuda-sm_60-",
            ),
            ("openmp-amdgcn---gfx900", "openmp-amdgcn-unknown-unknown-gfx900-"),
            (
                "openmp-amdgcn-amd-amdhsa-llvm-gfx900",
                "openmp-amdgcn-amd-amdhsa--gfx900",
            ),
            (
                "hip-amdgcn-amd-amdhsa--gfx90a:xnack+:sramecc-",
                "hip-amdgcn-amd-amdhsa--gfx90a:xnack+:sramecc-",
            ),
            ("openmp-x86_64-w64-mingw32-", "openmp-x86_64-w64-windows-gnu-"),
            (
                "openmp-x86_64-apple-macosx10.15-",
                "openmp-x86_64-apple-macosx10.15-unknown-",
            ),
            (
                "openmp-arm-linux-gnueabihf-",
                "openmp-arm-unknown-linux-gnueabihf-",
            ),
            (
                "openmp-amdgcn-amd-amdhsa--gfx9999",
                "openmp-amdgcn-amd-amdhsa--gfx9999",
            ),
        ] {
            assert_eq!(targets(&[given], false), Ok(vec![expected.to_owned()]));
        }
    }

    #[test]
    fn two_processors_that_nobody_knows_are_two_targets() {
        let ids = [
            "openmp-amdgcn-amd-amdhsa--gfx9999",
            "openmp-amdgcn-amd-amdhsa--gfx8888",
        ];
        let host = "host-x86_64-unknown-linux-gnu";
        assert_eq!(targets(&[host, ids[0], ids[1]], true).unwrap()[1..], ids);
    }

    #[test]
    fn code_with_demands_runs_only_where_they_are_met() {
        let target = |text| TargetId::parse(text).unwrap();
        let any = "hip-amdgcn-amd-amdhsa--gfx906";
        let on = "hip-amdgcn-amd-amdhsa--gfx906:xnack+";
        let off = "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-";
        assert!(target(on).accepts(any, false));
        assert!(target(off).accepts("hip-amdgcn-amd-amdhsa-gfx906", false));
        assert!(!target(any).accepts(on, false));
        assert!(!target(off).accepts(on, false));
        let openmp = "openmp-amdgcn-amd-amdhsa--gfx906";
        assert!(!target(any).accepts(openmp, false));
        assert!(target(any).accepts(openmp, true));
        assert_eq!(target(on).find_in(&[any, on], false), Some(1));
    }
}
