//! AMD's kpack archives, references to them, and AdaptiveCpp's HCF, laid out as their makers lay them out.

#![cfg(feature = "default")]

mod common;
#[path = "common/tools.rs"]
mod tools;

use common::{locations, read};
use offkit_object::host::{NewSection, ObjectFormat, write_object};
use offkit_object::{Compression, ContainerKind, ErrorKind, ImageFormat};
use rmpv::Value;
use tools::{Folder, need};

const CODE: [&[u8]; 2] = [
    b"\x7fELF\x02\x01\x01\x40\x04\0\0\0\0\0\0\0\x03\0\xe0\0 one",
    b"another",
];

fn map(pairs: Vec<(&str, Value)>) -> Value {
    Value::Map(
        pairs
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
    )
}

/// An archive with the code for two architectures.
fn archive(compressed: bool) -> Vec<u8> {
    let mut bytes = b"KPAK\x01\0\0\0".to_vec();
    bytes.resize(64, 0);
    let entry = |ordinal: usize| {
        let size = CODE[ordinal].len();
        map(vec![
            ("type", "hsaco".into()),
            ("ordinal", ordinal.into()),
            ("original_size", size.into()),
        ])
    };
    let toc = map(vec![(
        "lib/libfoo.so#0",
        map(vec![("gfx1100", entry(0)), ("gfx90a:xnack+", entry(1))]),
    )]);
    let mut table = vec![("format_version", 1.into()), ("toc", toc)];
    if compressed {
        let start = bytes.len();
        bytes.extend((CODE.len() as u32).to_le_bytes());
        for code in CODE {
            let frame = zstd::bulk::compress(code, 3).unwrap();
            bytes.extend((frame.len() as u32).to_le_bytes());
            bytes.extend(frame);
        }
        table.push(("compression_scheme", "zstd-per-kernel".into()));
        table.push(("zstd_offset", start.into()));
        table.push(("zstd_size", (bytes.len() - start).into()));
    } else {
        let mut blobs = Vec::new();
        for code in CODE {
            blobs.push(map(vec![
                ("offset", bytes.len().into()),
                ("size", code.len().into()),
            ]));
            bytes.extend(code);
        }
        table.push(("compression_scheme", "none".into()));
        table.push(("blobs", Value::Array(blobs)));
    }
    let place = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&place.to_le_bytes());
    rmpv::encode::write_value(&mut bytes, &map(table)).unwrap();
    bytes
}

#[test]
fn archives_have_a_code_object_for_each_library_and_architecture() {
    for (compressed, compression) in [(false, None), (true, Some(Compression::Zstd))] {
        let bytes = archive(compressed);
        let contents = read(&bytes);
        assert_eq!(contents.container, ContainerKind::Kpack);
        assert_eq!(contents.problems, []);
        assert_eq!(
            locations(&contents),
            [
                "file!lib/libfoo.so#0/gfx1100",
                "file!lib/libfoo.so#0/gfx90a:xnack+"
            ]
        );
        for (image, code) in contents.images.iter().zip(CODE) {
            assert_eq!(
                (image.format, image.compression()),
                (ImageFormat::Amdgpu, compression)
            );
            assert_eq!(image.bytes().unwrap(), code);
            assert_eq!(image.target.triple, "amdgcn-amd-amdhsa");
        }
        assert_eq!(contents.images[1].target.arch_with_features(), "gfx90a:xnack+");
    }
}

