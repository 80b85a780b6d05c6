//! SYCLBIN: round trips, layouts, every error, and what is refused when writing.

mod common;

use common::{SPIRV, SYCLBIN_VERSIONS, limits, program, property_sets};
use offkit_object::property_set::names;
use offkit_object::{
    AbstractModule, BundleState, DeviceImage, Error, ErrorKind, ImageFormat, ImageKind, IrModule, IrType,
    Limits, Location, NativeImage, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, Producer,
    PropertySets, SyclBin, SyclBinVersion, Target,
};

fn parse(bytes: &[u8]) -> Result<SyclBin<'_>, Error> {
    SyclBin::parse(bytes, &limits())
}

fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap())
}

fn text(sets: &PropertySets) -> String {
    sets.to_text().unwrap()
}

/// The five programs that the reference implementation's own test writes and reads.
#[test]
fn programs_of_ir_and_native_images_read_back() {
    let image = |length: usize| {
        (0..length)
            .map(|index| (index * 37 % 251) as u8)
            .collect::<Vec<u8>>()
    };
    let ir = |length| IrModule::new(IrType::Spirv, "spir64-unknown-unknown", image(length));
    let native = |length| NativeImage::new("some-arch", "spir64_gen-unknown-unknown", image(length));
    let one_module = |ir_modules, native_images| AbstractModule {
        ir_modules,
        native_images,
        ..Default::default()
    };
    let cases = [
        vec![one_module(vec![ir(256)], vec![])],
        vec![one_module(vec![ir(0)], vec![]), one_module(vec![ir(77)], vec![])],
        vec![one_module(vec![], vec![native(13)])],
        vec![
            one_module(vec![], vec![native(255)]),
            one_module(vec![], vec![native(1)]),
        ],
        vec![one_module(vec![ir(8)], vec![native(9)])],
    ];
    for modules in cases {
        let program = SyclBin {
            modules,
            ..SyclBin::new(BundleState::Input)
        };
        for version in SYCLBIN_VERSIONS {
            let bytes = program.write(version).unwrap();
            assert_eq!(parse(&bytes).unwrap(), program, "{version:?}");
            assert_eq!(SyclBin::version_of(&bytes, &limits()).unwrap(), version);
            assert_eq!(bytes.len() % 8, 0);
        }
    }
}

