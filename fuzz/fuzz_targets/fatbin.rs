//! Any bytes as fatbins, and another image in the place of the first.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;

fuzz_target!(|bytes: &[u8]| {
    // What is not a fatbin is for other targets.
    let bytes = &[b"\x50\xed\x55\xba".as_slice(), bytes].concat()[..];
    let limits = Limits::default();
    let contents = offkit_object::read("file", bytes, &limits);
    for image in &contents.images {
        if let Some(offset) = image.offset {
            let offset = offset as usize;
            let stored = image.stored_bytes();
            assert_eq!(bytes[offset..offset + stored.len()], *stored);
        }
    }
    if let Some(image) = contents.images.first() {
        let new = b".version 8.0\n\0";
        if let Ok(changed) = offkit_object::replace(bytes, &image.location, new, &limits) {
            assert_eq!(*offkit_object::read("file", &changed, &limits).images[0].bytes().expect("replaced whole"), *new);
        }
    }
});
