//! Host objects that register images, read back.

#![cfg(feature = "default")]

#[path = "common/tools.rs"]
mod tools;

use object::{Object, ObjectSection, ObjectSymbol};
use offkit_object::host::{device_sections, intel_openmp_elf};
use offkit_object::registration::{HostTarget, Registration, RegistrationKind};
use offkit_object::{
    ByteArray, DeviceImage, ErrorKind, ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry,
    OffloadKind, Producer, PropertySets, PropertyValue, Storage, Target, embedded_in_bitcode, read,
};
use proptest::prelude::*;
use tools::{Folder, need};

const HOSTS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

fn host(triple: &str) -> HostTarget {
    HostTarget::for_triple(triple).unwrap()
}

fn value() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        any::<u32>().prop_map(PropertyValue::U32),
        (prop::collection::vec(any::<u8>(), 0..20), 0_u64..8).prop_map(|(bytes, less)| {
            let bits = (bytes.len() as u64 * 8).saturating_sub(less);
            PropertyValue::Bytes(ByteArray::with_bits(bits, bytes.clone()).unwrap_or(ByteArray::new(bytes)))
        }),
    ]
}

fn properties() -> impl Strategy<Value = PropertySets> {
    let set = prop::collection::vec(("[a-z_ ]{1,8}", value()), 0..4);
    prop::collection::vec(("[A-Za-z/ ]{1,12}", set), 0..4).prop_map(|sets| {
        let mut properties = PropertySets::new();
        for (name, set) in sets {
            let target = properties.set_mut(name);
            for (key, value) in set {
                target.insert(key, value);
            }
        }
        properties
    })
}

prop_compose! {
    fn image()(
        // Nothing that begins like a known format, of which more would be read than the structures say.
        bytes in prop::collection::vec(any::<u8>(), 0..40).prop_map(|rest| [b"~~~~".as_slice(), &rest].concat()),
        triple in "[a-z0-9_]{1,10}",
        kernels in prop::collection::vec("[a-zA-Z0-9_]{1,10}", 0..4),
        options in "[ -~]{0,10}",
        properties in properties(),
    ) -> DeviceImage<'static> {
        let mut image = DeviceImage::new(bytes).with_properties(properties);
        image.target = Target::new(triple, "");
        image.kernels.clone_from(&kernels);
        image.entries = Some(kernels);
        if !options.is_empty() {
            image.strings.set("compile-opts", options);
        }
        image
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(images in prop::collection::vec(image(), 1..6), arm in 0_usize..2) {
        for (kind, version) in [(RegistrationKind::SyclV2, 2), (RegistrationKind::SyclV3, 3), (RegistrationKind::SyclLlvm, 3)] {
            let object = Registration::new(kind, host(HOSTS[arm])).write(&images).unwrap();
            let contents = read("out.o", &object, &Limits::default());
            prop_assert_eq!(&contents.problems, &[]);
            prop_assert_eq!(contents.images.len(), images.len());
            for (found, image) in contents.images.iter().zip(&images) {
                prop_assert_eq!(&found.bytes().unwrap(), &image.bytes().unwrap());
                prop_assert_eq!(&found.storage(), &Storage::Plain);
                prop_assert_eq!(&found.target, &image.target);
                prop_assert_eq!(found.container_version, Some(version));
                prop_assert_eq!(&found.entries, &image.entries);
                prop_assert_eq!(&found.properties, &image.properties);
                prop_assert_eq!(found.strings.get("compile-opts"), image.strings.get("compile-opts"));
                prop_assert_eq!(found.producer, Producer::Sycl);
            }
        }
    }
}

/// The same small image many times.
fn many(count: usize) -> Vec<DeviceImage<'static>> {
    let mut image = DeviceImage::new(b"code".as_slice());
    image.target = Target::new("spir64", "");
    vec![image; count]
}

#[test]
fn many_images_need_several_descriptors() {
    let object = Registration::new(RegistrationKind::SyclV3, host(HOSTS[0]))
        .write(&many(65_540))
        .unwrap();
    let mut locations = Vec::new();
    for image in offkit_object::images("out.o", &object, &Limits::default()) {
        locations.push(image.unwrap().location.to_string());
    }
    assert_eq!(locations.len(), 65_540);
    assert_eq!(locations.last().unwrap(), "out.o!sycl/1/4");
}

