//! OpenMP: `__tgt_bin_desc`, as LLVM's offloading runtime takes it since 20.

use object::SymbolKind;
use offkit_image::{DeviceImage, Error};

use super::Registration;
use super::code::Instruction::{Address, Call, Enter, Jump, Leave};
use super::entry_array::entry_array;
use super::host_object::{Embedded, HostObject};
use crate::offload_binary::{ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};

/// After the runtimes' own constructors, before those of programs.
const PRIORITY: u16 = 101;

/// Adds a descriptor of all images; each has the whole table of entries.
pub(super) fn add(
    object: &mut HostObject,
    registration: &Registration,
    images: &[DeviceImage<'_>],
) -> Result<(), Error> {
    let mut embedded = Embedded::for_images(images);
    for image in images {
        embedded.push(&binary(image)?)?;
    }
    let ranges = std::mem::take(&mut embedded.images);
    let code = object.offload_section(registration, embedded.bytes);
    let (entries_begin, entries_end) = entry_array(object);

    let tables = &mut object.tables;
    let device_images = tables.end();
    // Into the offload binaries, as LLVM's linker points: the runtime takes what is between two
    // pointers for the image itself.
    for (begin, end) in &ranges {
        tables.pointer(code.after(*begin));
        tables.pointer(code.after(*end));
        tables.pointer(entries_begin);
        tables.pointer(entries_end);
    }
    let descriptor = tables.end();
    let count = u32::try_from(ranges.len())
        .map_err(|_| Error::unrepresentable("too many images for one descriptor").finding(ranges.len()))?;
    tables.u32(count);
    tables.u32(0);
    tables.pointer(device_images);
    tables.pointer(entries_begin);
    tables.pointer(entries_end);
    let size = tables.end().offset.saturating_sub(descriptor.offset);
    object.name_descriptor(registration, ".omp_offloading.", descriptor, size);

    if registration.functions {
        let register = object
            .extern_symbol("__tgt_register_lib", SymbolKind::Text)
            .into();
        let unregister = object
            .extern_symbol("__tgt_unregister_lib", SymbolKind::Text)
            .into();
        let at_exit = object.extern_symbol("atexit", SymbolKind::Text).into();
        let unregistration = object.function(
            ".omp_offloading.descriptor_unreg",
            &[Address(descriptor), Jump(unregister)],
        );
        // By `atexit`, so that it comes before the destructors of what the runtime loads meanwhile.
        let constructor = object.function(
            ".omp_offloading.descriptor_reg",
            &[
                Enter,
                Address(descriptor),
                Call(register),
                Address(unregistration),
                Leave,
                Jump(at_exit),
            ],
        );
        object.constructor(constructor, PRIORITY);
    }
    Ok(())
}

/// A binary of version 1 with the image and what is known about its target.
pub(super) fn binary(image: &DeviceImage<'_>) -> Result<Vec<u8>, Error> {
    OffloadBinary::from(entry(image, OffloadKind::OPENMP)?).write(OffloadBinaryVersion::V1)
}

/// The image as an entry of an offload binary.
pub(super) fn entry<'image>(
    image: &'image DeviceImage<'_>,
    kind: OffloadKind,
) -> Result<OffloadEntry<'image>, Error> {
    let mut entry = OffloadEntry::new(ImageKind::of_format(image.format), kind, image.bytes()?);
    entry.strings.set("triple", image.target.triple.as_str());
    let arch = image.target.arch_with_features();
    // Where strings of its own name the target, they name all of it.
    if !arch.is_empty() || image.strings.get("triple").is_none() {
        entry.strings.set("arch", arch);
    }
    Ok(entry)
}
