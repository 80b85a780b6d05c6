//! From format to format: what is kept comes back, what is lost is said.

#![cfg(feature = "default")]

mod common;

use common::{SPIRV, entry, limits, offload_v2, program};
use offkit_object::bundle::{Bundle, BundleEntry};
use offkit_object::property_set::names;
use offkit_object::{
    AbstractModule, BundleState, Compression, ConversionInput, ErrorKind, ImageKind, IrModule, IrType,
    Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, OutputFormat, SyclBin,
    SyclBinVersion,
};
use proptest::prelude::*;

fn convert(bytes: &[u8], to: &str) -> (Vec<u8>, Vec<String>) {
    let input = ConversionInput::open("f", bytes, &limits()).unwrap();
    let converted = input.convert(to.parse().unwrap(), BundleState::Object).unwrap();
    let losses = converted.losses.iter().map(ToString::to_string).collect();
    (converted.content.into_bytes(), losses)
}

#[test]
fn offload_binaries_convert_between_versions() {
    let v2 = offload_v2();
    for to in ["offload,v3", "offload,v3,zlib", "offload,v3,none"] {
        let (v3, losses) = convert(&v2, to);
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(convert(&v3, "offload,v2"), (v2.clone(), vec![]), "{to}");
    }
    let (v1, losses) = convert(&v2, "offload,v1");
    assert_eq!(losses, ["f!1: an entry that has strings but no image"]);
    let all = OffloadBinary::parse_all(&v1, &limits()).unwrap();
    assert_eq!(all.len(), 2);

    let mut zero = entry(b"BC\xc0\xde");
    zero.strings.set_bytes("raw", b"a\0b".as_slice());
    let bytes = OffloadBinary::from(zero).write(OffloadBinaryVersion::V2).unwrap();
    let (v1, losses) = convert(&bytes, "offload,v1");
    assert_eq!(losses, ["f!0: the string 'raw', which has zero bytes"]);
    let binary = OffloadBinary::parse(&v1, &limits()).unwrap();
    assert_eq!(binary.entries[0], entry(b"BC\xc0\xde"));
}

#[test]
fn syclbin_versions_say_the_same() {
    let program = program();
    let v1 = program.write(SyclBinVersion::V1Enveloped).unwrap();
    let (v2, losses) = convert(&v1, "syclbin,v2");
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(SyclBin::parse(&v2, &limits()).unwrap(), program);
    assert_eq!(convert(&v2, "syclbin,v1"), (v1, vec![]));
}

#[test]
fn everything_that_only_a_syclbin_says_is_listed() {
    let bytes = program().write(SyclBinVersion::V2).unwrap();
    let (out, losses) = convert(&bytes, "offload,v2");
    let expected = [
        "f: the state of the program: object",
        "f!0: that 2 images are forms of one module",
        "f!0: the property set 'SYCL/imported symbols'",
        "f!0: the property set 'SYCL/exported symbols'",
        "f!0: the property set 'SYCL/kernel param opt'",
        "f!0: the property set 'SYCL/misc properties'",
        "f!0: the property set 'SYCL/device requirements'",
    ];
    assert_eq!(losses, expected);
    let binary = OffloadBinary::parse(&out, &limits()).unwrap();
    assert_eq!(binary.entries.len(), 3);
    assert_eq!(binary.entries[0].image, SPIRV);
    assert_eq!(
        binary.entries[0].strings.get("symbols"),
        Some("saxpy\n_ZTS6reduce")
    );
    assert_eq!(binary.entries[1].strings.get("arch"), Some("intel_cpu_spr"));
}

