//! Any bytes as AMD's kpack archives and AdaptiveCpp's HCF.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    for magic in [b"KPAK\x01\0\0\0".as_slice(), b"object-id=1\ngenerator=a\n"] {
        let whole = [magic, bytes].concat();
        let contents = offkit_object::read("file", &whole, &limits);
        for image in &contents.images {
            assert_eq!(image.location.to_string().parse(), Ok(image.location.clone()));
        }
    }
});
