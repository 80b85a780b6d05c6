//! The arguments of kernels, as SPIR-V tells them.

use std::sync::Arc;

use offkit_object::{DeviceImage, ImageFormat};
use offkit_spirv::{Kernel, Module, Reflection, reflect};

/// The kernels of an image with their arguments. Only SPIR-V tells these: of other code, and of a module that cannot be
/// read, nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Signatures(Option<Arc<Reflection>>);

impl Signatures {
    /// Reads the module of an image.
    pub fn of(image: &DeviceImage<'_>) -> Self {
        if image.format != ImageFormat::Spirv {
            return Self::default();
        }
        let module = Module::from_bytes(image.bytes().unwrap_or_default());
        let module = module
            .inspect_err(|error| tracing::warn!(location = %image.location, %error, "not a readable module"));
        Self(module.ok().map(|module| Arc::new(reflect(&module))))
    }

    /// A kernel, by its name in the image.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        let kernels = &self.0.as_ref()?.kernels;
        kernels.iter().find(|kernel| kernel.name == name)
    }
}
