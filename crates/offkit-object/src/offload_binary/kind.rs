//! The numbers in an entry that say what an image is and who made it.

use std::fmt;

use offkit_image::{ImageFormat, Producer};

/// What an image is said to be: the 16-bit image kind of an offload binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageKind(
    /// The number in the file.
    pub u16,
);

impl ImageKind {
    /// Not said.
    pub const NONE: Self = Self(0);
    /// An object file.
    pub const OBJECT: Self = Self(1);
    /// LLVM bitcode.
    pub const BITCODE: Self = Self(2);
    /// NVIDIA machine code.
    pub const CUBIN: Self = Self(3);
    /// NVIDIA's container of several images.
    pub const FATBINARY: Self = Self(4);
    /// NVIDIA's virtual assembly.
    pub const PTX: Self = Self(5);
    /// SPIR-V; since LLVM 22.
    pub const SPIRV: Self = Self(6);
    /// A SYCLBIN, or in version 2 a part of one; only DPC++.
    pub const SYCLBIN: Self = Self(7);

    /// The kind that says what bytes of a format show; none where there is no kind for it.
    #[must_use]
    pub fn of_format(format: ImageFormat) -> Self {
        match format {
            // clang has one kind for all of these, and tells them apart by the triple.
            ImageFormat::Elf | ImageFormat::Amdgpu | ImageFormat::Zebin => Self::OBJECT,
            ImageFormat::Bitcode => Self::BITCODE,
            ImageFormat::Cubin => Self::CUBIN,
            ImageFormat::Fatbin => Self::FATBINARY,
            ImageFormat::Ptx => Self::PTX,
            ImageFormat::Spirv => Self::SPIRV,
            _ => Self::NONE,
        }
    }

    /// Whether the bytes of an image say themselves what the kind says.
    pub(crate) fn says_no_more_than(self, image: &[u8]) -> bool {
        self == Self::NONE || self == Self::of_format(ImageFormat::detect(image))
    }

    /// The format that the kind claims; `None` when it claims nothing about the format.
    pub(crate) fn claimed_format(self) -> Option<ImageFormat> {
        match self {
            Self::OBJECT => Some(ImageFormat::Elf),
            Self::BITCODE => Some(ImageFormat::Bitcode),
            Self::CUBIN => Some(ImageFormat::Cubin),
            Self::PTX => Some(ImageFormat::Ptx),
            Self::SPIRV => Some(ImageFormat::Spirv),
            // Fatbinaries and SYCLBIN among them: those are containers, and entered by their bytes.
            _ => None,
        }
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = [
            "none",
            "object",
            "bitcode",
            "cubin",
            "fatbinary",
            "ptx",
            "spirv",
            "syclbin",
        ];
        match NAMES.get(usize::from(self.0)) {
            Some(name) => f.pad(name),
            None => f.pad(&self.0.to_string()),
        }
    }
}

/// Which offloading language an image was made for: the 16-bit offload kind of an offload binary.
///
/// Since LLVM 21 the kinds are bits. Before, HIP was 3 and DPC++ had SYCL as 4; a reader cannot tell that 4
/// from HIP's, unless the image kind says SYCLBIN: see [`producer`](Self::producer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OffloadKind(
    /// The number in the file.
    pub u16,
);

impl OffloadKind {
    /// Not said.
    pub const NONE: Self = Self(0);
    /// OpenMP.
    pub const OPENMP: Self = Self(1);
    /// CUDA.
    pub const CUDA: Self = Self(2);
    /// HIP as LLVM wrote it before the kinds were bits.
    pub const HIP_BEFORE_21: Self = Self(3);
    /// HIP; in SYCLBIN files of older DPC++: SYCL.
    pub const HIP: Self = Self(4);
    /// SYCL as one revision of DPC++'s runtime wrote it into SYCLBIN files.
    pub const SYCL_OF_RUNTIME: Self = Self(5);
    /// SYCL.
    pub const SYCL: Self = Self(8);

    /// The number that current tools write for a language; `None` for [`Producer::Host`], which offload
    /// binaries never hold, and for [`Producer::Unknown`].
    #[must_use]
    pub fn of(producer: Producer) -> Option<Self> {
        match producer {
            Producer::None => Some(Self::NONE),
            Producer::OpenMp => Some(Self::OPENMP),
            Producer::Cuda => Some(Self::CUDA),
            Producer::Hip => Some(Self::HIP),
            Producer::Sycl => Some(Self::SYCL),
            _ => None,
        }
    }

    /// The language that is meant, given the image kind beside it: with SYCLBIN, the numbers 4 and 5 mean
    /// SYCL.
    #[must_use]
    pub fn producer(self, image_kind: ImageKind) -> Producer {
        match self {
            Self::NONE => Producer::None,
            Self::OPENMP => Producer::OpenMp,
            Self::CUDA => Producer::Cuda,
            Self::HIP if image_kind == ImageKind::SYCLBIN => Producer::Sycl,
            Self::HIP | Self::HIP_BEFORE_21 => Producer::Hip,
            Self::SYCL | Self::SYCL_OF_RUNTIME => Producer::Sycl,
            _ => Producer::Unknown,
        }
    }
}

impl fmt::Display for OffloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.producer(ImageKind::NONE) {
            Producer::Unknown => f.pad(&self.0.to_string()),
            known => known.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_numbers_of_sycl_are_understood_beside_syclbin() {
        for raw in [4, 5, 8] {
            assert_eq!(
                OffloadKind(raw).producer(ImageKind::SYCLBIN),
                Producer::Sycl,
                "{raw}"
            );
        }
        assert_eq!(OffloadKind(4).producer(ImageKind::OBJECT), Producer::Hip);
        assert_eq!(OffloadKind(3).producer(ImageKind::OBJECT), Producer::Hip);
        assert_eq!(OffloadKind(9).producer(ImageKind::OBJECT), Producer::Unknown);
    }
}
