//! Whatever can be written reads back equal.

#![cfg(feature = "default")]

mod common;

use common::{SYCLBIN_VERSIONS, limits};
use offkit_object::{
    AbstractModule, BundleState, ByteArray, ImageKind, IrModule, IrType, NativeImage, OffloadBinary,
    OffloadBinaryVersion, OffloadEntry, OffloadKind, PropertySets, PropertyValue, SyclBin, property_set,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn value() -> impl Strategy<Value = PropertyValue> {
    let bytes = (vec(any::<u8>(), 0..40), 0..8_u64).prop_map(|(bytes, unused)| {
        let bits = (bytes.len() as u64 * 8).saturating_sub(unused);
        PropertyValue::Bytes(ByteArray::with_bits(bits, bytes).unwrap())
    });
    prop_oneof![any::<u32>().prop_map(PropertyValue::U32), bytes]
}

fn property_sets() -> impl Strategy<Value = PropertySets> {
    let key = "[^=\\[\n\r\0][^=\n\r\0]{0,12}";
    let name = "[^\n\r\0]{0,12}";
    vec((name, vec((key, value()), 0..6)), 0..5).prop_map(|sets| {
        let mut all = PropertySets::new();
        for (name, properties) in sets {
            let set = all.set_mut(name);
            for (key, value) in properties {
                set.insert(key, value);
            }
        }
        all
    })
}

/// Numbers, strings and image of an entry; values without zero bytes when `text` is set.
type Entry = (u16, u16, u32, Vec<(String, Vec<u8>)>, Vec<u8>);

fn entry(text: bool) -> impl Strategy<Value = Entry> {
    let byte = if text { 1..=255_u8 } else { 0..=255_u8 };
    let strings = vec(("[^\0]{0,6}|triple|arch", vec(byte, 0..12)), 0..5);
    (
        0..12_u16,
        0..12_u16,
        any::<u32>(),
        strings,
        vec(any::<u8>(), 0..40),
    )
}

fn build(entries: &[Entry]) -> OffloadBinary<'_> {
    let entries = entries
        .iter()
        .map(|(image_kind, offload_kind, flags, strings, image)| {
            let mut entry = OffloadEntry::new(ImageKind(*image_kind), OffloadKind(*offload_kind), image);
            entry.flags = *flags;
            for (key, value) in strings {
                entry.strings.set_bytes(key.as_str(), value.as_slice());
            }
            entry
        });
    OffloadBinary {
        entries: entries.collect(),
    }
}

fn program() -> impl Strategy<Value = SyclBin<'static>> {
    let bytes = || vec(any::<u8>(), 0..60);
    let ir = (0..4_u32, "[a-z0-9_-]{0,20}", property_sets(), bytes()).prop_map(
        |(ir_type, target, properties, bytes)| IrModule {
            properties,
            ..IrModule::new(IrType(ir_type), target, bytes)
        },
    );
    let native = ("\\PC{0,10}", "\\PC{0,10}", property_sets(), bytes()).prop_map(
        |(arch, target, properties, bytes)| NativeImage {
            properties,
            ..NativeImage::new(arch, target, bytes)
        },
    );
    let module = (property_sets(), vec(ir, 0..3), vec(native, 0..3)).prop_map(
        |(properties, ir_modules, native_images)| AbstractModule {
            properties,
            ir_modules,
            native_images,
        },
    );
    let state = prop_oneof![
        Just(BundleState::Input),
        Just(BundleState::Object),
        Just(BundleState::Executable)
    ];
    (state, property_sets(), vec(module, 0..4)).prop_map(|(state, properties, modules)| SyclBin {
        state,
        properties,
        modules,
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn property_sets_read_back(sets in property_sets()) {
        let text = property_set::to_text(&sets).unwrap();
        prop_assert_eq!(property_set::parse(text.as_bytes(), &limits()).unwrap(), sets.clone());
        let windows = text.replace('\n', "\r\n");
        prop_assert_eq!(property_set::parse(windows.as_bytes(), &limits()).unwrap(), sets);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(\\[[a-c\\]]{0,3}\n|[a-c=|12A/]{0,8}\r?\n){0,8}") {
        if let Ok(sets) = property_set::parse(text.as_bytes(), &limits()) {
            let again = property_set::to_text(&sets).unwrap();
            prop_assert_eq!(property_set::parse(again.as_bytes(), &limits()).unwrap(), sets);
        }
    }

    #[test]
    fn offload_binaries_version_1_read_back(entries in vec(entry(true), 1..4)) {
        let binary = build(&entries);
        let bytes = binary.write_v1_sequence().unwrap();
        prop_assert_eq!(bytes.len() % 8, 0);
        let read = OffloadBinary::parse_all(&bytes, &limits()).unwrap();
        prop_assert!(read.iter().all(|binary| binary.entries.len() == 1));
        let read = OffloadBinary { entries: read.into_iter().flat_map(|binary| binary.entries).collect() };
        prop_assert_eq!(read, binary);
    }

    #[test]
    fn offload_binaries_version_2_read_back(entries in vec(entry(false), 0..5)) {
        let binary = build(&entries);
        let bytes = binary.write(OffloadBinaryVersion::V2).unwrap();
        prop_assert_eq!(bytes.len() % 8, 0);
        prop_assert_eq!(OffloadBinary::parse(&bytes, &limits()).unwrap(), binary);
    }

    #[test]
    fn syclbin_reads_back_in_every_version(program in program()) {
        for version in SYCLBIN_VERSIONS {
            let bytes = program.write(version).unwrap();
            prop_assert_eq!(&bytes, &program.clone().write(version).unwrap());
            prop_assert_eq!(&SyclBin::parse(&bytes, &limits()).unwrap(), &program);
            let contents = offkit_object::read("file", &bytes, &limits());
            let count: usize = program.modules.iter().map(AbstractModule::image_count).sum();
            prop_assert_eq!(contents.images.len(), count);
        }
    }
}
