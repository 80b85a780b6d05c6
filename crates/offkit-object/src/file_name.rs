//! Names for files with images.

use std::path::Path;

use offkit_image::{DeviceImage, Storage};

/// The location of an image as the name of a file: `lib.so!.hip_fatbin/0/gfx90a` becomes
/// `lib.so.hip_fatbin.0.gfx90a.hsaco`; `stored` for its bytes as the container has
/// them, maybe compressed.
#[must_use]
pub fn file_name(image: &DeviceImage<'_>, stored: bool) -> String {
    let file = Path::new(image.location.file()).file_name();
    let mut name = match file {
        Some(file) => file.to_string_lossy().into_owned(),
        None => "image".to_owned(),
    };
    for part in image.location.parts() {
        // `.hip_fatbin` brings the dot along that sets parts apart.
        if !part.starts_with('.') {
            name.push('.');
        }
        // Parts are what a file says, paths of members too: none of their characters may lead to
        // another folder, or mean something to a shell.
        name.extend(part.chars().map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' | '+' => c,
            _ => '_',
        }));
    }
    let extension = image.format.extension();
    if !name.ends_with(&format!(".{extension}")) {
        name.push('.');
        name.push_str(extension);
    }
    if stored && let Storage::Compressed(method) = image.storage() {
        name.push('.');
        name.push_str(method.name());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_where_an_image_was() {
        let name = |location: &str, bytes: &[u8]| {
            let mut image = DeviceImage::new(bytes.to_vec());
            image.location = location.parse().unwrap();
            file_name(&image, false)
        };
        assert_eq!(
            name("dir/lib.so!.hip_fatbin/0/gfx90a:xnack+", b"?"),
            "lib.so.hip_fatbin.0.gfx90a_xnack+.bin"
        );
        assert_eq!(name("k.spv", b"\x03\x02\x23\x07"), "k.spv");
        assert_eq!(name("-!0", b"BC\xc0\xde"), "-.0.bc");
    }
}
