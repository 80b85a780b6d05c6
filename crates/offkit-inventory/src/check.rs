//! Which kernels run on which devices; of an inventory without kernels, which containers have an image that does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::str::FromStr;

use offkit_image::target::{Device, DriverVersion, Misfit, Rank, Run, Verdict};
use offkit_image::{ImageFormat, Location};

use crate::inventory::{Inventory, Listed};
use crate::names::NameId;

/// A device that code is to run on, and how well.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// The device.
    pub device: Device,
    /// Whether code that its driver compiles must be there besides, for devices to come: `sm_80+ptx`.
    pub with_portable: bool,
    /// Whether only machine code counts.
    pub native_only: bool,
}

impl Wanted {
    /// A device that is to have code of any kind.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self {
            device,
            with_portable: false,
            native_only: false,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> String {
        match self.with_portable {
            true => format!("{}+ptx", self.device),
            false => self.device.to_string(),
        }
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = ["+ptx", "+PTX"].iter().find_map(|end| text.strip_suffix(end));
        let device = Device::named(plain.unwrap_or(text)).ok_or_else(|| {
            format!(
                "`{text}` is not a known device: expected a processor, a compute capability or a product, such as \
                 `sm_80+ptx`, `9.0`, `gfx90a`, `intel_gpu_pvc` or `h100`"
            )
        })?;
        Ok(Self {
            with_portable: plain.is_some(),
            ..Self::new(device)
        })
    }
}

/// What a verdict is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Subject {
    /// A kernel.
    Kernel(NameId),
    /// The images among which a device chooses, where kernels were not looked into: see [`choice`].
    ///
    /// [`choice`]: offkit_image::DeviceImage::choice
    Container(Location),
}

impl Subject {
    /// What it is called: a kernel as its author wrote it, a container by the way to it.
    #[must_use]
    pub fn readable<'a>(&'a self, inventory: &'a Inventory) -> &'a str {
        match self {
            Self::Kernel(name) => inventory.names.readable(*name),
            Self::Container(place) if place.is_file() => place.file(),
            Self::Container(place) => place.path(),
        }
    }
}

/// What a device gets of one library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The number of the library.
    pub library: usize,
    /// The number of the wanted device.
    pub wanted: usize,
    /// How many kernels the library has, for any device; of an inventory without kernels, how many containers. What
    /// follows counts the same.
    pub subjects: usize,
    /// How many of them run as they are.
    pub native: usize,
    /// How many are compiled by the driver.
    pub compiled: usize,
    /// The architectures whose code runs as it is.
    pub native_archs: Vec<String>,
    /// The oldest driver that takes all of it, where that is known.
    pub least_driver: Option<DriverVersion>,
    /// Why it is probable rather than certain.
    pub doubts: Vec<&'static str>,
    /// What becomes of each, kernels in the order of their symbols: how it runs, or that it does not.
    pub verdicts: Vec<(Subject, Option<Run>)>,
    /// Those without code, and why.
    pub holes: Vec<(Subject, Misfit)>,
    /// How many kernels may be without code by a policy: see [`waive`](crate::findings::waive).
    pub waived: usize,
    /// How many kernels lack code that a driver compiles, where that is wanted.
    pub without_portable: usize,
}

impl Coverage {
    /// Whether the device gets what is wanted.
    #[must_use]
    pub fn is_met(&self, wanted: &Wanted) -> bool {
        self.holes.is_empty()
            && (!wanted.native_only || self.compiled == 0)
            && (!wanted.with_portable || self.without_portable == 0)
    }
}

/// What all devices get of all libraries that have code of their vendor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// One for each library and device that have something to do with each other.
    pub coverage: Vec<Coverage>,
    /// The numbers of wanted devices of whose kind no library has any code.
    pub nothing_for: Vec<usize>,
    /// The numbers of images of which no kernel is known, for they could not be read or are linked later: no verdict
    /// covers these.
    pub without_kernels: Vec<usize>,
}

impl Check {
    /// Whether every device gets what is wanted.
    #[must_use]
    pub fn is_met(&self, wanted: &[Wanted]) -> bool {
        self.nothing_for.is_empty()
            && self
                .coverage
                .iter()
                .all(|coverage| coverage.is_met(&wanted[coverage.wanted]))
    }
}

/// Finds out which kernels run on which devices. Where the inventory was collected without kernels, the verdicts are
/// about containers: a device that has an image in each may still lack kernels that only other images have.
#[must_use]
pub fn check(inventory: &Inventory, wanted: &[Wanted]) -> Check {
    let mut libraries = BTreeMap::<usize, Vec<&Listed>>::new();
    let mut check = Check::default();
    for (number, image) in inventory.images.iter().enumerate() {
        libraries.entry(image.library).or_default().push(image);
        let may_have_kernels = inventory.has_kernels && !image.image.target.family().is_host();
        if may_have_kernels && image.kernels.is_empty() {
            check.without_kernels.push(number);
        }
    }
    for (place, wanted) in wanted.iter().enumerate() {
        let before = check.coverage.len();
        for (library, images) in &libraries {
            if let Some(coverage) = coverage(inventory, images, wanted) {
                check.coverage.push(Coverage {
                    library: *library,
                    wanted: place,
                    ..coverage
                });
            }
        }
        if check.coverage.len() == before {
            check.nothing_for.push(place);
        }
    }
    check
}

/// An image, and what a device makes of it.
struct Judged<'a> {
    image: &'a Listed,
    verdict: Verdict,
}

