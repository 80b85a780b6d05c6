//! The names in an image: what it offers and what it needs.

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
    /// Whether there is a kernel of that name, as it is in the file or demangled.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        self.kernels
            .iter()
            .any(|kernel| kernel == name || demangle(kernel) == name)
    }
}
