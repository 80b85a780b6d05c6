//! The names in an image: what it offers and what it needs.

use offkit_object::{DeviceImage, demangle};
use offkit_runtime::Description;

/// Kernels, imported and exported symbols of an image.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) kernels: Vec<String>,
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
}

impl Names {
    /// All names, from the container and from the image itself.
    pub(crate) fn of(image: &DeviceImage<'_>) -> Self {
        let description = Description::of(image);
        Self {
            kernels: description.kernels,
            imports: description.imports,
            exports: description.exports,
        }
    }

    /// Only those that the container tells, which costs nothing.
    pub(crate) fn told(image: &DeviceImage<'_>) -> Self {
        Self {
            kernels: image.kernels.clone(),
            imports: image.imports.clone(),
            exports: image.exports.clone(),
        }
    }

    /// Whether there is a kernel of that name, as it is in the file or demangled.
    pub(crate) fn has_kernel(&self, name: &str) -> bool {
        self.kernels
            .iter()
            .any(|kernel| kernel == name || demangle(kernel) == name)
    }
}
