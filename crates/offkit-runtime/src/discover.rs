//! Finding the devices of this machine.

use std::env;
use std::path::PathBuf;

use offkit_pi::BuiltIn;
use offkit_pi::host::{Device, LoadError, PiError, Plugin};

/// The environment variable that names plugin libraries to load besides the built-in ones, separated
/// like the folders of `PATH`.
pub const PLUGINS_VARIABLE: &str = "OFFKIT_PLUGINS";

/// The plugins of this process and their devices.
///
/// Looking for devices never fails as a whole: a plugin that cannot be used is left out, and
/// [`Runtime::failures`] says why.
#[derive(Debug, Default)]
pub struct Runtime {
    devices: Vec<Device>,
    failures: Vec<DiscoveryFailure>,
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

impl Runtime {
    /// Finds the devices of the built-in plugins, then those of the libraries that
    /// [`PLUGINS_VARIABLE`] names.
    pub fn discover(built_in: &[&BuiltIn]) -> Self {
        let named = env::var_os(PLUGINS_VARIABLE).unwrap_or_default();
        let libraries: Vec<PathBuf> = env::split_paths(&named)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        Self::with_plugins(built_in, &libraries)
    }

    /// Finds the devices of exactly these plugins.
    pub fn with_plugins(built_in: &[&BuiltIn], libraries: &[PathBuf]) -> Self {
        let mut runtime = Self::default();
        let built_in = built_in.iter().map(|plugin| Plugin::built_in(plugin));
        for plugin in built_in.chain(libraries.iter().map(Plugin::load)) {
            if let Err(failure) = plugin
                .map_err(DiscoveryFailure::from)
                .and_then(|plugin| runtime.add(&plugin))
            {
                tracing::warn!(%failure, "a plugin was left out");
                runtime.failures.push(failure);
            }
        }
        runtime
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

    /// The devices, in the order of their plugins.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// What was left out, and why.
    pub fn failures(&self) -> &[DiscoveryFailure] {
        &self.failures
    }

    /// The device that `selector` means: a number from 0, the name of a plugin or a kind of device
    /// (`cpu`, `gpu`), of which the first is taken, or a part of the device's name. Without a selector
    /// it is the first device.
    ///
    /// # Errors
    ///
    /// [`DeviceError`] with the devices there are.
    pub fn device(&self, selector: Option<&str>) -> Result<&Device, DeviceError> {
        let Some(selector) = selector else {
            return self.devices.first().ok_or(DeviceError::None);
        };
        if self.devices.is_empty() {
            return Err(DeviceError::None);
        }
        let lowercase = selector.to_lowercase();
        let fits = |device: &&Device| {
            device.plugin().name() == selector
                || kind(device) == Some(lowercase.as_str())
                || device
                    .name()
                    .is_ok_and(|name| name.to_lowercase().contains(&lowercase))
        };
        let found = match selector.parse::<usize>() {
            Ok(number) => self.devices.get(number),
            // Nothing is a part of every name.
            Err(_) if selector.is_empty() => None,
            Err(_) => self.devices.iter().find(fits),
        };
        found.ok_or_else(|| DeviceError::NotFound {
            selector: selector.to_owned(),
            available: self
                .devices
                .iter()
                .enumerate()
                .map(|(number, device)| label(number, device))
                .collect(),
        })
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
