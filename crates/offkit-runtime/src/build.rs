//! From collected images to a kernel that can be launched.

use offkit_object::{DeviceImage, ImageFormat, Location, backquoted};
use offkit_pi::host::{Context, Device, PiError, Program};

use crate::collect::Collection;
use crate::kernel::Kernel;
use crate::registry::ImageRegistry;

/// A device refuses the images of a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// One of the images cannot be unpacked.
    #[error("cannot unpack `{image}`")]
    Damaged {
        /// The image.
        image: Location,
        /// What is wrong with it.
        source: offkit_object::Error,
    },
    /// One of the images.
    #[error("cannot {action} `{image}`")]
    Image {
        /// What was tried: create a program from it, compile it.
        action: &'static str,
        /// The image.
        image: Location,
        /// What the device says.
        source: PiError,
    },
    /// All of them together.
    #[error("cannot {action} {}", backquoted(.images))]
    Images {
        /// What was tried: build them, link them.
        action: &'static str,
        /// The images.
        images: Vec<Location>,
        /// What the device says.
        source: PiError,
    },
    /// The program was built but does not give the kernel.
    #[error("cannot create kernel `{kernel}`")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What the device says.
        source: PiError,
    },
}

impl ImageRegistry {
    /// Builds the images of a collection for a device and returns the kernel.
    ///
    /// One image is built by itself. Several are compiled one by one and linked by the device's own
    /// linker, the kernel's image first.
    ///
    /// # Errors
    ///
    /// [`BuildError`] with what the device says.
    pub fn build(
        &self,
        collection: &Collection,
        context: &Context,
        device: &Device,
    ) -> Result<Kernel, BuildError> {
        let images: Vec<&DeviceImage<'_>> = collection.images.iter().map(|&id| self.image(id)).collect();
        let together = |action| {
            let images = images.iter().map(|image| image.location.clone()).collect();
            move |source| BuildError::Images {
                action,
                images,
                source,
            }
        };
        let programs = images
            .iter()
            .map(|image| create(image, context, device))
            .collect::<Result<Vec<_>, _>>()?;
        let program = match programs.as_slice() {
            [program] => {
                program.build("").map_err(together("build"))?;
                program.clone()
            }
            several => {
                for (program, image) in several.iter().zip(&images) {
                    program.compile("").map_err(|source| BuildError::Image {
                        action: "compile",
                        image: image.location.clone(),
                        source,
                    })?;
                }
                let references: Vec<&Program> = several.iter().collect();
                context.link(&references, "").map_err(together("link"))?
            }
        };
        let name = &collection.kernel.name;
        let kernel = program.kernel(name).map_err(|source| BuildError::Kernel {
            kernel: name.clone(),
            source,
        })?;
        let description = self.kernel(&collection.kernel).cloned();
        Ok(Kernel::new(kernel, name.clone(), description))
    }
}

fn create(image: &DeviceImage<'_>, context: &Context, device: &Device) -> Result<Program, BuildError> {
    let bytes = image.bytes().map_err(|source| BuildError::Damaged {
        image: image.location.clone(),
        source,
    })?;
    let program = match image.format {
        ImageFormat::Spirv => context.program_with_il(bytes),
        _ => context.program_with_binary(device, bytes),
    };
    program.map_err(|source| BuildError::Image {
        action: "create a program from",
        image: image.location.clone(),
        source,
    })
}
