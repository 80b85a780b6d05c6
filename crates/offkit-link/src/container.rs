//! The container that linked images are put into.

use offkit_object::{
    AbstractModule, BundleState, Error, ImageFormat, ImageKind, Inspect, Limits, NewImage, OffloadEntry,
    OffloadKind, PropertySets, SyclBin,
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
            return self.syclbin(state)?.write(version);
        }
        let images = self.images.iter().map(|image| -> Result<_, Error> {
            let kind = OffloadKind::of(image.producer).unwrap_or(OffloadKind::None);
            // SPIR-V by itself is SYCL's: OpenCL C has no offload kind.
            let kind = match (image.format, kind) {
                (ImageFormat::Spirv, OffloadKind::None) => OffloadKind::Sycl,
                (_, kind) => kind,
            };
            let mut entry = OffloadEntry::new(ImageKind::of_format(image.format), kind, image.bytes()?);
            // As `clang-sycl-linker` writes them; property sets have no place.
            entry.strings.set("triple", image.target.triple.as_str());
            entry.strings.set("arch", image.target.arch_or_generic());
            entry
                .strings
                .set("symbols", image.symbols(&Limits::default()).kernels.join("\n"));
            Ok(NewImage {
                name: image.location.to_string(),
                entry,
                properties: PropertySets::new(),
            })
        });
        let images = images.collect::<Result<_, _>>()?;
        offkit_object::pack(images, format, state).map(|packed| packed.content.into_bytes())
    }

    /// The images as a SYCL program; those that are forms of the same code are in one module.
    pub fn syclbin(&self, state: BundleState) -> Result<SyclBin<'_>, Error> {
        let mut program = SyclBin::from_images(state, self.images.iter().cloned())?;
        let mut modules: Vec<AbstractModule<'_>> = Vec::new();
        let mut last = None;
        for (module, group) in program.modules.drain(..).zip(&self.groups) {
            match modules.last_mut() {
                Some(same) if last == Some(group) => {
                    same.ir_modules.extend(module.ir_modules);
                    same.native_images.extend(module.native_images);
                }
                _ => modules.push(module),
            }
            last = Some(group);
        }
        program.modules = modules;
        Ok(program)
    }
}
