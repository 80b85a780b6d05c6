//! SYCLBIN content from device images.

use offkit_image::property_set::names;
use offkit_image::{BundleState, DeviceImage, Error, Family, ImageFormat};

use super::{AbstractModule, IrModule, IrType, NativeImage, SyclBin, metadata};

impl IrType {
    /// The format that the type stands for.
    #[must_use]
    pub fn format(self) -> Option<ImageFormat> {
        match self {
            Self::SPIRV => Some(ImageFormat::Spirv),
            Self::PTX => Some(ImageFormat::Ptx),
            _ => None,
        }
    }

    /// The type under which an image is stored as IR; `None` for native code.
    pub(crate) fn of(image: &DeviceImage<'_>) -> Option<Self> {
        match image.format {
            ImageFormat::Bitcode if image.target.family() == Family::Amdgcn => Some(Self::AMDGCN),
            // The type SPIR-V is what runtimes store bitcode under.
            ImageFormat::Spirv | ImageFormat::Bitcode => Some(Self::SPIRV),
            ImageFormat::Ptx => Some(Self::PTX),
            _ => None,
        }
    }
}

#[cfg(feature = "write")]
impl<'data> SyclBin<'data> {
    /// A SYCLBIN with an abstract module for the images of each code, as DPC++'s runtime makes it of one image.
    pub(crate) fn from_images(state: BundleState, images: Vec<DeviceImage<'data>>) -> Result<Self, Error> {
        let mut program = Self::new(state);
        let mut last = None;
        for image in images {
            let code = image.form_of;
            let module = AbstractModule::from_image(image)?;
            match program.modules.last_mut() {
                Some(same) if code.is_some() && code == last => {
                    same.ir_modules.extend(module.ir_modules);
                    same.native_images.extend(module.native_images);
                }
                _ => program.modules.push(module),
            }
            last = code;
        }
        Ok(program)
    }
}

impl<'data> AbstractModule<'data> {
    /// The number of images of both kinds.
    #[must_use]
    pub fn image_count(&self) -> usize {
        self.ir_modules.len().saturating_add(self.native_images.len())
    }

    fn from_image(image: DeviceImage<'data>) -> Result<Self, Error> {
        let mut module = Self::default();
        let ir_type = IrType::of(&image);
        let bytes = image.code.into_bytes()?;
        match ir_type {
            Some(ir_type) => module
                .ir_modules
                .push(IrModule::new(ir_type, image.target.triple, bytes)),
            None => {
                let arch = image.target.arch_with_features();
                module
                    .native_images
                    .push(NativeImage::new(arch, image.target.triple, bytes));
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
        // An image may have come with these as properties; a module that has one is refused.
        for name in metadata::OWN_SETS {
            module.properties.remove(name);
        }
        Ok(module)
    }
}
