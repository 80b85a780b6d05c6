//! Any bytes as SYCLBIN, bare and, to get past the envelope at once, put into each kind of offload binary.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{
    ErrorKind, ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, SyclBin, SyclBinVersion,
};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { max_properties: 1 << 12, max_metadata_bytes: 1 << 20, max_images: 1 << 10, ..Limits::default() };
    check(bytes, &limits);
    let entry = OffloadEntry::new(ImageKind::SYCLBIN, OffloadKind::SYCL, bytes);
    let binary = OffloadBinary::from(entry);
    for version in [OffloadBinaryVersion::V1, OffloadBinaryVersion::V2] {
        check(&binary.write(version).expect("an entry without strings can be written"), &limits);
    }
});

fn check(bytes: &[u8], limits: &Limits) {
    if let Ok(program) = SyclBin::parse(bytes, limits) {
        for version in [SyclBinVersion::V1, SyclBinVersion::V1Enveloped, SyclBinVersion::V2] {
            let written = program.write(version).expect("whatever was read can be written");
            match SyclBin::parse(&written, limits) {
                Ok(again) => assert_eq!(again, program),
                // Other forms have more entries and text for the same content.
                Err(error) => assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}"),
            }
        }
    }
    let contents = offkit_object::read("file", bytes, limits);
    for image in &contents.images {
        let offset = image.offset.expect("read images have an offset") as usize;
        assert_eq!(bytes[offset..offset + image.stored_bytes().len()], *image.stored_bytes());
    }
}
