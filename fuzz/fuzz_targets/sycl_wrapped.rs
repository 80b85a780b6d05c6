//! Any bytes as a program that registers SYCL images.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;

fuzz_target!(|bytes: &[u8]| {
    // 64-bit, little endian: what else ELF may be is for other targets.
    let mut bytes = bytes.to_vec();
    if let Some(magic) = bytes.first_chunk_mut() {
        *magic = *b"\x7fELF\x02\x01";
    }
    let limits = Limits::default();
    let contents = offkit_object::read("file", &bytes, &limits);
    for image in &contents.images {
        if let Some(offset) = image.offset {
            let offset = offset as usize;
            let stored = image.stored_bytes();
            assert_eq!(bytes[offset..offset + stored.len()], *stored);
        }
    }
    if let Some(image) = contents.images.first() {
        let new = vec![0x5a; image.bytes().map_or(0, <[u8]>::len)];
        if let Ok(changed) = offkit_object::replace(&bytes, &image.location, &new, &limits) {
            assert_eq!(changed.len(), bytes.len());
        }
    }
});
