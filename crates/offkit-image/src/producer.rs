//! The languages that device code comes from.

crate::named! {
    /// The offloading language an image was made for.
    #[non_exhaustive]
    #[derive(Default)]
    pub enum Producer, "The name as clang's tools write and take it." {
        /// None: not said.
        #[default]
        None => "none",
        /// None, and the container says so: code for the host.
        Host => "host",
        /// OpenMP target offloading.
        OpenMp => "openmp",
        /// CUDA.
        Cuda => "cuda",
        /// HIP.
        Hip => "hip",
        /// SYCL.
        Sycl => "sycl",
        /// The container says something that is not known here.
        Unknown => "unknown",
    }
}

impl Producer {
    /// The one that clang's tools take by this name: `openmp`, `cuda`, `hip`, `sycl` or `none`.
    #[must_use]
    pub fn from_clang_name(name: &str) -> Option<Self> {
        // Not `from_name`: clang's tools refuse `host` and `unknown`, words of this crate.
        let mut named = [Self::None, Self::OpenMp, Self::Cuda, Self::Hip, Self::Sycl].into_iter();
        named.find(|producer| producer.name() == name)
    }
}
