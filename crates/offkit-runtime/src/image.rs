//! Device images as the runtime keeps them.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use offkit_object::property_set::names;
use offkit_object::{DeviceImage, ImageFormat, Location};
use offkit_spirv::{Module, ReadError, Reflection};

/// The bytes of a file, shared by the images in it: a mapping, a vector, anything that stays put.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A device image and what is known about it.
///
/// Cheap to clone: the bytes are shared with the file they are in.
#[derive(Clone)]
pub struct Image {
    location: Location,
    format: ImageFormat,
    kernels: Vec<String>,
    imports: Vec<String>,
    exports: Vec<String>,
    data: SharedBytes,
    range: Range<usize>,
    module: Arc<OnceLock<Result<(Module, Reflection), ReadError>>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("location", &self.location.to_string())
            .field("format", &self.format)
            .field("kernels", &self.kernels)
            .field("imports", &self.imports)
            .field("exports", &self.exports)
            .field("bytes", &self.range.len())
            .finish_non_exhaustive()
    }
}

impl Image {
    /// An image in memory, described by hand; what a container says is described by
    /// [`crate::ImageRegistry::add_file`].
    pub fn new(
        location: Location,
        bytes: Vec<u8>,
        kernels: Vec<String>,
        imports: Vec<String>,
        exports: Vec<String>,
    ) -> Self {
        let range = 0..bytes.len();
        let format = ImageFormat::detect(&bytes);
        let data: SharedBytes = Arc::new(bytes);
        Self {
            location,
            format,
            kernels,
            imports,
            exports,
            data,
            range,
            module: Arc::default(),
        }
    }

    /// Takes an image over from the container it was read from.
    ///
    /// What the container says about kernels and symbols counts; what it does not say is read from
    /// the image itself where it is SPIR-V.
    pub(crate) fn from_container(image: &DeviceImage<'_>, data: &SharedBytes) -> Self {
        let file = (**data).as_ref();
        // Bytes that are part of the file are shared; bytes that were unpacked are kept apart.
        let borrowed = image.offset.and_then(|offset| {
            let start = usize::try_from(offset).ok()?;
            let range = start..start.checked_add(image.bytes.len())?;
            std::ptr::eq(file.get(range.clone())?, &*image.bytes).then_some(range)
        });
        let (data, range) = match borrowed {
            Some(range) => (Arc::clone(data), range),
            None => (
                Arc::new(image.bytes.to_vec()) as SharedBytes,
                0..image.bytes.len(),
            ),
        };
        let mut taken = Self {
            location: image.location.clone(),
            format: image.format,
            kernels: image.kernels.clone(),
            imports: image.imports.clone(),
            exports: image.exports.clone(),
            data,
            range,
            module: Arc::default(),
        };
        let says_symbols = [names::IMPORTED_SYMBOLS, names::EXPORTED_SYMBOLS]
            .iter()
            .any(|set| image.properties.set(set).is_some());
        if let Some(Ok((_, reflection))) = taken.module() {
            let own =
                |symbols: &[offkit_spirv::Symbol]| symbols.iter().map(|symbol| symbol.name.clone()).collect();
            let kernels = reflection
                .kernels
                .iter()
                .map(|kernel| kernel.name.clone())
                .collect();
            let (imports, exports) = (own(&reflection.imports), own(&reflection.exports));
            if taken.kernels.is_empty() {
                taken.kernels = kernels;
            }
            if !says_symbols {
                (taken.imports, taken.exports) = (imports, exports);
            }
        }
        taken
    }

    /// Where it was found.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What kind of code it is.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// The kernels in it.
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// The symbols that other images must supply.
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    /// The symbols that it supplies to other images.
    pub fn exports(&self) -> &[String] {
        &self.exports
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        (*self.data).as_ref().get(self.range.clone()).unwrap_or_default()
    }

    /// The image as a SPIR-V module with its description, read when first asked for; `None` if it is
    /// not SPIR-V.
    pub fn module(&self) -> Option<&Result<(Module, Reflection), ReadError>> {
        let read = || {
            Module::from_bytes(self.bytes()).map(|module| {
                let reflection = offkit_spirv::reflect(&module);
                (module, reflection)
            })
        };
        (self.format == ImageFormat::Spirv).then(|| self.module.get_or_init(read))
    }

    /// A kernel's description, from the SPIR-V module.
    pub fn kernel(&self, name: &str) -> Option<&offkit_spirv::Kernel> {
        let (_, reflection) = self.module()?.as_ref().ok()?;
        reflection.kernels.iter().find(|kernel| kernel.name == name)
    }
}
