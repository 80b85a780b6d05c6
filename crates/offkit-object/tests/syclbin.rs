//! SYCLBIN: round trips, layouts, limits and conversion to and from device images.

#![cfg(feature = "default")]

mod common;

use common::{SPIRV, SYCLBIN_VERSIONS, limits, program, property_sets, u64_at, v2_after};
use offkit_object::property_set::names;
use offkit_object::{
    AbstractModule, BundleState, DeviceImage, Error, ErrorKind, ImageFormat, ImageKind, IrModule, IrType,
    Limits, NativeImage, OffloadBinary, OffloadKind, OutputFormat, Producer, PropertySets, SyclBin,
    SyclBinVersion, Target, pack, property_set,
};

fn parse(bytes: &[u8]) -> Result<SyclBin<'_>, Error> {
    SyclBin::parse(bytes, &limits())
}

fn text(sets: &PropertySets) -> String {
    property_set::to_text(sets).unwrap()
}

/// The five programs that the reference implementation's own test writes and reads.
#[test]
fn programs_of_ir_and_native_images_read_back() {
    let image = |length: usize| {
        (0..length)
            .map(|index| (index * 37 % 251) as u8)
            .collect::<Vec<u8>>()
    };
    let ir = |length| IrModule::new(IrType::SPIRV, "spir64-unknown-unknown", image(length));
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
            (ImageKind::SYCLBIN, OffloadKind::SYCL)
        );
    }
    assert_eq!(binary.entries[0].image, b"[SYCLBIN/global metadata]\nstate=1|1\n");
    let size = u64_at(&binary.entries[2].image, 0) as usize;
    assert_eq!(&binary.entries[2].image[8 + size..], SPIRV);
}

#[test]
fn the_order_of_version_2_entries_is_free() {
    let reversed = v2_after(|entries| entries.reverse());
    assert_eq!(parse(&reversed).unwrap(), program());
    let unstamped = v2_after(|entries| entries[0].strings.set("sycl_format_version", ""));
    assert_eq!(parse(&unstamped).unwrap(), program());
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
    let file = program().write(SyclBinVersion::V1).unwrap();
    let images = offkit_object::read("a.syclbin", &file, &limits()).images;
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

    let packed = pack(images.clone(), OutputFormat::default(), BundleState::Object).unwrap();
    let bytes = packed.content.into_bytes();
    let again = parse(&bytes).unwrap();
    assert_eq!(again.modules.len(), 3, "a module for each image");
    assert_eq!(again.modules[0].ir_modules, program().modules[0].ir_modules);
    assert_eq!(again.modules[1].native_images, program().modules[0].native_images);
    assert_eq!(again.modules[2].ir_modules[0].ir_type, IrType::PTX);
    assert_eq!(again.modules[0].properties, property_sets());

    let forms = images.into_iter().enumerate().map(|(number, mut image)| {
        image.form_of = Some(if number < 2 { 7 } else { 8 });
        image
    });
    let packed = pack(forms, OutputFormat::default(), BundleState::Object).unwrap();
    let bytes = packed.content.into_bytes();
    assert_eq!(
        parse(&bytes).unwrap().modules[0],
        program().modules[0],
        "forms of one code"
    );
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
    let packed = pack([image], OutputFormat::default(), BundleState::Input).unwrap();
    assert_eq!(packed.losses.len(), 2, "the language and the processor of IR");
    let bytes = packed.content.into_bytes();
    let program = parse(&bytes).unwrap();
    let module = &program.modules[0];
    assert_eq!(module.ir_modules[0].ir_type, IrType::AMDGCN);
    assert_eq!(
        text(&module.properties),
        "[SYCL/kernel names]\nsaxpy=1|1\n[SYCL/imported symbols]\nmultiply=1|1\n"
    );
}
