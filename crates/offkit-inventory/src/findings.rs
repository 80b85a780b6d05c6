//! Which rules of a policy a package breaks.

use std::collections::{BTreeMap, BTreeSet};

use offkit_image::{ImageFormat, Spills};

use crate::check::{Check, Wanted};
use crate::diff::{Diff, Images, Snapshot, diff};
use crate::family::family;
use crate::inventory::{Inventory, Listed, sum};
use crate::names::NameId;
use crate::policy::{Growth, Level, Policy, Ptx};
use crate::redundancy::{Kind, by_library, redundancy};
use crate::totals::{Key, totals};
use crate::words::some_of;

/// What one thing and several do that have something.
const HAS: [&str; 2] = ["has", "have"];

/// A rule that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Whether it fails the check.
    pub level: Level,
    /// The rule, as the policy names it.
    pub rule: &'static str,
    /// The library.
    pub library: Option<String>,
    /// The kernel, as its author wrote it.
    pub kernel: Option<String>,
    /// The device or the architecture.
    pub target: Option<String>,
    /// What was found, where that is a number.
    pub value: Option<u64>,
    /// What was allowed.
    pub limit: Option<u64>,
    /// What it is, for people.
    pub message: String,
}

impl Finding {
    /// What is only probable, where that is not enough.
    #[must_use]
    pub fn strict(library: String, target: String, doubts: String) -> Self {
        Self {
            library: Some(library),
            target: Some(target.clone()),
            ..Self::new(
                Level::Error,
                "strict",
                format!("what {target} gets is only probable: {doubts}"),
            )
        }
    }

    fn new(level: Level, rule: &'static str, message: String) -> Self {
        Self {
            level,
            rule,
            library: None,
            kernel: None,
            target: None,
            value: None,
            limit: None,
            message,
        }
    }
}

/// Takes the kernels out of a check that the policy lets be without code. Returns the waivers that are about none,
/// which is worth a finding.
pub fn waive(inventory: &Inventory, check: &mut Check, wanted: &[Wanted], policy: &Policy) -> Vec<Finding> {
    let waivers = &policy.check.ignore;
    let mut used = BTreeSet::<usize>::new();
    for coverage in &mut check.coverage {
        let target = wanted[coverage.wanted].device.to_string();
        let before = coverage.holes.len();
        coverage.holes.retain(|(subject, _)| {
            let name = subject.readable(inventory);
            let about = waivers.iter().enumerate();
            let about: Vec<_> = about
                .filter(|(_, waiver)| waiver.is_about(name, &target))
                .map(|(place, _)| place)
                .collect();
            // All that are about it, and not only the first: none is to be called useless because
            // another one comes before it.
            used.extend(about.iter().copied());
            about.is_empty()
        });
        coverage.waived = before - coverage.holes.len();
    }
    let unused = waivers
        .iter()
        .enumerate()
        .filter(|(place, _)| !used.contains(place));
    unused
        .map(|(_, waiver)| {
            let message = format!(
                "no kernel is without code that `{}` on `{}` lets be ({})",
                waiver.kernel, waiver.target, waiver.why
            );
            Finding::new(Level::Warn, "check.ignore", message)
        })
        .collect()
}

/// Everything that breaks a rule. What devices get is in `check`; `baseline` is what kernels took before.
#[must_use]
pub fn findings(
    inventory: &Inventory,
    check: &Check,
    wanted: &[Wanted],
    policy: &Policy,
    baseline: Option<&Snapshot>,
) -> Vec<Finding> {
    let mut findings = coverage(inventory, check, wanted, policy);
    findings.extend(extra(inventory, wanted, policy));
    findings.extend(ptx(inventory, policy));
    findings.extend(sizes(inventory, policy));
    findings.extend(kernels(inventory, policy));
    match baseline {
        Some(baseline) => findings.extend(growth(inventory, policy, baseline)),
        None => findings.extend(not_compared(policy)),
    }
    // A rule such as `holes = "off"` leaves findings behind that nobody wants.
    findings.retain(|finding| finding.level != Level::Off);
    findings
}

fn coverage(inventory: &Inventory, check: &Check, wanted: &[Wanted], policy: &Policy) -> Vec<Finding> {
    // Of what is asked for only kernels without code may be let be.
    let level = policy.check.holes.unwrap_or(Level::Error);
    let what = match inventory.has_kernels {
        true => "kernel",
        false => "container",
    };
    let mut findings = Vec::new();
    for place in &check.nothing_for {
        let target = wanted[*place].name();
        findings.push(Finding {
            target: Some(target.clone()),
            ..Finding::new(
                Level::Error,
                "check.targets",
                format!("there is no code at all for devices like {target}"),
            )
        });
    }
    for coverage in &check.coverage {
        let wanted = &wanted[coverage.wanted];
        if coverage.is_met(wanted) {
            continue;
        }
        let library = inventory.library_name(coverage.library).to_owned();
        let mut add = |level, rule, value: usize, message: String| {
            findings.push(Finding {
                library: Some(library.clone()),
                target: Some(wanted.name()),
                value: Some(value as u64),
                limit: Some(0),
                ..Finding::new(level, rule, message)
            });
        };
        let (all, device) = (coverage.subjects, &wanted.device);
        let holes = coverage.holes.len();
        if holes > 0 {
            add(
                level,
                "check.targets",
                holes,
                format!("{} no code for {device}", some_of(holes, all, what, HAS)),
            );
        }
        if wanted.native_only && coverage.compiled > 0 {
            let compiled = coverage.compiled;
            add(
                Level::Error,
                "check.native",
                compiled,
                format!(
                    "{} compiled at load on {device}",
                    some_of(compiled, all, what, ["is", "are"])
                ),
            );
        }
        if coverage.without_portable > 0 {
            let without = coverage.without_portable;
            add(
                Level::Error,
                "check.targets",
                without,
                format!("{} no PTX that fits {device}", some_of(without, all, what, HAS)),
            );
        }
    }
    findings
}

