//! Files taken apart and put together again: byte for byte, or as `thin` leaves them where packs are missing.

#![cfg(feature = "default")]

mod common;

use std::collections::{BTreeMap, HashMap};

use common::{limits, samples};
use offkit_object::archive::{self, ArchiveKind, Member};
use offkit_object::bundle::{Bundle, BundleEntry, CompressedBundle, CompressedVersion};
use offkit_object::host::{NewSection, ObjectFormat, write_object};
use offkit_object::split::{Destination, Joined, Split, join};
use offkit_object::{
    Compression, Error, ImageKind, Location, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind,
    Thinning,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A file in parts.
struct Parts {
    host: Vec<u8>,
    recipe: Vec<u8>,
    packs: HashMap<(u64, String), Vec<u8>>,
    inexact: Vec<Location>,
}

fn locations(bytes: &[u8]) -> Vec<Location> {
    let images = offkit_object::read("file", bytes, &limits()).images;
    let devices = images.iter().filter(|image| !image.target.family().is_host());
    devices.map(|image| image.location.clone()).collect()
}

/// Splits a file; the images go to three packs in turns.
fn split(bytes: &[u8]) -> Result<Parts, Error> {
    let places = locations(bytes);
    let thinned = offkit_object::thin("file", bytes, &places, Thinning::default(), &limits(), &|_| {})?;
    let destinations: BTreeMap<Location, Destination> = (0_u64..)
        .zip(&places)
        .map(|(number, place)| {
            let name = place.path().to_owned();
            (
                place.clone(),
                Destination {
                    pack: number % 3,
                    name,
                },
            )
        })
        .collect();
    let split = Split::of("file", bytes, destinations.clone(), &limits())?;
    let (recipe, inexact) = split.recipe(&thinned.bytes, true)?;
    let packs = split.images().into_iter().map(|image| {
        let destination = &destinations[&image.location];
        let [before, behind] = image.around;
        let key = (destination.pack, destination.name.clone());
        (key, [before, image.bytes, behind].concat())
    });
    Ok(Parts {
        host: thinned.bytes,
        recipe,
        packs: packs.collect(),
        inexact,
    })
}

impl Parts {
    fn join(&self, without: Option<u64>) -> Result<Joined, Error> {
        let image = |pack: u64, name: &str| {
            let image = self.packs.get(&(pack, name.to_owned()));
            image.filter(|_| Some(pack) != without).cloned()
        };
        join("file", &self.host, &self.recipe, &image, &limits())
    }
}

/// Splits and joins, with all packs and without one.
fn check(file: &[u8]) {
    let parts = match split(file) {
        Err(error) if error.message() == "nothing would be left of the file" => return,
        parts => parts.unwrap(),
    };
    assert_eq!(parts.inexact, []);
    let whole = parts.join(None).unwrap();
    assert_eq!(whole.bytes, file);
    assert_eq!((whole.missing, whole.inexact), (vec![], vec![]));
    for pack in 0..3 {
        let dropped: Vec<Location> = locations(file).into_iter().skip(pack).step_by(3).collect();
        if dropped.is_empty() {
            continue;
        }
        let thinned = offkit_object::thin("file", file, &dropped, Thinning::default(), &limits(), &|_| {});
        let joined = parts.join(Some(pack as u64));
        match (thinned, joined) {
            (Ok(thinned), Ok(joined)) => {
                assert_eq!(joined.missing, dropped);
                assert_eq!(joined.bytes, thinned.bytes, "without pack {pack}");
            }
            (Err(thinned), Err(joined)) => assert_eq!(thinned.message(), joined.message()),
            (thinned, joined) => panic!("{thinned:?} and {joined:?}"),
        }
    }
}

/// Images that tell themselves apart.
fn images() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 1..200), 1..7).prop_map(|all| {
        let numbered = all.iter().enumerate();
        let numbered = numbered.map(|(number, bytes)| [&[number as u8], bytes.as_slice()].concat());
        numbered.collect()
    })
}

fn bundle(contents: &[Vec<u8>], alignment: u64) -> Vec<u8> {
    let mut entries = vec![BundleEntry::new("host-x86_64-unknown-linux-gnu-", b"".as_slice())];
    entries.extend(contents.iter().enumerate().map(|(number, image)| {
        BundleEntry::new(
            format!("hipv4-amdgcn-amd-amdhsa--gfx90{number}"),
            image.as_slice(),
        )
    }));
    Bundle { entries }.write(alignment).unwrap()
}

