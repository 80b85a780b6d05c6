//! Finding the devices of this machine.

use std::fmt;
use std::path::PathBuf;
use std::slice;

use offkit_pi::BuiltIn;
use offkit_pi::below::Below;
use offkit_pi::ffi::*;
use offkit_pi::host::trace::{self, Level};
use offkit_pi::host::{Device, LoadError, Partition, PiError, Platform, Plugin};
use offkit_pi::note::is_spoken;
use offkit_pi::table::Layout;

use crate::filter::{BACKENDS, FromEnvironment, Kind, Numbers};
use crate::find::{FoundKernel, KernelId};
use crate::machine;
use crate::note;
use crate::probe::{self, Harm, LeftOut, Trial, Trust};
use crate::registry::ImageRegistry;
use crate::search::{Candidate, Origin, Place, Search};
use crate::select::{Refusal, SelectError};

/// The plugins of this process and their devices.
///
/// Plugins are loaded one after the other, when somebody asks for a device that may be the next one's. Looking for
/// devices never fails as a whole: a plugin that cannot be used is left out, and [`Runtime::failures`] says why.
#[derive(Debug, Default)]
pub struct Runtime {
    search: Search,
    /// What came of the candidates that were looked at, which are the first ones.
    outcomes: Vec<Outcome>,
    environment: FromEnvironment,
    numbers: Numbers,
    devices: Vec<FoundDevice>,
}

/// A device, as users can ask for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundDevice {
    /// The device.
    pub device: Device,
    /// What is below its plugin, as filters name it: `opencl`.
    pub backend: String,
    /// Its number among the backend's devices, from 0, hidden ones included.
    pub number: u32,
    /// For a part of that device, the way to it: `[1, 0]` for the first part of its second part.
    pub part: Vec<u32>,
}

/// What filters call it: `opencl:0`, a part of it `opencl:0.1`.
impl fmt::Display for FoundDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.backend, self.number)?;
        self.part
            .iter()
            .try_for_each(|place| write!(formatter, ".{place}"))
    }
}

/// What came of a plugin that was looked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It is in use.
    Loaded {
        /// The plugin.
        plugin: Plugin,
        /// The devices that may be seen, among [`Runtime::found`].
        devices: usize,
        /// Devices that the user's filter hides.
        hidden: usize,
        /// How it is known that it does no harm.
        trust: Trust,
        /// The versions that the note in its file says it speaks: see [`offkit_pi::note`].
        noted: Option<String>,
        /// What is below it and does harm, so that it was loaded without.
        left_out: Vec<LeftOut>,
        /// Platforms of it whose devices are not among these: [`DiscoveryFailure::Platform`].
        unlisted: Vec<DiscoveryFailure>,
        /// Devices, and parts of them, that the user's filter asks for parts of and that have none: `offkit:0`.
        undivided: Vec<String>,
    },
    /// The user's filter wants none of its devices, so it was not loaded.
    Unwanted,
    /// It lies in a folder of plugins, and this machine has nothing of the driver that it is for, so it was not loaded.
    NoDriver {
        /// The driver's library, which is in none of the folders that libraries are looked for in.
        library: &'static str,
    },
    /// It cannot be used.
    Failed(DiscoveryFailure),
}

/// Why a plugin, or what is behind it, was left out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryFailure {
    /// The plugin cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The plugin's file says that it speaks other versions, so it was not loaded.
    #[error("plugin {plugin} speaks PI {spoken}, as the note in its file says; this host speaks PI {known}")]
    Version {
        /// The plugin.
        plugin: String,
        /// The versions that it speaks.
        spoken: String,
        /// The versions that the host speaks.
        known: String,
    },
    /// The plugin would do harm, as a trial has shown.
    #[error("plugin {plugin} is not loaded: {harm}")]
    Harm {
        /// The plugin.
        plugin: String,
        /// What it does.
        harm: Harm,
    },
    /// The plugin was loaded but does not list its devices.
    #[error("plugin `{plugin}` does not list its devices")]
    Devices {
        /// The plugin.
        plugin: String,
        /// What it said.
        source: PiError,
        /// What became of the drivers or adapters below it, where it says so.
        below: Vec<Below>,
        /// What is below it and does harm, so that it was loaded without.
        left_out: Vec<LeftOut>,
    },
    /// The plugin lists devices, but none of this platform.
    #[error("plugin `{plugin}` does not list the devices of its platform `{platform}`")]
    Platform {
        /// The plugin.
        plugin: String,
        /// The platform.
        platform: String,
        /// What the plugin said.
        source: PiError,
    },
}