/// Architectures that no device on the list needs.
fn extra(inventory: &Inventory, wanted: &[Wanted], policy: &Policy) -> Vec<Finding> {
    // To judge every image for every device takes time, and nobody would see what comes of it.
    if policy.check.extra == Level::Off {
        return Vec::new();
    }
    let mut archs = BTreeSet::new();
    for image in &inventory.images {
        let is_needed = wanted
            .iter()
            .any(|wanted| image.image.runs_on(&wanted.device).runs.is_ok());
        if !is_needed {
            archs.insert(image.arch());
        }
    }
    let finding = |arch: String| Finding {
        target: Some(arch.clone()),
        ..Finding::new(
            policy.check.extra,
            "check.extra",
            format!("images for {arch} run on no device of the list"),
        )
    };
    archs.into_iter().map(finding).collect()
}

fn ptx(inventory: &Inventory, policy: &Policy) -> Vec<Finding> {
    if policy.check.ptx != Some(Ptx::Newest) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, images) in by_library(inventory) {
        let images = || images.iter().copied();
        let cubins = images().filter(|image| image.image.format == ImageFormat::Cubin);
        let native: BTreeSet<_> = cubins
            .flat_map(|image| inventory.kernels_of(image))
            .map(|kernel| kernel.name)
            .collect();
        let is_ptx =
            |image: &&Listed| image.image.format == ImageFormat::Ptx && image.image.is_for_devices_to_come();
        let ptx = images().filter(is_ptx);
        let portable: BTreeSet<_> = ptx
            .flat_map(|image| inventory.kernels_of(image))
            .map(|kernel| kernel.name)
            .collect();
        let without = native.difference(&portable).count();
        if without > 0 {
            findings.push(Finding {
                library: Some(inventory.library_name(number).to_owned()),
                value: Some(without as u64),
                limit: Some(0),
                ..Finding::new(
                    Level::Error,
                    "check.ptx",
                    format!(
                        "{} no PTX for devices to come",
                        some_of(without, native.len(), "kernel", HAS)
                    ),
                )
            });
        }
    }
    findings
}

fn sizes(inventory: &Inventory, policy: &Policy) -> Vec<Finding> {
    let rules = &policy.size;
    let mut findings = Vec::new();
    let mut most = |rule, target: Option<String>, value: u64, limit: Option<u64>, what: &str| {
        if let Some(limit) = limit.filter(|limit| value > *limit) {
            findings.push(Finding {
                target,
                value: Some(value),
                limit: Some(limit),
                ..Finding::new(
                    Level::Error,
                    rule,
                    format!("{what}: {value} bytes, more than {limit}"),
                )
            });
        }
    };
    let of = |bytes: Option<crate::policy::Bytes>| bytes.map(|bytes| bytes.0);
    for (file, bytes) in &inventory.files {
        most("size.max", None, *bytes, of(rules.max), file);
    }
    let installed = sum(inventory.libraries.iter().map(|library| library.size));
    most(
        "size.max-installed",
        None,
        installed,
        of(rules.max_installed),
        "the libraries",
    );
    for total in totals(inventory, &[Key::Arch]) {
        let arch = total.keys.first().cloned().unwrap_or_default();
        let limit = of(rules.max_per_arch.get(&arch).copied());
        let what = format!("images for {arch}");
        most("size.max-per-arch", Some(arch), total.stored, limit, &what);
    }
    if rules.redundant != Level::Off {
        // Of the others the bytes are an estimate, or not known without trying.
        let is_certain = |kind| matches!(kind, Kind::CoveredArch | Kind::SameImage | Kind::SameLibrary);
        for redundant in redundancy(inventory) {
            if is_certain(redundant.kind) {
                findings.push(Finding {
                    library: redundant
                        .library
                        .map(|library| inventory.library_name(library).to_owned()),
                    value: redundant.saves,
                    ..Finding::new(rules.redundant, "size.redundant", redundant.what)
                });
            }
        }
    }
    findings
}