#[test]
fn coff_has_room_for_many_pointers() {
    let object = Registration::new(RegistrationKind::SyclV3, host("x86_64-pc-windows-msvc"))
        .write(&many(14_000))
        .unwrap();
    let file = object::File::parse(object.as_slice()).unwrap();
    // Five pointers an image and one in the descriptor: more than the section's header can count.
    let section = file.section_by_name(".rdata").unwrap();
    assert_eq!(section.relocations().count(), 14_000 * 5 + 1);
}

#[test]
fn what_the_structures_cannot_hold_is_refused() {
    let write = |kind, images: &[DeviceImage<'_>]| Registration::new(kind, host(HOSTS[0])).write(images);
    let refused = |kind, images: &[DeviceImage<'_>]| {
        let error = write(kind, images).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable, "{error}");
    };
    let image = DeviceImage::new(b"code".as_slice());
    refused(RegistrationKind::SyclV3, &[]);
    refused(RegistrationKind::Cuda, &[image.clone(), image.clone()]);
    let mut with_zero = image.clone();
    with_zero.kernels.push("a\0b".into());
    refused(RegistrationKind::SyclV2, &[with_zero]);
    let mut with_zero = image;
    with_zero.target.triple = "a\0b".into();
    refused(RegistrationKind::OpenMp, &[with_zero]);
}

#[test]
fn a_relocatable_object_hides_its_images_from_later_links() {
    let mut image = DeviceImage::new(b"code".as_slice());
    image.target = Target::new("x86_64-pc-linux-gnu", "");
    let mut registration = Registration::new(RegistrationKind::OpenMp, host(HOSTS[0]));
    let visible = registration.write(std::slice::from_ref(&image)).unwrap();
    registration.relocatable = true;
    let hidden = registration.write(&[image]).unwrap();
    for (object, name) in [
        (visible, ".llvm.offloading"),
        (hidden, ".llvm.offloading.relocatable"),
    ] {
        let sections = device_sections(&object, &Limits::default()).unwrap();
        assert_eq!(sections[0].name, name);
        assert!(sections[0].is_loaded);
        // The type by which linkers find code.
        let file = object::File::parse(object.as_slice()).unwrap();
        let section = file.section_by_name(name).unwrap();
        let object::SectionFlags::Elf { sh_type, .. } = section.flags() else {
            panic!("an ELF section");
        };
        assert_eq!(sh_type.0 == 0x6fff_4c0b, name == ".llvm.offloading");
    }
}

/// The code of a function in an object, and the places that a linker fills in, by what they are filled with.
fn function(object: &[u8], name: Option<&str>) -> (Vec<u8>, Vec<(u64, String)>) {
    let file = object::File::parse(object).unwrap();
    let (section, start, size) = match name {
        Some(name) => {
            let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
            let section = file.section_by_index(symbol.section_index().unwrap()).unwrap();
            // COFF has no sizes: it is the last function.
            let size = (symbol.size() != 0).then_some(symbol.size() as usize);
            (section, symbol.address() as usize, size)
        }
        None => (file.section_by_name(".text").unwrap(), 0, None),
    };
    let bytes = section.data().unwrap();
    let end = size.map_or(bytes.len(), |size| start + size);
    let relocations = section.relocations().filter_map(|(at, relocation)| {
        let object::RelocationTarget::Symbol(symbol) = relocation.target() else {
            return None;
        };
        let symbol = file.symbol_by_index(symbol).unwrap().name().unwrap().to_owned();
        let at = (at as usize).checked_sub(start).filter(|at| *at < end - start)?;
        Some((at as u64, symbol))
    });
    (bytes[start..end].to_vec(), relocations.collect())
}