/// No device is what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device, or none that the environment leaves.
    #[error(
        "no devices found{}{}",
        match .chosen_by { Some((name, value)) => format!(": {name}={value} leaves none"), None => String::new() },
        if undivided.is_empty() { String::new() } else { format!(", as there are no parts of {}", undivided.join(", ")) }
    )]
    None {
        /// The variable that says which devices are used, and its value.
        chosen_by: Option<(&'static str, String)>,
        /// Devices that it asks for parts of and that have none: `offkit:0`.
        undivided: Vec<String>,
    },
    /// There are devices, but none like that.
    #[error("no device is `{selector}`; the devices are {}", .available.join(", "))]
    NotFound {
        /// What was asked for.
        selector: String,
        /// The devices there are, as they can be asked for.
        available: Vec<String>,
    },
}

/// No device runs a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// No device is what was asked for.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device that was asked for takes no image of the kernel, or one cannot be chosen.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// No device takes any image of the kernel.
    #[error("no device here takes {}; the devices are {}", .code.join(" or "), .available.join(", "))]
    NoneTakes {
        /// What the images are: `PTX for sm_80`.
        code: Vec<String>,
        /// The devices there are, as they can be asked for.
        available: Vec<String>,
        /// Why each device takes none: [`SelectError::NoneFits`].
        reasons: Vec<SelectError>,
    },
}

