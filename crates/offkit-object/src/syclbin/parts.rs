//! The images of a SYCLBIN as parts.

use offkit_image::PartName as Name;
use offkit_image::property_set::{PropertySets, names};
use offkit_image::{BundleState, Error, ImageFormat, Producer, Target};

use super::{AbstractModule, IrType, SyclBinVersion, find_enveloped, has_magic, v1, v2};
use crate::offload_binary::read_one;
use crate::part::{Content, Facts, MoreFacts, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// What a SYCLBIN says about itself as a whole: its form, its state, and all global properties but that.
///
/// Faults are not noted: [`parts`] comes across them again.
pub(crate) fn outline(
    source: Source<'_>,
    reading: &Reading,
) -> Option<(SyclBinVersion, BundleState, PropertySets)> {
    // With limits of its own: all that is read here is read again for the parts, and counts there.
    let mut reading = Reading::tolerant(reading.limits());
    let (source, version) = if has_magic(source.bytes()) {
        (source, SyclBinVersion::V1)
    } else {
        let found = read_one(source, &mut reading).ok()?;
        match find_enveloped(&found, &mut reading).ok()? {
            Some(enveloped) => enveloped,
            None => {
                let program = v2::read(&found, &mut reading).ok()?;
                return Some((SyclBinVersion::V2, program.state, program.properties));
            }
        }
    };
    let header = v1::read_header(source).ok()?;
    let file = v1::find_parts(source, header, &mut reading).ok()?;
    let (state, properties) = file.read_global(header, &mut reading).ok()?;
    Some((version, state, properties))
}

/// Hands over the images, numbered over all abstract modules, IR first in each.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let (program, version) = super::read(source, reading)?;
    let mut id = 0_usize;
    for (index, module) in program.modules.into_iter().enumerate() {
        let counted = count_copies(&module, reading);
        if reading.accept(counted)?.is_none() {
            break;
        }
        let properties = &module.properties;
        let mut hand_over =
            |reading: &mut Reading, kind: &str, number: usize, image: &[u8], facts: Facts<'data>| {
                let path = [index.to_string(), kind.to_owned(), number.to_string()];
                let image = source.locate(image);
                let mut part = Part::new(id, Name::Path(path.to_vec()), image, Content::Image);
                id = id.saturating_add(1);
                let symbols = |set| properties.symbols(set).map(str::to_owned).collect();
                part.facts = Facts {
                    version: Some(version.number()),
                    producer: Producer::Sycl,
                    more: Some(Box::new(MoreFacts {
                        kernels: symbols(names::KERNEL_NAMES),
                        imports: symbols(names::IMPORTED_SYMBOLS),
                        exports: symbols(names::EXPORTED_SYMBOLS),
                        properties: properties.clone(),
                        ..MoreFacts::default()
                    })),
                    ..facts
                };
                visit(reading, part);
            };
        for (number, ir) in module.ir_modules.into_iter().enumerate() {
            let facts = Facts {
                claim: claimed_format(ir.ir_type, &ir.bytes),
                target: Target::new(ir.target, ""),
                ..Facts::default()
            };
            hand_over(reading, "ir", number, &ir.bytes, facts);
        }
        for (number, native) in module.native_images.into_iter().enumerate() {
            let facts = Facts {
                target: Target::new(native.target, &native.arch),
                ..Facts::default()
            };
            hand_over(reading, "native", number, &native.bytes, facts);
        }
    }
    Ok(())
}

/// Every image gets its own copy of the module's properties and symbol names.
pub(crate) fn count_copies(module: &AbstractModule<'_>, reading: &mut Reading) -> Result<(), Error> {
    let images = module.image_count();
    // Twice, as kernels, imports and exports are properties, and come as lists of names besides.
    let properties = module.properties.property_count().saturating_mul(2);
    reading.count_properties(properties.saturating_mul(images))?;
    reading.count_metadata(module.properties.byte_size().saturating_mul(images as u64))
}

/// The format that an IR module's type promises. Under the type SPIR-V, runtimes store bitcode too.
fn claimed_format(ir_type: IrType, bytes: &[u8]) -> Option<ImageFormat> {
    match ir_type {
        IrType::SPIRV if ImageFormat::detect(bytes) == ImageFormat::Bitcode => None,
        other => other.format(),
    }
}
