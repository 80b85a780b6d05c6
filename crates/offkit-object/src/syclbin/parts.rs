//! The images of a SYCLBIN as parts of a container.

use std::borrow::Cow;

use super::{BundleState, IrModule, IrType, SyclBinVersion, read};
use crate::error::Error;
use crate::format::ImageFormat;
use crate::image::Target;
use crate::limits::{Limits, Reading};
use crate::offload_binary::Producer;
use crate::part::{Content, Facts, Name, Part, Visit};
use crate::property_set::{PropertySets, names};
use crate::source::Source;

/// What a SYCLBIN says about itself as a whole: its form, its state, and its other global properties.
///
/// `None` when it cannot be read; [`parts`] says why.
pub(crate) fn outline(
    source: Source<'_>,
    reading: &Reading,
) -> Option<(SyclBinVersion, BundleState, PropertySets)> {
    let mut reading = Reading::tolerant(reading.limits());
    let (program, version) = read(source, &mut reading).ok()?;
    Some((version, program.state, program.properties))
}

/// Hands over the images, with the properties of their abstract modules.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let (program, version) = read(source, reading)?;
    let mut id = 0_usize;
    for (index, module) in program.modules.into_iter().enumerate() {
        let images = module.image_count();
        let properties = module.properties;
        // Every image gets its own copy of the module's properties and symbol names.
        let copies = properties
            .property_count()
            .saturating_mul(2)
            .saturating_mul(images);
        reading.count_properties(copies)?;
        reading.count_metadata(properties.byte_size().saturating_mul(images as u64))?;
        let mut add = |reading: &mut Reading, kind: &str, number: usize, bytes, claim, target| {
            // Readers of SYCLBIN borrow all images.
            let Cow::Borrowed(bytes) = bytes else { return };
            let name = Name::Path(vec![index.to_string(), kind.to_owned(), number.to_string()]);
            let mut part = Part::new(id, name, source.locate(bytes), Content::Image);
            id = id.saturating_add(1);
            let symbols = |set| properties.symbols(set).map(str::to_owned).collect();
            part.facts = Facts {
                version: Some(version.number()),
                claim,
                target,
                producer: Producer::Sycl,
                kernels: symbols(names::KERNEL_NAMES),
                imports: symbols(names::IMPORTED_SYMBOLS),
                exports: symbols(names::EXPORTED_SYMBOLS),
                properties: properties.clone(),
                ..Facts::default()
            };
            visit(reading, part);
        };
        for (number, ir) in module.ir_modules.into_iter().enumerate() {
            let claim = claimed_by(&ir);
            add(reading, "ir", number, ir.bytes, claim, Target::new(ir.target, ""));
        }
        for (number, native) in module.native_images.into_iter().enumerate() {
            let target = Target::new(native.target, &native.arch);
            add(reading, "native", number, native.bytes, None, target);
        }
    }
    Ok(())
}

/// The format that an IR module's type promises. Under the type SPIR-V, runtimes store bitcode too.
fn claimed_by(module: &IrModule<'_>) -> Option<ImageFormat> {
    match module.ir_type {
        IrType::Spirv if ImageFormat::detect(&module.bytes) == ImageFormat::Bitcode => None,
        other => other.format(),
    }
}

/// The container with the bytes of the part `id` replaced by `new`, and nothing else changed.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let _ = (source, id, new, limits);
    Err(Error::unsupported("not written yet"))
}