fn kernels(inventory: &Inventory, policy: &Policy) -> Vec<Finding> {
    let rules = &policy.kernels;
    let Some(limit) = rules.max_registers else {
        return Vec::new();
    };
    // Of a kernel that several images of one library and one architecture have, the largest.
    let mut largest = BTreeMap::<(usize, NameId, String), (u64, u64)>::new();
    for kernel in &inventory.kernels {
        let Some(registers) = kernel.resources.registers.filter(|registers| *registers > limit) else {
            continue;
        };
        let Some(image) = inventory.images.get(kernel.image) else {
            continue;
        };
        if !rules.concern(inventory.names.family(kernel.name)) {
            continue;
        }
        let spills = kernel.resources.spills.map_or(0, Spills::amount);
        let known = largest
            .entry((image.library, kernel.name, image.arch()))
            .or_default();
        *known = (registers, spills).max(*known);
    }
    let finding = |((library, name, arch), (registers, spills))| {
        let name = inventory.names.readable(name);
        let message =
            format!("{name} on {arch} takes {registers} registers, more than {limit}, and spills {spills}");
        Finding {
            library: Some(inventory.library_name(library).to_owned()),
            kernel: Some(name.to_owned()),
            target: Some(arch),
            value: Some(registers),
            limit: Some(limit),
            ..Finding::new(Level::Error, "kernels.max-registers", message)
        }
    };
    largest.into_iter().map(finding).collect()
}

/// The rules on growth that there are: each with the number that it is about, and what is allowed.
fn growth_rules(policy: &Policy) -> impl Iterator<Item = (&'static str, &'static str, Growth)> {
    let rules = &policy.kernels;
    let all = [
        ("kernels.registers", "registers", rules.registers),
        ("kernels.spills", "spills", rules.spills),
        ("kernels.code", "code", rules.code),
    ];
    all.into_iter()
        .filter_map(|(rule, number, allowed)| Some((rule, number, allowed?)))
}

/// Rules on growth are about nothing where there is no baseline, which is worth a finding.
fn not_compared(policy: &Policy) -> Vec<Finding> {
    let finding = |rule| {
        let message = format!("{rule} was not checked: there is no --baseline");
        Finding::new(Level::Warn, rule, message)
    };
    let of_size = policy.size.max_growth.map(|_| finding(MAX_GROWTH));
    growth_rules(policy)
        .map(|(rule, ..)| finding(rule))
        .chain(of_size)
        .collect()
}

const MAX_GROWTH: &str = "size.max-growth";

/// What takes more bytes than in the baseline: the files together, and images by library, architecture and format.
fn grown_sizes(found: &Diff, policy: &Policy, old: &Snapshot, new: &Snapshot) -> Vec<Finding> {
    let Some(allowed) = policy.size.max_growth else {
        return Vec::new();
    };
    let too_large = |target: Option<String>, what: String, old: u64, new: u64| {
        (!allowed.allows(old, new)).then(|| Finding {
            target,
            value: Some(new),
            limit: Some(old),
            ..Finding::new(
                Level::Error,
                MAX_GROWTH,
                format!("{what}: {new} bytes, before {old}"),
            )
        })
    };
    let mut findings = Vec::new();
    match (old.file_bytes, new.file_bytes) {
        (Some(old), Some(new)) => findings.extend(too_large(None, "the files".to_owned(), old, new)),
        _ => findings.push(Finding::new(
            Level::Warn,
            MAX_GROWTH,
            "the sizes of the files were not compared: the baseline has none".to_owned(),
        )),
    }
    for change in &found.images {
        let [library, arch, format] = &change.key;
        let stored = |images: Option<Images>| images.map_or(0, |images| images.stored);
        let what = format!("{format} for {arch}");
        // What is new is in the sum of the files, and no growth of what was there.
        let of_kind = change
            .old
            .and_then(|old| too_large(Some(arch.clone()), what, old.stored, stored(change.new)));
        findings.extend(of_kind.map(|finding| Finding {
            library: Some(library.clone()).filter(|library| !library.is_empty()),
            ..finding
        }));
    }
    findings
}

/// What takes more than in the baseline.
fn growth(inventory: &Inventory, policy: &Policy, baseline: &Snapshot) -> Vec<Finding> {
    let own = Snapshot::of(inventory);
    let found = diff(baseline, &own);
    let mut findings = grown_sizes(&found, policy, baseline, &own);
    let rules = &policy.kernels;
    // Of builds without a common kernel nothing can have grown, which would pass for checked.
    if !baseline.has_kernels_of(&own) {
        let finding = |rule| {
            let message = format!("{rule} was not checked: no kernel of the baseline is in these files");
            Finding::new(Level::Warn, rule, message)
        };
        findings.extend(growth_rules(policy).map(|(rule, ..)| finding(rule)));
    }
    for (rule, number, allowed) in growth_rules(policy) {
        for (change, old, new) in found.grown(number) {
            let [library, arch, name] = &change.key;
            if allowed.allows(old, new) || !rules.concern(&family(name)) {
                continue;
            }
            findings.push(Finding {
                library: Some(library.clone()).filter(|library| !library.is_empty()),
                kernel: Some(name.clone()),
                target: Some(arch.clone()),
                value: Some(new),
                limit: Some(old),
                ..Finding::new(
                    Level::Error,
                    rule,
                    format!("{name} on {arch}: {number} {new}, before {old}"),
                )
            });
        }
    }
    findings
}
