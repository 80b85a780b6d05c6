//! Damaged files of every format: no reader panics, and none returns what is not in the file.

#![cfg(feature = "default")]

mod common;

use common::{limits, samples};
use offkit_object::{Contents, OffloadBinary, SyclBin, property_set};

/// Runs every reader over the bytes and checks what has to hold for any input.
fn read_all(bytes: &[u8]) -> Contents<'_> {
    let limits = limits();
    if let Ok(sets) = property_set::parse(bytes, &limits) {
        let text = property_set::to_text(&sets).unwrap();
        assert_eq!(
            property_set::parse(text.as_bytes(), &limits).unwrap(),
            sets,
            "what is read can be written"
        );
    }
    if let Ok(binaries) = OffloadBinary::parse_all(bytes, &limits) {
        assert_eq!(OffloadBinary::parse(bytes, &limits).as_ref(), Ok(&binaries[0]));
    }
    if let Ok(program) = SyclBin::parse(bytes, &limits) {
        assert!(program.modules.len() <= bytes.len());
    }
    let contents = offkit_object::read("file", bytes, &limits);
    for image in &contents.images {
        let offset = image.offset.unwrap() as usize;
        assert_eq!(
            bytes[offset..offset + image.bytes().unwrap().len()],
            *image.bytes().unwrap(),
            "{}",
            image.location
        );
    }
    assert!(contents.problems.len() <= limits.max_problems);
    contents
}

/// Whether the strict reader of the sample's format accepts the bytes.
fn is_accepted(name: &str, bytes: &[u8]) -> bool {
    let limits = limits();
    if name.starts_with("property") {
        property_set::parse(bytes, &limits).is_ok()
    } else if name.starts_with("SYCLBIN") {
        SyclBin::parse(bytes, &limits).is_ok()
    } else {
        OffloadBinary::parse_all(bytes, &limits).is_ok()
    }
}

#[test]
fn every_truncation_is_refused_or_harmless() {
    for (name, bytes) in samples() {
        assert!(is_accepted(&name, &bytes), "{name}");
        let whole = read_all(&bytes);
        let mut accepted = 0;
        for length in 0..bytes.len() {
            let prefix = &bytes[..length];
            let contents = read_all(prefix);
            assert!(
                contents.images.len() <= whole.images.len(),
                "{name} cut to {length}"
            );
            for image in &contents.images {
                assert!(
                    whole
                        .images
                        .iter()
                        .any(|other| other.bytes().unwrap() == image.bytes().unwrap()),
                    "{name} cut to {length}: {}",
                    image.location
                );
            }
            accepted += usize::from(is_accepted(&name, prefix));
        }
        // Text may end after any line; binaries end exactly, except that bare SYCLBIN has padding of no
        // meaning at its end and that of two binaries the first is whole by itself.
        let harmless = match name.as_str() {
            "property sets" => bytes.split(|byte| *byte == b'\n').count() * 8,
            "SYCLBIN V1" => 7,
            "two offload binaries v1" => 1,
            _ => 0,
        };
        assert!(accepted <= harmless, "{name}: {accepted} truncations accepted");
    }
}

#[test]
fn every_flipped_bit_is_seen_or_of_no_meaning() {
    for (name, mut bytes) in samples() {
        let original = bytes.clone();
        let whole = read_all(&original);
        let mut unnoticed = 0;
        for position in 0..bytes.len() {
            for bit in 0..8 {
                bytes[position] ^= 1 << bit;
                let contents = read_all(&bytes);
                assert!(
                    contents.images.len() <= 2 * whole.images.len().max(1),
                    "{name} {position:#x}.{bit}"
                );
                // An image may be moved by its offset, or keep its content; only padding and text in fields
                // that the model has no place for go unnoticed.
                unnoticed += usize::from(contents == whole);
                bytes[position] ^= 1 << bit;
            }
        }
        assert_eq!(bytes, original);
        if name != "property sets" {
            assert!(
                unnoticed < bytes.len() * 8 / 4,
                "{name}: {unnoticed} of {} flips unnoticed",
                bytes.len() * 8
            );
        }
    }
}
