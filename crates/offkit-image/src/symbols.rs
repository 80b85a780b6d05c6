//! The names in an image: what it offers and what it needs.

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
