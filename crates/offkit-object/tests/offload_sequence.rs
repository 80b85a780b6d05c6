//! Offload binaries that follow each other, with padding, with other bytes between them, compressed.

#![cfg(feature = "default")]

mod common;

use common::{entry, limits, offload_v1, offload_v2, offload_v3, put_u64};
use offkit_object::{
    Compression, Contents, ErrorKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry,
};

const COMPRESSED: [OffloadBinaryVersion; 2] = [
    OffloadBinaryVersion::V3(Some(Compression::Zstd)),
    OffloadBinaryVersion::V3(Some(Compression::Zlib)),
];

fn read(bytes: &[u8]) -> Contents<'_> {
    offkit_object::read("f", bytes, &limits())
}

fn images(contents: &Contents<'_>) -> Vec<(String, Vec<u8>)> {
    let images = contents.images.iter();
    images
        .map(|image| (image.location.to_string(), image.bytes().unwrap().to_vec()))
        .collect()
}

fn one(image: &[u8]) -> Vec<u8> {
    OffloadBinary::from(entry(image))
        .write(OffloadBinaryVersion::V1)
        .unwrap()
}

/// Linkers and tools leave zeros of many lengths, after which LLVM 22 refuses the whole file.
#[test]
fn zeros_of_any_length_are_padding() {
    for (before, between, after) in [(0, 3, 1), (0, 8, 8), (16, 72, 72), (1, 4096, 300), (0, 0, 0)] {
        let zeros = |count| vec![0; count];
        let bytes = [
            zeros(before),
            one(b"BC\xc0\xde1"),
            zeros(between),
            one(b"BC\xc0\xde2"),
            zeros(after),
        ]
        .concat();
        let all = OffloadBinary::parse_all(&bytes, &limits()).unwrap();
        assert_eq!(all.len(), 2, "{between}");
        if before == 0 {
            let contents = read(&bytes);
            assert!(contents.problems.is_empty(), "{:?}", contents.problems);
            assert_eq!(
                images(&contents),
                [
                    ("f!0".to_owned(), b"BC\xc0\xde1".to_vec()),
                    ("f!1".to_owned(), b"BC\xc0\xde2".to_vec())
                ]
            );
        }
    }
}

#[test]
fn other_bytes_are_one_fault_and_hide_nothing() {
    // The magic number in ordinary data, alone and with a header that looks right at first.
    let mut near = one(b"BC\xc0\xdex");
    put_u64(&mut near, 56, 1 << 40);
    for junk in [
        b"junk".to_vec(),
        b"\x10\xff\x10\xad".repeat(50),
        [b"x".as_slice(), &offload_v1()[..31], &[7; 3]].concat(),
        [b"y".as_slice(), &near].concat(),
    ] {
        let bytes = [one(b"BC\xc0\xde1"), junk.clone(), one(b"BC\xc0\xde2")].concat();
        let contents = read(&bytes);
        let found = images(&contents);
        assert_eq!(found.len(), 2, "{junk:?}: {:?}", contents.problems);
        assert_eq!(found[1], ("f!1".to_owned(), b"BC\xc0\xde2".to_vec()));
        assert_eq!(contents.problems.len(), 1, "{:?}", contents.problems);
        let offset = one(b"BC\xc0\xde1").len() as u64;
        assert!(contents.problems[0].error.offset() >= Some(offset));
        assert!(OffloadBinary::parse_all(&bytes, &limits()).is_err());
    }
}

#[test]
fn a_binary_with_a_wrong_size_does_not_hide_the_next() {
    for size in [0, 31, 1 << 20, u64::MAX] {
        let mut first = one(b"BC\xc0\xde first");
        put_u64(&mut first, 8, size);
        let bytes = [first, one(b"BC\xc0\xde2"), one(b"BC\xc0\xde3")].concat();
        let contents = read(&bytes);
        let last: Vec<_> = contents
            .images
            .iter()
            .rev()
            .take(2)
            .map(|image| image.bytes().unwrap())
            .collect();
        assert_eq!(last, [b"BC\xc0\xde3".as_slice(), b"BC\xc0\xde2"], "{size}");
        assert_eq!(contents.problems.len(), 1, "{:?}", contents.problems);
    }
}

