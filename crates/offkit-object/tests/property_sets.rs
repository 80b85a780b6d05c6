//! Property sets: known vectors, every error, and what is refused when writing.

#![cfg(feature = "default")]

mod common;

use common::limits;
use offkit_object::property_set::names;
use offkit_object::{ByteArray, ErrorKind, Limits, PropertySets, PropertyValue, property_set};

fn parse(text: &str) -> Result<PropertySets, offkit_object::Error> {
    property_set::parse(text.as_bytes(), &limits())
}

fn u32s(values: &[u32]) -> PropertyValue {
    values.into()
}

#[test]
fn byte_arrays_are_written_as_the_toolchain_writes_them() {
    let vectors: [(PropertyValue, &str); 10] = [
        (u32s(&[1, 2, 4]), "gBAAAAAAAAQAAAAACAAAAQAAAAA"),
        (u32s(&[2, 4]), "ABAAAAAAAAgAAAAAEAAAAA"),
        (u32s(&[4]), "gAAAAAAAAAABAAAA"),
        (u32s(&[0, 9, 12]), "gBAAAAAAAAAAAAAAJAAAAwAAAAA"),
        (u32s(&[1, 6]), "ABAAAAAAAAQAAAAAGAAAAA"),
        (u32s(&[0, 1, 6, 9, 12]), "gCAAAAAAAAAAAAAABAAAAYAAAAQCAAAAMAAAAA"),
        ("asan".into(), "gAAAAAAAAAQYzFmb"),
        ("".into(), "AAAAAAAAAAA"),
        (u32s(&[0, 0, 4]), "gBAAAAAAAAAAAAAAAAAAAQAAAAA"),
        (
            "spir64-unknown-unknown".into(),
            "wCAAAAAAAAwcwlmc2QTL152au92du1Sdutmbvdnb",
        ),
    ];
    for (value, text) in vectors {
        let mut sets = PropertySets::new();
        sets.insert("set", "key", value.clone());
        let written = format!("[set]\nkey=2|{text}\n");
        assert_eq!(property_set::to_text(&sets).unwrap(), written);
        assert_eq!(parse(&written).unwrap().get("set", "key"), Some(&value));
    }
}

#[test]
fn a_length_in_bits_is_kept() {
    let arguments = ByteArray::with_bits(5, [0b10110]).unwrap();
    let mut sets = PropertySets::new();
    sets.insert(names::KERNEL_PARAMETER_OPTIMIZATION, "kernel", arguments.clone());
    let text = property_set::to_text(&sets).unwrap();
    assert_eq!(text, "[SYCL/kernel param opt]\nkernel=2|FAAAAAAAAAgF\n");
    assert_eq!(
        parse(&text)
            .unwrap()
            .get(names::KERNEL_PARAMETER_OPTIMIZATION, "kernel"),
        Some(&PropertyValue::Bytes(arguments))
    );
    assert_eq!(ByteArray::with_bits(9, [0]), None, "9 bits need 2 bytes");
    assert_eq!(ByteArray::with_bits(u64::MAX, []), None);
}

#[test]
fn lines_are_read_as_the_toolchain_reads_them() {
    let sets = parse("\n[a]\r\nx=1|1\r\n\n[b [c]] rest\nk|y=1|2\n[a]\nx=1|3\nz=1|4294967295").unwrap();
    let mut expected = PropertySets::new();
    expected.insert("a", "x", 3);
    expected.insert("a", "z", u32::MAX);
    expected.insert("b [c]", "k|y", 2);
    assert_eq!(
        sets, expected,
        "CR LF, a repeated set, a repeated key, brackets in a name"
    );
    assert_eq!(parse("").unwrap(), PropertySets::new());
    assert_eq!(
        parse("[empty]").unwrap().set("empty").map(|set| set.len()),
        Some(0)
    );
}

#[test]
fn equality_includes_the_order() {
    assert_ne!(
        parse("[a]\nx=1|1\ny=1|1\n").unwrap(),
        parse("[a]\ny=1|1\nx=1|1\n").unwrap()
    );
    assert_ne!(parse("[a]\n[b]\n").unwrap(), parse("[b]\n[a]\n").unwrap());
}

