//! The kinds of containers, and telling them apart.

use std::fmt;

use crate::error::Error;
use crate::format::ImageFormat;
use crate::limits::{Limits, Reading};
use crate::part::{Content, Visit};
use crate::source::Source;
use crate::{archive, bundle, fatbin, host, offload_binary, sycl_wrapped, syclbin, zip};

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

    /// What a part is that has these bytes; `None` for an image and for what is not known.
    pub(crate) fn of(content: Content, bytes: &[u8]) -> Option<Self> {
        match content {
            Content::Image => None,
            Content::Container(kind) => Some(kind),
            Content::Entry => Self::of_entry(bytes),
            Content::File => Self::of_entry(bytes).or_else(|| Self::of_host(bytes)),
        }
    }

    fn of_entry(bytes: &[u8]) -> Option<Self> {
        if syclbin::has_magic(bytes) {
            Some(Self::SyclBin)
        } else if bytes.starts_with(&offload_binary::MAGIC) {
            Some(match offload_binary::is_syclbin(bytes) {
                true => Self::SyclBin,
                false => Self::OffloadBinary,
            })
        } else if bundle::has_magic(bytes) {
            Some(Self::Bundle)
        } else if fatbin::has_magic(bytes) {
            Some(Self::Fatbin)
        } else {
            None
        }
    }

    fn of_host(bytes: &[u8]) -> Option<Self> {
        if archive::has_magic(bytes) {
            Some(Self::Archive)
        } else if zip::has_magic(bytes) {
            Some(Self::Zip)
        } else if host::is_host(bytes) {
            Some(Self::Host)
        } else if bundle::is_text(bytes) {
            Some(Self::TextBundle)
        } else {
            None
        }
    }

    /// Hands over the parts of a container of this kind.
    pub(crate) fn parts<'data>(
        self,
        source: Source<'data>,
        reading: &mut Reading,
        visit: Visit<'_, 'data>,
    ) -> Result<(), Error> {
        match self {
            Self::OffloadBinary => offload_binary::parts(source, reading, visit),
            Self::SyclBin => syclbin::parts(source, reading, visit),
            Self::Bundle => bundle::parts(source, reading, visit),
            Self::SingleBundle => bundle::single_parts(source, reading, visit),
            Self::TextBundle => bundle::text_parts(source, reading, visit),
            Self::Fatbin => fatbin::parts(source, reading, visit),
            Self::SyclWrapped => sycl_wrapped::parts(source, reading, visit),
            Self::Host => host::parts(source, reading, visit),
            Self::Archive => archive::parts(source, reading, visit),
            Self::Zip => zip::parts(source, reading, visit),
            Self::Image | Self::Unknown => Ok(()),
        }
    }

    /// A container of this kind with another part `id`. For a compressed part, `new` is not compressed.
    pub(crate) fn replace(
        self,
        source: Source<'_>,
        id: usize,
        new: &[u8],
        limits: &Limits,
    ) -> Result<Vec<u8>, Error> {
        match self {
            Self::OffloadBinary => offload_binary::replace(source, id, new, limits),
            Self::SyclBin => syclbin::replace(source, id, new, limits),
            Self::Bundle => bundle::replace(source, id, new, limits),
            Self::SingleBundle => bundle::replace_single(source, id, new, limits),
            Self::TextBundle => bundle::replace_text(source, id, new, limits),
            Self::Fatbin => fatbin::replace(source, id, new, limits),
            Self::SyclWrapped => sycl_wrapped::replace(source, id, new, limits),
            Self::Host => host::replace(source, id, new, limits),
            Self::Archive => archive::replace(source, id, new, limits),
            Self::Zip => zip::replace(source, id, new, limits),
            Self::Image | Self::Unknown => Err(Error::unrepresentable("not a container")),
        }
    }

    /// The version in the header of a container of this kind.
    pub(crate) fn version_of(self, bytes: &[u8]) -> Option<u32> {
        match self {
            Self::OffloadBinary => bytes
                .get(4..8)
                .and_then(|field| field.try_into().ok())
                .map(u32::from_le_bytes),
            _ => None,
        }
    }
}

impl fmt::Display for ContainerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether the beginning of a file may be that of a container or of a device image, so that it is worth to
/// look at all of it.
#[must_use]
pub fn looks_like_device_code(head: &[u8]) -> bool {
    ContainerKind::of(Content::File, head).is_some() || ImageFormat::detect(head) != ImageFormat::Unknown
}
