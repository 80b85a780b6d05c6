//! In the place of the readers of images, where this crate is built without them: containers have the only word.

use offkit_image::{CodeVersion, Error, ImageFormat, Limits, Target};

/// No target: the bytes are not asked.
pub(crate) fn header_target(_bytes: &[u8], _format: ImageFormat) -> Target {
    Target::default()
}

/// No target, and no version either.
pub(crate) fn header_facts(
    _bytes: &[u8],
    _format: ImageFormat,
    _told: &Target,
) -> (Option<Target>, Option<CodeVersion>) {
    (None, None)
}

/// No problems: the bytes are not asked.
pub(crate) fn problems_of(_bytes: &[u8], _format: ImageFormat, _limits: &Limits) -> Vec<Error> {
    Vec::new()
}

/// Nothing is found in bitcode.
pub(crate) fn embedded_in_bitcode(_bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    Ok(Vec::new())
}
