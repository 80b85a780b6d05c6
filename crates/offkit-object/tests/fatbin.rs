//! Fatbins: what each entry says, compressed or not, and what is left of damaged ones.

#![cfg(feature = "default")]

mod common;

use common::{limits, put_u32, put_u64};
use offkit_object::{
    Compression, ContainerKind, Contents, DeviceImage, ErrorKind, ImageFormat, Limits, Location, Producer,
    Storage, Thinning,
};

const FLAGS: u64 = 0x11;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const ARCH_SPECIFIC: u64 = 0x10_0000;
const FAMILY_SPECIFIC: u64 = 0x20_0000;

const PTX: &[u8] = b".version 8.0\n.target sm_90a\n.address_size 64\n\0";

/// An entry as CUDA's `fatbinary` lays it out: identifier and options behind the header, padded payload.
struct Entry<'a> {
    kind: u16,
    arch: u32,
    flags: u64,
    payload: &'a [u8],
    identifier: &'a str,
    options: &'a str,
}

impl<'a> Entry<'a> {
    fn new(kind: u16, arch: u32, flags: u64, payload: &'a [u8]) -> Self {
        Self {
            kind,
            arch,
            flags,
            payload,
            identifier: "",
            options: "",
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let compressed = match self.flags {
            flags if flags & LZ4 != 0 => lz4_flex::block::compress(self.payload),
            flags if flags & ZSTD != 0 => zstd::bulk::compress(self.payload, 3).unwrap(),
            _ => Vec::new(),
        };
        let mut header = vec![0; 64];
        header[..2].copy_from_slice(&self.kind.to_le_bytes());
        header[2..4].copy_from_slice(&0x0101_u16.to_le_bytes());
        header[26] = 1;
        put_u32(&mut header, 28, self.arch);
        put_u64(&mut header, 40, self.flags);
        if !self.identifier.is_empty() {
            put_u32(&mut header, 32, 64);
            put_u32(&mut header, 36, self.identifier.len() as u32);
            header.extend(self.identifier.bytes());
            header.resize(header.len().next_multiple_of(8), 0);
        }
        if !self.options.is_empty() {
            let at = header.len() as u32;
            put_u32(&mut header, 20, at);
            header.extend((at + 8).to_le_bytes());
            header.extend((self.options.len() as u32).to_le_bytes());
            header.extend(self.options.bytes());
            header.resize(header.len().next_multiple_of(8), 0);
        }
        let size = header.len() as u32;
        put_u32(&mut header, 4, size);
        let mut payload = if compressed.is_empty() {
            self.payload.to_vec()
        } else {
            put_u32(&mut header, 16, compressed.len() as u32);
            put_u64(&mut header, 56, self.payload.len() as u64);
            compressed
        };
        payload.resize(payload.len().next_multiple_of(8), 0);
        put_u64(&mut header, 8, payload.len() as u64);
        header.extend(payload);
        header
    }
}

fn fatbin(entries: &[Entry<'_>]) -> Vec<u8> {
    let entries: Vec<u8> = entries.iter().flat_map(Entry::bytes).collect();
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

/// A cubin whose size is no multiple of 8.
fn cubin() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x33");
    bytes[18] = 190;
    let text = b"machine code";
    put_u64(&mut bytes, 40, 64 + text.len() as u64);
    bytes[58] = 64;
    bytes[60] = 1;
    bytes.extend(text);
    bytes.extend([0; 64]);
    bytes
}

/// Two fatbins with everything that entries may have.
fn sample() -> Vec<u8> {
    let cubin = cubin();
    let mut ptx = Entry::new(1, 90, FLAGS | ZSTD | ARCH_SPECIFIC, PTX);
    ptx.identifier = "saxpy.cu";
    ptx.options = "--compile-only  ";
    let mut named = Entry::new(2, 80, FLAGS, &cubin);
    named.identifier = "odd.cu";
    let first = fatbin(&[
        ptx,
        named,
        Entry::new(2, 100, FLAGS | LZ4 | FAMILY_SPECIFIC, &cubin),
    ]);
    let second = fatbin(&[Entry::new(1, 90, FLAGS | ARCH_SPECIFIC, PTX)]);
    [first, vec![0; 24], second].concat()
}

fn read(bytes: &[u8]) -> Contents<'_> {
    offkit_object::read("file", bytes, &limits())
}

fn compression(image: &DeviceImage<'_>) -> Option<Compression> {
    image.compression()
}

#[test]
fn every_entry_says_what_it_is() {
    let bytes = sample();
    let contents = read(&bytes);
    assert_eq!(contents.problems, []);
    assert_eq!(contents.container, ContainerKind::Fatbin);
    let [ptx, plain, family, last] = contents.images.as_slice() else {
        panic!("{} images", contents.images.len());
    };
    for image in &contents.images {
        assert_eq!(image.producer, Producer::Cuda);
        assert_eq!(image.container, ContainerKind::Fatbin);
        assert_eq!(image.container_version, Some(1));
        assert_eq!(image.target.triple, "nvptx64-nvidia-cuda");
    }
    let locations = contents.images.iter().map(|image| image.location.to_string());
    assert!(locations.eq(["file!0/0", "file!0/1", "file!0/2", "file!1/0"]));
    assert_eq!((ptx.format, ptx.bytes().unwrap()), (ImageFormat::Ptx, PTX));
    assert_eq!(
        (ptx.target.arch.as_str(), compression(ptx)),
        ("sm_90a", Some(Compression::Zstd))
    );
    assert_eq!(ptx.strings.get("identifier"), Some("saxpy.cu"));
    assert_eq!(ptx.strings.get("ptxas-options"), Some("--compile-only"));
    assert_eq!(
        (plain.format, plain.bytes().unwrap()),
        (ImageFormat::Cubin, cubin().as_slice())
    );
    assert_eq!(
        (plain.target.arch.as_str(), plain.storage()),
        ("sm_80", Storage::Plain)
    );
    assert_eq!(plain.strings.get("identifier"), Some("odd.cu"));
    assert_eq!(
        (family.target.arch.as_str(), compression(family)),
        ("sm_100f", Some(Compression::Lz4))
    );
    assert_eq!(*family.bytes().unwrap(), *cubin());
    assert_eq!(
        *last.bytes().unwrap(),
        *PTX,
        "with the zero byte that ends it, and without padding"
    );
}

#[test]
fn compressed_entries_are_listed_without_a_look_into_them() {
    let whole = sample();
    let compressed = |image: &&DeviceImage<'_>| compression(image).is_some();
    let mut damaged = whole.clone();
    for image in read(&whole).images.iter().filter(compressed) {
        let offset = image.offset.unwrap() as usize;
        damaged[offset..offset + image.stored_bytes().len()].fill(0xff);
    }
    let (whole, contents) = (read(&whole), read(&damaged));
    assert_eq!(contents.problems, []);
    let listed = |contents: &Contents<'_>| -> Vec<_> {
        let images = contents.images.iter();
        images
            .map(|image| {
                (
                    image.target.clone(),
                    image.format,
                    image.size(),
                    image.stored_size(),
                )
            })
            .collect()
    };
    assert_eq!(listed(&contents), listed(&whole));
    let problems = offkit_object::verify("file", &damaged, &limits());
    let damaged: Vec<_> = contents.images.iter().filter(compressed).collect();
    assert_eq!((damaged.len(), problems.len()), (2, 2));
    for (image, problem) in damaged.iter().zip(problems) {
        assert_eq!(image.bytes().unwrap_err(), problem.error);
        assert_eq!(
            (&image.location, image.offset),
            (&problem.location, problem.error.offset())
        );
    }
}

