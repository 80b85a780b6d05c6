//! The names in an image: what it offers and what it needs, from its container and from itself.

use crate::format::ImageFormat;
use crate::image::DeviceImage;
use crate::inspect::{Inspection, inspect};
use crate::limits::Limits;
use crate::symbol_name::demangle;

/// Kernels, imported and exported symbols of an image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Symbols {
    /// What can be launched.
    pub kernels: Vec<String>,
    /// What another image must define.
    pub imports: Vec<String>,
    /// What other images may use.
    pub exports: Vec<String>,
}

impl Symbols {
    /// All names of an image, looking into its bytes.
    ///
    /// Kernels are those of a SPIR-V module itself, for containers also list other names as kernels: aliases and
    /// exported functions. What a container says about imports and exports counts before what the image says,
    /// since a toolchain may link more than it means to export.
    #[must_use]
    pub fn of(image: &DeviceImage<'_>, limits: &Limits) -> Self {
        let inspection = inspect(&image.bytes, image.format, limits);
        let is_told = !image.properties.is_empty() || !image.imports.is_empty() || !image.exports.is_empty();
        let (imports, exports) = if is_told {
            (image.imports.clone(), image.exports.clone())
        } else {
            (inspection.imports.clone(), inspection.exports.clone())
        };
        Self {
            kernels: kernels(image, &inspection),
            imports,
            exports,
        }
    }

    /// Whether there is a kernel of that name, as it is in the file or demangled.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        self.kernels
            .iter()
            .any(|kernel| kernel == name || demangle(kernel) == name)
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
