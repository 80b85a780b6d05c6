//! SYCLBIN content to and from device images.

use super::{AbstractModule, BundleState, IrModule, IrType, NativeImage, SyclBin, metadata};
use crate::format::ImageFormat;
use crate::image::{DeviceImage, Target};
use crate::location::Location;
use crate::offload_binary::Producer;
use crate::property_set::names;

impl IrType {
    /// The format that the type stands for.
    #[must_use]
    pub fn format(self) -> Option<ImageFormat> {
        match self {
            Self::Spirv => Some(ImageFormat::Spirv),
            Self::Ptx => Some(ImageFormat::Ptx),
            Self::Amdgcn | Self::Other(_) => None,
        }
    }

    /// The type under which an image is stored as IR; `None` for native code.
    fn of(image: &DeviceImage<'_>) -> Option<Self> {
        match image.format {
            ImageFormat::Bitcode if image.target.triple.starts_with("amdgcn") => Some(Self::Amdgcn),
            // The type SPIR-V is what runtimes store bitcode under.
            ImageFormat::Spirv | ImageFormat::Bitcode => Some(Self::Spirv),
            ImageFormat::Ptx => Some(Self::Ptx),
            _ => None,
        }
    }
}

impl<'data> SyclBin<'data> {
    /// All images, each with the properties of its abstract module; `location` is where the SYCLBIN is.
    #[must_use]
    pub fn into_images(self, location: &Location) -> Vec<DeviceImage<'data>> {
        let modules = self.modules.into_iter().enumerate();
        modules
            .flat_map(|(index, module)| module.into_images(&location.join(index)))
            .collect()
    }

    /// A SYCLBIN with an abstract module for each image, as DPC++'s runtime makes it.
    ///
    /// SPIR-V, bitcode and PTX become IR, everything else native images. Symbols that are known of an image
    /// but are not in its properties are added to these, as [`names::KERNEL_NAMES`] and the sets of imported
    /// and exported symbols.
    #[must_use]
    pub fn from_images(state: BundleState, images: impl IntoIterator<Item = DeviceImage<'data>>) -> Self {
        Self {
            modules: images.into_iter().map(AbstractModule::from_image).collect(),
            ..Self::new(state)
        }
    }
}

impl<'data> AbstractModule<'data> {
    /// The number of images of both kinds.
    #[must_use]
    pub fn image_count(&self) -> usize {
        self.ir_modules.len().saturating_add(self.native_images.len())
    }

    pub(crate) fn into_images(self, location: &Location) -> Vec<DeviceImage<'data>> {
        let irs = location.join("ir");
        let natives = location.join("native");
        let describe = |image: DeviceImage<'data>, location| {
            let image = DeviceImage {
                producer: Producer::Sycl,
                location,
                ..image
            };
            image.with_properties(self.properties.clone())
        };
        let irs = self.ir_modules.into_iter().enumerate().map(|(index, ir)| {
            let mut image = DeviceImage::new(ir.bytes);
            image.format = image.format.or(ir.ir_type.format());
            image.target = Target::new(ir.target, "");
            describe(image, irs.join(index))
        });
        let natives = self.native_images.into_iter().enumerate().map(|(index, native)| {
            let mut image = DeviceImage::new(native.bytes);
            image.target = Target::new(native.target, &native.arch);
            describe(image, natives.join(index))
        });
        irs.chain(natives).collect()
    }

    fn from_image(image: DeviceImage<'data>) -> Self {
        let mut module = Self::default();
        match IrType::of(&image) {
            Some(ir_type) => module
                .ir_modules
                .push(IrModule::new(ir_type, image.target.triple, image.bytes)),
            None => {
                let arch = image.target.arch_with_features();
                module
                    .native_images
                    .push(NativeImage::new(arch, image.target.triple, image.bytes));
            }
        }
        module.properties = image.properties;
        module
            .properties
            .insert_symbols(names::KERNEL_NAMES, image.kernels);
        module
            .properties
            .insert_symbols(names::IMPORTED_SYMBOLS, image.imports);
        module
            .properties
            .insert_symbols(names::EXPORTED_SYMBOLS, image.exports);
        for name in metadata::OWN_SETS {
            module.properties.remove(name);
        }
        module
    }
}
