//! Targets that entries repeat.

use offkit_image::{Error, Target};

use super::raw::{StringV1, StringV2};
use super::read::StoredEntry;
use crate::reading::Reading;
use crate::repeated::{Known, Said};
use crate::source::Source;

/// Sets the target of an entry whose strings are the same as those of one before, if there was one. Counts them as if they
/// were read.
#[inline]
pub(super) fn recall(
    entry: &StoredEntry<'_>,
    reading: &mut Reading,
    target: &mut Target,
) -> Result<bool, Error> {
    let Some(known) = said(entry).and_then(|said| reading.repeated.recall(said)) else {
        return Ok(false);
    };
    target.clone_from(&known.target);
    let metadata = known.metadata;
    let counted = reading.count_strings(usize::try_from(entry.string_count()).unwrap_or(usize::MAX));
    let counted = counted.and_then(|()| reading.count_metadata(metadata));
    let counted = counted.map_err(|error| error.within(entry.title()));
    // As when strings are read: an entry beyond the limit is handed over, and says nothing.
    if reading.accept(counted)?.is_none() {
        *target = Target::default();
    }
    Ok(true)
}

/// Keeps the target of an entry whose strings say nothing else. So much metadata was read for it.
pub(super) fn keep(entry: &StoredEntry<'_>, target: &Target, metadata: u64, reading: &mut Reading) {
    if let Some(said) = said(entry).filter(|said| said.is_short() && lie_within(entry, said.bytes)) {
        let target = target.clone();
        reading.repeated.keep(said, Known { metadata, target });
    }
}

/// What an entry says about its target.
#[inline]
fn said<'data>(entry: &StoredEntry<'data>) -> Option<Said<'data>> {
    Some(Said {
        version: entry.version,
        strings_offset: entry.strings_offset(),
        string_count: entry.string_count(),
        bytes: up_to_image(entry)?,
    })
}

/// The bytes from the table of strings to the image.
#[inline]
fn up_to_image<'data>(entry: &StoredEntry<'data>) -> Option<&'data [u8]> {
    let start = entry.strings_offset();
    let size = entry.image_offset().checked_sub(start)?;
    Some(entry.source.get(start, size)?.bytes())
}

/// Whether all strings lie within `bytes`, with their table and the zeros that end them: nothing else can change them.
fn lie_within(entry: &StoredEntry<'_>, bytes: &[u8]) -> bool {
    let from = |offset: u64| {
        let start = usize::try_from(offset.checked_sub(entry.strings_offset())?).ok()?;
        bytes.get(start..)
    };
    let ends_within = |offset: u64| from(offset).is_some_and(|rest| rest.contains(&0));
    let (table, count) = (Source::new(bytes), entry.string_count());
    if entry.version == 1 {
        table.records::<StringV1>(0, count).is_some_and(|strings| {
            strings
                .iter()
                .all(|string| ends_within(string.key_offset.get()) && ends_within(string.value_offset.get()))
        })
    } else {
        let lies_within = |string: &StringV2| {
            let size = usize::try_from(string.value_size.get()).ok();
            let value = from(string.base.value_offset.get());
            ends_within(string.base.key_offset.get())
                && value.zip(size).is_some_and(|(value, size)| size <= value.len())
        };
        let strings = table.records::<StringV2>(0, count);
        strings.is_some_and(|strings| strings.iter().all(lies_within))
    }
}
