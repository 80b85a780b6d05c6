//! The entries of all offload binaries in a file, wherever clang puts these.

use offkit_image::PartName as Name;
use offkit_image::{ContainerKind, Error, Limits};

use crate::container;
use crate::offload_binary::{Binary, MAGIC, OffloadEntry, Sequence, inflated, read_one};
use crate::part::Content;
use crate::reading::Reading;
use crate::source::Source;

/// Hands every entry of every offload binary in `bytes` to `visit`: in a file of offload binaries, in the sections
/// of ELF and COFF objects, and in such objects in archives.
///
/// `visit` gets the name of the file or of the archive's member that an entry comes from. Entries are handed over
/// as they are, also those that are containers themselves; [`walk`](crate::walk) is for what is inside of these. A
/// file of another kind has no entries.
///
/// # Errors
///
/// The first fault, after all entries that could be read were handed over.
pub fn offload_entries(
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    visit: &mut dyn FnMut(&str, &OffloadEntry<'_>),
) -> Result<(), Error> {
    let mut reading = Reading::tolerant(limits).for_file_of(bytes.len() as u64);
    let result = open(name, Source::new(bytes), &mut reading, visit, 0);
    match reading.take_problems().into_iter().next() {
        Some(first) => Err(first),
        None => result,
    }
}

fn open(
    name: &str,
    source: Source<'_>,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&str, &OffloadEntry<'_>),
    depth: usize,
) -> Result<(), Error> {
    if source.bytes().starts_with(&MAGIC) {
        return sequence(name, source, reading, visit);
    }
    let Some(format) = container::format_of(Content::File, source.bytes()) else {
        return Ok(());
    };
    let kind = format.kind();
    if !matches!(kind, ContainerKind::Host | ContainerKind::Archive) {
        return Ok(());
    }
    if depth > reading.limits().max_nesting {
        return Ok(());
    }
    reading
        .count_entered(source.len())
        .map_err(|error| error.at(source.at(0)))?;
    let mut first_error = None;
    let result = format.parts(source, reading, &mut |reading, part| {
        if part.coding.is_some() {
            return;
        }
        let member = match (&part.name, kind) {
            (Name::Text(text), ContainerKind::Archive) => text.clone(),
            (Name::Path(path), ContainerKind::Archive) => path.join("/"),
            _ => name.to_owned(),
        };
        let result = match part.content {
            Content::File => open(&member, part.stored, reading, visit, depth.saturating_add(1)),
            _ if part.stored.bytes().starts_with(&MAGIC)
                || part.content == Content::Container(ContainerKind::OffloadBinary) =>
            {
                sequence(&member, part.stored, reading, visit)
            }
            _ => Ok(()),
        };
        if let Err(error) = result {
            first_error.get_or_insert(error);
        }
    });
    match first_error {
        Some(error) => Err(error),
        None => result,
    }
}

fn sequence(
    name: &str,
    source: Source<'_>,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&str, &OffloadEntry<'_>),
) -> Result<(), Error> {
    reading
        .count_entered(source.len())
        .map_err(|error| error.at(source.at(0)))?;
    let mut binaries = Sequence::new(source);
    while let Some(binary) = binaries.next(reading)? {
        match binary {
            Binary::Plain(outline) => outline.each_entry(reading, |reading, entry| {
                visit(name, &entry.decode(reading)?);
                Ok(())
            })?,
            Binary::Compressed(compressed) => {
                let whole = inflated(compressed.whole, reading.inflation_left());
                let Some(whole) = reading.accept(whole)? else {
                    continue;
                };
                reading.count_inflated(whole.len() as u64);
                let found = read_one(Source::new(&whole), reading);
                for entry in reading
                    .accept(found)?
                    .iter()
                    .flat_map(|found| &found.binary.entries)
                {
                    visit(name, entry);
                }
            }
        }
    }
    Ok(())
}
