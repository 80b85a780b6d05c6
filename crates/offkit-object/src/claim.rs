//! Whether an image is what its header says.

use offkit_image::{Error, ImageFormat};

/// Says that an image whose bytes show what it is, is something else than a header claims.
#[inline]
pub(crate) fn check_format(
    shown: ImageFormat,
    claim: Option<ImageFormat>,
    offset: Option<u64>,
) -> Option<Error> {
    // Bytes of no known format contradict nothing: they may be of a format that is newer than this
    // program.
    let claim = claim.filter(|claim| shown != ImageFormat::Unknown && !shown.satisfies(*claim))?;
    Some(is_not(shown, claim, offset))
}

#[cold]
fn is_not(shown: ImageFormat, claim: ImageFormat, offset: Option<u64>) -> Error {
    Error::malformed("image is not what its header says")
        .at(offset.unwrap_or_default())
        .expecting(claim.name())
        .finding(shown.name())
}
