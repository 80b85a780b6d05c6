//! What could go, what that would save, and what it would cost.
//!
//! Savings overlap: an image that is there twice may also be covered by another architecture's.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use offkit_image::target::nvidia::{Processor, Scope};
use offkit_image::target::{Device, Family, Run, triples};
use offkit_image::{Compression, ContainerKind, ImageFormat, Location, Storage, Target};

use crate::inventory::{Inventory, Kernel, Listed, part, sum};
use crate::names::NameId;
use crate::words::count;

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
    // What nobody knows without trying comes last, as `None` is less than any number.
    found.sort_by_key(|redundant| (std::cmp::Reverse(redundant.saves), redundant.kind));
    found
}

/// The library that something is in, unless that is in several.
fn the_only(libraries: &BTreeSet<usize>) -> Option<usize> {
    match libraries.len() {
        1 => libraries.first().copied(),
        _ => None,
    }
}

/// The images of each library that has some.
pub(crate) fn by_library(inventory: &Inventory) -> BTreeMap<usize, Vec<&Listed>> {
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
            arch.stored = arch.stored.saturating_add(image.stored);
        }
        /// No toolchain knows nearly as many, and for each all images are judged.
        const MOST: usize = 256;
        for (processor, arch) in archs.iter().take(MOST) {
            // Without any kernel it would seem to be a part of everything.
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
            // Where there is PTX of a higher number than the other's, devices take that, and compile it.
            let is_other = |image: &&&Listed| {
                let is_it = Processor::of(&image.image.target) == Some(*processor);
                !(is_it && image.image.format == ImageFormat::Cubin)
            };
            let stays_native = || {
                let device = Device::new(Target::new(triples::NVPTX64, &processor.to_string()));
                let rest = images.iter().filter(is_other).map(|image| &image.image);
                device.takes(rest).is_some_and(|(_, verdict)| verdict.is_native())
            };
            // From the newest on: of those that cover it, devices take the one of the highest number.
            if let Some((other, _)) = archs.iter().rev().find(covers).filter(|_| stays_native()) {
                found.push(Redundant {
                    kind: Kind::CoveredArch,
                    library: Some(library),
                    what: format!(
                        "{processor} repeats {} of {other}",
                        count(arch.names.len(), "kernel")
                    ),
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
    let mut seen = HashMap::new();
    let mut libraries = BTreeSet::new();
    let (mut images, mut kernels, mut stored) = (0, 0, 0_u64);
    for (number, image) in inventory.images.iter().enumerate() {
        let Some(digest) = image.digest else { continue };
        // With the architecture: the same bytes under another one are what other devices look for,
        // and would be missed.
        let first = *seen
            .entry((digest, image.image.target.arch.clone()))
            .or_insert(number);
        if first != number {
            libraries.extend([image.library, inventory.images[first].library]);
            images += 1;
            kernels += image.kernels.len();
            stored = stored.saturating_add(image.stored);
        }
    }
    let redundant = Redundant {
        kind: Kind::SameImage,
        library: the_only(&libraries),
        what: match images {
            1 => "1 image is a copy of another".to_owned(),
            _ => format!("{images} images are copies of others"),
        },
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
        let mut largest = HashMap::<(String, ImageFormat), HashMap<NameId, u64>>::new();
        let mut digests = HashSet::new();
        let (mut copies, mut bytes) = (0, 0_u64);
        let mut touched = BTreeSet::new();
        for image in images {
            // Copies of whole images are said elsewhere.
            if image.digest.is_some_and(|digest| !digests.insert(digest)) {
                continue;
            }
            let largest = largest.entry((image.arch(), image.image.format)).or_default();
            let kernels = inventory.kernels_of(image);
            let code = Kernel::code_of(kernels);
            for kernel in kernels {
                let share = match code {
                    // Where no code has a size, all kernels count alike.
                    0 => image.stored / kernels.len() as u64,
                    code => part(image.stored, kernel.code(), code),
                };
                match largest.get_mut(&kernel.name) {
                    None => _ = largest.insert(kernel.name, share),
                    Some(kept) => {
                        copies += 1;
                        bytes = bytes.saturating_add(share.min(*kept));
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
                what: match copies {
                    1 => "1 kernel is there again in another image of the same architecture".to_owned(),
                    _ => format!("{copies} kernels are there again in other images of the same architecture"),
                },
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
    let mut libraries = HashMap::<Vec<u128>, Vec<usize>>::new();
    for (library, images) in by_library(inventory) {
        // One image that could not be unpacked leaves open whether all is the same.
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
            let names: Vec<_> = copies.iter().map(|copy| inventory.library_name(*copy)).collect();
            Redundant {
                kind: Kind::SameLibrary,
                library: None,
                what: format!(
                    "{} has the device code of {}",
                    names.join(", "),
                    inventory.library_name(*first)
                ),
                images: 0,
                kernels: 0,
                saves: Some(sum(copies.iter().map(|copy| inventory.libraries[*copy].stored))),
                costs: "nothing, if one of them can be a link to the other".to_owned(),
            }
        })
        .collect();
    // The map has another order each time, and reports of two builds are compared.
    found.sort_by(|one, other| one.what.cmp(&other.what));
    found
}

fn compression(inventory: &Inventory) -> Vec<Redundant> {
    /// CUDA's own tools store smaller images as they are.
    const WORTH_IT: u64 = 1 << 14;
    let mut sums = BTreeMap::<&str, (usize, u64, BTreeSet<usize>)>::new();
    for image in &inventory.images {
        if image.image.container != ContainerKind::Fatbin || image.stored < WORTH_IT {
            continue;
        }
        // The fatbin's own compression, and not that of a wheel around it.
        let name = match image.image.storage() {
            Storage::Compressed(Compression::Lz4) => "by LZ4",
            Storage::Plain | Storage::Within(_) => "uncompressed",
            Storage::Compressed(_) => continue,
        };
        let sum = sums.entry(name).or_default();
        sum.0 += 1;
        sum.1 = sum.1.saturating_add(image.stored);
        sum.2.insert(image.library);
    }
    let sums = sums.into_iter().filter(|(_, (_, bytes, _))| *bytes > 0);
    sums.map(|(how, (images, bytes, libraries))| Redundant {
        kind: Kind::Compression,
        library: the_only(&libraries),
        what: match images {
            1 => format!("1 image of a fatbin, {bytes} bytes, is stored {how} and not by zstd"),
            _ => format!("{images} images of fatbins, {bytes} bytes, are stored {how} and not by zstd"),
        },
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

/// What is taken out together: an architecture, and what its images are.
type Key = (String, ImageFormat);

/// Images among which devices choose, one of each target and format: in a library with hundreds of fatbins all are
/// alike, and count once.
fn choices(inventory: &Inventory) -> Vec<Vec<&Listed>> {
    let mut choices = BTreeMap::<(usize, Location), BTreeMap<(&Target, ImageFormat), &Listed>>::new();
    for image in &inventory.images {
        let choice = choices.entry((image.library, image.image.choice())).or_default();
        choice
            .entry((&image.image.target, image.image.format))
            .or_insert(image);
    }
    let distinct: BTreeMap<Vec<_>, Vec<&Listed>> = choices
        .into_values()
        .map(|choice| choice.into_iter().unzip())
        .collect();
    distinct.into_values().collect()
}

/// The price of taking out each architecture, the largest first: whether devices still have an image in every fatbin,
/// every bundle and every program. Whether every kernel is in one, [`check`](mod@crate::check) says.
#[must_use]
pub fn removals(inventory: &Inventory) -> Vec<Removal> {
    let key = |image: &Listed| (image.arch(), image.image.format);
    let with_key = |image| (image, key(image));
    let choices = choices(inventory).into_iter();
    let choices: Vec<Vec<(&Listed, Key)>> = choices
        .map(|images| images.into_iter().map(with_key).collect())
        .collect();
    let mut keys = BTreeMap::<Key, Removal>::new();
    for image in &inventory.images {
        let key = key(image);
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
    // Of what demands a feature only devices with that feature say whether it is missed. No program has nearly as many
    // of these, but each asks for a look at all images.
    const MOST: usize = 256;
    let demanding = inventory.images.iter().map(|image| &image.image.target);
    let demanding: BTreeSet<_> = demanding.filter(|target| !target.features.is_empty()).collect();
    devices.extend(demanding.into_iter().take(MOST).cloned().map(Device::new));
    for device in &devices {
        // What it loses by taking out each: all code, or else the machine code. A device is as badly off as by the worst
        // of all choices, for a program needs an image of each.
        let mut losses = BTreeMap::<&Key, bool>::new();
        for images in &choices {
            let taken = |without: Option<&Key>| {
                let staying = images.iter().filter(|(_, key)| without != Some(key));
                let (image, verdict) = device.takes(staying.map(|(listed, _)| &listed.image))?;
                Some((image, verdict.runs.ok()?))
            };
            // Of all keys only that of what the device takes is missed.
            let Some((best, run)) = taken(None) else { continue };
            let is_best = |(listed, _): &&(&Listed, Key)| std::ptr::eq(&listed.image, best);
            let Some((_, key)) = images.iter().find(is_best) else {
                continue;
            };
            let loses_all = match (run, taken(Some(key))) {
                (_, None) => true,
                (Run::Native, Some((_, Run::Compiled))) => false,
                _ => continue,
            };
            *losses.entry(key).or_default() |= loses_all;
        }
        for (key, loses_all) in losses {
            if let Some(removal) = keys.get_mut(key) {
                match loses_all {
                    true => removal.lose_all.push(device.to_string()),
                    false => removal.fall_to_jit.push(device.to_string()),
                }
            }
        }
    }
    let mut removals: Vec<_> = keys.into_values().collect();
    removals.sort_by_key(|removal| std::cmp::Reverse(removal.stored));
    removals
}

#[cfg(test)]
mod tests {
    use offkit_image::{Code, DeviceImage};

    use super::*;

    fn cubin(arch: &str) -> DeviceImage<'static> {
        let mut image = DeviceImage::of_format(b"".as_slice(), ImageFormat::Cubin);
        image.target = Target::named(arch);
        image.container = ContainerKind::Fatbin;
        image
    }

    /// Images of one fatbin, each of which takes so many bytes.
    fn inventory(images: impl IntoIterator<Item = DeviceImage<'static>>, stored: u64) -> Inventory {
        let fatbin = Location::of_file("lib.so").join(".nv_fatbin").join(0);
        let listed = |(number, mut image): (usize, DeviceImage<'static>)| {
            image.location = fatbin.join(number);
            Listed {
                image,
                library: 0,
                stored,
                is_share: false,
                size: stored,
                kernels: 0..0,
                digest: None,
                aspects: Vec::new(),
            }
        };
        Inventory {
            images: images.into_iter().enumerate().map(listed).collect(),
            ..Inventory::default()
        }
    }

    #[test]
    fn a_package_that_is_compressed_makes_no_compressed_fatbin() {
        let found = |code: Code<'static>| {
            let mut image = cubin("sm_80");
            image.code = code;
            let found = redundancy(&inventory([image], 1 << 20));
            found.first().map(|one| one.what.clone())
        };
        let deflated = found(Code::within(b"", Compression::Deflate)).unwrap();
        assert!(deflated.contains("stored uncompressed"), "{deflated}");
        let gone = |method| Code::compressed(b"", method, 1, |_, _, _| Ok(vec![0]));
        assert!(found(gone(Compression::Lz4)).unwrap().contains("by LZ4"));
        assert_eq!(found(gone(Compression::Zstd)), None);
    }

    #[test]
    fn very_many_architectures_are_judged_in_no_time() {
        const MANY: u32 = 1 << 12;
        let mut ptx = cubin("sm_70");
        ptx.format = ImageFormat::Ptx;
        let many = (0..MANY).map(|number| cubin(&format!("sm_{}", 100_000 + number)));
        let inventory = inventory(many.chain([cubin("sm_80"), ptx]), 1);
        let removals = removals(&inventory);
        assert_eq!(removals.len(), MANY as usize + 2);
        let of = |arch: &str| removals.iter().find(|removal| removal.arch == arch).unwrap();
        assert_eq!(of("sm_80").fall_to_jit, ["sm_80", "sm_86", "sm_87", "sm_89"]);
        assert!(of("sm_80").lose_all.is_empty());
        assert!(of("sm_70").lose_all.contains(&"sm_90".to_owned()));
        let other = of("sm_100000");
        assert!(other.fall_to_jit.is_empty() && other.lose_all.is_empty());
    }
}
