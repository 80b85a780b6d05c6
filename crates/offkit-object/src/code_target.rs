//! What an image is for: what its container says, and where that says nothing, the bytes.

use offkit_image::target::triples;
use offkit_image::{DeviceImage, ImageFormat, Limits, Target};

use crate::inspect::inspect;

/// What an image was compiled for. Its bytes are read only where the container names no triple.
#[must_use]
pub fn target_of(image: &DeviceImage<'_>) -> Target {
    if !image.target.triple.is_empty() {
        return image.target.clone();
    }
    // Bytes that cannot be unpacked tell nothing.
    let bytes = image.bytes().unwrap_or_default();
    let own = inspect(bytes, image.format, &Limits::default()).target;
    completed_target(&image.target, &own, image.format)
}

/// What a container says of a target, completed by what the bytes say.
#[must_use]
pub fn completed_target(container: &Target, own: &Target, format: ImageFormat) -> Target {
    let mut target = container.clone();
    if target.triple.is_empty() {
        target.triple = own.triple.clone();
        if target.arch.is_empty() {
            target.arch = own.arch.clone();
            target.features = own.features.clone();
        }
    }
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
    fn the_container_counts_and_then_the_bytes() {
        let completed =
            |container: Target, own: Target| completed_target(&container, &own, ImageFormat::Spirv);
        let narrow = Target::new(triples::SPIRV32, "");
        assert_eq!(completed(Target::default(), narrow.clone()), narrow);
        assert_eq!(
            completed(Target::new("", "pvc"), narrow.clone()),
            Target::new(triples::SPIRV32, "pvc")
        );
        let wide = Target::new("spir64-unknown-unknown", "");
        assert_eq!(completed(wide.clone(), narrow), wide);
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
