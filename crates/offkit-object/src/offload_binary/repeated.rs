//! Targets that entries repeat: a file with very many images is for a few devices all the same, and so are the
//! objects in an archive.

use offkit_image::{Error, Target};

use super::raw::{StringV1, StringV2};
use super::read::StoredEntry;
use crate::reading::Reading;
use crate::source::Source;

/// What the last entries said about their targets, by the bytes they said it with.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    known: Vec<Known>,
    /// The one that is tried first: entries for several devices take turns.
    next: usize,
}

#[derive(Debug)]
struct Known {
    version: u32,
    strings_offset: u64,
    string_count: u64,
    /// All from the table of strings to the image: everything that was read, and the offsets in it.
    bytes: Vec<u8>,
    /// How much metadata that was.
    metadata: u64,
    target: Target,
}

impl Repeated {
    /// As many as are kept, and the most bytes that each may be compared with.
    const KEPT: usize = 16;
    const LARGEST: usize = 256;

    /// The target of an entry whose strings are the same as those of one before. Counts them as if they were read.
    #[inline]
    pub(super) fn recall(entry: &StoredEntry<'_>, reading: &mut Reading) -> Result<Option<Target>, Error> {
        let Some(place) = reading.repeated.place_of(entry) else {
            return Ok(None);
        };
        reading.repeated.next = place.saturating_add(1);
        let Some(known) = reading.repeated.known.get(place) else {
            return Ok(None);
        };
        let (count, metadata, target) = (known.string_count, known.metadata, known.target.clone());
        let counted = reading.count_strings(usize::try_from(count).unwrap_or(usize::MAX));
        let counted = counted.and_then(|()| reading.count_metadata(metadata));
        let counted = counted.map_err(|error| error.within(entry.title()));
        let is_allowed = reading.accept(counted)?.is_some();
        Ok(Some(if is_allowed { target } else { Target::default() }))
    }

    #[inline]
    fn place_of(&self, entry: &StoredEntry<'_>) -> Option<usize> {
        let bytes = up_to_image(entry)?;
        let is_same = |known: &Known| {
            known.bytes == bytes
                && known.strings_offset == entry.strings_offset()
                && known.string_count == entry.string_count()
                && known.version == entry.version
        };
        let expected = if self.next < self.known.len() {
            self.next
        } else {
            0
        };
        match self.known.get(expected) {
            Some(known) if is_same(known) => Some(expected),
            _ => self.known.iter().position(is_same),
        }
    }

    /// Keeps the target of an entry whose strings say nothing else. So much metadata was read for it.
    pub(super) fn keep(&mut self, entry: &StoredEntry<'_>, target: &Target, metadata: u64) {
        let Some(bytes) = up_to_image(entry).filter(|bytes| bytes.len() <= Self::LARGEST) else {
            return;
        };
        if !lie_within(entry, bytes) {
            return;
        }
        let known = Known {
            version: entry.version,
            strings_offset: entry.strings_offset(),
            string_count: entry.string_count(),
            bytes: bytes.to_vec(),
            metadata,
            target: target.clone(),
        };
        if self.known.len() < Self::KEPT {
            self.known.push(known);
            self.next = self.known.len();
            return;
        }
        let place = self.next.checked_rem(Self::KEPT).unwrap_or_default();
        if let Some(oldest) = self.known.get_mut(place) {
            *oldest = known;
        }
        self.next = place.saturating_add(1);
    }
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
