//! The container formats that can be written, by the names users type.

use std::fmt;
use std::str::FromStr;

use offkit_image::Compression;

use crate::offload_binary::OffloadBinaryVersion;
use crate::syclbin::SyclBinVersion;

/// A container format that can be written.
///
/// ```
/// use offkit_object::{Compression, OffloadBinaryVersion, OutputFormat};
///
/// let format: OutputFormat = "offload,v3".parse().unwrap();
/// assert_eq!(format, OutputFormat::OffloadBinary(OffloadBinaryVersion::V3(Some(Compression::Zstd))));
/// assert_eq!(format.to_string(), "offload,v3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputFormat {
    /// A SYCLBIN file. Version 1 is in an offload binary, as the SYCL runtime wants it.
    SyclBin(SyclBinVersion),
    /// An offload binary with an entry for each image; version 1 is a sequence of binaries.
    OffloadBinary(OffloadBinaryVersion),
    /// A clang offload bundle.
    Bundle(BundleForm),
}

/// The forms of a bundle that is a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BundleForm {
    /// Markers in comments, for sources and assembly.
    Text,
    /// A header with offsets.
    Binary,
    /// The binary form, compressed with zstd.
    Compressed,
}

/// Every name that is understood; of several for one format the first is written.
const NAMES: [(&str, OutputFormat); 12] = {
    use OffloadBinaryVersion::{V1, V2, V3};
    use OutputFormat::{Bundle, OffloadBinary, SyclBin};
    [
        ("syclbin,v1", SyclBin(SyclBinVersion::V1Enveloped)),
        ("syclbin", SyclBin(SyclBinVersion::V1Enveloped)),
        ("syclbin,v2", SyclBin(SyclBinVersion::V2)),
        ("offload,v1", OffloadBinary(V1)),
        ("offload", OffloadBinary(V1)),
        ("offload,v2", OffloadBinary(V2)),
        ("offload,v3", OffloadBinary(V3(Some(Compression::Zstd)))),
        ("offload,v3,zlib", OffloadBinary(V3(Some(Compression::Zlib)))),
        ("offload,v3,none", OffloadBinary(V3(None))),
        ("bundle,binary", Bundle(BundleForm::Binary)),
        ("bundle,text", Bundle(BundleForm::Text)),
        ("bundle,compressed", Bundle(BundleForm::Compressed)),
    ]
};

impl Default for OutputFormat {
    fn default() -> Self {
        Self::SyclBin(SyclBinVersion::V1Enveloped)
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = if text == "bundle" { "bundle,binary" } else { text };
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, format)| *format).ok_or_else(|| {
            format!(
                "`{text}` is not an output format: expected `syclbin,v1`, `syclbin,v2`, `offload,v1`, `offload,v2`, \
                 `offload,v3` (also `offload,v3,zlib` and `offload,v3,none`), `bundle,binary`, `bundle,text` or \
                 `bundle,compressed`"
            )
        })
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(_, format)| format == self);
        match (known, self) {
            (Some((name, _)), _) => f.pad(name),
            // Version 3 with a compression that it does not have: the writer refuses it.
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for (name, format) in NAMES {
            assert_eq!(name.parse(), Ok(format));
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("syclbin".parse(), Ok(OutputFormat::default()));
        let error = "syclbin,v3".parse::<OutputFormat>().unwrap_err();
        assert!(error.contains("`syclbin,v2`"), "{error}");
    }
}
