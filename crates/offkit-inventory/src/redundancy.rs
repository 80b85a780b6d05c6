//! What could go, what that would save, and what it would cost.
//!
//! Savings overlap: an image that is there twice may also be covered by another architecture's.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use offkit_image::target::nvidia::{Processor, Scope};
use offkit_image::target::{Device, Family, Run};
use offkit_image::{Compression, ContainerKind, ImageFormat};

use crate::inventory::{Inventory, Kernel, Listed};
use crate::names::NameId;

/// Why something is redundant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Machine code whose kernels all are there for an older processor of the same generation, whose code runs too.
    CoveredArch,
    /// Images with the same bytes.
    SameImage,
    /// Kernels that several images of one architecture have.
    SameKernels,
    /// Libraries with the same images.
    SameLibrary,
    /// Images that are stored as they are, or by LZ4, where zstd would take less.
    Compression,
}

impl Kind {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CoveredArch => "covered-arch",
            Self::SameImage => "same-image",
            Self::SameKernels => "same-kernels",
            Self::SameLibrary => "same-library",
            Self::Compression => "compression",
        }
    }
}

/// Something that is redundant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redundant {
    /// Why.
    pub kind: Kind,
    /// The number of the library that it is in; `None` for what is in several.
    pub library: Option<usize>,
    /// What it is, for people.
    pub what: String,
    /// How many images.
    pub images: usize,
    /// How many kernels.
    pub kernels: usize,
    /// The bytes in the libraries that would go; `None` where that is not known without trying.
    pub saves: Option<u64>,
    /// What is lost with it.
    pub costs: String,
}

/// Everything that is redundant, the largest first. Needs the kernels; without them only what headers tell is found.
#[must_use]
pub fn redundancy(inventory: &Inventory) -> Vec<Redundant> {
    let mut found = Vec::new();
    if inventory.has_kernels {
        found.extend(covered(inventory));
        found.extend(same_images(inventory));
        found.extend(same_kernels(inventory));
        found.extend(same_libraries(inventory));
    }
    found.extend(compression(inventory));
    found.sort_by_key(|redundant| (std::cmp::Reverse(redundant.saves), redundant.kind));
    found
}

/// The images of each library.
fn by_library(inventory: &Inventory) -> BTreeMap<usize, Vec<&Listed>> {
    let mut libraries = BTreeMap::<usize, Vec<&Listed>>::new();
    for image in &inventory.images {
        libraries.entry(image.library).or_default().push(image);
    }
    libraries
}

#[derive(Default)]
struct OfArch {
    names: HashSet<NameId>,
    images: usize,
    stored: u64,
}

fn covered(inventory: &Inventory) -> Vec<Redundant> {
    let mut found = Vec::new();
    for (library, images) in by_library(inventory) {
        let mut archs = BTreeMap::<Processor, OfArch>::new();
        for image in images
            .iter()
            .filter(|image| image.image.format == ImageFormat::Cubin)
        {
            let Some(processor) = Processor::of(&image.image.target) else {
                continue;
            };
            let arch = archs.entry(processor).or_default();
            let names = inventory.kernels_of(image).iter().map(|kernel| kernel.name);
            arch.names.extend(names);
            arch.images += 1;
            arch.stored += image.stored;
        }
        for (processor, arch) in &archs {
            // Code for one processor or one family has what other code has not, and Tegra is promised nothing.
            if processor.scope != Scope::Plain || processor.is_tegra() || arch.names.is_empty() {
                continue;
            }
            let covers = |(other, of_other): &(&Processor, &OfArch)| {
                other.scope == Scope::Plain
                    && other.number < processor.number
                    && !other.is_tegra()
                    && other.runs_on(*processor).is_ok()
                    && arch.names.is_subset(&of_other.names)
            };
            if let Some((other, _)) = archs.iter().rev().find(covers) {
                found.push(Redundant {
                    kind: Kind::CoveredArch,
                    library: Some(library),
                    what: format!("{processor} repeats {} kernels of {other}", arch.names.len()),
                    images: arch.images,
                    kernels: arch.names.len(),
                    saves: Some(arch.stored),
                    costs: format!(
                        "its devices run the machine code of {other}, which is not tuned for them"
                    ),
                });
            }
        }
    }
    found
}