#[test]
fn a_hundred_thousand_binaries_are_read_at_once() {
    let bytes = one(b"BC\xc0\xde").repeat(100_000);
    let contents = read(&bytes);
    assert_eq!(contents.images.len(), 100_000);
    assert_eq!(contents.images.last().unwrap().location.to_string(), "f!99999");
    // And as many magic numbers that begin nothing.
    let bytes = [one(b"BC\xc0\xde"), b"\x10\xff\x10\xad\x01\0\0\0".repeat(100_000)].concat();
    assert_eq!(read(&bytes).images.len(), 1);
}

#[test]
fn what_is_compressed_reads_as_if_it_were_not() {
    let plain = read(Box::leak(offload_v2().into_boxed_slice()));
    let binary = OffloadBinary::parse(Box::leak(offload_v2().into_boxed_slice()), &limits()).unwrap();
    for version in COMPRESSED {
        let bytes = binary.write(version).unwrap();
        assert_eq!(bytes.len() % 8, 0);
        assert_eq!(bytes[4..8], [3, 0, 0, 0]);
        assert_eq!(bytes[16..24], [40, 0, 0, 0, 0, 0, 0, 0]);
        let contents = read(&bytes);
        assert!(contents.problems.is_empty(), "{:?}", contents.problems);
        assert_eq!(images(&contents), images(&plain));
        assert_eq!(contents.version, Some(3));
        let whole = OffloadBinary::inflate(&bytes, 1 << 20).unwrap();
        assert_eq!(*whole, *offload_v3());
        assert_eq!(OffloadBinary::parse(&whole, &limits()).unwrap(), binary);
        let error = OffloadBinary::inflate(&bytes, whole.len() as u64 - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert_eq!(
            OffloadBinary::parse(&bytes, &limits()).unwrap_err().kind(),
            ErrorKind::Unsupported
        );

        // Among others it is a container of its own.
        let several = [offload_v1(), bytes.clone(), offload_v1()].concat();
        let contents = read(&several);
        let places: Vec<_> = images(&contents).into_iter().map(|(place, _)| place).collect();
        assert_eq!(places, ["f!0", "f!1/0", "f!1/2", "f!2"]);
        let whole = OffloadBinary::inflate(&several, 1 << 20).unwrap();
        let all = OffloadBinary::parse_all(&whole, &limits()).unwrap();
        assert_eq!(
            all.iter().map(|binary| binary.entries.len()).collect::<Vec<_>>(),
            [1, 3, 1]
        );
    }
}

#[test]
fn damaged_compression_is_a_fault_of_that_binary_only() {
    for version in COMPRESSED {
        let large = vec![b'x'; 500];
        let compressed = OffloadBinary::from(OffloadEntry::new(
            offkit_object::ImageKind::NONE,
            offkit_object::OffloadKind::HIP,
            &large,
        ))
        .write(version)
        .unwrap();
        for position in 0..compressed.len() {
            // With another size, the next binary may begin within this one.
            if (8..16).contains(&position) {
                continue;
            }
            for bit in 0..8 {
                let mut damaged = compressed.clone();
                damaged[position] ^= 1 << bit;
                let bytes = [offload_v1(), damaged, offload_v1()].concat();
                let contents = read(&bytes);
                let found = images(&contents);
                assert!(found.len() >= 2, "{position:#x}.{bit}: {:?}", contents.problems);
                assert_eq!(found[0].1, b"BC\xc0\xde and so on");
                assert_eq!(
                    found.last().unwrap().1,
                    b"BC\xc0\xde and so on",
                    "{position:#x}.{bit}"
                );
            }
        }
        for length in 0..compressed.len() - 8 {
            let contents = read(&compressed[..length]);
            assert!(
                contents.images.is_empty() && !contents.problems.is_empty(),
                "{length}"
            );
        }
    }
}

/// A promise of much from little costs nothing.
#[test]
fn a_promised_size_allocates_nothing() {
    let mut bytes = OffloadBinary::from(entry(b"image"))
        .write(OffloadBinaryVersion::V3(Some(Compression::Zstd)))
        .unwrap();
    put_u64(&mut bytes, 32, u64::MAX);
    let contents = offkit_object::read("f", &bytes, &Limits::default());
    assert_eq!(contents.problems[0].error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn a_compressed_binary_that_is_damaged_does_not_hide_the_next() {
    let method = OffloadBinaryVersion::V3(Some(Compression::Zstd));
    let mut bad = OffloadBinary {
        entries: vec![common::entry(b"lost")],
    }
    .write(method)
    .unwrap();
    bad[50..60].fill(0xff);
    let file = [bad, common::offload_v1()].concat();
    let mut images = Vec::new();
    let result = offkit_object::offload_entries(&file, &limits(), &mut |found| {
        images.push(found.entry.image.to_vec())
    });
    assert!(result.is_err());
    assert_eq!(images.len(), 1);
}

/// Readers may take it that what has the same bytes says the same; what differs anywhere must not profit from that.
#[test]
fn no_binary_inherits_what_another_one_says() {
    let first = one(b"BC\xc0\xde1");
    for version in [OffloadBinaryVersion::V1, OffloadBinaryVersion::V2] {
        let second = OffloadBinary::from(entry(b"BC\xc0\xde2")).write(version).unwrap();
        let mut compared = 0;
        for bit in 0..second.len() * 8 {
            let mut changed = second.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let alone = read(&changed);
            let bytes = [first.as_slice(), &second, &first, &changed].concat();
            let together = read(&bytes);
            if !alone.problems.is_empty() || together.images.len() != 3 + alone.images.len() {
                continue;
            }
            for (image, expected) in together.images[3..].iter().zip(&alone.images) {
                compared += 1;
                assert_eq!(image.target, expected.target, "bit {bit}");
                assert_eq!(image.strings, expected.strings, "bit {bit}");
                assert_eq!(image.kernels, expected.kernels, "bit {bit}");
                assert_eq!(image.bytes().unwrap(), expected.bytes().unwrap(), "bit {bit}");
            }
        }
        assert!(compared > 300, "{compared}");
    }
}

#[test]
fn targets_that_take_turns_stay_apart() {
    // More than are remembered, in an order that comes back to some early and to others late.
    let order = (0..200_usize).map(|step| step * step % 23 + step % 3);
    let arch = |number: usize| format!("gfx{:x}", 0x900 + number);
    let binary = |number: usize| {
        let arch = arch(number);
        let mut entry = entry(b"BC\xc0\xde");
        entry.strings.set("arch", &arch);
        if number == 5 {
            entry.strings.set("feature", "+x");
        }
        let version = match number % 2 {
            0 => OffloadBinaryVersion::V1,
            _ => OffloadBinaryVersion::V2,
        };
        OffloadBinary::from(entry).write(version).unwrap()
    };
    let bytes: Vec<u8> = order.clone().flat_map(binary).collect();
    let contents = read(&bytes);
    assert!(contents.problems.is_empty(), "{:?}", contents.problems);
    assert_eq!(contents.images.len(), 200);
    for (image, number) in contents.images.iter().zip(order) {
        assert_eq!(image.target.arch, arch(number), "{}", image.location);
        assert_eq!(
            image.strings.get("feature"),
            (number == 5).then_some("+x"),
            "{}",
            image.location
        );
    }
}

#[test]
fn strings_that_come_again_count_again() {
    let bytes = one(b"BC\xc0\xde").repeat(10);
    let strings = entry(b"").strings.len();
    let images_read = |max_strings| {
        let limits = Limits {
            max_strings,
            ..limits()
        };
        let contents = offkit_object::read("f", &bytes, &limits);
        let targets = contents
            .images
            .iter()
            .filter(|image| !image.target.triple.is_empty());
        (targets.count(), contents.problems.len())
    };
    assert_eq!(images_read(10 * strings), (10, 0));
    assert_eq!(images_read(10 * strings - 1), (9, 1));
    assert_eq!(images_read(strings).0, 1);
}

#[test]
fn strings_that_cannot_be_read_are_not_remembered() {
    const STRING_COUNT: usize = 48;
    let mut broken = one(b"BC\xc0\xde1");
    put_u64(&mut broken, STRING_COUNT, 1 << 40);
    let good = one(b"BC\xc0\xde2");
    let bytes = [&broken, &broken, &good, &good].map(Vec::as_slice).concat();
    // Faults count as such also where none is to be told.
    for max_problems in [0, 10] {
        let limits = Limits {
            max_problems,
            ..limits()
        };
        let contents = offkit_object::read("f", &bytes, &limits);
        let known = contents
            .images
            .iter()
            .map(|image| !image.target.triple.is_empty());
        assert_eq!(known.collect::<Vec<_>>(), [false, false, true, true]);
    }
}
