//! Any bytes as offload binaries, and as a file of unknown format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{Limits, OffloadBinary, OffloadBinaryVersion};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    if let Ok(binaries) = OffloadBinary::parse_all(bytes, &limits) {
        for binary in binaries {
            // Entries may overlap in the file, so that what is written can be much larger.
            if binary.entries.len() <= 64 {
                let written = binary.write(OffloadBinaryVersion::V2).expect("whatever was read can be written");
                assert_eq!(OffloadBinary::parse(&written, &limits), Ok(binary));
            }
        }
    }
    let contents = offkit_object::read("file", bytes, &limits);
    for image in &contents.images {
        // What is inside of something compressed is nowhere in the file.
        if let Some(offset) = image.offset {
            let offset = offset as usize;
            assert_eq!(bytes[offset..offset + image.stored_bytes().len()], *image.stored_bytes());
        }
        let written = image.location.to_string();
        assert_eq!(written.parse(), Ok(image.location.clone()));
    }
});
