//! Unix archives: GNU, BSD and thin.

use crate::error::Error;
use crate::limits::{Limits, Reading};
use crate::part::Visit;
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

/// Whether the bytes begin like one.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n")
}
