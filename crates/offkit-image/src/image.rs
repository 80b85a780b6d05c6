//! The device image: the one model that every container is read into.

use crate::bytes::{Code, SharedBytes, Storage};
use crate::code_version::CodeVersion;
use crate::compression::Compression;
use crate::container::ContainerKind;
use crate::error::Error;
use crate::format::ImageFormat;
use crate::inspection::Inspection;
use crate::location::Location;
use crate::producer::Producer;
use crate::property_set::{PropertySets, names};
use crate::strings::{Strings, keys};
use crate::target::Target;

/// Code for a device, and everything its container tells about it.
///
/// Made by [`new`](Self::new) from its code; everything else is told about it then.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceImage<'data> {
    /// The code as it is in the container, which [`bytes`](Self::bytes) reads.
    pub code: Code<'data>,
    /// The innermost container.
    pub container: ContainerKind,
    /// The version of the container's format, where it has one.
    pub container_version: Option<u32>,
    /// What the bytes are: decided from the bytes, from the container's header only when the bytes say
    /// nothing.
    pub format: ImageFormat,
    /// The version of the code's format, where the container or the first bytes say it: 8.4 of PTX, 1.4 of SPIR-V, 5
    /// of AMD's code objects.
    pub code_version: Option<CodeVersion>,
    /// What the code was compiled for: decided from the bytes as far as they say it, from the container otherwise. Of
    /// code that is compressed, alone or with what it is in, the container's word decides as far as it goes.
    pub target: Target,
    /// What the container says about the target, where bytes that are not compressed contradict that.
    pub contradicted: Option<Box<Target>>,
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
    /// String entries of an offload binary that have no field of their own here. Where the triple or the architecture
    /// is among them, an offload binary is written with that spelling and in that order.
    pub strings: Strings<'data>,
    /// The number of its code, to write a SYCLBIN: neighbours of one number are forms of the same code. Readers leave
    /// it out, as numbers of several files would mix.
    pub form_of: Option<u32>,
    /// Where it was found.
    pub location: Location,
    /// Where the stored bytes begin, from the start of the bytes that were read; `None` for an image that was
    /// not read, or that is inside of something compressed.
    pub offset: Option<u64>,
}

impl Default for DeviceImage<'_> {
    /// An image without code, of no known format.
    fn default() -> Self {
        Self::of_format(b"", ImageFormat::Unknown)
    }
}

impl<'data> DeviceImage<'data> {
    /// An image of which nothing is known but its code, and the format that it shows if it is not still compressed.
    pub fn new(code: impl Into<Code<'data>>) -> Self {
        let code = code.into();
        // A listing of many images must not unpack each of them only to learn its format.
        let format = code.at_hand().map_or(ImageFormat::Unknown, ImageFormat::detect);
        Self::of_format(code, format)
    }

    /// An image of which nothing is known but its code and its format.
    #[inline]
    pub fn of_format(code: impl Into<Code<'data>>, format: ImageFormat) -> Self {
        Self {
            code: code.into(),
            format,
            code_version: None,
            container: ContainerKind::Image,
            container_version: None,
            target: Target::default(),
            contradicted: None,
            producer: Producer::None,
            properties: PropertySets::new(),
            kernels: Vec::new(),
            entries: None,
            imports: Vec::new(),
            exports: Vec::new(),
            strings: Strings::new(),
            form_of: None,
            location: Location::default(),
            offset: None,
        }
    }

    /// The code's bytes; those that are stored compressed are unpacked when they are first asked for.
    ///
    /// # Errors
    ///
    /// Compressed bytes that cannot be unpacked.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        self.code.bytes().map_err(|error| match self.offset {
            Some(offset) => error.at(offset),
            None => error,
        })
    }

    /// What is in the code: what `look` finds when first asked, and the same from then on. The crate that can read the
    /// code's format gives this a name of its own.
    pub fn inspected_by(&self, look: impl FnOnce() -> Inspection) -> &Inspection {
        self.code.inspected_by(look)
    }

    /// Whether it is the host's entry in a bundle and so no code for a device: HIP's is empty, in an object it is the
    /// object. Nobody counts it among the images. Code for the host's processor as a device, as OpenMP may have, is an
    /// image like any other.
    #[must_use]
    #[inline]
    pub fn is_host_entry(&self) -> bool {
        self.producer == Producer::Host
    }

    /// What the device's compiler is to be told, as far as the container says it.
    #[must_use]
    pub fn compile_options(&self) -> &str {
        self.strings.get(keys::COMPILE_OPTIONS).unwrap_or_default()
    }

    /// What the device's linker is to be told, as far as the container says it.
    #[must_use]
    pub fn link_options(&self) -> &str {
        self.strings.get(keys::LINK_OPTIONS).unwrap_or_default()
    }

    /// How many bytes the code has, which unpacks none of them.
    #[must_use]
    #[inline]
    pub fn size(&self) -> u64 {
        self.code.size()
    }

    /// The bytes as they are in the file; of an image inside of something compressed, those that come out.
    #[must_use]
    #[inline]
    pub fn stored_bytes(&self) -> &[u8] {
        self.code.stored()
    }

    /// How many bytes of the file the image takes; `None` inside of something compressed.
    #[must_use]
    pub fn stored_size(&self) -> Option<u64> {
        match self.storage() {
            Storage::Within(_) => None,
            Storage::Plain | Storage::Compressed(_) => Some(self.stored_bytes().len() as u64),
        }
    }

    /// How the code is stored.
    #[must_use]
    #[inline]
    pub fn storage(&self) -> Storage {
        self.code.storage()
    }

    /// How the code is compressed, alone or in something larger.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        match self.storage() {
            Storage::Plain => None,
            Storage::Compressed(method) | Storage::Within(method) => Some(method),
        }
    }

    /// What is known about the image, without its code: for those who keep very many.
    #[must_use]
    pub fn without_code(&self) -> DeviceImage<'static> {
        let mut image = self.clone().map(|code| code.forgotten());
        image.entries = None;
        image
    }

    /// The same image, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> DeviceImage<'static> {
        self.map(Code::into_owned)
    }

    /// The same image, borrowing from `file` what lies in it and owning the rest.
    pub fn rebase<'file>(self, file: &'file [u8]) -> DeviceImage<'file> {
        self.map(|code| code.rebase(file))
    }

    /// The same image, sharing with `file` what lies in it and owning the rest.
    #[must_use]
    pub fn share(self, file: &SharedBytes) -> DeviceImage<'static> {
        self.map(|code| code.share(file))
    }

    fn map<'other>(self, code: impl FnOnce(Code<'data>) -> Code<'other>) -> DeviceImage<'other> {
        DeviceImage {
            code: code(self.code),
            container: self.container,
            container_version: self.container_version,
            format: self.format,
            code_version: self.code_version,
            target: self.target,
            contradicted: self.contradicted,
            producer: self.producer,
            properties: self.properties,
            kernels: self.kernels,
            entries: self.entries,
            imports: self.imports,
            exports: self.exports,
            strings: self.strings.into_owned(),
            form_of: self.form_of,
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
