//! What devices say of the SPIR-V that they take.

use crate::CodeVersion;

/// What a device's driver says of the SPIR-V that it takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct SpirvSupport {
    /// The newest version; `None` where it takes none.
    pub newest: Option<CodeVersion>,
    /// OpenCL's names of the extensions that the device has.
    pub extensions: Vec<String>,
}

impl SpirvSupport {
    /// From what OpenCL's devices say: `SPIR-V_1.4 SPIR-V_1.2` as `CL_DEVICE_IL_VERSION`, and the names of their
    /// extensions.
    ///
    /// ```
    /// use offkit_image::target::SpirvSupport;
    ///
    /// let newest = |text| SpirvSupport::new(text, Vec::new()).newest.map(|version| version.to_string());
    /// assert_eq!(newest("SPIR-V_1.2 SPIR-V_1.4").as_deref(), Some("1.4"));
    /// assert_eq!(newest(""), None);
    /// ```
    #[must_use]
    pub fn new(il_version: &str, extensions: Vec<String>) -> Self {
        // OpenCL demands no order of the list, and other languages may be in it.
        let versions = il_version
            .split_ascii_whitespace()
            .filter_map(|word| CodeVersion::parse(word.strip_prefix("SPIR-V_")?));
        Self {
            newest: versions.max(),
            extensions,
        }
    }

    /// Whether the device has an ability that its extensions tell of.
    #[must_use]
    pub fn has(&self, aspect: &Aspect) -> bool {
        aspect
            .extensions
            .iter()
            .all(|name| self.extensions.iter().any(|extension| extension == name))
    }
}

/// An ability of devices that code may demand: the extensions of OpenCL that devices with it have, and the capability that
/// SPIR-V in need of it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aspect {
    /// SYCL's number of it.
    pub number: u32,
    /// SYCL's name of it.
    pub name: &'static str,
    /// All of these.
    pub extensions: &'static [&'static str],
    /// SPIR-V's number of the capability.
    pub capability: u32,
}

/// The abilities that extensions of OpenCL tell of, by DPC++'s `aspects.def`; the capabilities by SPIR-V's specification.
pub const ASPECTS: [Aspect; 3] = [
    Aspect {
        number: 5,
        name: "fp16",
        extensions: &["cl_khr_fp16"],
        // Float16; Float16Buffer alone stores and loads.
        capability: 9,
    },
    Aspect {
        number: 6,
        name: "fp64",
        extensions: &["cl_khr_fp64"],
        // Float64.
        capability: 10,
    },
    Aspect {
        number: 27,
        name: "atomic64",
        extensions: &["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"],
        // Int64Atomics.
        capability: 12,
    },
];
