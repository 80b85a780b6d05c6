//! Device images as the runtime keeps them.

use std::fmt;
use std::sync::Arc;

use offkit_object::{Code, DeviceImage, ImageFormat, Inspect, Limits, Location, SharedBytes, Symbols};
use offkit_spirv::{Module, Reflection, reflect};

/// What an image offers and needs, from its container and from the image itself.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The kernels that can be launched.
    pub kernels: Vec<String>,
    /// The symbols that other images must supply.
    pub imports: Vec<String>,
    /// The symbols that it supplies to other images.
    pub exports: Vec<String>,
    /// The SPIR-V module with all its details; `None` if it is not SPIR-V, or not readable.
    pub module: Option<Arc<(Module, Reflection)>>,
}

impl Description {
    /// Describes an image: the names as [`Inspect::symbols`] has them, and the module for its details.
    pub fn of(image: &DeviceImage<'_>) -> Self {
        let Symbols {
            kernels,
            imports,
            exports,
        } = image.symbols(&Limits::default());
        let bytes = image.bytes().unwrap_or_default();
        let spirv = (image.format == ImageFormat::Spirv).then(|| Module::from_bytes(bytes));
        let module = spirv.and_then(|read| {
            read.inspect_err(
                |error| tracing::warn!(location = %image.location, %error, "not a readable module"),
            )
            .ok()
        });
        Self {
            kernels,
            imports,
            exports,
            module: module.map(|module| {
                let reflection = reflect(&module);
                Arc::new((module, reflection))
            }),
        }
    }

    /// A kernel's details, from the SPIR-V module.
    pub fn kernel(&self, name: &str) -> Option<&offkit_spirv::Kernel> {
        let (_, reflection) = &**self.module.as_ref()?;
        reflection.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// A device image and what is known about it.
///
/// Cheap to clone: the bytes are shared with the file they are in.
#[derive(Clone)]
pub struct Image {
    location: Location,
    format: ImageFormat,
    description: Description,
    code: Code<'static>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("location", &self.location.to_string())
            .field("format", &self.format)
            .field("kernels", &self.description.kernels)
            .field("imports", &self.description.imports)
            .field("exports", &self.description.exports)
            .field("bytes", &self.code.size())
            .finish_non_exhaustive()
    }
}

impl Image {
    /// An image in memory, described by hand; what a container says is described by
    /// [`crate::ImageRegistry::add_file`].
    pub fn new(location: Location, bytes: Vec<u8>, description: Description) -> Self {
        Self {
            location,
            format: ImageFormat::detect(&bytes),
            description,
            code: bytes.into(),
        }
    }

    /// Takes an image over from the container it was read from.
    pub(crate) fn from_container(image: &DeviceImage<'_>, file: &SharedBytes) -> Self {
        Self {
            location: image.location.clone(),
            format: image.format,
            description: Description::of(image),
            code: image.code.clone().share(file),
        }
    }

    /// Where it was found.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What kind of code it is.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// What it offers and needs.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The code; empty if it is compressed and cannot be unpacked.
    pub fn bytes(&self) -> &[u8] {
        self.code.bytes().unwrap_or_default()
    }
}