#[test]
fn entries_that_do_not_say_their_size_share_what_may_come_out() {
    let mut payload = PTX.to_vec();
    payload.resize(Limits::FREE_INFLATION as usize / 3 * 2, b'\n');
    let mut entry = Entry::new(1, 90, FLAGS | ZSTD, &payload).bytes();
    put_u64(&mut entry, 56, 0);
    let mut bytes = fatbin(&[]);
    put_u64(&mut bytes, 8, 3 * entry.len() as u64);
    bytes.extend(entry.repeat(3));
    let limits = Limits {
        max_inflation: 0,
        ..limits()
    };
    let contents = offkit_object::read("file", &bytes, &limits);
    assert_eq!(contents.images.len(), 1);
    let kinds = contents.problems.iter().map(|problem| problem.error.kind());
    assert_eq!(kinds.collect::<Vec<_>>(), [ErrorKind::LimitExceeded; 2]);
}

#[test]
fn a_compressed_entry_that_is_something_else_is_a_problem() {
    let bytes = fatbin(&[Entry::new(2, 80, FLAGS | ZSTD, PTX)]);
    assert_eq!(read(&bytes).images[0].format, ImageFormat::Cubin);
    let problems = offkit_object::verify("file", &bytes, &limits());
    assert_eq!(problems[0].error.message(), "image is not what its header says");
    assert_eq!(problems[0].error.found(), Some("PTX"));
}

#[test]
fn the_target_is_that_of_the_code_where_the_code_is_at_hand() {
    for (compression, target) in [(0, "sm_90a"), (ZSTD, "sm_52")] {
        let bytes = fatbin(&[Entry::new(1, 52, FLAGS | compression, PTX)]);
        let contents = read(&bytes);
        assert_eq!(contents.problems, []);
        assert_eq!(contents.images[0].target.arch, target);
        let problems = offkit_object::verify("file", &bytes, &limits());
        assert_eq!(problems.len(), 1, "{problems:?}");
        let error = &problems[0].error;
        assert_eq!(
            error.message(),
            "image is for another target than its container says"
        );
        assert_eq!(error.expected(), Some("nvptx64-nvidia-cuda-sm_52"));
        assert_eq!(error.found(), Some("nvptx64-nvidia-cuda-sm_90a"));
    }
}

