//! Images from files with what the command line says about them, as entries of an offload binary.

use std::path::PathBuf;

use offkit_object::{ImageFormat, ImageKind, OffloadEntry, OffloadKind, Producer, Strings};

/// An image to be packed.
#[derive(Clone, Debug)]
pub struct Description {
    /// The file with the image.
    pub file: PathBuf,
    /// Which offloading language made it.
    pub offload_kind: OffloadKind,
    /// Keys and values in any order.
    pub strings: Vec<(String, String)>,
    /// A file with property sets as text.
    pub properties: Option<PathBuf>,
}

impl Default for Description {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            offload_kind: OffloadKind::None,
            strings: Vec::new(),
            properties: None,
        }
    }
}

/// The order in which LLVM 22's packager writes the usual keys, which is that of a hash table. Others follow in
/// alphabetical order.
const ORDER: [&str; 4] = ["feature", "arch", "triple", "symbols"];

impl Description {
    /// The entry with the image `bytes`, as LLVM 22's packager makes it.
    pub fn entry<'data>(&self, bytes: &'data [u8]) -> OffloadEntry<'data> {
        let mut entry = OffloadEntry::new(self.image_kind(bytes), self.offload_kind, bytes);
        let mut strings: Vec<_> = self.strings.iter().collect();
        let rank = |key: &str| {
            ORDER
                .iter()
                .position(|known| *known == key)
                .unwrap_or(ORDER.len())
        };
        strings.sort_by(|(left, _), (right, _)| (rank(left), left).cmp(&(rank(right), right)));
        let mut ordered = Strings::new();
        for (key, value) in strings {
            ordered.set(key.clone(), value.clone());
        }
        entry.strings = ordered;
        entry
    }

    /// Bitcode shows; everything else is told by the name of the file.
    fn image_kind(&self, bytes: &[u8]) -> ImageKind {
        if ImageFormat::detect(bytes) == ImageFormat::Bitcode {
            return ImageKind::Bitcode;
        }
        match self.file.extension().and_then(|extension| extension.to_str()) {
            Some("o") => ImageKind::Object,
            Some("bc") => ImageKind::Bitcode,
            Some("cubin") => ImageKind::Cubin,
            Some("fatbin") => ImageKind::Fatbinary,
            Some("s") => ImageKind::Ptx,
            _ => ImageKind::None,
        }
    }
}

/// The extension of a file with such an image, as LLVM 22 names what it takes out.
pub fn extension(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Object => "o",
        ImageKind::Bitcode => "bc",
        ImageKind::Cubin => "cubin",
        ImageKind::Fatbinary => "fatbin",
        ImageKind::Ptx => "s",
        _ => "",
    }
}

/// The offload kind of a name; `None` for one that is not known.
pub fn offload_kind(name: &str) -> Option<OffloadKind> {
    let producers = [
        Producer::None,
        Producer::OpenMp,
        Producer::Cuda,
        Producer::Hip,
        Producer::Sycl,
    ];
    let known = producers.into_iter().find(|producer| producer.name() == name)?;
    OffloadKind::of(known)
}