#[test]
fn the_assembler_makes_the_same_code() {
    need!("llvm-mc");
    let image = DeviceImage::new(b"container".as_slice());
    let folder = Folder::new();
    for (triple, source) in [
        ("x86_64-linux-gnu", "x86_64-elf.s"),
        ("x86_64-pc-windows-msvc", "x86_64-coff.s"),
        ("aarch64-linux-gnu", "aarch64-elf.s"),
    ] {
        let object = Registration::new(RegistrationKind::Hip, host(triple))
            .write(std::slice::from_ref(&image))
            .unwrap();
        let (code, fields) = function(&object, Some(".hip.globals_reg"));
        let path = format!("{}/src/registration/globals/{source}", env!("CARGO_MANIFEST_DIR"));
        folder.run(&format!(
            "llvm-mc -filetype=obj -triple={triple} {path} -o expected.o"
        ));
        let (expected, expected_fields) = function(&folder.read("expected.o"), None);
        // All but the number of the language.
        let code = &code[..expected.len()];
        let different: Vec<_> = (0..code.len()).filter(|at| code[*at] != expected[*at]).collect();
        assert_eq!(different.len(), 1, "{source}: {different:?}");
        let names: Vec<_> = fields
            .iter()
            .filter(|(at, _)| *at < expected.len() as u64)
            .map(|(at, name)| {
                let name = name
                    .replace("__hipRegister", "")
                    .replace("__start_llvm_offload_entries", "start")
                    .replace("__stop_llvm_offload_entries", "stop");
                (*at, name)
            })
            .collect();
        assert_eq!(names, expected_fields, "{source}");
    }
}

#[test]
fn host_bitcode_has_its_device_code() {
    need!("clang");
    let folder = Folder::new();
    let entry = |image: &'static [u8]| {
        let mut entry = OffloadEntry::new(ImageKind::OBJECT, OffloadKind::OPENMP, image);
        entry.strings.set("triple", "x86_64-pc-linux-gnu");
        OffloadBinary::from(entry)
            .write(OffloadBinaryVersion::V1)
            .unwrap()
    };
    let binaries = [entry(b"one\xff\0image"), entry(b"another")].concat();
    folder.write("binaries", &binaries);
    folder.write("host.c", "int x; const char *text = \"some text\";");
    folder.run(
        "clang -cc1 -triple x86_64-linux-gnu -emit-llvm-bc -fembed-offload-object=binaries host.c -o host.bc",
    );
    let bitcode = folder.read("host.bc");
    assert_eq!(embedded_in_bitcode(&bitcode).unwrap(), [binaries]);
    for length in 0..bitcode.len() {
        let _ = embedded_in_bitcode(&bitcode[..length]);
    }
    let mut damaged = bitcode;
    for at in 0..damaged.len() {
        damaged[at] ^= 0x5a;
        let _ = embedded_in_bitcode(&damaged);
        damaged[at] ^= 0x5a;
    }
}

#[test]
fn intel_takes_spirv_in_elf() {
    need!("llvm-readelf");
    let folder = Folder::new();
    let module = b"\x03\x02\x23\x07 and so on";
    folder.write("image.elf", intel_openmp_elf(module).unwrap());
    let shown = folder.run("llvm-readelf -h -n -x __openmp_offload_spirv_0 image.elf");
    assert!(shown.contains("Intel Graphics Technology"), "{shown}");
    assert!(
        shown.contains("Type:                              DYN"),
        "{shown}"
    );
    assert_eq!(shown.matches("INTELONEOMPOFFLOAD").count(), 3, "{shown}");
    assert!(shown.contains("03022307"), "{shown}");
}

#[test]
fn hosts_go_by_their_triples() {
    for (triple, expected) in [
        ("x86_64-pc-linux-gnu", Some(HostTarget::ElfX86_64)),
        ("x86_64-unknown-freebsd14", Some(HostTarget::ElfX86_64)),
        ("aarch64-linux-gnu", Some(HostTarget::ElfAarch64)),
        ("x86_64-pc-windows-msvc19.44", Some(HostTarget::CoffX86_64)),
        ("x86_64-w64-windows-gnu", Some(HostTarget::MingwX86_64)),
        ("x86_64-w64-mingw32", Some(HostTarget::MingwX86_64)),
        ("x86_64-linux-gnux32", None),
        ("aarch64_be-linux-gnu", None),
        ("aarch64-pc-windows-msvc", None),
        ("riscv64-unknown-linux-gnu", None),
        ("arm64-apple-darwin", None),
    ] {
        assert_eq!(HostTarget::for_triple(triple), expected, "{triple}");
    }
}
