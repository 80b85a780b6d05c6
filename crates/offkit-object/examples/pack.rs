//! Packs the images of some files into a SYCLBIN: `cargo run --example pack -- OUT FILE…`.

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = env::args().skip(1);
    let out = names.next().ok_or("usage: pack OUT FILE…")?;
    let read = |name: String| fs::read(&name).map(|file| (name, file));
    let files = names.map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(fs::write(out, pack(&files)?)?)
}

// README: pack
use offkit_object::{BundleState, Inspect, Limits, OutputFormat, read};

/// A SYCLBIN with all images of the files, which are given with their names.
fn pack(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, offkit_object::Error> {
    let limits = Limits::default();
    let mut images = Vec::new();
    for (name, file) in files {
        for mut image in read(name, file, &limits).images {
            // What the image's own bytes say, where no container has said it.
            let symbols = image.symbols(&limits);
            image.kernels = symbols.kernels;
            image.imports = symbols.imports;
            image.exports = symbols.exports;
            images.push(image);
        }
    }
    let packed = offkit_object::pack(images, OutputFormat::default(), BundleState::Object)?;
    Ok(packed.content.into_bytes())
}
// README: end

#[test]
fn what_is_packed_can_be_listed() {
    let ptx =
        b".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry saxpy(.param .u64 x) { ret; }\n";
    let file = pack(&[("saxpy.ptx".to_owned(), ptx.to_vec())]).unwrap();
    let contents = read("saxpy.syclbin", &file, &Limits::default());
    assert_eq!(contents.images.len(), 1);
    assert_eq!(contents.images[0].target.to_string(), "nvptx64-nvidia-cuda-sm_90");
    assert_eq!(contents.images[0].kernels, ["saxpy"]);
}