#[test]
fn kinds_that_are_not_known_are_kept() {
    let bytes = fatbin(&[Entry::new(0x40, 75, FLAGS, b"something")]);
    let contents = read(&bytes);
    let image = &contents.images[0];
    assert_eq!(image.strings.get("kind"), Some("64"));
    assert_eq!(
        (image.format, image.target.arch.as_str()),
        (ImageFormat::Unknown, "sm_75")
    );
    assert_eq!(contents.problems, []);

    let bytes = fatbin(&[Entry::new(0x100, 0, FLAGS | ZSTD, b"several")]);
    let contents = read(&bytes);
    assert_eq!(contents.images.len(), 1);
    assert_eq!(contents.problems[0].error.kind(), ErrorKind::Unsupported);
}

#[test]
fn entries_are_replaced_in_their_own_compression() {
    let bytes = sample();
    let longer = [
        b".version 8.1\n// much longer than what was there before\n".as_slice(),
        PTX,
    ]
    .concat();
    for (part, new) in [
        ("0/0", longer.as_slice()),
        ("0/1", &cubin()[..]),
        ("0/2", b"\x7fELF and other bytes"),
        ("1/0", longer.as_slice()),
    ] {
        let location: Location = format!("file!{part}").parse().unwrap();
        let changed = offkit_object::replace(&bytes, &location, new, &limits()).unwrap();
        let (old, contents) = (read(&bytes), read(&changed));
        for (image, before) in contents.images.iter().zip(&old.images) {
            assert_eq!(image.location, before.location);
            let expected = if image.location == location {
                new
            } else {
                before.bytes().unwrap()
            };
            assert_eq!(*image.bytes().unwrap(), *expected, "{part}: {}", image.location);
            assert_eq!(compression(image), compression(before));
            assert_eq!(image.strings, before.strings);
        }
        assert_eq!(contents.images.len(), 4);
    }
    let location: Location = "file!0/0".parse().unwrap();
    let error = offkit_object::replace(&bytes, &location, b".version 8.1\n", &limits()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unrepresentable);
    assert!(error.message().contains("zero byte"), "{error}");
}

#[test]
fn a_damaged_fatbin_does_not_hide_the_next() {
    let bytes = sample();
    let whole = read(&bytes);
    let last = whole.images[3].clone();
    let cases: [(&str, usize, u64); 4] = [
        ("size of the fatbin", 8, u64::MAX),
        ("size of the fatbin", 8, bytes.len() as u64 - 16),
        ("size of an entry", 24, 1 << 40),
        ("size of an entry's header", 16, 0x0000_0001_0101_0001),
    ];
    for (name, at, value) in cases {
        let mut damaged = bytes.clone();
        put_u64(&mut damaged, at, value);
        let contents = read(&damaged);
        assert!(!contents.problems.is_empty(), "{name}");
        assert!(
            contents
                .problems
                .iter()
                .all(|problem| problem.error.offset().is_some())
        );
        let found = contents.images.last().unwrap();
        assert_eq!(
            (&found.bytes().unwrap(), &found.location),
            (&last.bytes().unwrap(), &last.location),
            "{name}"
        );
    }
    let mut foreign = b"foreign!".to_vec();
    foreign.extend(&bytes[..]);
    let sequence = [bytes.clone(), foreign].concat();
    let contents = read(&sequence);
    assert_eq!(contents.images.len(), 8);
    assert_eq!(contents.problems.len(), 1);
    assert_eq!(contents.problems[0].error.offset(), Some(bytes.len() as u64));
}

#[test]
fn every_truncation_and_every_flipped_bit_is_harmless() {
    let mut bytes = sample();
    let whole = read(&bytes);
    let known: Vec<_> = whole
        .images
        .iter()
        .map(|image| image.bytes().unwrap().to_vec())
        .collect();
    for length in 0..bytes.len() {
        let contents = read(&bytes[..length]);
        for image in &contents.images {
            assert!(
                known.contains(&image.bytes().unwrap().to_vec()),
                "cut to {length}: {}",
                image.location
            );
        }
        let is_between = length == 0 || bytes[..length].ends_with(&[0; 8]);
        assert!(is_between || !contents.problems.is_empty(), "cut to {length}");
    }
    for position in 0..bytes.len() {
        for bit in 0..8 {
            bytes[position] ^= 1 << bit;
            let contents = read(&bytes);
            assert!(contents.images.len() <= 8, "{position:#x}.{bit}");
            bytes[position] ^= 1 << bit;
        }
    }
}

#[test]
fn an_entry_that_becomes_too_large_is_not_compressed_anew() {
    let recompressed = |size: usize| {
        let file = fatbin(&[Entry::new(2, 80, FLAGS | LZ4, &vec![0; size])]);
        let limits = Limits {
            max_inflation: 1,
            ..limits()
        };
        let thinning = Thinning::default().recompress(true);
        let thinned = offkit_object::thin("file", &file, &[], thinning, &limits, &|_| {});
        (file, thinned.unwrap().bytes)
    };
    let (file, new) = recompressed(1 << 20);
    assert!(new.len() < file.len());
    let (file, new) = recompressed(Limits::FREE_INFLATION as usize + (1 << 20));
    assert!(new == file);
}
