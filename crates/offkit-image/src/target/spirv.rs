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

/// An ability of devices that code may demand, and the extensions of OpenCL that devices with it have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aspect {
    /// SYCL's number of it.
    pub number: u32,
    /// SYCL's name of it.
    pub name: &'static str,
    /// All of these.
    pub extensions: &'static [&'static str],
}

const fn aspect(number: u32, name: &'static str, extensions: &'static [&'static str]) -> Aspect {
    Aspect {
        number,
        name,
        extensions,
    }
}

/// The abilities that extensions of OpenCL tell of, by DPC++'s `aspects.def`.
pub const ASPECTS: [Aspect; 3] = [
    aspect(5, "fp16", &["cl_khr_fp16"]),
    aspect(6, "fp64", &["cl_khr_fp64"]),
    aspect(
        27,
        "atomic64",
        &["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"],
    ),
];
