//! The numbers in an entry that say what an image is and who made it.

use std::fmt;

use offkit_image::{ImageFormat, Producer};

/// What an image is said to be: the 16-bit image kind of an offload binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ImageKind {
    /// 0: not said.
    None,
    /// 1: an object file.
    Object,
    /// 2: LLVM bitcode.
    Bitcode,
    /// 3: NVIDIA machine code.
    Cubin,
    /// 4: NVIDIA's container of several images.
    Fatbinary,
    /// 5: NVIDIA's virtual assembly.
    Ptx,
    /// 6: SPIR-V; since LLVM 22.
    Spirv,
    /// 7: a SYCLBIN, or in version 2 a part of one; only DPC++.
    Syclbin,
    /// Any other number.
    Other(u16),
}

impl ImageKind {
    /// The kind that says what bytes of a format show; none where there is no kind for it.
    #[must_use]
    pub fn of_format(format: ImageFormat) -> Self {
        match format {
            ImageFormat::Elf | ImageFormat::Amdgpu | ImageFormat::Zebin => Self::Object,
            ImageFormat::Bitcode => Self::Bitcode,
            ImageFormat::Cubin => Self::Cubin,
            ImageFormat::Fatbin => Self::Fatbinary,
            ImageFormat::Ptx => Self::Ptx,
            ImageFormat::Spirv => Self::Spirv,
            _ => Self::None,
        }
    }

    /// The kind with a number.
    #[must_use]
    pub fn from_raw(raw: u16) -> Self {
        match raw {
            0 => Self::None,
            1 => Self::Object,
            2 => Self::Bitcode,
            3 => Self::Cubin,
            4 => Self::Fatbinary,
            5 => Self::Ptx,
            6 => Self::Spirv,
            7 => Self::Syclbin,
            other => Self::Other(other),
        }
    }

    /// The number in the file.
    #[must_use]
    pub fn raw(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Object => 1,
            Self::Bitcode => 2,
            Self::Cubin => 3,
            Self::Fatbinary => 4,
            Self::Ptx => 5,
            Self::Spirv => 6,
            Self::Syclbin => 7,
            Self::Other(raw) => raw,
        }
    }

    /// The format that the kind claims; `None` when it claims nothing about the format.
    pub(crate) fn claimed_format(self) -> Option<ImageFormat> {
        match self {
            Self::Object => Some(ImageFormat::Elf),
            Self::Bitcode => Some(ImageFormat::Bitcode),
            Self::Cubin => Some(ImageFormat::Cubin),
            Self::Ptx => Some(ImageFormat::Ptx),
            Self::Spirv => Some(ImageFormat::Spirv),
            _ => None,
        }
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::Object => "object",
            Self::Bitcode => "bitcode",
            Self::Cubin => "cubin",
            Self::Fatbinary => "fatbinary",
            Self::Ptx => "ptx",
            Self::Spirv => "spirv",
            Self::Syclbin => "syclbin",
            Self::Other(raw) => return f.pad(&raw.to_string()),
        })
    }
}

/// Which offloading language an image was made for: the 16-bit offload kind of an offload binary.
///
/// Since LLVM 21 the kinds are bits. Before, HIP was 3 and DPC++ had SYCL as 4; a reader cannot tell that 4
/// from HIP's, unless the image kind says SYCLBIN: see [`producer`](Self::producer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OffloadKind {
    /// 0: not said.
    None,
    /// 1: OpenMP.
    OpenMp,
    /// 2: CUDA.
    Cuda,
    /// 3: HIP as LLVM wrote it before the kinds were bits.
    HipBefore21,
    /// 4: HIP; in SYCLBIN files of older DPC++: SYCL.
    Hip,
    /// 5: SYCL as one revision of DPC++'s runtime wrote it into SYCLBIN files.
    SyclOfRuntime,
    /// 8: SYCL.
    Sycl,
    /// Any other number, such as several kinds at once.
    Other(u16),
}

impl OffloadKind {
    /// The kind with a number.
    #[must_use]
    pub fn from_raw(raw: u16) -> Self {
        match raw {
            0 => Self::None,
            1 => Self::OpenMp,
            2 => Self::Cuda,
            3 => Self::HipBefore21,
            4 => Self::Hip,
            5 => Self::SyclOfRuntime,
            8 => Self::Sycl,
            other => Self::Other(other),
        }
    }

    /// The number that current tools write for a language; `None` for [`Producer::Host`], which offload
    /// binaries never hold, and for [`Producer::Unknown`].
    #[must_use]
    pub fn of(producer: Producer) -> Option<Self> {
        match producer {
            Producer::None => Some(Self::None),
            Producer::OpenMp => Some(Self::OpenMp),
            Producer::Cuda => Some(Self::Cuda),
            Producer::Hip => Some(Self::Hip),
            Producer::Sycl => Some(Self::Sycl),
            _ => None,
        }
    }

    /// The number in the file.
    #[must_use]
    pub fn raw(self) -> u16 {
        match self {
            Self::None => 0,
            Self::OpenMp => 1,
            Self::Cuda => 2,
            Self::HipBefore21 => 3,
            Self::Hip => 4,
            Self::SyclOfRuntime => 5,
            Self::Sycl => 8,
            Self::Other(raw) => raw,
        }
    }

    /// The language that is meant, given the image kind beside it: with SYCLBIN, the numbers 4 and 5 mean
    /// SYCL.
    #[must_use]
    pub fn producer(self, image_kind: ImageKind) -> Producer {
        match self {
            Self::None => Producer::None,
            Self::OpenMp => Producer::OpenMp,
            Self::Cuda => Producer::Cuda,
            Self::Hip if image_kind == ImageKind::Syclbin => Producer::Sycl,
            Self::Hip | Self::HipBefore21 => Producer::Hip,
            Self::Sycl | Self::SyclOfRuntime => Producer::Sycl,
            Self::Other(_) => Producer::Unknown,
        }
    }
}

impl fmt::Display for OffloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(raw) => f.pad(&raw.to_string()),
            known => known.producer(ImageKind::None).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_kept() {
        for raw in 0..=u16::MAX {
            assert_eq!(ImageKind::from_raw(raw).raw(), raw);
            assert_eq!(OffloadKind::from_raw(raw).raw(), raw);
        }
    }

    #[test]
    fn older_numbers_of_sycl_are_understood_beside_syclbin() {
        for raw in [4, 5, 8] {
            assert_eq!(
                OffloadKind::from_raw(raw).producer(ImageKind::Syclbin),
                Producer::Sycl,
                "{raw}"
            );
        }
        assert_eq!(
            OffloadKind::from_raw(4).producer(ImageKind::Object),
            Producer::Hip
        );
        assert_eq!(
            OffloadKind::from_raw(3).producer(ImageKind::Object),
            Producer::Hip
        );
        assert_eq!(
            OffloadKind::from_raw(9).producer(ImageKind::Object),
            Producer::Unknown
        );
    }
}