#[test]
fn every_error_tells_line_and_offset() {
    // Text, message with the words of the toolchain's reader, line, offset.
    let cases: [(&[u8], &str, u32, u64); 18] = [
        (b"[a]\n[b\n", "invalid line: [b", 2, 4),
        (b"[a]\nx\xff=1|1\n", "invalid line: x\u{fffd}=1|1", 2, 5),
        (b"[a]\nx\0=1|1\n", "invalid line: x\\0=1|1", 2, 5),
        (b"[a]\nx\ry=1|1\n", "invalid line: x\\ry=1|1", 2, 5),
        (b"\nx=1|1\n", "property category missing", 2, 1),
        (b"[a]\nx\n", "invalid property line: x", 2, 4),
        (b"[a]\n=1|1\n", "invalid property line: =1|1", 2, 4),
        (b"[a]\nx=\n", "invalid property line: x=", 2, 4),
        (b"[a]\nx=1\n", "invalid property value: 1", 2, 6),
        (b"[a]\nx=1|\n", "invalid property value: 1|", 2, 6),
        (b"[a]\nx=|1\n", "invalid property value: |1", 2, 6),
        (b"[a]\nx=1|-1\n", "invalid property value: 1|-1", 2, 6),
        (
            b"[a]\nx=1|4294967296\n",
            "invalid property value: 1|4294967296",
            2,
            6,
        ),
        (b"[a]\nx=one|1\n", "invalid property type: one", 2, 6),
        (b"[a]\nx=3|1\n", "bad property type 3", 2, 6),
        (
            b"[a]\r\nx=2|AAAAAAAAA*A\n",
            "invalid char in Base64Impl encoding: 0x2a",
            2,
            18,
        ),
        (b"[a]\nx=2|AAAAA\n", "invalid encoded sequence length", 2, 12),
        (
            b"[a]\nx=2|AAAAAAAAAA/\n",
            "invalid characters in the encoded sequence remainder",
            2,
            16,
        ),
    ];
    for (text, message, line, offset) in cases {
        let error = property_set::parse(text, &limits()).unwrap_err();
        assert_eq!(error.message(), message);
        assert_eq!(error.context(), Some(format!("line {line}").as_str()), "{error}");
        assert_eq!(error.offset(), Some(offset), "{error}");
        assert!(error.expected().is_some(), "{error}");
    }
    // A count of bits that the bytes do not match: one byte too few, and no room for the count itself.
    for value in ["gAAAAAAAAAQYzFA", "AAAA"] {
        let error = parse(&format!("[a]\nx=2|{value}\n")).unwrap_err();
        assert_eq!(error.message(), format!("invalid property value: 2|{value}"));
    }
}

#[test]
fn long_lines_are_shortened_in_messages() {
    let error = parse(&format!("[{}", "x".repeat(10_000))).unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn what_has_no_text_form_is_refused() {
    for key in ["", "a=b", "a\nb", "a\rb", "a\0b", "[a"] {
        let mut sets = PropertySets::new();
        sets.insert("set", key, 1);
        let error = property_set::to_text(&sets).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable, "{key:?}");
        assert_eq!(error.context(), Some("key of a property"));
    }
    for name in ["a\nb", "a\rb", "a\0b"] {
        let mut sets = PropertySets::new();
        sets.insert(name, "key", 1);
        assert_eq!(
            property_set::to_text(&sets).unwrap_err().context(),
            Some("name of a property set"),
            "{name:?}"
        );
    }
}

#[test]
fn limits_bound_properties_and_text() {
    let text = "[a]\nx=1|1\ny=1|1\n";
    for tight in [
        Limits {
            max_properties: 2,
            ..limits()
        },
        Limits {
            max_metadata_bytes: text.len() as u64 - 1,
            ..limits()
        },
    ] {
        let error = property_set::parse(text.as_bytes(), &tight).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }
    let exact = Limits {
        max_properties: 3,
        max_metadata_bytes: text.len() as u64,
        ..limits()
    };
    assert!(property_set::parse(text.as_bytes(), &exact).is_ok());
}
