//! The device image: the one model that every container is read into.

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;
use crate::format::ImageFormat;
use crate::location::Location;
use crate::offload_binary::{Producer, Strings};
use crate::property_set::{PropertySets, names};

/// Code for a device, and everything its container tells about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceImage<'data> {
    /// The code, exactly as it is in the container; borrowed from the file when it was read.
    pub bytes: Cow<'data, [u8]>,
    /// What the bytes are: decided from the bytes, from the container's header only when the bytes say
    /// nothing.
    pub format: ImageFormat,
    /// What the code was compiled for.
    pub target: Target,
    /// The offloading language it was made for.
    pub producer: Producer,
    /// What the toolchain recorded about it.
    pub properties: PropertySets,
    /// Names of the kernels, as far as the container tells.
    pub kernels: Vec<String>,
    /// Symbols that another image must define, as far as the container tells.
    pub imports: Vec<String>,
    /// Symbols that other images may use, as far as the container tells.
    pub exports: Vec<String>,
    /// String entries of an offload binary that have no field of their own here.
    pub strings: Strings<'data>,
    /// Where it was found.
    pub location: Location,
    /// Where its bytes begin, from the start of the bytes that were read; `None` for an image that was not
    /// read.
    pub offset: Option<u64>,
}

impl<'data> DeviceImage<'data> {
    /// An image of which nothing is known but its bytes, and the format that they show.
    pub fn new(bytes: impl Into<Cow<'data, [u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            format: ImageFormat::detect(&bytes),
            bytes,
            target: Target::default(),
            producer: Producer::None,
            properties: PropertySets::new(),
            kernels: Vec::new(),
            imports: Vec::new(),
            exports: Vec::new(),
            strings: Strings::new(),
            location: Location::default(),
            offset: None,
        }
    }

    /// The same image with these properties, and with the kernels, imports and exports they name.
    #[must_use]
    pub fn with_properties(mut self, properties: PropertySets) -> Self {
        let symbols = |set| properties.symbols(set).map(str::to_owned).collect();
        self.kernels = symbols(names::KERNEL_NAMES);
        self.imports = symbols(names::IMPORTED_SYMBOLS);
        self.exports = symbols(names::EXPORTED_SYMBOLS);
        self.properties = properties;
        self
    }
}

/// What a device image was compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Target {
    /// The target triple as the container has it, such as `spir64-unknown-unknown`; empty when it has none.
    pub triple: String,
    /// The architecture, such as `sm_80` or `gfx90a`; empty for code that is compiled further on the device's
    /// machine.
    pub arch: String,
    /// Features that are demanded to be on or off, such as `xnack+`.
    pub features: Vec<String>,
}

impl Target {
    /// A target from a triple and an architecture that may have features after it, as in
    /// `gfx90a:sramecc+:xnack-`.
    pub fn new(triple: impl Into<String>, arch_with_features: &str) -> Self {
        let mut parts = arch_with_features.split(':').map(str::to_owned);
        Self {
            triple: triple.into(),
            arch: parts.next().unwrap_or_default(),
            features: parts.collect(),
        }
    }

    /// The architecture with its features, as containers have it in one string.
    #[must_use]
    pub fn arch_with_features(&self) -> String {
        let mut text = self.arch.clone();
        for feature in &self.features {
            text.push(':');
            text.push_str(feature);
        }
        text
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arch = self.arch_with_features();
        match (self.triple.as_str(), arch.as_str()) {
            ("", "") => f.pad("unknown"),
            ("", only) | (only, "") => f.pad(only),
            (triple, arch) => f.pad(&format!("{triple}-{arch}")),
        }
    }
}

/// Something wrong with a file that was read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The container or image that is concerned.
    pub location: Location,
    /// What is wrong.
    pub error: Error,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.error)
    }
}
