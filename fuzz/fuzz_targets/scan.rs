//! Any bytes as constants of a program, searched for device code.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { scan: true, ..Limits::default() };
    // A program without segments and sections: all of it is searched.
    let mut whole = vec![0; 64];
    whole[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    whole[16] = 3;
    whole[18] = 62;
    whole.extend(bytes);
    let contents = offkit_object::read("file", &whole, &limits);
    for image in &contents.images {
        if let Some(offset) = image.offset {
            let stored = image.stored_bytes();
            assert_eq!(whole[offset as usize..][..stored.len()], *stored);
        }
    }
});
