//! Bundles as containers.
//!
//! There are three kinds, for the walk: [`parts`] takes a sequence, which every file and section is, even
//! with a single bundle in it ([`ContainerKind::Bundle`]); what it hands over is opened with [`single_parts`]
//! after decompression ([`ContainerKind::SingleBundle`]); and [`text_parts`] takes the text form
//! ([`ContainerKind::TextBundle`]).

use offkit_image::PartName as Name;
use offkit_image::{ContainerKind, Error};

use super::{COMPRESSED_MAGIC, MAGIC, binary, entry_facts, sequence, short_names, text};
use crate::part::{Coding, Content, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// Whether the bytes begin like a bundle in binary form, compressed or not.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || bytes.starts_with(&COMPRESSED_MAGIC)
}

/// Hands over the bundles that follow each other, by number; compressed ones with the version of their header.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    for (number, found) in sequence::find_all(source, reading)?.into_iter().enumerate() {
        let content = Content::Container(ContainerKind::SingleBundle);
        let mut part = Part::new(number, number.into(), found.source, content);
        if let Some(compressed) = found.compressed {
            part.stored = compressed.data;
            part.coding = Some(Coding {
                compression: compressed.header.compression,
                size: Some(compressed.header.content_size),
            });
            part.facts.version = Some(compressed.header.version.number().into());
        }
        visit(reading, part);
    }
    Ok(())
}

/// Hands over the entries of one bundle by their short names.
pub(crate) fn single_parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    if !source.bytes().starts_with(&MAGIC) {
        // Any file can be compressed like a bundle, such as a host object with its sections.
        visit(reading, Part::new(0, Name::Same, source, Content::File));
        return Ok(());
    }
    let entries = binary::read(source, reading)?;
    let ids: Vec<&str> = entries.iter().map(|entry| &*entry.id).collect();
    let names = short_names(&ids);
    for (entry, name) in entries.into_iter().zip(names) {
        if let Some(image) = entry.image {
            // By its number in the header, where those without an image count, too, as `replace`
            // counts them.
            let mut part = Part::new(entry.index, Name::Text(name), image, Content::Entry);
            part.facts = entry_facts(&entry.id);
            visit(reading, part);
        }
    }
    Ok(())
}

/// Hands over the entries of a bundle in text form by their short names.
pub(crate) fn text_parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let entries = text::read(source, reading)?;
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id).collect();
    let names = short_names(&ids);
    for (index, (entry, name)) in entries.into_iter().zip(names).enumerate() {
        let mut part = Part::new(index, Name::Text(name), entry.bytes, Content::Entry);
        part.facts = entry_facts(entry.id);
        visit(reading, part);
    }
    Ok(())
}
