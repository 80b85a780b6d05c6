//! What devices and kernels lose when images go.

use std::collections::{BTreeMap, BTreeSet};

use offkit_image::target::{Device, DriverVersion, Verdict};
use offkit_image::{DeviceImage, ImageFormat, Limits, Location, Storage, Target};

use crate::compression::inflate_front;
use crate::in_passing::{in_passing, with_memory};
use crate::inspect::{Inspect, SectionNames};
use crate::parallel;

/// What it costs to leave images out of a file.
///
/// Images that stand for each other are compared: those of one fatbin, one bundle or one section,
/// and all SYCL images of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Losses {
    /// Kernels that are left without any code, each with the container in which they were.
    pub kernels: Vec<(Location, String)>,
    /// Containers that are left without any image.
    pub empty: Vec<Location>,
    /// What becomes of the devices that machine code was for which goes.
    pub devices: BTreeMap<Target, DeviceLoss>,
    /// How many containers lose the last code that drivers compile, and so the way to devices to come.
    pub without_portable: usize,
}

/// What becomes of one device, by the number of containers that had machine code for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeviceLoss {
    /// It runs the machine code of another target.
    pub native: usize,
    /// Its driver has to compile the code.
    pub compiled: usize,
    /// The oldest driver that compiles all of it, where that is known.
    pub least_driver: Option<DriverVersion>,
    /// There is nothing that it runs.
    pub none: usize,
}

impl Losses {
    /// What is lost when the images go for which `goes` says so.
    ///
    /// Names of kernels are read from the images where some go: from all cores, one image a core in memory.
    #[must_use]
    pub fn of(images: &[DeviceImage<'_>], goes: impl Fn(&DeviceImage<'_>) -> bool, limits: &Limits) -> Self {
        let mut groups: BTreeMap<Location, [Vec<&DeviceImage<'_>>; 2]> = BTreeMap::new();
        for image in images {
            let [staying, going] = groups.entry(image.choice()).or_default();
            let list = if goes(image) { going } else { staying };
            list.push(image);
        }
        groups.retain(|_, [_, going]| !going.is_empty());
        let mut losses = Self::default();
        for (place, [staying, going]) in &groups {
            losses.add_devices(staying, going);
            let is_portable = |image: &&DeviceImage<'_>| image.is_for_devices_to_come();
            let had_portable = going.iter().any(is_portable);
            losses.without_portable = losses
                .without_portable
                .saturating_add(usize::from(had_portable && !staying.iter().any(is_portable)));
            if staying.is_empty() {
                losses.empty.push(place.clone());
            }
        }
        let kernels = parallel::map(groups.into_iter().collect(), 1, |(place, [staying, going])| {
            let lost = lost_kernels(&staying, &going, limits);
            lost.into_iter()
                .map(|name| (place.clone(), name))
                .collect::<Vec<_>>()
        });
        losses.kernels = kernels.into_iter().flatten().collect();
        losses
    }

    fn add_devices(&mut self, staying: &[&DeviceImage<'_>], going: &[&DeviceImage<'_>]) {
        let mut seen = BTreeSet::new();
        let all: Vec<&DeviceImage<'_>> = staying.iter().chain(going).copied().collect();
        for image in going {
            let device = Device::new(image.target.clone());
            if image.target.processor().is_empty() || !seen.insert(&image.target) {
                continue;
            }
            // Code that only a driver compiles is for no device of its own.
            if !choose(&all, &device).is_some_and(|verdict| verdict.is_native()) {
                continue;
            }
            let loss = self.devices.entry(image.target.clone()).or_default();
            let count = match choose(staying, &device) {
                Some(verdict) if verdict.is_native() => &mut loss.native,
                Some(verdict) => {
                    // The oldest driver for all of the code is the newest that any of it needs.
                    loss.least_driver = loss.least_driver.max(verdict.least_driver);
                    &mut loss.compiled
                }
                None => &mut loss.none,
            };
            *count = count.saturating_add(1);
        }
    }
}

/// The image that a device takes, and how. Code that demands a feature is not code for all devices of which the feature
/// is not known.
fn choose(images: &[&DeviceImage<'_>], device: &Device) -> Option<Verdict> {
    let is_met = |image: &&DeviceImage<'_>| image.target.unmet_demand(&device.target).is_none();
    let certain = images.iter().copied().filter(is_met);
    device.takes(certain).map(|(_, verdict)| verdict)
}

/// The names of an image's kernels. What comes out of decompression is not kept; where nothing does, there is only what
/// the container tells, if anything.
fn names(image: &DeviceImage<'_>, limits: &Limits) -> Vec<String> {
    in_passing(image, |image| image.kernels(limits))
}

/// The same by the first bytes of the image; `None` where these do not tell.
fn names_in_front(image: &DeviceImage<'_>) -> Option<Vec<String>> {
    // Where nothing has to be unpacked, the whole image tells more surely.
    let is_told = !image.kernels.is_empty() || image.code.at_hand().is_some();
    let Storage::Compressed(method) = image.storage() else {
        return None;
    };
    if is_told || image.format != ImageFormat::Cubin {
        return None;
    }
    with_memory(|front| {
        let mut names = SectionNames::default();
        let mut is_enough = |front: &[u8]| names.are_in(front);
        inflate_front(method, image.stored_bytes(), image.size(), front, &mut is_enough).ok()?;
        names.kernels(front)
    })
}

/// The kernels of images that go which no image has that stays.
fn lost_kernels(
    staying: &[&DeviceImage<'_>],
    going: &[&DeviceImage<'_>],
    limits: &Limits,
) -> BTreeSet<String> {
    let in_front = |image: &DeviceImage<'_>| names_in_front(image).unwrap_or_else(|| names(image, limits));
    let lost = without(going, staying, in_front);
    // Before anybody is told of a loss, it is made sure of.
    match lost.is_empty() {
        true => lost,
        false => without(going, staying, |image| names(image, limits)),
    }
}

/// The names of the ones without those of the others.
fn without(
    ones: &[&DeviceImage<'_>],
    others: &[&DeviceImage<'_>],
    names: impl Fn(&DeviceImage<'_>) -> Vec<String>,
) -> BTreeSet<String> {
    let mut left: BTreeSet<String> = ones.iter().flat_map(|image| names(image)).collect();
    for image in others {
        // Each more may have to be unpacked, and mostly the first ones have all the names.
        if left.is_empty() {
            break;
        }
        for name in names(image) {
            left.remove(&name);
        }
    }
    left
}
