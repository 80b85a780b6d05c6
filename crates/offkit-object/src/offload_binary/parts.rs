//! The entries of offload binaries as parts.

use offkit_image::PartName as Name;
use offkit_image::{ContainerKind, Error, Strings, Target};

use super::ImageKind;
use super::ahead::{Position, with_reader_ahead};
use super::read::StoredEntry;
use super::repeated::{keep, recall};
use super::sequence::{Binary, Sequence};
use crate::part::{Coding, Content, Facts, MoreFacts, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// Hands over the entries of all binaries, numbered across them.
///
/// A SYCLBIN of several entries, and a compressed binary that is not alone, count as one. Of a compressed
/// binary all bytes are handed over, header included: [`inflated`](super::inflated) makes an offload binary of
/// them that is not compressed.
pub(super) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    with_reader_ahead(source, |position| all_parts(source, position, reading, visit))
}

fn all_parts<'data>(
    source: Source<'data>,
    position: &Position,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let mut sequence = Sequence::new(source);
    let mut number = 0_usize;
    let mut hand_over = |binary, is_alone, reading: &mut Reading| {
        match binary {
            Binary::Compressed(compressed) => {
                let content = Content::Container(ContainerKind::OffloadBinary);
                let mut part = Part::new(number, name(number, is_alone), compressed.whole, content);
                part.coding = Some(Coding {
                    compression: compressed.compression,
                    size: Some(compressed.inflated_size),
                });
                part.facts.version = Some(3);
                visit(reading, part);
                number = number.saturating_add(1);
            }
            // Of a binary of version 2 all entries together are the SYCLBIN. In one of version 1 it
            // is the only entry, and among other binaries an entry like theirs.
            Binary::Plain(outline) if outline.is_syclbin() && (is_alone || outline.version >= 2) => {
                let content = Content::Container(ContainerKind::SyclBin);
                visit(
                    reading,
                    Part::new(number, name(number, is_alone), outline.source, content),
                );
                number = number.saturating_add(1);
            }
            Binary::Plain(outline) => outline.each_entry(reading, |reading, entry| {
                if !entry.is_metadata_only() {
                    let content = if entry.image_kind() == ImageKind::SYCLBIN {
                        Content::Container(ContainerKind::SyclBin)
                    } else {
                        Content::Entry
                    };
                    let mut part = Part::new(number, Name::Number(number), entry.image, content);
                    read_facts(&mut part.facts, &entry, reading)?;
                    visit(reading, part);
                }
                number = number.saturating_add(1);
                Ok(())
            })?,
        }
        Ok(())
    };
    // Only the first can be alone.
    let Some(first) = sequence.next(reading)? else {
        return Ok(());
    };
    let mut next = sequence.next(reading)?;
    hand_over(first, next.is_none(), reading)?;
    while let Some(binary) = next {
        position.set(sequence.position());
        hand_over(binary, false, reading)?;
        next = sequence.next(reading)?;
    }
    Ok(())
}

fn name(number: usize, is_alone: bool) -> Name {
    if is_alone {
        Name::Same
    } else {
        Name::Number(number)
    }
}

/// Reads what a binary says about one of its entries into the facts of its part.
#[inline]
fn read_facts<'data>(
    facts: &mut Facts<'data>,
    entry: &StoredEntry<'data>,
    reading: &mut Reading,
) -> Result<(), Error> {
    let image_kind = entry.image_kind();
    facts.version = Some(entry.version);
    facts.claim = image_kind.claimed_format();
    facts.producer = entry.offload_kind().producer(image_kind);
    if !recall(entry, reading, &mut facts.target)? {
        (facts.target, facts.more) = in_strings(entry, reading)?;
    }
    Ok(())
}

