//! One image swapped for another in offload binaries and SYCLBIN files: everything else stays.

#![cfg(feature = "default")]

mod common;

use common::{SYCLBIN_VERSIONS, entry, limits, offload_v1, offload_v2, offload_v3, program, samples};
use offkit_object::{Compression, OffloadBinary, OffloadBinaryVersion, SyclBin, replace};

fn images(bytes: &[u8]) -> Vec<(offkit_object::Location, Vec<u8>)> {
    let contents = offkit_object::read("f", bytes, &limits());
    assert!(contents.problems.is_empty(), "{:?}", contents.problems);
    let images = contents.images.into_iter();
    images
        .map(|image| (image.location.clone(), image.bytes().unwrap().to_vec()))
        .collect()
}

/// Every image of the file in turn becomes smaller, larger, empty, the same; all others stay as they are.
fn check(name: &str, bytes: &[u8]) {
    let before = images(bytes);
    assert!(!before.is_empty(), "{name}");
    for (place, old) in &before {
        assert!(
            replace(bytes, place, old, &limits()).unwrap() == bytes,
            "{name} {place}"
        );
        for new in [
            b"\x03\x02\x23\x07 new".as_slice(),
            b"BC\xc0\xde",
            &[],
            &[b'n'; 100],
        ] {
            let changed = replace(bytes, place, new, &limits())
                .unwrap_or_else(|error| panic!("{name} {place}: {error}"));
            let contents = offkit_object::read("f", &changed, &limits());
            for (image, (other, old)) in contents.images.iter().zip(&before) {
                let expected = if other == place { new } else { old };
                assert_eq!(image.bytes().unwrap(), expected, "{name} {place}");
            }
            assert_eq!(contents.images.len(), before.len());
            // And back again, as it was.
            let back = replace(&changed, place, old, &limits()).unwrap();
            assert!(back == bytes, "{name} {place} with {} bytes", new.len());
        }
    }
}

#[test]
fn images_are_replaced_in_every_format() {
    for (name, bytes) in samples() {
        if !name.starts_with("property") {
            check(&name, &bytes);
        }
    }
    check(
        "mixed",
        &[
            offload_v2(),
            offload_v1(),
            offload_v3(),
            vec![0; 40],
            offload_v1(),
        ]
        .concat(),
    );
    for version in SYCLBIN_VERSIONS {
        let syclbin = program().write(version).unwrap();
        check("SYCLBIN and zeros", &[syclbin.clone(), vec![0; 24]].concat());
        if version != offkit_object::SyclBinVersion::V1 {
            check(
                "SYCLBIN among others",
                &[offload_v1(), syclbin, offload_v1()].concat(),
            );
        }
    }
}

#[test]
fn compressed_binaries_are_compressed_again_by_the_same_method() {
    let plain = offload_v2();
    let binary = OffloadBinary::parse(&plain, &limits()).unwrap();
    for method in [Compression::Zstd, Compression::Zlib] {
        let bytes = binary.write(OffloadBinaryVersion::V3(Some(method))).unwrap();
        check("alone", &bytes);
        check(
            "among others",
            &[offload_v1(), bytes.clone(), offload_v1()].concat(),
        );
        let place = "f!0".parse().unwrap();
        let changed = replace(&bytes, &place, &[b'z'; 5000], &limits()).unwrap();
        assert!(changed.len() < 1000, "still compressed");
        let is_zstd = changed[40..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        assert_eq!(is_zstd, method == Compression::Zstd);
    }
}

#[test]
fn the_rest_of_a_syclbin_stays() {
    for version in SYCLBIN_VERSIONS {
        let bytes = program().write(version).unwrap();
        let place = "f!0/native/0".parse().unwrap();
        let changed = replace(&bytes, &place, b"other code", &limits()).unwrap();
        let mut expected = program();
        expected.modules[0].native_images[0].bytes = b"other code".into();
        assert_eq!(SyclBin::parse(&changed, &limits()).unwrap(), expected);
        assert_eq!(SyclBin::version_of(&changed, &limits()).unwrap(), version);
        assert!(
            changed == expected.write(version).unwrap(),
            "{version:?} is laid out as if it were new"
        );
    }
}

#[test]
fn an_image_that_others_share_is_left_alone() {
    let mut bytes = OffloadBinary {
        entries: vec![entry(b"BC\xc0\xde1"), entry(b"BC\xc0\xde2")],
    }
    .write(OffloadBinaryVersion::V2)
    .unwrap();
    let image = bytes[32 + 24..32 + 40].to_vec();
    bytes[72 + 24..72 + 40].copy_from_slice(&image);
    let error = replace(&bytes, &"f!0".parse().unwrap(), b"new", &limits()).unwrap_err();
    assert!(error.to_string().contains("shares bytes"), "{error}");
    assert!(replace(&bytes, &"f!7".parse().unwrap(), b"new", &limits()).is_err());
}