#[test]
fn version_1_has_the_layout_of_the_reference() {
    let bytes = program().write(SyclBinVersion::V1).unwrap();
    assert_eq!(bytes[..8], *b"IBYS\x01\0\0\0");
    assert_eq!(bytes[8..24], [2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let global = b"[SYCLBIN/global metadata]\nstate=1|1\n";
    assert_eq!([u64_at(&bytes, 40), u64_at(&bytes, 48)], [0, global.len() as u64]);
    let metadata_at = 56 + 2 * 32 + 2 * 32 + 32;
    assert_eq!(bytes[metadata_at..][..global.len()], *global);
    let module = text(&property_sets());
    assert_eq!(
        [u64_at(&bytes, 56), u64_at(&bytes, 64)],
        [global.len() as u64, module.len() as u64]
    );
    assert_eq!(
        bytes[56 + 16..56 + 32],
        [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        bytes[88 + 16..88 + 32],
        [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    );
    let ir = b"[SYCLBIN/ir module metadata]\ntype=1|0\ntarget=2|wCAAAAAAAAwcwlmc2QTL152au92du1Sdutmbvdnb\n";
    assert_eq!(
        u64_at(&bytes, 120),
        (global.len() + module.len()) as u64,
        "no alignment between texts"
    );
    assert_eq!(
        bytes[metadata_at + global.len() + module.len()..][..ir.len()],
        *ir
    );
    let native = "[SYCLBIN/native device code image metadata]\narch=2|";
    assert!(
        bytes
            .windows(native.len())
            .any(|window| window == native.as_bytes())
    );
    let images_at = metadata_at + (u64_at(&bytes, 24) as usize).next_multiple_of(8);
    assert_eq!(bytes[images_at..][..SPIRV.len()], *SPIRV);
}

#[test]
fn the_envelope_is_the_runtimes() {
    let bare = program().write(SyclBinVersion::V1).unwrap();
    for (version, header, strings_end) in [
        (SyclBinVersion::V1Enveloped, 2, 1),
        (SyclBinVersion::V1EnvelopedV1, 1, 40),
    ] {
        let bytes = program().write(version).unwrap();
        assert_eq!(bytes[..8], [0x10, 0xff, 0x10, 0xad, header, 0, 0, 0]);
        assert_eq!(
            [u64_at(&bytes, 16), u64_at(&bytes, 24)],
            [32, strings_end],
            "entry count or size"
        );
        assert_eq!(bytes[32..40], [7, 0, 8, 0, 0, 0, 0, 0]);
        assert_eq!(u64_at(&bytes, 48), 0, "no strings");
        let binary = OffloadBinary::parse(&bytes, &limits()).unwrap();
        assert_eq!(binary.entries[0].image, bare);
    }
}

#[test]
fn version_2_names_its_parts() {
    let bytes = program().write(SyclBinVersion::V2).unwrap();
    let binary = OffloadBinary::parse(&bytes, &limits()).unwrap();
    let strings = |index: usize| -> Vec<(&str, &str)> {
        let strings = binary.entries[index].strings.iter();
        strings
            .map(|(key, value)| (key, std::str::from_utf8(value).unwrap()))
            .collect()
    };
    assert_eq!(
        strings(0),
        [("sycl_format_version", "2"), ("role", "global_metadata")]
    );
    assert_eq!(
        strings(1),
        [
            ("sycl_format_version", "2"),
            ("role", "am_metadata"),
            ("am_index", "0")
        ]
    );
    assert_eq!(
        strings(2)[1..],
        [
            ("role", "ir"),
            ("am_index", "0"),
            ("ir_type", "0"),
            ("triple", "spir64-unknown-unknown")
        ]
    );
    assert_eq!(
        strings(3)[1..],
        [
            ("role", "native"),
            ("am_index", "0"),
            ("arch", "intel_cpu_spr"),
            ("triple", "spir64_x86_64-unknown-unknown")
        ]
    );
    assert_eq!(
        strings(5)[1..4],
        [("role", "ir"), ("am_index", "1"), ("ir_type", "1")]
    );
    for entry in &binary.entries {
        assert_eq!(
            (entry.image_kind, entry.offload_kind),
            (ImageKind::Syclbin, OffloadKind::Sycl)
        );
    }
    assert_eq!(binary.entries[0].image, b"[SYCLBIN/global metadata]\nstate=1|1\n");
    let size = u64_at(binary.entries[2].image, 0) as usize;
    assert_eq!(&binary.entries[2].image[8 + size..], SPIRV);
}

/// The entries of a version 2 file, to be changed and written again.
fn v2_after(change: impl FnOnce(&mut Vec<OffloadEntry<'_>>)) -> Vec<u8> {
    let bytes = program().write(SyclBinVersion::V2).unwrap();
    let mut binary = OffloadBinary::parse(&bytes, &limits()).unwrap();
    change(&mut binary.entries);
    binary.write(OffloadBinaryVersion::V2).unwrap()
}

#[test]
fn the_order_of_version_2_entries_is_free() {
    let reversed = v2_after(|entries| entries.reverse());
    assert_eq!(parse(&reversed).unwrap(), program());
    let unstamped = v2_after(|entries| entries[0].strings.set("sycl_format_version", ""));
    assert_eq!(parse(&unstamped).unwrap(), program());
}

#[test]
fn every_fault_of_version_2_has_the_reference_text() {
    type Change = fn(&mut Vec<OffloadEntry<'_>>);
    let cases: [(Change, &str); 19] = [
        (|entries| entries.clear(), "OffloadBinary contains no entries"),
        (
            |entries| entries[1].image_kind = ImageKind::Spirv,
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
            |entries| entries[2].image = &[0; 7],
            "SYCLBIN v2 entry image too small",
        ),
        (
            |entries| entries[3].image = &[1, 0, 0, 0, 0, 0, 0, 0],
            "SYCLBIN v2 entry metadata size out of range",
        ),
        (
            |entries| entries[3].image = &[0xff; 8],
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
        // In an envelope the offset still counts from the start of the file.
        let enveloped = OffloadBinary::from(OffloadEntry::new(ImageKind::Syclbin, OffloadKind::Sycl, &bytes))
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
    let envelope = |kind, image, version| {
        OffloadBinary::from(OffloadEntry::new(kind, OffloadKind::Sycl, image))
            .write(version)
            .unwrap()
    };
    let wrong_kind = envelope(ImageKind::Object, &bare, OffloadBinaryVersion::V2);
    assert_eq!(parse(&wrong_kind).unwrap_err().message(), "Unexpected image type");
    let not_syclbin = envelope(ImageKind::Object, b"other", OffloadBinaryVersion::V1);
    assert_eq!(
        parse(&not_syclbin).unwrap_err().message(),
        "Unexpected image type"
    );
    let wrong_magic = envelope(ImageKind::Syclbin, &[0; 64], OffloadBinaryVersion::V1);
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

/// A version 1 file with these texts as global, abstract module's and IR module's metadata.
fn v1_of(global: &str, module: &str, ir: &str) -> Vec<u8> {
    let mut bytes = SyclBin {
        modules: vec![AbstractModule {
            ir_modules: vec![IrModule::new(IrType::Spirv, "", SPIRV)],
            ..Default::default()
        }],
        ..SyclBin::new(BundleState::Input)
    }
    .write(SyclBinVersion::V1)
    .unwrap();
    bytes.truncate(56 + 32 + 32);
    let metadata = [global, module, ir].concat();
    put_u64(&mut bytes, 24, metadata.len() as u64);
    put_u64(&mut bytes, 48, global.len() as u64);
    put_u64(&mut bytes, 56, global.len() as u64);
    put_u64(&mut bytes, 64, module.len() as u64);
    put_u64(&mut bytes, 88, (global.len() + module.len()) as u64);
    put_u64(&mut bytes, 96, ir.len() as u64);
    bytes.extend(metadata.bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(SPIRV);
    bytes
}

const GLOBAL: &str = "[SYCLBIN/global metadata]\nstate=1|2\n";
const IR: &str = "[SYCLBIN/ir module metadata]\ntype=1|0\n";

#[test]
fn metadata_is_read_as_written_by_all_revisions() {
    let bytes = v1_of(GLOBAL, "", IR);
    let program = parse(&bytes).unwrap();
    assert_eq!(program.state, BundleState::Executable);
    assert_eq!(
        program.modules[0].ir_modules[0].target, "",
        "the target came with a later revision"
    );

    let more_global = format!("[first]\n{GLOBAL}future=1|7\n[other]\n");
    let more_ir = format!("{IR}future=1|7\n");
    let bytes = v1_of(&more_global, "", &more_ir);
    let program = parse(&bytes).unwrap();
    assert_eq!(
        text(&program.properties),
        "[first]\n[SYCLBIN/global metadata]\nfuture=1|7\n[other]\n"
    );
    for version in SYCLBIN_VERSIONS {
        let again = program.write(version).unwrap();
        assert_eq!(parse(&again).unwrap(), program, "what is not known is kept");
    }

    let documented = "[SYCLBIN/native device code image module metadata]\narch=2|gAAAAAAAAAQYzFmb\n";
    let bytes = v2_after(|entries| {
        let payload = [
            (documented.len() as u64).to_le_bytes().as_slice(),
            documented.as_bytes(),
            b"code",
        ]
        .concat();
        entries[3].image = payload.leak();
    });
    let native = &parse(&bytes).unwrap().modules[0].native_images[0];
    assert_eq!(
        (native.arch.as_str(), native.bytes.as_ref()),
        ("asan", b"code".as_slice())
    );
    assert!(native.properties.is_empty());
}

#[test]
fn metadata_that_does_not_fit_is_refused() {
    let cases = [
        (v1_of("", "", IR), "SYCLBIN has no valid state", "none"),
        (
            v1_of("[SYCLBIN/global metadata]\nstate=1|3\n", "", IR),
            "SYCLBIN has no valid state",
            "3",
        ),
        (
            v1_of("[SYCLBIN/global metadata]\nstate=2|AAAAAAAAAAA\n", "", IR),
            "SYCLBIN has no valid state",
            "bytes",
        ),
        (
            v1_of(GLOBAL, "", ""),
            "SYCLBIN IR module has no valid type",
            "none",
        ),
        (
            v1_of(GLOBAL, "", "[SYCLBIN/ir module metadata]\ntype=1|0\ntarget=1|1\n"),
            "SYCLBIN property 'target' is not text",
            "",
        ),
        (
            v1_of(GLOBAL, GLOBAL, IR),
            "abstract module has a property set of the SYCLBIN format itself",
            "",
        ),
    ];
    for (bytes, message, found) in cases {
        let error = parse(&bytes).unwrap_err();
        assert_eq!(error.message(), message);
        assert_eq!(error.found().unwrap_or_default(), found, "{error}");
        let contents = offkit_object::read("x", &bytes, &limits());
        assert_eq!(contents.images.len(), 1, "the image is still there: {message}");
        assert_eq!(contents.problems.len(), 1);
    }
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let refusals: [fn(&mut SyclBin<'_>); 4] = [
        |program| {
            drop(
                program.modules[1]
                    .properties
                    .insert(names::SYCLBIN_GLOBAL_METADATA, "state", 1),
            )
        },
        |program| drop(program.modules[1].properties.insert("set", "a=b", 1)),
        |program| {
            drop(
                program
                    .properties
                    .insert(names::SYCLBIN_GLOBAL_METADATA, "state", 1),
            )
        },
        |program| {
            drop(program.modules[0].ir_modules[0].properties.insert(
                names::SYCLBIN_IR_MODULE_METADATA,
                "type",
                1,
            ))
        },
    ];
    for (number, change) in refusals.into_iter().enumerate() {
        let mut changed = program();
        change(&mut changed);
        for version in SYCLBIN_VERSIONS {
            assert!(changed.write(version).is_err(), "{number} {version:?}");
        }
    }
}

#[test]
fn limits_bound_images_and_metadata() {
    for version in SYCLBIN_VERSIONS {
        let bytes = program().write(version).unwrap();
        for tight in [
            Limits {
                max_images: 3,
                ..limits()
            },
            Limits {
                max_properties: 10,
                ..limits()
            },
        ] {
            assert_eq!(
                SyclBin::parse(&bytes, &tight).unwrap_err().kind(),
                ErrorKind::LimitExceeded,
                "{version:?}"
            );
        }
    }
}

#[test]
fn device_images_go_in_and_come_out() {
    let images = program().into_images(&Location::of_file("a.syclbin"));
    let summary: Vec<_> = images
        .iter()
        .map(|image| (image.location.to_string(), image.format, image.target.to_string()))
        .collect();
    let expected = [
        ("a.syclbin!0/ir/0", ImageFormat::Spirv, "spir64-unknown-unknown"),
        (
            "a.syclbin!0/native/0",
            ImageFormat::Elf,
            "spir64_x86_64-unknown-unknown-intel_cpu_spr",
        ),
        ("a.syclbin!1/ir/0", ImageFormat::Ptx, "nvptx64-nvidia-cuda"),
    ];
    assert_eq!(
        summary,
        expected.map(|(location, format, target)| (location.to_owned(), format, target.to_owned()))
    );
    for image in &images[..2] {
        assert_eq!(image.kernels, ["saxpy", "_ZTS6reduce"]);
        assert_eq!(image.imports, ["multiply"]);
        assert_eq!(image.exports, ["add"]);
        assert_eq!(image.producer, Producer::Sycl);
        assert_eq!(image.properties, property_sets());
    }

    let again = SyclBin::from_images(BundleState::Object, images.clone());
    assert_eq!(again.modules.len(), 3, "a module for each image");
    assert_eq!(again.modules[0].ir_modules, program().modules[0].ir_modules);
    assert_eq!(again.modules[1].native_images, program().modules[0].native_images);
    assert_eq!(again.modules[2].ir_modules[0].ir_type, IrType::Ptx);
    assert_eq!(again.modules[0].properties, property_sets());
}

#[test]
fn symbols_known_beside_the_properties_are_stored() {
    let mut image = DeviceImage::new(b"BC\xc0\xde".as_slice());
    image.target = Target::new("amdgcn-amd-amdhsa", "gfx90a:xnack+");
    image.kernels = vec!["saxpy".to_owned()];
    image.imports = vec!["multiply".to_owned()];
    image
        .properties
        .insert(names::SYCLBIN_IR_MODULE_METADATA, "type", 0);
    let program = SyclBin::from_images(BundleState::Input, [image]);
    let module = &program.modules[0];
    assert_eq!(module.ir_modules[0].ir_type, IrType::Amdgcn);
    assert_eq!(
        text(&module.properties),
        "[SYCL/kernel names]\nsaxpy=1|1\n[SYCL/imported symbols]\nmultiply=1|1\n"
    );
}
