//! The device image: the one model that every container is read into.

use std::borrow::Cow;

use crate::compression::Compression;
use crate::container::ContainerKind;
use crate::format::ImageFormat;
use crate::location::Location;
use crate::producer::Producer;
use crate::property_set::{PropertySets, names};
use crate::strings::Strings;
use crate::target::Target;

/// Code for a device, and everything its container tells about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceImage<'data> {
    /// The code, exactly as it is in the container; borrowed from the file when it was read.
    pub bytes: Cow<'data, [u8]>,
    /// How the bytes are stored.
    pub storage: Storage<'data>,
    /// The innermost container.
    pub container: ContainerKind,
    /// The version of the container's format, where it has one.
    pub container_version: Option<u32>,
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
    /// The names in the container's table of entries, as stored; `None` where the format has no such table.
    pub entries: Option<Vec<String>>,
    /// Symbols that another image must define, as far as the container tells.
    pub imports: Vec<String>,
    /// Symbols that other images may use, as far as the container tells.
    pub exports: Vec<String>,
    /// String entries of an offload binary that have no field of their own here.
    pub strings: Strings<'data>,
    /// Where it was found.
    pub location: Location,
    /// Where the stored bytes begin, from the start of the bytes that were read; `None` for an image that was
    /// not read, or that is inside of something compressed.
    pub offset: Option<u64>,
}

impl<'data> DeviceImage<'data> {
    /// An image of which nothing is known but its bytes, and the format that they show.
    pub fn new(bytes: impl Into<Cow<'data, [u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            format: ImageFormat::detect(&bytes),
            bytes,
            storage: Storage::Plain,
            container: ContainerKind::Image,
            container_version: None,
            target: Target::default(),
            producer: Producer::None,
            properties: PropertySets::new(),
            kernels: Vec::new(),
            entries: None,
            imports: Vec::new(),
            exports: Vec::new(),
            strings: Strings::new(),
            location: Location::default(),
            offset: None,
        }
    }

    /// The bytes as they are in the file; of an image inside of something compressed, those that come out.
    #[must_use]
    pub fn stored_bytes(&self) -> &[u8] {
        self.storage.stored_bytes(&self.bytes)
    }

    /// How many bytes of the file the image takes; `None` inside of something compressed.
    #[must_use]
    pub fn stored_size(&self) -> Option<u64> {
        match &self.storage {
            Storage::Within { .. } => None,
            Storage::Plain | Storage::Compressed { .. } => Some(self.stored_bytes().len() as u64),
        }
    }

    /// The same image, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> DeviceImage<'static> {
        self.rebase(&[])
    }

    /// The same image, borrowing from `file` what lies in it and owning the rest.
    pub fn rebase<'file>(self, file: &'file [u8]) -> DeviceImage<'file> {
        let storage = match self.storage {
            Storage::Plain => Storage::Plain,
            Storage::Compressed { method, bytes } => Storage::Compressed {
                method,
                bytes: rebase(bytes, file),
            },
            Storage::Within { method } => Storage::Within { method },
        };
        DeviceImage {
            bytes: rebase(self.bytes, file),
            storage,
            container: self.container,
            container_version: self.container_version,
            format: self.format,
            target: self.target,
            producer: self.producer,
            properties: self.properties,
            kernels: self.kernels,
            entries: self.entries,
            imports: self.imports,
            exports: self.exports,
            strings: self.strings.into_owned(),
            location: self.location,
            offset: self.offset,
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

/// The part of `file` that `bytes` are, or else the bytes themselves.
fn rebase<'file>(bytes: Cow<'_, [u8]>, file: &'file [u8]) -> Cow<'file, [u8]> {
    let inside = offset_within(file, &bytes).and_then(|offset| {
        let start = usize::try_from(offset).ok()?;
        file.get(start..start.checked_add(bytes.len())?)
    });
    match inside {
        Some(part) => Cow::Borrowed(part),
        None => Cow::Owned(bytes.into_owned()),
    }
}

/// How the bytes of an image are stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage<'data> {
    /// As they are.
    Plain,
    /// Compressed, alone.
    Compressed {
        /// How.
        method: Compression,
        /// The compressed stream.
        bytes: Cow<'data, [u8]>,
    },
    /// As a part of something larger that is compressed.
    Within {
        /// How the larger thing is compressed.
        method: Compression,
    },
}

impl Storage<'_> {
    /// The bytes in the file of an image that has these.
    pub fn stored_bytes<'a>(&'a self, bytes: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Compressed { bytes, .. } => bytes,
            Self::Plain | Self::Within { .. } => bytes,
        }
    }

    /// The compression, if there is any.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        match self {
            Self::Plain => None,
            Self::Compressed { method, .. } | Self::Within { method } => Some(*method),
        }
    }
}

/// Where `part` begins in `whole`, if it is a part of it.
#[must_use]
pub fn offset_within(whole: &[u8], part: &[u8]) -> Option<u64> {
    let offset = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let end = offset.checked_add(part.len())?;
    (end <= whole.len()).then_some(offset as u64)
}
