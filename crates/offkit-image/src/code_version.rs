//! Versions of the formats of code.

use std::fmt;

/// The version of the format that code is in: 8.4 of PTX, 1.4 of SPIR-V, 5.0 of AMD's code objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodeVersion {
    /// The number before the point.
    pub major: u16,
    /// The number behind it.
    pub minor: u16,
}

impl CodeVersion {
    /// The version that a text says, `8.4`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for CodeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
