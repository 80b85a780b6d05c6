//! What devices and kernels lose when images go.

use std::collections::{BTreeMap, BTreeSet};

use offkit_image::target::{Device, DriverVersion, Run};
use offkit_image::{ContainerKind, DeviceImage, Limits, Location, Target};

use crate::inspect::Inspect;
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
            let [staying, going] = groups.entry(container_of(image)).or_default();
            let list = if goes(image) { going } else { staying };
            list.push(image);
        }
        groups.retain(|_, [_, going]| !going.is_empty());
        let mut losses = Self::default();
        for (place, [staying, going]) in &groups {
            losses.add_devices(staying, going);
            let is_portable = |image: &&DeviceImage<'_>| image.format.is_portable();
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
            if choose(&all, &device).is_none_or(|(_, run, _)| run != Run::Native) {
                continue;
            }
            let loss = self.devices.entry(image.target.clone()).or_default();
            let count = match choose(staying, &device) {
                Some((_, Run::Native, _)) => &mut loss.native,
                Some((_, Run::Compiled, least)) => {
                    loss.least_driver = loss.least_driver.max(least);
                    &mut loss.compiled
                }
                None => &mut loss.none,
            };
            *count = count.saturating_add(1);
        }
    }
}

/// The image that a device takes, and how: of NVIDIA's the highest number that fits, whether machine code or PTX, and at
/// one number machine code; of all others what needs no compiler.
fn choose<'i, 'data>(
    images: &[&'i DeviceImage<'data>],
    device: &Device,
) -> Option<(&'i DeviceImage<'data>, Run, Option<DriverVersion>)> {
    let fitting = images.iter().filter_map(|image| {
        let verdict = image.runs_on(device);
        let run = verdict.runs.ok()?;
        // Code that demands a feature is not code for all devices of which the feature is not known.
        if image.target.unmet_demand(&device.target).is_some() {
            return None;
        }
        Some((*image, run, verdict.least_driver))
    });
    fitting.max_by_key(|(image, run, _)| {
        let is_nvidia = image.target.family().is_nvptx();
        let number = image
            .target
            .processor_number()
            .trim_end_matches(|c: char| !c.is_ascii_digit());
        let number: u32 = number.parse().ok().filter(|_| is_nvidia).unwrap_or_default();
        (number, *run == Run::Native)
    })
}

/// The kernels of images that go which no image has that stays.
fn lost_kernels(
    staying: &[&DeviceImage<'_>],
    going: &[&DeviceImage<'_>],
    limits: &Limits,
) -> BTreeSet<String> {
    // Of each image only the names are kept, not what comes out of decompression.
    let names = |image: &DeviceImage<'_>| image.clone().symbols(limits).kernels;
    let mut lost: BTreeSet<String> = going.iter().flat_map(|image| names(image)).collect();
    for image in staying {
        if lost.is_empty() {
            break;
        }
        for name in names(image) {
            lost.remove(&name);
        }
    }
    lost
}

/// What an image is in, beside those that stand for it.
fn container_of(image: &DeviceImage<'_>) -> Location {
    let location = &image.location;
    // Programs have a descriptor for code that is compiled ahead of time and another for the same as SPIR-V.
    let levels = match image.container {
        ContainerKind::SyclWrapped => 2,
        _ => 1,
    };
    let count = location.depth().saturating_sub(levels);
    let whole = Location::of_file(location.file());
    location
        .parts()
        .take(count)
        .fold(whole, |place, part| place.join(part))
}
