//! Takes one image out of a file: `cargo run --example extract -- LOCATION OUT`, with a location as `ls` prints it.

use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [location, out] = arguments.as_slice() else {
        return Err("usage: extract LOCATION OUT".into());
    };
    let location: Location = location.parse()?;
    let file = fs::read(location.file())?;
    Ok(fs::write(out, extract(&file, &location)?)?)
}

// README: extract
use std::error::Error;

use offkit_object::{Limits, Location, read};

/// The bytes of one image, decompressed if need be.
fn extract(file: &[u8], location: &Location) -> Result<Vec<u8>, Box<dyn Error>> {
    let contents = read(location.file(), file, &Limits::default());
    let image = contents.images.iter().find(|image| image.location == *location);
    let image = image.ok_or_else(|| format!("there is no image at {location}"))?;
    Ok(image.bytes()?.to_vec())
}
// README: end

#[test]
fn an_image_comes_out_as_it_went_in() {
    use offkit_object::{ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};

    let entry = OffloadEntry::new(ImageKind::BITCODE, OffloadKind::OPENMP, b"BC\xc0\xde and so on");
    let file = OffloadBinary::from(entry)
        .write(OffloadBinaryVersion::V1)
        .unwrap();
    let extracted = extract(&file, &"app.out!0".parse().unwrap()).unwrap();
    assert_eq!(extracted, b"BC\xc0\xde and so on");

    let error = extract(&file, &"app.out!1".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "there is no image at app.out!1");
}