fn same_images(inventory: &Inventory) -> Vec<Redundant> {
    let mut seen = HashSet::new();
    let (mut images, mut kernels, mut stored) = (0, 0, 0);
    for image in &inventory.images {
        let Some(digest) = image.digest else { continue };
        if !seen.insert((digest, image.image.target.arch.clone())) {
            images += 1;
            kernels += image.kernels.len();
            stored += image.stored;
        }
    }
    let redundant = Redundant {
        kind: Kind::SameImage,
        library: None,
        what: format!("{images} images are copies of others"),
        images,
        kernels,
        saves: Some(stored),
        costs: "nothing on the device: a program that registers each needs another way to reach the first"
            .to_owned(),
    };
    match images {
        0 => Vec::new(),
        _ => vec![redundant],
    }
}

fn same_kernels(inventory: &Inventory) -> Vec<Redundant> {
    let mut found = Vec::new();
    for (library, images) in by_library(inventory) {
        // The largest copy of each stays.
        let mut largest = HashMap::<(String, ImageFormat, NameId), u64>::new();
        let mut digests = HashSet::new();
        let (mut copies, mut bytes) = (0, 0_u64);
        let mut touched = BTreeSet::new();
        for image in images {
            if image.digest.is_some_and(|digest| !digests.insert(digest)) {
                continue;
            }
            let arch = image.arch();
            let kernels = inventory.kernels_of(image);
            let code = Kernel::code_of(kernels);
            for kernel in kernels {
                let share = match code {
                    0 => image.stored / kernels.len() as u64,
                    code => (u128::from(image.stored) * u128::from(kernel.code()) / u128::from(code)) as u64,
                };
                let key = (arch.clone(), image.image.format, kernel.name);
                match largest.get_mut(&key) {
                    None => _ = largest.insert(key, share),
                    Some(kept) => {
                        copies += 1;
                        bytes += share.min(*kept);
                        *kept = share.max(*kept);
                        touched.insert(kernel.image);
                    }
                }
            }
        }
        if copies > 0 {
            found.push(Redundant {
                kind: Kind::SameKernels,
                library: Some(library),
                what: format!("{copies} kernels are there again in other images of the same architecture"),
                images: touched.len(),
                kernels: copies,
                saves: Some(bytes),
                costs:
                    "a template that several sources use: instantiate it in one (the bytes are an estimate)"
                        .to_owned(),
            });
        }
    }
    found
}

fn same_libraries(inventory: &Inventory) -> Vec<Redundant> {
    let mut libraries = HashMap::<Vec<[u8; 32]>, Vec<usize>>::new();
    for (library, images) in by_library(inventory) {
        let digests: Option<Vec<_>> = images.iter().map(|image| image.digest).collect();
        if let Some(digests) = digests {
            libraries.entry(digests).or_default().push(library);
        }
    }
    let mut found: Vec<_> = libraries
        .into_values()
        .filter(|same| same.len() > 1)
        .map(|same| {
            let [first, copies @ ..] = same.as_slice() else {
                unreachable!("there are two at least")
            };
            let names: Vec<_> = copies
                .iter()
                .map(|copy| inventory.libraries[*copy].name())
                .collect();
            Redundant {
                kind: Kind::SameLibrary,
                library: None,
                what: format!(
                    "{} has the device code of {}",
                    names.join(", "),
                    inventory.libraries[*first].name()
                ),
                images: 0,
                kernels: 0,
                saves: Some(copies.iter().map(|copy| inventory.libraries[*copy].stored).sum()),
                costs: "nothing, if one of them can be a link to the other".to_owned(),
            }
        })
        .collect();
    found.sort_by(|one, other| one.what.cmp(&other.what));
    found
}

