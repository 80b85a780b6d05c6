//! Code for a host as LLVM bitcode, which objects are while a program is linked with `-flto`: what their section
//! `.llvm.offloading` will hold is a constant of the module.

use offkit_image::PartName as Name;
use offkit_image::{Compression, ContainerKind, Error, Family, ImageFormat};

use crate::compression::too_large;
use crate::format::{ContainerFormat, Standing};
use crate::inspect::{embedded_in_bitcode, header_target};
use crate::layout::pad_to_8;
use crate::part::{Coding, Content, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// The section that the constants become.
const SECTION: &str = ".llvm.offloading";

/// Bitcode for a host with device code in it; other bitcode is an image.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Host,
    standing: Standing::File,
    // In this order, as most bitcode is for devices, and to look for constants goes through all of a module.
    is: |bytes| is_for_host(bytes) && !section(bytes).is_empty(),
    parts,
    inflate: |stored, _, most| {
        let section = section(stored.bytes());
        // Nothing tells the size before. The reader of bitstreams bounds it by the file's size.
        match section.len() as u64 > most {
            true => Err(too_large(most)),
            false => Ok(section),
        }
    },
    ..ContainerFormat::USUAL
};

fn is_for_host(bytes: &[u8]) -> bool {
    let format = ImageFormat::detect(bytes);
    format == ImageFormat::Bitcode && Family::of(&header_target(bytes, format).triple).is_host()
}

/// The processor that the bitcode is for, as triples have it.
pub(super) fn architecture(bytes: &[u8]) -> Option<&'static str> {
    let target = header_target(bytes, ImageFormat::detect(bytes));
    match Family::of(&target.triple) {
        Family::Host(cpu) => Some(cpu.name()),
        _ => None,
    }
}

/// What the section of the object will hold: the binaries one after the other. Empty for bitcode that is damaged, too,
/// which is an image with that problem then.
fn section(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for binary in embedded_in_bitcode(bytes).unwrap_or_default() {
        all.extend(binary);
        pad_to_8(&mut all);
    }
    all
}

/// Hands over the section. It is no part of the file's bytes: those of a constant need not begin at a whole byte.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    let content = Content::Container(ContainerKind::OffloadBinary);
    let mut part = Part::new(0, Name::Text(SECTION.to_owned()), source, content);
    part.coding = Some(Coding {
        compression: Compression::Bitcode,
        size: None,
    });
    visit(reading, part);
    Ok(())
}
