//! The target of an image where its container and its code name different ones.

use offkit_image::target::{Decision, decide};
use offkit_image::{DeviceImage, Error, Storage, Target};

use crate::inspect::header_target;

/// A container and the code in it that name targets of which no image can have both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// What the container says.
    pub container: Target,
    /// What the code says, completed by the container where the two agree.
    pub code: Target,
}

/// What an image is for, decided when it is read: by its code, where that is stored as it is, else by its container.
///
/// A list must not say one thing of a compressed image before somebody unpacks it and another one afterwards, so that the
/// code adds what the container left out, but does not overrule it. [`contradiction`] compares the two.
pub(crate) fn decide_as_stored(storage: Storage, told: Target, shown: Target) -> Decision {
    let mut decision = decide(told, shown);
    if storage != Storage::Plain
        && let Some(told) = decision.contradicted.take()
    {
        decision.target = *told;
    }
    decision
}

/// Whether the container of an image names another target than its code does. Unpacks compressed code.
///
/// # Errors
///
/// Code that cannot be unpacked.
pub fn contradiction(image: &DeviceImage<'_>) -> Result<Option<Contradiction>, Error> {
    // Plain code was compared when the image was read, and the container's word is kept beside it.
    if image.storage() == Storage::Plain {
        let told = image.contradicted.as_deref();
        return Ok(told.map(|told| Contradiction {
            container: told.clone(),
            code: image.target.clone(),
        }));
    }
    let shown = header_target(image.bytes()?, image.format);
    let Decision { target, contradicted } = decide(image.target.clone(), shown);
    Ok(contradicted.map(|told| Contradiction {
        container: *told,
        code: target,
    }))
}
