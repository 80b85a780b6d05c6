//! Small files that describe huge things: the work ends at the limits, and the file says so.

#![cfg(feature = "default")]

mod common;

use common::{entry, limits};
use offkit_object::{
    Contents, ErrorKind, ImageKind, IrModule, IrType, Item, Limits, OffloadBinary, OffloadBinaryVersion,
    OffloadEntry, OffloadKind, SyclBin, SyclBinVersion, Thinning, bundle, offload_entries, thin_draft, walk,
};
use std::ops::ControlFlow;

fn read<'data>(bytes: &'data [u8], limits: &Limits) -> Contents<'data> {
    let contents = offkit_object::read("file", bytes, limits);
    let kinds: Vec<_> = contents
        .problems
        .iter()
        .map(|problem| problem.error.kind())
        .collect();
    assert!(kinds.contains(&ErrorKind::LimitExceeded), "{kinds:?}");
    contents
}

/// A version 2 binary in which every entry has the image of the first.
fn sharing_one_image(image: &[u8], count: usize) -> Vec<u8> {
    let mut entries = vec![OffloadEntry::new(ImageKind::NONE, OffloadKind::NONE, &[]); count];
    entries[0].image = image.into();
    let mut bytes = OffloadBinary { entries }.write(OffloadBinaryVersion::V2).unwrap();
    let first = bytes[32 + 24..32 + 40].to_vec();
    for number in 1..count {
        bytes[32 + number * 40 + 24..][..16].copy_from_slice(&first);
    }
    bytes
}

#[test]
fn entries_that_share_an_inner_container_do_not_multiply() {
    let mut bytes = b"BC\xc0\xde".to_vec();
    for _ in 0..6 {
        bytes = sharing_one_image(&bytes, 100);
    }
    assert!(bytes.len() < 50_000);
    let contents = read(
        &bytes,
        &Limits {
            max_images: 5_000,
            ..limits()
        },
    );
    assert!(contents.images.len() <= 5_000);
}

#[test]
fn empty_containers_are_not_free() {
    let empty = OffloadBinary::default().write(OffloadBinaryVersion::V2).unwrap();
    assert_eq!(empty.len(), 40, "a header and the empty string table");
    let bytes = sharing_one_image(&empty.repeat(1_000), 1_000);
    let contents = read(&bytes, &limits());
    assert!(contents.images.is_empty());
}

#[test]
fn properties_are_not_copied_to_any_number_of_images() {
    let mut program = SyclBin::new(offkit_object::BundleState::Input);
    let module = {
        let mut module = offkit_object::AbstractModule::default();
        module
            .properties
            .insert_symbols("SYCL/kernel names", (0..1_000).map(|number| number.to_string()));
        module.ir_modules = vec![IrModule::new(IrType::SPIRV, "", b"".as_slice()); 1_000];
        module
    };
    program.modules.push(module);
    let bytes = program.write(SyclBinVersion::V1).unwrap();
    let contents = read(
        &bytes,
        &Limits {
            max_properties: 100_000,
            ..limits()
        },
    );
    assert!(contents.images.is_empty());
    assert_eq!(offkit_object::read("file", &bytes, &limits()).images.len(), 1_000);
}

#[test]
fn kernel_names_in_strings_are_bounded() {
    let mut with_names = entry(b"BC\xc0\xde");
    with_names.strings.set("symbols", "k\n".repeat(1_000));
    let bytes = OffloadBinary {
        entries: vec![with_names; 10],
    }
    .write(OffloadBinaryVersion::V2)
    .unwrap();
    let contents = read(
        &bytes,
        &Limits {
            max_properties: 5_500,
            ..limits()
        },
    );
    let counts: Vec<_> = contents.images.iter().map(|image| image.kernels.len()).collect();
    assert_eq!(counts, [1_000, 1_000, 1_000, 1_000, 1_000, 0, 0, 0, 0, 0]);
}

#[test]
fn lines_that_are_wrong_count_too() {
    let mut program = SyclBin::new(offkit_object::BundleState::Input);
    program.properties.insert("set", "key", 1);
    let bytes = program.write(SyclBinVersion::V1).unwrap();
    let wrong = bytes
        .windows(9)
        .position(|window| window == b"key=1|1\n\0")
        .unwrap();
    let mut changed = bytes;
    changed[wrong..wrong + 8].copy_from_slice(b"x\nx\nx\nx\n");
    let contents = read(
        &changed,
        &Limits {
            max_properties: 4,
            ..limits()
        },
    );
    assert_eq!(
        contents.problems.len(),
        2,
        "one line is read, the next is beyond the limit: {:?}",
        contents.problems
    );
}

#[test]
fn large_properties_are_not_copied_to_any_number_of_images() {
    let mut module = offkit_object::AbstractModule::default();
    module.properties.insert(
        "set",
        "key",
        offkit_object::PropertyValue::from([0_u8; 500_000].as_slice()),
    );
    for _ in 0..3000 {
        module
            .ir_modules
            .push(IrModule::new(IrType::SPIRV, "", b"".as_slice()));
    }
    let mut program = SyclBin::new(offkit_object::BundleState::Object);
    program.modules.push(module);
    let bytes = program.write(SyclBinVersion::V1).unwrap();
    assert!(bytes.len() < 1_000_000);
    assert!(read(&bytes, &Limits::default()).images.is_empty());
}

#[test]
fn containers_that_share_their_bytes_are_entered_a_bounded_number_of_times() {
    let mut inner = bundle::MAGIC.to_vec();
    inner.resize(500_000, 0);
    let bytes = sharing_one_image(&inner, 2_000);
    let mut entered = 0;
    let mut is_refused = false;
    let limits = Limits::default();
    let _ = walk("file", &bytes, None, &limits, &mut |item| {
        match item {
            Item::Container(container) => entered += container.size,
            Item::Problem(problem) => is_refused |= problem.error.kind() == ErrorKind::LimitExceeded,
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let levels = limits.max_nesting as u64 + 2;
    assert!(
        entered <= Limits::FREE_ENTERING + levels * bytes.len() as u64,
        "{entered:#x}"
    );
    assert!(entered > 10_000_000 && is_refused, "{entered:#x}");
    assert!(
        offload_entries(&bytes, &limits, &mut |_| {}).is_ok(),
        "these are not opened"
    );
}

#[test]
fn entries_that_share_one_image_are_not_written_out_without_end() {
    const COUNT: usize = 500;
    let thinned = |size: usize| {
        let image = vec![7; size];
        let mut entries = vec![bundle::BundleEntry::new("hip-amdgcn-amd-amdhsa--gfx900", image)];
        entries.extend((0..COUNT).map(|number| {
            bundle::BundleEntry::new(
                format!("hip-amdgcn-amd-amdhsa--gfx{:04}", 2000 + number),
                b"".as_slice(),
            )
        }));
        let mut bytes = bundle::Bundle { entries }.write(1).unwrap();
        let mut at = 32;
        let first = bytes[at..at + 16].to_vec();
        for _ in 0..=COUNT {
            bytes[at..at + 16].copy_from_slice(&first);
            at += 24 + usize::from(bytes[at + 16]);
        }
        let gone = [offkit_object::read("file", &bytes, &limits()).images[0]
            .location
            .clone()];
        let draft = thin_draft("file", &bytes, &gone, Thinning::default(), &limits(), &|_| {});
        draft.map(|draft| draft.chunks.len())
    };
    assert!(thinned(10_000).unwrap() > 10_000 * COUNT as u64);
    assert_eq!(thinned(1_000_000).unwrap_err().kind(), ErrorKind::LimitExceeded);
}
