//! Any bytes verified, converted, inflated, and with their first images replaced.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{BundleState, ConversionInput, Limits, OffloadBinary, OutputFormat};

const FORMATS: [&str; 6] = ["offload,v1", "offload,v2", "offload,v3", "syclbin,v1", "syclbin,v2", "bundle"];

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { max_properties: 1 << 12, max_metadata_bytes: 1 << 20, max_images: 1 << 8, ..Limits::default() };
    let problems = offkit_object::verify("file", bytes, &limits);
    assert!(problems.len() <= limits.max_problems);
    if let Ok(whole) = OffloadBinary::inflate(bytes, 1 << 20) {
        let _ = OffloadBinary::parse_all(&whole, &limits);
    }
    let _ = offkit_object::offload_entries(bytes, &limits, &mut |_| {});
    if let Ok(input) = ConversionInput::open("file", bytes, &limits) {
        for format in FORMATS {
            let format: OutputFormat = format.parse().expect("a known name");
            if let Ok(converted) = input.convert(format, BundleState::Object) {
                let written = converted.content.into_bytes();
                let again = ConversionInput::open("file", &written, &Limits::default());
                // Entries may share bytes, so that what is written can be larger than is allowed.
                if let Ok(again) = again {
                    let _ = again.convert(format, BundleState::Object);
                }
            }
        }
    }
    let contents = offkit_object::read("file", bytes, &limits);
    for image in contents.images.iter().take(3) {
        // Refused or right: what is written is read back before it is returned.
        let _ = offkit_object::replace(bytes, &image.location, b"another image", &limits);
    }
});
