//! The container that linked images are put into.

use offkit_object::{BundleState, Error, ImageFormat, Inspect, Limits, Producer};

use crate::device_link::Linked;

pub use offkit_object::OutputFormat;

impl Linked {
    /// Puts the images into a container. The state is kept by the formats that have one.
    ///
    /// # Errors
    ///
    /// A symbol that the format cannot express.
    pub fn write(&self, format: OutputFormat, state: BundleState) -> Result<Vec<u8>, Error> {
        let mut images = self.images.clone();
        if !matches!(format, OutputFormat::SyclBin(_)) {
            for image in &mut images {
                // SPIR-V by itself is SYCL's: OpenCL C has no offload kind.
                if (image.format, image.producer) == (ImageFormat::Spirv, Producer::None) {
                    image.producer = Producer::Sycl;
                }
                // As `clang-sycl-linker` writes them; property sets have no place.
                let arch = image.target.arch_or_generic();
                image.strings.set("arch", arch);
                let kernels = image.symbols(&Limits::default()).kernels;
                image.strings.set("symbols", kernels.join("\n"));
            }
        }
        offkit_object::pack(images, format, state).map(|packed| packed.content.into_bytes())
    }
}
