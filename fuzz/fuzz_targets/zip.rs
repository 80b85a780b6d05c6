//! Any bytes as a zip file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let as_it_is = offkit_object::read("file", bytes, &limits);
    for image in &as_it_is.images {
        let written = image.location.to_string();
        assert_eq!(written.parse(), Ok(image.location.clone()));
    }
    // The directory is at the end: whatever the bytes are, let them be the rest of a zip file.
    let whole = [b"PK\x03\x04", bytes].concat();
    let _ = offkit_object::read("file", &whole, &limits);
});
