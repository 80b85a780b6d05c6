//! Entries to and from SYCLBIN.

use offkit_image::property_set::{PropertySets, PropertyValue, names};
use offkit_image::{BundleState, Bytes, DeviceImage, Error, ImageFormat, Limits, Location, Producer};

use super::{Item, Losses};
use crate::offload_binary::{ImageKind, OffloadBinary, OffloadEntry, OffloadKind, read_strings};
use crate::reading::Reading;
use crate::syclbin::{self, IrType, SyclBin};

/// The string in which LLVM's linker of SYCL code lists kernels, one a line.
const SYMBOLS: &str = "symbols";

/// Strings of a SYCLBIN of version 2 that are none of the format's own.
pub(super) fn foreign_strings(bytes: &[u8], limits: &Limits, location: &Location, losses: &mut Losses) {
    // A bare SYCLBIN of version 1 is no offload binary: it has no strings, and loses none.
    let Ok(binary) = OffloadBinary::parse(bytes, limits) else {
        return;
    };
    for (number, entry) in binary.entries.iter().enumerate() {
        for (key, _) in entry.strings.iter() {
            if !syclbin::OWN_STRINGS.contains(&key) {
                let what = format!("the string '{}' of entry {number}", key.escape_debug());
                losses.add(location, what);
            }
        }
    }
}

pub(super) fn items<'data>(
    program: SyclBin<'data>,
    location: &Location,
    mut reading: Reading,
    losses: &mut Losses,
) -> Result<Vec<Item<'data>>, Error> {
    losses.add(location, format!("the state of the program: {}", program.state));
    property_sets(&program.properties, location, losses);
    let mut items = Vec::new();
    for (index, module) in program.modules.into_iter().enumerate() {
        let place = location.join(index);
        match module.image_count() {
            0 => losses.add(&place, "an abstract module without images"),
            1 => {}
            count => losses.add(&place, format!("that {count} images are forms of one module")),
        }
        // Every image gets a copy of the kernels' names.
        syclbin::count_copies(&module, &mut reading)
            .map_err(|error| error.within(format!("abstract module {index}")))?;
        let symbols = kernels(&module.properties, &place, losses);
        let mut others = module.properties;
        // Kernels go on in a string of every image, so that their set is no loss.
        if symbols.is_some() {
            others.remove(names::KERNEL_NAMES);
        }
        property_sets(&others, &place, losses);
        let make = |image: Bytes<'data>, triple: &str, arch: &str| {
            let kind = ImageKind::of_format(ImageFormat::detect(&image));
            let mut entry = OffloadEntry::new(kind, OffloadKind::SYCL, image);
            if !arch.is_empty() {
                entry.strings.set("arch", arch.to_owned());
            }
            entry.strings.set("triple", triple.to_owned());
            if let Some(symbols) = &symbols {
                entry.strings.set(SYMBOLS, symbols.clone());
            }
            entry
        };
        for (number, ir) in module.ir_modules.into_iter().enumerate() {
            let location = place.join("ir").join(number);
            property_sets(&ir.properties, &location, losses);
            let shown = ImageFormat::detect(&ir.bytes);
            if ir.ir_type.format() != Some(shown) {
                losses.add(&location, format!("the IR type {}", ir.ir_type.0));
            }
            let entry = make(ir.bytes, &ir.target, "");
            items.push(Item { location, entry });
        }
        for (number, native) in module.native_images.into_iter().enumerate() {
            let location = place.join("native").join(number);
            property_sets(&native.properties, &location, losses);
            let entry = make(native.bytes, &native.target, &native.arch);
            items.push(Item { location, entry });
        }
    }
    Ok(items)
}

pub(super) fn property_sets(sets: &PropertySets, location: &Location, losses: &mut Losses) {
    for (name, _) in sets.iter() {
        losses.add(location, format!("the property set '{}'", name.escape_debug()));
    }
}

/// The kernels as LLVM lists them, if that says all that the property set says.
fn kernels(sets: &PropertySets, location: &Location, losses: &mut Losses) -> Option<String> {
    let set = sets.set(names::KERNEL_NAMES)?;
    // DPC++ writes 1 beside each name. Anything else says more than a list of names can.
    if set.iter().any(|(_, value)| *value != PropertyValue::U32(1)) {
        losses.add(location, "the values beside the kernels' names");
    }
    let kernels: Vec<&str> = set.iter().map(|(kernel, _)| kernel).collect();
    Some(kernels.join("\n"))
}

pub(super) fn from_items<'data>(
    items: &[Item<'data>],
    state: BundleState,
    losses: &mut Losses,
) -> Result<SyclBin<'data>, Error> {
    let mut images = Vec::new();
    for Item { location, entry } in items {
        if entry.is_metadata_only() {
            losses.add(location, "an entry that has strings but no image");
            continue;
        }
        if entry.flags != 0 {
            losses.add(location, format!("the flags {:#x}", entry.flags));
        }
        if !entry.image_kind.says_no_more_than(&entry.image) {
            losses.add(location, format!("the image kind {}", entry.image_kind));
        }
        let mut image = DeviceImage::new(entry.image.clone());
        image.location = location.clone();
        image.producer = entry.offload_kind.producer(entry.image_kind);
        image.strings = entry.strings.clone();
        // A SYCLBIN says target and kernels by properties, which are made of these fields, and has
        // no place for the strings themselves.
        read_strings(&mut image);
        image_losses(&image, entry.offload_kind, losses);
        images.push(image);
    }
    SyclBin::from_images(state, images)
}

/// What an offload binary says about an image and a SYCLBIN cannot.
pub(super) fn image_losses(image: &DeviceImage<'_>, kind: OffloadKind, losses: &mut Losses) {
    let location = &image.location;
    for (key, value) in image.strings.iter() {
        let is_known = ["triple", "arch", SYMBOLS].contains(&key);
        if !is_known || std::str::from_utf8(value).is_err() {
            losses.add(location, format!("the string '{}'", key.escape_debug()));
        }
    }
    if image.producer != Producer::Sycl {
        losses.add(location, format!("the offload kind {kind}"));
    }
    if IrType::of(image).is_some() && !image.target.arch.is_empty() {
        let arch = image.target.arch_with_features();
        losses.add(location, format!("the architecture {arch}, of IR"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syclbin::{AbstractModule, IrModule};

    #[test]
    fn code_that_is_owned_is_written_as_code_that_is_borrowed() {
        let code = b"\x03\x02\x23\x07 and so on";
        let items_of = |bytes: Bytes<'static>| {
            let mut module = AbstractModule::default();
            module
                .ir_modules
                .push(IrModule::new(IrType::SPIRV, "spir64-unknown-unknown", bytes));
            let mut program = SyclBin::new(BundleState::Object);
            program.modules.push(module);
            let reading = Reading::strict(&Limits::default());
            items(program, &Location::of_file("f"), reading, &mut Losses::default()).unwrap()
        };
        let (owned, borrowed) = (items_of(code.to_vec().into()), items_of(code.into()));
        assert_eq!(owned[0].entry.image, code);
        assert_eq!(owned[0].entry, borrowed[0].entry);
    }
}
