//! The languages that device code comes from.

use std::fmt;

/// The offloading language an image was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Producer {
    /// None: not said.
    #[default]
    None,
    /// None, and the container says so: code for the host.
    Host,
    /// OpenMP target offloading.
    OpenMp,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// SYCL.
    Sycl,
    /// The container says something that is not known here.
    Unknown,
}

impl Producer {
    /// The name as clang's tools write and take it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Host => "host",
            Self::OpenMp => "openmp",
            Self::Cuda => "cuda",
            Self::Hip => "hip",
            Self::Sycl => "sycl",
            Self::Unknown => "unknown",
        }
    }

    /// The one that clang's tools take by this name: `openmp`, `cuda`, `hip`, `sycl` or `none`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut named = [Self::None, Self::OpenMp, Self::Cuda, Self::Hip, Self::Sycl].into_iter();
        named.find(|producer| producer.name() == name)
    }
}

impl fmt::Display for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