/// What the strings of an entry say.
fn in_strings<'data>(
    entry: &StoredEntry<'data>,
    reading: &mut Reading,
) -> Result<(Target, Option<Box<MoreFacts<'data>>>), Error> {
    let counted = reading.metadata();
    let (mut triple, mut arch): (&[u8], &[u8]) = (&[], &[]);
    let mut strings = Strings::new();
    // Of a repeated key the last value counts.
    entry.each_string(reading, |key, value| match key {
        "triple" => triple = value,
        "arch" => arch = value,
        _ => strings.push(key, value),
    })?;
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    let target = Target::new(text(triple), text(arch));
    if strings.is_empty() {
        // Only what was read without a fault may be recalled: the next entry with the same bytes
        // has the same fault, and it is to be told of that one as well.
        if !reading.is_exhausted() && !reading.has_problems() {
            let metadata = reading.metadata().saturating_sub(counted);
            keep(entry, &target, metadata, reading);
        }
        return Ok((target, None));
    }
    let more = MoreFacts {
        kernels: kernels(&strings, reading)?,
        strings,
        ..MoreFacts::default()
    };
    Ok((target, Some(Box::new(more))))
}

/// The names of kernels that are stored in a string `symbols`.
fn kernels(strings: &Strings<'_>, reading: &mut Reading) -> Result<Vec<String>, Error> {
    let Some(symbols) = strings.get_bytes("symbols") else {
        return Ok(Vec::new());
    };
    let names = symbol_names(symbols);
    let counted = reading.count_properties(names.len());
    Ok(match reading.accept(counted)? {
        Some(()) => names.into_iter().map(str::to_owned).collect(),
        None => Vec::new(),
    })
}

/// The names in a string `symbols`: one a line, as `clang-sycl-linker` of LLVM 22 writes them, or as the table that it has
/// written since.
pub(super) fn symbol_names(symbols: &[u8]) -> Vec<&str> {
    let lines = || {
        let text = std::str::from_utf8(symbols).unwrap_or_default();
        text.lines().filter(|name| !name.is_empty()).collect()
    };
    names_in_table(symbols).unwrap_or_else(lines)
}

/// The names in a table: their number, place and length of each from the start, then the names.
fn names_in_table(table: &[u8]) -> Option<Vec<&str>> {
    let (words, _) = table.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word) as usize);
    let count = words.next()?;
    // Text is not taken for a table: its first four letters are a number that no table has room for.
    let places = count.checked_mul(2)?;
    if places > words.len() {
        return None;
    }
    let mut words = words.take(places);
    let mut names = Vec::with_capacity(count);
    // Names may be anywhere: many long ones that share their bytes are no table of anybody's, and each becomes a copy.
    let mut left = table.len();
    while let (Some(place), Some(length)) = (words.next(), words.next()) {
        left = left.checked_sub(length)?;
        let name = table.get(place..place.checked_add(length)?)?;
        names.push(std::str::from_utf8(name).ok()?);
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_lines_or_a_table() {
        assert_eq!(symbol_names(b"saxpy\nreduce\n"), ["saxpy", "reduce"]);
        let table = [
            &[2, 0, 0, 0, 20, 0, 0, 0, 5, 0, 0, 0][..],
            &[26, 0, 0, 0, 6, 0, 0, 0],
            b"saxpy\0reduce\0",
        ];
        let table = table.concat();
        assert_eq!(symbol_names(&table), ["saxpy", "reduce"]);
        assert_eq!(symbol_names(&[0; 4]), [""; 0]);
        assert_eq!(symbol_names(b""), [""; 0]);
        // A table that is cut short is none.
        assert!(
            symbol_names(&table[..table.len() - 3])
                .iter()
                .all(|name| *name != "saxpy")
        );
    }

    #[test]
    fn names_that_share_their_bytes_do_not_multiply() {
        let long = [b'k'; 2_000];
        let sharing = |count: u32| {
            let place = 4 + count * 8;
            let mut table = count.to_le_bytes().to_vec();
            for _ in 0..count {
                table.extend(place.to_le_bytes());
                table.extend((long.len() as u32).to_le_bytes());
            }
            table.extend(long);
            table
        };
        assert_eq!(symbol_names(&sharing(1)), [str::from_utf8(&long).unwrap()]);
        let table = sharing(100);
        let bytes: usize = symbol_names(&table).into_iter().map(str::len).sum();
        assert!(bytes <= table.len(), "{bytes} of {}", table.len());
    }
}
