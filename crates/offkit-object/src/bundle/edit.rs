//! Bundles without some of their entries.

use std::borrow::Cow;

use offkit_image::{Compression, Error, Limits};

use super::{Bundle, BundleEntry, binary, compressed, replace, sequence};
use crate::edits::{Change, Edited, Edits, Room};
use crate::reading::Reading;
use crate::source::Source;

/// The level of zstd that makes the smallest bundles which do not take more memory to read.
const SMALLEST: i32 = 19;

/// The bundles of a sequence, of which some are changed inside. They are compressed again as they were.
pub(crate) fn edit<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    let mut reading = Reading::strict(limits).for_file_of(source.len());
    let all = sequence::find_all(source, &mut reading)?;
    let place = |part: Source<'_>| part.at(0).saturating_sub(source.at(0));
    let starts: Vec<u64> = all.iter().map(|found| place(found.source)).collect();
    let alignment = replace::alignment_of(starts.iter().copied());
    let ends = starts.iter().skip(1).copied().chain([source.len()]);
    let mut bytes = Vec::new();
    let mut moves = Vec::new();
    for ((number, found), (start, end)) in all.iter().enumerate().zip(starts.iter().copied().zip(ends)) {
        let at = match edits.room {
            Room::Fixed => start,
            Room::Free => replace::next_multiple(bytes.len() as u64, alignment),
        };
        resize(&mut bytes, at)?;
        // Also of one that stays: a pointer to what is not among these would be refused.
        moves.push((start, at));
        let mut new = match (edits.replacement(number), &found.compressed) {
            (None, _) => Cow::Borrowed(found.source.bytes()),
            (Some(new), None) => new.bytes.joined(),
            (Some(new), Some(old)) => {
                let header = old.header;
                Cow::Owned(compressed::write(
                    &new.bytes.joined(),
                    header.version,
                    header.compression,
                    None,
                )?)
            }
        };
        if let (Some(progress), Some(old)) = (edits.recompress, &found.compressed)
            && old.header.compression == Compression::Zstd
        {
            let content = match edits.replacement(number) {
                Some(new) => new.bytes.joined(),
                None => old.inflate(&mut reading)?.into(),
            };
            let small = compressed::write(&content, old.header.version, Compression::Zstd, Some(SMALLEST))?;
            if small.len() < new.len() {
                new = Cow::Owned(small);
            }
            progress(found.source.len());
        }
        if edits.room == Room::Fixed && new.len() as u64 > end.saturating_sub(start) {
            return Err(Error::unrepresentable("the bundle does not become smaller").at(source.at(start)));
        }
        bytes.extend_from_slice(&new);
    }
    // Behind the last bundle as well, or the section would be shorter than before.
    if edits.room == Room::Fixed {
        resize(&mut bytes, source.len())?;
    }
    Ok(Edited {
        bytes: bytes.into(),
        moves,
    })
}

/// Where each bundle of a sequence begins.
pub(crate) fn starts(source: Source<'_>, limits: &Limits) -> Result<Vec<u64>, Error> {
    let mut reading = Reading::strict(limits).for_file_of(source.len());
    let all = sequence::find_all(source, &mut reading)?;
    let place = |found: &sequence::Found<'_>| found.source.at(0).saturating_sub(source.at(0));
    Ok(all.iter().map(place).collect())
}

/// One bundle without the entries that go; the images of the others are where their alignment was.
pub(crate) fn edit_single<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    if !source.bytes().starts_with(&super::MAGIC) {
        // The only part of a compressed file that is no bundle is all of it.
        return Ok(match edits.replacement(0) {
            Some(new) => Edited::whole(new.bytes.clone()),
            None => Edited::whole(source.bytes()),
        });
    }
    let mut reading = Reading::strict(limits).for_file_of(source.len());
    let entries = binary::read(source, &mut reading)?;
    // The offset of an empty image leads to nothing, and may be any number.
    let images = entries.iter().filter(|entry| entry.size > 0);
    let alignment = replace::alignment_of(images.map(|entry| entry.offset));
    let mut kept = Vec::new();
    for entry in &entries {
        let bytes = match edits.parts.get(&entry.index) {
            Some(Change::Remove) => continue,
            Some(Change::Replace(new)) => new.bytes.joined(),
            None => {
                // Entries that share an image are written with one each.
                reading.count_entered(entry.size)?;
                entry.image.map(Source::bytes).unwrap_or_default().into()
            }
        };
        kept.push(BundleEntry::new(&*entry.id, bytes));
    }
    Bundle { entries: kept }.write(alignment).map(Edited::whole)
}

fn resize(out: &mut Vec<u8>, size: u64) -> Result<(), Error> {
    let size = usize::try_from(size).map_err(|_| Error::unrepresentable("the bundles are too large"))?;
    out.resize(size, 0);
    Ok(())
}