#[test]
fn names_of_kernels_are_not_copied_to_any_number_of_images() {
    let mut program = SyclBin::new(BundleState::Object);
    let mut module = AbstractModule::default();
    module
        .properties
        .insert_symbols(names::KERNEL_NAMES, ["k".repeat(10_000)]);
    module.ir_modules = vec![IrModule::new(IrType::SPIRV, "", SPIRV); 300];
    program.modules.push(module);
    let bytes = program.write(SyclBinVersion::V1).unwrap();
    let convert = |most: u64| {
        let limits = Limits {
            max_metadata_bytes: most,
            ..limits()
        };
        let input = ConversionInput::open("f", &bytes, &limits).unwrap();
        let converted = input.convert("offload,v2".parse().unwrap(), BundleState::Object);
        converted.map(|converted| converted.content.len())
    };
    let error = convert(1_000_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(error.context(), Some("abstract module 0"));
    assert!(convert(10_000_000).is_ok());
}

#[test]
fn everything_that_only_an_offload_binary_says_is_listed() {
    let mut odd = OffloadEntry::new(ImageKind::FATBINARY, OffloadKind(6), b"what");
    odd.flags = 2;
    odd.strings.set("triple", "a-b-c");
    odd.strings.set("note", "x");
    let bytes = OffloadBinary::from(odd).write(OffloadBinaryVersion::V2).unwrap();
    for to in ["syclbin,v1", "bundle"] {
        let (_, losses) = convert(&bytes, to);
        for part in [
            "the string 'note'",
            "the flags 0x2",
            "the image kind fatbinary",
            "the offload kind",
        ] {
            assert!(
                losses.iter().any(|loss| loss.contains(part)),
                "{to} {part}: {losses:?}"
            );
        }
    }
    let ir = entry(b"BC\xc0\xde");
    let bytes = OffloadBinary::from(ir).write(OffloadBinaryVersion::V1).unwrap();
    let (_, losses) = convert(&bytes, "syclbin,v2");
    assert_eq!(
        losses,
        [
            "f!0: the offload kind openmp",
            "f!0: the architecture gfx90a:xnack+, of IR"
        ]
    );
}

#[test]
fn bundles_come_back_as_they_were() {
    let bundle = Bundle {
        entries: vec![
            BundleEntry::new("host-x86_64-unknown-linux-gnu-", b"".as_slice()),
            BundleEntry::new(
                "openmp-amdgcn-amd-amdhsa--gfx90a:xnack+",
                b"\x7fELF code".as_slice(),
            ),
            BundleEntry::new("openmp-nvptx64-nvidia-cuda-unknown-sm_70", b"other".as_slice()),
        ],
    };
    let bytes = bundle.write(1).unwrap();
    let (compressed, losses) = convert(&bytes, "bundle,compressed");
    assert!(losses.is_empty());
    assert_eq!(convert(&compressed, "bundle"), (bytes.clone(), vec![]));
    let (offload, losses) = convert(&bytes, "offload,v1");
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(convert(&offload, "bundle"), (bytes, vec![]));

    let other = Bundle {
        entries: vec![BundleEntry::new("hip-amdgcn-amd-amdhsa-gfx906", b"x".as_slice())],
    };
    let (_, losses) = convert(&other.write(1).unwrap(), "offload,v1");
    assert_eq!(losses, ["f!0/gfx906: the ID 'hip-amdgcn-amd-amdhsa-gfx906'"]);
    let two = entry(b"\x7fELF");
    let twice = OffloadBinary {
        entries: vec![two.clone(), two],
    };
    let (_, losses) = convert(&twice.write(OffloadBinaryVersion::V2).unwrap(), "bundle");
    assert!(
        losses.iter().any(|loss| loss.contains("an ID of its own")),
        "{losses:?}"
    );
}

#[test]
fn damaged_input_is_refused() {
    let mut bytes = offload_v2();
    bytes.truncate(100);
    assert!(ConversionInput::open("f", &bytes, &limits()).is_err());
    assert!(ConversionInput::open("f", SPIRV, &limits()).is_err());
    assert!(ConversionInput::open("f", b"", &limits()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Without losses, a file converts back into itself, through every version.
    #[test]
    fn what_is_not_lost_comes_back(
        images in proptest::collection::vec((0..8_u16, 0..9_u16, "[a-z]{0,6}", "[ -~]{0,9}", proptest::collection::vec(any::<u8>(), 0..50)), 1..5)
    ) {
        let entries: Vec<_> = images.iter().map(|(image_kind, kind, key, value, image)| {
            let image_kind = if *image_kind == 7 { ImageKind::NONE } else { ImageKind(*image_kind) };
            let mut entry = OffloadEntry::new(image_kind, OffloadKind(*kind), image);
            entry.strings.set(key.as_str(), value.as_str());
            entry
        }).collect();
        let v2 = OffloadBinary { entries }.write(OffloadBinaryVersion::V2).unwrap();
        let formats = [
            OutputFormat::OffloadBinary(OffloadBinaryVersion::V1),
            OutputFormat::OffloadBinary(OffloadBinaryVersion::V3(Some(Compression::Zstd))),
        ];
        for format in formats {
            let (other, losses) = convert(&v2, &format.to_string());
            prop_assert!(losses.is_empty());
            prop_assert_eq!(&convert(&other, "offload,v2").0, &v2);
        }
    }
}
