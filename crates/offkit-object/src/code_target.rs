//! What an image is for: its bytes first, as far as they say it, and then its container.

use std::borrow::Cow;

use offkit_image::target::{decide, triples};
use offkit_image::{DeviceImage, ImageFormat, Limits, Target};

use crate::inspect::Inspect;

/// What an image was compiled for, to the processor. Its bytes are read only where nothing cheaper tells that: the
/// processor of bitcode is an attribute of its functions, that of a zebin is in a note.
#[must_use]
pub fn target_of<'image>(image: &'image DeviceImage<'_>) -> Cow<'image, Target> {
    let target = &image.target;
    let is_for_one = || target.family().needs_processor() || image.format == ImageFormat::Zebin;
    let lacks_processor = target.processor().is_empty() && is_for_one();
    if !target.triple.is_empty() && !lacks_processor {
        return Cow::Borrowed(target);
    }
    let own = &image.inspect(&Limits::default()).target;
    Cow::Owned(completed_target(target, own, image.format))
}

/// What a container says of a target, completed by what the bytes say.
#[must_use]
pub fn completed_target(container: &Target, own: &Target, format: ImageFormat) -> Target {
    let mut own = own.clone();
    // Bitcode is compiled for the processor that its container names; another one in it only tuned the front end.
    if format == ImageFormat::Bitcode && !container.processor().is_empty() {
        // Features are those of the processor that they were written for.
        if own.arch != container.arch {
            own.features.clear();
        }
        own.arch.clear();
    }
    let mut target = decide(container.clone(), own).target;
    // A module that is cut off before it says how wide its pointers are.
    if target.triple.is_empty() && format == ImageFormat::Spirv {
        target.triple = triples::SPIRV64.into();
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_count_and_then_the_container() {
        let completed =
            |container: Target, own: Target| completed_target(&container, &own, ImageFormat::Spirv);
        let narrow = Target::new(triples::SPIRV32, "");
        assert_eq!(completed(Target::default(), narrow.clone()), narrow);
        assert_eq!(
            completed(Target::new("", "pvc"), narrow.clone()),
            Target::new(triples::SPIRV32, "pvc")
        );
        let wide = Target::new("spir64-unknown-unknown", "");
        assert_eq!(completed(wide.clone(), narrow.clone()), narrow);
        assert_eq!(completed(wide.clone(), Target::default()), wide);
        assert_eq!(
            completed(Target::default(), Target::default()).triple,
            triples::SPIRV64
        );
        let amd = Target::new(triples::AMDHSA, "gfx90a:xnack+");
        assert_eq!(
            completed_target(&Target::default(), &amd, ImageFormat::Amdgpu),
            amd
        );
    }
}
