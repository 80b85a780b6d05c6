//! Finding the devices of this machine.

use std::collections::VecDeque;
use std::env;
use std::path::PathBuf;

use offkit_pi::BuiltIn;
use offkit_pi::host::{Device, LoadError, PiError, Plugin};

use crate::find::{FoundKernel, KernelId};
use crate::registry::ImageRegistry;
use crate::select::{Refusal, SelectError};

/// The environment variable that names plugin libraries to load besides the built-in ones, separated
/// like the folders of `PATH`.
pub const PLUGINS_VARIABLE: &str = "OFFKIT_PLUGINS";

/// The plugins of this process and their devices.
///
/// Plugins are loaded one after the other, when somebody asks for a device that may be the next one's. Looking for
/// devices never fails as a whole: a plugin that cannot be used is left out, and [`Runtime::failures`] says why.
#[derive(Debug, Default)]
pub struct Runtime {
    waiting: VecDeque<Waiting>,
    devices: Vec<Device>,
    failures: Vec<DiscoveryFailure>,
}

/// A plugin that is not loaded yet.
#[derive(Debug)]
enum Waiting {
    BuiltIn(&'static BuiltIn),
    Library(PathBuf),
}

/// Why a plugin, or what is behind it, was left out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryFailure {
    /// The plugin cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The plugin was loaded but does not list its devices.
    #[error("plugin `{plugin}` does not list its devices")]
    Devices {
        /// The plugin.
        plugin: String,
        /// What it said.
        source: PiError,
    },
}

/// No device is what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device at all.
    #[error("no devices found")]
    None,
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
    /// The devices of the built-in plugins, then those of the libraries that [`PLUGINS_VARIABLE`] names.
    pub fn discover(built_in: &[&'static BuiltIn]) -> Self {
        let named = env::var_os(PLUGINS_VARIABLE).unwrap_or_default();
        let libraries: Vec<PathBuf> = env::split_paths(&named)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        Self::with_plugins(built_in, &libraries)
    }

    /// The devices of exactly these plugins.
    pub fn with_plugins(built_in: &[&'static BuiltIn], libraries: &[PathBuf]) -> Self {
        let built_in = built_in.iter().map(|plugin| Waiting::BuiltIn(plugin));
        let libraries = libraries.iter().cloned().map(Waiting::Library);
        Self {
            waiting: built_in.chain(libraries).collect(),
            ..Self::default()
        }
    }

    /// Loads the next plugin; `false` if there is none.
    fn load_next(&mut self) -> bool {
        let Some(next) = self.waiting.pop_front() else {
            return false;
        };
        let plugin = match next {
            Waiting::BuiltIn(plugin) => Plugin::built_in(plugin),
            Waiting::Library(path) => Plugin::load(path),
        };
        let added = plugin
            .map_err(DiscoveryFailure::from)
            .and_then(|plugin| self.add(&plugin));
        if let Err(failure) = added {
            tracing::warn!(%failure, "a plugin was left out");
            self.failures.push(failure);
        }
        true
    }

    /// The device with that number from 0, for which plugins are loaded as far as it takes.
    fn numbered(&mut self, number: usize) -> Option<&Device> {
        while self.devices.len() <= number && self.load_next() {}
        self.devices.get(number)
    }

    fn add(&mut self, plugin: &Plugin) -> Result<(), DiscoveryFailure> {
        let failed = |source| DiscoveryFailure::Devices {
            plugin: plugin.name().to_owned(),
            source,
        };
        for platform in plugin.platforms().map_err(failed)? {
            let devices = platform
                .devices(offkit_pi::ffi::PI_DEVICE_TYPE_ALL)
                .map_err(failed)?;
            tracing::debug!(
                plugin = plugin.name(),
                devices = devices.len(),
                "a platform's devices"
            );
            self.devices.extend(devices);
        }
        Ok(())
    }

    /// All devices, in the order of their plugins.
    pub fn devices(&mut self) -> &[Device] {
        while self.load_next() {}
        &self.devices
    }

    /// What was left out so far, and why.
    pub fn failures(&self) -> &[DiscoveryFailure] {
        &self.failures
    }

    /// The device that `selector` means: a number from 0, the name of a plugin or a kind of device
    /// (`cpu`, `gpu`), of which the first is taken, or a part of the device's name, letters and digits
    /// alone. Without a selector it is the first device.
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
            none if none.is_empty() => Err(DeviceError::None),
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
        let fits = |device: &Device| {
            device.plugin().name() == selector
                || kind(device) == Some(lowercase.as_str())
                || (!part.is_empty() && device.name().is_ok_and(|name| bare(&name).contains(&part)))
        };
        let number = (0..).find(|&number| self.numbered(number).is_none_or(fits))?;
        self.devices.get(number)
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
        if selector.is_some() {
            let device = self.device(selector)?;
            let kernel = registry.select(kernel, &device)?;
            return Ok((device, kernel));
        }
        let mut reasons = Vec::new();
        let mut number = 0;
        while let Some(device) = self.numbered(number) {
            match registry.select(kernel, device) {
                Ok(kernel) => return Ok((device.clone(), kernel)),
                Err(reason @ SelectError::NoneFits { .. }) => reasons.push(reason),
                Err(error) => return Err(error.into()),
            }
            number += 1;
        }
        let Some(SelectError::NoneFits { refusals, .. }) = reasons.first() else {
            return Err(DeviceError::None.into());
        };
        let mut code: Vec<_> = refusals.iter().map(Refusal::code).collect();
        code.dedup();
        Err(ChoiceError::NoneTakes {
            code,
            available: self.labels(),
            reasons,
        })
    }

    /// All devices, as they can be asked for.
    fn labels(&mut self) -> Vec<String> {
        let devices = self.devices().iter().enumerate();
        devices.map(|(number, device)| label(number, device)).collect()
    }
}

/// What kind of device it is, in one word.
fn kind(device: &Device) -> Option<&'static str> {
    use offkit_pi::host::DeviceType;
    match device.device_type().ok()? {
        DeviceType::Cpu => Some("cpu"),
        DeviceType::Gpu => Some("gpu"),
        DeviceType::Accelerator => Some("accelerator"),
        _ => None,
    }
}

fn label(number: usize, device: &Device) -> String {
    let name = device
        .name()
        .unwrap_or_else(|_| "a device without a name".to_owned());
    format!("{number} ({name}, {})", kind(device).unwrap_or("other"))
}
