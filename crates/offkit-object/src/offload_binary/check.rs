//! The rules of offload binaries that reading does not insist on.

use std::collections::HashSet;

use offkit_image::Error;

use super::{Binary, Found, OffloadEntry, Sequence, raw};
use crate::ranges::{Range, check_multiple_of_8, check_ranges};
use crate::reading::Reading;
use crate::source::Source;

pub(crate) fn check(source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    // Apart from `reading`, which gets only what breaks the rules below: what reading itself minds
    // was reported when the file was read.
    let mut quiet = Reading::tolerant(reading.limits());
    let mut sequence = Sequence::new(source);
    while let Some(binary) = sequence.next(&mut quiet)? {
        match binary {
            Binary::Compressed(compressed) => check_place(source, compressed.whole, reading)?,
            Binary::Plain(outline) => {
                check_place(source, outline.source, reading)?;
                let found = outline.decode(&mut quiet)?;
                // What could not be read as a whole is reported by reading.
                if quiet.take_problems().is_empty() {
                    check_binary(&found, reading)?;
                }
            }
        }
    }
    Ok(())
}

fn check_place(source: Source<'_>, binary: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    let place = binary.at(0).saturating_sub(source.at(0));
    check_multiple_of_8(place, binary.at(0), "place of the offload binary", reading)
}

fn check_binary(found: &Found<'_>, reading: &mut Reading) -> Result<(), Error> {
    let whole = found.source;
    let Some(header) = whole.record::<raw::Header>(0) else {
        return Ok(());
    };
    let (header_size, string_size) = match found.version {
        1 => (size_of::<raw::Header>(), size_of::<raw::StringV1>()),
        2 => (size_of::<raw::Header>(), size_of::<raw::StringV2>()),
        _ => (size_of::<raw::HeaderV3>(), size_of::<raw::StringV2>()),
    };
    check_multiple_of_8(header.size.get(), whole.at(8), "size", reading)?;
    let entry_size = size_of::<raw::Entry>() as u64;
    let count = if found.version == 1 {
        let size = header.entries_size_or_count.get();
        if size != entry_size {
            reading.fault(
                Error::malformed("entry has another size than the format's")
                    .at(whole.at(24))
                    .field("entry size")
                    .expecting(format!("{entry_size:#x}"))
                    .finding(format_args!("{size:#x}")),
            )?;
        }
        1
    } else {
        header.entries_size_or_count.get()
    };
    let entries_at = header.entries_offset.get();
    let mut ranges = vec![
        Range::new(0, header_size as u64, "the header"),
        Range::new(entries_at, count.saturating_mul(entry_size), "the entries"),
    ];
    let entries: &[raw::Entry] = whole.records(entries_at, count).unwrap_or_default();
    // In step, as no entry was left out: a binary with a fault in it does not come here.
    for (number, (entry, raw)) in found.binary.entries.iter().zip(entries).enumerate() {
        let at = entries_at.saturating_add((number as u64).saturating_mul(entry_size));
        check_entry(found, number, (entry, raw, at), reading)?;
        let strings_at = raw.strings_offset.get();
        let size = raw.string_count.get().saturating_mul(string_size as u64);
        ranges.push(Range::new(
            strings_at,
            size,
            format!("the string entries of entry {number}"),
        ));
        ranges.push(Range::new(
            raw.image_offset.get(),
            raw.image_size.get(),
            format!("the image of entry {number}"),
        ));
        for (index, (key, value)) in entry.strings.iter().enumerate() {
            let at = strings_at.saturating_add(index.saturating_mul(string_size) as u64);
            let Some(string) = whole.record::<raw::StringV1>(at) else {
                continue;
            };
            let what = || format!("a string of entry {number}");
            let texts = [
                (string.key_offset.get(), key.len(), true),
                // Since version 2 a value has its size, and needs no zero byte.
                (string.value_offset.get(), value.len(), found.version == 1),
            ];
            for (start, size, is_ended) in texts {
                // Shared, as LLVM stores a string that ends another one within that.
                let size = (size as u64).saturating_add(u64::from(is_ended));
                ranges.push(Range::new(start, size, what()).shared());
            }
        }
    }
    check_ranges(whole, ranges, reading)
}

/// Checks an entry, given with what the file has of it and where that is in the binary.
fn check_entry(
    found: &Found<'_>,
    number: usize,
    (entry, raw, at): (&OffloadEntry<'_>, &raw::Entry, u64),
    reading: &mut Reading,
) -> Result<(), Error> {
    const FLAGS: u64 = 4;
    const IMAGE_OFFSET: u64 = 24;
    let field = |place: u64| found.source.at(at.saturating_add(place));
    let within = |error: Error| error.within(format!("entry {number}"));
    // Since version 2 the images follow each other without padding, so that only the first is aligned.
    let is_first = number == 0;
    if is_first && !raw.image_offset.get().is_multiple_of(8) {
        reading.fault(within(
            Error::malformed("not a multiple of 8")
                .at(field(IMAGE_OFFSET))
                .field("image offset")
                .finding(format_args!("{:#x}", raw.image_offset.get())),
        ))?;
    }
    if entry.flags & !OffloadEntry::METADATA_ONLY != 0 || (found.version == 1 && entry.flags != 0) {
        reading.fault(within(
            Error::malformed("flags without a meaning")
                .at(field(FLAGS))
                .field("flags")
                .finding(format_args!("{:#x}", entry.flags)),
        ))?;
    }
    if entry.is_metadata_only() && !entry.image.is_empty() {
        reading.fault(within(
            Error::malformed("entry says that it has no image, and has one")
                .at(field(FLAGS))
                .field("flags"),
        ))?;
    }
    let mut seen = HashSet::new();
    for (key, _) in entry.strings.iter() {
        if !seen.insert(key) {
            reading.fault(within(
                Error::malformed("two strings have one key")
                    .at(found.source.at(raw.strings_offset.get()))
                    .field("strings")
                    .finding(key.escape_debug()),
            ))?;
        }
    }
    Ok(())
}