fn offload_binary(contents: &[Vec<u8>], many: bool) -> Vec<u8> {
    let entries = contents
        .iter()
        .map(|image| OffloadEntry::new(ImageKind::NONE, OffloadKind::HIP, image.as_slice()));
    if many {
        let mut binary = OffloadBinary::default();
        binary.entries.extend(entries);
        return binary.write(OffloadBinaryVersion::V2).unwrap();
    }
    let each = entries.map(|entry| {
        OffloadBinary::from(entry)
            .write(OffloadBinaryVersion::V1)
            .unwrap()
    });
    each.collect::<Vec<_>>().concat()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn offload_binaries_come_together_again(contents in images(), many in any::<bool>()) {
        check(&offload_binary(&contents, many));
    }

    #[test]
    fn compressed_offload_binaries_come_together_again(contents in images(), method in 0..2_usize) {
        let entries = contents
            .iter()
            .map(|image| OffloadEntry::new(ImageKind::NONE, OffloadKind::HIP, image.as_slice()));
        let method = [Compression::Zstd, Compression::Zlib][method];
        let binary = OffloadBinary { entries: entries.collect() };
        let binary = binary.write(OffloadBinaryVersion::V3(Some(method))).unwrap();
        check(&binary);
        check(&object(".llvm.offloading", &binary));
    }

    #[test]
    fn bundles_come_together_again(contents in images(), alignment in 0..3_u32, method in 0..3_usize) {
        let bundle = bundle(&contents, 1 << (4 * alignment));
        check(&match [None, Some(Compression::Zstd), Some(Compression::Zlib)][method] {
            None => bundle,
            Some(method) => CompressedBundle::write(&bundle, CompressedVersion::V3, method, None).unwrap(),
        });
    }

    #[test]
    fn archives_come_together_again(contents in images(), others in vec(any::<u8>(), 0..300)) {
        let device = offload_binary(&contents, false);
        let bundle = bundle(&contents, 16);
        let members = [
            Member::new("notes.txt", others.as_slice()),
            Member::new("device.out", device.as_slice()),
            Member::new("a.bundle", bundle.as_slice()),
        ];
        let file = archive::write(&members, ArchiveKind::Gnu).unwrap();
        check(&file);
    }
}

#[test]
fn what_stays_in_packed_parts_of_packed_parts_is_not_in_the_recipe() {
    let compressed = |entries: Vec<BundleEntry<'_>>| {
        let bundle = Bundle { entries }.write(16).unwrap();
        CompressedBundle::write(&bundle, CompressedVersion::V3, Compression::Zstd, None).unwrap()
    };
    let noise = |seed: u32| -> Vec<u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        std::iter::successors(Some(seed), next)
            .map(|state| (state >> 24) as u8)
            .take(20_000)
            .collect()
    };
    let (code, image) = (noise(1), noise(2));
    let inner = compressed(vec![
        BundleEntry::new("host-x86_64-unknown-linux-gnu-", code.as_slice()),
        BundleEntry::new("hipv4-amdgcn-amd-amdhsa--gfx942", image.as_slice()),
    ]);
    let file = compressed(vec![BundleEntry::new(
        "hipv4-amdgcn-amd-amdhsa--gfx90a",
        inner.as_slice(),
    )]);
    check(&file);
    let recipe = split(&file).unwrap().recipe;
    assert!(recipe.len() < code.len() / 4, "{}", recipe.len());
}

fn object(section: &str, content: &[u8]) -> Vec<u8> {
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    write_object(format, &[NewSection::excluded(section, content)]).unwrap()
}

#[test]
fn libraries_that_keep_their_size_come_together_without_a_pack() {
    const TYPE: usize = 16;
    const SHARED_OBJECT: u8 = 3;
    const SIZE_OF_SEGMENT: usize = 54;
    let contents: Vec<Vec<u8>> = (0..4_u8).map(|number| vec![number; 100]).collect();
    let bundle = bundle(&contents, 4096);
    let bundle = CompressedBundle::write(&bundle, CompressedVersion::V3, Compression::Zstd, None).unwrap();
    // Linked, but nothing points to the bundle: its pages cannot leave.
    let mut library = object(".hip_fatbin", &bundle);
    library[TYPE] = SHARED_OBJECT;
    library[SIZE_OF_SEGMENT] = 56;
    check(&library);
}

#[test]
fn compressed_objects_come_together_without_a_pack() {
    let contents: Vec<Vec<u8>> = (0..4_u8).map(|number| vec![number; 100]).collect();
    let object = object(".hip_fatbin", &bundle(&contents, 4096));
    check(&CompressedBundle::write(&object, CompressedVersion::V3, Compression::Zstd, None).unwrap());
}

#[test]
fn damaged_files_are_refused_or_come_together_again() {
    for (name, file) in samples() {
        for length in (0..file.len()).step_by(7) {
            come_together(&name, &file[..length]);
        }
        let mut file = file;
        for position in (0..file.len()).step_by(3) {
            file[position] ^= 0x15;
            come_together(&name, &file);
            file[position] ^= 0x15;
        }
    }
}

fn come_together(name: &str, file: &[u8]) {
    if let Ok(parts) = split(file) {
        let joined = parts.join(None).unwrap();
        assert!(joined.bytes == file || !parts.inexact.is_empty(), "{name}");
    }
}

#[test]
fn damaged_recipes_and_wrong_hosts_are_errors() {
    let contents: Vec<Vec<u8>> = (0..4_u8).map(|number| vec![number; 100]).collect();
    let file = bundle(&contents, 4096);
    let file = CompressedBundle::write(&file, CompressedVersion::V2, Compression::Zstd, None).unwrap();
    let mut parts = split(&file).unwrap();
    let whole = parts.recipe.clone();
    for length in 0..whole.len() {
        parts.recipe = whole[..length].to_vec();
        assert!(parts.join(None).is_err(), "{length}");
    }
    for position in 0..whole.len() {
        parts.recipe = whole.clone();
        parts.recipe[position] ^= 0x41;
        // Bytes of the file may change with it: whoever joins compares digests.
        let _ = parts.join(None);
        let _ = parts.join(Some(1));
    }
    parts.recipe = whole;
    parts.host.clear();
    assert!(parts.join(None).is_err());
}
