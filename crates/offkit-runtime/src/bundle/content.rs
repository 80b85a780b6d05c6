//! A bundle as a file.

use std::collections::HashSet;
use std::sync::Arc;

use offkit_image::ImageFormat;
use offkit_image::property_set::names;
use offkit_object::{DeviceImage, OutputFormat, SyclBinVersion, pack};
use offkit_spirv::{LinkInput, LinkOptions, Module, link};

use super::unit::{Part, Unit};
use super::{BundleError, KernelBundle, State};

/// The version that libsycl 2026.2 reads and writes.
const READ_BY_ALL: SyclBinVersion = SyclBinVersion::V1Enveloped;

impl<S: State> KernelBundle<S> {
    /// The bundle as a SYCLBIN of the same state, in the version that SYCL runtimes of 2025 and 2026 read.
    ///
    /// # Errors
    ///
    /// As [`content_of_version`](Self::content_of_version).
    pub fn content(&self) -> Result<Vec<u8>, BundleError> {
        self.content_of_version(READ_BY_ALL)
    }

    /// The same in a version of the format.
    ///
    /// Values of specialization constants become their defaults. SPIR-V that was linked becomes one image. Machine code that
    /// was linked stays as many images as it was, for it cannot be linked without a device, and is linked again where the
    /// file is opened.
    ///
    /// # Errors
    ///
    /// [`BundleError::Write`] for images that cannot be read, or not linked into one.
    pub fn content_of_version(&self, version: SyclBinVersion) -> Result<Vec<u8>, BundleError> {
        let mut written = HashSet::new();
        let mut images = Vec::new();
        for unit in &self.units {
            // Code for several devices is written once.
            let of_unit = unit.parts.iter();
            // With the constants: they become part of the code, which then differs in the file.
            let of_unit: Vec<_> = of_unit
                .map(|part| (Arc::as_ptr(&part.image), &part.constants))
                .collect();
            if !written.insert(of_unit) {
                continue;
            }
            images.extend(unit.whole()?);
        }
        let packed = pack(images, OutputFormat::SyclBin(version), S::STATE);
        Ok(packed.map_err(write_error)?.content.into_bytes())
    }
}

impl Unit {
    /// The images of the unit, as one where that can be.
    fn whole(&self) -> Result<Vec<DeviceImage<'static>>, BundleError> {
        let is_spirv = |part: &Part| part.image.format == ImageFormat::Spirv;
        match self.parts.as_slice() {
            several @ [_, _, ..] if several.iter().all(is_spirv) => Ok(vec![joined(several)?]),
            parts => parts.iter().map(Part::with_constants).collect(),
        }
    }
}

/// SPIR-V modules linked into one, with all that was known of them but what they imported and exported. Modules
/// number their constants each for itself, so these get their values before.
fn joined(parts: &[Part]) -> Result<DeviceImage<'static>, BundleError> {
    let labels: Vec<String> = parts.iter().map(|part| part.image.location.to_string()).collect();
    let modules = parts.iter().map(|part| -> Result<Module, BundleError> {
        let image = &part.image;
        let module = Module::from_bytes(image.bytes().map_err(write_error)?);
        let mut module = module.map_err(write_error)?;
        part.bake(&mut module);
        Ok(module)
    });
    let modules = modules.collect::<Result<Vec<_>, _>>()?;
    let inputs = labels.iter().zip(&modules);
    let inputs: Vec<_> = inputs
        .map(|(label, module)| LinkInput { label, module })
        .collect();
    let module = link(&inputs, LinkOptions::default()).map_err(write_error)?;
    let mut whole = DeviceImage::of_format(module.to_bytes(), ImageFormat::Spirv);
    for image in parts.iter().map(|part| &part.image) {
        whole.properties.extend(&image.properties);
        whole.kernels.extend(image.kernels.iter().cloned());
    }
    // What the modules needed of each other they have got, and the constants have their values.
    for set in [
        names::IMPORTED_SYMBOLS,
        names::EXPORTED_SYMBOLS,
        names::SPECIALIZATION_CONSTANTS,
        names::SPECIALIZATION_CONSTANT_DEFAULTS,
    ] {
        whole.properties.remove(set);
    }
    if let Some(first) = parts.first() {
        whole.location = first.image.location.clone();
        whole.target = first.image.target.clone();
    }
    Ok(whole)
}

fn write_error(error: impl std::error::Error + Send + Sync + 'static) -> BundleError {
    BundleError::Write(Box::new(error))
}
