//! Images left out of containers: the others stay, whatever the bytes are.

#![cfg(feature = "default")]

mod common;

use common::{limits, samples};
use offkit_object::archive::{self, ArchiveKind, Member};
use offkit_object::bundle::{Bundle, BundleEntry, CompressedBundle, CompressedVersion};
use offkit_object::host::{NewSection, ObjectFormat, write_object};
use offkit_object::{
    Compression, Error, ImageKind, Location, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind,
    Thinned, Thinning,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn thin(bytes: &[u8], dropped: &[Location]) -> Result<Thinned, Error> {
    offkit_object::thin("file", bytes, dropped, Thinning::default(), &limits(), &|_| {})
}

/// Location and bytes of every image but those of the host.
fn images(bytes: &[u8]) -> Vec<(Location, Vec<u8>)> {
    let contents = offkit_object::read("file", bytes, &limits());
    assert_eq!(contents.problems, []);
    let devices = contents
        .images
        .iter()
        .filter(|image| !image.target.family().is_host());
    devices
        .map(|image| (image.location.clone(), image.bytes().unwrap().to_vec()))
        .collect()
}

/// Drops those images for which there is a `true`, and says what must be left.
fn check(file: &[u8], goes: &[bool]) {
    let before = images(file);
    assert_eq!(before.len(), goes.len());
    let chosen = |wanted: bool| {
        let both = before.iter().zip(goes).filter(move |(_, goes)| **goes == wanted);
        both.map(|(image, _)| image.clone())
    };
    let dropped: Vec<Location> = chosen(true).map(|(location, _)| location).collect();
    let thinned = thin(file, &dropped);
    if matches!(&thinned, Err(error) if error.message() == "nothing would be left of the file") {
        assert_eq!(dropped.len(), goes.len());
        return;
    }
    let thinned = thinned.unwrap();
    if dropped.is_empty() {
        assert_eq!(thinned.bytes, file);
        return;
    }
    if dropped.len() < goes.len() {
        let left: Vec<Vec<u8>> = images(&thinned.bytes)
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect();
        assert_eq!(left, chosen(false).map(|(_, bytes)| bytes).collect::<Vec<_>>());
        assert_eq!(offkit_object::verify("file", &thinned.bytes, &limits()), []);
    }
    assert!(thinned.bytes.len() <= file.len());
}

/// Images that tell themselves apart, and whether each goes.
fn choices() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<bool>)> {
    vec((vec(any::<u8>(), 1..60), any::<bool>()), 1..7).prop_map(|all| {
        let numbered = all
            .iter()
            .enumerate()
            .map(|(number, (bytes, _))| [&[number as u8], bytes.as_slice()].concat());
        (numbered.collect(), all.iter().map(|(_, goes)| *goes).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn offload_binaries_lose_what_goes((contents, goes) in choices(), form in 0..4_usize) {
        let entries = contents.iter().map(|image| {
            let mut entry = OffloadEntry::new(ImageKind::NONE, OffloadKind::OPENMP, image.as_slice());
            entry.strings.set("triple", "nvptx64-nvidia-cuda");
            entry
        });
        let versions = [OffloadBinaryVersion::V2, OffloadBinaryVersion::V3(None), OffloadBinaryVersion::V3(Some(Compression::Zstd))];
        let file = if let Some(version) = versions.get(form) {
            OffloadBinary { entries: entries.collect() }.write(*version).unwrap()
        } else {
            let one = |entry| OffloadBinary::from(entry).write(OffloadBinaryVersion::V1).unwrap();
            entries.flat_map(one).collect()
        };
        check(&file, &goes);
    }

    #[test]
    fn bundles_lose_what_goes((contents, goes) in choices(), alignment in 0..3_u32, compressed in any::<bool>()) {
        let device = contents.iter().enumerate().map(|(number, image)| {
            BundleEntry::new(format!("hipv4-amdgcn-amd-amdhsa--gfx90{number}"), image.as_slice())
        });
        let host = BundleEntry::new("host-x86_64-unknown-linux-gnu-", b"".as_slice());
        let entries = std::iter::once(host).chain(device).collect();
        let file = Bundle { entries }.write(1 << (6 * alignment)).unwrap();
        if compressed {
            let file = CompressedBundle::write(&file, CompressedVersion::V3, Compression::Zstd, None).unwrap();
            let before = images(&file);
            let chosen = before.iter().zip(&goes).filter(|(_, goes)| **goes);
            let dropped: Vec<Location> = chosen.map(|((location, _), _)| location.clone()).collect();
            let thinned = thin(&file, &dropped).unwrap();
            prop_assert_eq!(images(&thinned.bytes).len(), before.len() - dropped.len());
        } else {
            check(&file, &goes);
        }
    }
}

#[test]
fn damaged_containers_are_refused_or_thinned() {
    for (name, bytes) in samples() {
        let flipped = (0..bytes.len()).map(|at| {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            damaged
        });
        let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
        for damaged in flipped.chain(cut) {
            let contents = offkit_object::read("file", &damaged, &limits());
            let Some(first) = contents.images.first() else {
                continue;
            };
            // No panic, and nothing is invented.
            if let Ok(thinned) = thin(&damaged, std::slice::from_ref(&first.location)) {
                let after = offkit_object::read("file", &thinned.bytes, &limits());
                assert!(after.images.len() < contents.images.len(), "{name}");
            }
        }
    }
}

#[test]
fn compressing_anew_passes_over_what_cannot_change() {
    for (name, bytes) in samples() {
        let archive = archive::write(&[Member::new("member", &bytes)], ArchiveKind::Gnu).unwrap();
        let before = offkit_object::read("file", &archive, &limits());
        let thinning = Thinning::default().recompress(true);
        let thinned = offkit_object::thin("file", &archive, &[], thinning, &limits(), &|_| {});
        let thinned = thinned.unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = offkit_object::read("file", &thinned.bytes, &limits());
        assert_eq!(before.images.len(), after.images.len(), "{name}");
    }
}

#[test]
fn what_cannot_be_compressed_anew_is_named_once() {
    let entries = [
        "hipv4-amdgcn-amd-amdhsa--gfx90a",
        "hipv4-amdgcn-amd-amdhsa--gfx942",
    ]
    .map(|id| BundleEntry::new(id, vec![7; 1000]));
    let bundle = Bundle {
        entries: entries.into(),
    }
    .write(4096)
    .unwrap();
    let good = CompressedBundle::write(&bundle, CompressedVersion::V3, Compression::Zstd, None).unwrap();
    let mut damaged = good.clone();
    damaged.truncate(good.len() - 8);
    damaged.extend([0x55; 8]);
    let sections = [
        NewSection::excluded(".hip_fatbin", &damaged),
        NewSection::excluded(".hip_fatbin", &good),
    ];
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let mut library = write_object(format, &sections).unwrap();
    // Linked, but nothing points to the bundles: a first try, to make the file smaller, fails.
    library[16] = 3;
    library[54] = 56;
    let gone = offkit_object::read("file", &library, &limits()).images[0]
        .location
        .clone();
    let thinning = Thinning::default().recompress(true);
    let thinned = offkit_object::thin("file", &library, &[gone], thinning, &limits(), &|_| {}).unwrap();
    assert_eq!(thinned.kept_size.len(), 1);
    let names = thinned
        .not_recompressed
        .iter()
        .map(|problem| problem.location.to_string());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["file!.hip_fatbin/0", "file!.hip_fatbin"]
    );
}

#[test]
fn an_image_that_is_a_member_is_refused_by_name() {
    let member = Member::new("kernel.ptx", b".version 8.0\n.target sm_80\n.address_size 64\n");
    let file = archive::write(&[member], ArchiveKind::Gnu).unwrap();
    let found = offkit_object::read("file", &file, &limits()).images;
    let error = thin(&file, &[found[0].location.clone()]).unwrap_err();
    assert!(error.to_string().contains("kernel.ptx"), "{error}");
}

#[test]
fn a_place_without_an_image_is_an_error() {
    let entry = OffloadEntry::new(ImageKind::NONE, OffloadKind::HIP, b"image");
    let file = OffloadBinary::from(entry)
        .write(OffloadBinaryVersion::V1)
        .unwrap();
    for place in ["file!1", "file!0/0", "file!x"] {
        let error = thin(&file, &[place.parse().unwrap()]).unwrap_err();
        assert_eq!(error.message(), "no image at this location", "{place}");
    }
}

#[test]
fn a_list_of_images_that_is_larger_than_its_program_is_refused() {
    let mut program = include_bytes!("../../../fuzz/seeds/thin/sycl_wrapped-program-x86-64-v1").to_vec();
    let images = offkit_object::read("file", &program, &limits()).images;
    let first = images[0].location.clone();
    // The header of the section `.tgtimg`: where its address and its size are.
    let header = 0x5b0 + 3 * 64;
    program[header + 16..][..8].copy_from_slice(&[0x11; 8]);
    program[header + 32..][..8].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
    let error = thin(&program, &[first]).unwrap_err();
    assert_eq!(error.message(), "a table of the program is cut off");
}

#[test]
fn other_images_in_a_file_compressed_anew_are_noticed() {
    let of_bundle = |image: &[u8]| {
        let entries = vec![BundleEntry::new("hipv4-amdgcn-amd-amdhsa--gfx90a", image)];
        let bundle = Bundle { entries }.write(16).unwrap();
        CompressedBundle::write(&bundle, CompressedVersion::V3, Compression::Zstd, None).unwrap()
    };
    let plain = |image: &[u8]| {
        let entry = OffloadEntry::new(ImageKind::NONE, OffloadKind::SYCL, image);
        OffloadBinary::from(entry)
            .write(OffloadBinaryVersion::V1)
            .unwrap()
    };
    let (one, two) = (b"an image".as_slice(), b"an imago".as_slice());
    for (file, other) in [(of_bundle(one), of_bundle(two)), (plain(one), plain(two))] {
        let thinning = Thinning::default().recompress(true);
        let mut draft = offkit_object::thin_draft("file", &file, &[], thinning, &limits(), &|_| {}).unwrap();
        let written = std::mem::take(&mut draft.chunks).into_bytes();
        assert!(draft.check(&written, &(), &()).is_ok());
        assert!(draft.check(&other, &(), &()).is_err());
    }
}