impl Runtime {
    /// The devices of all plugins that are found (see [`search`](crate::search)), less those that the user's filter hides
    /// (see [`filter`](crate::filter)).
    pub fn discover(built_in: &[&'static BuiltIn]) -> Self {
        let search = Search::everywhere(built_in);
        let backends: Vec<_> = search.candidates.iter().map(Candidate::counted_by).collect();
        let environment = FromEnvironment::read(&backends);
        for ignored in &environment.ignored {
            tracing::warn!("{ignored}");
        }
        Self {
            search,
            environment,
            ..Self::default()
        }
    }

    /// The devices of all plugins that are found, whatever the user's filter says.
    pub fn discover_all(built_in: &[&'static BuiltIn]) -> Self {
        Self {
            search: Search::everywhere(built_in),
            ..Self::default()
        }
    }

    /// The devices of exactly these plugins, whatever the environment says.
    pub fn with_plugins(built_in: &[&'static BuiltIn], libraries: &[PathBuf]) -> Self {
        Self {
            search: Search::only(built_in, libraries),
            ..Self::default()
        }
    }

    /// Looks at the next candidate; `false` if there is none.
    fn load_next(&mut self) -> bool {
        let Some(candidate) = self.search.candidates.get(self.outcomes.len()) else {
            return false;
        };
        let filter = &self.environment.filter;
        let is_wanted = match &candidate.backend {
            Some(backend) => filter.wants(backend),
            // Any that is not offkit's own, or its name: what it is, its platforms will say.
            None => {
                let mut others = BACKENDS.iter().filter(|name| **name != "offkit");
                others.any(|name| filter.wants(name)) || filter.wants(&candidate.counted_by())
            }
        };
        // Not where somebody named the plugin: then it is loaded, and says itself what is missing.
        let absent = || match (&candidate.origin, candidate.backend.as_deref()) {
            (Origin::Folder(_), Some("cuda")) => machine::absent_driver_of_nvidia(),
            _ => None,
        };
        let outcome = match (is_wanted, absent()) {
            (false, _) => Outcome::Unwanted,
            (true, Some(library)) => Outcome::NoDriver { library },
            (true, None) => self.load(&candidate.clone()).unwrap_or_else(|failure| {
                tracing::warn!(%failure, "a plugin was left out");
                Outcome::Failed(failure)
            }),
        };
        self.outcomes.push(outcome);
        if self.outcomes.len() == self.search.candidates.len() && self.devices.is_empty() {
            trace::line(Level::All, "No Plugins Found.");
        }
        true
    }

    fn load(&mut self, candidate: &Candidate) -> Result<Outcome, DiscoveryFailure> {
        // What costs least comes first, and what may do harm last: the note is read without running anything, a trial
        // runs in another process, and only what has passed both is loaded here.
        let refused = || {
            let plugin = candidate.name();
            trace::left_out(&plugin);
            plugin
        };
        let noted = note::versions(&candidate.place);
        if let Some(spoken) = &noted
            && !is_spoken(spoken)
        {
            return Err(DiscoveryFailure::Version {
                plugin: refused(),
                spoken: spoken.split_whitespace().collect::<Vec<_>>().join(", "),
                known: Layout::ALL.map(Layout::version).join(", "),
            });
        }
        let Trial { trust, left_out } =
            probe::check(&candidate.place).map_err(|harm| DiscoveryFailure::Harm {
                plugin: refused(),
                harm,
            })?;
        for left_out in &left_out {
            tracing::warn!(%left_out, "left out");
        }
        let libraries: Vec<_> = left_out.iter().map(|left_out| left_out.library.clone()).collect();
        let plugin = match &candidate.place {
            Place::BuiltIn(plugin) => Plugin::built_in(plugin),
            Place::File(path) => Plugin::load_without(path, &libraries),
            // Which file that is nobody knows, so it was not tried apart, and nothing is left out.
            Place::System { name, .. } => Plugin::load(name),
        }?;
        let failed = |source| DiscoveryFailure::Devices {
            plugin: plugin.name().to_owned(),
            source,
            below: plugin.below().unwrap_or_default(),
            left_out: left_out.clone(),
        };
        let (shown, mut hidden, mut unlisted) = (self.devices.len(), 0, Vec::new());
        let mut undivided = Vec::new();
        for platform in plugin.platforms().map_err(failed)? {
            // The candidate's counts first: by that the filter has said whether to load the plugin.
            let said = match candidate.backend {
                Some(_) => None,
                None => backend_of(&platform),
            };
            let backend = said.map_or_else(|| candidate.counted_by(), str::to_owned);
            let devices = match platform.devices(offkit_pi::ffi::PI_DEVICE_TYPE_ALL) {
                Ok(devices) => devices,
                // The devices of its other platforms are none the worse for that.
                Err(source) => {
                    unlisted.push((platform, source));
                    continue;
                }
            };
            tracing::debug!(
                plugin = plugin.name(),
                devices = devices.len(),
                "a platform's devices"
            );
            for device in devices {
                let number = self.numbers.next(&backend);
                let shown = self.devices.len();
                let found = FoundDevice {
                    device,
                    backend: backend.clone(),
                    number,
                    part: Vec::new(),
                };
                self.show(found, &mut undivided);
                hidden += usize::from(self.devices.len() == shown);
            }
        }
        let devices = self.devices.len() - shown;
        if devices + hidden == 0
            && let Some((_, source)) = unlisted.pop()
        {
            return Err(failed(source));
        }
        let unlisted = unlisted.into_iter().map(|(platform, source)| {
            let failure = DiscoveryFailure::Platform {
                plugin: plugin.name().to_owned(),
                platform: platform.name().unwrap_or_else(|_| "?".to_owned()),
                source,
            };
            tracing::warn!(%failure, "a platform was left out");
            failure
        });
        let unlisted = unlisted.collect();
        Ok(Outcome::Loaded {
            plugin,
            devices,
            hidden,
            trust,
            noted,
            left_out,
            unlisted,
            undivided,
        })
    }

    /// Adds a device that may be seen, and the parts of it that are asked for; where there are none, its name to `undivided`.
    fn show(&mut self, found: FoundDevice, undivided: &mut Vec<String>) {
        let filter = &self.environment.filter;
        let (backend, number, part) = (&found.backend, found.number, &found.part);
        let is_shown = filter.allows(backend, Kind::of(&found.device), number, part);
        // Only where a term asks for parts: to divide a device makes objects in its driver.
        let is_divided = filter.levels(backend, number) > part.len();
        let parts = match is_divided {
            // As libsycl divides them. One that cannot be divided has no parts.
            true => found.device.partition(&Partition::NEXT).unwrap_or_else(|error| {
                tracing::debug!(device = %found, %error, "a device has no parts");
                Vec::new()
            }),
            false => Vec::new(),
        };
        if is_divided && parts.is_empty() {
            undivided.push(found.to_string());
        }
        let parts = (0..).zip(parts).map(|(place, device)| FoundDevice {
            device,
            part: found.part.iter().copied().chain([place]).collect(),
            ..found.clone()
        });
        let parts: Vec<_> = parts.collect();
        if is_shown {
            self.devices.push(found);
        }
        for part in parts {
            self.show(part, undivided);
        }
    }

    /// The device with that number from 0, for which plugins are loaded as far as it takes.
    fn numbered(&mut self, number: usize) -> Option<&Device> {
        while self.devices.len() <= number && self.load_next() {}
        self.devices.get(number).map(|found| &found.device)
    }

    /// All devices that may be seen, in the order of their plugins.
    pub fn devices(&mut self) -> impl Iterator<Item = &Device> {
        self.found().iter().map(|found| &found.device)
    }

    /// All devices that may be seen, with what users call them.
    pub fn found(&mut self) -> &[FoundDevice] {
        while self.load_next() {}
        &self.devices
    }

    /// What was left out so far, and why.
    pub fn failures(&self) -> impl Iterator<Item = &DiscoveryFailure> {
        self.outcomes.iter().flat_map(|outcome| match outcome {
            Outcome::Failed(failure) => slice::from_ref(failure),
            Outcome::Loaded { unlisted, .. } => unlisted.as_slice(),
            _ => &[],
        })
    }

    /// The drivers and adapters below plugins that were left out so far, since they do harm.
    pub fn left_out(&self) -> impl Iterator<Item = &LeftOut> {
        self.outcomes.iter().flat_map(|outcome| match outcome {
            Outcome::Loaded { left_out, .. }
            | Outcome::Failed(DiscoveryFailure::Devices { left_out, .. }) => left_out.as_slice(),
            _ => &[],
        })
    }

    /// The plugins that were looked at so far, and what came of each.
    pub fn considered(&self) -> impl Iterator<Item = (&Candidate, &Outcome)> {
        self.search.candidates.iter().zip(&self.outcomes)
    }

    /// Where plugins are looked for.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// What the environment says of devices that may be seen.
    pub fn environment(&self) -> &FromEnvironment {
        &self.environment
    }

    /// What there is to say where there are no devices.
    pub fn no_devices(&self) -> DeviceError {
        let undivided = self.outcomes.iter().flat_map(|outcome| match outcome {
            Outcome::Loaded { undivided, .. } => undivided.as_slice(),
            _ => &[],
        });
        DeviceError::None {
            chosen_by: self.environment.variable.clone(),
            undivided: undivided.cloned().collect(),
        }
    }

    /// The device that `selector` means: a number from 0; what filters call it (`opencl:0`, a part `opencl:0.1`); a backend,
    /// the name of a plugin or a kind of device (`cpu`, `gpu`), of which the first is taken; or a part of the device's name,
    /// letters and digits alone. Without a selector it is the first device.
    ///
    /// # Errors
    ///
    /// [`DeviceError`] with the devices there are.
    pub fn device(&mut self, selector: Option<&str>) -> Result<Device, DeviceError> {
        let found = match selector.map(|selector| (selector, selector.parse::<usize>())) {
            None => self.numbered(0),
            Some((_, Ok(number))) => self.numbered(number),
            // Nothing is a part of every name.
            Some(("", Err(_))) => None,
            Some((selector, Err(_))) => self.named(selector),
        };
        if let Some(device) = found {
            return Ok(device.clone());
        }
        match self.labels() {
            none if none.is_empty() => Err(self.no_devices()),
            available => Err(DeviceError::NotFound {
                selector: selector.unwrap_or_default().to_owned(),
                available,
            }),
        }
    }

    /// The first device of that name or kind.
    fn named(&mut self, selector: &str) -> Option<&Device> {
        let lowercase = selector.to_lowercase();
        // `cpu-checked` is a part of `offkit CPU (checked)`.
        let bare = |name: &str| -> String { name.to_lowercase().matches(char::is_alphanumeric).collect() };
        let part = bare(selector);
        let is_place = is_place(selector);
        let fits = |found: &FoundDevice| {
            let device = &found.device;
            // Not by its name as well: `acme:1` is no `Acme 100`.
            if is_place {
                return found.to_string() == lowercase;
            }
            device.plugin().name() == selector
                || found.backend == lowercase
                || Kind::of(device).map(Kind::name) == Some(lowercase.as_str())
                || (!part.is_empty() && device.name().is_ok_and(|name| bare(&name).contains(&part)))
        };
        let number = (0..).find(|&number| self.numbered(number).is_none() || fits(&self.devices[number]))?;
        self.numbered(number)
    }

    /// The device for a kernel, and which of the kernel's images it takes: the device that `selector` means; without a
    /// selector, the first that takes one.
    ///
    /// # Errors
    ///
    /// [`ChoiceError`] with what the kernel's images are, the devices there are, and why these do not take them.
    pub fn choose(
        &mut self,
        selector: Option<&str>,
        registry: &ImageRegistry,
        kernel: &FoundKernel,
    ) -> Result<(Device, KernelId), ChoiceError> {
        if let Some(text) = selector {
            let device = self.device(selector)?;
            let kernel = registry.select(kernel, &device)?;
            let kind = device.device_type().ok();
            // What is chosen by its number or name may be of any kind.
            let is_by_kind = Kind::of(&device).is_some_and(|kind| kind.name() == text.to_lowercase());
            trace::selected(&device, kind.filter(|_| is_by_kind));
            return Ok((device, kernel));
        }
        let mut reasons = Vec::new();
        let mut number = 0;
        while let Some(device) = self.numbered(number) {
            match registry.select(kernel, device) {
                Ok(kernel) => {
                    trace::selected(device, None);
                    return Ok((device.clone(), kernel));
                }
                Err(reason @ (SelectError::NoneFits { .. } | SelectError::NotLinked { .. })) => {
                    reasons.push(reason)
                }
                // The next device would not help: the kernel is there twice, or cannot be read.
                Err(error) => return Err(error.into()),
            }
            number += 1;
        }
        Err(self.none_takes(reasons))
    }

    /// What there is to say where no device takes a kernel, by the reason of each.
    pub fn none_takes(&mut self, mut reasons: Vec<SelectError>) -> ChoiceError {
        let refusals = match reasons.first() {
            Some(SelectError::NoneFits { refusals, .. }) => refusals,
            Some(_) => return reasons.swap_remove(0).into(),
            None => return self.no_devices().into(),
        };
        let mut code: Vec<_> = refusals.iter().map(Refusal::code).collect();
        code.dedup();
        ChoiceError::NoneTakes {
            code,
            available: self.labels(),
            reasons,
        }
    }

    /// All devices, as they can be asked for.
    fn labels(&mut self) -> Vec<String> {
        let devices = self.devices().enumerate();
        devices.map(|(number, device)| label(number, device)).collect()
    }
}

/// Whether a selector has the form of what [`FoundDevice`] prints: `opencl:0`, `opencl:0.1`.
fn is_place(selector: &str) -> bool {
    selector.rsplit_once(':').is_some_and(|(backend, places)| {
        !backend.is_empty() && places.split('.').all(|place| place.parse::<u32>().is_ok())
    })
}

/// What a platform says is below its plugin, as filters name it.
fn backend_of(platform: &Platform) -> Option<&'static str> {
    match platform.backend().ok()? {
        PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO => Some("level_zero"),
        PI_EXT_PLATFORM_BACKEND_OPENCL => Some("opencl"),
        PI_EXT_PLATFORM_BACKEND_CUDA => Some("cuda"),
        PI_EXT_PLATFORM_BACKEND_HIP => Some("hip"),
        PI_EXT_PLATFORM_BACKEND_NATIVE_CPU => Some("native_cpu"),
        _ => None,
    }
}

fn label(number: usize, device: &Device) -> String {
    let name = device
        .name()
        .unwrap_or_else(|_| "a device without a name".to_owned());
    format!(
        "{number} ({name}, {})",
        Kind::of(device).map_or("other", Kind::name)
    )
}
