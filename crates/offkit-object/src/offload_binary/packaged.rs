//! Images as LLVM 22's packager takes them, of a file and of what its command line says.

use std::path::Path;

use offkit_image::{DeviceImage, ImageFormat, Location, Producer, Target};

use super::ImageKind;
use super::parts::symbol_names;

/// The order in which the packager writes the usual keys, which is that of a hash table. Others follow in
/// alphabetical order.
const ORDER: [&str; 4] = ["feature", "arch", "triple", "symbols"];

/// The image that LLVM 22's packager makes of a file with the content `bytes`. `strings` are in any order.
///
/// Its format is what LLVM takes the file for: bitcode shows, and everything else is told by the file's name.
#[must_use]
pub fn packaged<'data>(
    file: &Path,
    producer: Producer,
    strings: &[(String, String)],
    bytes: &'data [u8],
) -> DeviceImage<'data> {
    let rank = |key: &str| {
        ORDER
            .iter()
            .position(|known| *known == key)
            .unwrap_or(ORDER.len())
    };
    let mut strings: Vec<_> = strings.iter().collect();
    strings.sort_by(|(left, _), (right, _)| (rank(left), left).cmp(&(rank(right), right)));
    let mut image = DeviceImage::new(bytes);
    if image.format != ImageFormat::Bitcode {
        image.format = named_format(file);
    }
    image.location = Location::of_file(file.display().to_string());
    image.producer = producer;
    for (key, value) in strings {
        image.strings.set(key.clone(), value.clone());
    }
    read_strings(&mut image);
    image
}

/// Sets what the strings say about the target and the kernels.
pub(crate) fn read_strings(image: &mut DeviceImage<'_>) {
    let text = |key| image.strings.get(key).unwrap_or_default();
    let target = Target::new(text("triple"), text("arch"));
    let symbols = image.strings.get_bytes("symbols").unwrap_or_default();
    image.kernels = symbol_names(symbols).into_iter().map(str::to_owned).collect();
    image.target = target;
}

fn named_format(file: &Path) -> ImageFormat {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("o") => ImageFormat::Elf,
        Some("bc") => ImageFormat::Bitcode,
        Some("cubin") => ImageFormat::Cubin,
        Some("fatbin") => ImageFormat::Fatbin,
        Some("s") => ImageFormat::Ptx,
        _ => ImageFormat::Unknown,
    }
}

impl ImageKind {
    /// The extension of a file with such an image, as LLVM 22 names what it takes out; empty where it has none.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::OBJECT => "o",
            Self::BITCODE => "bc",
            Self::CUBIN => "cubin",
            Self::FATBINARY => "fatbin",
            Self::PTX => "s",
            _ => "",
        }
    }
}
