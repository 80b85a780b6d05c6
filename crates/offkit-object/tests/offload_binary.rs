//! Offload binaries: layouts, every error, and what is refused when writing.

#![cfg(feature = "default")]

mod common;

use common::{entry, limits, offload_v1, offload_v2, offload_v3, put_u64, u64_at};
use offkit_object::{
    ErrorKind, ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind,
};

fn parse(bytes: &[u8]) -> Result<OffloadBinary<'_>, offkit_object::Error> {
    OffloadBinary::parse(bytes, &limits())
}

#[test]
fn version_1_has_the_layout_of_llvm_22() {
    let mut entry = OffloadEntry::new(ImageKind::OBJECT, OffloadKind::OPENMP, b"abc");
    entry.strings.set("triple", "nvptx64-nvidia-cuda");
    entry.strings.set("arch", "sm_60");
    entry.strings.sort();
    let bytes = OffloadBinary::from(entry)
        .write(OffloadBinaryVersion::V1)
        .unwrap();
    assert_eq!(bytes.len(), 152);
    assert_eq!(bytes[..8], *b"\x10\xff\x10\xad\x01\0\0\0");
    assert_eq!([8, 16, 24].map(|offset| u64_at(&bytes, offset)), [152, 32, 40]);
    assert_eq!(bytes[32..40], [1, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(
        [40, 48, 56, 64].map(|offset| u64_at(&bytes, offset)),
        [72, 2, 144, 3]
    );
    assert_eq!(
        [72, 80, 88, 96].map(|offset| u64_at(&bytes, offset)),
        [105, 137, 110, 117]
    );
    assert_eq!(
        bytes[104..144],
        *b"\0arch\0triple\0nvptx64-nvidia-cuda\0sm_60\0\0"
    );
    assert_eq!(bytes[144..], *b"abc\0\0\0\0\0");
}

#[test]
fn version_2_packs_its_images_behind_one_string_table() {
    let bytes = offload_v2();
    assert_eq!(u64_at(&bytes, 8), bytes.len() as u64);
    assert_eq!([16, 24].map(|offset| u64_at(&bytes, offset)), [32, 3]);
    let images = [32, 72, 112].map(|entry| (u64_at(&bytes, entry + 24), u64_at(&bytes, entry + 32)));
    assert_eq!(images[0].0 % 8, 0);
    assert_eq!(images.map(|(_, size)| size), [8, 0, 10]);
    assert_eq!(images[2].0, images[0].0 + 8);
    let strings = [32, 72, 112].map(|entry| (u64_at(&bytes, entry + 8), u64_at(&bytes, entry + 16)));
    assert_eq!(strings, [(152, 2), (152 + 48, 1), (152 + 72, 2)]);
    assert_eq!(
        u64_at(&bytes, 152 + 48 + 16),
        3,
        "the value with a zero byte has its length"
    );
}

#[test]
fn all_versions_give_back_what_was_written() {
    let v2 = offload_v2();
    let read = parse(&v2).unwrap();
    assert_eq!(read.entries.len(), 3);
    assert!(read.entries[1].is_metadata_only());
    assert_eq!(read.entries[1].strings.get_bytes("raw"), Some(b"a\0b".as_slice()));
    assert_eq!(read.entries[2], entry(b"BC\xc0\xde other"));
    assert_eq!(parse(&offload_v3()).unwrap(), read, "version 3, not compressed");
    assert_eq!(
        parse(&offload_v1()).unwrap().entries,
        [entry(b"BC\xc0\xde and so on")]
    );
}

#[test]
fn binaries_that_follow_each_other_are_all_read() {
    let bytes = [offload_v1(), offload_v2(), offload_v3(), offload_v1()].concat();
    let all = OffloadBinary::parse_all(&bytes, &limits()).unwrap();
    assert_eq!(
        all.iter().map(|binary| binary.entries.len()).collect::<Vec<_>>(),
        [1, 3, 3, 1]
    );

    let two = OffloadBinary {
        entries: vec![entry(b"one"), entry(b"two")],
    };
    let sequence = two.write_v1_sequence().unwrap();
    let read = OffloadBinary::parse_all(&sequence, &limits()).unwrap();
    assert_eq!(
        read.into_iter()
            .flat_map(|binary| binary.entries)
            .collect::<Vec<_>>(),
        two.entries
    );

    let error = OffloadBinary::parse_all(&[offload_v1(), vec![1; 8]].concat(), &limits()).unwrap_err();
    assert_eq!(error.offset(), Some(offload_v1().len() as u64));
}

#[test]
fn of_a_repeated_key_the_last_value_counts() {
    let mut bytes = offload_v1();
    let key = u64_at(&bytes, 72);
    put_u64(&mut bytes, 88, key);
    let strings = &parse(&bytes).unwrap().entries[0].strings;
    assert_eq!(strings.len(), 2);
    assert_eq!(strings.get("arch"), Some("amdgcn-amd-amdhsa"));
}

/// Takes a sample, changes it, and gives the strict reader's error.
fn error_after(mut bytes: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> offkit_object::Error {
    change(&mut bytes);
    parse(&bytes).unwrap_err()
}

#[test]
fn every_fault_of_a_header_has_its_error() {
    let cases: [(offkit_object::Error, &str, u64); 10] = [
        (
            error_after(offload_v1(), |bytes| bytes.truncate(31)),
            "Invalid Offload Binary size",
            0,
        ),
        (
            error_after(offload_v1(), |bytes| bytes[0] = 0),
            "Incorrect Offload Binary magic number",
            0,
        ),
        (
            error_after(offload_v1(), |bytes| bytes[4] = 0),
            "Unsupported Offload Binary version number",
            4,
        ),
        (
            error_after(offload_v1(), |bytes| bytes[4] = 4),
            "Unsupported Offload Binary version number",
            4,
        ),
        (
            error_after(offload_v1(), |bytes| put_u64(bytes, 8, 31)),
            "Invalid Offload Binary size",
            8,
        ),
        (
            error_after(offload_v1(), |bytes| put_u64(bytes, 8, 1 << 40)),
            "Invalid Offload Binary size",
            0,
        ),
        (
            error_after(offload_v1(), |bytes| put_u64(bytes, 24, 39)),
            "Unexpected entry size for v1 format",
            24,
        ),
        (
            error_after(offload_v1(), |bytes| put_u64(bytes, 16, u64::MAX)),
            "Invalid entry offset",
            u64::MAX,
        ),
        (
            error_after(offload_v2(), |bytes| put_u64(bytes, 16, 1 << 20)),
            "Invalid entries offset",
            1 << 20,
        ),
        (
            error_after(offload_v2(), |bytes| put_u64(bytes, 24, u64::MAX)),
            "Invalid entries offset",
            32,
        ),
    ];
    for (error, message, offset) in cases {
        assert_eq!(error.message(), message, "{error}");
        assert_eq!(error.offset(), Some(offset), "{error}");
        assert!(error.expected().is_some() && error.found().is_some(), "{error}");
    }
}

#[test]
fn every_fault_of_an_entry_has_its_error() {
    type Change = fn(&mut Vec<u8>);
    let cases: [(Change, &str, &str); 6] = [
        (
            |bytes| put_u64(bytes, 64, 1 << 20),
            "Invalid image offset and size",
            "entry 0, image",
        ),
        (
            |bytes| put_u64(bytes, 56, u64::MAX),
            "Invalid image offset and size",
            "entry 0, image",
        ),
        (
            |bytes| put_u64(bytes, 48, 1 << 60),
            "Invalid string entries",
            "entry 0, string entries",
        ),
        (
            |bytes| put_u64(bytes, 72, 1 << 20),
            "Invalid string offset",
            "entry 0, key",
        ),
        (
            |bytes| put_u64(bytes, 80, 1 << 20),
            "Invalid string offset",
            "entry 0, value",
        ),
        (|bytes| bytes[105] = 0xff, "Invalid string", "entry 0, key"),
    ];
    for (change, message, context) in cases {
        let error = error_after(offload_v1(), change);
        assert_eq!(error.message(), message);
        assert_eq!(error.context(), Some(context), "{error}");
        assert!(error.offset().is_some(), "{error}");
    }
    let error = error_after(offload_v1(), |bytes| {
        let end = bytes.len();
        bytes[end - 8..].fill(b'x');
        put_u64(bytes, 80, end as u64 - 4);
    });
    assert_eq!(error.expected(), Some("a zero byte at its end"), "{error}");
    let error = error_after(offload_v2(), |bytes| put_u64(bytes, 152 + 16, 1 << 30));
    assert_eq!(error.message(), "Invalid string offset", "{error}");
}

#[test]
fn a_compressed_binary_is_refused_by_name() {
    let error = error_after(offload_v3(), |bytes| put_u64(bytes, 32, 4096));
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("must be inflated first"), "{error}");
    assert_eq!(error.offset(), Some(32));
}

#[test]
fn a_larger_entry_of_version_1_is_accepted() {
    let mut bytes = offload_v1();
    put_u64(&mut bytes, 24, 48);
    assert_eq!(parse(&bytes).unwrap(), parse(&offload_v1()).unwrap());
}

#[test]
fn what_a_version_cannot_hold_is_refused() {
    let two = OffloadBinary {
        entries: vec![entry(b"one"), entry(b"two")],
    };
    let none = OffloadBinary::default();
    for binary in [&two, &none] {
        let error = binary.write(OffloadBinaryVersion::V1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable);
    }
    assert!(
        parse(&none.write(OffloadBinaryVersion::V2).unwrap())
            .unwrap()
            .entries
            .is_empty()
    );

    let mut zero_value = entry(b"image");
    zero_value.strings.set_bytes("raw", b"a\0b".as_slice());
    let binary = OffloadBinary::from(zero_value);
    assert_eq!(
        binary.write(OffloadBinaryVersion::V1).unwrap_err().context(),
        Some("value of 'raw'")
    );
    assert_eq!(
        parse(&binary.write(OffloadBinaryVersion::V2).unwrap()).unwrap(),
        binary
    );

    let mut zero_key = entry(b"image");
    zero_key.strings.set("a\0b", "value");
    let binary = OffloadBinary::from(zero_key);
    for version in [OffloadBinaryVersion::V1, OffloadBinaryVersion::V2] {
        assert_eq!(
            binary.write(version).unwrap_err().kind(),
            ErrorKind::Unrepresentable
        );
    }
}

#[test]
fn limits_bound_entries_strings_and_their_bytes() {
    let bytes = offload_v2();
    for tight in [
        Limits {
            max_images: 2,
            ..limits()
        },
        Limits {
            max_strings: 4,
            ..limits()
        },
        Limits {
            max_metadata_bytes: 20,
            ..limits()
        },
    ] {
        assert_eq!(
            OffloadBinary::parse(&bytes, &tight).unwrap_err().kind(),
            ErrorKind::LimitExceeded
        );
    }
    let exact = Limits {
        max_images: 3,
        max_strings: 5,
        ..limits()
    };
    assert!(OffloadBinary::parse(&bytes, &exact).is_ok());
}
