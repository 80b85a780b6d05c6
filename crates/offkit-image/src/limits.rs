//! Bounds on what reading untrusted bytes may cost.

/// Bounds on one call of a reader.
///
/// A container can refer to the same bytes many times, so a small file can describe a huge number of things;
/// these bounds keep memory and time proportional to what real files hold. Image bytes are borrowed, never
/// copied, and therefore not bounded; what is decompressed is. The defaults are ten times what the largest
/// program seen in practice needs.
///
/// Containers that share their bytes count each time they are entered: all containers together may have
/// `max_nesting + 2` bytes for each byte of the file and for each that came out of decompression, and
/// [`FREE_ENTERING`] more. Containers that lie within each other or side by side never have as many.
///
/// [`FREE_ENTERING`]: Self::FREE_ENTERING
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Images (or entries) in all containers together.
    pub max_images: usize,
    /// String entries of offload binaries, all together.
    pub max_strings: usize,
    /// Properties and property sets, all together.
    pub max_properties: usize,
    /// Containers within containers.
    pub max_nesting: usize,
    /// Bytes of property-set text, of string values, of names of parts and of locations of images, all
    /// together; text that is referred to twice counts twice. Files and what comes out of decompression may
    /// have no more than [`METADATA_PER_BYTE`] of it for each of their bytes, and [`FREE_METADATA`] more.
    ///
    /// [`METADATA_PER_BYTE`]: Self::METADATA_PER_BYTE
    /// [`FREE_METADATA`]: Self::FREE_METADATA
    pub max_metadata_bytes: u64,
    /// Bytes that come out of decompression, all together, for each byte of the file; [`FREE_INFLATION`] bytes
    /// are always allowed.
    ///
    /// [`FREE_INFLATION`]: Self::FREE_INFLATION
    pub max_inflation: u64,
    /// Problems that are reported; further ones are dropped.
    pub max_problems: usize,
    /// Whether host code is searched for device code outside of where device code is kept, too. Every byte is looked at
    /// then.
    pub scan: bool,
}

impl Limits {
    /// Bytes that may come out of decompression however small the file is: 64 MiB.
    pub const FREE_INFLATION: u64 = 1 << 26;

    /// Bytes of metadata for each byte of a file: 64.
    pub const METADATA_PER_BYTE: u64 = 64;

    /// Bytes of metadata that are always allowed: 16 MiB.
    pub const FREE_METADATA: u64 = 1 << 24;

    /// Bytes of containers that may be entered however small the file is: 16 MiB.
    pub const FREE_ENTERING: u64 = 1 << 24;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_images: 1 << 18,
            max_strings: 1 << 20,
            max_properties: 1 << 21,
            max_nesting: 8,
            max_metadata_bytes: 1 << 28,
            max_inflation: 1000,
            max_problems: 256,
            scan: false,
        }
    }
}
