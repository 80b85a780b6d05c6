//! Opening any file: what is found, where, and what is reported.

#![cfg(feature = "default")]

mod common;

use common::{SPIRV, SYCLBIN_VERSIONS, entry, limits, locations, offload_v1, offload_v2, program, read};
use offkit_object::{
    BundleState, ContainerKind, Contents, ErrorKind, ImageFormat, ImageKind, Limits, OffloadBinary,
    OffloadBinaryVersion, OffloadEntry, OffloadKind, Producer, SyclBinVersion,
};

fn problems(contents: &Contents<'_>) -> Vec<String> {
    contents.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_that_is_an_image_is_its_own_location() {
    for (bytes, format) in [
        (SPIRV, ImageFormat::Spirv),
        (b"BC\xc0\xde", ImageFormat::Bitcode),
        (b".version 8.0\n", ImageFormat::Ptx),
    ] {
        let contents = read(bytes);
        assert_eq!(contents.container, ContainerKind::Image);
        assert_eq!(locations(&contents), ["file"]);
        assert_eq!(contents.images[0].format, format);
        assert_eq!(contents.images[0].offset, Some(0));
        assert!(contents.problems.is_empty());
    }
}

#[test]
fn a_file_of_no_known_format_is_a_problem() {
    for bytes in [b"".as_slice(), b"hello", &[0; 100]] {
        let contents = read(bytes);
        assert_eq!(contents.container, ContainerKind::Unknown);
        assert!(contents.images.is_empty());
        assert_eq!(contents.problems[0].error.kind(), ErrorKind::NotRecognized);
    }
}

#[test]
fn entries_are_numbered_across_binaries() {
    let bytes = [offload_v1(), offload_v2(), offload_v1()].concat();
    let contents = read(&bytes);
    assert_eq!(problems(&contents), [""; 0]);
    assert_eq!(contents.container, ContainerKind::OffloadBinary);
    assert_eq!(contents.version, Some(1));
    assert_eq!(
        locations(&contents),
        ["file!0", "file!1", "file!3", "file!4"],
        "2 has no image"
    );
    for image in &contents.images {
        assert_eq!(image.format, ImageFormat::Bitcode);
        assert_eq!(image.producer, Producer::OpenMp);
        assert_eq!(image.target.triple, "amdgcn-amd-amdhsa");
        assert_eq!(
            (image.target.arch.as_str(), image.target.features.as_slice()),
            ("gfx90a", ["xnack+".to_owned()].as_slice())
        );
        let offset = image.offset.unwrap() as usize;
        assert_eq!(
            bytes[offset..offset + image.bytes().unwrap().len()],
            *image.bytes().unwrap()
        );
        assert!(image.code.stored().borrowed().is_some(), "nothing is copied");
    }
}

#[test]
fn strings_without_a_field_stay_with_the_image() {
    let mut sycl = OffloadEntry::new(ImageKind::NONE, OffloadKind::SYCL, SPIRV);
    sycl.strings.set("triple", "spirv64-unknown-unknown");
    sycl.strings.set("arch", "");
    sycl.strings.set("symbols", "saxpy\nreduce\n");
    sycl.strings.set("compile-opts", "-O2");
    let bytes = OffloadBinary::from(sycl).write(OffloadBinaryVersion::V1).unwrap();
    let contents = read(&bytes);
    let image = &contents.images[0];
    assert_eq!(image.kernels, ["saxpy", "reduce"]);
    assert_eq!(image.strings.get("compile-opts"), Some("-O2"));
    assert_eq!(image.strings.get("triple"), None);
    assert_eq!(image.target.to_string(), "spirv64-unknown-unknown");
}

#[test]
fn every_syclbin_version_has_the_same_images() {
    for version in SYCLBIN_VERSIONS {
        let bytes = program().write(version).unwrap();
        let contents = read(&bytes);
        assert_eq!(problems(&contents), [""; 0]);
        assert_eq!(contents.container, ContainerKind::SyclBin);
        assert_eq!(contents.version, Some(version.number()));
        assert_eq!(contents.syclbin_version, Some(version));
        assert_eq!(contents.state, Some(BundleState::Object));
        assert_eq!(
            locations(&contents),
            ["file!0/ir/0", "file!0/native/0", "file!1/ir/0"]
        );
        assert_eq!(contents.images[0].bytes().unwrap(), SPIRV);
        assert_eq!(contents.images[0].kernels, ["saxpy", "_ZTS6reduce"]);
        let offset = contents.images[0].offset.unwrap() as usize;
        assert_eq!(bytes[offset..offset + SPIRV.len()], *SPIRV);
    }
}

#[test]
fn containers_within_containers_are_opened() {
    let inner = offload_v2();
    let v1 = program().write(SyclBinVersion::V1).unwrap();
    let v2 = program().write(SyclBinVersion::V2).unwrap();
    let outer = OffloadBinary {
        entries: vec![
            OffloadEntry::new(ImageKind::OBJECT, OffloadKind::OPENMP, &inner),
            OffloadEntry::new(ImageKind::SYCLBIN, OffloadKind::SYCL, &v1),
            OffloadEntry::new(ImageKind::SYCLBIN, OffloadKind::SYCL, &v2),
        ],
    };
    let bytes = [outer.write(OffloadBinaryVersion::V2).unwrap(), v2.clone()].concat();
    let contents = read(&bytes);
    assert_eq!(problems(&contents), [""; 0]);
    let expected = [
        "file!0/0",
        "file!0/2",
        "file!1/0/ir/0",
        "file!1/0/native/0",
        "file!1/1/ir/0",
        "file!2/0/ir/0",
        "file!2/0/native/0",
        "file!2/1/ir/0",
        "file!3/0/ir/0",
        "file!3/0/native/0",
        "file!3/1/ir/0",
    ];
    assert_eq!(locations(&contents), expected);
    let flat = offkit_object::read(
        "file",
        &bytes,
        &Limits {
            max_nesting: 0,
            ..limits()
        },
    );
    assert_eq!(locations(&flat), [""; 0]);
    assert_eq!(flat.problems[0].error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn nesting_ends_at_the_limit() {
    let mut bytes = offload_v1();
    for _ in 0..20 {
        let outer = OffloadEntry::new(ImageKind::NONE, OffloadKind::NONE, &bytes);
        bytes = OffloadBinary::from(outer)
            .write(OffloadBinaryVersion::V1)
            .unwrap();
    }
    let contents = read(&bytes);
    assert!(contents.images.is_empty());
    assert_eq!(contents.problems.len(), 1);
    assert_eq!(
        contents.problems[0].error.message(),
        "containers are nested too deep"
    );
    assert_eq!(contents.problems[0].location.depth(), limits().max_nesting + 1);
    let deep = offkit_object::read(
        "file",
        &bytes,
        &Limits {
            max_nesting: 20,
            ..limits()
        },
    );
    assert_eq!(deep.images.len(), 1);
}

#[test]
fn bytes_decide_the_format_and_disagreement_is_reported() {
    let cases = [
        (
            ImageKind::SPIRV,
            b"BC\xc0\xde".as_slice(),
            ImageFormat::Bitcode,
            true,
        ),
        (ImageKind::CUBIN, b"plain", ImageFormat::Cubin, false),
        (ImageKind::NONE, SPIRV, ImageFormat::Spirv, false),
        (ImageKind::OBJECT, b"\x7fELF", ImageFormat::Elf, false),
        (ImageKind::OBJECT, b"BC\xc0\xde", ImageFormat::Bitcode, true),
        (ImageKind::FATBINARY, b"\x7fELF", ImageFormat::Elf, false),
    ];
    for (kind, bytes, format, disagrees) in cases {
        let file = OffloadBinary::from(OffloadEntry::new(kind, OffloadKind::OPENMP, bytes))
            .write(OffloadBinaryVersion::V1)
            .unwrap();
        let contents = read(&file);
        assert_eq!(contents.images[0].format, format, "{kind}");
        assert_eq!(
            !contents.problems.is_empty(),
            disagrees,
            "{kind} {:?}",
            problems(&contents)
        );
    }
    let mut mislabelled = program();
    mislabelled.modules[1].ir_modules[0].bytes = SPIRV.into();
    let bytes = mislabelled.write(SyclBinVersion::V2).unwrap();
    let contents = read(&bytes);
    assert_eq!(contents.images[2].format, ImageFormat::Spirv);
    assert_eq!(
        problems(&contents),
        [format!(
            "file!1/ir/0: offset {:#x}: image is not what its header says: expected PTX, found SPIR-V",
            contents.images[2].offset.unwrap()
        )]
    );
}

/// Bitcode under the type SPIR-V is what runtimes write.
#[test]
fn bitcode_as_spirv_ir_is_no_disagreement() {
    let mut bitcode = program();
    bitcode.modules[0].ir_modules[0].bytes = b"BC\xc0\xde".as_slice().into();
    let bytes = bitcode.write(SyclBinVersion::V1Enveloped).unwrap();
    assert_eq!(problems(&read(&bytes)), [""; 0]);
    assert_eq!(read(&bytes).images[0].format, ImageFormat::Bitcode);
}

#[test]
fn one_bad_part_does_not_hide_the_others() {
    let binary = OffloadBinary {
        entries: vec![
            entry(b"BC\xc0\xde one"),
            entry(b"BC\xc0\xde two"),
            entry(b"BC\xc0\xde three"),
        ],
    };
    let mut bytes = binary.write(OffloadBinaryVersion::V2).unwrap();
    bytes[72 + 24..72 + 32].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let contents = read(&bytes);
    assert_eq!(contents.images.len(), 2);
    assert_eq!(contents.problems.len(), 1);
    assert!(
        problems(&contents)[0].contains("Invalid image offset and size (entry 1, image)"),
        "{:?}",
        problems(&contents)
    );

    let mut bytes = program().write(SyclBinVersion::V1Enveloped).unwrap();
    let broken = bytes.windows(8).position(|window| window == b"sanUsed=").unwrap();
    bytes[broken + 7] = b'-';
    let contents = read(&bytes);
    assert_eq!(contents.images.len(), 3);
    assert_eq!(contents.images[0].kernels.len(), 2);
    assert_eq!(contents.problems.len(), 1);
    assert_eq!(
        contents.problems[0].error.message(),
        "invalid property line: sanUsed-2|gAAAAAAAAAQYzFmb"
    );
}

#[test]
fn a_truncated_file_shows_its_whole_images() {
    for version in SYCLBIN_VERSIONS {
        let bytes = program().write(version).unwrap();
        let whole = read(&bytes);
        let last = whole.images.iter().max_by_key(|image| image.offset).unwrap();
        let contents = read(&bytes[..last.offset.unwrap() as usize + 3]);
        let mut expected = locations(&whole);
        expected.retain(|location| *location != last.location.to_string());
        assert_eq!(locations(&contents), expected, "{version:?}");
        assert!(!contents.problems.is_empty());
    }
    let bytes = [offload_v1(), offload_v1()].concat();
    let contents = read(&bytes[..offload_v1().len() + 100]);
    assert_eq!(contents.images.len(), 1);
    assert!(!contents.problems.is_empty());
}

#[test]
fn problems_are_bounded() {
    let image = entry(b"plain text");
    let mut wrong = OffloadBinary {
        entries: vec![image; 500],
    }
    .write(OffloadBinaryVersion::V2)
    .unwrap();
    for number in 0..500 {
        let offset = 32 + number * 40 + 24;
        wrong[offset..offset + 8].fill(0xff);
    }
    let contents = offkit_object::read(
        "file",
        &wrong,
        &Limits {
            max_problems: 7,
            ..limits()
        },
    );
    assert_eq!(contents.problems.len(), 7);
}
