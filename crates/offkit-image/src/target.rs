//! What code is compiled for.

use std::fmt;

use compact_str::CompactString;

/// What a device image was compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Target {
    /// The target triple as the container has it, such as `spir64-unknown-unknown`; empty when it has none.
    pub triple: CompactString,
    /// The architecture, such as `sm_80` or `gfx90a`; empty for code that is compiled further on the device's
    /// machine.
    pub arch: CompactString,
    /// Features that are demanded to be on or off, such as `xnack+`.
    pub features: Vec<String>,
}

impl Target {
    /// A target from a triple and an architecture that may have features after it, as in
    /// `gfx90a:sramecc+:xnack-`.
    pub fn new(triple: impl Into<CompactString>, arch_with_features: &str) -> Self {
        let colon = memchr::memchr(b':', arch_with_features.as_bytes());
        let (arch, features) = arch_with_features.split_at(colon.unwrap_or(arch_with_features.len()));
        Self {
            triple: triple.into(),
            arch: arch.into(),
            features: match features.strip_prefix(':') {
                Some(features) => features.split(':').map(str::to_owned).collect(),
                None => Vec::new(),
            },
        }
    }

    /// The architecture with its features, as containers have it in one string.
    #[must_use]
    pub fn arch_with_features(&self) -> String {
        let mut text = self.arch.to_string();
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
