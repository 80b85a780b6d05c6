//! Any bytes as tar files, RPM packages and `cpio` archives, compressed and not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;

/// A tar header of a file that is as large as the bytes, whose sum is right.
fn tar_header(size: usize) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..4].copy_from_slice(b"a.so");
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fuzz_target!(|bytes: &[u8]| {
    // What comes out is bounded, so that bombs do not take the time of others.
    let limits = Limits { max_inflation: 100, ..Limits::default() };
    for (magic, rest) in [
        (b"".as_slice(), bytes),
        (b"\x1f\x8b\x08", bytes),
        (b"\xfd7zXZ\0", bytes),
        (b"\x28\xb5\x2f\xfd", bytes),
        (b"\xed\xab\xee\xdb", bytes),
        (&tar_header(bytes.len()), bytes),
    ] {
        let whole = [magic, rest].concat();
        let contents = offkit_object::read("file", &whole, &limits);
        for image in &contents.images {
            assert_eq!(image.location.to_string().parse(), Ok(image.location.clone()));
        }
    }
});