#[test]
fn damaged_archives_are_harmless() {
    for compressed in [false, true] {
        let mut bytes = archive(compressed);
        for length in 4..bytes.len() {
            let contents = read(&bytes[..length]);
            assert!(!contents.problems.is_empty(), "cut to {length}");
            assert!(contents.images.is_empty(), "cut to {length}");
        }
        for position in 4..bytes.len() {
            for bit in 0..8 {
                bytes[position] ^= 1 << bit;
                assert!(read(&bytes).images.len() <= 2, "{position:#x}.{bit}");
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn a_library_whose_code_was_moved_says_where_to() {
    need!("clang-22");
    let folder = Folder::new();
    let paths = Value::Array(vec!["../.kpack/foo_@GFXARCH@.kpack".into()]);
    let mut reference = Vec::new();
    let content = map(vec![
        ("kernel_name", "lib/libfoo.so".into()),
        ("kpack_search_paths", paths),
    ]);
    rmpv::encode::write_value(&mut reference, &content).unwrap();
    folder.write("reference", reference);
    for (target, section) in [
        ("x86_64-linux-gnu", ".rocm_kpack_ref,\"a\""),
        ("x86_64-pc-windows-msvc", ".kpackrf,\"dr\""),
    ] {
        folder.write("a.s", format!(".section {section}\n.incbin \"reference\"\n"));
        folder.run(&format!("clang-22 --target={target} -c a.s -o a.o"));
        let bytes = folder.read("a.o");
        let contents = read(&bytes);
        let error = &contents.problems[0].error;
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{target}");
        assert_eq!(error.found(), Some("../.kpack/foo_@GFXARCH@.kpack"), "{target}");
    }
}

/// A DLL as `rocm-kpack` leaves it: wrappers of references, and of the section of bundles what did not fill a page.
#[test]
fn a_windows_library_whose_code_was_moved_says_where_to() {
    need!("clang-22", "lld-link");
    let folder = Folder::new();
    let paths = Value::Array(vec!["../.kpack/foo_@GFXARCH@.kpack".into()]);
    let mut reference = Vec::new();
    let content = map(vec![
        ("kernel_name", "bin/foo.dll".into()),
        ("kpack_search_paths", paths),
    ]);
    rmpv::encode::write_value(&mut reference, &content).unwrap();
    folder.write("reference", reference);
    let link = |bundles: &str, reference: &str| {
        folder.write(
            "a.s",
            format!(
                ".section .hipFatB,\"dr\"\n.long 0x4849504b, 1\n.quad 0, 0\n.section .hip_fat,\"dr\"\n{bundles}\n{reference}\n"
            ),
        );
        folder.run("clang-22 --target=x86_64-pc-windows-msvc -c a.s -o a.o");
        folder.run("lld-link /dll /noentry a.o /out:a.dll");
        folder.read("a.dll")
    };
    let reference = ".section .kpackrf,\"dr\"\n.incbin \"reference\"";
    let bytes = link(".fill 1450, 1, 0x5a", reference);
    let contents = read(&bytes);
    assert_eq!(contents.problems.len(), 1, "{:?}", contents.problems);
    let error = &contents.problems[0].error;
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.found(), Some("../.kpack/foo_@GFXARCH@.kpack"));
    assert!(contents.images.is_empty());
    // What is in that section without a reference, or is a bundle all the same, is read.
    assert_eq!(
        read(&link(".fill 1450, 1, 0x5a", "")).problems[0].error.kind(),
        ErrorKind::Malformed
    );
    let bundle = ".ascii \"__CLANG_OFFLOAD_BUNDLE__\"\n.quad 1, 68, 8, 12\n.ascii \"hip--gfx1100\"\n.ascii \"\\177ELF....\"";
    let contents = read(&link(bundle, reference)).images.len();
    assert_eq!(contents, 1);
}

const HCF: &str = "object-id=12\ngenerator=AdaptiveCpp SSCP\n{.images\n{.llvm-ir.global\nvariant=global-module\n\
    format=llvm-ir\n{.__binary\nstart=0\nsize=8\n}.__binary\n}.llvm-ir.global\n{.ptx\n{.__binary\n  start = 8\n  size = 27\n\
    }.__binary\n}.ptx\n}.images\n{.kernels\n}.kernels\n__acpp_hcf_binary_appendixBC\u{40}\u{1e}abcd.version 8.0\n.target sm_80\n";

fn hcf() -> Vec<u8> {
    let mut bytes = HCF.as_bytes().to_vec();
    let at = bytes.windows(2).rposition(|pair| pair == b"BC").unwrap();
    bytes[at + 2..at + 4].copy_from_slice(b"\xc0\xde");
    bytes
}

#[test]
fn adaptive_cpp_s_containers_are_read() {
    let bytes = hcf();
    let contents = read(&bytes);
    assert_eq!(
        (contents.container, &contents.problems[..]),
        (ContainerKind::Hcf, &[][..])
    );
    assert_eq!(
        locations(&contents),
        ["file!images/llvm-ir.global", "file!images/ptx"]
    );
    let formats: Vec<_> = contents.images.iter().map(|image| image.format).collect();
    assert_eq!(formats, [ImageFormat::Bitcode, ImageFormat::Ptx]);
    for length in 40..bytes.len() {
        assert!(!read(&bytes[..length]).problems.is_empty(), "cut to {length}");
    }
}

#[test]
fn code_of_others_is_known_by_its_first_bytes() {
    for (bytes, format) in [
        (b"MTLB\x01\x80\x02\0".as_slice(), ImageFormat::Metal),
        (b"poclbin\0\x0c\0\0\0", ImageFormat::Poclbin),
    ] {
        assert_eq!(read(bytes).images[0].format, format);
    }
}

#[test]
fn a_library_with_many_references_says_once_where_its_code_is() {
    for (triple, name) in [
        ("x86_64-unknown-linux-gnu", ".rocm_kpack_ref"),
        ("x86_64-pc-windows-msvc", ".kpackrf"),
    ] {
        let format = ObjectFormat::for_triple(triple).unwrap();
        let sections = vec![NewSection::excluded(name, b"\x80"); 5];
        let object = write_object(format, &sections).unwrap();
        assert_eq!(read(&object).problems.len(), 1, "{triple}");
    }
}
