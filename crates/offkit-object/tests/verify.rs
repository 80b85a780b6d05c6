//! Every rule: real files keep them, and each is noticed when it is broken.

#![cfg(feature = "default")]

mod common;

use common::{
    SYCLBIN_VERSIONS, limits, offload_v1, offload_v2, program, put_u32, put_u64, read, samples, u64_at,
};
use offkit_object::property_set::names;
use offkit_object::{
    BundleState, DeviceImage, ImageKind, Inspect, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry,
    OffloadKind, SyclBinVersion, verify,
};

fn messages(bytes: &[u8]) -> Vec<String> {
    let problems = verify("f", bytes, &limits());
    problems.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn reports(bytes: &[u8], part: &str) {
    let messages = messages(bytes);
    assert!(
        messages.iter().any(|message| message.contains(part)),
        "{part}: {messages:?}"
    );
}

#[test]
fn what_is_written_keeps_every_rule() {
    for (name, bytes) in samples() {
        if !name.starts_with("property") {
            // Their images are only the beginnings of code, and nothing else is wrong.
            let contents = read(&bytes);
            let problems = |image: &DeviceImage<'_>| image.inspect(&limits()).problems.len();
            let of_code: usize = contents.images.iter().map(problems).sum();
            assert_eq!(messages(&bytes).len(), of_code, "{name}: {:?}", messages(&bytes));
        }
    }
}

#[test]
fn every_byte_of_padding_counts() {
    for bytes in [offload_v1(), offload_v2()] {
        let mut noticed = 0;
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x80;
            noticed += usize::from(!messages(&changed).is_empty());
        }
        // What is left are the kinds, and the content of strings and images.
        let binary = OffloadBinary::parse(&bytes, &limits()).unwrap();
        let free: usize = binary
            .entries
            .iter()
            .map(|entry| {
                let strings: usize = entry
                    .strings
                    .iter()
                    .map(|(key, value)| key.len() + value.len() + 16)
                    .sum();
                4 + strings + entry.image.len()
            })
            .sum();
        assert!(
            noticed >= bytes.len() - free,
            "{noticed} of {}, {free} free",
            bytes.len()
        );
    }
}

#[test]
fn rules_of_offload_binaries() {
    let mut flags = offload_v2();
    put_u32(&mut flags, 36, 8);
    reports(&flags, "flags without a meaning");
    let mut image = offload_v2();
    put_u32(&mut image, 36, 1);
    reports(&image, "says that it has no image, and has one");
    let mut keys = offload_v1();
    let key = u64_at(&keys, 72);
    put_u64(&mut keys, 88, key);
    reports(&keys, "two strings have one key");
    let mut overlap = offload_v2();
    let first = u64_at(&overlap, 32 + 24);
    put_u64(&mut overlap, 112 + 24, first + 4);
    reports(&overlap, "parts overlap");
    reports(
        &[offload_v1(), vec![0; 3], offload_v1()].concat(),
        "not a multiple of 8",
    );
    let mut size = offload_v1();
    put_u64(&mut size, 24, 48);
    reports(&size, "entry has another size than the format's");
}

#[test]
fn faults_of_an_entry_are_placed_at_its_fields() {
    let place = |bytes: &[u8], message: &str| {
        let problems = verify("f", bytes, &limits());
        let problem = problems.iter().find(|problem| problem.error.message() == message);
        problem.unwrap_or_else(|| panic!("{problems:?}")).error.offset()
    };
    let second = 32 + 40;
    let mut flags = offload_v2();
    put_u32(&mut flags, second + 4, 9);
    assert_eq!(place(&flags, "flags without a meaning"), Some(second as u64 + 4));
    let mut image = offload_v2();
    put_u32(&mut image, 32 + 4, 1);
    let message = "entry says that it has no image, and has one";
    assert_eq!(place(&image, message), Some(32 + 4));
    let mut odd = offload_v2();
    let offset = u64_at(&odd, 32 + 24);
    put_u64(&mut odd, 32 + 24, offset + 1);
    assert_eq!(place(&odd, "not a multiple of 8"), Some(32 + 24));
}

#[test]
fn containers_that_share_their_bytes_are_checked_a_bounded_number_of_times() {
    const COUNT: usize = 1_000;
    let mut inner = offload_v2();
    put_u32(&mut inner, 36, 8);
    inner.resize(500_000, 0);
    let mut entries = vec![OffloadEntry::new(ImageKind::NONE, OffloadKind::NONE, &[]); COUNT];
    entries[0].image = inner.into();
    let mut bytes = OffloadBinary { entries }.write(OffloadBinaryVersion::V2).unwrap();
    let first = bytes[32 + 24..32 + 40].to_vec();
    for number in 1..COUNT {
        bytes[32 + number * 40 + 24..][..16].copy_from_slice(&first);
    }
    let limits = Limits {
        max_problems: usize::MAX,
        ..limits()
    };
    let problems = verify("f", &bytes, &limits);
    let checked = problems
        .iter()
        .filter(|problem| problem.error.message() == "flags without a meaning")
        .count();
    assert!((1..100).contains(&checked), "{checked}: {:?}", &problems[..3]);
}

#[test]
fn rules_of_syclbin() {
    for version in SYCLBIN_VERSIONS {
        let write = |change: &dyn Fn(&mut offkit_object::SyclBin<'static>)| {
            let mut program = program();
            change(&mut program);
            program.write(version).unwrap()
        };
        reports(
            &write(&|program| program.state = BundleState::Executable),
            "imports a symbol that it does not export",
        );
        reports(
            &write(&|program| program.modules[1].ir_modules.clear()),
            "abstract module has no image",
        );
        reports(
            &write(&|program| {
                program.state = BundleState::Input;
                program.modules[0].ir_modules.clear();
            }),
            "a part that is not IR",
        );
        reports(
            &write(&|program| {
                program.modules[1]
                    .properties
                    .insert_symbols(names::EXPORTED_SYMBOLS, ["add"])
            }),
            "two abstract modules export one symbol",
        );
    }
    let bare = program().write(SyclBinVersion::V1).unwrap();
    let mut lonely = bare.clone();
    put_u32(&mut lonely, 56 + 24, 0);
    reports(&lonely, "native image 0 belongs to no abstract module");
    let mut shared = bare.clone();
    put_u32(&mut shared, 56 + 32 + 20, 0);
    reports(&shared, "IR module 0 belongs to several abstract modules");
    let mut overlap = bare;
    let second_ir = 56 + 2 * 32 + 32;
    put_u64(&mut overlap, second_ir + 16, 4);
    reports(&overlap, "parts overlap");
}