fn compression(inventory: &Inventory) -> Vec<Redundant> {
    /// CUDA's own tools store smaller images as they are.
    const WORTH_IT: u64 = 1 << 14;
    let mut sums = BTreeMap::<&str, (usize, u64)>::new();
    for image in &inventory.images {
        if image.image.container != ContainerKind::Fatbin || image.stored < WORTH_IT {
            continue;
        }
        let name = match image.image.compression() {
            Some(Compression::Lz4) => "by LZ4",
            None => "as they are",
            _ => continue,
        };
        let sum = sums.entry(name).or_default();
        sum.0 += 1;
        sum.1 += image.stored;
    }
    let sums = sums.into_iter().filter(|(_, (_, bytes))| *bytes > 0);
    sums.map(|(how, (images, bytes))| Redundant {
        kind: Kind::Compression,
        library: None,
        what: format!("{images} images of fatbins, {bytes} bytes, are stored {how} and not by zstd"),
        images,
        kernels: 0,
        saves: None,
        costs: "zstd needs NVIDIA's driver 550.54.14 or later".to_owned(),
    })
    .collect()
}

/// What becomes of devices when an architecture's images are taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removal {
    /// The architecture.
    pub arch: String,
    /// What its images are.
    pub format: ImageFormat,
    /// How many.
    pub images: usize,
    /// The bytes in the libraries that would go.
    pub stored: u64,
    /// Whether there are devices that were asked: of some kinds none is listed.
    pub is_known: bool,
    /// Devices that had machine code and would have code that their driver compiles.
    pub fall_to_jit: Vec<String>,
    /// Devices that would have no code at all.
    pub lose_all: Vec<String>,
}

/// The kinds of devices that may take an image: those of its own, and those whose drivers compile it.
fn takers(image: &Listed) -> Vec<Family> {
    match image.image.target.family() {
        Family::Spirv64 => vec![Family::Spirv64, Family::IntelGpu, Family::Amdgcn],
        family => vec![family],
    }
}

/// The price of taking out each architecture, the largest first: for each library whether its devices still have an
/// image. Whether every kernel is in one, [`check`](mod@crate::check) says.
#[must_use]
pub fn removals(inventory: &Inventory) -> Vec<Removal> {
    let libraries = by_library(inventory);
    let mut keys = BTreeMap::<(String, ImageFormat), Removal>::new();
    for image in &inventory.images {
        let key = (image.arch(), image.image.format);
        let removal = keys.entry(key.clone()).or_insert_with(|| Removal {
            arch: key.0,
            format: key.1,
            images: 0,
            stored: 0,
            is_known: takers(image)
                .into_iter()
                .any(|family| !Device::known(family).is_empty()),
            fall_to_jit: Vec::new(),
            lose_all: Vec::new(),
        });
        removal.images += 1;
        removal.stored = removal.stored.saturating_add(image.stored);
    }
    let families: BTreeSet<Family> = inventory.images.iter().flat_map(takers).collect();
    let mut devices: Vec<Device> = families.into_iter().flat_map(Device::known).collect();
    // Of what demands a feature only devices with that feature say whether it is missed.
    let demanding = inventory.images.iter().map(|image| &image.image.target);
    let demanding: HashSet<_> = demanding.filter(|target| !target.features.is_empty()).collect();
    devices.extend(demanding.into_iter().cloned().map(Device::new));
    for ((arch, format), removal) in &mut keys {
        for device in &devices {
            let mut worst = None;
            for images in libraries.values() {
                let best = |without: bool| {
                    let mut seen = HashSet::new();
                    let distinct = images.iter().filter(|image| {
                        let is_it = image.image.format == *format && image.arch() == *arch;
                        !(without && is_it) && seen.insert((&image.image.target, image.image.format))
                    });
                    let runs = distinct.filter_map(|image| image.image.runs_on(device).runs.ok());
                    runs.min()
                };
                worst = worst.max(match (best(false), best(true)) {
                    (Some(_), None) => Some(2),
                    (Some(Run::Native), Some(Run::Compiled)) => Some(1),
                    _ => None,
                });
            }
            match worst {
                Some(2) => removal.lose_all.push(device.to_string()),
                Some(_) => removal.fall_to_jit.push(device.to_string()),
                None => {}
            }
        }
    }
    let mut removals: Vec<_> = keys.into_values().collect();
    removals.sort_by_key(|removal| std::cmp::Reverse(removal.stored));
    removals
}
