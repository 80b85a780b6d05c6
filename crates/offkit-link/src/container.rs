//! The container that linked images are put into.

use std::str::FromStr;

use offkit_object::offload_binary::{
    ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind,
};
use offkit_object::{BundleState, DeviceImage, Error, SyclBin, SyclBinVersion, Target};

use crate::device_link::Linked;

/// A container format that a link can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// A SYCLBIN file. Version 1 is in an offload binary, as the SYCL runtime wants it.
    SyclBin(SyclBinVersion),
    /// An offload binary with an entry for each image, as `clang-sycl-linker` writes it: the strings
    /// `triple`, `arch` and `symbols` (the kernels, one a line), no property sets.
    OffloadBinary(OffloadBinaryVersion),
}

impl Default for OutputFormat {
    fn default() -> Self {
        Self::SyclBin(SyclBinVersion::V1Enveloped)
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "syclbin" | "syclbin,v1" => Ok(Self::SyclBin(SyclBinVersion::V1Enveloped)),
            "syclbin,v2" => Ok(Self::SyclBin(SyclBinVersion::V2)),
            "offload" | "offload,v1" => Ok(Self::OffloadBinary(OffloadBinaryVersion::V1)),
            "offload,v2" => Ok(Self::OffloadBinary(OffloadBinaryVersion::V2)),
            _ => Err(format!(
                "`{text}` is no output format: expected `syclbin,v1`, `syclbin,v2`, `offload,v1` or `offload,v2`"
            )),
        }
    }
}

impl Linked {
    /// Puts the images into a container. The state is kept by the formats that have one.
    ///
    /// # Errors
    ///
    /// A symbol that the format cannot express.
    pub fn write(&self, format: OutputFormat, state: BundleState) -> Result<Vec<u8>, Error> {
        match format {
            OutputFormat::SyclBin(version) => {
                SyclBin::from_images(state, self.device_images()).write(version)
            }
            OutputFormat::OffloadBinary(version) => {
                let entries = self.images.iter().map(|image| {
                    let kernels: Vec<_> = image
                        .reflection
                        .kernels
                        .iter()
                        .map(|kernel| kernel.name.as_str())
                        .collect();
                    let mut entry = OffloadEntry::new(ImageKind::Spirv, OffloadKind::Sycl, &image.bytes);
                    entry.strings.set("triple", self.triple.as_str());
                    entry.strings.set("arch", "generic");
                    entry.strings.set("symbols", kernels.join("\n"));
                    entry
                });
                let binary = OffloadBinary {
                    entries: entries.collect(),
                };
                match version {
                    OffloadBinaryVersion::V1 => binary.write_v1_sequence(),
                    other => binary.write(other),
                }
            }
        }
    }

    /// The images in the model that all containers share.
    pub fn device_images(&self) -> impl Iterator<Item = DeviceImage<'_>> {
        self.images.iter().map(|image| {
            let mut device_image =
                DeviceImage::new(image.bytes.as_slice()).with_properties(image.properties.clone());
            device_image.target = Target::new(self.triple.as_str(), "");
            device_image
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_a_default_version() {
        assert_eq!("syclbin".parse(), Ok(OutputFormat::default()));
        assert_eq!(
            "offload,v2".parse(),
            Ok(OutputFormat::OffloadBinary(OffloadBinaryVersion::V2))
        );
        assert!(
            "syclbin,v3"
                .parse::<OutputFormat>()
                .unwrap_err()
                .contains("`syclbin,v2`")
        );
    }
}
