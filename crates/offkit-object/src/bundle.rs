//! Clang's offload bundles.

use crate::error::Error;
use crate::limits::{Limits, Reading};
use crate::part::{Facts, Visit};
use crate::source::Source;

/// Hands over every part.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let _ = (source, reading, visit);
    Ok(())
}

/// The container with the bytes of the part `id` replaced by `new`, and nothing else changed.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let _ = (source, id, new, limits);
    Err(Error::unsupported("not written yet"))
}

/// What the ID of an entry says about its image.
pub(crate) fn entry_facts<'data>(id: &str) -> Facts<'data> {
    let _ = id;
    Facts::default()
}

/// A short name for each of the entries of one bundle.
pub(crate) fn short_names(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// Whether the bytes begin like one.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || bytes.starts_with(b"CCOB")
}
