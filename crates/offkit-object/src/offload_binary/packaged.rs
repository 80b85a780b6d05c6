//! Entries as LLVM 22's packager makes them, of a file and of what its command line says.

use std::path::Path;

use offkit_image::{ImageFormat, Producer, Strings};

use super::{ImageKind, OffloadEntry, OffloadKind};

/// The order in which the packager writes the usual keys, which is that of a hash table. Others follow in
/// alphabetical order.
const ORDER: [&str; 4] = ["feature", "arch", "triple", "symbols"];

impl<'data> OffloadEntry<'data> {
    /// The entry that LLVM 22's packager makes of a file with the content `image`. `strings` are in any order.
    #[must_use]
    pub fn packaged(
        file: &Path,
        offload_kind: OffloadKind,
        strings: &[(String, String)],
        image: &'data [u8],
    ) -> Self {
        let rank = |key: &str| {
            ORDER
                .iter()
                .position(|known| *known == key)
                .unwrap_or(ORDER.len())
        };
        let mut strings: Vec<_> = strings.iter().collect();
        strings.sort_by(|(left, _), (right, _)| (rank(left), left).cmp(&(rank(right), right)));
        let mut ordered = Strings::new();
        for (key, value) in strings {
            ordered.set(key.clone(), value.clone());
        }
        let mut entry = Self::new(ImageKind::of_file(file, image), offload_kind, image);
        entry.strings = ordered;
        entry
    }
}

impl ImageKind {
    /// What LLVM 22 takes a file for: bitcode shows, and everything else is told by the file's name.
    fn of_file(file: &Path, bytes: &[u8]) -> Self {
        if ImageFormat::detect(bytes) == ImageFormat::Bitcode {
            return Self::Bitcode;
        }
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("o") => Self::Object,
            Some("bc") => Self::Bitcode,
            Some("cubin") => Self::Cubin,
            Some("fatbin") => Self::Fatbinary,
            Some("s") => Self::Ptx,
            _ => Self::None,
        }
    }

    /// The extension of a file with such an image, as LLVM 22 names what it takes out; empty where it has none.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Object => "o",
            Self::Bitcode => "bc",
            Self::Cubin => "cubin",
            Self::Fatbinary => "fatbin",
            Self::Ptx => "s",
            _ => "",
        }
    }
}

impl OffloadKind {
    /// The kind with a name, as command lines have it: `openmp`, `cuda`, `hip`, `sycl`, `none`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        const NAMED: [Producer; 5] = [
            Producer::None,
            Producer::OpenMp,
            Producer::Cuda,
            Producer::Hip,
            Producer::Sycl,
        ];
        let producer = NAMED.into_iter().find(|producer| producer.name() == name)?;
        Self::of(producer)
    }
}
