//! Which kernels run on which devices.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

use offkit_image::target::{Device, DriverVersion, Misfit, Run, Verdict};

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
                "`{text}` is no device that is known: expected a processor, a compute capability or a product, such as \
                 `sm_80+ptx`, `9.0`, `gfx90a`, `intel_gpu_pvc` or `h100`"
            )
        })?;
        Ok(Self {
            with_portable: plain.is_some(),
            ..Self::new(device)
        })
    }
}

/// What a device gets of one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Best {
    No,
    Compiled,
    Native,
}

impl Best {
    fn run(self) -> Option<Run> {
        match self {
            Self::No => None,
            Self::Compiled => Some(Run::Compiled),
            Self::Native => Some(Run::Native),
        }
    }
}

/// What a device gets of one library.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The number of the library.
    pub library: usize,
    /// The number of the wanted device.
    pub wanted: usize,
    /// How many kernels the library has, for any device.
    pub kernels: usize,
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
    /// What becomes of each kernel, in the order of their symbols: how it runs, or that it does not.
    pub verdicts: Vec<(NameId, Option<Run>)>,
    /// The kernels without code, and why.
    pub holes: Vec<(NameId, Misfit)>,
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

/// Finds out which kernels run on which devices. The inventory must have been collected with kernels.
#[must_use]
pub fn check(inventory: &Inventory, wanted: &[Wanted]) -> Check {
    let mut libraries = BTreeMap::<usize, Vec<&Listed>>::new();
    let mut check = Check::default();
    for (number, image) in inventory.images.iter().enumerate() {
        libraries.entry(image.library).or_default().push(image);
        if image.kernels.is_empty() {
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

/// What a device gets of one library; `None` where all of its code is of other kinds of devices.
fn coverage(inventory: &Inventory, images: &[&Listed], wanted: &Wanted) -> Option<Coverage> {
    struct OfKernel {
        best: Best,
        has_portable: bool,
        reason: Misfit,
    }
    let mut kernels = HashMap::<NameId, OfKernel>::new();
    let mut coverage = Coverage {
        library: 0,
        wanted: 0,
        kernels: 0,
        native: 0,
        compiled: 0,
        native_archs: Vec::new(),
        least_driver: None,
        doubts: Vec::new(),
        verdicts: Vec::new(),
        holes: Vec::new(),
        waived: 0,
        without_portable: 0,
    };
    let mut is_of_kind = false;
    let mut verdicts = Vec::new();
    for image in images {
        let verdict = image.image.runs_on(&wanted.device);
        is_of_kind |= verdict.runs != Err(Misfit::Architecture) && verdict.runs != Err(Misfit::Format);
        let own = inventory.kernels_of(image);
        for kernel in own {
            let (best, reason) = match &verdict.runs {
                Ok(Run::Native) => (Best::Native, Misfit::Format),
                Ok(Run::Compiled) => (Best::Compiled, Misfit::Format),
                Err(reason) => (Best::No, reason.clone()),
            };
            let of_kernel = kernels.entry(kernel.name).or_insert_with(|| OfKernel {
                best,
                has_portable: false,
                reason: reason.clone(),
            });
            of_kernel.best = of_kernel.best.max(best);
            of_kernel.has_portable |= best == Best::Compiled;
            if best == Best::No && telling(&reason) > telling(&of_kernel.reason) {
                of_kernel.reason = reason;
            }
        }
        if !own.is_empty() {
            verdicts.push((*image, verdict));
        }
    }
    if !is_of_kind || kernels.is_empty() {
        return None;
    }
    coverage.kernels = kernels.len();
    for (name, of_kernel) in kernels {
        coverage.verdicts.push((name, of_kernel.best.run()));
        match of_kernel.best {
            Best::Native => coverage.native += 1,
            Best::Compiled => coverage.compiled += 1,
            Best::No => coverage.holes.push((name, of_kernel.reason)),
        }
        coverage.without_portable += usize::from(wanted.with_portable && !of_kernel.has_portable);
    }
    let by_symbol =
        |one: NameId, other: NameId| inventory.names.symbol(one).cmp(inventory.names.symbol(other));
    coverage.verdicts.sort_by(|one, other| by_symbol(one.0, other.0));
    coverage.holes.sort_by(|one, other| by_symbol(one.0, other.0));
    let is_compiled = coverage.compiled > 0;
    for (image, verdict) in verdicts {
        let Verdict {
            runs: Ok(run),
            least_driver,
            doubt,
            ..
        } = verdict
        else {
            continue;
        };
        // What is compiled where there is machine code for all is not asked of a driver.
        if run == Run::Compiled && !is_compiled {
            continue;
        }
        coverage.least_driver = coverage.least_driver.max(least_driver);
        coverage.doubts.extend(doubt);
        let arch = image.arch();
        if run == Run::Native && !coverage.native_archs.contains(&arch) {
            coverage.native_archs.push(arch);
        }
    }
    coverage.native_archs.sort();
    coverage.doubts.sort_unstable();
    coverage.doubts.dedup();
    Some(coverage)
}

/// How much a reason says of what is to be done about it.
fn telling(reason: &Misfit) -> u8 {
    match reason {
        Misfit::Driver { .. } => 7,
        Misfit::Aspect(_) | Misfit::Demand(_) | Misfit::Feature(_) => 6,
        Misfit::Older => 5,
        Misfit::OnlyOne | Misfit::OtherFamily => 4,
        Misfit::OtherMajor | Misfit::Processor => 3,
        Misfit::Format | Misfit::System => 2,
        _ => 1,
    }
}
