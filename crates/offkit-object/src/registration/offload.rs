//! One offload binary with all images, as LLVM registers SYCL's after 22: no structures but the binary's own.

use object::SymbolKind;
use offkit_image::{DeviceImage, Error};

use super::Registration;
use super::code::Instruction::{Address, Jump, Second};
use super::host_object::HostObject;
use super::openmp::entry;
use super::sycl::{Destructor, entry_names};
use crate::offload_binary::{OffloadBinary, OffloadBinaryVersion, OffloadKind};

/// Before all other constructors.
const PRIORITY: u16 = 1;

/// Adds the binary and functions that hand it over with its size.
pub(super) fn add(
    object: &mut HostObject,
    registration: &Registration,
    images: &[DeviceImage<'_>],
) -> Result<(), Error> {
    let binary = binary(images)?;
    let size = binary.len() as u64;
    let place = object.offload_section(registration, binary);
    object.name_descriptor(registration, ".sycl_offloading.", place, size);
    if registration.functions {
        let [register, unregister] = ["__sycl_register_lib", "__sycl_unregister_lib"]
            .map(|name| object.extern_symbol(name, SymbolKind::Text).into());
        let constructor = object.function(
            "sycl.descriptor_reg",
            &[Address(place), Second(size), Jump(register)],
        );
        let destructor = object.function(
            "sycl.descriptor_unreg",
            &[Address(place), Second(size), Jump(unregister)],
        );
        Destructor {
            constructor,
            destructor,
        }
        .install(object, PRIORITY);
    }
    Ok(())
}

/// The binary, of version 2, with all images and the names of their kernels.
pub(super) fn binary(images: &[DeviceImage<'_>]) -> Result<Vec<u8>, Error> {
    let entries = images.iter().map(|image| {
        let mut entry = entry(image, OffloadKind::SYCL)?;
        // The image's own strings win over what was made of its target, but not over `symbols`: an
        // older tool may have written that as lines.
        for (key, value) in image.strings.iter() {
            entry.strings.set_bytes(key.to_owned(), value.to_vec());
        }
        entry.strings.set_bytes("symbols", symbols(&entry_names(image))?);
        Ok(entry)
    });
    let binary = OffloadBinary {
        entries: entries.collect::<Result<_, Error>>()?,
    };
    binary.write(OffloadBinaryVersion::V2)
}

/// Names as the string `symbols` has them since then: their number, place and length of each from the start of
/// the string, and the names, each with a zero byte behind it.
fn symbols(names: &[&str]) -> Result<Vec<u8>, Error> {
    let too_long = |_| Error::unrepresentable("the names of an image's kernels are too long");
    let word = |number: usize| u32::try_from(number).map(u32::to_le_bytes).map_err(too_long);
    const WORD: usize = 4;
    let mut out = word(names.len())?.to_vec();
    let mut place = names.len().saturating_mul(2 * WORD).saturating_add(WORD);
    for name in names {
        out.extend(word(place)?);
        out.extend(word(name.len())?);
        place = place.saturating_add(name.len()).saturating_add(1);
    }
    for name in names {
        out.extend(name.as_bytes());
        out.push(0);
    }
    Ok(out)
}
