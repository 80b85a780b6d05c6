//! The container that linked images are put into.

use offkit_object::{
    BundleState, DeviceImage, Error, ImageKind, NewImage, OffloadEntry, OffloadKind, PropertySets, SyclBin,
    Target,
};

use crate::device_link::Linked;

pub use offkit_object::OutputFormat;

impl Linked {
    /// Puts the images into a container. The state is kept by the formats that have one.
    ///
    /// # Errors
    ///
    /// A symbol that the format cannot express.
    pub fn write(&self, format: OutputFormat, state: BundleState) -> Result<Vec<u8>, Error> {
        if let OutputFormat::SyclBin(version) = format {
            return SyclBin::from_images(state, self.device_images()).write(version);
        }
        let images = self.images.iter().map(|image| {
            let kernels = image.reflection.kernels.iter();
            let kernels: Vec<_> = kernels.map(|kernel| kernel.name.as_str()).collect();
            let mut entry = OffloadEntry::new(ImageKind::Spirv, OffloadKind::Sycl, &image.bytes);
            // As `clang-sycl-linker` writes them; property sets have no place.
            entry.strings.set("triple", self.triple.as_str());
            entry.strings.set("arch", "generic");
            entry.strings.set("symbols", kernels.join("\n"));
            NewImage {
                name: self.triple.clone(),
                entry,
                properties: PropertySets::new(),
            }
        });
        offkit_object::pack(images.collect(), format, state).map(|packed| packed.content.into_bytes())
    }

    /// The images in the model that all containers share.
    pub fn device_images(&self) -> impl Iterator<Item = DeviceImage<'_>> {
        self.images.iter().map(|image| {
            let mut device_image =
                DeviceImage::new(image.bytes.as_slice()).with_properties(image.properties.clone());
            device_image.target = Target::new(self.triple.as_str(), "");
            device_image
        })
    }
}
