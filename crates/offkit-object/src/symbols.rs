//! The names in an image: what it offers and what it needs, from its container and from itself.

use offkit_image::{DeviceImage, ImageFormat, Limits, Symbols};

use crate::inspect::{Inspection, inspect};

/// All names of an image, looking into its bytes.
///
/// Kernels are those of a SPIR-V module itself, for containers also list other names as kernels: aliases and
/// exported functions. What a container says about imports and exports counts before what the image says,
/// since a toolchain may link more than it means to export.
#[must_use]
pub fn symbols_of(image: &DeviceImage<'_>, limits: &Limits) -> Symbols {
    let inspection = inspect(image.bytes().unwrap_or_default(), image.format, limits);
    let is_told = !image.properties.is_empty() || !image.imports.is_empty() || !image.exports.is_empty();
    let (imports, exports) = if is_told {
        (image.imports.clone(), image.exports.clone())
    } else {
        (inspection.imports.clone(), inspection.exports.clone())
    };
    Symbols {
        kernels: kernels(image, &inspection),
        imports,
        exports,
    }
}

fn kernels(image: &DeviceImage<'_>, inspection: &Inspection) -> Vec<String> {
    let is_module = image.format == ImageFormat::Spirv && inspection.problems.is_empty();
    if is_module || image.kernels.is_empty() {
        inspection.kernel_names().map(str::to_owned).collect()
    } else {
        image.kernels.clone()
    }
}
