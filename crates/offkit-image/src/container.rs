//! The kinds of containers.

use std::fmt;

/// What a container is; also what a file is, as far as its outermost layer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ContainerKind {
    /// No container: the file is itself an image.
    Image,
    /// One or several offload binaries, one after the other.
    OffloadBinary,
    /// A SYCLBIN, with or without an offload binary around it.
    SyclBin,
    /// Clang offload bundles, plain or compressed, one after the other.
    Bundle,
    /// One of these, decompressed: what the parts of a [`Bundle`](Self::Bundle) are.
    SingleBundle,
    /// A clang offload bundle in text form.
    TextBundle,
    /// CUDA's fatbins, one after the other.
    Fatbin,
    /// SYCL images as a linked program registers them.
    SyclWrapped,
    /// An ELF, COFF, PE or Mach-O file for the host.
    Host,
    /// A Unix archive.
    Archive,
    /// A zip file, such as a wheel.
    Zip,
    /// Nothing that is known.
    Unknown,
}

impl ContainerKind {
    /// The name in messages and listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "device image",
            Self::OffloadBinary => "offload binary",
            Self::SyclBin => "SYCLBIN",
            Self::Bundle | Self::SingleBundle | Self::TextBundle => "offload bundle",
            Self::Fatbin => "fatbin",
            Self::SyclWrapped => "wrapped SYCL images",
            Self::Host => "host code",
            Self::Archive => "archive",
            Self::Zip => "zip",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it holds files, which may have device code inside, rather than device code.
    #[must_use]
    pub fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::Archive | Self::Zip)
    }
}

impl fmt::Display for ContainerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