/// What a device makes of images: of containers of which it loads one image, it takes that of the highest rank alone.
fn judge<'a>(images: &[&'a Listed], device: &Device) -> Vec<Judged<'a>> {
    let judged = images.iter().map(|&image| {
        let verdict = image.image.runs_on(device);
        // Only what was looked into has a digest.
        let verdict = match image.digest.is_none() && image.image.format == ImageFormat::Spirv {
            true => verdict.with_unknown_needs(device),
            false => verdict.with_needs(&image.aspects, device),
        };
        Judged { image, verdict }
    });
    let mut judged: Vec<_> = judged.collect();
    // In two passes: the best of a container is known only when all of its images have been judged.
    let mut taken = HashMap::<Location, Rank>::new();
    let choice = |one: &Judged<'_>| {
        let image = &one.image.image;
        (image.container.loads_one() && one.verdict.runs.is_ok()).then(|| image.choice())
    };
    for one in &judged {
        if let Some(choice) = choice(one) {
            let best = taken.entry(choice).or_insert(one.verdict.rank);
            *best = one.verdict.rank.max(*best);
        }
    }
    for one in &mut judged {
        let best = choice(one).and_then(|choice| taken.get(&choice));
        if best.is_some_and(|best| one.verdict.rank < *best) {
            one.verdict.runs = Err(Misfit::PassedOver);
        }
    }
    judged
}

/// What a device gets of one kernel or container.
struct Gets {
    /// The number of the image that it takes.
    taken: Option<usize>,
    has_portable: bool,
    /// Why it takes no other.
    reason: Misfit,
}

/// What a device gets of one library; `None` where all of its code is of other kinds of devices.
fn coverage(inventory: &Inventory, images: &[&Listed], wanted: &Wanted) -> Option<Coverage> {
    let judged = judge(images, &wanted.device);
    let mut all = HashMap::<Subject, Gets>::new();
    let mut is_of_kind = false;
    for (number, Judged { image, verdict }) in judged.iter().enumerate() {
        // Every other reason means that the library has code of this kind, and lacks the right one.
        is_of_kind |= !matches!(verdict.runs, Err(Misfit::Architecture | Misfit::Format));
        // PTX is there for devices to come where this one has something better.
        let is_portable =
            image.image.is_for_devices_to_come() && matches!(verdict.runs, Ok(_) | Err(Misfit::PassedOver));
        for subject in subjects(inventory, image) {
            let gets = all.entry(subject).or_insert(Gets {
                taken: None,
                has_portable: false,
                reason: Misfit::Architecture,
            });
            gets.has_portable |= is_portable;
            match &verdict.runs {
                Ok(_) => {
                    let best = gets.taken.map(|taken| judged[taken].verdict.rank);
                    // Of equal ones the first stays, as it is the one that devices take.
                    if best.is_none_or(|best| verdict.rank > best) {
                        gets.taken = Some(number);
                    }
                }
                Err(reason) if telling(reason) > telling(&gets.reason) => {
                    gets.reason = reason.clone();
                }
                Err(_) => {}
            }
        }
    }
    if !is_of_kind || all.is_empty() {
        return None;
    }
    let mut coverage = Coverage {
        subjects: all.len(),
        ..Coverage::default()
    };
    let mut taken = BTreeSet::new();
    for (subject, gets) in all {
        coverage.without_portable += usize::from(wanted.with_portable && !gets.has_portable);
        let run = gets
            .taken
            .and_then(|number| judged[number].verdict.runs.clone().ok());
        match run {
            Some(Run::Native) => coverage.native += 1,
            Some(Run::Compiled) => coverage.compiled += 1,
            None => coverage.holes.push((subject.clone(), gets.reason)),
        }
        coverage.verdicts.push((subject, run));
        taken.extend(gets.taken);
    }
    // By symbols, which are there as they are: to make readable names of all takes long.
    let order = |one: &Subject, other: &Subject| match (one, other) {
        (Subject::Kernel(one), Subject::Kernel(other)) => {
            inventory.names.symbol(*one).cmp(inventory.names.symbol(*other))
        }
        _ => one.readable(inventory).cmp(other.readable(inventory)),
    };
    coverage.verdicts.sort_by(|one, other| order(&one.0, &other.0));
    coverage.holes.sort_by(|one, other| order(&one.0, &other.0));
    for Judged { image, verdict } in taken.into_iter().map(|number| &judged[number]) {
        coverage.least_driver = coverage.least_driver.max(verdict.least_driver);
        coverage.doubts.extend(verdict.doubt);
        let arch = image.arch();
        if verdict.is_native() && !coverage.native_archs.contains(&arch) {
            coverage.native_archs.push(arch);
        }
    }
    coverage.native_archs.sort();
    coverage.doubts.sort_unstable();
    coverage.doubts.dedup();
    Some(coverage)
}

/// What verdicts about an image are about.
fn subjects<'a>(inventory: &'a Inventory, image: &'a Listed) -> impl Iterator<Item = Subject> + 'a {
    let kernels = inventory.kernels_of(image).iter();
    let is_code = !image.image.target.family().is_host();
    let container = (!inventory.has_kernels && is_code).then(|| Subject::Container(image.image.choice()));
    kernels
        .map(|kernel| Subject::Kernel(kernel.name))
        .chain(container)
}

/// How much a reason says of what is to be done about it.
fn telling(reason: &Misfit) -> u8 {
    // A kernel is in many images, and one reason is told: that of the image which came nearest to
    // running, for the others would be no help.
    match reason {
        Misfit::PassedOver => 8,
        Misfit::Driver { .. } => 7,
        Misfit::SpirvVersion { .. } | Misfit::Aspect(_) | Misfit::Demand(_) | Misfit::Feature(_) => 6,
        Misfit::Older => 5,
        Misfit::OnlyOne | Misfit::OtherFamily => 4,
        Misfit::OtherMajor | Misfit::Processor => 3,
        Misfit::Format | Misfit::System => 2,
        _ => 1,
    }
}
