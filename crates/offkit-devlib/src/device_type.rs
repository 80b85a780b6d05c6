//! Device types: the short names of what an image is for.

use offkit_image::target::GENERIC;
use offkit_object::{DeviceImage, ImageFormat, Producer, Target};

/// The short name of what an image is for: `gfx803-hsaco`, `sm_60-cubin`, `spirv64-bc`, and of code for a host its
/// architecture alone, `x86_64`.
#[must_use]
pub fn device_type(image: &DeviceImage<'_>) -> String {
    device_type_of(&image.target, image.producer, image.format)
}

/// As [`device_type`], of an image with these facts.
#[must_use]
pub fn device_type_of(target: &Target, producer: Producer, format: ImageFormat) -> String {
    let architecture = || target.parts().architecture().to_owned();
    match target.arch_with_features() {
        _ if producer == Producer::Host => architecture(),
        arch if arch.is_empty() || arch == GENERIC => format!("{}-{}", architecture(), kind(format)),
        arch => format!("{arch}-{}", kind(format)),
    }
}

/// What a kind of code is called in names of files.
fn kind(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Bitcode => "bc",
        ImageFormat::Amdgpu => "hsaco",
        ImageFormat::Cubin => "cubin",
        ImageFormat::Ptx => "ptx",
        ImageFormat::Spirv => "spv",
        ImageFormat::Zebin => "zebin",
        ImageFormat::Elf => "o",
        ImageFormat::Archive => "a",
        _ => "unknown",
    }
}
