//! SYCLBIN: every fault, with the text that the reference readers have for it.

#![cfg(feature = "default")]

mod common;

use common::{limits, program, put_u32, put_u64, v2_after};
use offkit_object::{
    Error, ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, SyclBin, SyclBinVersion,
};

fn parse(bytes: &[u8]) -> Result<SyclBin<'_>, Error> {
    SyclBin::parse(bytes, &limits())
}

#[test]
fn every_fault_of_version_2_has_the_reference_text() {
    type Change = fn(&mut Vec<OffloadEntry<'_>>);
    let cases: [(Change, &str); 19] = [
        (|entries| entries.clear(), "OffloadBinary contains no entries"),
        (
            |entries| entries[1].image_kind = ImageKind::SPIRV,
            "SYCLBIN v2 entry has unexpected ImageKind",
        ),
        (
            |entries| entries.push(entries[0].clone()),
            "SYCLBIN v2 has multiple global_metadata entries",
        ),
        (
            |entries| drop(entries.remove(0)),
            "SYCLBIN v2 missing global_metadata entry",
        ),
        (
            |entries| entries[1].strings.set("role", "am"),
            "SYCLBIN v2 entry has unknown role 'am'",
        ),
        (
            |entries| entries[1].strings = Default::default(),
            "SYCLBIN v2 entry has unknown role ''",
        ),
        (
            |entries| entries[1].strings.set("am_index", ""),
            "SYCLBIN v2 invalid am_index ''",
        ),
        (
            |entries| entries[1].strings.set("am_index", "+1"),
            "SYCLBIN v2 invalid am_index '+1'",
        ),
        (
            |entries| entries[1].strings.set("am_index", "-1"),
            "SYCLBIN v2 invalid am_index '-1'",
        ),
        (
            |entries| entries[1].strings.set("am_index", "0x1"),
            "SYCLBIN v2 invalid am_index '0x1'",
        ),
        (
            |entries| entries[1].strings.set("am_index", "99999999999999999999"),
            "SYCLBIN v2 invalid am_index '99999999999999999999'",
        ),
        (
            |entries| entries[4].strings.set("am_index", "6"),
            "SYCLBIN v2 am_index 6 is out of range (entries=6)",
        ),
        (
            |entries| entries[0].strings.set("sycl_format_version", "3"),
            "Unsupported sycl_format_version '3' (this reader supports v2)",
        ),
        (
            |entries| entries[2].image = (&[0; 7]).into(),
            "SYCLBIN v2 entry image too small",
        ),
        (
            |entries| entries[3].image = (&[1, 0, 0, 0, 0, 0, 0, 0]).into(),
            "SYCLBIN v2 entry metadata size out of range",
        ),
        (
            |entries| entries[3].image = (&[0xff; 8]).into(),
            "SYCLBIN v2 entry metadata size out of range",
        ),
        (
            |entries| entries[4].strings.set("am_index", "0"),
            "SYCLBIN v2 has duplicate am_metadata for am_index 0",
        ),
        (
            |entries| drop(entries.remove(4)),
            "SYCLBIN v2 missing am_metadata for am_index 1",
        ),
        (
            |entries| {
                entries[4].strings.set("am_index", "2");
                entries[5].strings.set("am_index", "2");
            },
            "SYCLBIN v2 missing am_metadata for am_index 1",
        ),
    ];
    for (change, message) in cases {
        let bytes = v2_after(change);
        let error = parse(&bytes).unwrap_err();
        assert_eq!(error.message(), message);
        assert!(
            error.offset().is_some_and(|offset| offset < bytes.len() as u64),
            "{error}"
        );
        let contents = offkit_object::read("x", &bytes, &limits());
        // Without entries it is a correct offload binary, if no SYCLBIN.
        assert_eq!(
            contents.problems.is_empty(),
            message.contains("no entries"),
            "{message}"
        );
    }
}

#[test]
fn every_fault_of_version_1_has_the_reference_text() {
    type Change = fn(&mut Vec<u8>);
    let size = "Unexpected file contents size";
    let cases: [(Change, &str, &str); 14] = [
        (|bytes| bytes.truncate(55), size, "file header"),
        (
            |bytes| put_u32(bytes, 4, 2),
            "Unsupported legacy SYCLBIN version 2",
            "",
        ),
        (
            |bytes| put_u32(bytes, 4, 0),
            "Unsupported legacy SYCLBIN version 0",
            "",
        ),
        (
            |bytes| put_u32(bytes, 8, u32::MAX),
            size,
            "abstract module headers",
        ),
        (|bytes| put_u32(bytes, 12, u32::MAX), size, "IR module headers"),
        (|bytes| put_u32(bytes, 16, 1 << 20), size, "native image headers"),
        (|bytes| put_u64(bytes, 24, u64::MAX), size, "metadata byte table"),
        (|bytes| put_u64(bytes, 32, 1 << 20), size, "binary byte table"),
        (
            |bytes| put_u64(bytes, 48, 1 << 20),
            size,
            "global metadata, metadata",
        ),
        (
            |bytes| put_u64(bytes, 56, u64::MAX),
            size,
            "abstract module 0, metadata",
        ),
        (
            |bytes| put_u32(bytes, 56 + 16, 3),
            size,
            "abstract module 0, IR modules",
        ),
        (
            |bytes| put_u32(bytes, 56 + 28, u32::MAX),
            size,
            "abstract module 0, native images",
        ),
        (
            |bytes| put_u64(bytes, 120 + 8, 1 << 20),
            size,
            "abstract module 0, IR module 0, metadata",
        ),
        (
            |bytes| put_u64(bytes, 184 + 24, 1 << 20),
            size,
            "abstract module 0, native image 0, bytes",
        ),
    ];
    for (change, message, context) in cases {
        let mut bytes = program().write(SyclBinVersion::V1).unwrap();
        change(&mut bytes);
        let error = parse(&bytes).unwrap_err();
        assert_eq!(error.message(), message);
        assert_eq!(error.context().unwrap_or_default(), context);
        assert!(error.offset().is_some(), "{error}");
        // In an envelope the offset still counts from the start of the file.
        let enveloped = OffloadBinary::from(OffloadEntry::new(ImageKind::SYCLBIN, OffloadKind::SYCL, &bytes))
            .write(OffloadBinaryVersion::V2)
            .unwrap();
        let inner = parse(&enveloped).unwrap_err();
        assert_eq!(inner.message(), message);
        assert_eq!(
            inner.offset(),
            error.offset().map(|offset| offset.saturating_add(80)),
            "{inner}"
        );
    }
}

#[test]
fn faults_of_the_envelope_have_the_runtimes_texts() {
    let bare = program().write(SyclBinVersion::V1).unwrap();
    let envelope = |kind, image: &[u8], version| {
        OffloadBinary::from(OffloadEntry::new(kind, OffloadKind::SYCL, image))
            .write(version)
            .unwrap()
    };
    let wrong_kind = envelope(ImageKind::OBJECT, &bare, OffloadBinaryVersion::V2);
    assert_eq!(parse(&wrong_kind).unwrap_err().message(), "Unexpected image type");
    let not_syclbin = envelope(ImageKind::OBJECT, b"other", OffloadBinaryVersion::V1);
    assert_eq!(
        parse(&not_syclbin).unwrap_err().message(),
        "Unexpected image type"
    );
    let wrong_magic = envelope(ImageKind::SYCLBIN, &[0; 64], OffloadBinaryVersion::V1);
    assert_eq!(
        parse(&wrong_magic).unwrap_err().message(),
        "Incorrect SYCLBIN magic number"
    );
    assert_eq!(
        parse(b"something else").unwrap_err().message(),
        "Incorrect Offload Binary magic number"
    );
    assert_eq!(parse(b"").unwrap_err().message(), "Invalid Offload Binary size");
}
