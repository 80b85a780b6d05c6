//! Samples of every format, shared by the tests.

#![allow(dead_code, reason = "every test program uses another part of this module")]

use offkit_object::property_set::names;
use offkit_object::{
    AbstractModule, BundleState, ByteArray, Contents, ImageKind, IrModule, IrType, Limits, NativeImage,
    OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, PropertySets, SyclBin, SyclBinVersion,
    property_set,
};

/// The beginning of a SPIR-V module.
pub(crate) const SPIRV: &[u8] = b"\x03\x02\x23\x07\x00\x04\x01\x00\x06\x00\x0e\x00";

pub(crate) const SYCLBIN_VERSIONS: [SyclBinVersion; 4] = [
    SyclBinVersion::V1,
    SyclBinVersion::V1Enveloped,
    SyclBinVersion::V1EnvelopedV1,
    SyclBinVersion::V2,
];

pub(crate) fn limits() -> Limits {
    Limits::default()
}

/// What is in a file.
pub(crate) fn read(bytes: &[u8]) -> Contents<'_> {
    offkit_object::read("file", bytes, &limits())
}

/// The locations of all images.
pub(crate) fn locations(contents: &Contents<'_>) -> Vec<String> {
    contents
        .images
        .iter()
        .map(|image| image.location.to_string())
        .collect()
}

/// Every type of property, among them a bit vector that is not a whole number of bytes.
pub(crate) fn property_sets() -> PropertySets {
    let mut sets = PropertySets::new();
    sets.insert_symbols(names::KERNEL_NAMES, ["saxpy", "_ZTS6reduce"]);
    sets.insert_symbols(names::IMPORTED_SYMBOLS, ["multiply"]);
    sets.insert_symbols(names::EXPORTED_SYMBOLS, ["add"]);
    sets.insert(
        names::KERNEL_PARAMETER_OPTIMIZATION,
        "saxpy",
        ByteArray::with_bits(5, [0b10110]).unwrap(),
    );
    sets.insert(names::MISC_PROPERTIES, "sanUsed", "asan");
    sets.insert(names::DEVICE_REQUIREMENTS, "aspects", [1_u32, 6].as_slice());
    sets
}

pub(crate) fn entry(image: &[u8]) -> OffloadEntry<'_> {
    let mut entry = OffloadEntry::new(ImageKind::BITCODE, OffloadKind::OPENMP, image);
    entry.strings.set("arch", "gfx90a:xnack+");
    entry.strings.set("triple", "amdgcn-amd-amdhsa");
    entry
}

pub(crate) fn offload_v1() -> Vec<u8> {
    OffloadBinary::from(entry(b"BC\xc0\xde and so on"))
        .write(OffloadBinaryVersion::V1)
        .unwrap()
}

pub(crate) fn offload_v2() -> Vec<u8> {
    let mut metadata = OffloadEntry::new(ImageKind::NONE, OffloadKind::CUDA, &[]);
    metadata.flags = OffloadEntry::METADATA_ONLY;
    metadata.strings.set_bytes("raw", b"a\0b".as_slice());
    let binary = OffloadBinary {
        entries: vec![entry(b"BC\xc0\xde odd"), metadata, entry(b"BC\xc0\xde other")],
    };
    binary.write(OffloadBinaryVersion::V2).unwrap()
}

/// The same content as version 2 under version 3's larger header, not compressed.
pub(crate) fn offload_v3() -> Vec<u8> {
    let mut bytes = offload_v2();
    bytes[4] = 3;
    // 8 bytes more: every offset and the size move, but those of strings and images are in three places each.
    let mut shifted = bytes[..32].to_vec();
    shifted.extend([0; 8]);
    shifted.extend(&bytes[32..]);
    let add = |bytes: &mut Vec<u8>, at: usize| {
        let value = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) + 8;
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    add(&mut shifted, 8);
    add(&mut shifted, 16);
    let mut string_count = 0;
    for entry in [40, 80, 120] {
        add(&mut shifted, entry + 8);
        add(&mut shifted, entry + 24);
        string_count += u64::from_le_bytes(shifted[entry + 16..entry + 24].try_into().unwrap()) as usize;
    }
    for string in 0..string_count {
        add(&mut shifted, 160 + string * 24);
        add(&mut shifted, 160 + string * 24 + 8);
    }
    shifted
}

/// Two abstract modules: one with IR and native code, one with IR only.
pub(crate) fn program() -> SyclBin<'static> {
    let mut program = SyclBin::new(BundleState::Object);
    program.modules.push(AbstractModule {
        properties: property_sets(),
        ir_modules: vec![IrModule::new(IrType::SPIRV, "spir64-unknown-unknown", SPIRV)],
        native_images: vec![NativeImage::new(
            "intel_cpu_spr",
            "spir64_x86_64-unknown-unknown",
            b"\x7fELF code".as_slice(),
        )],
    });
    program.modules.push(AbstractModule {
        ir_modules: vec![IrModule::new(
            IrType::PTX,
            "nvptx64-nvidia-cuda",
            b".version 7.8\n".as_slice(),
        )],
        ..AbstractModule::default()
    });
    program
}

/// A small file of every format that is read, by name.
pub(crate) fn samples() -> Vec<(String, Vec<u8>)> {
    let mut samples = vec![
        (
            "property sets".to_owned(),
            property_set::to_text(&property_sets()).unwrap().into_bytes(),
        ),
        ("offload binary v1".to_owned(), offload_v1()),
        (
            "two offload binaries v1".to_owned(),
            [offload_v1(), offload_v1()].concat(),
        ),
        ("offload binary v2".to_owned(), offload_v2()),
        ("offload binary v3".to_owned(), offload_v3()),
    ];
    for version in SYCLBIN_VERSIONS {
        samples.push((format!("SYCLBIN {version:?}"), program().write(version).unwrap()));
    }
    samples
}

pub(crate) fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap())
}

/// The entries of a version 2 file, to be changed and written again.
pub(crate) fn v2_after(change: impl FnOnce(&mut Vec<OffloadEntry<'_>>)) -> Vec<u8> {
    let bytes = program().write(SyclBinVersion::V2).unwrap();
    let mut binary = OffloadBinary::parse(&bytes, &limits()).unwrap();
    change(&mut binary.entries);
    binary.write(OffloadBinaryVersion::V2).unwrap()
}
